/*
 * self_metrics.h - the daemon stores its own figures (stats.h), as metrics tsd.* with a tag host.
 *
 * Worker 0 does it, in its timer: the figures become points of its open batches, as those of its connections do, so
 * they are logged, durable, flushed, merged, shipped to a remote store and expire as all others. They count neither
 * as points of clients (datapoints.added, ingest.series) nor against limits of new series; max_series applies.
 *
 * The time of a round is a multiple of the interval, and the first round is the first such time after the start. A point that
 * the store does not take (a full disk, too many points that wait, max_series) is left out and counted in self.skipped;
 * nothing is logged, since refused points of clients are.
 *
 * Threads    the worker's
 * Not here   what the figures are (stats.h) and mean (stat_table.h)
 */
#ifndef TSD_NET_SELF_METRICS_H
#define TSD_NET_SELF_METRICS_H

#include <stdint.h>

struct tsd_worker;

/** Called every second: put a round if one is due. now_ms: wall clock, ms since 1970. Cost: that of /api/stats and a look into the
 * cache of series for each figure, once in self_metrics_interval_s; otherwise none. */
void tsd_self_tick(struct tsd_worker *w, int64_t now_ms);

#endif
