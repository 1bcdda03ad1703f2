/*
 * sched.c - a thread a collector, woken by the clock.
 *
 * Threads    see sched.h; figures are atomic, a job belongs to its thread
 */
#include "collectors/core/sched.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "base/time.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define STACK_BYTES    ((size_t)256 << 10)
#define STAGGER_MS     20 /* between two collectors of one second: each measures the machine, not the other */
#define STAGGER_MAX_MS 700
#define RERUN_MIN_MS   1000 /* run() that failed is called again after */
#define RERUN_MAX_MS   60000
#define ONCE_PAUSE_MS  1000  /* between the two reads of --once */
#define LOOK_AGAIN_MS  60000 /* for a source that was not there */

/* A running collector. */
struct job {
    const struct col_collector *c;                               /* the row */
    void *state;                                                 /* of the collector */
    const struct col_ctx *ctx;                                   /* for init */
    atomic_bool ready;                                           /* init found something to measure */
    struct col_emit *emit;                                       /* its points */
    unsigned interval_s;                                         /* between reads */
    int64_t stagger_ms;                                          /* after the full second */
    int64_t look_ms;                                             /* between two checks for its source */
    int stop_fd;                                                 /* readable = end; borrowed */
    bool ended;                                                  /* joined */
    pthread_t thread;                                            /* its thread */
    struct ts_log_limit limit;                                   /* of its errors */
    atomic_uint_least64_t n_reads, n_failed, n_skipped, busy_us; /* figures */
};

struct col_sched {
    int stop_fd;        /* eventfd */
    unsigned n_jobs;    /* entries of jobs */
    unsigned n_ready;   /* of them with something to measure at the start */
    struct col_ctx ctx; /* given to collectors; they may keep it */
    struct job jobs[];  /* constant after start but for figures */
};

static void job_count(atomic_uint_least64_t *figure, uint64_t n)
{
    atomic_fetch_add_explicit(figure, n, memory_order_relaxed); /* a figure, orders nothing */
}

/* Sleep; true = the collectors are stopping. */
static bool job_sleep(const struct job *j, int64_t ms)
{
    struct pollfd p = {.fd = j->stop_fd, .events = POLLIN};
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    return ppoll(&p, 1, &t, NULL) > 0;
}

static void job_error(struct job *j, const struct ts_error *err)
{
    job_count(&j->n_failed, 1);
    ts_log_limited(&j->limit, TS_LOG_WARN, "collector %s: %s", j->c->name, err->text);
}

/* One turn: read, or once. out_err: why it failed, if it did; may be NULL. */
static void job_read(struct job *j, int (*read_fn)(void *state, struct col_emit *emit, struct ts_error *err),
                     struct ts_error *out_err)
{
    struct ts_error err = {0};
    int64_t from_ns = ts_clock_mono_ns();
    col_emit_time(j->emit, ts_clock_ms() / 1000 * 1000);
    if (read_fn(j->state, j->emit, &err) < 0)
        job_error(j, &err);
    if (col_emit_end(j->emit, false, &err) < 0)
        job_error(j, &err);
    if (out_err && err.code < 0)
        *out_err = err;
    job_count(&j->n_reads, 1);
    job_count(&j->busy_us, (uint64_t)(ts_clock_mono_ns() - from_ns) / 1000);
}

/* Is there something to measure by now? An init that finds nothing keeps nothing. */
static int job_init(struct job *j, struct ts_error *err)
{
    int rc = j->c->init ? j->c->init(j->ctx, &j->state, err) : 0;
    if (rc == 0)
        atomic_store_explicit(&j->ready, true, memory_order_release); /* pairs with col_sched_stats */
    return rc;
}

static bool job_ready(const struct job *j)
{
    return atomic_load_explicit(&j->ready, memory_order_acquire); /* pairs with job_init */
}

/* Modules are loaded, devices plugged in and programs installed at run time. True = the collectors are
 * stopping. */
static bool job_await(struct job *j)
{
    bool stop = false;
    while (!stop && !job_ready(j)) {
        struct ts_error err = {0};
        stop = job_sleep(j, j->look_ms);
        if (!stop && job_init(j, &err) == 0)
            ts_log(TS_LOG_INFO, "collector %s has something to measure now", j->c->name);
    }
    return stop;
}

static void job_loop(struct job *j)
{
    int64_t step_ms = (int64_t)j->interval_s * 1000;
    bool stop = job_sleep(j, j->stagger_ms);
    while (!stop) {
        int64_t turn = ts_floor_div(ts_clock_ms(), step_ms);
        job_read(j, j->c->read, NULL);
        int64_t now_ms = ts_clock_ms(), over = ts_floor_div(now_ms, step_ms) - turn;
        if (over > 0 && over < 1000000) /* more is a clock that was set */
            job_count(&j->n_skipped, (uint64_t)over);
        stop = job_sleep(j, (ts_floor_div(now_ms, step_ms) + 1) * step_ms - now_ms + j->stagger_ms);
    }
}

static void job_run(struct job *j)
{
    int64_t pause_ms = RERUN_MIN_MS;
    for (;;) {
        struct ts_error err = {0};
        int64_t from_ns = ts_clock_mono_ns();
        col_emit_time(j->emit, ts_clock_ms() / 1000 * 1000);
        int rc = j->c->run(j->state, j->emit, j->stop_fd, &err);
        job_count(&j->n_reads, 1);
        if (rc == 0)
            break;
        job_error(j, &err);
        if (ts_clock_mono_ns() - from_ns > RERUN_MAX_MS * 1000000ll)
            pause_ms = RERUN_MIN_MS;
        if (job_sleep(j, pause_ms))
            break;
        pause_ms = pause_ms * 2 > RERUN_MAX_MS ? RERUN_MAX_MS : pause_ms * 2;
    }
    (void)col_emit_end(j->emit, false, NULL);
}

static void *job_main(void *arg)
{
    struct job *j = arg;
    if (job_await(j))
        return NULL;
    if (j->c->run)
        job_run(j);
    else
        job_loop(j);
    return NULL;
}

/* --- start --- */

/* A thread's work for a collector. A collector that has nothing to measure yet is tried again later; a wrong
 * key is an error. */
static int sched_add(struct col_sched *s, const struct col_collector *c, const struct col_sched_opts *opts,
                     struct ts_error *err)
{
    struct ts_error why = {0};
    struct job *j = &s->jobs[s->n_jobs];
    j->c = c;
    j->ctx = &s->ctx;
    int rc = job_init(j, &why);
    if (rc == TS_EINVAL)
        return ts_error_set(err, TS_EINVAL, "collector %s: %s", c->name, why.text);
    if (rc < 0)
        ts_log(rc == TS_ENOTFOUND ? TS_LOG_INFO : TS_LOG_WARN,
               "collector %s is left out until that changes: %s", c->name, why.text);
    struct col_emit_opts emit = opts->emit;
    if (c->every_value)
        emit.repeat_interval_s = 0;
    j->emit = col_emit_new(&emit);
    j->interval_s = opts->interval_s && !c->own_interval ? opts->interval_s : c->interval_s;
    j->stagger_ms = (int64_t)s->n_jobs * STAGGER_MS;
    j->stagger_ms = j->stagger_ms > STAGGER_MAX_MS ? STAGGER_MAX_MS : j->stagger_ms;
    j->look_ms = opts->look_ms ? opts->look_ms : LOOK_AGAIN_MS;
    j->stop_fd = s->stop_fd;
    s->n_jobs++;
    s->n_ready += rc == 0;
    return 0;
}

static void sched_free(struct col_sched *s);

/* Initialise what has something to measure; TS_ENOTFOUND if nothing has. */
static int sched_new(const struct col_sched_opts *opts, struct col_sched **out, struct ts_error *err)
{
    unsigned n = 0;
    int rc = 0;
    while (opts->collectors[n])
        n++;
    struct col_sched *s = ts_xcalloc(1, sizeof(*s) + n * sizeof(s->jobs[0]));
    s->ctx = opts->ctx;
    s->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (s->stop_fd < 0)
        TS_BUG("no eventfd for the collectors");
    for (unsigned i = 0; rc == 0 && i < n; i++)
        rc = sched_add(s, opts->collectors[i], opts, err);
    if (rc == 0 && !s->n_ready)
        rc = ts_error_set(err, TS_ENOTFOUND, "no collector is left: see collect_only and collect_skip");
    if (rc < 0)
        sched_free(s);
    *out = rc < 0 ? NULL : s;
    return rc;
}

static void sched_free(struct col_sched *s)
{
    for (unsigned i = 0; i < s->n_jobs; i++) {
        struct job *j = &s->jobs[i];
        if (j->c->release && job_ready(j))
            j->c->release(j->state);
        col_emit_free(j->emit);
    }
    close(s->stop_fd);
    ts_free(s);
}

int col_sched_start(const struct col_sched_opts *opts, struct col_sched **out, struct ts_error *err)
{
    struct col_sched *s;
    *out = NULL;
    TS_TRY(sched_new(opts, &s, err));
    *out = s; /* the collector `self` may read the figures before this function has returned */
    for (unsigned i = 0; i < s->n_jobs; i++) {
        struct job *j = &s->jobs[i];
        char name[16];
        (void)snprintf(name, sizeof(name), "c-%.12s", j->c->name);
        if (ts_thread_start(&j->thread,
                            &(struct ts_thread_opts){
                                .name = name, .stack_bytes = STACK_BYTES, .fn = job_main, .arg = j}) != 0)
            TS_BUG("no thread for collector %s", j->c->name);
    }
    return 0;
}

unsigned col_sched_stop(struct col_sched *s, int64_t wait_ms)
{
    uint64_t one = 1;
    unsigned n_stuck = 0;
    struct timespec until;
    if (!s)
        return 0;
    if (write(s->stop_fd, &one, sizeof(one)) < 0)
        TS_BUG("eventfd takes nothing");
    clock_gettime(CLOCK_REALTIME, &until); /* what pthread_timedjoin_np wants */
    until.tv_sec += wait_ms / 1000;
    until.tv_nsec += wait_ms % 1000 * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    for (unsigned i = 0; i < s->n_jobs; i++) {
        struct job *j = &s->jobs[i];
        if (j->ended || pthread_timedjoin_np(j->thread, NULL, &until) == 0) {
            j->ended = true;
            continue;
        }
        ts_log(TS_LOG_WARN, "collector %s does not come back", j->c->name);
        n_stuck++;
    }
    if (!n_stuck)
        sched_free(s);
    return n_stuck;
}

bool col_sched_stats(const struct col_sched *s, unsigned i, struct col_sched_stats *out)
{
    if (i >= s->n_jobs)
        return false;
    const struct job *j = &s->jobs[i];
    /* figures, order nothing */
    *out = (struct col_sched_stats){
        .name = j->c->name,
        .ready = job_ready(j),
        .n_reads = atomic_load_explicit(&j->n_reads, memory_order_relaxed),
        .n_failed = atomic_load_explicit(&j->n_failed, memory_order_relaxed),
        .n_skipped = atomic_load_explicit(&j->n_skipped, memory_order_relaxed),
        .busy_us = atomic_load_explicit(&j->busy_us, memory_order_relaxed),
    };
    col_emit_counts(j->emit, &out->n_points, &out->n_left_out);
    return true;
}

/* The first of two reads is for the differences alone. */
static int once_forget(void *arg, struct ts_slice lines, uint32_t n_points, bool durable,
                       struct ts_error *err)
{
    (void)arg;
    (void)lines;
    (void)n_points;
    (void)durable;
    (void)err;
    return 0;
}

int col_sched_once(const struct col_sched_opts *opts, struct ts_error *err)
{
    struct col_sched *s;
    bool rates = false;
    TS_TRY(sched_new(opts, &s, err));
    struct col_emit_opts forget = {.out = {.put = once_forget}};
    struct col_emit *first = col_emit_new(&forget);
    for (unsigned i = 0; i < s->n_jobs; i++) {
        const struct job *j = &s->jobs[i];
        if (!j->c->rates || !j->c->read || !job_ready(j))
            continue;
        (void)j->c->read(j->state, first, NULL); /* the second read says what is wrong */
        (void)col_emit_end(first, false, NULL);
        rates = true;
    }
    col_emit_free(first);
    if (rates)
        (void)job_sleep(&s->jobs[0], ONCE_PAUSE_MS);
    struct ts_error failed = {0};
    unsigned n_reads = 0, n_failed = 0;
    for (unsigned i = 0; i < s->n_jobs; i++) {
        struct job *j = &s->jobs[i];
        struct ts_error why = {0};
        if (!job_ready(j))
            continue;
        if (!j->c->read && !j->c->once) {
            ts_log(TS_LOG_WARN, "collector %s follows its source and has nothing to show once", j->c->name);
            continue;
        }
        job_read(j, j->c->once ? j->c->once : j->c->read, &why);
        n_reads++;
        if (why.code < 0 && !n_failed++)
            (void)ts_error_set(&failed, why.code, "collector %s: %s", j->c->name, why.text);
    }
    bool chosen = opts->ctx.conf && *ts_conf_str(opts->ctx.conf, "collect_only");
    sched_free(s);
    if (n_failed && (chosen || n_failed == n_reads))
        return ts_error_set(err, failed.code, "%s", failed.text);
    return 0;
}
