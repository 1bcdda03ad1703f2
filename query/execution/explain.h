/*
 * explain.h - what a query would read, from names and indexes alone: no point is looked at, no block read.
 *
 * Threads    one thread
 * Not here   how it is printed (tsd/format/explain.h), what a scan touches (storage/engine/cost.h)
 * Source     docs/QUERY.md "Explain"
 */
#ifndef QUERY_EXECUTION_EXPLAIN_H
#define QUERY_EXECUTION_EXPLAIN_H

#include "query/query.h"

/* What one sub query would read. Estimates are those of struct sto_scan_cost. */
struct qry_explained {
    const struct qry_sub *sub;   /* of the spec */
    struct ts_slice metric;      /* users' name of it */
    const char *reads;           /* "points", "rollups 1h-sum and 1h-count", "histograms" */
    size_t n_scans;              /* one; two for an average over rollups; one for each bucket of histograms */
    size_t n_series, n_groups;   /* selected, and what is made of them; cells' tags of totals */
    int64_t from_ms, to_ms;      /* from <= t < to: what is read; the same: nothing */
    int64_t n_hours, n_whole;    /* in from..to, and of them may be answered by summaries */
    struct sto_scan_cost *files; /* in order of time; rows of several scans added up */
    size_t n_files;              /* of files */
    struct sto_scan_cost memory; /* all memstores */
    size_t n_memstores;          /* with rows or deletes for the query */
    struct sto_scan_cost total;  /* files and memory */
    uint64_t
        limit_bytes; /* of files, as query_max_read_bytes counts them: a rougher guess, made before each run */
};
/* A limit and what the query needs of it. */
struct qry_explained_limit {
    const char *key; /* of the configuration */
    uint64_t limit;  /* 0 = none */
    bool told;       /* needs is known */
    uint64_t needs;  /* in the unit of the limit; points: estimate */
    bool refused;    /* the query would be refused, or end before it is done */
};
enum { QRY_EXPLAINED_LIMITS = 5 };
/* Everything. Memory is the arena's. */
struct qry_explain {
    struct qry_explained *subs; /* [spec->n_subs] */
    size_t n_subs;              /* of the spec */
    struct qry_explained_limit limits[QRY_EXPLAINED_LIMITS];
};
/**
 * Estimate what a spec would read.
 *
 * @param limit       its limits; NULL: none. A query above one of them is explained nevertheless
 * @param timeout_ms  0 = none
 * @param arena       of the result
 * @return 0; TS_ENOTFOUND, TS_EINVAL, TS_ELIMIT (a regular expression, too many buckets) as the query itself
 *
 * Cost: choosing the series, and a search of the index for each series of each file.
 */
int qry_explain(struct sto_store *st, const struct qry_spec *spec, struct qry_limit *limit,
                int64_t timeout_ms, struct ts_arena *arena, struct qry_explain *out, struct ts_error *err);

#endif
