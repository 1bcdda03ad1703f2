/*
 * fs_probe.c - a thread a call, shared with it.
 *
 * Threads    see fs.h; a call belongs to its thread and to its probe, the last one frees it
 */
#include "collectors/host/fs.h"

#include "base/mem.h"
#include "base/thread.h"
#include "base/time.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#define STACK_BYTES ((size_t)256 << 10)

/* One call. */
struct call {
    int (*fn)(const char *path, struct statvfs *out); /* constant */
    char *path;                                       /* constant, owned */
    pthread_mutex_t mutex;                            /* guards what follows but next */
    pthread_cond_t changed;                           /* done */
    bool done;                                        /* it came back */
    unsigned n_owners;                                /* thread and probe */
    int error;                                        /* errno, 0 = st is set */
    struct statvfs st;                                /* what it said */
    struct call *next;                                /* of those that hang; the probe's */
};

struct col_fs_probe {
    int (*call)(const char *path, struct statvfs *out); /* constant */
    int64_t timeout_ms;                                 /* constant */
    struct call *hung;                                  /* those that have not come back in time */
};

struct col_fs_probe *col_fs_probe_new(int (*call)(const char *path, struct statvfs *out), int64_t timeout_ms)
{
    struct col_fs_probe *p = ts_xcalloc(1, sizeof(*p));
    p->call = call;
    p->timeout_ms = timeout_ms;
    return p;
}

/* One owner less. */
static void call_unref(struct call *c)
{
    pthread_mutex_lock(&c->mutex);
    unsigned left = --c->n_owners;
    pthread_mutex_unlock(&c->mutex);
    if (left)
        return;
    pthread_cond_destroy(&c->changed);
    pthread_mutex_destroy(&c->mutex);
    ts_free(c->path);
    ts_free(c);
}

void col_fs_probe_free(struct col_fs_probe *p)
{
    while (p && p->hung) {
        struct call *c = p->hung;
        p->hung = c->next;
        call_unref(c);
    }
    ts_free(p);
}

static void *call_main(void *arg)
{
    struct call *c = arg;
    struct statvfs st;
    int error = c->fn(c->path, &st) == 0 ? 0 : errno;
    pthread_mutex_lock(&c->mutex);
    if (!error)
        c->st = st;
    c->error = error;
    c->done = true;
    pthread_cond_signal(&c->changed);
    pthread_mutex_unlock(&c->mutex);
    call_unref(c);
    return NULL;
}

static struct call *call_new(struct col_fs_probe *p, const char *path)
{
    struct call *c = ts_xcalloc(1, sizeof(*c));
    pthread_condattr_t attr;
    c->fn = p->call;
    c->path = ts_xstrdup(path);
    c->n_owners = 2;
    pthread_mutex_init(&c->mutex, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&c->changed, &attr);
    pthread_condattr_destroy(&attr);
    return c;
}

/* Wait for a call until a monotonic time. True = it is done. */
static bool call_wait(struct call *c, int64_t until_ns)
{
    struct timespec until = {.tv_sec = until_ns / 1000000000, .tv_nsec = until_ns % 1000000000};
    pthread_mutex_lock(&c->mutex);
    while (!c->done && pthread_cond_timedwait(&c->changed, &c->mutex, &until) == 0)
        ;
    bool done = c->done;
    pthread_mutex_unlock(&c->mutex);
    return done;
}

/* Does an earlier call on the path still hang? Those that came back are forgotten. */
static bool probe_hangs(struct col_fs_probe *p, const char *path)
{
    bool hangs = false;
    for (struct call **at = &p->hung; *at;) {
        struct call *c = *at;
        if (call_wait(c, 0)) {
            *at = c->next;
            call_unref(c);
            continue;
        }
        hangs |= !strcmp(c->path, path);
        at = &c->next;
    }
    return hangs;
}

int col_fs_probe_stat(struct col_fs_probe *p, const char *path, struct statvfs *out, struct ts_error *err)
{
    pthread_t thread;
    if (probe_hangs(p, path))
        return ts_error_set(err, TS_ETIMEOUT, "%s still does not answer", path);
    struct call *c = call_new(p, path);
    int rc = ts_thread_start(
        &thread, &(struct ts_thread_opts){
                     .name = "tsd-statvfs", .stack_bytes = STACK_BYTES, .fn = call_main, .arg = c});
    if (rc != 0) {
        call_unref(c);
        call_unref(c);
        return ts_error_sys(err, TS_EIO, rc < 0 ? EAGAIN : rc, "no thread to look at %s", path);
    }
    pthread_detach(thread);
    if (!call_wait(c, ts_clock_mono_ns() + p->timeout_ms * 1000000)) {
        c->next = p->hung;
        p->hung = c;
        return ts_error_set(err, TS_ETIMEOUT, "%s does not answer within %lld ms (collect_fs_timeout_ms)",
                            path, (long long)p->timeout_ms);
    }
    int error = c->error; /* the thread writes nothing any more */
    *out = c->st;
    call_unref(c);
    return error ? ts_error_sys(err, TS_EIO, error, "can't look at %s", path) : 0;
}
