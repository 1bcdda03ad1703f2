/*
 * limit.h - the limits of a run (points, bytes, time ...), and the first error of its threads.
 *
 * All memory of a run whose size depends on data or on the request is counted in one account, budget->memory, before
 * it is allocated (ts_budget_alloc and related functions), and released from it when it is freed. A loop that may run long calls
 * qry_budget_look every few hundred steps.
 *
 * Threads    the pieces of a run use it concurrently
 */
#ifndef QUERY_LIMIT_H
#define QUERY_LIMIT_H

#include "query/query.h"

#define QRY_LOOK_STEPS 256 /* cheap steps (series, values, groups) between two checks of the limits */

/* Shared by all pieces of a run. */
struct qry_budget {
    struct qry_limit *limit;  /* NULL: none */
    struct ts_budget *memory; /* account of the run's memory; NULL: not counted */
    bool any_series;    /* query_max_series does not apply: the run only estimates what a query would read */
    _Atomic int stop;   /* code of the first error; 0 = continue */
    _Atomic bool taken; /* a thread writes err, or has written it */
    _Atomic bool err_ready; /* err is complete */
    struct ts_error err;    /* the first error */
};
/** Initialise a budget under a limit (NULL: none). Several budgets under one limit share its account. */
void qry_budget_init(struct qry_budget *b, struct qry_limit *limit);
/** Report n points read and check whether the run must end: 0; TS_ELIMIT, TS_ECANCELLED, TS_ETIMEOUT, or the
 * error of another piece. */
int qry_budget_points(struct qry_budget *b, uint64_t n);
/** Check whether the run must end; returns as qry_budget_points, with the text in err (may be NULL). */
int qry_budget_look(struct qry_budget *b, struct ts_error *err);
/** The same of a struct qry_budget, as struct sto_scan_spec calls it. */
static inline int qry_budget_look_at(void *budget, struct ts_error *err)
{
    return qry_budget_look((struct qry_budget *)budget, err);
}
/** Call qry_budget_look at every QRY_LOOK_STEPS-th call; *step is the caller's counter. */
static inline int qry_budget_step(struct qry_budget *b, size_t *step, struct ts_error *err)
{
    return ++*step % QRY_LOOK_STEPS ? 0 : qry_budget_look(b, err);
}
/** Record which limit ends the run, for the counter of refusals; limit may be NULL. */
static inline void qry_limit_refuse(struct qry_limit *limit, enum qry_refusal why)
{
    if (limit)
        atomic_store_explicit(&limit->refusal, why, memory_order_relaxed);
}
/** Refuse a scan that would read more bytes of files than the limit allows, as estimated from the indexes.
 * TS_ELIMIT. */
int qry_budget_scan(struct qry_budget *b, struct sto_snap *snap, const struct sto_scan_spec *spec,
                    struct ts_error *err);
/** End the run with an error; the first one counts. Returns rc. */
int qry_budget_fail(struct qry_budget *b, int rc, const struct ts_error *err);
/** Has the run ended? */
static inline bool qry_budget_stopped(struct qry_budget *b)
{
    return atomic_load_explicit(&b->stop, memory_order_relaxed) != 0;
}
/** 0, or the error that ended the run, in err. */
int qry_budget_result(struct qry_budget *b, struct ts_error *err);
/* A piece of the work of a run; an error ends the run. */
typedef int (*qry_piece_fn)(void *arg, size_t i, struct ts_error *err);
/** Call piece(arg, 0..n-1), distributed over the pool (NULL: the caller's thread alone), until one fails or the run must
 * end. Memory of exact sums counts in the account of the run meanwhile. Returns as qry_budget_result. */
int qry_budget_each(struct qry_budget *b, struct ts_pool *pool, size_t n, qry_piece_fn piece, void *arg,
                    struct ts_error *err);

/** Allocate n items of n_bytes each from an arena, where n comes from outside; not cleared. NULL: the arena's
 * account is full (TS_ELIMIT in err) or memory is short (TS_ENOMEM). */
void *qry_arena_take(struct ts_arena *arena, size_t n, size_t n_bytes, struct ts_error *err);
/** The same, cleared. */
void *qry_arena_zero(struct ts_arena *arena, size_t n, size_t n_bytes, struct ts_error *err);
/** The error code after an allocation returned NULL. */
static inline int qry_memory_code(const struct ts_error *err)
{
    return err && err->code ? err->code : TS_ENOMEM;
}

#endif
