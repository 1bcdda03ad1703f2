/*
 * latest.h - finds the newest points of many series, newest first.
 *
 * The search starts with the newest hours and goes back in growing steps, each time for the series that do not have enough points yet.
 * The summaries of whole hours give their last point, or the number of their points if several are requested, so that only hours with
 * requested points are read.
 *
 * Threads    pieces of a step run on the pool; everything else in the caller's thread
 * Not here   selecting the series (last.c)
 */
#ifndef QUERY_EXECUTION_LATEST_H
#define QUERY_EXECUTION_LATEST_H

#include "query/limit.h"
#include "query/query.h"

/* The series of one request. */
struct qry_latest_set {
    uint32_t metric;                  /* id; all series belong to it */
    const struct sto_series **series; /* ascending by number */
    size_t n;                         /* number of series */
};

/** Select the series of a request by names or by TSUID. TS_EINVAL, TS_ENOTFOUND, TS_ELIMIT
 * (query_max_series). */
int qry_latest_select(struct sto_catalog *cat, const struct qry_last_request *ask, struct qry_budget *budget,
                      struct ts_arena *arena, struct qry_latest_set *out, struct ts_error *err);

#endif
