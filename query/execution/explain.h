/*
 * explain.h - estimates what a query would read from names and indexes alone, without reading a block.
 *
 * Threads    one thread
 * Not here   printing (tsd/format/explain.c), the cost of a scan (storage/engine/cost.h)
 * Source     docs/QUERY.md "Explain"
 */
#ifndef QUERY_EXECUTION_EXPLAIN_H
#define QUERY_EXECUTION_EXPLAIN_H

#include "query/query.h"

/* What one sub query would read. Estimates are those of struct sto_scan_cost. */
struct qry_explained {
    const struct qry_sub *sub; /* sub query of the spec */
    struct ts_slice metric;    /* the metric that the user named */
    const char *reads;         /* "points", "rollups 1h-sum and 1h-count", "histograms" */
    size_t n_scans;            /* 1; 2 for an average of rollups; the number of buckets for histograms */
    size_t n_series, n_groups; /* series selected; their groups, or combinations of tag values of totals */
    int64_t from_ms, to_ms;    /* range that is read, from <= t < to; empty if equal */
    int64_t n_hours, n_whole;  /* hours in that range; those that summaries may answer */
    const char
        *kept; /* keys that the kept total sums over which answers hours, "domain,host"; NULL: none does */
    int64_t n_kept_hours; /* hours that it answers; the other ones are read as the rest says */
    /* Summaries of hours, and of days, of series whose points of that time have expired (aged.h), an estimate; they are among those of files and memory. */
    uint64_t n_expired_hours, n_expired_days;
    struct sto_scan_cost *files; /* [n_files] ordered by time; adds up the rows of several scans */
    size_t n_files;              /* number of files */
    struct sto_scan_cost memory; /* all memstores */
    size_t n_memstores;          /* memstores with rows or deletes of the query */
    struct sto_scan_cost total;  /* files and memory */
    /* Bytes of files as query_max_read_bytes counts them: the rougher estimate that is made before each run. */
    uint64_t limit_bytes;
};
/* A limit and what the query needs of it. */
struct qry_explained_limit {
    const char *key; /* configuration key */
    uint64_t limit;  /* 0 = none */
    bool known;      /* the member needs is known */
    uint64_t needs;  /* need of the query in the unit of the limit; points are estimated */
    bool refused;    /* the query would be refused or aborted */
};
enum { QRY_EXPLAINED_LIMITS = 5 };
/* The result. All memory belongs to the arena. */
struct qry_explain {
    struct qry_explained *subs; /* [spec->n_subs] */
    size_t n_subs;              /* number of sub queries */
    struct qry_explained_limit limits[QRY_EXPLAINED_LIMITS];
};
/**
 * Estimate what a spec would read.
 *
 * @param limit       its limits; NULL: none. A query that exceeds one of them is explained nevertheless
 * @param timeout_ms  query_timeout_ms, for the list of limits; 0 = none
 * @param arena       takes the memory of the result
 * @return 0; TS_ENOTFOUND, TS_EINVAL, TS_ELIMIT (a regular expression, too many buckets) as for the query itself
 *
 * Cost: selecting the series, and one index search per series and file.
 */
int qry_explain(struct sto_store *st, const struct qry_spec *spec, struct qry_limit *limit,
                int64_t timeout_ms, struct ts_arena *arena, struct qry_explain *out, struct ts_error *err);

#endif
