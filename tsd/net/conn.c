/*
 * conn.c - reading, writing and ending one connection.
 *
 * Threads    see conn.h
 * Not here   what bytes mean (line/, http/), accepting (listen.c)
 */
#include "tsd/net/conn.h"

#include "base/budget.h"
#include "base/mem.h"
#include "tsd/daemon/peers.h"
#include "tsd/net/worker.h"

#include <errno.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONN_LINGER_MS     2000 /* for the client to read our last reply before the socket goes */
#define CONN_AHEAD_BYTES   ((size_t)16 << 10) /* kept of what arrives before its turn */
#define CONN_KEEP_BYTES    ((size_t)4 << 10)  /* larger buffers are given back once they are empty */
#define CONN_OUT_MAX_BYTES ((size_t)64 << 20)
#define CONN_KERNEL_BYTES                                                                                    \
    (256 << 10) /* that the kernel keeps for a client that does not read; its default is 4 MB */

static void conn_on_read(evutil_socket_t fd, short what, void *arg);
static void conn_on_write(evutil_socket_t fd, short what, void *arg);

static void conn_identify(struct tsd_conn *c)
{
    union {
        struct sockaddr sa;
        struct sockaddr_storage ss;
    } a = {.sa = {.sa_family = AF_UNSPEC}};
    socklen_t n = sizeof(a);
    (void)getpeername(c->fd, &a.sa, &n);
    tsd_identity_init(&c->who, c->w->daemon, &a.sa);
}

struct ts_budget *tsd_conn_account(const struct tsd_conn *c, enum tsd_shared account)
{
    return tsd_memory_share(&c->w->daemon->memory, c->address ? &c->address->memory : NULL, account);
}

struct tsd_conn *tsd_conn_new(struct tsd_worker *w, const struct tsd_accepted *a)
{
    struct tsd_conn *c = ts_xcalloc(1, sizeof(*c));
    int one = 1, unsent = CONN_KERNEL_BYTES, fd = a->fd;
    c->w = w;
    c->fd = fd;
    c->address = a->peer;
    c->once.client = a->peer ? a->peer->key : 0;
    c->proto = a->proto;
    c->transport = a->transport ? a->transport : &tsd_transport_plain;
    c->blocks_end = &c->blocks;
    c->active_ms = w->now_ms;
    c->asker = ++w->n_askers ? w->n_askers : ++w->n_askers;
    ts_buf_init(&c->tail, 0);
    ts_buf_init(&c->out, CONN_OUT_MAX_BYTES);
    c->tail.budget = c->out.budget = tsd_conn_account(c, TSD_SHARED_CONNECTIONS);
    conn_identify(c);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof(unsent));
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
    c->ev_read = event_new(w->base, fd, EV_READ | EV_PERSIST, conn_on_read, c);
    c->ev_write = event_new(w->base, fd, EV_WRITE | EV_PERSIST, conn_on_write, c);
    if (!c->ev_read || !c->ev_write)
        TS_BUG("no memory for an event");
    return c;
}

void tsd_conn_begin(struct tsd_conn *c)
{
    if (c->transport->open && c->transport->open(c) < 0) {
        tsd_conn_kill(c);
        return;
    }
    if (c->proto)
        c->proto->open(c);
    tsd_conn_update(c);
}

static size_t conn_decoded(const struct tsd_conn *c)
{
    return c->transport->decoded ? c->transport->decoded(c) : 0;
}

void tsd_conn_update(struct tsd_conn *c)
{
    bool want;
    if (c->dead)
        return;
    if (c->eof)
        want = false;
    else if (c->linger_until_ms)
        want = true;
    else if (c->blocked) /* only to see the client go while its request is worked on */
        want = !c->closing && c->n_held && c->tail.n < CONN_AHEAD_BYTES;
    else
        want = !c->stuck && !(c->w->paused && c->proto && c->proto->waits);
    if (want && conn_decoded(c)) /* no event will report these */
        tsd_worker_run_soon(c->w, c);
    if (want == c->reading)
        return;
    c->reading = want;
    if (want)
        (void)event_add(c->ev_read, NULL);
    else
        (void)event_del(c->ev_read);
}

size_t tsd_conn_unsent(const struct tsd_conn *c)
{
    size_t n = c->out.n - c->out_off;
    for (const struct tsd_block *b = c->blocks; b; b = b->next)
        n += b->n - b->off;
    return n;
}

void tsd_conn_incomplete(struct tsd_conn *c, bool incomplete)
{
    struct tsd_worker *w = c->w;
    if (c->half == incomplete)
        return;
    c->half = incomplete;
    if (incomplete) {
        c->half_prev = w->half_last;
        c->half_next = NULL;
        *(w->half_last ? &w->half_last->half_next : &w->half_first) = c;
        w->half_last = c;
        w->n_half++;
        return;
    }
    *(c->half_prev ? &c->half_prev->half_next : &w->half_first) = c->half_next;
    *(c->half_next ? &c->half_next->half_prev : &w->half_last) = c->half_prev;
    w->n_half--;
}

/* --- ending --- */

void tsd_conn_kill(struct tsd_conn *c)
{
    if (c->dead)
        return;
    c->dead = true;
    tsd_conn_incomplete(c, false);
    if (c->reading)
        (void)event_del(c->ev_read);
    if (c->writing)
        (void)event_del(c->ev_write);
    c->reading = c->writing = false;
    event_free(c->ev_read);
    event_free(c->ev_write);
    if (c->transport->close)
        c->transport->close(c);
    (void)close(c->fd);
    c->fd = -1;
    if (c->proto &&
        c->proto->close) /* before blocks are returned: a job that waits for space must see that the client no
                          * longer reads */
        c->proto->close(c);
    while (c->blocks) {
        struct tsd_block *b = c->blocks;
        c->blocks = b->next;
        b->done(b->arg, b);
    }
    c->blocks_end = &c->blocks;
    ts_buf_release(&c->out);
    ts_buf_release(&c->tail);
    tsd_worker_conn_dead(c->w, c);
}

void tsd_conn_free(struct tsd_conn *c)
{
    if (c->proto && c->proto->free)
        c->proto->free(c);
    ts_buf_release(&c->out);
    ts_buf_release(&c->tail);
    ts_free(c);
}

/* All is sent: wait a little for the client to close, so that unread input does not turn our reply into a
 * reset. */
static void conn_linger(struct tsd_conn *c)
{
    if (c->linger_until_ms)
        return;
    c->transport->shutdown(c);
    c->linger_until_ms = c->w->now_ms + CONN_LINGER_MS;
    c->stuck = false;
    tsd_conn_update(c);
}

static void conn_settle(struct tsd_conn *c)
{
    if (c->dead || c->in_input || tsd_conn_unsent(c) || c->n_held)
        return;
    if (c->eof && (c->closing || !c->stuck))
        tsd_conn_kill(c);
    else if (c->closing)
        conn_linger(c);
}

void tsd_conn_close_soon(struct tsd_conn *c)
{
    c->closing = true;
    c->blocked = true;
    tsd_conn_update(c);
    conn_settle(c);
}

void tsd_conn_hold(struct tsd_conn *c)
{
    c->n_held++;
}

void tsd_conn_unhold(struct tsd_conn *c)
{
    c->n_held--;
    if (c->dead)
        tsd_worker_conn_dead(c->w, c);
    else
        conn_settle(c);
}

/* --- writing --- */

/* Send [p, p + n): bytes taken, -1 when the client is gone. */
static ssize_t conn_send(struct tsd_conn *c, const char *p, size_t n)
{
    tsd_worker_publish(c->w);
    for (;;) {
        ssize_t k = c->transport->send(c, p, n);
        if (k >= 0)
            return k;
        if (errno == EINTR)
            continue;
        return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : -1;
    }
}

/* True when everything in out is sent; false: socket full, or dead. */
static bool conn_send_out(struct tsd_conn *c)
{
    while (c->out_off < c->out.n) {
        ssize_t k = conn_send(c, c->out.p + c->out_off, c->out.n - c->out_off);
        if (k < 0)
            tsd_conn_kill(c);
        if (k <= 0)
            return false;
        c->out_off += (size_t)k;
        c->sent_bytes += (size_t)k;
        c->active_ms = c->w->now_ms;
    }
    ts_buf_clear(&c->out);
    c->out_off = 0;
    if (c->out.cap > CONN_KEEP_BYTES)
        ts_buf_release(&c->out);
    return true;
}

static bool conn_send_blocks(struct tsd_conn *c)
{
    while (c->blocks) {
        struct tsd_block *b = c->blocks;
        while (b->off < b->n) {
            ssize_t k = conn_send(c, b->p + b->off, b->n - b->off);
            if (k < 0)
                tsd_conn_kill(c);
            if (k <= 0)
                return false;
            b->off += (size_t)k;
            c->sent_bytes += (size_t)k;
            c->active_ms = c->w->now_ms;
        }
        c->blocks = b->next;
        if (!c->blocks)
            c->blocks_end = &c->blocks;
        b->done(b->arg, b);
        if (c->dead)
            return false;
    }
    return true;
}

/* `out` was granted above the limit of its account, and the socket took as much as it could: what is left must fit. */
static void conn_settle_forced(struct tsd_conn *c)
{
    size_t rest = c->out.n - c->out_off;
    struct ts_buf kept = {.max = c->out.max, .budget = c->out.budget};
    c->forced = false;
    if (c->out.p) /* not counted any more, or the rest would be counted beside the whole */
        ts_budget_give(c->out.budget, c->out.cap + 1);
    c->out.budget = NULL;
    int rc = rest ? ts_buf_append(&kept, c->out.p + c->out_off, rest) : 0;
    ts_buf_release(&c->out);
    c->out = kept;
    c->out_off = 0;
    if (rc < 0)
        tsd_conn_kill(c); /* it waits for a client that does not read: reply_total_bytes */
}

void tsd_conn_reserve(struct tsd_conn *c, size_t n)
{
    if (c->dead || c->out.failed || ts_buf_reserve(&c->out, n))
        return;
    c->out.failed = false; /* failed only for lack of space: nothing is missing yet */
    tsd_conn_flush(c);
    if (c->dead || (ts_buf_reserve(&c->out, n)))
        return;
    if (c->out.n) /* the client has not read what came before */
        return;
    c->out.failed = false;
    c->forced = ts_buf_reserve_forced(&c->out, n) != NULL;
}

void tsd_conn_flush(struct tsd_conn *c)
{
    if (c->dead)
        return;
    bool all = conn_send_out(c) && conn_send_blocks(c);
    if (!c->dead && c->forced)
        conn_settle_forced(c);
    if (c->dead)
        return;
    if (!all != c->writing) {
        c->writing = !all;
        if (c->writing)
            (void)event_add(c->ev_write, NULL);
        else
            (void)event_del(c->ev_write);
    }
    if (all && c->proto && c->proto->sent)
        c->proto->sent(c);
    conn_settle(c);
}

void tsd_conn_send_block(struct tsd_conn *c, struct tsd_block *block)
{
    block->next = NULL;
    block->off = 0;
    if (c->dead) {
        block->done(block->arg, block);
        return;
    }
    *c->blocks_end = block;
    c->blocks_end = &block->next;
    tsd_conn_flush(c);
}

static void conn_on_write(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    tsd_conn_flush(arg);
}

/* --- reading --- */

/* The first bytes determine the protocol; false = more are needed. */
static bool conn_choose(struct tsd_conn *c, const char *p, size_t n)
{
    for (const struct tsd_protocol *const *proto = c->w->daemon->protocols; *proto; proto++) {
        if (!(*proto)->match)
            continue;
        int is = (*proto)->match(c->w, p, n);
        if (is < 0 && !c->eof)
            return false;
        if (is == 0)
            continue;
        c->proto = *proto;
        c->proto->open(c);
        return true;
    }
    tsd_conn_kill(c);
    return false;
}

/* Give [p, p + n) of the worker's buffer to the protocol and keep what it does not use. */
static void conn_use(struct tsd_conn *c, const char *p, size_t n)
{
    size_t used = 0;
    uint64_t n_before = c->w->ingest.n_points;
    c->stuck = c->again = false;
    c->in_input = true;
    if (c->proto || conn_choose(c, p, n))
        used = c->proto->input(c, p, n, c->eof);
    c->in_input = false;
    if (c->dead)
        return;
    if (c->address && c->w->ingest.n_points != n_before)
        atomic_fetch_add_explicit(&c->address->n_points, c->w->ingest.n_points - n_before,
                                  memory_order_relaxed); /* only shown */
    if (n > used && ts_buf_append(&c->tail, p + used, n - used) < 0) {
        tsd_conn_kill(c); /* connection_total_bytes: half of what was sent must not be taken for the whole */
        return;
    }
    c->stuck = n > used && (c->blocked || c->again || (c->w->paused && c->proto && c->proto->waits));
    if (c->closing) {
        ts_buf_clear(&c->tail);
        c->stuck = false;
    } else if (c->eof && !c->stuck && n > used) {
        ts_buf_clear(&c->tail); /* the beginning of something that will never come */
    }
    tsd_conn_update(c);
    tsd_conn_flush(c);
    if (c->again && !c->dead && c->stuck)
        tsd_worker_run_soon(c->w, c);
}

/* Read and forget. */
static void conn_discard(struct tsd_conn *c)
{
    ssize_t k = c->transport->receive(c, c->w->buf, c->w->buf_bytes);
    if (k == 0 || (k < 0 && errno != EAGAIN && errno != EINTR))
        tsd_conn_kill(c);
}

/* A request is being worked on: keep a little of what follows, and see whether the client goes. */
static void conn_read_ahead(struct tsd_conn *c)
{
    ssize_t k = c->transport->receive(c, c->w->buf, CONN_AHEAD_BYTES);
    if (k < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (k < 0) {
        tsd_conn_kill(c);
        return;
    }
    if (k == 0) {
        c->eof = true;
        c->eof_ms = c->w->now_ms;
    } else if (ts_buf_append(&c->tail, c->w->buf, (size_t)k) < 0) {
        tsd_conn_kill(c);
        return;
    } else {
        c->stuck = true;
    }
    tsd_conn_update(c);
}

static void conn_receive(struct tsd_conn *c)
{
    struct tsd_worker *w = c->w;
    if (c->linger_until_ms) {
        conn_discard(c);
        return;
    }
    if (c->blocked) {
        conn_read_ahead(c);
        return;
    }
    size_t kept = c->tail.n;
    if (kept > w->buf_bytes - w->recv_bytes)
        TS_BUG("a tail of %zu bytes", kept);
    ssize_t k = c->transport->receive(c, w->buf + kept, w->recv_bytes);
    if (k < 0) {
        if (errno != EAGAIN && errno != EINTR)
            tsd_conn_kill(c);
        return;
    }
    c->active_ms = w->now_ms;
    c->eof = k == 0;
    c->eof_ms = w->now_ms;
    if (kept)
        memcpy(w->buf, c->tail.p, kept);
    ts_buf_clear(&c->tail);
    if (c->tail.cap > CONN_KEEP_BYTES)
        ts_buf_release(&c->tail);
    conn_use(c, w->buf, kept + (size_t)k);
}

static void conn_on_read(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    conn_receive(arg);
}

/* Receive what the transport has decoded already. */
static bool conn_run_decoded(struct tsd_conn *c)
{
    if (!c->reading || !conn_decoded(c))
        return false;
    conn_receive(c);
    if (!c->dead)
        tsd_conn_update(c); /* comes back while there is more */
    return true;
}

void tsd_conn_run(struct tsd_conn *c)
{
    struct tsd_worker *w = c->w;
    if (c->dead || (!c->stuck && conn_run_decoded(c)) || c->blocked ||
        (w->paused && c->proto && c->proto->waits))
        return;
    size_t n = c->tail.n;
    if (n > w->buf_bytes)
        TS_BUG("a tail of %zu bytes", n);
    if (n)
        memcpy(w->buf, c->tail.p, n);
    ts_buf_clear(&c->tail);
    conn_use(c, w->buf, n);
}

void tsd_conn_block(struct tsd_conn *c, bool blocked)
{
    if (c->blocked == blocked || c->closing)
        return;
    c->blocked = blocked;
    if (!blocked && c->stuck) {
        tsd_worker_run_soon(c->w, c);
        return;
    }
    tsd_conn_update(c);
    if (!blocked)
        conn_settle(c);
}

/* Has a client that has something to take taken less than write_min_bytes_per_s for write_stall_timeout_s? */
static bool conn_is_slow(struct tsd_conn *c)
{
    const struct tsd_settings *set = &c->w->daemon->set;
    int64_t ms = c->w->now_ms - c->rate_ms;
    if (c->rate_ms && ms < set->write_stall_timeout_ms)
        return false;
    bool slow = c->rate_ms && c->sent_bytes < set->write_min_bytes_per_s * (uint64_t)ms / 1000;
    c->rate_ms = c->w->now_ms;
    c->sent_bytes = 0;
    return slow;
}

void tsd_conn_tick(struct tsd_conn *c)
{
    int64_t now = c->w->now_ms, quiet = now - c->active_ms;
    const struct tsd_settings *set = &c->w->daemon->set;
    if (c->dead)
        return;
    if (c->linger_until_ms) {
        if (now >= c->linger_until_ms)
            tsd_conn_kill(c);
        return;
    }
    if (!tsd_conn_unsent(c))
        c->rate_ms = 0;
    else if (quiet > set->write_stall_timeout_ms || conn_is_slow(c)) {
        tsd_count(&c->w->counts.n_stalled, 1);
        tsd_conn_kill(c);
        return;
    }
    if (set->idle_timeout_ms && quiet > set->idle_timeout_ms && !c->n_held && !c->stuck) {
        tsd_count(&c->w->counts.n_idle, 1);
        tsd_conn_kill(c);
        return;
    }
    if (!c->proto && c->tail.n && quiet > set->http_read_timeout_ms) { /* bytes that match no protocol */
        tsd_count(&c->w->counts.n_idle, 1);
        tsd_conn_kill(c);
        return;
    }
    if (c->proto && c->proto->tick)
        c->proto->tick(c);
}
