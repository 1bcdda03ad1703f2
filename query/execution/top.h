/*
 * top.h - the best series of a sub query: the N with the highest or lowest average, maximum, ...
 *
 * Threads    one
 */
#ifndef QUERY_EXECUTION_TOP_H
#define QUERY_EXECUTION_TOP_H

#include "query/execution/run.h"

/** Groups of a finished sub query, best first: at most top->n of those with a number. Equal ones stand in the order of
 * their tags' texts. The array of *out_n numbers is the arena's. TS_ELIMIT, errors of qry_budget_look. */
int qry_top_order(const struct sto_catalog *cat, const struct qry_top *top, const struct qry_sub_run *sr,
                  struct ts_arena *arena, size_t **out_order, size_t *out_n, struct ts_error *err);

#endif
