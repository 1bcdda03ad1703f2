/*
 * client.c - the socket, the ring of requests in flight, the bytes that arrived.
 *
 * Invariant  flights[(first + i) % max] for i < n_flights are in flight, oldest first; the first n_written of them are written
 *            whole, and of the next one written_bytes. in.p + in_at is the first byte of the oldest reply
 * Threads    see client.h
 */
#include "storage/hbase/thrift/client.h"

#include "base/budget.h"
#include "base/connect.h"
#include "base/mem.h"
#include "base/time.h"
#include "base/tls.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define HEAD_BYTES       64 /* frame, version, longest name of a call, sequence id */
#define WRITE_AT_ONCE    8  /* requests */
#define READ_LEAST       ((size_t)64 << 10)
#define READ_MOST        ((size_t)1 << 20)
#define DEFAULT_REPLY    ((size_t)64 << 20)
#define DEFAULT_FLIGHTS  16
#define DEFAULT_IDLE_MS  30000
#define DEFAULT_START_MS 5000

static _Atomic uint64_t n_connections; /* that were ever made; relaxed, a source of numbers alone */

/* A request without a reply. */
struct flight {
    const struct sto_thrift_request *r; /* borrowed */
    int64_t until_ns;                   /* its deadline */
    int32_t seq;                        /* its sequence id */
    size_t head_bytes;                  /* used of head */
    size_t body_off;                    /* of the bytes of r that follow the head */
    char head[HEAD_BYTES];              /* what precedes the arguments */
};

struct sto_thrift_client {
    struct sto_thrift_client_opts opts; /* with defaults filled in */
    int fd;                             /* -1: not connected */
    struct ts_tls_conn *tls;            /* over fd; NULL: without TLS */
    uint64_t connection;                /* its number, of all connections of the process */
    bool has_answered;                  /* a reply came over this connection */
    size_t gateway;                     /* index of the one that is connected, or tried next */
    int32_t last_seq;                   /* given to a request */
    int64_t used_ns;                    /* when a reply came, or the connection was made */
    struct ts_error why;       /* why the connection broke, while requests in flight are to be reported */
    struct flight *flights;    /* ring of opts.max_in_flight */
    unsigned first, n_flights; /* oldest, and how many */
    unsigned n_written;        /* of those, written whole */
    size_t written_bytes;      /* of the next one */
    struct ts_buf in;          /* what arrived */
    size_t in_at;              /* bytes of it that were returned */
    struct sto_thrift_framer framer; /* walks over the oldest reply */
    char text[300];                  /* "host:port" of the gateway, for messages */
};

struct sto_thrift_client *sto_thrift_client_new(const struct sto_thrift_client_opts *opts)
{
    struct sto_thrift_client *c = ts_xcalloc(1, sizeof(*c));
    struct sto_thrift_client_opts *o = &c->opts;
    *o = *opts;
    o->connect_timeout_ms = o->connect_timeout_ms ? o->connect_timeout_ms : DEFAULT_START_MS;
    o->max_idle_ms = o->max_idle_ms ? o->max_idle_ms : DEFAULT_IDLE_MS;
    o->max_reply_bytes = o->max_reply_bytes ? o->max_reply_bytes : DEFAULT_REPLY;
    o->max_in_flight = o->max_in_flight ? o->max_in_flight : DEFAULT_FLIGHTS;
    c->fd = -1;
    c->gateway = o->first_gateway % o->n_gateways;
    c->flights = ts_xcalloc(o->max_in_flight, sizeof(*c->flights));
    /* the oldest reply and the bytes behind it that came with the same read */
    ts_buf_init(&c->in, o->max_reply_bytes + 4 + READ_MOST);
    c->in.budget = o->budget;
    return c;
}

void sto_thrift_client_free(struct sto_thrift_client *c)
{
    if (!c)
        return;
    sto_thrift_client_close(c);
    ts_free(c->flights);
    ts_free(c);
}

static void next_reply(struct sto_thrift_client *c)
{
    sto_thrift_framer_init(&c->framer, c->opts.transport, c->opts.max_reply_bytes);
}

static void disconnect(struct sto_thrift_client *c)
{
    ts_tls_close(c->tls);
    c->tls = NULL;
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
    ts_buf_release(&c->in);
    c->in_at = 0;
}

void sto_thrift_client_close(struct sto_thrift_client *c)
{
    disconnect(c);
    c->first = c->n_flights = c->n_written = 0;
    c->written_bytes = 0;
}

void sto_thrift_client_trim(struct sto_thrift_client *c)
{
    if (c->n_flights || c->in_at < c->in.n)
        return;
    ts_buf_release(&c->in);
    c->in_at = 0;
}

unsigned sto_thrift_client_in_flight(const struct sto_thrift_client *c)
{
    return c->n_flights;
}

bool sto_thrift_client_is_open(const struct sto_thrift_client *c)
{
    return c->fd >= 0;
}

/* The connection can't be used any more. Where it was to blame, the next one goes to another gateway. */
static int broken(struct sto_thrift_client *c, const struct ts_error *why)
{
    c->why = *why;
    disconnect(c);
    if (why->code != TS_ECANCELLED)
        c->gateway = (c->gateway + 1) % c->opts.n_gateways;
    return why->code;
}

/* --- connecting --- */

static int connect_one(struct sto_thrift_client *c, struct sto_thrift_wait wait, struct ts_error *err)
{
    const struct sto_thrift_gateway *g = &c->opts.gateways[c->gateway];
    int64_t until_ns = ts_clock_mono_ns() + c->opts.connect_timeout_ms * 1000000;
    until_ns = until_ns < wait.until_ns ? until_ns : wait.until_ns;
    (void)snprintf(c->text, sizeof(c->text), "the HBase gateway %s:%s", g->host, g->port);
    TS_TRY(ts_connect(g->host, g->port, c->text, until_ns, wait.cancel, &c->fd, err));
    if (!c->opts.tls)
        return 0;
    int rc = ts_tls_connect(c->opts.tls, c->fd, g->host, c->text, until_ns, wait.cancel, &c->tls, err);
    if (rc < 0)
        disconnect(c);
    return rc == TS_ETIMEOUT ? TS_EIO : rc; /* of this gateway: the next one may be faster */
}

static int connect_any(struct sto_thrift_client *c, struct sto_thrift_wait wait, struct ts_error *err)
{
    struct ts_error failed = {0};
    int rc = TS_EIO;
    for (size_t i = 0; i < c->opts.n_gateways && rc < 0; i++) {
        if (ts_clock_mono_ns() >= wait.until_ns)
            return ts_error_set(err, TS_ETIMEOUT,
                                i == 0 ? "no request to HBase could be sent before the deadline"
                                       : "no HBase gateway was reached before the deadline");
        rc = connect_one(c, wait, &failed);
        if (rc == TS_ECANCELLED)
            break;
        if (rc < 0)
            c->gateway = (c->gateway + 1) % c->opts.n_gateways;
    }
    if (rc == TS_EIO && ts_clock_mono_ns() >= wait.until_ns)
        rc = TS_ETIMEOUT;
    if (rc < 0)
        return ts_error_set(err, rc, "%s", failed.text);
    c->used_ns = ts_clock_mono_ns();
    c->has_answered = false;
    c->connection = atomic_fetch_add_explicit(&n_connections, 1, memory_order_relaxed) + 1;
    next_reply(c);
    return rc;
}

/* Nothing is in flight: has the gateway closed the connection, or sent what nobody waits for? A connection that has a scanner may be
 * idle for as long as the gateway lets it. */
static bool is_stale(const struct sto_thrift_client *c, bool has_scanner)
{
    struct pollfd p = {.fd = c->fd, .events = POLLIN | POLLRDHUP};
    return (!has_scanner && ts_clock_mono_ns() - c->used_ns > c->opts.max_idle_ms * 1000000) ||
           c->in_at < c->in.n || (c->tls ? ts_tls_has_input(c->tls) : poll(&p, 1, 0) != 0);
}

/* --- writing --- */

/* The pieces of requests that were not written yet, at most WRITE_AT_ONCE requests. */
static size_t gather(const struct sto_thrift_client *c, struct iovec *v)
{
    size_t n = 0, skip = c->written_bytes;
    for (unsigned i = c->n_written; i < c->n_flights && i < c->n_written + WRITE_AT_ONCE; i++) {
        struct flight *f = &c->flights[(c->first + i) % c->opts.max_in_flight];
        const struct ts_buf *b = &f->r->bytes;
        if (skip < f->head_bytes) {
            v[n++] = (struct iovec){f->head + skip, f->head_bytes - skip};
            skip = 0;
        } else {
            skip -= f->head_bytes;
        }
        v[n++] = (struct iovec){b->p + f->body_off + skip, b->n - f->body_off - skip};
        skip = 0;
    }
    return n;
}

/* n bytes were written. */
static void wrote(struct sto_thrift_client *c, size_t n)
{
    c->written_bytes += n;
    while (c->n_written < c->n_flights) {
        const struct flight *f = &c->flights[(c->first + c->n_written) % c->opts.max_in_flight];
        size_t all = f->head_bytes + f->r->bytes.n - f->body_off;
        if (c->written_bytes < all)
            return;
        c->written_bytes -= all;
        c->n_written++;
    }
}

/* Write some of n pieces. 1: *out_n bytes were written; 0: not now; <0: an error. */
static int write_pieces(struct sto_thrift_client *c, struct iovec *v, size_t n, size_t *out_n,
                        struct ts_error *err)
{
    if (c->tls)
        return ts_tls_write(c->tls, v, n, out_n, err);
    struct msghdr m = {.msg_iov = v, .msg_iovlen = n};
    ssize_t did = sendmsg(c->fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (did < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return 0;
    if (did < 0)
        return ts_error_sys(err, TS_EIO, errno, "can't send to %s", c->text);
    *out_n = (size_t)did;
    return 1;
}

/* Write what the socket takes. 1: something was written; 0: nothing to write, or not now; <0: an error. */
static int write_some(struct sto_thrift_client *c, struct ts_error *err)
{
    struct iovec v[2 * WRITE_AT_ONCE];
    if (c->n_written == c->n_flights)
        return 0;
    size_t n = 0;
    int rc = write_pieces(c, v, gather(c, v), &n, err);
    if (rc == 1)
        wrote(c, n);
    return rc == 1 ? n > 0 : rc;
}

static void take_off(struct sto_thrift_client *c, const struct sto_thrift_request *r, int64_t until_ns)
{
    struct flight *f = &c->flights[(c->first + c->n_flights++) % c->opts.max_in_flight];
    size_t n_frame = c->opts.transport == STO_THRIFT_FRAMED ? 4 : 0;
    size_t n_head = 12 + strlen(sto_thrift_call_info(r->call)->name);
    c->last_seq = c->last_seq == INT32_MAX ? 1 : c->last_seq + 1;
    *f = (struct flight){.r = r, .until_ns = until_ns, .seq = c->last_seq};
    f->body_off = n_head;
    f->head_bytes = n_frame + n_head;
    sto_thrift_st32(f->head, (uint32_t)r->bytes.n); /* overwritten where there are no frames */
    memcpy(f->head + n_frame, r->bytes.p, n_head);
    sto_thrift_st32(f->head + f->head_bytes - 4, (uint32_t)f->seq);
}

int sto_thrift_client_send(struct sto_thrift_client *c, const struct sto_thrift_request *r,
                           struct sto_thrift_wait wait, struct ts_error *err)
{
    struct ts_error failed = {0};
    if (r->bytes.failed || r->bytes.n == 0 || r->bytes.n > INT32_MAX)
        return ts_error_set(err, TS_ELIMIT, "a request %s to HBase does not fit into its buffer of %zu bytes",
                            sto_thrift_call_info(r->call)->name, r->bytes.max);
    if (c->n_flights == c->opts.max_in_flight)
        return ts_error_set(err, TS_EBUSY, "%u requests to %s are in flight", c->n_flights, c->text);
    if (c->fd < 0 && c->n_flights)
        return ts_error_set(err, TS_EBUSY, "the connection to %s broke with requests in flight", c->text);
    if (c->fd >= 0 && !c->n_flights && is_stale(c, r->connection != 0))
        sto_thrift_client_close(c);
    if (r->connection && (c->fd < 0 || r->connection != c->connection))
        return ts_error_set(err, TS_ENOTFOUND, "the connection of a scanner is closed");
    if (c->fd < 0)
        TS_TRY(connect_any(c, wait, err));
    take_off(c, r, wait.until_ns);
    if (write_some(c, &failed) < 0)
        broken(c, &failed);
    return 0;
}

/* --- reading --- */

/* With the wrong transport a framed gateway closes the connection, and a buffered one waits for more. */
static const char *transport_hint(const struct sto_thrift_client *c)
{
    return c->has_answered
               ? ""
               : ", nor anything else over this connection (hbase_transport must be that of the gateway, "
                 "buffered or framed)";
}

/* Why a reservation of n bytes failed. */
static int no_memory(struct sto_thrift_client *c, size_t n, struct ts_error *err)
{
    int rc = ts_budget_take(c->opts.budget, n, err);
    if (rc < 0) {
        ts_error_wrap(err, "a reply of %s", c->text);
        return rc;
    }
    ts_budget_give(c->opts.budget, n);
    const char *key = c->opts.budget ? c->opts.budget->key : NULL;
    return ts_error_set(err, TS_ENOMEM, "there is no memory for a reply of %s%s%s", c->text,
                        key ? "; its limit is " : "", key ? key : "");
}

/* Read at most n bytes. 1: *out_n of them, none at the end of the connection; 0: not now; <0: an error. */
static int read_bytes(struct sto_thrift_client *c, char *p, size_t n, size_t *out_n, struct ts_error *err)
{
    if (c->tls)
        return ts_tls_read(c->tls, p, n, out_n, err);
    ssize_t did = recv(c->fd, p, n, MSG_DONTWAIT);
    if (did < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return 0;
    if (did < 0)
        return ts_error_sys(err, TS_EIO, errno, "can't read from %s", c->text);
    *out_n = (size_t)did;
    return 1;
}

/* Read what has arrived. 1: something has; 0: nothing; <0: an error. */
static int read_some(struct sto_thrift_client *c, struct ts_error *err)
{
    if (c->in_at) { /* at most the beginning of one reply is moved */
        memmove(c->in.p, c->in.p + c->in_at, c->in.n - c->in_at);
        c->in.n -= c->in_at;
        c->in_at = 0;
    }
    size_t want = c->framer.need_bytes > c->in.n ? c->framer.need_bytes - c->in.n : 0;
    want = want < READ_LEAST ? READ_LEAST : want > READ_MOST ? READ_MOST : want;
    char *p = ts_buf_reserve(&c->in, want);
    if (!p)
        return no_memory(c, want, err);
    size_t n = 0;
    int rc = read_bytes(c, p, want, &n, err);
    if (rc <= 0)
        return rc;
    if (n == 0)
        return ts_error_set(err, TS_EIO, "%s closed the connection and did not answer %s%s", c->text,
                            sto_thrift_call_info(c->flights[c->first].r->call)->name, transport_hint(c));
    c->in.n += n;
    return 1;
}

/* The oldest reply: 1 if it is there as a whole. */
static int find_reply(struct sto_thrift_client *c, struct ts_slice *out, struct ts_error *err)
{
    struct ts_slice have = {c->in.p ? c->in.p + c->in_at : NULL, c->in.n - c->in_at};
    size_t used;
    if (have.n < c->framer.need_bytes)
        return 0;
    int rc = sto_thrift_framer_walk(&c->framer, have, &used, out, err);
    if (rc == TS_ELIMIT)
        return ts_error_set(err, rc, "a reply of %s has more than %zu bytes%s%s%s", c->text,
                            c->opts.max_reply_bytes, c->opts.max_reply_key ? " (" : "",
                            c->opts.max_reply_key ? c->opts.max_reply_key : "",
                            c->opts.max_reply_key ? ")" : "");
    if (rc < 0)
        ts_error_wrap(err, "%s", c->text);
    if (rc == 1)
        c->in_at += used;
    return rc;
}

/* What the connection waits for. */
static int events(const struct sto_thrift_client *c)
{
    int tls = c->tls ? ts_tls_events(c->tls) : 0;
    return POLLIN | tls | (c->n_written < c->n_flights ? POLLOUT : 0);
}

/* Write and read until the oldest reply is there. */
static int await_reply(struct sto_thrift_client *c, const struct flight *f, struct sto_thrift_wait wait,
                       struct ts_slice *out, struct ts_error *err)
{
    int64_t until_ns = f->until_ns < wait.until_ns ? f->until_ns : wait.until_ns;
    for (;;) {
        int rc = find_reply(c, out, err), wrote_some = 0;
        if (rc)
            return rc;
        if ((wait.cancel && atomic_load_explicit(wait.cancel, memory_order_relaxed)) ||
            ts_clock_mono_ns() >= wait.until_ns)
            return ts_error_set(err, TS_ECANCELLED, "a call of %s was cancelled", c->text);
        if (ts_clock_mono_ns() >= f->until_ns)
            return ts_error_set(err, TS_ETIMEOUT, "%s did not answer %s before the deadline%s", c->text,
                                sto_thrift_call_info(f->r->call)->name, transport_hint(c));
        wrote_some = write_some(c, err);
        rc = read_some(c, wrote_some < 0 ? NULL : err);
        if (rc ==
            1) /* a gateway that closes may have answered before, so what came is looked at before an error counts */
            continue;
        TS_TRY(wrote_some);
        TS_TRY(rc);
        if (!wrote_some)
            (void)ts_socket_wait(c->fd, events(c), until_ns, wait.cancel);
    }
}

/* The oldest request is reported. */
static void land(struct sto_thrift_client *c)
{
    c->first = (c->first + 1) % c->opts.max_in_flight;
    c->n_flights--;
    if (c->n_written)
        c->n_written--;
    else
        c->written_bytes = 0;
}

/* stays: a wait that ends leaves the request in flight. */
static int receive(struct sto_thrift_client *c, struct sto_thrift_wait wait, bool stays,
                   struct sto_thrift_reply *out, enum sto_thrift_sent *out_sent, struct ts_error *err)
{
    struct ts_error why = {0};
    struct ts_slice message;
    enum sto_thrift_sent sent = STO_THRIFT_NOT_SENT;
    *out = (struct sto_thrift_reply){0};
    if (out_sent)
        *out_sent = sent;
    if (!c->n_flights)
        return ts_error_set(err, TS_EINVAL, "no request to HBase is in flight");
    struct flight *f = &c->flights[c->first];
    int rc = c->fd < 0 ? c->why.code : await_reply(c, f, wait, &message, &why);
    if (stays && rc == TS_ECANCELLED && c->fd >= 0)
        return ts_error_set(err, rc, "%s", why.text);
    if (rc == 1 && !c->n_written) {
        rc = ts_error_set(&why, TS_ECORRUPT, "%s answered %s before it was sent", c->text,
                          sto_thrift_call_info(f->r->call)->name);
    } else if (rc == 1) {
        rc = sto_thrift_reply_open(message, f->r->call, f->seq, out, &why);
        c->used_ns = ts_clock_mono_ns();
        c->has_answered = true;
        out->connection = c->connection;
        next_reply(c);
        if (rc == 0 || rc == TS_EBACKEND)
            sent = STO_THRIFT_ANSWERED;
    }
    if (c->n_written && sent != STO_THRIFT_ANSWERED)
        sent = STO_THRIFT_SENT;
    if (rc < 0 && rc != TS_EBACKEND && c->fd >= 0)
        broken(c, &why);
    if (rc < 0)
        ts_error_set(err, rc, "%s", rc == TS_EBACKEND ? why.text : c->why.text);
    if (rc < 0 && rc != TS_EBACKEND)
        *out = (struct sto_thrift_reply){.call = f->r->call};
    if (out_sent)
        *out_sent = sent;
    land(c);
    return rc;
}

int sto_thrift_client_receive(struct sto_thrift_client *c, const _Atomic bool *cancel,
                              struct sto_thrift_reply *out, enum sto_thrift_sent *out_sent,
                              struct ts_error *err)
{
    struct sto_thrift_wait wait = {.until_ns = INT64_MAX, .cancel = cancel};
    return receive(c, wait, false, out, out_sent, err);
}

int sto_thrift_client_try_receive(struct sto_thrift_client *c, struct sto_thrift_wait wait,
                                  struct sto_thrift_reply *out, struct ts_error *err)
{
    return receive(c, wait, true, out, NULL, err);
}

int sto_thrift_client_call(struct sto_thrift_client *c, const struct sto_thrift_request *r,
                           struct sto_thrift_wait wait, struct sto_thrift_reply *out,
                           enum sto_thrift_sent *out_sent, struct ts_error *err)
{
    *out = (struct sto_thrift_reply){.call = r->call};
    if (out_sent)
        *out_sent = STO_THRIFT_NOT_SENT;
    if (c->n_flights)
        return ts_error_set(err, TS_EBUSY, "%u requests to %s are in flight", c->n_flights, c->text);
    TS_TRY(sto_thrift_client_send(c, r, wait, err));
    return sto_thrift_client_receive(c, wait.cancel, out, out_sent, err);
}
