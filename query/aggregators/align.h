/*
 * align.h - several series on common time stamps: the union of their times, and what each contributes to all
 * of them.
 *
 * A series contributes from its first to its last point, so a stretch at..at+n of the common times. Where it
 * has no point the aggregator's policy says what it contributes.
 *
 * Source     protocols-and-queries 4.4, 4.10
 */
#ifndef QUERY_AGGREGATORS_ALIGN_H
#define QUERY_AGGREGATORS_ALIGN_H

#include "query/aggregators/agg.h"
#include "query/limit.h"
#include "query/span.h"

/* Ascending times, each once. */
struct qry_stamps {
    const int64_t *ts;        /* owned if there is an owner, else borrowed */
    size_t n, cap;            /* number of times; allocated (counted) */
    struct qry_budget *owner; /* whose account counts ts; NULL: borrowed */
};
/** Union of n sets, which are emptied; out may be one that is borrowed. TS_ELIMIT, TS_ENOMEM, errors of
 * qry_budget_look. O(total log n), O(total) when all are the same. */
int qry_stamps_union(struct qry_stamps *sets, size_t n, struct qry_budget *budget, struct qry_stamps *out,
                     struct ts_error *err);
/** Union of the times of spans, which must live as long as out. Errors of qry_stamps_union. */
int qry_stamps_of_spans(const struct qry_span *const *spans, size_t n, struct qry_budget *budget,
                        struct qry_stamps *out, struct ts_error *err);
/** Free what is owned. Idempotent. */
void qry_stamps_release(struct qry_stamps *s);

/** Places of sorted times in sorted stamps that hold them all. O(n_stamps) or less. */
void qry_align_places(const struct qry_stamps *g, const int64_t *ts, size_t n, size_t *at);
/** Contributions at places at[0]..at[n-1]: out[0..at[n-1] - at[0]]. grid: time of each place; n >= 1. */
void qry_expand_f64(enum qry_interp interp, const int64_t *grid, const size_t *at, const double *v, size_t n,
                    double *out);
/** The same for integers, by integer arithmetic (truncating, as OpenTSDB). */
void qry_expand_i64(enum qry_interp interp, const int64_t *grid, const size_t *at, const int64_t *v, size_t n,
                    int64_t *out);
/** Set flags[place] = 1 where a series holds a double: its point there, the one before, or the next one. */
void qry_align_doubles(const struct qry_span *s, const size_t *at, uint8_t *flags);

#endif
