/*
 * wal_int.h - internals of the log of one owner, shared by wal.c (records) and wal_segment.c (files).
 *
 * Threads    as stated at each member
 */
#ifndef STORAGE_ENGINE_LOG_WAL_INT_H
#define STORAGE_ENGINE_LOG_WAL_INT_H

#include <pthread.h>
#include <stdatomic.h>

#include "storage/slots.h"
#include "storage/engine/log/wal.h"
#include "storage/engine/log/wal_format.h"

#define STO_WAL_CHUNK_POINTS 1024u /* their series are looked up together before encoding */

/* A segment: open, ended, or prepared for later use. It has two descriptors: the owner writes through one,
 * the sync thread syncs through the other, so that the kernel reports a failed write-back to each of them. */
struct sto_wal__seg {
    struct ts_file *file;      /* for the owner's writes */
    struct ts_file *sync_file; /* for syncs only */
    struct sto_wal_name name;
    uint64_t base;             /* position (as in written) of its first byte */
    uint64_t end;              /* retired: position after its last byte */
    bool is_empty;             /* retired: nothing was written, so the file is removed */
    struct sto_wal__seg *next; /* retired: the next younger one */
};

struct sto_wal {
    const struct ts_fs *fs;
    char *dir;                      /* owned */
    struct sto_wal_name name;       /* of the open segment, or of the last one */
    uint64_t segment_bytes;         /* longer segments are rotated; fixed once threads run */
    uint32_t (*n_known)(void *arg); /* series with lower ids are in the catalog, on disk; NULL = none */
    void *known_arg;

    /* owner only: the open segment */
    struct ts_file *file;  /* NULL = none open */
    uint64_t base;         /* position (as in written) of its first byte */
    uint64_t end_off;      /* its good length */
    uint64_t marked_off;   /* offset in its last mark */
    uint64_t mark_off;     /* the same, including the write in progress */
    bool marked;           /* it has a mark */
    bool mark_put;         /* the same, including the write in progress */
    uint32_t salt;         /* start value of its records' checksums */
    uint32_t used_end;     /* lower segment numbers are used */
    uint32_t prev_segment; /* last segment that holds records, before the open one */
    uint64_t prev_gen;     /* its generation */
    uint64_t prev_bytes;   /* its length */
    bool just_retired;     /* see sto_wal_take_retired */

    /* owner only: numbers of series in the open segment, a sparse set (Briggs and Torczon, "An Efficient
     * Representation for Sparse Sets", 1993): a series has a number if ids[number_of[slot]] is its id. So
     * nothing is cleared when a segment ends, and slots of forgotten series can be used again. */
    struct sto_slots slots; /* constant */
    uint32_t *number_of;    /* by slot: its number, or a stale value */
    size_t slots_cap;       /* capacity of number_of */
    uint32_t *ids;          /* by number: series id */
    uint32_t n_ids;         /* numbers given out */
    size_t numbers_cap;     /* capacity of ids */

    /* owner only: the write in progress */
    uint8_t *buf;                       /* bytes */
    size_t buf_n, buf_cap;              /* used, capacity */
    uint32_t numbers[STO_BATCH_POINTS]; /* for the points of the chunk */

    pthread_mutex_t lock;     /* not held across I/O */
    pthread_cond_t sync_done; /* a sync has ended */
    /* under lock: the open segment, NULL = none; the owner and the syncing thread use its files */
    struct sto_wal__seg *seg;
    /* under lock: segments that ended and may not be on disk yet, oldest first */
    struct sto_wal__seg *retired;
    unsigned n_retired;         /* under lock */
    struct sto_wal__seg *spare; /* under lock: the prepared segment, NULL = none */
    bool spare_ready;           /* under lock: its directory entry is on disk */
    /* under lock: a segment prepared for a later generation, which the owner exchanges for the spare one when that begins; afterwards the former spare. NULL =
     * none */
    struct sto_wal__seg *ahead;
    bool ahead_ready;      /* under lock: its directory entry is on disk */
    uint32_t next_segment; /* under lock: number of the next segment to be created */
    bool syncing;          /* under lock: a thread is in fdatasync; only that thread frees retired
                                 * segments */
    pthread_t syncer;      /* under lock: that thread, while syncing */

    _Atomic uint64_t written; /* owner adds; release after the write(2), acquire in sync */
    _Atomic uint64_t synced;  /* changed under lock; only grows */
    _Atomic bool broken;      /* never cleared; changed under lock */
    struct ts_error why;      /* the error that broke it; written once, under lock, before broken */
};

/** End the open segment: it joins the retired ones and waits for its sync. Owner only. Blocks only if
 * several wait already. TS_EIO. */
int sto_wal__close_segment(struct sto_wal *wal, struct ts_error *err);
/* A generation begins: use the segment that was prepared ahead, if it is of this generation. */
void sto_wal__take_ahead(struct sto_wal *wal);
/** Begin the next segment: the prepared one, or a new one (blocks for the sync of the folder). Its header
 * is written with the first records. Owner only. TS_ENOSPC, TS_EMFILE (may be tried again), TS_ELIMIT,
 * TS_EIO. */
int sto_wal__open_segment(struct sto_wal *wal, struct ts_error *err);
/** Close and free all segments; files to which nothing was written are removed. No other thread may use
 * the log. */
int sto_wal__free_segments(struct sto_wal *wal, struct ts_error *err);
/** Set err to the error that broke the log; returns TS_EIO. */
int sto_wal__refuse(const struct sto_wal *wal, struct ts_error *err);
/** Break the log: it accepts nothing from now on. Returns TS_EIO; err keeps its text. The caller does not
 * hold lock. */
int sto_wal__break(struct sto_wal *wal, struct ts_error *err);

#endif
