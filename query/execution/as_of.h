/*
 * as_of.h - reads points as they were at a time of writing, of metrics that keep versions (storage/versioned.h).
 *
 * For each time of a series the last version counts that was written up to then, unless it was deleted up to then. A point without versions
 * was written before its metric was declared, and counts as it is. A point that differs from all versions of its time is newer than they are,
 * and its version was lost in a crash, or is not in the snapshot yet: it does not count. What cannot be known any more is an error, never left
 * out: a time whose versions of that moment were dropped, since more than the declared number were written.
 *
 * Threads    as reader.h
 * Cost       two scans a series, of its points and of its versions; no summaries
 */
#ifndef QUERY_EXECUTION_AS_OF_H
#define QUERY_EXECUTION_AS_OF_H

#include "query/execution/reader.h"

/** Can this metric be read as of a time (us since 1970, the whole microsecond)? 0; TS_EINVAL: it keeps no versions, or none of that time;
 * the text says since when. */
int qry_as_of_check(const struct qry_view *view, struct ts_slice metric, int64_t as_of_us,
                    struct ts_error *err);
/** What qry_read does if r->as_of_us is set. Errors of qry_read, qry_as_of_check, and TS_EINVAL: a value is not known any more. */
int qry_as_of_read(struct qry_reading *r, struct ts_error *err);

#endif
