/*
 * series_rate.c - token buckets for new series.
 *
 * Threads    see series_rate.h
 */
#include "tsd/ingest/series_rate.h"

#include "base/err.h"

#define RATE_TOKEN 60000u /* units of a token */

/* A full bucket. */
static void series_bucket_init(struct tsd_series_bucket *b, uint64_t per_min, int64_t now_ms)
{
    *b = (struct tsd_series_bucket){.per_min = per_min, .units = per_min * RATE_TOKEN, .at_ms = now_ms};
}

void tsd_series_total_init(struct tsd_series_total *t, uint64_t per_min, int64_t now_ms)
{
    pthread_mutex_init(&t->lock, NULL);
    series_bucket_init(&t->bucket, per_min, now_ms);
}

void tsd_series_total_release(struct tsd_series_total *t)
{
    pthread_mutex_destroy(&t->lock);
}

/* Is there a token at this time? Nothing is taken. */
static bool bucket_ready(struct tsd_series_bucket *b, int64_t now_ms)
{
    uint64_t full = b->per_min * RATE_TOKEN, ms = now_ms > b->at_ms ? (uint64_t)(now_ms - b->at_ms) : 0;
    if (!b->per_min)
        return true;
    b->units = ms >= RATE_TOKEN || b->units + ms * b->per_min > full ? full : b->units + ms * b->per_min;
    b->at_ms += (int64_t)ms;
    return b->units >= RATE_TOKEN;
}

static void bucket_take(struct tsd_series_bucket *b)
{
    b->units -= b->per_min ? RATE_TOKEN : 0;
}

/* A token of both buckets, or of none. *out_key: whose is missing. */
static bool rate_take(struct tsd_series_bucket *own, struct tsd_series_total *t, int64_t now_ms,
                      const struct tsd_series_bucket **out_empty)
{
    bool ok = bucket_ready(own, now_ms);
    *out_empty = own;
    if (!ok)
        return false;
    if (t->bucket.per_min) {
        pthread_mutex_lock(&t->lock);
        ok = bucket_ready(&t->bucket, now_ms);
        if (ok)
            bucket_take(&t->bucket);
        pthread_mutex_unlock(&t->lock);
    }
    if (ok)
        bucket_take(own);
    else
        *out_empty = &t->bucket;
    return ok;
}

/* A token for this connection; *out_empty: which bucket has none. */
static bool conn_take(struct tsd_series_conn *c, uint64_t per_min, struct tsd_series_total *t, int64_t now_ms,
                      const struct tsd_series_bucket **out_empty)
{
    if (!c->started)
        series_bucket_init(&c->bucket, per_min, now_ms);
    c->started = true;
    if (!rate_take(&c->bucket, t, now_ms, out_empty))
        return false;
    c->waits_since_ms = 0;
    c->refuses = false;
    return true;
}

bool tsd_series_limited(uint64_t per_min, const struct tsd_series_total *t)
{
    return per_min || t->bucket.per_min;
}

bool tsd_series_try(struct tsd_series_conn *c, uint64_t per_min, struct tsd_series_total *t, int64_t now_ms)
{
    const struct tsd_series_bucket *empty;
    return conn_take(c, per_min, t, now_ms, &empty);
}

static void bucket_give(struct tsd_series_bucket *b)
{
    b->units += b->per_min ? RATE_TOKEN : 0;
}

void tsd_series_give(struct tsd_series_conn *c, struct tsd_series_total *t)
{
    bucket_give(&c->bucket);
    if (!t->bucket.per_min)
        return;
    pthread_mutex_lock(&t->lock);
    bucket_give(&t->bucket);
    pthread_mutex_unlock(&t->lock);
}

int tsd_series_take(struct tsd_series_conn *c, uint64_t per_min, struct tsd_series_total *t, bool may_wait,
                    int64_t now_ms, struct ts_buf *msg)
{
    const struct tsd_series_bucket *empty;
    if (conn_take(c, per_min, t, now_ms, &empty))
        return 0;
    if (may_wait && !c->refuses) {
        if (!c->waits_since_ms)
            c->waits_since_ms = now_ms;
        c->refuses = now_ms - c->waits_since_ms >= TSD_SERIES_WAIT_MS;
        if (!c->refuses)
            return TS_EBUSY;
    }
    c->waits_since_ms = 0;
    bool own = empty == &c->bucket;
    ts_buf_printf(msg, "more than %llu in a minute%s (%s): send it again later",
                  (unsigned long long)empty->per_min, own ? " on this connection" : "",
                  own ? "new_series_per_min" : "new_series_per_min_total");
    return TS_ETIMEOUT;
}
