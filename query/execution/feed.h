/*
 * feed.h - cells of a row into bucket accumulators: finds the stretch of cells before a border, hands arrays to the
 * aggregator.
 *
 * Threads    one thread
 */
#ifndef QUERY_EXECUTION_FEED_H
#define QUERY_EXECUTION_FEED_H

#include "query/aggregators/agg.h"
#include "storage/store.h"

/* One row at a time. {0} with ops and memory set is ready. */
struct qry_feed {
    const struct qry_acc_ops *ops;
    const struct sto_cells *c; /* the row's cells */
    int64_t base_ms;           /* start of its hour */
    enum { QRY_FEED_INT, QRY_FEED_DEC, QRY_FEED_F64, QRY_FEED_MIXED } how;
    const double *d;          /* QRY_FEED_F64: doubles of all cells */
    double *buf;              /* owned */
    size_t cap;               /* of buf */
    size_t guess;             /* cells of the last stretch: points come in regular steps */
    struct ts_budget *memory; /* account of buf and of what states keep; NULL: not counted */
};
/** Release; idempotent. */
void qry_feed_release(struct qry_feed *f);
/** Take a row with cells. Borrowed until the next row. TS_ELIMIT, TS_ENOMEM. */
int qry_feed_row(struct qry_feed *f, const struct sto_row *row, struct ts_error *err);
/** First cell at or after i whose offset in the hour is not below off_ms (may be beyond the hour: the end).
 */
size_t qry_feed_border(struct qry_feed *f, size_t i, int64_t off_ms);
/** Add cells i..e (e > i) to a state. TS_ELIMIT, TS_ENOMEM. */
int qry_feed_add(struct qry_feed *f, void *state, size_t i, size_t e, struct ts_error *err);
/** A row's summary as an aggregator sees it. */
void qry_feed_hour(const struct sto_row *row, struct qry_hour *out);

#endif
