/*
 * aged.h - reads hours whose points have expired, and of which summaries are kept (storage/aged.h), beside points.
 *
 * Such an hour is in an answer only where its summary suffices: the hour lies in one bucket as a whole, and the aggregator needs no points. Then it
 * counts with the same digits as before. Everything else does not see it: queries without buckets, finer buckets, percentiles,
 * conditions on values.
 *
 *   a series:   rows of summaries | points that have expired and are there still, hour by hour | points
 *
 * Threads    as reader.h
 * Cost       up to three scans a series, instead of one of all series
 */
#ifndef QUERY_EXECUTION_AGED_H
#define QUERY_EXECUTION_AGED_H

#include "query/execution/reader.h"

/** Does the range of a reading have such hours, and may summaries answer some? O(series), O(1) if there are no such rules. */
bool qry_aged_concerns(const struct qry_reading *r);
/** What qry_read does then. Errors of qry_read. */
int qry_aged_read(struct qry_reading *r, struct ts_error *err);

#endif
