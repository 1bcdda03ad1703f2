/*
 * versions.h - lists the versions of points, of metrics that keep them (docs/QUERY.md "Versions").
 *
 * Threads    that of the run
 * Not here   queries as of a time, which are queries (query.h, as_of_us)
 */
#ifndef QUERY_VERSIONS_H
#define QUERY_VERSIONS_H

#include "query/query.h"

/* One value that was written to a time. */
struct qry_version {
    const struct sto_series *series; /* borrowed */
    int64_t ts_ms;                   /* time of the point */
    bool ms;                         /* it came with millisecond resolution */
    bool older_gone;                 /* the oldest one, and older ones were dropped */
    struct ts_num value;
    int64_t written_us; /* when, us since 1970; 0: before the metric kept versions */
    int64_t deleted_us; /* when it was deleted; 0: it was not, or was replaced before */
};
typedef int (*qry_version_fn)(void *arg, const struct qry_version *v, struct ts_error *err);

/**
 * Report all versions of the times of a query: series by number, then by time, the oldest version first.
 *
 * @param spec  subs without aggregation (spec.versions is checked by the parsers)
 * @param each  a result below 0 ends the list
 * @return as qry_run; TS_EINVAL: a metric keeps no versions
 */
int qry_versions(struct sto_store *st, const struct qry_spec *spec, struct qry_limit *limit,
                 qry_version_fn each, void *arg, struct ts_error *err);

#endif
