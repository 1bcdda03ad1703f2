/*
 * stats.h - what the daemon counts, under OpenTSDB's names where it has one.
 *
 * Threads    any
 * Source     docs/OPENTSDB.md, section 7
 */
#ifndef TSD_NET_STATS_H
#define TSD_NET_STATS_H

#include "tsd/daemon/daemon.h"

/* One figure: name without "tsd.", one more tag ("type=open") or "". */
typedef void (*tsd_stat_fn)(void *arg, const char *name, const char *tag, uint64_t value);
/** All figures. */
void tsd_stats_each(struct tsd_daemon *d, tsd_stat_fn each, void *arg);
/** As lines "tsd.NAME SECONDS VALUE [tag] host=HOST". */
void tsd_stats_lines(struct tsd_daemon *d, struct ts_buf *out);

/** Bytes of series' texts in the caches of all workers. */
uint64_t tsd_stats_cache_bytes(const struct tsd_daemon *d);
/** Memory of this process in RAM, bytes. */
uint64_t tsd_stats_resident_bytes(void);

#endif
