/*
 * fs.h - the file system as a struct of functions: the real one here, a faulty one in the tests.
 *
 * All of tsd's data files go through it. Paths are plain C strings. Every function answers 0 or a negative code with
 * a text naming the path (TS_ENOSPC for full disk and quota, TS_ENOTFOUND for a missing file, TS_EMFILE when no
 * descriptor is left, else TS_EIO); EINTR is retried inside; short reads and writes are completed inside.
 * Threads    functions may be called from any thread; one struct ts_file by one thread at a time except
 *            pread, which any number may call
 */
#ifndef BASE_FS_H
#define BASE_FS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ts_file; /* one open file; layout private to the file system that made it */

enum ts_open {
    TS_OPEN_READ,   /* existing, read-only */
    TS_OPEN_CREATE, /* new, read and write; TS_EEXIST if there */
    TS_OPEN_APPEND, /* existing or new, read and write, position at the end */
    TS_OPEN_REOPEN, /* as TS_OPEN_READ, but TS_EMFILE rather than a spare descriptor (ts_fs_keep_spare) */
};

struct ts_fs {
    int (*open)(const struct ts_fs *fs, const char *path, enum ts_open how, struct ts_file **out_file,
                struct ts_error *err);
    /* May report a delayed write error; the file is closed in any case. NULL is harmless. */
    int (*close)(struct ts_file *file, struct ts_error *err);
    /* Write at the end; all of it or an error (then the end is unknown: truncate before continuing). */
    int (*append)(struct ts_file *file, const void *p, size_t n, struct ts_error *err);
    /* Read up to n bytes at off; *out_n is less than n only at the end of the file. */
    int (*pread)(struct ts_file *file, void *p, size_t n, uint64_t off, size_t *out_n, struct ts_error *err);
    /* fdatasync. After an error the file must not be synced again: the kernel may have dropped the pages. */
    int (*sync)(struct ts_file *file, struct ts_error *err);
    int (*truncate)(struct ts_file *file, uint64_t size_bytes, struct ts_error *err);
    int (*size)(struct ts_file *file, uint64_t *out_bytes, struct ts_error *err);
    /* Lock the file and its folder (exclusive, advisory) until the file is closed; TS_EBUSY if another
     * process has locked either. The folder is locked too so that removing and creating the file again does
     * not circumvent the lock. */
    int (*lock)(struct ts_file *file, struct ts_error *err);
    int (*rename)(const struct ts_fs *fs, const char *from, const char *to, struct ts_error *err);
    /* Remove a file, or an empty folder. */
    int (*unlink)(const struct ts_fs *fs, const char *path, struct ts_error *err);
    int (*mkdir)(const struct ts_fs *fs, const char *path,
                 struct ts_error *err); /* an existing folder is no error */
    int (*sync_dir)(const struct ts_fs *fs, const char *path, struct ts_error *err);
    /* Calls each(arg, name) for every entry but "." and ".."; order unspecified. each < 0 stops and is returned. */
    int (*list)(const struct ts_fs *fs, const char *path, int (*each)(void *arg, const char *name), void *arg,
                struct ts_error *err);
    /* Bytes of the file system of path that this process may still use. */
    int (*free_bytes)(const struct ts_fs *fs, const char *path, uint64_t *out_bytes, struct ts_error *err);
    /* A number of a file, never 0, that it keeps while it is neither changed nor replaced, also over a restart of the machine. A copy of
     * the file has another one, and so has a file that a copy was written over. A change of its owner or permissions may change it too. */
    int (*identity)(const struct ts_fs *fs, const char *path, uint64_t *out_id, struct ts_error *err);
};

/** The real file system. Static; never freed. New files are 0640, new folders 0750, less the umask. */
const struct ts_fs *ts_fs_real(void);
/** Set for the calling thread: reads of the real file system that would wait for the disk fail with TS_EBUSY;
 * data in the page cache are read. Off when a thread starts. It is for threads that must not block and can
 * leave the work to another thread. */
void ts_fs_set_nowait(bool nowait);
/** Has the calling thread set ts_fs_set_nowait? */
bool ts_fs_is_nowait(void);
/**
 * Begin to write a part of a file of the real file system to the disk. For files that need no sync: the
 * number of dirty pages stays small, so that the sync of another file does not wait for them. It is a hint:
 * append and sync report errors.
 *
 * @param off, n  [bytes] the part; whole pages of it
 *
 * Blocks: only while the disk's queue is full.
 */
void ts_fs_write_out(struct ts_file *file, uint64_t off, uint64_t n);
/** Wait until the part for which ts_fs_write_out was called is written. Blocks: for the disk. */
void ts_fs_await_written(struct ts_file *file, uint64_t off, uint64_t n);
/** Drop the written pages of the part from the page cache: for data that are read much later or never again.
 * It does not wait: pages that are still being written stay in the cache until the next call for them. */
void ts_fs_forget(struct ts_file *file, uint64_t off, uint64_t n);
#define TS_FS_SPARE 48u /* descriptors kept aside */
/** Keep descriptors aside: the real file system closes one of them, and tries again, when open(2) fails with EMFILE, except for TS_OPEN_REOPEN. A
 * process whose descriptors are used up could neither begin the next segment of its log nor write a file that frees
 * memory. Call it again from time to time: descriptors that were used are replaced.
 * @return how many there are now, TS_FS_SPARE at most
 *
 * Threads: any.   Cost: nothing while all are there. */
unsigned ts_fs_keep_spare(void);
/** Are all spare descriptors available, and can n more be opened now? Threads: any.   Cost: a dup and a close
 * of each. */
bool ts_fs_has_descriptors(size_t n);
/** Whole file into a new buffer (ts_free it), with one zero byte behind it that *out_n does not count; TS_ELIMIT above
 *  max_bytes, TS_ENOMEM. */
int ts_fs_read_file(const struct ts_fs *fs, const char *path, size_t max_bytes, char **out_p, size_t *out_n,
                    struct ts_error *err);
/** The same of a file that may be missing, and that its writer keeps within max_bytes: 1; 0: it is missing; TS_ECORRUPT: it is longer; other errors. */
int ts_fs_read_small(const struct ts_fs *fs, const char *path, size_t max_bytes, char **out_p, size_t *out_n,
                     struct ts_error *err);
#define TS_UNREAD_SECTORS 256u /* of 512 bytes; a disk that can't read more of a file is given up */
/* What could not be read of a file; {0} is nothing. */
struct ts_unread {
    uint64_t n_bytes;                    /* zeros stand in their place */
    uint64_t first_off, end_off;         /* all of them lie in between */
    unsigned n_sectors;                  /* sectors that have such bytes */
    uint64_t sectors[TS_UNREAD_SECTORS]; /* their numbers */
};
/** pread on a disk that fails, for checks and repairs: errors that pass cost nothing, sectors that can't be read are zeros and
 * counted in *u, which adds up over the reads of one file, each sector once. Short only at the end of the file. TS_EIO: too many
 * sectors; other errors of pread.
 * Blocks: for the disk, some hundred times at most if it fails. */
int ts_fs_pread_rest(const struct ts_fs *fs, struct ts_file *file, void *p, size_t n, uint64_t off,
                     size_t *out_n, struct ts_unread *u, struct ts_error *err);
/** ts_fs_read_file in the same way. */
int ts_fs_read_rest(const struct ts_fs *fs, const char *path, size_t max_bytes, char **out_p, size_t *out_n,
                    struct ts_unread *u, struct ts_error *err);
/** ts_fs_read_file for a path that a person gave, which may be a pipe or a device, too (<(command), /dev/stdin): read to its
 * end. Blocks: until the writer of a pipe ends. Memory: max_bytes while it reads and as long as the text is kept, so
 * it is for small files. */
int ts_fs_read_any(const char *path, size_t max_bytes, char **out_p, size_t *out_n, struct ts_error *err);
/** Write path.tmp (replacing what a crash left there), sync, rename to path, sync the folder: the file has
 * either the old or the new contents, also after an error; path.tmp is removed if possible. */
int ts_fs_write_atomic(const struct ts_fs *fs, const char *path, const void *p, size_t n,
                       struct ts_error *err);
/**
 * TS_OPEN_APPEND of the real file system in a folder whose owner is not trusted: a symbolic link is not
 * followed, only a regular file is opened, and a new file (*out_is_new) gets the folder's owner if the
 * process runs as root.
 *
 * @return 0; errors of open; TS_EINVAL if it is not a regular file
 */
int ts_fs_open_guarded(const char *path, struct ts_file **out_file, bool *out_is_new, struct ts_error *err);
/** Lock the byte at off (62 bits; it may be beyond the end) of a file that is open for appending, until the
 * file is closed. Locks of whole files are independent of it. False: another open file has locked it. Where
 * the file system has no such locks, the result is true. Threads: any.   Blocks: no. */
bool ts_fs_lock_byte(const struct ts_file *file, uint64_t off);
/** Make a folder and those above it that are missing. Existing ones are fine. */
int ts_fs_mkdirs(const struct ts_fs *fs, const char *path, struct ts_error *err);
/** Does the file exist, and may it be opened? 1, 0 (TS_ENOTFOUND), < 0 any other error. Cost: an open and a close. */
int ts_fs_exists(const struct ts_fs *fs, const char *path, struct ts_error *err);
/** Sync the folder a path lies in: names that were made, renamed or removed in it are on disk. */
int ts_fs_sync_folder_of(const struct ts_fs *fs, const char *path, struct ts_error *err);
/** "DIR/NAME" ; ts_free it. */
char *ts_fs_join(const char *dir, const char *name);
/** "PATHSUFFIX" ; ts_free it. */
char *ts_fs_suffixed(const char *path, const char *suffix);

#endif
