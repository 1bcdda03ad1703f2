/*
 * group.h - series of a group into one: in buckets while series stream in (dense), or after all were read
 * (sparse).
 *
 * Group accumulators of parts are joined in the order of the parts, and parts are cut by position, so an
 * answer never depends on the number of threads.
 *
 * Threads    a part belongs to one thread; finishing a group to one thread
 */
#ifndef QUERY_EXECUTION_GROUP_H
#define QUERY_EXECUTION_GROUP_H

#include "query/aggregators/align.h"
#include "query/execution/plan.h"

/* Points of one output, cut to start..end. */
struct qry_result {
    size_t n, cap;   /* points; allocated in the arrays that are not NULL */
    int64_t *ts;     /* owned */
    uint64_t *v;     /* owned */
    uint8_t *is_int; /* owned; NULL: all_int says it for all */
    bool all_int;
    struct ts_budget *memory; /* account of the arrays */
};
/** Free the arrays. Idempotent. */
void qry_result_release(struct qry_result *r);
/** Make is_int of a result that has none, not filled. TS_ELIMIT, TS_ENOMEM. */
int qry_result_flags(struct qry_result *r, struct ts_error *err);

/* --- dense: buckets are known before reading --- */
/* Series of one group within one piece of work. */
struct qry_part {
    uint32_t group;    /* index in the plan */
    uint32_t n_series; /* series added */
    struct qry_group_acc group_acc;
    uint8_t *seen; /* [buckets] a series has a value here; owned */
};
/** Free the memory. Idempotent. */
void qry_part_release(struct qry_part *part);
/** What makes a group of n series: the query's aggregator; with compat small groups add as OpenTSDB does. */
const struct qry_agg *qry_group_agg(const struct qry_plan *p, size_t n);
/** Open a part for a plan's buckets; release it also after an error. TS_ELIMIT, TS_ENOMEM. */
int qry_part_open(struct qry_part *part, const struct qry_plan *p, uint32_t group, struct qry_budget *budget,
                  struct ts_error *err);
/** Add a series' buckets (n >= 1); buf: scratch for all buckets. phantom as in struct qry_span, places of the
 * grid. Errors are the budget's. */
int qry_part_add(struct qry_part *part, const struct qry_plan *p, const size_t *bucket, const double *v,
                 size_t n, const struct qry_span *phantom, uint32_t rank, double *buf);
/** Join parts of one group (in order; parts[0] is changed, the others are released) into its points.
 * TS_EINVAL: "Got Infinity"; errors of the budget. */
int qry_part_finish(struct qry_part *const *parts, size_t n, const struct qry_plan *p, struct qry_result *out,
                    struct ts_error *err);

/* --- sparse: spans of all series are kept --- */
/** Union, interpolation and aggregation of the spans of one group; ranks in the same order. Large groups
 * spread over the pool (may be NULL). rate: lines between points are held values. TS_ENOMEM, TS_ELIMIT,
 * TS_EINVAL "Got Infinity". */
int qry_group_spans(const struct qry_plan *p, const struct qry_span *const *spans, const uint32_t *ranks,
                    size_t n, struct ts_pool *pool, struct qry_budget *budget, struct qry_result *out,
                    struct ts_error *err);
/** A lone span as it is (aggregator none). */
int qry_group_single(const struct qry_plan *p, const struct qry_span *span, struct qry_budget *budget,
                     struct qry_result *out, struct ts_error *err);

#endif
