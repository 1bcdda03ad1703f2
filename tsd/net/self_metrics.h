/*
 * self_metrics.h - the daemon stores its own figures (stats.h), as metrics tsd.* with a tag host.
 *
 * Worker 0 does it, in its timer: the figures become points of its open batches, as those of its connections do, so
 * they are logged, durable, flushed, merged, shipped to a remote store and expire as all others. They count neither
 * as points of clients (datapoints.added, ingest.series) nor against limits of new series, and up to STO_OWN_SERIES_MAX series of
 * them do not count against max_series.
 *
 * The time of a round is a multiple of the interval, and the first round is the first such time after the start. All series are made
 * at the start, before clients can create any. What an overloaded store does not take is tried again every second until
 * the next round. A point that is not stored then (a full disk, too many points that wait, no memory for names) is left out and counted
 * in self.skipped, and health.h says so; nothing is logged, since refused points of clients are.
 *
 * Threads    the worker's
 * Not here   what the figures are (stats.h) and mean (stat_table.h)
 */
#ifndef TSD_NET_SELF_METRICS_H
#define TSD_NET_SELF_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tsd_worker;

/* What is known about the present round. */
struct tsd_self {
    int64_t round;        /* its number; 0 = none yet */
    bool naming;          /* only series were made in it, since the daemon has just started */
    size_t n_done;        /* figures of it that were handled */
    uint64_t n_no_series; /* of them without a series, since no new ones are taken */
    uint64_t n_waiting;   /* figures that the store could not take yet */
};

/** Called at the start and every second: put a round if one is due, or the rest of the present one if the store could not take it before.
 * now_ms: wall clock, ms since 1970. Cost: that of /api/stats and a look into the cache of series for each figure, once in
 * self_metrics_interval_s, and once a second while something waits and the store is ready; otherwise none. */
void tsd_self_tick(struct tsd_worker *w, int64_t now_ms);

#endif
