/*
 * rates.c - a ring of samples.
 *
 * Threads    see rates.h
 */
#include "tsd/net/rates.h"

#include "tsd/net/stats.h"
#include "tsd/net/worker.h"

#define RATES_SPAN (TSD_RATE_SAMPLES - 1) /* samples back: the one before it may be overwritten meanwhile */

void tsd_rates_tick(struct tsd_daemon *d, int64_t now_ms)
{
    uint64_t n = atomic_load_explicit(&d->n_rate_samples, memory_order_relaxed); /* we alone write it */
    struct tsd_rate_sample *s = &d->rate_samples[n % TSD_RATE_SAMPLES];
    uint64_t points = 0, requests = 0;
    for (unsigned i = 0; i < d->n_workers; i++) {
        points += __atomic_load_n(&d->workers[i]->counts.n_points, __ATOMIC_RELAXED);
        requests += __atomic_load_n(&d->workers[i]->counts.n_http, __ATOMIC_RELAXED);
    }
    atomic_store_explicit(&s->at_ms, now_ms, memory_order_relaxed);
    atomic_store_explicit(&s->n_in, points, memory_order_relaxed);
    atomic_store_explicit(&s->n_out, atomic_load(&d->n_points_read), memory_order_relaxed);
    atomic_store_explicit(&s->n_requests, requests, memory_order_relaxed);
    atomic_store_explicit(&d->n_rate_samples, n + 1, memory_order_release); /* pairs with tsd_rates_get */
}

bool tsd_rates_get(const struct tsd_daemon *d, struct tsd_rate *out)
{
    uint64_t n = atomic_load_explicit(&d->n_rate_samples, memory_order_acquire); /* of tsd_rates_tick */
    if (n < 2)
        return false;
    const struct tsd_rate_sample *new = &d->rate_samples[(n - 1) % TSD_RATE_SAMPLES];
    const struct tsd_rate_sample *old =
        &d->rate_samples[(n > RATES_SPAN ? n - RATES_SPAN : 0) % TSD_RATE_SAMPLES];
    double s = (double)(atomic_load(&new->at_ms) - atomic_load(&old->at_ms)) / 1000;
    if (s <= 0)
        return false;
    *out = (struct tsd_rate){.points_in = (double)(atomic_load(&new->n_in) - atomic_load(&old->n_in)) / s,
                             .points_out = (double)(atomic_load(&new->n_out) - atomic_load(&old->n_out)) / s,
                             .requests =
                                 (double)(atomic_load(&new->n_requests) - atomic_load(&old->n_requests)) / s};
    return true;
}
