/*
 * once_time.h - the time by which ids of clients are accepted and forgotten, whatever the wall clock does.
 *
 * How long an id is remembered is measured by how long the store has run, so no clock that somebody sets decides it. Whether an id that
 * a client brings is too old, or made in the future, only a wall clock can show: after a jump of it both times count, that of the clock and
 * that which it would show without the jump, until the store has run as long as ids are kept. So clients with the right time are
 * served, whichever of the two it is.
 *
 * Threads    one
 * Not here   the table of ids (once.h); what retention makes of jumps (retention.h)
 */
#ifndef STORAGE_ENGINE_ONCE_TIME_H
#define STORAGE_ENGINE_ONCE_TIME_H

#include <stdint.h>

#define STO_ONCE_RAN_START (1ull << 40) /* ran_s when a store opens, so that there are earlier times */

/* A moment. All in seconds. */
struct sto_once_time {
    uint64_t ran_s;      /* time for which the store has run; never goes back */
    uint64_t steady_s;   /* seconds since 1970 by the wall clock, without its last jump */
    uint64_t earliest_s; /* the lower one of the wall clock and steady_s */
    uint64_t latest_s;   /* the higher one */
};
/* The clocks of a store that is open. */
struct sto_once_clock {
    int64_t ran_ms;    /* milliseconds since the start */
    int64_t mono_ms;   /* the monotonic clock when it was read last */
    int64_t steady_ms; /* steady_s, in milliseconds */
    int64_t until_ms;  /* ran_ms from which on the wall clock counts alone again; -1: it does */
    int64_t kept_ms;   /* how long a jump counts */
};

/**
 * Begin.
 *
 * @param kept_s    how long ids are kept
 * @param former_s  steady_s when the store was last heard of; 0 = not known, and the wall clock is believed
 * @param wall_ms   wall clock, milliseconds since 1970
 * @param mono_ms   monotonic clock
 */
void sto_once_clock_start(struct sto_once_clock *c, uint64_t kept_s, uint64_t former_s, int64_t wall_ms,
                          int64_t mono_ms);
/** What time is it? Parameters as above. O(1), no system call. */
struct sto_once_time sto_once_clock_read(struct sto_once_clock *c, int64_t wall_ms, int64_t mono_ms);

#endif
