/*
 * latch.h - a count that goes down to zero, and threads that wait for that.
 *
 * Threads    every function from any thread; ts_latch_init and ts_latch_release by the one that owns it
 */
#ifndef BASE_LATCH_H
#define BASE_LATCH_H

#include <pthread.h>

struct ts_latch {
    pthread_mutex_t mu;
    pthread_cond_t cond;
    unsigned left; /* under mu */
};

/** n calls of ts_latch_count_down open it. */
void ts_latch_init(struct ts_latch *l, unsigned n);
/** One call; the last one wakes the threads that wait. */
void ts_latch_count_down(struct ts_latch *l);
/** Block until the count is zero. */
void ts_latch_wait(struct ts_latch *l);
/** No thread may wait any more. */
void ts_latch_release(struct ts_latch *l);

#endif
