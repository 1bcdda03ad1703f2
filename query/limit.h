/*
 * limit.h - what one run may use: points, bytes, time; and the first error of its many threads.
 *
 * Threads    any number of pieces of one run at once
 */
#ifndef QUERY_LIMIT_H
#define QUERY_LIMIT_H

#include "query/query.h"

/* Shared by all pieces of a run. */
struct qry_budget {
    struct qry_limit *limit;  /* NULL: none */
    _Atomic uint64_t n_bytes; /* memory taken so far */
    uint64_t n_read_bytes;    /* of files, estimated; the planning thread's */
    _Atomic int stop;         /* code of the first error; 0 = go on */
    _Atomic bool taken;       /* err belongs to somebody */
    struct ts_error err;      /* the first error; read it after all pieces ended */
};
/** Begin a piece of work under a limit (NULL: none). */
void qry_budget_init(struct qry_budget *b, struct qry_limit *limit);
/** Report n points read; 0, or why the run ends: TS_ELIMIT, TS_ECANCELLED, TS_ETIMEOUT, or another piece's
 * error. */
int qry_budget_points(struct qry_budget *b, uint64_t n);
/** Refuse a scan that would read more of files than the limit allows, by the indexes' estimate; TS_ELIMIT. */
int qry_budget_scan(struct qry_budget *b, struct sto_snap *snap, const struct sto_scan_spec *spec,
                    struct ts_error *err);
/** Report memory taken; TS_ELIMIT. */
int qry_budget_bytes(struct qry_budget *b, uint64_t n);
/** End the run with an error; the first one counts. Returns rc. */
int qry_budget_fail(struct qry_budget *b, int rc, const struct ts_error *err);
/** Has the run ended? */
static inline bool qry_budget_stopped(struct qry_budget *b)
{
    return atomic_load_explicit(&b->stop, memory_order_relaxed) != 0;
}
/** After all pieces: 0, or the error in err. */
int qry_budget_result(struct qry_budget *b, struct ts_error *err);

#endif
