/*
 * limit.h - what one run may use: points, bytes, time; and the first error of its many threads.
 *
 * All memory of a run whose size depends on data or on the request is taken from one account, budget->memory, with
 * ts_budget_alloc and its like, before it is allocated, and given back when it is freed. Whoever may loop for long calls
 * qry_budget_look every few hundred steps.
 *
 * Threads    any number of pieces of one run at once
 */
#ifndef QUERY_LIMIT_H
#define QUERY_LIMIT_H

#include "query/query.h"

#define QRY_LOOK_STEPS 256 /* cheap steps (series, values, groups) between two looks at the limits */

/* Shared by all pieces of a run. */
struct qry_budget {
    struct qry_limit *limit;  /* NULL: none */
    struct ts_budget *memory; /* account of the run's memory; NULL: not counted */
    bool any_series;          /* query_max_series refuses nothing: the run only says what would be read */
    _Atomic int stop;         /* code of the first error; 0 = continue */
    _Atomic bool taken;       /* err belongs to somebody */
    _Atomic bool told;        /* err is written */
    struct ts_error err;      /* the first error */
};
/** Begin a piece of work under a limit (NULL: none). Several pieces of work under one limit share its account. */
void qry_budget_init(struct qry_budget *b, struct qry_limit *limit);
/** Report n points read, and look whether the run must end; 0, or why it ends: TS_ELIMIT, TS_ECANCELLED, TS_ETIMEOUT, or
 * another piece's error. */
int qry_budget_points(struct qry_budget *b, uint64_t n);
/** Look whether the run must end; as qry_budget_points, with the text in err (may be NULL). */
int qry_budget_look(struct qry_budget *b, struct ts_error *err);
/** A look at every QRY_LOOK_STEPS-th call; *step is the caller's counter. */
static inline int qry_budget_step(struct qry_budget *b, size_t *step, struct ts_error *err)
{
    return ++*step % QRY_LOOK_STEPS ? 0 : qry_budget_look(b, err);
}
/** Note which limit ends the run, for its counter; limit may be NULL. */
static inline void qry_limit_refuse(struct qry_limit *limit, enum qry_refusal why)
{
    if (limit)
        atomic_store_explicit(&limit->refusal, why, memory_order_relaxed);
}
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
/** 0, or the error that ended the run, in err. */
int qry_budget_result(struct qry_budget *b, struct ts_error *err);

/** Memory of an arena for n items of n_bytes each whose number comes from outside; NULL: refused by the arena's account
 * (TS_ELIMIT in err) or not there (TS_ENOMEM). Not cleared. */
void *qry_arena_take(struct ts_arena *arena, size_t n, size_t n_bytes, struct ts_error *err);
/** The same, cleared. */
void *qry_arena_zero(struct ts_arena *arena, size_t n, size_t n_bytes, struct ts_error *err);
/** Code of err after an allocation answered NULL. */
static inline int qry_memory_code(const struct ts_error *err)
{
    return err && err->code ? err->code : TS_ENOMEM;
}

#endif
