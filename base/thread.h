/*
 * thread.h - start a thread of this program: its signals, its name, a stack for the handler of fatal signals.
 *
 * Threads    every function from any thread
 * Not here   pools of threads (pool.h), what a fatal signal prints (crash.h)
 */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>
#include <stddef.h>

/* How to start a thread. */
struct ts_thread_opts {
    const char *name;    /* shown by ps and gdb, cut at 15 bytes; NULL = the name of the calling thread */
    size_t stack_bytes;  /* size of its stack; 0 = the system's default */
    int nice;            /* added to the nice value of the calling thread, 0 to 19: others run before it */
    void *(*fn)(void *); /* what it runs */
    void *arg;           /* for fn */
};

/** Start a thread. It blocks every signal but the fatal ones (ts_crash_signals), so that SIGTERM and the like reach the
 * main thread, and it has an alternate stack, so that a stack overflow can be reported.
 *  @param out  [out] for pthread_join
 *  @return 0 or an errno value of pthread_create(3) */
int ts_thread_start(pthread_t *out, const struct ts_thread_opts *opts);
/** Add to the nice value of the calling thread, and of those that it starts afterwards: others run before them. */
void ts_thread_lower(int nice);
/** From now on the calling thread, and those that it starts afterwards, run only while no other thread wants the processor (SCHED_IDLE): one that wakes up takes
 * their place at once, where it may wait for a time slice of a thread with a higher nice value. It cannot be undone without privileges. */
void ts_thread_idle(void);

/** In builds with TSD_DEBUG_YIELD, one call of 16, later of 1,024, lets other threads run, so that races in the middle of things show; which one is chosen per thread by
 * a generator with a constant seed. Else nothing. A yield in each call would cost such a build a turn of all other threads of the machine for each message. */
#ifdef TSD_DEBUG_YIELD
void ts_thread_yield_sometimes(void);
#else
static inline void ts_thread_yield_sometimes(void) {}
#endif

#endif
