/*
 * latest.h - the newest points of each of many series, newest first.
 *
 * Looks into the newest hours first and goes back in growing steps, each time only for the series that have too few
 * points yet. Whole hours answer from their summaries: with one point wanted by their last one, else by how many
 * they hold, so that only hours whose points are wanted are read.
 *
 * Threads    pieces of a step run on the pool; everything else in the caller's thread
 * Not here   which series (last.c)
 */
#ifndef QUERY_EXECUTION_LATEST_H
#define QUERY_EXECUTION_LATEST_H

#include "query/limit.h"
#include "query/query.h"

/* The series of one question. */
struct qry_latest_set {
    uint32_t metric;                  /* id; all series belong to it */
    const struct sto_series **series; /* ascending by number */
    size_t n;                         /* of series */
};

/** Series of a question: by names, or by TSUID. TS_EINVAL, TS_ENOTFOUND, TS_ELIMIT (max_series). */
int qry_latest_select(struct sto_catalog *cat, const struct qry_last_request *ask, struct qry_budget *budget,
                      struct ts_arena *arena, struct qry_latest_set *out, struct ts_error *err);

#endif
