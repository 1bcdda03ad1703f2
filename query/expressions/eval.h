/*
 * eval.h - runs a program over the columns of several sets: for formulas (exp) and for functions that combine queries (gexp).
 *
 * Threads    one job at a time
 */
#ifndef QUERY_EXPRESSIONS_EVAL_H
#define QUERY_EXPRESSIONS_EVAL_H

#include "query/expressions/expr.h"
#include "query/expressions/join.h"

/* What to run, and over what. Everything is borrowed. */
struct qry_eval {
    const struct qry_expr *program; /* its variables stand for sets */
    struct qry_join_in in;          /* the sets, and which of their columns belong together */
    const size_t *set_of; /* [program->n_vars] index of the set of each variable; NULL: the same index */
    const double *fill;   /* [program->n_vars] value where a column has none; NULL: 0 */
    bool zero_missing;    /* a set that has no such column counts as 0, not as its fill value */
    struct ts_slice id;   /* of the formula, for errors; may be empty */
};
/** Append one column for each row of the join to out: all have the times of all columns. TS_EINVAL "No intersections found",
 * errors of qry_expr_run and of qry_work_take. */
int qry_eval(struct qry_work *w, const struct qry_eval *e, struct qry_cols *out, struct ts_error *err);

#endif
