/*
 * histogram.h - histograms: buckets by name, and queries for percentiles and buckets.
 *
 * The count of each bucket is an ordinary series (internal_metric.h), so that adding histograms is adding series and points.
 * Every histogram has the buckets "u" and "o", whose counts may be 0; so their points show at which times
 * there are histograms.
 *
 * Threads    one thread each
 * Source     protocols-and-queries 1.6, 4.14
 */
#ifndef QUERY_EXECUTION_HISTOGRAM_H
#define QUERY_EXECUTION_HISTOGRAM_H

#include "query/execution/run.h"

enum qry_bucket_kind { QRY_BUCKET_UNDER, QRY_BUCKET_OVER, QRY_BUCKET_RANGE };

/* One bucket: lower <= value < upper. */
struct qry_bucket {
    enum qry_bucket_kind kind;
    float lower, upper; /* only RANGE */
};
/** Append a float32 as Java prints it: the shortest digits that give the same float32 again. */
void qry_float_print(float f, struct ts_buf *out);
/** Append the name of a bucket in internal names: "u", "o", "0.0,10.0". */
void qry_bucket_print(const struct qry_bucket *b, struct ts_buf *out);
/** Read such a name; false if it is none. */
bool qry_bucket_parse(struct ts_slice s, struct qry_bucket *out);
/** Order: by lower, then upper bound; under- and overflow first. */
int qry_bucket_cmp(const struct qry_bucket *a, const struct qry_bucket *b);

/** May this histogram query be run? TS_EINVAL with OpenTSDB's text. */
int qry_histogram_check(const struct qry_sub *sub, struct ts_error *err);

/* Buckets of a metric that are stored. */
struct qry_buckets {
    struct qry_bucket *b;     /* ascending; in the arena */
    struct ts_slice *metrics; /* their internal metrics */
    size_t n;                 /* how many */
};
/** All buckets of a metric. */
void qry_buckets_find(struct sto_catalog *cat, struct ts_slice metric, struct ts_arena *arena,
                      struct qry_buckets *out);

/** Percentile p of counts of buckets: the middle of the first bucket whose cumulative share is at least p percent; -1 for
 * p < 1 or p > 100; NaN if nothing is counted. Under- and overflow do not count. */
double qry_histogram_percentile(const struct qry_bucket *b, const double *counts, size_t n, double p);

/* A histogram query at work. */
struct qry_histogram {
    struct qry_plan visible;    /* series users see, and their groups */
    struct qry_buckets buckets; /* of the metric */
    struct qry_sub_run *runs;   /* [buckets.n] sums of each bucket; owned */
    size_t *first;              /* [buckets.n + 1] number of the first piece of each */
    struct qry_budget *budget;  /* of the run; borrowed */
};
/** Plan and read sub query s of a spec; memory of the arena, and what qry_histogram_close frees. Errors of qry_run. */
int qry_histogram_read(struct sto_store *st, struct sto_snap *snap, struct ts_pool *pool,
                       const struct qry_spec *spec, size_t s, struct qry_budget *budget,
                       struct ts_arena *arena, struct qry_histogram *out, struct ts_error *err);
/** Emit an output for each group and percentile, then bucket.
 *  Cost: for each group O(points of all buckets + times x buckets). */
int qry_histogram_answer(struct sto_store *st, const struct qry_histogram *h, qry_series_fn emit, void *arg,
                         struct ts_error *err);
/** Idempotent. */
void qry_histogram_close(struct qry_histogram *h);

#endif
