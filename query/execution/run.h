/*
 * run.h - a sub query at work: pieces of series read in parallel, groups made of them.
 *
 * Threads    pieces run on the pool; everything else in the caller's thread
 */
#ifndef QUERY_EXECUTION_RUN_H
#define QUERY_EXECUTION_RUN_H

#include "query/execution/group.h"
#include "query/execution/reader.h"

/* What one piece left behind for groups that reach into other pieces. */
struct qry_piece {
    struct qry_part *parts; /* owned */
    size_t n_parts, cap_parts;
};

/* One sub query. */
struct qry_sub_run {
    struct qry_plan plan;
    struct sto_snap *snap;             /* borrowed */
    struct qry_budget *budget;         /* borrowed */
    struct ts_pool *pool;              /* borrowed; may be NULL */
    bool dense;                        /* series go into parts; else into spans */
    struct qry_piece *pieces;          /* [qry_plan_chunks] owned */
    struct qry_span *spans;            /* [plan.n] owned; NULL if dense */
    struct qry_result *results;        /* [plan.n_groups] owned */
    _Atomic uint64_t n_rows, n_points; /* read so far */
};
/** Ready for pieces; the plan is made already, its arena holds what this takes. Release it also after an error: TS_ELIMIT,
 * TS_ENOMEM. */
int qry_sub_run_init(struct qry_sub_run *r, struct sto_snap *snap, struct qry_budget *budget,
                     struct ts_pool *pool, struct ts_error *err);
/** Read one piece. Errors go to the budget. */
void qry_sub_run_piece(struct qry_sub_run *r, size_t piece);
/** The same of several runs whose pieces are numbered through: those of run i are first[i] to first[i + 1] - 1. */
void qry_sub_runs_piece(struct qry_sub_run *runs, const size_t *first, size_t piece);
/** After all pieces: groups into results. Errors go to the budget. */
void qry_sub_run_groups(struct qry_sub_run *r);
/** Free the memory. Idempotent. */
void qry_sub_run_release(struct qry_sub_run *r);

#endif
