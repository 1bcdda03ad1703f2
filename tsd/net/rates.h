/*
 * rates.h - what the daemon does per second: counters of the last seconds, kept by worker 0.
 *
 * Threads    tsd_rates_tick: worker 0; tsd_rates_get: any. A sample is read while 15 newer ones are not written yet, so no
 * lock is needed
 */
#ifndef TSD_NET_RATES_H
#define TSD_NET_RATES_H

#include <stdbool.h>
#include <stdint.h>

struct tsd_daemon;

/* Per second. */
struct tsd_rate {
    double points_in, points_out,
        requests; /* points accepted from clients, points read by queries, HTTP requests */
};
/** Take a sample; called every second. now_ms: monotonic clock. */
void tsd_rates_tick(struct tsd_daemon *d, int64_t now_ms);
/** Rates of the last 15 seconds, or since the start if that is later; false while nothing is known. */
bool tsd_rates_get(const struct tsd_daemon *d, struct tsd_rate *out);

#endif
