/*
 * shipment.h - sends the rows of one hour to the remote store: they are copied, counted, and limited in
 * bytes.
 *
 * Threads    one thread adds rows and waits; the remote store reports results in any thread
 */
#ifndef STORAGE_ENGINE_SHIPMENT_H
#define STORAGE_ENGINE_SHIPMENT_H

#include "storage/engine/engine_int.h"

struct sto_shipment_batch;

/* The rows of an hour being sent. */
struct sto_sending {
    struct sto_engine *e;
    const _Atomic bool *cancel;
    uint32_t end; /* [out] the highest offset sent, plus 1 */
    /* [out] some additions were not sent, because the points that they add to are not known */
    bool held;
    uint64_t n_rows, n_points;       /* [out] sent */
    struct sto_shipment_batch *open; /* batch of rows that is not sent yet */
    pthread_mutex_t mu;
    pthread_cond_t cond;
    uint64_t n_bytes;    /* in flight; under mu */
    unsigned n;          /* shipments in flight; under mu */
    struct ts_error why; /* the first failure; code 0 = none; under mu */
    uint64_t n_refused;  /* rows that the remote store will never take; under mu */
};
/** Begin an hour. */
void sto_sending__init(struct sto_sending *s, struct sto_engine *e, const _Atomic bool *cancel);
/** Send the points of a row, which is copied. Additions are not sent and set `held`. Waits while too many
 * bytes are in flight. Errors of shipments sent before.
 *
 * @param bound  an offset, ms: from it on nothing was ever sent to this row, so that points that are all there are fresh */
int sto_sending__row(struct sto_sending *s, const struct sto_key *key, const struct sto_cells *cells,
                     uint32_t bound, struct ts_error *err);
/** Send the remaining rows and wait for all results. 0, or the first error. It must always be called, since
 * it releases everything. */
int sto_sending__end(struct sto_sending *s, int rc, struct ts_error *err);

#endif
