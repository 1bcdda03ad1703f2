/*
 * pool.c - threads that run tasks of two priorities and pieces of common work.
 *
 * One mutex guards everything; it is never held while foreign code runs. A free thread looks for work in this
 * order: HIGH task, piece of a job, LOW task. HIGH before pieces, so that a long job cannot keep a new task
 * waiting; jobs take turns piece by piece, so that a job of a thousand pieces does not stand in front of one
 * of three.
 *
 * ts_pool_each cannot deadlock, also when called from tasks and pieces of the same pool: the caller takes
 * pieces of its own job until none is left, so it needs no other thread to get there. Then it waits only for
 * pieces that some thread is running already. If that thread waits too, it does so for a job that was made
 * while the piece ran, so for a younger one: along a chain of waiting threads jobs get younger and younger,
 * so the chain is no ring, and its last thread runs.
 *
 * Threads    every function from any thread, but ts_pool_free not from a task of the pool
 * Invariant  a job is in the ring exactly while it has pieces that nobody has taken; it lives on its caller's
 * stack and is not touched after n_done reached n_pieces and the mutex was released
 */
#include "base/pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/thread.h"
#include "base/time.h"

#define N_PRIOS 2
/* A thread that has just run something polls for this long before it sleeps, so that small queries one after
 * the other (a dashboard, bench q1 and q7) need no wake-up. One thread of a pool at a time. */
#define WATCH_NS 40000

/* One queued task. */
struct task {
    struct task *next; /* later one of the same priority */
    ts_task_fn fn;     /* what to do */
    void *arg;         /* for fn */
};

/* Tasks of one priority, first in first out. */
struct task_list {
    struct task *first; /* NULL = empty */
    struct task **end;  /* where the next one is linked */
};

/* One ts_pool_each. All members under the mutex but fn and arg, which are constant. */
struct job {
    struct job *prev, *next; /* ring of jobs with untaken pieces */
    ts_piece_fn fn;          /* what to do */
    void *arg;               /* for fn */
    size_t n_pieces;         /* constant */
    size_t n_taken;          /* pieces begun */
    size_t n_done;           /* pieces ended */
    pthread_cond_t done;     /* n_done == n_pieces */
};

struct ts_pool {
    pthread_mutex_t mutex;           /* guards all below but threads */
    pthread_cond_t work;             /* something to do, or stopping */
    struct task_list tasks[N_PRIOS]; /* by enum ts_prio */
    struct job *jobs;                /* job whose turn it is, NULL = none */
    unsigned n_idle;                 /* threads waiting for work */
    bool watched;                    /* a thread looks out: the next task needs no signal */
    _Atomic unsigned
        n_arrived;       /* tasks queued so far; written under the mutex, the watcher reads it without */
    bool stopping;       /* end when nothing is left */
    unsigned n_threads;  /* constant */
    bool watches;        /* constant: there is another core to work for us meanwhile */
    char name[16];       /* constant, terminated */
    pthread_t threads[]; /* constant after ts_pool_new */
};

/* --- jobs, mutex held --- */

static void ring_add(struct ts_pool *pool, struct job *job)
{
    if (!pool->jobs) {
        job->prev = job->next = job;
        pool->jobs = job;
        return;
    }
    struct job *first = pool->jobs; /* before the first is after the last */
    job->next = first;
    job->prev = first->prev;
    first->prev->next = job;
    first->prev = job;
}

static void ring_remove(struct ts_pool *pool, struct job *job)
{
    if (job->next == job) {
        pool->jobs = NULL;
        return;
    }
    job->prev->next = job->next;
    job->next->prev = job->prev;
    if (pool->jobs == job)
        pool->jobs = job->next;
}

/* Take one piece of a job that is in the ring, run it without the mutex, count it. */
static void run_piece(struct ts_pool *pool, struct job *job)
{
    size_t piece = job->n_taken++;
    if (job->n_taken == job->n_pieces)
        ring_remove(pool, job);
    pthread_mutex_unlock(&pool->mutex);
    job->fn(job->arg, piece);
    pthread_mutex_lock(&pool->mutex);
    if (++job->n_done == job->n_pieces)
        pthread_cond_signal(&job->done);
}

/* --- tasks, mutex held --- */

static struct task *take_task(struct task_list *list)
{
    struct task *t = list->first;
    if (t) {
        list->first = t->next;
        if (!list->first)
            list->end = &list->first;
    }
    return t;
}

static void run_task(struct ts_pool *pool, struct task *t)
{
    pthread_mutex_unlock(&pool->mutex);
    t->fn(t->arg);
    ts_free(t);
    pthread_mutex_lock(&pool->mutex);
}

/* --- threads --- */

/* Let go of the mutex and look out for a task; true if one came. */
static bool watch(struct ts_pool *pool)
{
    unsigned seen = atomic_load_explicit(&pool->n_arrived, memory_order_relaxed);
    bool came = false;
    pool->watched = true;
    pthread_mutex_unlock(&pool->mutex);
    int64_t until = ts_clock_mono_ns() + WATCH_NS;
    do {
        for (int i = 0; i < 64 && !came; i++) {
            came = atomic_load_explicit(&pool->n_arrived, memory_order_relaxed) != seen;
#if defined(__x86_64__)
            __builtin_ia32_pause();
#endif
        }
    } while (!came && ts_clock_mono_ns() < until);
    pthread_mutex_lock(&pool->mutex); /* what arrived is seen under it */
    pool->watched = false;
    return came || atomic_load_explicit(&pool->n_arrived, memory_order_relaxed) != seen;
}

static void *thread_main(void *arg)
{
    struct ts_pool *pool = arg;
    pthread_mutex_lock(&pool->mutex);
    for (bool worked = false;;) {
        struct task *t = take_task(&pool->tasks[TS_PRIO_HIGH]);
        if (!t && pool->jobs) {
            struct job *job = pool->jobs;
            pool->jobs = job->next; /* the next job has the next turn */
            run_piece(pool, job);
            continue;
        }
        if (!t)
            t = take_task(&pool->tasks[TS_PRIO_LOW]);
        if (t) {
            run_task(pool, t);
            worked = true;
            continue;
        }
        if (pool->stopping)
            break;
        if (worked && pool->watches && !pool->watched && watch(pool))
            continue;
        worked = false;
        if (pool->tasks[TS_PRIO_HIGH].first || pool->tasks[TS_PRIO_LOW].first || pool->jobs || pool->stopping)
            continue; /* came while we let go of the mutex */
        pool->n_idle++;
        pthread_cond_wait(&pool->work, &pool->mutex);
        pool->n_idle--;
    }
    pthread_mutex_unlock(&pool->mutex);
    return NULL;
}

unsigned ts_pool_cores(unsigned most)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : (unsigned long)n > most ? most : (unsigned)n;
}

struct ts_pool *ts_pool_new(unsigned n_threads, const char *name)
{
    return ts_pool_new_nice(n_threads, name, 0);
}

struct ts_pool *ts_pool_new_nice(unsigned n_threads, const char *name, int nice)
{
    if (n_threads == 0)
        TS_BUG("a pool without threads");
    struct ts_pool *pool = ts_xcalloc(1, sizeof(*pool) + n_threads * sizeof(pool->threads[0]));
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->work, NULL);
    for (int i = 0; i < N_PRIOS; i++)
        pool->tasks[i].end = &pool->tasks[i].first;
    pool->n_threads = n_threads;
    pool->watches = ts_pool_cores(2) > 1;
    snprintf(pool->name, sizeof(pool->name), "%s", name);
    for (unsigned i = 0; i < n_threads; i++) {
        struct ts_thread_opts opts = {.name = pool->name, .nice = nice, .fn = thread_main, .arg = pool};
        int e = ts_thread_start(&pool->threads[i], &opts);
        if (e)
            TS_BUG("cannot start thread %u of %u of pool %s: %s", i + 1, n_threads, pool->name, strerror(e));
    }
    return pool;
}

void ts_pool_free(struct ts_pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->mutex);
    pool->stopping = true;
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->mutex);
    for (unsigned i = 0; i < pool->n_threads; i++) {
        if (pthread_join(pool->threads[i], NULL) != 0)
            TS_BUG("pool %s freed by one of its own tasks", pool->name);
    }
    pthread_cond_destroy(&pool->work);
    pthread_mutex_destroy(&pool->mutex);
    ts_free(pool);
}

void ts_pool_run(struct ts_pool *pool, enum ts_prio prio, ts_task_fn fn, void *arg)
{
    struct task *t = ts_xmalloc(sizeof(*t));
    *t = (struct task){.fn = fn, .arg = arg};
    pthread_mutex_lock(&pool->mutex);
    struct task_list *list = &pool->tasks[prio];
    *list->end = t;
    list->end = &t->next;
    atomic_fetch_add_explicit(&pool->n_arrived, 1, memory_order_relaxed);
    if (pool->watched)
        pool->watched = false; /* it is the watcher's; the next one wakes somebody */
    else if (pool->n_idle > 0)
        pthread_cond_signal(&pool->work);
    pthread_mutex_unlock(&pool->mutex);
}

void ts_pool_each(struct ts_pool *pool, size_t n_pieces, ts_piece_fn fn, void *arg)
{
    if (!pool || n_pieces <= 1) {
        for (size_t i = 0; i < n_pieces; i++)
            fn(arg, i);
        return;
    }
    struct job job = {.fn = fn, .arg = arg, .n_pieces = n_pieces};
    pthread_cond_init(&job.done, NULL);
    pthread_mutex_lock(&pool->mutex);
    ring_add(pool, &job);
    size_t n_wake = n_pieces - 1 < pool->n_idle ? n_pieces - 1 : pool->n_idle;
    for (size_t i = 0; i < n_wake; i++)
        pthread_cond_signal(&pool->work);
    while (job.n_taken < n_pieces)
        run_piece(pool, &job);
    while (job.n_done < n_pieces)
        pthread_cond_wait(&job.done, &pool->mutex);
    pthread_mutex_unlock(&pool->mutex);
    pthread_cond_destroy(&job.done);
}

unsigned ts_pool_threads(const struct ts_pool *pool)
{
    return pool->n_threads;
}
