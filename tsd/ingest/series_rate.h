/*
 * series_rate.h - limits on the new series that a connection, and all of them together, may create in a
 * minute.
 *
 * Each has a token bucket that holds a minute's worth, so a start with many series is not slowed. When it is
 * empty, a connection of the line protocol is not read for a while; a line that has waited
 * SERIES_RATE_WAIT_MS is refused, and so are further ones until there are tokens again, so that points of
 * known series behind them continue.
 *
 * Threads    struct tsd_series_total from any thread; struct tsd_series_conn belongs to its worker
 */
#ifndef TSD_INGEST_SERIES_RATE_H
#define TSD_INGEST_SERIES_RATE_H

#include "base/buf.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define TSD_SERIES_WAIT_MS 10000 /* longest time that a line waits for a token */

/* A token bucket. */
struct tsd_series_bucket {
    uint64_t per_min; /* tokens a minute, and the most it holds; 0 = no limit; constant */
    uint64_t units;   /* fill level, 60,000 a token: each millisecond adds per_min of them */
    int64_t at_ms;    /* monotonic time of units */
};

/* The bucket of all connections. */
struct tsd_series_total {
    pthread_mutex_t lock;            /* guards bucket, except per_min, which is constant */
    struct tsd_series_bucket bucket; /* of new_series_per_min_total */
};
/** Prepare it. */
void tsd_series_total_init(struct tsd_series_total *t, uint64_t per_min, int64_t now_ms);
/** Release it. */
void tsd_series_total_release(struct tsd_series_total *t);

/* What is kept for a connection. Zeroed; the first tsd_series_take fills its bucket. */
struct tsd_series_conn {
    struct tsd_series_bucket bucket; /* of new_series_per_min */
    int64_t waits_since_ms;          /* a line waits for a token since then; 0 = none does */
    bool refuses;                    /* lines are refused at once until there is a token */
    bool started;                    /* bucket is filled */
};

/** Take a token for a new series.
 *  @param per_min   of the connection (new_series_per_min); 0 = no limit
 *  @param may_wait  the caller can send the same point again later
 *  @return 0; TS_EBUSY: try again later (only with may_wait); TS_ETIMEOUT: refuse the point, the reason is
 *  appended to msg */
int tsd_series_take(struct tsd_series_conn *c, uint64_t per_min, struct tsd_series_total *t, bool may_wait,
                    int64_t now_ms, struct ts_buf *msg);
/** Is there a limit, of the connection or of all together? Takes no lock. */
bool tsd_series_limited(uint64_t per_min, const struct tsd_series_total *t);
/** Take a token if there is one; false otherwise, and the connection does not wait for one. */
bool tsd_series_try(struct tsd_series_conn *c, uint64_t per_min, struct tsd_series_total *t, int64_t now_ms);
/** Give back a token that was taken for a series that was not made. */
void tsd_series_give(struct tsd_series_conn *c, struct tsd_series_total *t);

#endif
