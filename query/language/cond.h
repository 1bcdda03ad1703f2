/*
 * cond.h - conditions on the values of raw points: "value>10,value<=20".
 *
 * Threads    any; conditions are constant once parsed
 * Cost       ~2 ns a condition and point; hours that a summary decides cost nothing
 */
#ifndef QUERY_LANGUAGE_COND_H
#define QUERY_LANGUAGE_COND_H

#include "query/query.h"

enum qry_cond_op { QRY_COND_GT, QRY_COND_GE, QRY_COND_LT, QRY_COND_LE, QRY_COND_EQ, QRY_COND_NE };
struct qry_cond {
    enum qry_cond_op op; /* value OP than */
    struct ts_num than;
};

/** Parse "value OP NUMBER", separated by commas, all of which must hold; OP: > >= < <= = == !=. Memory of the
 * arena. TS_EINVAL. */
int qry_where_parse(struct ts_slice text, struct ts_arena *arena, struct qry_where *out,
                    struct ts_error *err);
/** Decide from the summary of an hour whether its points meet the conditions: 1 all, 0 none, -1 unknown, so
 * the points must be read. */
int qry_where_hour(const struct qry_where *w, const struct sto_summary *s);
/** Copy the points that meet the conditions to out, which the caller owns and which may become empty. */
void qry_where_cells(const struct qry_where *w, const struct sto_cells *in, struct sto_cells *out);

#endif
