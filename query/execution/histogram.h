/*
 * histogram.h - histograms: queries for percentiles and buckets.
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
#include "storage/internal.h"

/** Check that a sub query for histograms is valid. TS_EINVAL with OpenTSDB's text. */
int qry_histogram_check(const struct qry_sub *sub, struct ts_error *err);

/* The stored buckets of a metric. */
struct qry_buckets {
    struct sto_bucket *b;     /* ascending; in the arena */
    struct ts_slice *metrics; /* their internal metrics */
    size_t n;                 /* number of buckets */
};
/** Find all buckets of a metric that the catalog has, or the view has found. */
void qry_buckets_find(const struct qry_view *view, struct ts_slice metric, struct ts_arena *arena,
                      struct qry_buckets *out);
/** The same for a plan of visible series, after looking in the remote store for buckets of these series from from_ms to to_ms. Memory of
 * the plan's arena. Errors of qry_view_add_buckets. */
int qry_plan_buckets(const struct qry_plan *visible, int64_t from_ms, int64_t to_ms,
                     struct qry_budget *budget, struct qry_buckets *out, struct ts_error *err);

/** Percentile p (in percent) of the counts of n buckets: the middle of the first bucket whose cumulative share is
 * at least p percent; -1 for p < 1 or p > 100; NaN if all counts are 0. Ignores underflow and overflow. */
double qry_histogram_percentile(const struct sto_bucket *b, const double *counts, size_t n, double p);

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
