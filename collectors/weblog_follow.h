/*
 * weblog_follow.h - reads lines that are appended to files, through rotation, truncation and compression, from where it was.
 *
 * A file is known by device, inode and a hash of its first bytes; what was taken of it is an offset at the end of a line. When another
 * file stands at its path, the old one is read to its end first and for a while after, since servers write to it until they reopen
 * their logs. After a restart it is found again beside its path: by its inode, or by its first bytes when it was copied or packed
 * (.gz, .zst), or in the folders that olddirs names. Rotated files that appeared meanwhile and are younger are read too.
 *
 *   /var/log/access.log      current     off = 1200 of inode 7
 *   /var/log/access.log.1    rotated     off = 9000 of inode 5, quiet for 12 s
 *   /var/log/access.log.2.gz done        known by its first bytes
 *
 * Where the format is `auto`, nothing is taken of a file before its first lines have decided (weblog_kind.h); a rotated one that is given up
 * without a decision is given out as it is.
 *
 * Threads    one
 * Not here   what a line says (weblog_format.h), keeping places on disk (weblog_state.h), looking for rotated files (weblog_rotate.c)
 */
#ifndef COLLECTORS_WEBLOG_FOLLOW_H
#define COLLECTORS_WEBLOG_FOLLOW_H

#include "base/buf.h"
#include "base/err.h"
#include "base/lineread.h"
#include "collectors/weblog_logs.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#define COL_WEB_HEAD_BYTES  1024u /* first bytes that make the hash, fewer while there are fewer */
#define COL_WEB_CHUNK_BYTES ((size_t)256 << 10) /* read at once; a longer line is a bad one */
#define COL_WEB_DONE_MAX    256u                /* files remembered after they were read to their end */

/* First bytes of a file. */
struct col_web_head {
    uint32_t n_bytes; /* hashed; 0 = nothing known yet */
    uint64_t hash;    /* stable: kept on disk */
    bool unread; /* among those that are done: it was rotated before its log was first seen, nobody read it */
};

/* A file being read. */
struct col_web_file {
    char *path;                    /* where it stood when it was found; owned */
    const struct col_web_log *log; /* its entry */
    FILE *file;                    /* NULL = not open */
    struct ts_lines *lines;        /* of a packed one instead; NULL */
    uint64_t lines_off;            /* of the unpacked text: what lines gave out so far */
    uint64_t dev, ino;        /* 0 = known by its first bytes alone; not rotated: waits for a file at path */
    struct col_web_head head; /* its first bytes */
    uint64_t off;             /* bytes taken */
    enum col_web_kind
        kind; /* of its lines, where its log has no format: nothing is taken before it is known */
    uint64_t looked_bytes; /* its size when its first lines were looked at in vain */
    bool told;             /* that nothing was found was logged */
    bool skip;             /* off stands inside of a line that is too long */
    bool rotated;          /* something else stands at path */
    int64_t mtime_ms;      /* last change when it was last read */
    int64_t quiet_ms;      /* clock when it last gave something, or was rotated */
    int64_t search_ms;     /* clock before which it is not looked for again */
};

/* What the caller gives. */
struct col_web_follow_opts {
    const struct col_web_logs
        *logs; /* borrowed; NULL = restored files are looked at only, whatever they are */
    const char *
        olddirs; /* folders where rotated files are looked for besides their own, comma separated; relative to it; borrowed; NULL */
    int64_t rotated_ms; /* a rotated file is given up when it was quiet so long */
    bool from_end;      /* files found by the first turn are taken from their end */
    /** A line (without its end) of file, which begins at off. */
    void (*line)(void *arg, const struct col_web_file *file, uint64_t off, struct ts_slice line);
    /** A line that is too long, which begins about at off. */
    void (*too_long)(void *arg, const struct col_web_file *file, uint64_t off);
    void *arg; /* for both */
};

struct col_web_follow {
    struct col_web_follow_opts opts; /* as given */
    struct col_web_file **files;     /* rotated ones before what replaced them; owned */
    uint32_t n_files;                /* entries */
    struct col_web_head *done;       /* ring of COL_WEB_DONE_MAX; owned */
    uint32_t n_done;                 /* put there so far */
    int64_t warn_ms;                 /* clock before which files that can't be read are no news */
    uint64_t n_changes;              /* grows with all that a checkpoint must know */
    bool turned;                     /* the first turn is over */
    struct ts_buf scratch;           /* texts of JSON lines */
    char *chunk;                     /* COL_WEB_CHUNK_BYTES, owned */
};

/** Empty. opts are copied. */
void col_web_follow_init(struct col_web_follow *f, const struct col_web_follow_opts *opts);
/** Close all; twice is harmless. */
void col_web_follow_release(struct col_web_follow *f);
/** Look at all files and take what is new, at most some chunks of each.
 *  @return 1 = there is more to take right now; 0 = not now. What can't be read is logged and tried again by the next turn */
int col_web_follow_turn(struct col_web_follow *f, int64_t now_ms);
/** A file as it was saved (path is copied, nothing is open). False: no entry wants it any more. */
bool col_web_follow_restore(struct col_web_follow *f, const struct col_web_file *saved);
/** Bytes that wait in files that are open. */
uint64_t col_web_follow_lag_bytes(const struct col_web_follow *f);

/* --- for weblog_rotate.c --- */

/** Hash of the first bytes of an open file (n_bytes 0: as many as there are, at most COL_WEB_HEAD_BYTES). False: it has fewer, or can't be
 *  read. */
bool col_web__head_read(FILE *file, uint32_t n_bytes, struct col_web_head *out);
/** Entries of done that are filled. */
static inline uint32_t col_web__n_done(const struct col_web_follow *f)
{
    return f->n_done < COL_WEB_DONE_MAX ? f->n_done : COL_WEB_DONE_MAX;
}
/** Time of a file's last change. */
static inline int64_t col_web__mtime_ms(const struct stat *st)
{
    return (int64_t)st->st_mtim.tv_sec * 1000 + st->st_mtim.tv_nsec / 1000000;
}
/** Hash of bytes. */
struct col_web_head col_web__head_of(const char *p, size_t n);
/** The first bytes of a file's text, packed or not. Returns how many; 0 if it can't be read. */
size_t col_web__text_first(const char *path, char out[COL_WEB_HEAD_BYTES]);
/** Do n first bytes begin with what a head was made of? */
bool col_web__first_matches(const char *first, size_t n, const struct col_web_head *want);
/** A new entry in front of what stands at place `at`. */
struct col_web_file *col_web__file_add(struct col_web_follow *f, const char *path,
                                       const struct col_web_log *log, uint32_t at);
/** Find a rotated file that is not open: its file or lines are set then. True = found. */
bool col_web__rotated_find(struct col_web_follow *f, struct col_web_file *file);
/** Add rotated files beside path that nobody has read, younger than since_ms, before place `at`. Returns how many. */
uint32_t col_web__rotated_add(struct col_web_follow *f, const struct col_web_file *after, uint32_t at,
                              int64_t now_ms);
/** Nobody shall read the rotated files beside a log that is seen for the first time: remember those younger than since_ms. */
void col_web__rotated_skip(struct col_web_follow *f, const struct col_web_file *file, int64_t since_ms);
/** Are these first bytes, as many as are ever looked at, those of a rotated file? Then it was given a name that a pattern
 *  takes. */
bool col_web__head_known(const struct col_web_follow *f, const struct col_web_head *head);
/** Folder number i of the olddirs for the log at path, with a slash at its end. False: there are not so many, or it is too long. */
bool col_web__olddir(const struct col_web_follow *f, const char *path, unsigned i, char out[PATH_MAX]);
/** Is the file at path, with this inode, one of ours? */
bool col_web__inode_known(const struct col_web_follow *f, const char *path, const struct stat *st);

#endif
