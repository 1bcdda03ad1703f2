/*
 * rate.h - change per second of one series.
 *
 * Source     protocols-and-queries 4.9
 */
#ifndef QUERY_EXECUTION_RATE_H
#define QUERY_EXECUTION_RATE_H

#include "query/query.h"
#include "query/span.h"

/** Rates of a span, in place: doubles, the first point gone. compat: OpenTSDB's first rate stays behind as a
 * phantom. */
void qry_rate_span(const struct qry_rate *r, bool compat, struct qry_span *s);

#endif
