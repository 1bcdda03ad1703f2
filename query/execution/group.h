/*
 * group.h - aggregates the series of a group: bucket by bucket while they are read (dense), or after all were read (sparse).
 *
 * Parts are divided by position and their accumulators are merged in order, so a result never depends on the number of threads.
 *
 * Threads    a part belongs to one thread; finishing a group to one thread
 */
#ifndef QUERY_EXECUTION_GROUP_H
#define QUERY_EXECUTION_GROUP_H

#include "query/aggregators/align.h"
#include "base/double.h"
#include "query/execution/plan.h"

/* Points of one output, cut to start..end. */
struct qry_result {
    size_t n, cap;   /* points; capacity of the arrays that are not NULL */
    int64_t *ts;     /* owned */
    uint64_t *v;     /* owned */
    uint8_t *is_int; /* owned, one flag per point; NULL: all_int holds for all points */
    bool all_int;
    struct ts_budget *memory; /* account of the arrays */
};
/** Is point k an integer? */
static inline bool qry_result_int(const struct qry_result *r, size_t k)
{
    return r->is_int ? r->is_int[k] : r->all_int;
}
/** Point k as a double. */
static inline double qry_result_double(const struct qry_result *r, size_t k)
{
    return qry_result_int(r, k) ? (double)(int64_t)r->v[k] : ts_double_of(r->v[k]);
}
/** Free the arrays. Idempotent. */
void qry_result_release(struct qry_result *r);
/** Allocate is_int of a result that has none; it is not initialised. TS_ELIMIT, TS_ENOMEM. */
int qry_result_flags(struct qry_result *r, struct ts_error *err);

/* --- dense: buckets are known before reading --- */
/* The series of one group within one piece of work. */
struct qry_part {
    uint32_t group;    /* index in the plan */
    uint32_t n_series; /* series added */
    struct qry_group_acc group_acc;
    uint8_t *seen; /* [buckets] 1: some series has a value there; owned */
};
/** Free the memory. Idempotent. */
void qry_part_release(struct qry_part *part);
/** The aggregator for a group of n series: that of the query; with compat, small groups use the one that adds
 * in OpenTSDB's order. */
const struct qry_agg *qry_group_agg(const struct qry_plan *p, size_t n);
/** Open a part for the buckets of a plan; the caller must release it, also after an error. TS_ELIMIT,
 * TS_ENOMEM. */
int qry_part_open(struct qry_part *part, const struct qry_plan *p, uint32_t group, struct qry_budget *budget,
                  struct ts_error *err);
/** Add the n >= 1 buckets of a series. buf has room for all buckets; phantom is that of struct qry_span, with
 * bucket indexes. Errors are reported in the budget. */
int qry_part_add(struct qry_part *part, const struct qry_plan *p, const size_t *bucket, const double *v,
                 size_t n, const struct qry_span *phantom, uint32_t rank, double *buf);
/** Merge the parts of one group in order (parts[0] is changed, the others are released) and compute its
 * points. TS_EINVAL "Got Infinity"; errors of the budget. */
int qry_part_finish(struct qry_part *const *parts, size_t n, const struct qry_plan *p, struct qry_result *out,
                    struct ts_error *err);

/* --- sparse: spans of all series are kept --- */
/** Align, interpolate and aggregate the n spans of one group; ranks are in the same order. Large groups use
 * the pool, which may be NULL. With rate, a series keeps its last value instead of linear interpolation.
 * TS_ENOMEM, TS_ELIMIT, TS_EINVAL "Got Infinity". */
int qry_group_spans(const struct qry_plan *p, const struct qry_span *const *spans, const uint32_t *ranks,
                    size_t n, struct ts_pool *pool, struct qry_budget *budget, struct qry_result *out,
                    struct ts_error *err);
/** Convert a single span without aggregation (aggregator none). Errors as for qry_group_spans. */
int qry_group_single(const struct qry_plan *p, const struct qry_span *span, struct qry_budget *budget,
                     struct qry_result *out, struct ts_error *err);

#endif
