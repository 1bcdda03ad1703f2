/*
 * top.h - the best series of a sub query: the N with the highest or lowest average, maximum, ...
 *
 * Threads    one
 */
#ifndef QUERY_EXECUTION_TOP_H
#define QUERY_EXECUTION_TOP_H

#include "query/execution/run.h"

/** Order the groups of a finished sub query, best first: at most top->n of those whose value is a number.
 * Equal groups are ordered by the texts of their tags. The array of *out_n group indexes belongs to the
 * arena. TS_ELIMIT, errors of qry_budget_look. */
int qry_top_order(const struct qry_view *view, const struct qry_top *top, const struct qry_sub_run *sr,
                  struct ts_arena *arena, size_t **out_order, size_t *out_n, struct ts_error *err);

#endif
