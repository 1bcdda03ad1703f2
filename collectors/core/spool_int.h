/*
 * spool_int.h - segments of a spool, shared by what takes and gives lines (spool.c) and what reads the folder at the start (spool_open.c).
 *
 * Threads    under the mutex of the spool unless a member says otherwise
 */
#ifndef COLLECTORS_CORE_SPOOL_INT_H
#define COLLECTORS_CORE_SPOOL_INT_H

#include "collectors/core/spool.h"

#include <limits.h>
#include <pthread.h>

/* A run of batches: a file, or memory. */
struct col_spool__seg {
    struct col_spool__seg *next; /* younger one */
    char *path;                  /* owned; NULL = in memory */
    struct ts_buf mem;           /* its batches if there is no file */
    uint64_t number;             /* grows along the list, never used twice in a folder */
    uint64_t n_bytes;            /* of batches in it */
    uint64_t acked_off;          /* of them acknowledged */
    uint64_t n_points;           /* in them */
    uint64_t n_acked;            /* of them acknowledged */
    bool synced;                 /* all of it is on disk, its name too */
};

struct col_spool {
    const struct ts_fs *fs;              /* constant */
    char *dir;                           /* constant; NULL = memory only */
    struct ts_file *lock;                /* held while open; NULL without a folder */
    const char *key;                     /* constant; see struct col_spool_opts */
    uint64_t max_bytes;                  /* constant; see struct col_spool_opts */
    uint64_t segment_bytes;              /* constant */
    uint64_t fallback_bytes;             /* constant */
    pthread_mutex_t mutex;               /* guards what follows but head_* */
    pthread_cond_t changed;              /* something waits, or woken */
    struct col_spool__seg *first, *last; /* oldest and youngest segment; NULL = none */
    struct ts_file *tail;                /* file of last, for appending; NULL = last is closed or in memory */
    uint64_t next_number;                /* of the next segment */
    uint64_t n_bytes;                    /* in all segments */
    uint64_t n_mem_bytes;                /* of them in memory */
    int64_t disk_retry_ns;               /* after the disk refused: not tried before this monotonic time */
    bool woken;                          /* col_spool_wake was called */
    bool was_durable; /* a collector needs durable batches: segments are synced when they are closed */
    struct col_spool_stats stats;
    struct ts_buf raw;    /* batches being read; reading thread only */
    struct ts_file *head; /* file of the segment being read; reading thread only */
    uint64_t head_number; /* its number; reading thread only */
};

/** Put a new, empty segment behind the last one; its file is not made yet. path (taken) NULL = in memory.
 * Mutex held or alone. */
struct col_spool__seg *col_spool__add(struct col_spool *s, char *path, uint64_t number);
/** All segments with files, and their names, onto the disk. Mutex held, or alone. TS_EIO: the last segment
 * takes nothing more. */
int col_spool__sync(struct col_spool *s, struct ts_error *err);
/** Put a batch behind the last one. Mutex held or alone. */
int col_spool__take(struct col_spool *s, struct ts_slice lines, uint32_t n_points, struct ts_error *err);
/** Make the folder if it is missing, and hold its lock. Mutex held or alone. TS_EBUSY: another process has
 * it. */
int col_spool__folder(struct col_spool *s, struct ts_error *err);
/** Take up what an earlier process left in the folder. Alone. */
int col_spool__scan(struct col_spool *s, struct ts_error *err);

#endif
