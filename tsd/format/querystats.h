/*
 * querystats.h - prints the statistics of a query under OpenTSDB's names: showStats, showSummary, /api/stats/query.
 *
 * Threads    any, while nobody writes the stats
 * Source     protocols-and-queries 2.14 ("Names inside a query's stats"); the recorded answer options-003
 */
#ifndef TSD_FORMAT_QUERYSTATS_H
#define TSD_FORMAT_QUERYSTATS_H

#include "base/json.h"
#include "query/query.h"

/** One sub query as an object. Times in ms. The sub queries of a request are read side by side: each shows the time of
 * all. */
void tsd_querystats_sub(struct ts_json *j, const struct qry_stats *stats, size_t sub);
/** The whole query as an object, sub queries inside (queryIdx_00). total_ns < 0: not known yet. */
void tsd_querystats_all(struct ts_json *j, const struct qry_stats *stats, int64_t total_ns);

#endif
