/*
 * align.h - aligns several series: the union of their timestamps, and what each series contributes at each of them.
 *
 * A series contributes from its first to its last point, which is a contiguous part of the common timestamps. The
 * aggregator's interpolation policy decides what it contributes where it has no point.
 *
 * Source     docs/OPENTSDB.md, sections 4.4, 4.10
 */
#ifndef QUERY_AGGREGATORS_ALIGN_H
#define QUERY_AGGREGATORS_ALIGN_H

#include "query/aggregators/agg.h"
#include "query/limit.h"
#include "query/span.h"

/* Ascending times, each once. */
struct qry_stamps {
    const int64_t *ts;        /* owned if owner is set, else borrowed */
    size_t n, cap;            /* number of timestamps; capacity, counted */
    struct qry_budget *owner; /* its account counts ts; NULL: ts is borrowed */
};
/** Compute the union of n sets, which are emptied; out may borrow its timestamps. TS_ELIMIT, TS_ENOMEM,
 * errors of qry_budget_look. Cost: O(total log n), O(total) if all sets are equal. */
int qry_stamps_union(struct qry_stamps *sets, size_t n, struct qry_budget *budget, struct qry_stamps *out,
                     struct ts_error *err);
/** Compute the union of the timestamps of spans, which must live as long as out. Errors as for
 * qry_stamps_union. */
int qry_stamps_of_spans(const struct qry_span *const *spans, size_t n, struct qry_budget *budget,
                        struct qry_stamps *out, struct ts_error *err);
/** Free the timestamps if they are owned. Idempotent. */
void qry_stamps_release(struct qry_stamps *s);

/** Store in at[] the index in g of each of n ascending timestamps, all of which g contains. Cost: at most
 * O(g->n). */
void qry_align_places(const struct qry_stamps *g, const int64_t *ts, size_t n, size_t *at);
/** Compute the contributions of n >= 1 values at the indexes at[0] to at[n-1] into out[0 .. at[n-1] - at[0]];
 * grid has the timestamp of each index. */
void qry_expand_f64(enum qry_interp interp, const int64_t *grid, const size_t *at, const double *v, size_t n,
                    double *out);
/** The same for integers, with integer arithmetic that truncates as OpenTSDB does. */
void qry_expand_i64(enum qry_interp interp, const int64_t *grid, const size_t *at, const int64_t *v, size_t n,
                    int64_t *out);
/** Set flags[index] = 1 where the contribution of a series is a double: its point there, the previous or the
 * next one is one. */
void qry_align_doubles(const struct qry_span *s, const size_t *at, uint8_t *flags);

#endif
