/*
 * sched.h - runs collectors, each in a thread of its own: a slow one never delays the others.
 *
 * A collector with an interval of n seconds runs when the clock shows a multiple of n, so that series of all hosts
 * have common times; collectors of one second start some ms apart. A turn is skipped and counted if the previous one
 * is still running.
 *
 * Threads    start and stop from one thread; figures from any
 * Not here   what is measured (collector.h)
 */
#ifndef COLLECTORS_CORE_SCHED_H
#define COLLECTORS_CORE_SCHED_H

#include "base/err.h"
#include "collectors/core/collector.h"
#include "collectors/core/emit.h"

#include <stdint.h>

/* What to run. */
struct col_sched_opts {
    const struct col_collector *const *collectors; /* ended by NULL; borrowed */
    struct col_ctx ctx;                            /* given to each */
    struct col_emit_opts emit;                     /* an emit is made for each */
    unsigned interval_s;                           /* for all but own_interval; 0 = each its own */
    int64_t look_ms; /* between two checks for a source that was missing; 0 = 60 s */
};

/* Statistics of one collector. */
struct col_sched_stats {
    const char *name;    /* of the collector */
    bool ready;          /* there is something to measure */
    uint64_t n_reads;    /* turns taken */
    uint64_t n_failed;   /* turns that ended with an error */
    uint64_t n_skipped;  /* turns left out because the one before took too long */
    uint64_t n_points;   /* emitted */
    uint64_t n_left_out; /* points left out as repetitions */
    uint64_t busy_us;    /* time spent in reads */
};

struct col_sched;
/** Initialise the collectors and start their threads; those with nothing to measure look again now and then.
 * TS_ENOTFOUND if none has anything to measure, TS_EINVAL: a wrong key. */
int col_sched_start(const struct col_sched_opts *opts, struct col_sched **out, struct ts_error *err);
/** Stop all threads and wait at most wait_ms for them. Returns the number of threads that did not end (stuck
 * in a dead file
 *  system, say): then memory is kept for them and the process should end soon. NULL is harmless. */
unsigned col_sched_stop(struct col_sched *s, int64_t wait_ms);
/** Figures of the i-th running collector; false behind the last. */
bool col_sched_stats(const struct col_sched *s, unsigned i, struct col_sched_stats *out);
/** Run each collector once, in this thread; those with rates twice, a second apart. Errors are logged;
 * TS_ENOTFOUND if none could be
 *  initialised; the first error of a collector if all failed, or one that collect_only names. */
int col_sched_once(const struct col_sched_opts *opts, struct ts_error *err);

#endif
