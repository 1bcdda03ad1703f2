/*
 * feed.h - passes the points of a row to bucket accumulators, as arrays of the points between two bucket boundaries.
 *
 * Threads    one thread
 */
#ifndef QUERY_EXECUTION_FEED_H
#define QUERY_EXECUTION_FEED_H

#include "query/aggregators/agg.h"
#include "storage/store.h"

/* The row that is processed now. {0} with ops and memory set is initialised. */
struct qry_feed {
    const struct qry_acc_ops *ops;
    const struct sto_cells *c; /* points of the row */
    int64_t base_ms;           /* start of its hour */
    enum { QRY_FEED_INT, QRY_FEED_DEC, QRY_FEED_F64, QRY_FEED_MIXED } how;
    const double *d;          /* QRY_FEED_F64: all values as doubles */
    double *buf;              /* owned */
    size_t cap;               /* capacity of buf in values */
    size_t guess;             /* points before the last boundary: the next number is usually the same */
    struct ts_budget *memory; /* account of buf and of what states keep; NULL: not counted */
};
/** Release; idempotent. */
void qry_feed_release(struct qry_feed *f);
/** Begin a row that has points; it is borrowed until the next row. TS_ELIMIT, TS_ENOMEM. */
int qry_feed_row(struct qry_feed *f, const struct sto_row *row, struct ts_error *err);
/** Index of the first point at or after i whose offset in the hour is at least off_ms; the number of points
 * if there is none.
 */
size_t qry_feed_border(struct qry_feed *f, size_t i, int64_t off_ms);
/** Add the points i to e-1 (e > i) to a state. TS_ELIMIT, TS_ENOMEM. */
int qry_feed_add(struct qry_feed *f, void *state, size_t i, size_t e, struct ts_error *err);
/** Convert the summary of a row to the form that aggregators take. */
void qry_feed_hour(const struct sto_row *row, struct qry_hour *out);

#endif
