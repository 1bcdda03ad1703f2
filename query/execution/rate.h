/*
 * rate.h - change per second of one series.
 *
 * Source     docs/OPENTSDB.md, section 4.9
 */
#ifndef QUERY_EXECUTION_RATE_H
#define QUERY_EXECUTION_RATE_H

#include "query/query.h"
#include "query/span.h"

/** Replace the points of a span by their rates, as doubles; the first point has no rate and is removed. With
 * compat, OpenTSDB's wrong first rate is kept in span->phantom (query/span.h). */
void qry_rate_span(const struct qry_rate *r, bool compat, struct qry_span *s);

#endif
