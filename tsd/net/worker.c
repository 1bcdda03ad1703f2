/*
 * worker.c - the loop of one worker.
 *
 * Threads    see worker.h
 * Not here   accepting (listen.c), what connections do (conn.c)
 */
#include "tsd/net/worker.h"

#include "base/log.h"
#include "base/thread.h"
#include "base/time.h"
#include "tsd/net/listen.h"
#include "tsd/net/rates.h"
#include "tsd/net/self_metrics.h"

#include <errno.h>
#include <event2/event.h>
#include <poll.h>
#include <unistd.h>

#define WORKER_INBOX_BYTES ((size_t)64 << 20)
#define WORKER_RETRY_US    2000 /* while paused: how often the store is checked */

/* --- messages --- */

struct worker_adopt {
    struct tsd_call call;
    struct tsd_accepted a;
};

void tsd_worker_call(struct tsd_worker *w, struct tsd_call *call)
{
    ts_queue_push(w->inbox, &call->msg);
}

static void worker_link(struct tsd_worker *w, struct tsd_conn *c)
{
    c->prev = NULL;
    c->next = w->conns;
    if (w->conns)
        w->conns->prev = c;
    w->conns = c;
}

static void worker_run_adopt(struct tsd_worker *w, struct tsd_call *call)
{
    struct tsd_accepted a = ((struct worker_adopt *)call)->a;
    ts_free(call);
    if (w->draining) {
        (void)close(a.fd);
        tsd_peers_remove(&w->daemon->peers, a.peer);
        atomic_fetch_sub_explicit(&w->n_conns, 1, memory_order_relaxed);
        atomic_fetch_sub_explicit(&w->daemon->n_connections, 1, memory_order_relaxed);
        return;
    }
    struct tsd_conn *c = tsd_conn_new(w, &a);
    worker_link(w, c);
    tsd_conn_begin(c);
}

void tsd_worker_adopt(struct tsd_worker *w, const struct tsd_accepted *a)
{
    struct worker_adopt *m = ts_xcalloc(1, sizeof(*m));
    m->call.run = worker_run_adopt;
    m->a = *a;
    /* counted here, so that the next socket sees it */
    atomic_fetch_add_explicit(&w->n_conns, 1, memory_order_relaxed);
    tsd_worker_call(w, &m->call);
}

struct worker_adopt_datagrams {
    struct tsd_call call;
    const struct tsd_protocol *proto;
    int fd;
};

static void worker_run_adopt_datagrams(struct tsd_worker *w, struct tsd_call *call)
{
    struct worker_adopt_datagrams m = *(struct worker_adopt_datagrams *)call;
    ts_free(call);
    tsd_datagrams_open(w, m.fd, m.proto);
}

void tsd_worker_adopt_datagrams(struct tsd_worker *w, int fd, const struct tsd_protocol *proto)
{
    struct worker_adopt_datagrams *m = ts_xcalloc(1, sizeof(*m));
    m->call.run = worker_run_adopt_datagrams;
    m->fd = fd;
    m->proto = proto;
    tsd_worker_call(w, &m->call);
}

static void worker_run_cut(struct tsd_worker *w, struct tsd_call *call)
{
    ts_free(call);
    while (w->conns)
        tsd_conn_kill(w->conns);
    atomic_store_explicit(&w->is_cut, true, memory_order_release); /* pairs with tsd_worker_await_cut */
}

static void worker_notify(struct tsd_worker *w, void (*run)(struct tsd_worker *w, struct tsd_call *call))
{
    struct tsd_call *call = ts_xcalloc(1, sizeof(*call));
    call->run = run;
    tsd_worker_call(w, call);
}

void tsd_worker_cut(struct tsd_worker *w)
{
    worker_notify(w, worker_run_cut);
}

void tsd_worker_await_cut(const struct tsd_worker *w)
{
    while (!atomic_load_explicit(&w->is_cut, memory_order_acquire)) /* pairs with worker_run_cut */
        (void)poll(NULL, 0, 1);
}

/* Stopping: those without work end now, the others when their reply is sent. */
static void worker_run_drain(struct tsd_worker *w, struct tsd_call *call)
{
    ts_free(call);
    w->draining = true;
    tsd_datagrams_close(w);
    for (struct tsd_conn *c = w->conns, *next; c; c = next) {
        next = c->next;
        c->closing = true;
        c->blocked = true;
        ts_buf_clear(&c->tail);
        c->stuck = false;
        tsd_conn_update(c);
        if (!c->n_held && !tsd_conn_unsent(c))
            tsd_conn_kill(c);
    }
}

void tsd_worker_drain(struct tsd_worker *w)
{
    worker_notify(w, worker_run_drain);
}

static void worker_run_stop(struct tsd_worker *w, struct tsd_call *call)
{
    ts_free(call);
    w->quit = true;
}

void tsd_worker_stop(struct tsd_worker *w)
{
    worker_notify(w, worker_run_stop);
}

/* --- connections --- */

void tsd_worker_run_soon(struct tsd_worker *w, struct tsd_conn *c)
{
    if (c->queued)
        return;
    c->queued = true;
    c->run_next = NULL;
    *w->run_end = c;
    w->run_end = &c->run_next;
}

void tsd_worker_conn_dead(struct tsd_worker *w, struct tsd_conn *c)
{
    if (c->prev || w->conns == c) {
        if (c->prev)
            c->prev->next = c->next;
        else
            w->conns = c->next;
        if (c->next)
            c->next->prev = c->prev;
        c->prev = NULL;
        c->next = w->dead;
        w->dead = c;
    }
}

static void worker_bury(struct tsd_worker *w)
{
    for (struct tsd_conn **at = &w->dead, *c; (c = *at);) {
        if (c->n_held || c->queued) {
            at = &c->next;
            continue;
        }
        *at = c->next;
        struct tsd_peer *peer = c->address;
        tsd_conn_free(c); /* gives back what counts in the accounts of its address */
        tsd_peers_remove(&w->daemon->peers, peer);
        atomic_fetch_sub_explicit(&w->daemon->n_connections, 1, memory_order_relaxed);
        /* release: who reads 0 when stopping sees all we did */
        atomic_fetch_sub_explicit(&w->n_conns, 1, memory_order_release);
    }
}

static void worker_run_conns(struct tsd_worker *w)
{
    struct tsd_conn *c = w->run_first;
    w->run_first = NULL;
    w->run_end = &w->run_first;
    while (c) {
        struct tsd_conn *next = c->run_next;
        c->queued = false;
        tsd_conn_run(c);
        c = next;
    }
}

/* --- back-pressure --- */

static void worker_set_paused(struct tsd_worker *w, bool paused)
{
    if (w->paused == paused)
        return;
    w->paused = paused;
    tsd_datagrams_pause(w, paused);
    struct timeval tv = {0, WORKER_RETRY_US};
    if (paused) {
        tsd_count(&w->counts.n_paused, 1);
        (void)event_add(w->ev_retry, &tv);
    } else {
        (void)event_del(w->ev_retry);
    }
    for (struct tsd_conn *c = w->conns; c; c = c->next) {
        if (!paused && c->stuck && !c->blocked)
            tsd_worker_run_soon(w, c);
        else
            tsd_conn_update(c);
    }
}

void tsd_worker_pause(struct tsd_worker *w)
{
    worker_set_paused(w, true);
}

/* --- events --- */

static void worker_on_inbox(evutil_socket_t fd, short what, void *arg)
{
    struct tsd_worker *w = arg;
    (void)fd;
    (void)what;
    ts_queue_drained(w->inbox);
    for (struct ts_msg *m; (m = ts_queue_pop(w->inbox));) {
        struct tsd_call *call = (struct tsd_call *)m;
        call->run(w, call);
    }
}

/* The port works at the end of every turn: waking up is all that is needed. */
static void worker_on_wake(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    (void)arg;
}

void tsd_worker_publish(struct tsd_worker *w)
{
    const struct tsd_ingest *in = &w->ingest;
    struct tsd_counts *n = &w->counts;
    __atomic_store_n(&n->n_points, in->n_points, __ATOMIC_RELAXED);
    for (int i = 0; i < TSD_REF_KINDS; i++)
        __atomic_store_n(&n->n_refused[i], in->n_refused[i], __ATOMIC_RELAXED);
    __atomic_store_n(&n->n_guessed, in->n_guessed, __ATOMIC_RELAXED);
    __atomic_store_n(&n->n_found, in->n_found, __ATOMIC_RELAXED);
    __atomic_store_n(&n->n_missed, in->n_missed, __ATOMIC_RELAXED);
    __atomic_store_n(&n->cache_bytes, tsd_icache_bytes(&in->cache), __ATOMIC_RELAXED);
}

static void worker_on_tick(evutil_socket_t fd, short what, void *arg)
{
    struct tsd_worker *w = arg;
    (void)fd;
    (void)what;
    for (struct tsd_conn *c = w->conns, *next; c; c = next) {
        next = c->next;
        tsd_conn_tick(c);
    }
    if (w->index == 0)
        tsd_rates_tick(w->daemon, ts_clock_mono_ns() / 1000000);
    tsd_self_tick(w, ts_clock_ms());
}

void tsd_worker_latency(struct tsd_worker *w, int64_t ms)
{
    unsigned slot = ms < 0 ? 0 : ms < 100 ? (unsigned)ms / 2 : 50;
    for (int64_t edge = 200; slot >= 50 && slot < TSD_LATENCY_SLOTS - 1 && ms >= edge; edge *= 2)
        slot++;
    tsd_count(&w->counts.latency[slot], 1);
}

static void worker_turn(struct tsd_worker *w)
{
    struct tsd_daemon *d = w->daemon;
    tsd_ingest_turn(&w->ingest);
    uint32_t requests = atomic_load_explicit(&d->drop_requests, memory_order_relaxed);
    if (requests != w->drop_seen) {
        w->drop_seen = requests;
        tsd_icache_reset(&w->ingest.cache);
    }
    worker_set_paused(w, !sto_writer_ready(w->ingest.writer));
    tsd_worker_publish(w);
    worker_run_conns(w);
    worker_bury(w);
}

static void *worker_main(void *arg)
{
    struct tsd_worker *w = arg;
    tsd_self_tick(w, ts_clock_ms());
    while (!w->quit) {
        (void)event_base_loop(w->base, EVLOOP_ONCE | (w->run_first ? EVLOOP_NONBLOCK : 0));
        w->now_ms = ts_clock_mono_ns() / 1000000;
        worker_turn(w);
    }
    tsd_ingest_turn(&w->ingest);
    worker_bury(w);
    return NULL;
}

/* --- life --- */

static struct event *worker_event(struct tsd_worker *w, int fd, short what, event_callback_fn fn)
{
    struct event *ev = event_new(w->base, fd, what, fn, w);
    if (!ev)
        TS_BUG("no memory for an event");
    return ev;
}

/* An owner has refused a sequence of one of our connections; it may have ended meanwhile. */
static void worker_refused(void *arg, const struct sto_refused *refused)
{
    struct tsd_worker *w = arg;
    struct tsd_conn *c = w->conns;
    while (c && (c->asker != refused->stream->asker || c->once.stream.number != refused->stream->number))
        c = c->next;
    if (c)
        tsd_once_refused(&c->once, refused->seq, ts_slice_str(refused->why));
}

struct tsd_worker *tsd_worker_new(struct tsd_daemon *daemon, unsigned index)
{
    struct tsd_worker *w = ts_xaligned(sizeof(*w));
    const struct tsd_settings *set = &daemon->set;
    memset(w, 0, sizeof(*w));
    w->daemon = daemon;
    w->index = index;
    w->run_end = &w->run_first;
    w->recv_bytes = set->recv_buffer_bytes;
    /* a tail is an unfinished line, a request's head, or what was left of one reading when reading had to
     * stop */
    size_t tail =
        set->line_max_bytes > set->http_max_header_bytes ? set->line_max_bytes : set->http_max_header_bytes;
    w->buf_bytes = 2 * w->recv_bytes + tail + ((size_t)64 << 10);
    w->buf = ts_xcalloc(1, w->buf_bytes + TSD_INPUT_PAD);
    w->inbox = ts_queue_new(WORKER_INBOX_BYTES);
    w->base = event_base_new();
    if (!w->base)
        TS_BUG("no event base");
    tsd_ingest_init(&w->ingest, &set->rules, daemon->store, sto_writer(daemon->store, index),
                    set->series_cache_bytes / set->n_workers);
    sto_writer_on_refused(w->ingest.writer, worker_refused, w);
    w->ingest.new_series_total = &daemon->new_series;
    w->ingest.new_series_per_min = set->new_series_per_min;
    w->ev_inbox = worker_event(w, ts_queue_fd(w->inbox), EV_READ | EV_PERSIST, worker_on_inbox);
    w->ev_port = worker_event(w, sto_writer_fd(w->ingest.writer), EV_READ | EV_PERSIST, worker_on_wake);
    w->ev_tick = worker_event(w, -1, EV_PERSIST, worker_on_tick);
    w->ev_retry = worker_event(w, -1, EV_PERSIST, worker_on_wake);
    struct timeval second = {1, 0};
    (void)event_add(w->ev_inbox, NULL);
    (void)event_add(w->ev_port, NULL);
    (void)event_add(w->ev_tick, &second);
    w->now_ms = ts_clock_mono_ns() / 1000000;
    return w;
}

int tsd_worker_start(struct tsd_worker *w, struct ts_error *err)
{
    char name[16];
    (void)snprintf(name, sizeof(name), "tsd-worker-%u", w->index % 1000);
    int rc = ts_thread_start(&w->thread, &(struct ts_thread_opts){.name = name, .fn = worker_main, .arg = w});
    return rc ? ts_error_sys(err, TS_EIO, rc, "no thread for worker %u", w->index) : 0;
}

void tsd_worker_join(struct tsd_worker *w)
{
    (void)pthread_join(w->thread, NULL);
}

void tsd_worker_free(struct tsd_worker *w)
{
    if (!w)
        return;
    tsd_datagrams_close(w);
    event_free(w->ev_inbox);
    event_free(w->ev_port);
    event_free(w->ev_tick);
    event_free(w->ev_retry);
    event_base_free(w->base);
    for (struct ts_msg *m; (m = ts_queue_pop(w->inbox));)
        ts_free(m);
    ts_queue_free(w->inbox);
    tsd_ingest_release(&w->ingest);
    ts_free(w->buf);
    ts_free(w);
}
