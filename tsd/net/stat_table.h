/*
 * stat_table.h - what the daemon's figures mean: kind, unit and a sentence for each name of stats.h.
 *
 * /metrics prints its types and help texts from here, and docs/METRICS.md has the same rows (integration_self_metrics
 * compares them with what a daemon writes). The names are stable: a figure that changes its meaning gets a new name.
 *
 * Threads    constant
 * Not here   the values (stats.h)
 */
#ifndef TSD_NET_STAT_TABLE_H
#define TSD_NET_STAT_TABLE_H

#include <stddef.h>

enum tsd_stat_kind {
    TSD_STAT_GAUGE,   /* a state of this moment */
    TSD_STAT_COUNTER, /* grows from 0 since the start of the daemon */
};

/* What a figure means. */
struct tsd_stat_row {
    const char *name; /* as tsd_stat_fn reports it, without "tsd." */
    const char
        *tag; /* only with this tag ("type=open"), which has a row of its own; NULL: with any, or with none */
    enum tsd_stat_kind kind; /* how values may change */
    const char *unit;        /* of the values: "bytes", "ms"; plural of what is counted */
    const char *help;        /* one sentence, without a line break */
};
/** All rows, sorted by name and then by tag, NULL first; the last one has name == NULL. */
extern const struct tsd_stat_row tsd_stat_table[];
/** Row of a figure: the one with its tag before the one with any. NULL: the table lacks it. O(log rows). */
const struct tsd_stat_row *tsd_stat_find(const char *name, const char *tag);

#endif
