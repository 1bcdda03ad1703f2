/*
 * handles.h - open descriptors of sorted files: a cache with a limit, however many files a store has.
 *
 * Each sorted file has a handle. The file is opened when it is first read, and then stays open until the
 * cache needs its descriptor for another file. The cache chooses by the CLOCK algorithm: a file that was read
 * since the hand last reached it stays open for another round. A file that a thread is reading or opening is
 * never closed. So the limit may be exceeded for a moment, by at most three descriptors for each thread that
 * reads: one that it is opening, one of the same file that another thread has opened, and one of a file that it
 * has read while others were looking for one to close.
 *
 * A file can be opened again because its name lasts as long as its handle: the last reference to a sorted
 * file unlinks it (sst.h), and its number is never used for another one.
 *
 * When the process or the machine has no descriptor left, the cache closes files of its own and tries again.
 * Files that are opened again never use the spare descriptors (ts_fs_keep_spare), which are for logs and
 * for files that are being written; the first opening may use them, since a flush ends with it.
 *
 * Source     CLOCK: F. J. Corbato, A Paging Experiment with the Multics System, 1968
 * Threads    any. The mutex of the cache is taken to open or close a file, not to read one, and never held
 *            across I/O: of several threads that open a file at the same time, one keeps its descriptor
 * Cost       of a read: two atomic additions (20 ns) while the file is open; if it is not, an open and a close of another
 *            one (2.3 us)
 * Not here   who reads what (sst_read.c, index.c, sst_series.c); files being written (sst_write.c)
 */
#ifndef STORAGE_ENGINE_FILES_HANDLES_H
#define STORAGE_ENGINE_FILES_HANDLES_H

#include <stdatomic.h>

#include "base/fs.h"

struct sto_handles;

/* Bounds of the default limit, which is at most half of the descriptors that the daemon reserves for files (max_connections). The lower one is
 * small because logs, sockets and pipes get no descriptor back from the cache. */
#define STO_HANDLES_MIN 8u
#define STO_HANDLES_MAX 4096u

/** An empty cache. Never NULL.
 * @param limit  most descriptors that it holds; 0 = an eighth of those that the process may have now, at least STO_HANDLES_MIN and at
 *               most STO_HANDLES_MAX */
struct sto_handles *sto_handles_new(size_t limit);
/** Free the cache; all its handles have been released. NULL is ignored. */
void sto_handles_free(struct sto_handles *c);

struct sto_handles_stats {
    uint64_t n_open, limit; /* descriptors held now; most of them */
    uint64_t n_reopened;    /* openings of files that had been closed */
    uint64_t n_refused;     /* openings that failed for lack of a descriptor */
};
/** Counters of the cache. Any thread. */
struct sto_handles_stats sto_handles_stats(struct sto_handles *c);

/** Close open files until the spare descriptors are complete and n more are free (ts_fs_has_descriptors): a log or a file that is written is
 * more important than one that is open only to be read again. Any thread.
 * @return false: they are not, although files were closed */
bool sto_handles_leave_free(struct sto_handles *c, size_t n);

/* One file. Its members belong to handles.c, except for path and removed_code. */
struct sto_handle {
    const struct ts_fs *fs;          /* borrowed */
    const char *path;                /* borrowed */
    int removed_code;                /* of a read when the file is gone; TS_EIO, or what the owner sets */
    struct sto_handles *cache;       /* borrowed */
    _Atomic uint32_t state;          /* flags, and the number of threads that are reading */
    struct ts_file *file;            /* while open; changed under the cache's mutex while it is closed */
    bool was_open;                   /* it has been open before; under the cache's mutex */
    struct sto_handle *left, *right; /* neighbours on the clock while open; under the cache's mutex */
};

/** Initialize the handle of a file, which is not opened yet.
 * @param path   outlives the handle
 * @param cache  outlives the handle; NULL: one of STO_HANDLES_MIN descriptors, which is shared by the process */
void sto_handle_init(struct sto_handle *h, const struct ts_fs *fs, const char *path,
                     struct sto_handles *cache);
/** Close the file until it is read again, or for good: the handle holds nothing else. No thread may be using it. Idempotent. */
void sto_handle_close(struct sto_handle *h);
/**
 * Open the file for the first time and find out its length.
 *
 * @return 0; TS_ENOTFOUND; TS_EMFILE: no descriptor is left, even after others were closed and with the spare ones; TS_EIO
 */
int sto_handle_first(struct sto_handle *h, uint64_t *out_bytes, struct ts_error *err);
/**
 * Read up to n bytes at off, as pread of struct ts_fs; the file is opened if necessary.
 *
 * @return 0; TS_EIO; removed_code: the file existed and is gone; TS_EMFILE: no descriptor is left, the call may be repeated later;
 *         TS_EBUSY: the thread must not wait (ts_fs_set_nowait), and the file is closed or the data are not in the page cache
 */
int sto_handle_pread(struct sto_handle *h, void *p, size_t n, uint64_t off, size_t *out_n,
                     struct ts_error *err);

#endif
