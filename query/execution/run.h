/*
 * run.h - runs a sub query: reads pieces of series in parallel and aggregates their groups.
 *
 * Threads    pieces run on the pool; everything else in the caller's thread
 */
#ifndef QUERY_EXECUTION_RUN_H
#define QUERY_EXECUTION_RUN_H

#include "query/execution/group.h"
#include "query/execution/reader.h"

/* Parts of groups that have series in other pieces too. */
struct qry_piece {
    struct qry_part *parts; /* owned */
    size_t n_parts, cap_parts;
};

/* The run of one sub query. */
struct qry_sub_run {
    struct qry_plan plan;
    struct sto_snap *snap;             /* borrowed */
    struct qry_budget *budget;         /* borrowed */
    struct ts_pool *pool;              /* borrowed; may be NULL */
    bool dense;                        /* series are added to parts; else to spans */
    size_t first_piece;                /* its number when several runs are read together */
    struct qry_piece *pieces;          /* [qry_plan_chunks] owned */
    struct qry_span *spans;            /* [plan.n] owned; NULL if dense */
    struct qry_result *results;        /* [plan.n_groups] owned */
    _Atomic uint64_t n_rows, n_points; /* read so far */
};
/** Prepare a run whose plan is set; its memory comes from the arena of the plan. The caller must release it,
 * also after an error: TS_ELIMIT, TS_ENOMEM. */
int qry_sub_run_init(struct qry_sub_run *r, struct sto_snap *snap, struct qry_budget *budget,
                     struct ts_pool *pool, struct ts_error *err);
/** Read all pieces of n initialised runs under one budget. Errors of the budget. */
int qry_sub_runs_read(struct qry_sub_run *runs, size_t n, struct qry_budget *budget, struct ts_pool *pool,
                      struct ts_error *err);
/** After all pieces were read: compute the results of the groups. */
int qry_sub_run_groups(struct qry_sub_run *r, struct ts_error *err);
/** Free the memory. Idempotent. */
void qry_sub_run_release(struct qry_sub_run *r);

#endif
