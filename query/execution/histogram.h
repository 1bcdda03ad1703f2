/*
 * histogram.h - histograms: names of buckets, and queries for percentiles and buckets.
 *
 * The counts of each bucket are stored as an ordinary series (internal_metric.h), so histograms are added by adding series. Every
 * histogram has the buckets "u" and "o", whose counts may be 0; their points show at which times histograms exist.
 *
 * Threads    a histogram query belongs to one thread
 * Source     docs/OPENTSDB.md, sections 1.6, 4.14
 */
#ifndef QUERY_EXECUTION_HISTOGRAM_H
#define QUERY_EXECUTION_HISTOGRAM_H

#include "query/execution/run.h"

enum qry_bucket_kind { QRY_BUCKET_UNDER, QRY_BUCKET_OVER, QRY_BUCKET_RANGE };

/* One bucket: lower <= value < upper. */
struct qry_bucket {
    enum qry_bucket_kind kind;
    float lower, upper; /* bounds; only with QRY_BUCKET_RANGE */
};
/** Append a float32 as Java prints it: the shortest digits that give the same float32 again. */
void qry_float_print(float f, struct ts_buf *out);
/** Append the name of a bucket as internal metrics contain it: "u", "o", "0.0,10.0". */
void qry_bucket_print(const struct qry_bucket *b, struct ts_buf *out);
/** Parse such a name; false if it is malformed. */
bool qry_bucket_parse(struct ts_slice s, struct qry_bucket *out);
/** Compare by lower, then by upper bound; underflow and overflow come first. */
int qry_bucket_cmp(const struct qry_bucket *a, const struct qry_bucket *b);

/** Check that a sub query for histograms is valid. TS_EINVAL with OpenTSDB's text. */
int qry_histogram_check(const struct qry_sub *sub, struct ts_error *err);

/* The stored buckets of a metric. */
struct qry_buckets {
    struct qry_bucket *b;     /* ascending; in the arena */
    struct ts_slice *metrics; /* their internal metrics */
    size_t n;                 /* number of buckets */
};
/** Find all buckets of a metric, here and in the remote store. Errors of qry_view_suggest; *out is empty then. */
int qry_buckets_find(struct qry_view *view, struct ts_slice metric, struct ts_arena *arena,
                     struct qry_buckets *out, struct ts_error *err);

/** Percentile p (in percent) of the counts of n buckets: the middle of the first bucket whose cumulative share is
 * at least p percent; -1 for p < 1 or p > 100; NaN if all counts are 0. Ignores underflow and overflow. */
double qry_histogram_percentile(const struct qry_bucket *b, const double *counts, size_t n, double p);

/* A running histogram query. */
struct qry_histogram {
    struct qry_plan visible;    /* the visible series and their groups */
    struct qry_buckets buckets; /* buckets of the metric */
    struct qry_sub_run *runs;   /* [buckets.n] sums of each bucket; owned */
    struct qry_budget *budget;  /* limits of the run; borrowed */
};
/** Plan and read sub query s of a spec. The caller must call qry_histogram_close; the rest of the memory
 * belongs to the arena. Errors as for qry_run. */
int qry_histogram_read(struct sto_snap *snap, struct ts_pool *pool, const struct qry_spec *spec, size_t s,
                       struct qry_budget *budget, struct ts_arena *arena, struct qry_histogram *out,
                       struct ts_error *err);
/** For each group emit one output per percentile, then one per bucket. Cost per group: O(points of all
 * buckets + times x buckets). */
int qry_histogram_answer(const struct qry_histogram *h, qry_series_fn emit, void *arg, struct ts_error *err);
/** Release the memory. Idempotent. */
void qry_histogram_close(struct qry_histogram *h);

#endif
