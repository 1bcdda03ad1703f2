/*
 * shipment.h - sends rows of hours to the remote store: they are copied, counted, and limited in bytes.
 *
 * Threads    one thread adds rows and waits; the remote store reports results in any thread
 */
#ifndef STORAGE_ENGINE_SHIPMENT_H
#define STORAGE_ENGINE_SHIPMENT_H

#include "storage/engine/engine_int.h"

struct sto_shipment_batch;

/* What hours that are sent at the same time share. */
struct sto_flight {
    pthread_mutex_t mu;
    pthread_cond_t cond; /* signalled when a shipment is answered */
    uint64_t n_bytes;    /* memory of the shipments in flight; under mu */
    struct ts_error why; /* the first failure of any shipment; code 0 = none; under mu */
};
#define STO_SENDING_HOURS    32u    /* most hours of one sending */
#define STO_SENDING_REFUSALS 65536u /* refused rows that are listed; of more, only the number is known */

/* What was sent of an hour. */
struct sto_sent_hour {
    uint32_t end;       /* the highest offset sent, plus 1 */
    uint32_t n_refused; /* rows that the remote store will never take; under the mutex of the flight */
    bool missed;        /* some of these could not be noted, because there are too many */
    bool held;          /* some additions were not sent, because the points that they add to are not known */
};
/* A row that the remote store refused. */
struct sto_sent_refusal {
    int32_t hour;
    uint32_t series;
};
/* An addition that was not sent, because the point that it adds to is not known. */
struct sto_addition {
    struct sto_key key;
    uint32_t off; /* ms */
};
/* Those that were met. */
struct sto_additions {
    struct sto_addition *list; /* owned */
    size_t n, cap, max;        /* n == max: there may be more */
};
/* The rows of some hours being sent. */
struct sto_sending {
    struct sto_engine *e;
    struct sto_flight *flight;
    const _Atomic bool *cancel;
    int32_t first_hour; /* of `hours` */
    uint32_t n_hours;
    struct sto_sent_hour hours[STO_SENDING_HOURS]; /* [out] */
    uint64_t n_rows, n_points;                     /* [out] sent */
    struct sto_additions *additions; /* gets those that are not sent; NULL = they are not noted */
    struct sto_shipment_batch *open; /* batch of rows that is not sent yet */
    /* under the mutex of the flight: */
    unsigned n;                        /* its shipments in flight */
    int failed;                        /* code of a shipment of it that failed; 0 = none did */
    uint64_t n_refused;                /* [out] rows that the remote store will never take */
    struct sto_sent_refusal *refusals; /* [out] these rows; owned */
    size_t n_refusals, cap_refusals;   /* n_refusals < n_refused: there were too many */
};
/** Begin; nothing is in flight. */
void sto_flight__init(struct sto_flight *f);
/** End; nothing may be in flight. */
void sto_flight__release(struct sto_flight *f);
/** The code of the first failure, 0 = none; its text goes to *err. */
int sto_flight__failure(struct sto_flight *f, struct ts_error *err);
/** Begin the hours first_hour .. first_hour + n_hours - 1, at most STO_SENDING_HOURS. */
void sto_sending__init(struct sto_sending *s, struct sto_engine *e, struct sto_flight *flight,
                       const _Atomic bool *cancel, int32_t first_hour, uint32_t n_hours);
/** Send the points of a row of one of these hours; it is copied. Additions are not sent and set `held`. Waits while too many
 * bytes are in flight. Errors of shipments sent before, of this hour or another one.
 *
 * @param bound  an offset, ms: from it on nothing was ever sent to this row, so that points that are all there are fresh */
int sto_sending__row(struct sto_sending *s, const struct sto_key *key, const struct sto_cells *cells,
                     uint32_t bound, struct ts_error *err);
/** Send the remaining rows, or with rc < 0 drop them. Does not wait. */
void sto_sending__flush(struct sto_sending *s, int rc);
/** Was everything that was sent answered? */
bool sto_sending__is_answered(struct sto_sending *s);
/** Do what sto_sending__flush does, and wait for all results. 0, or rc, or the code of a shipment that failed. It must always be called. */
int sto_sending__end(struct sto_sending *s, int rc, struct ts_error *err);
/** Free what was reported; after sto_sending__end. */
void sto_sending__release(struct sto_sending *s);
/** What was sent of one of the hours. */
static inline struct sto_sent_hour *sto_sending__hour(struct sto_sending *s, int32_t hour)
{
    return &s->hours[hour - s->first_hour];
}

#endif
