/*
 * latest.h - the newest points of series in any output format, for HTTP and the command line.
 *
 * The output has the form of series with arrays and milliseconds, newest point first.
 *
 * Threads    one thread at a time; the query spreads over the pool
 */
#ifndef TSD_FORMAT_LATEST_H
#define TSD_FORMAT_LATEST_H

#include "tsd/format/out.h"

/* What to write. */
struct tsd_latest {
    const struct tsd_out_format *format; /* row of out.c */
    const struct qry_last_request *asks; /* one after the other */
    size_t n_asks;                       /* of the queries */
    const struct ts_tz *tz;              /* of times in text; NULL = UTC */
};

/** Run the queries and write the whole answer. Errors of qry_run_latest and of the sink. */
int tsd_latest_run(const struct tsd_latest *what, struct sto_store *store, struct ts_pool *pool,
                   struct qry_limit *limit, struct ts_sink *sink, struct ts_error *err);
/** Options of a query from their texts, which may be empty: n (points of each series), at (a time as in
 * queries), tz (the zone of dates and of printed times; *out_tz is NULL without one). TS_EINVAL, TS_EPARSE
 * with text. */
int tsd_latest_parse(struct ts_slice n, struct ts_slice at, struct ts_slice tz, int64_t now_ms,
                     struct qry_last_request *ask, const struct ts_tz **out_tz, struct ts_error *err);

#endif
