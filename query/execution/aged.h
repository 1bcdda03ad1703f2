/*
 * aged.h - reads hours whose points have expired, and of which summaries are kept (storage/aged.h), beside points.
 *
 * Such an hour is in an answer only where its summary suffices: the hour lies in one bucket as a whole, and the aggregator needs no points. Then it
 * counts with the same digits as before. Everything else does not see it: queries without buckets, finer buckets, percentiles,
 * conditions on values. The same is true of days whose hours have expired.
 *
 *   a series:   rows of days | rows of hours | points that have expired and are there still, hour by hour | points
 *
 * Hours that have expired themselves, and points of such hours, count where the whole day does to which they belong.
 *
 * Threads    as reader.h
 * Cost       2 to 4 scans of all series, instead of one (aged_batch.h); 0.2 us a row of summaries
 */
#ifndef QUERY_EXECUTION_AGED_H
#define QUERY_EXECUTION_AGED_H

#include "query/execution/reader.h"

/** Does the range of a reading have such hours, and may summaries answer some? O(series), O(1) if there are no such rules. */
bool qry_aged_concerns(const struct qry_reading *r);
/** What qry_read does then. Errors of qry_read. */
int qry_aged_read(struct qry_reading *r, struct ts_error *err);

#endif
