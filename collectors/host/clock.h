/*
 * clock.h - makes points from the kernel's clock state; separate from the system call, for the test.
 *
 * Threads    pure, but for the emit
 */
#ifndef COLLECTORS_HOST_CLOCK_H
#define COLLECTORS_HOST_CLOCK_H

#include "collectors/core/collector.h"

#include <sys/timex.h>

/** Emit the figures of t; state is what adjtimex returned. */
void col_clock_points(const struct timex *t, int state, struct col_emit *emit);

#endif
