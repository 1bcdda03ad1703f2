/*
 * thread.c - threads with the right signals and an alternate stack.
 *
 * The alternate stack is a part of the thread's first stack frame: an overflowing stack grows in the other
 * direction, and it needs no allocation that must be freed.
 *
 * Threads    see thread.h
 */
#include "base/thread.h"

#include "base/crash.h"
#include "base/mem.h"

#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>

#define THREAD_NAME_BYTES 16 /* the kernel's limit, with the zero at the end */

/* What the new thread needs; it frees it. */
struct thread_start {
    void *(*fn)(void *);
    void *arg;
    int nice;                     /* added to the inherited value */
    char name[THREAD_NAME_BYTES]; /* "" = keep the inherited name */
};

static void *thread_main(void *arg)
{
    char stack[TS_CRASH_STACK_BYTES];
    struct thread_start s = *(struct thread_start *)arg;
    ts_free(arg);
    if (s.name[0])
        (void)pthread_setname_np(pthread_self(), s.name);
    if (s.nice)
        ts_thread_lower(s.nice);
    bool ours = ts_crash_stack_set(stack, sizeof(stack));
    void *result = s.fn(s.arg);
    if (ours)
        ts_crash_stack_clear();
    return result;
}

void ts_thread_lower(int nice)
{
    /* on Linux the value of a thread, not of the process */
    (void)setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + nice);
}

void ts_thread_idle(void)
{
    const struct sched_param param = {.sched_priority = 0};
    if (sched_setscheduler(0, SCHED_IDLE, &param) < 0)
        ts_thread_lower(19);
}

int ts_thread_start(pthread_t *out, const struct ts_thread_opts *opts)
{
    struct thread_start *s = ts_xcalloc(1, sizeof(*s));
    pthread_attr_t attr;
    sigset_t mask, old;
    s->fn = opts->fn;
    s->arg = opts->arg;
    s->nice = opts->nice;
    (void)snprintf(s->name, sizeof(s->name), "%s", opts->name ? opts->name : "");
    pthread_attr_init(&attr);
    if (opts->stack_bytes)
        (void)pthread_attr_setstacksize(&attr, opts->stack_bytes + TS_CRASH_STACK_BYTES);
    sigfillset(&mask);
    for (const int *sig = ts_crash_signals; *sig; sig++)
        sigdelset(&mask, *sig);
    pthread_sigmask(SIG_SETMASK, &mask, &old); /* inherited by the new thread */
    int rc = pthread_create(out, &attr, thread_main, s);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attr);
    if (rc)
        ts_free(s);
    return rc;
}

#ifdef TSD_DEBUG_YIELD
#define YIELD_OFTEN                                                                                          \
    16384 /* first calls of a thread, of which one of 16 yields; of those after them one of 1,024 does */

void ts_thread_yield_sometimes(void)
{
    static _Thread_local uint32_t n_calls,
        state = 1; /* of a linear congruential generator, whose high bits are used */
    state = state * 1664525u + 1013904223u;
    n_calls += n_calls < YIELD_OFTEN;
    if (state >> (n_calls < YIELD_OFTEN ? 28 : 22) == 0)
        sched_yield();
}
#endif
