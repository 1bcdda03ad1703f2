/*
 * rollup.h - rollups in queries: selects the interval that answers a sub query, and computes averages from sums and counts.
 *
 * Threads    a configuration is constant; the rest belongs to one run
 * Source     docs/OPENTSDB.md, section 4.16; docs/QUERY.md "Rollups"
 */
#ifndef QUERY_EXECUTION_ROLLUP_H
#define QUERY_EXECUTION_ROLLUP_H

#include "query/execution/run.h"

#define QRY_ROLLUP_STEPS 16 /* most intervals in a configuration */

/* One interval of rollups. */
struct qry_rollup_step {
    char text[16]; /* "1h", as in names of internal metrics */
    int64_t ms;    /* its length */
};
struct qry_rollups {
    bool on;                                        /* rollups are accepted and used */
    bool tag_raw;                                   /* rollups of raw data get the tag tag_key too */
    bool block_derived;                             /* avg and dev are refused */
    bool any;                                       /* accept every interval: for the import of an export */
    struct qry_rollup_step steps[QRY_ROLLUP_STEPS]; /* ascending */
    size_t n_steps;                                 /* how many */
    const char *tag_key;   /* key of the tag that names the aggregator of a pre-aggregate */
    const char *raw_value; /* its value for raw data */
    char **aggs;           /* owned: accepted aggregators, terminated by NULL; NULL = all */
};

/* The data that answer a sub query. All zero = the points themselves. */
struct qry_rollup_use {
    bool internal;            /* spec names internal series */
    char spec[64];            /* "1h-sum" */
    char divisor[64];         /* average: "1h-count"; else "" */
    const struct qry_agg *fn; /* downsample function for the rollups; only if internal */
};
/** Choose the data to read at the attempt-th try (from 0); the last choice may be the points themselves.
 * Returns 1; 0 if there is no further choice; TS_EINVAL: dev over rollups. */
int qry_rollup_choose(const struct qry_spec *spec, const struct qry_sub *sub, unsigned attempt,
                      struct qry_rollup_use *out, struct ts_error *err);

/** Names of the internal metrics that a sub query may read (memory of the arena): at least one of a metric that has
 * histograms, and its rollups. Errors of qry_rollup_choose. */
int qry_rollup_metrics(const struct qry_spec *spec, const struct qry_sub *sub, struct ts_arena *arena,
                       const struct ts_slice **out, size_t *out_n, struct ts_error *err);
/** Names of the internal metrics that rollups of a metric may have by a configuration with a list of aggregators (memory of the arena): each interval and
 * aggregator, and pre-aggregates. None if rollups are off or every aggregator is accepted. */
void qry_rollup_names(const struct qry_rollups *conf, struct ts_slice metric, struct ts_arena *arena,
                      struct ts_slice **out, size_t *out_n);
/** Change a selected plan so that it reads the series of an internal metric instead of its own; groups,
 * labels and TSUIDs remain those of the visible series. Series without an internal one are left out. Those of rollups are looked for
 * in the remote store, those of buckets of histograms must have been found before (qry_plan_buckets). Cost: one look-up per series. Errors of
 * qry_view_add. */
int qry_plan_rollup(struct qry_plan *p, struct ts_slice internal_metric, struct qry_budget *budget,
                    struct ts_error *err);

/** Change a selected plan so that it reads the rollups of a spec (use->spec or use->divisor). Errors of qry_view_add. */
int qry_rollup_plan(const struct qry_rollup_use *use, const char *spec, struct qry_plan *p,
                    struct qry_budget *budget, struct ts_error *err);
/** After all pieces of both runs are read: divide sums by counts, drop points without a count, and compute
 * rates. */
void qry_rollup_divide(struct qry_sub_run *sums, const struct qry_sub_run *counts);

#endif
