/*
 * counters.h - the times of increments: how many of them share a cell.
 *
 * An increment (the line incr, /api/incr) adds to the cell of its time instead of replacing it. Its time is rounded down to the resolution of its
 * metric, so that the hits of a page cost one cell an hour if no more is wanted.
 *
 * Threads    immutable after tsd_counters_load
 * Not here   additions to cells (storage/engine/memory/fold.h), who learns that one was made (storage/writer.h)
 */
#ifndef TSD_INGEST_COUNTERS_H
#define TSD_INGEST_COUNTERS_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

#define TSD_COUNTER_RULES      64   /* most rules of counter_resolution */
#define TSD_COUNTER_DEFAULT_MS 1000 /* resolution of metrics without a rule */

/* One part of counter_resolution. */
struct tsd_counter_rule {
    struct ts_slice name; /* a metric or the beginning of some; in the text of the configuration */
    bool is_prefix;       /* it ended in '*' */
    int64_t ms;           /* from 1 ms to a day */
};

struct tsd_counters {
    struct tsd_counter_rule rules[TSD_COUNTER_RULES]; /* in the order given: the first that fits counts */
    size_t n;                                         /* how many */
};

/** Read "web.*=1m,hits=1h": metrics, or beginnings followed by '*', and durations that divide a day.
 *  @param text  borrowed as long as out lives
 *  @return 0; TS_EINVAL: what is wrong, and how it should look */
int tsd_counters_load(const char *text, struct tsd_counters *out, struct ts_error *err);
/** Resolution of a metric in ms. Cost: a comparison a rule. */
int64_t tsd_counters_resolution(const struct tsd_counters *c, struct ts_slice metric);

#endif
