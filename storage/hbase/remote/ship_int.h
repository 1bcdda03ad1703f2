/*
 * ship_int.h - the threads that ship, and the steps of a shipment; for ship*.c and delete.c only.
 */
#ifndef STORAGE_HBASE_REMOTE_SHIP_INT_H
#define STORAGE_HBASE_REMOTE_SHIP_INT_H

#include "storage/hbase/remote/change.h"
#include "storage/hbase/remote/remote_int.h"

#include <pthread.h>

#define STO_HBASE__CHUNK      1024u /* pieces that are looked up together */
#define STO_HBASE__WINDOW     3     /* putMultiple requests in flight over a connection */
#define STO_HBASE__MERGE_ROWS 64u   /* rows that are read and changed together */

/* What the senders have done since the start. */
struct sto_hbase__counts {
    _Atomic uint64_t n_shipments, n_rows, n_points; /* rows and points without those that were refused */
    _Atomic uint64_t n_compacted;                   /* rows that were written as one column, without a look */
    _Atomic uint64_t n_merged;                      /* rows that were read first */
    _Atomic uint64_t n_changed;                     /* of these, rows that had to be changed */
    _Atomic uint64_t n_settled;   /* rows in which another writer had written meanwhile at the same times */
    _Atomic uint64_t n_refused;   /* rows that HBase cannot hold, or refused for good */
    _Atomic uint64_t n_failed;    /* shipments that ended with an error */
    _Atomic uint64_t n_uncounted; /* counters of series that could not be written */
    _Atomic uint64_t n_repeats;   /* changes of rows that were begun again after an error */
    _Atomic uint64_t n_deletes, n_deleted_rows; /* ranges; rows changed or deleted for them */
};
static inline void sto_hbase__count(_Atomic uint64_t *counter, uint64_t n)
{
    atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

/* Points of a row that are written together: all of them, unless there are very many. */
struct sto_hbase__piece {
    uint32_t row;     /* in the shipment */
    uint32_t from, n; /* points of it */
    uint32_t n_new;   /* of these, points that HBase lacked, or had with other values */
    bool fresh;       /* written without a look */
    bool as_one;      /* as one column, if it fits */
    bool compacts;    /* after a merge the row becomes one column */
    uint8_t n_key;    /* bytes of key */
    uint8_t key[STO_HBASE_MAX_KEY_BYTES];
};

/* A thread that ships: what it needs for one shipment at a time. */
struct sto_hbase__worker {
    struct sto_hbase *h;
    struct sto_hbase__counts *counts;
    pthread_t thread;
    struct sto_hbase_session session;

    const struct sto_shipment *s; /* being sent */
    size_t at_row;                /* next row to be divided */
    uint32_t at_point;            /* next point of it */
    int64_t stamp_ms;             /* timestamp of the fresh rows of the shipment */
    size_t last_refused;          /* row that `refused` was called for last; SIZE_MAX = none */

    struct sto_hbase__piece pieces[STO_HBASE__CHUNK];
    size_t n_pieces;
    const struct sto_remote_series *series[STO_HBASE__CHUNK]; /* of the pieces */
    struct sto_hbase_series_id ids[STO_HBASE__CHUNK];
    uint16_t fresh[STO_HBASE__CHUNK], known[STO_HBASE__CHUNK]; /* indices of pieces */
    size_t n_fresh, n_known;

    uint16_t bad[STO_HBASE__CHUNK]; /* pieces that HBase refused, of the batch that is being divided */
    size_t n_bad;
    struct ts_error bad_why;

    struct sto_thrift_request puts[STO_HBASE__WINDOW];
    struct ts_buf qualifier, value; /* of a compacted column */

    struct sto_hbase_change change;
    struct sto_hbase_cell *cells; /* of the row that was read */
    size_t cap_cells;
    struct sto_thrift_request read, put; /* of a merge: getMultiple; putMultiple for rows without deletes */
    struct sto_thrift_request changes[STO_HBASE__MERGE_ROWS]; /* mutateRow */
    struct sto_thrift_request appends[STO_HBASE__MERGE_ROWS];
    size_t n_changes, n_appends;
    int64_t newest_ms[STO_HBASE__MERGE_ROWS]; /* timestamp that was read of each row of the merge, */
    int64_t known_ms[STO_HBASE__MERGE_ROWS];  /* and the one that was read before the first change */
};

/** The points of a piece. */
static inline struct sto_cells sto_hbase__points(const struct sto_hbase__worker *w,
                                                 const struct sto_hbase__piece *p)
{
    struct sto_cells c = *w->s->rows[p->row].cells;
    c.meta += p->from;
    c.m += p->from;
    c.n = p->n;
    c.cap = 0;
    return c;
}
static inline struct ts_slice sto_hbase__table(const struct sto_hbase *h)
{
    return ts_slice_str(h->opts.tables.data);
}
static inline int64_t sto_hbase__now_ms(const struct sto_hbase *h)
{
    return h->opts.now_ms ? h->opts.now_ms() : ts_clock_ms();
}

/* ship.c */
struct sto_hbase__counts *sto_hbase__ship_counts(struct sto_hbase *h);

/* ship_rows.c */
/** Everything that a worker needs; memory is counted in the account of the connections. */
void sto_hbase__worker_init(struct sto_hbase__worker *w, struct sto_hbase *h,
                            struct sto_hbase__counts *counts);
void sto_hbase__worker_release(struct sto_hbase__worker *w);
/** Send a shipment. 0, or an error of `ship` in storage/remote.h. */
int sto_hbase__ship_now(struct sto_hbase__worker *w, const struct sto_shipment *s,
                        const struct sto_remote_call *call, struct ts_error *err);
/** Tell the caller that a row is refused. */
void sto_hbase__refuse(struct sto_hbase__worker *w, size_t row, const struct ts_error *why);

/* ship_counters.c */
/** Write to tsdb-meta that the pieces have got points. */
void sto_hbase__ship_counters(struct sto_hbase__worker *w);

/* ship_histogram.c */
/** Send the rows of the shipment that are buckets of histograms. Errors as sto_hbase__ship_now. */
int sto_hbase__ship_histograms(struct sto_hbase__worker *w, struct ts_error *err);

/* ship_rollup.c */
/** Send the rows of the shipment that are rollups or pre-aggregates. Errors as sto_hbase__ship_now. */
int sto_hbase__ship_rollups(struct sto_hbase__worker *w, struct ts_error *err);

/* ship_merge.c */
/** Read, merge and change the rows of known[0..n_known). Errors as sto_hbase__ship_now. */
int sto_hbase__ship_merge(struct sto_hbase__worker *w, struct ts_error *err);
/** Encode a planned change of a row of a table: puts in `put` if there are no deletes and no guard (of a batch that was begun), otherwise one mutateRow, or
 * with a guard one checkAndMutate, in change. ts_ms: of the puts; 0 = HBase assigns it. Returns whether change was used. */
bool sto_hbase__encode_change(struct ts_slice table, struct sto_hbase_change *c, struct ts_slice key,
                              int64_t ts_ms, struct sto_thrift_request *put,
                              struct sto_thrift_request *change);
/** Free the memory of changes and appends that few rows need. */
void sto_hbase__trim(struct sto_hbase__worker *w);
/** The cells of family t of a row that was read; cells, cap: grown as needed, uncounted parts are those of the reply. Returns how many, or an error. */
int64_t sto_hbase__row_cells(struct sto_thrift_row *row, struct sto_hbase_cell **cells, size_t *cap,
                             struct ts_budget *memory, struct ts_error *err);
/** The timestamp of the puts of a row: greater than the newest one that was read; INT64_MIN: nothing was. Such a row may have deletes: ours have timestamps
 * that this clock has passed (delete.c), perhaps not yet HBase's. If the points are hidden all the same (again), by deletes of others, HBase assigns it (0). */
int64_t sto_hbase__stamp(int64_t newest_ms, bool again);
/** Send requests and wait for all replies. undone[n], may be NULL: true where a checkAndMutate has found another value. *out_refused, *out_final: what the
 * first failure was. Errors of the Thrift2 layer. */
int sto_hbase__send_all(struct sto_hbase_session *s, struct sto_thrift_request *const *requests, size_t n,
                        bool *undone, bool *out_refused, bool *out_final, struct ts_error *err);

/* ship_attempt.c */
/* An attempt to change rows that has failed. */
struct sto_hbase__attempt {
    unsigned n;    /* its number, from 0 */
    size_t n_rows; /* that it concerned */
    bool refused;  /* HBase refuses some of them */
    bool final;    /* its error would be the same once more */
};
enum sto_hbase__verdict {
    STO_HBASE__DIVIDE, /* each half by itself: a smaller reply, or the row that is refused is found */
    STO_HBASE__REPEAT, /* after a pause */
    STO_HBASE__REFUSE, /* the row is set aside, since it would hold up all others */
    STO_HBASE__FAIL,   /* the error is that of the whole */
};
/** What follows from an attempt's error rc? why->code is set: TS_EINVAL with REFUSE, otherwise rc. A row for which memory is refused is too large, unless others
 * hold the memory: then it is tried for some seconds. */
enum sto_hbase__verdict sto_hbase__judge(const struct sto_hbase *h, const struct sto_hbase_session *s,
                                         const struct sto_hbase__attempt *a, int rc, struct ts_error *why);
/** As sto_hbase_pause, before an attempt; why: the error of the one before, code 0: there was none. It is the error when the time is up. */
int sto_hbase__pause_after(struct sto_hbase_session *s, unsigned attempt, const struct ts_error *why,
                           struct ts_error *err);
/** Fail with an error; it is translated as sto_hbase_error does. */
int sto_hbase__fail(const struct ts_error *why, struct ts_error *err);

#endif
