/*
 * rollup.h - stored rollups in queries: which interval answers a sub query, and average as sum by count.
 *
 * Threads    a configuration is constant; the rest belongs to one run
 * Source     protocols-and-queries 4.16; docs/QUERY.md "Rollups"
 */
#ifndef QUERY_EXECUTION_ROLLUP_H
#define QUERY_EXECUTION_ROLLUP_H

#include "query/execution/run.h"

#define QRY_ROLLUP_STEPS 16 /* most intervals of a configuration */

/* One interval of rollups. */
struct qry_rollup_step {
    char text[16]; /* "1h", as in names of internal series */
    int64_t ms;    /* its length */
};
struct qry_rollups {
    bool on;                                        /* rollups are taken and used */
    bool tag_raw;                                   /* rollups of raw data get the tag too */
    bool block_derived;                             /* avg and dev are refused */
    bool any;                                       /* every interval is taken: import of what export wrote */
    struct qry_rollup_step steps[QRY_ROLLUP_STEPS]; /* ascending */
    size_t n_steps;                                 /* how many */
    const char *tag_key;   /* of the tag that names the aggregator of a pre-aggregate */
    const char *raw_value; /* its value for raw data */
    char **aggs;           /* owned: aggregators taken, ended by NULL; NULL = all */
};

/* What answers a sub query. Zero = the points themselves. */
struct qry_rollup_use {
    bool internal;            /* spec names internal series */
    char spec[64];            /* "1h-sum" */
    char divisor[64];         /* average: "1h-count"; else "" */
    const struct qry_agg *fn; /* downsample function for what is stored; only if internal */
};
/** What to read for a sub query at the attempt-th try: 1; 0 if there is none. The last one may be the points
 * themselves. Returns 1, 0,
 * or TS_EINVAL: dev over rollups. */
int qry_rollup_choose(const struct qry_spec *spec, const struct qry_sub *sub, unsigned attempt,
                      struct qry_rollup_use *out, struct ts_error *err);

/** Let a selected plan read the internal series of another metric in the place of its own; groups, labels and
 * TSUIDs stay those of the visible series. Series without an internal one are left out. Cost: a look-up a
 * series. */
void qry_plan_rollup(struct sto_catalog *cat, struct qry_plan *p, struct ts_slice internal_metric);

/** A selected plan reads rollups of a spec (use->spec or use->divisor). */
void qry_rollup_plan(struct sto_catalog *cat, const struct qry_rollup_use *use, const char *spec,
                     struct qry_plan *p);
/** All pieces of both are read: sums become averages; points without a count go. Rates are made here. */
void qry_rollup_divide(struct qry_sub_run *sums, const struct qry_sub_run *counts);

#endif
