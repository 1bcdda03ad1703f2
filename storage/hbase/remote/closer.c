/*
 * closer.c - closes scanners whose fetch has ended before their rows did.
 *
 * Threads    mu protects the list; the thread holds it while it takes a connection off the list, not while it waits for a gateway
 */
#include "storage/hbase/remote/closer.h"

#include "base/mem.h"
#include "base/thread.h"
#include "base/time.h"

#include <pthread.h>
#include <stdatomic.h>

#define END_NS 500000000ll /* of sto_hbase_closer_free */

/* A connection that was left. */
struct left {
    struct sto_thrift_client *client;
    struct sto_hbase_scanner *scanner;
};

struct sto_hbase_closer {
    pthread_mutex_t mu; /* of what follows, but stop */
    pthread_cond_t changed;
    struct left list[STO_HBASE_CLOSER_MOST]; /* n of them wait; the oldest one first */
    unsigned n;
    bool is_busy;      /* the thread closes one that is not in the list */
    bool is_started;   /* there is a thread */
    bool ends;         /* it ends when the list is empty */
    _Atomic bool stop; /* nothing more is waited for */
    pthread_t thread;
};

struct sto_hbase_scanner *sto_hbase_scanner_new(void)
{
    struct sto_hbase_scanner *s = ts_xcalloc(1, sizeof *s);
    sto_thrift_request_init(&s->open, 0, NULL);
    for (size_t i = 0; i < 2; i++)
        sto_thrift_request_init(&s->rows[i], 0, NULL);
    return s;
}

void sto_hbase_scanner_free(struct sto_hbase_scanner *s)
{
    if (!s)
        return;
    sto_thrift_request_release(&s->open);
    for (size_t i = 0; i < 2; i++)
        sto_thrift_request_release(&s->rows[i]);
    ts_free(s);
}

static void drop(struct left l)
{
    sto_thrift_client_free(l.client);
    sto_hbase_scanner_free(l.scanner);
}

/* --- the thread --- */

static void close_one(struct sto_hbase_closer *c, struct left l)
{
    struct sto_thrift_wait wait = {.until_ns = ts_clock_mono_ns() + STO_HBASE_CLOSER_WAIT_MS * 1000000ll,
                                   .cancel = &c->stop};
    struct sto_thrift_reply reply;
    struct ts_error err = {0};
    int rc = 0;
    while (rc != TS_ECANCELLED && sto_thrift_client_in_flight(l.client)) {
        rc = sto_thrift_client_try_receive(l.client, wait, &reply, &err);
        if (rc == 0 && l.scanner->is_opening)
            l.scanner->scanner = sto_thrift_reply_scanner(&reply);
        l.scanner->is_opening &= rc != 0;
    }
    if (!l.scanner->is_opening && rc != TS_ECANCELLED && sto_thrift_client_is_open(l.client) &&
        sto_thrift_call_close_scanner(&l.scanner->rows[0], l.scanner->scanner) == 0)
        (void)sto_thrift_client_call(l.client, &l.scanner->rows[0], wait, &reply, NULL, &err);
    drop(l);
}

static void *closer_main(void *arg)
{
    struct sto_hbase_closer *c = arg;
    pthread_mutex_lock(&c->mu);
    for (;;) {
        while (c->n == 0 && !c->ends)
            pthread_cond_wait(&c->changed, &c->mu);
        if (c->n == 0)
            break;
        struct left l = c->list[0];
        memmove(c->list, c->list + 1, --c->n * sizeof *c->list);
        c->is_busy = true;
        pthread_mutex_unlock(&c->mu);
        close_one(c, l);
        pthread_mutex_lock(&c->mu);
        c->is_busy = false;
        pthread_cond_broadcast(&c->changed);
    }
    pthread_mutex_unlock(&c->mu);
    return NULL;
}

/* --- for others --- */

struct sto_hbase_closer *sto_hbase_closer_new(void)
{
    struct sto_hbase_closer *c = ts_xcalloc(1, sizeof *c);
    pthread_condattr_t attr;
    pthread_mutex_init(&c->mu, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&c->changed, &attr);
    pthread_condattr_destroy(&attr);
    return c;
}

void sto_hbase_closer_free(struct sto_hbase_closer *c)
{
    if (!c)
        return;
    int64_t until_ns = ts_clock_mono_ns() + END_NS;
    struct timespec until = {.tv_sec = until_ns / 1000000000, .tv_nsec = until_ns % 1000000000};
    pthread_mutex_lock(&c->mu);
    c->ends = true;
    pthread_cond_broadcast(&c->changed);
    while ((c->n || c->is_busy) && pthread_cond_timedwait(&c->changed, &c->mu, &until) == 0)
        ;
    pthread_mutex_unlock(&c->mu);
    atomic_store_explicit(&c->stop, true, memory_order_relaxed);
    if (c->is_started)
        pthread_join(c->thread, NULL);
    pthread_cond_destroy(&c->changed);
    pthread_mutex_destroy(&c->mu);
    ts_free(c);
}

void sto_hbase_closer_take(struct sto_hbase_closer *c, struct sto_thrift_client *client,
                           struct sto_hbase_scanner *scanner)
{
    struct left l = {client, scanner};
    pthread_mutex_lock(&c->mu);
    if (!c->is_started)
        c->is_started =
            ts_thread_start(&c->thread, &(struct ts_thread_opts){
                                            .name = "hbase-closer", .fn = closer_main, .arg = c}) == 0;
    bool takes = c->is_started && c->n < STO_HBASE_CLOSER_MOST;
    if (takes) {
        c->list[c->n++] = l;
        pthread_cond_broadcast(&c->changed);
    }
    pthread_mutex_unlock(&c->mu);
    if (!takes)
        drop(l);
}
