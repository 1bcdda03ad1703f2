/*
 * wal_int.h - the log of one worker, as its two writing files see it: wal.c (records) and wal_segment.c (files).
 *
 * Threads    as each member says
 */
#ifndef STORAGE_ENGINE_WAL_INT_H
#define STORAGE_ENGINE_WAL_INT_H

#include <pthread.h>
#include <stdatomic.h>

#include "storage/engine/slots.h"
#include "storage/engine/wal.h"
#include "storage/engine/wal_format.h"

#define STO_WAL_CHUNK_POINTS 1024u /* series of these are looked up together, before they are encoded */

/* A segment that is open, was, or will be. Two descriptors: the owner writes through one, the sync thread syncs through the
 * other, so that the kernel reports a failed write-back to each of them. */
struct sto_wal__seg {
    struct ts_file *file;      /* for the owner's writes */
    struct ts_file *sync_file; /* for sync alone */
    struct sto_wal_name name;
    uint64_t base;             /* position (as in written) of its first byte */
    uint64_t end;              /* retired: position behind its last byte */
    bool is_empty;             /* retired: nothing was written, the file is removed */
    struct sto_wal__seg *next; /* retired: the one after */
};

struct sto_wal {
    const struct ts_fs *fs;
    char *dir;                      /* owned */
    struct sto_wal_name name;       /* of the open segment, or of the last one */
    uint64_t segment_bytes;         /* rotate above; fixed once threads run */
    uint32_t (*n_known)(void *arg); /* series with lower ids are in the catalog, on disk; NULL = none */
    void *known_arg;

    /* owner only: the open segment */
    struct ts_file *file;  /* NULL = none open */
    uint64_t base;         /* position (as in written) of its first byte */
    uint64_t end_off;      /* its good length */
    uint64_t marked_off;   /* what its last mark says */
    uint64_t mark_off;     /* the same, after the write being made */
    bool marked;           /* it has a mark */
    bool mark_put;         /* the same, after the write being made */
    uint32_t salt;         /* of its records */
    uint32_t used_end;     /* numbers of segments below it are used up */
    uint32_t prev_segment; /* last segment that holds records, before the open one */
    uint64_t prev_gen;     /* its generation */
    uint64_t prev_bytes;   /* its length */
    bool just_retired;     /* see sto_wal_take_retired */

    /* owner only: numbers of series in the open segment, a sparse set (Briggs and Torczon, "An Efficient Representation for
     * Sparse Sets", 1993): a series has a number if ids[number_of[slot]] is its id. The slots of series
     * that were forgotten are used again. So nothing is cleared when a segment ends. */
    struct sto_slots slots; /* constant */
    uint32_t *number_of;    /* by slot: its number, or whatever was there */
    size_t slots_cap;       /* room in number_of */
    uint32_t *ids;          /* by number: series id */
    uint32_t n_ids;         /* numbers given out */
    size_t numbers_cap;     /* room in ids */

    /* owner only: the write being made */
    uint8_t *buf;                           /* bytes */
    size_t buf_n, buf_cap;                  /* used, room */
    uint32_t numbers[STO_WAL_CHUNK_POINTS]; /* of the chunk's points */

    pthread_mutex_t lock;     /* not held across I/O */
    pthread_cond_t sync_done; /* a sync has ended */
    struct sto_wal__seg *
        seg; /* under lock: the open segment, NULL = none; its files are the owner's and the syncing thread's */
    struct sto_wal__seg
        *retired;       /* under lock: segments that ended and are perhaps not on disk, oldest first */
    unsigned n_retired; /* under lock */
    struct sto_wal__seg *spare; /* under lock: made beforehand, NULL = none */
    bool spare_ready;           /* under lock: its name is on disk */
    uint32_t next_segment;      /* under lock: number of the next one that is made */
    bool syncing;               /* under lock: a thread is in fdatasync; it alone lets retired segments go */
    pthread_t syncer;           /* under lock: which one, while syncing */

    _Atomic uint64_t written; /* owner adds; release after the write(2), acquire in sync */
    _Atomic uint64_t synced;  /* changed under lock; only grows */
    _Atomic bool broken;      /* never cleared; changed under lock */
    struct ts_error why;      /* the error that broke it; written once, under lock, before broken */
};

/** The open segment has ended: it waits for its sync among the retired ones. Owner only. Blocks only when several wait already.
 *  TS_EIO. */
int sto_wal__close_segment(struct sto_wal *wal, struct ts_error *err);
/** Begin the next segment: the spare one, or one that is made now (blocks for the sync of the folder). Its header goes with the
 * first records. Owner only. TS_ENOSPC, TS_EMFILE (may be tried again), TS_ELIMIT, TS_EIO. */
int sto_wal__open_segment(struct sto_wal *wal, struct ts_error *err);
/** Free the segments that are there, files closed; what was never written is removed. Nobody may be at work in the log. */
int sto_wal__free_segments(struct sto_wal *wal, struct ts_error *err);
/** What a broken log answers. */
int sto_wal__refuse(const struct sto_wal *wal, struct ts_error *err);
/** From now on nothing is accepted; returns TS_EIO with the text that is in err. lock not held. */
int sto_wal__break(struct sto_wal *wal, struct ts_error *err);

#endif
