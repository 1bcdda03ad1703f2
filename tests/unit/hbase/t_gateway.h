/*
 * t_gateway.h - a gateway that threads play: it listens on a port of its own and answers as it is told, well or badly.
 *
 * Every connection has a thread. Nothing depends on time: a gateway that does not answer waits until the other side closes.
 */
#ifndef TESTS_UNIT_HBASE_T_GATEWAY_H
#define TESTS_UNIT_HBASE_T_GATEWAY_H

#include "tests/unit/hbase/thrift_kit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "storage/hbase/thrift/binary.h"

/* How a gateway answers a request. */
enum t_manner {
    T_ANSWER, /* as it should: tableExists is true, get has a cell of value_bytes, scanners have no rows, everything else has no result */
    T_HANG,   /* reads and says nothing */
    T_NO_READ,      /* does not even read */
    T_DROP,         /* closes after it has read a request */
    T_HALF,         /* closes in the middle of a reply */
    T_DRIP,         /* a byte at a time */
    T_REFUSE,       /* TIOError, to be tried again */
    T_UNKNOWN_CALL, /* TApplicationException */
    T_GARBAGE,      /* speaks HTTP */
    T_SWAP,         /* reads two requests and answers the second one first */
    T_HUGE,         /* a reply that claims to have a string of a GiB */
    T_ANSWER_TWICE, /* the same reply once more */
    T_ANSWER_AND_CLOSE,
    T_CANCEL, /* sets *cancel and says nothing */
};

#define T_CONNS 64

struct t_gateway {
    int fd;                              /* listening */
    char port[8];                        /* of it, in digits */
    enum sto_thrift_transport transport; /* that it speaks */
    atomic_int manner;                   /* enum t_manner of the next request */
    atomic_int n_manner;                 /* after so many requests it answers as it should; 0 = never */
    atomic_size_t value_bytes;           /* of the cell that a get finds */
    atomic_int n_conns, n_requests;      /* accepted; read whole */
    atomic_int n_closed;                 /* connections that it has ended */
    _Atomic bool *cancel;                /* for T_CANCEL */
    pthread_t thread;                    /* accepts */
    struct t_gateway_conn {
        struct t_gateway *g;
        int fd;
        pthread_t thread;
        struct ts_buf in, out;
    } conns[T_CONNS];
};

/* All bytes; false: the other side is gone. */
static inline bool t_gateway_send(int fd, const char *p, size_t n, size_t at_once)
{
    while (n) {
        ssize_t k = send(fd, p, n < at_once ? n : at_once, MSG_NOSIGNAL);
        if (k <= 0)
            return false;
        p += k;
        n -= (size_t)k;
    }
    return true;
}

/* The next request; false: the other side is gone. It is at the front of c->in; *used bytes long. */
static inline bool t_gateway_read(struct t_gateway_conn *c, struct ts_slice *name, int32_t *seq, size_t *used)
{
    struct sto_thrift_framer f;
    struct ts_slice message;
    sto_thrift_framer_init(&f, c->g->transport, (size_t)1 << 28);
    while (sto_thrift_framer_walk(&f, ts_buf_get(&c->in), used, &message, NULL) != 1) {
        char *p = ts_buf_reserve(&c->in, 65536);
        ssize_t n = recv(c->fd, p, 65536, 0);
        if (n <= 0)
            return false;
        c->in.n += (size_t)n;
    }
    struct sto_thrift_in in = sto_thrift_in(message);
    enum sto_thrift_message type;
    return sto_thrift_get_message(&in, &type, name, seq) && type == STO_THRIFT_CALL;
}

static inline void t_gateway_result(struct ts_buf *out, struct ts_slice name, size_t value_bytes)
{
    if (ts_slice_is(name, "tableExists")) {
        sto_thrift_put_bool(out, 0, true);
    } else if (ts_slice_is(name, "openScanner")) {
        sto_thrift_put_i32(out, 0, 0); /* every gateway begins with the same number */
    } else if (ts_slice_is(name, "getScannerRows")) {
        sto_thrift_put_list(out, 0, STO_THRIFT_STRUCT, 0);
    } else if (ts_slice_is(name, "get")) {
        char *value = calloc(1, value_bytes + 1);
        sto_thrift_put_field(out, STO_THRIFT_STRUCT, 0);
        sto_thrift_put_bytes(out, 1, TS_SLICE_LIT("row"));
        sto_thrift_put_list(out, 2, STO_THRIFT_STRUCT, 1);
        sto_thrift_put_bytes(out, 1, TS_SLICE_LIT("f"));
        sto_thrift_put_bytes(out, 2, TS_SLICE_LIT("q"));
        sto_thrift_put_bytes(out, 3, (struct ts_slice){value, value_bytes});
        sto_thrift_put_stop(out);
        sto_thrift_put_stop(out);
        free(value);
    }
    sto_thrift_put_stop(out);
}

/* Append a reply in the given manner. */
static inline void t_gateway_reply(struct t_gateway_conn *c, int manner, struct ts_slice name, int32_t seq)
{
    struct ts_buf *out = &c->out;
    size_t from = out->n;
    if (c->g->transport == STO_THRIFT_FRAMED)
        ts_buf_append(out, "\0\0\0\0", 4);
    sto_thrift_put_message(out, manner == T_UNKNOWN_CALL ? STO_THRIFT_EXCEPTION : STO_THRIFT_REPLY, name,
                           seq);
    if (manner == T_REFUSE || manner == T_UNKNOWN_CALL) {
        if (manner == T_REFUSE)
            sto_thrift_put_field(out, STO_THRIFT_STRUCT, 1);
        sto_thrift_put_bytes(out, 1, TS_SLICE_LIT("no such thing"));
        if (manner == T_REFUSE)
            sto_thrift_put_bool(out, 2, true);
        sto_thrift_put_stop(out);
        if (manner == T_REFUSE)
            sto_thrift_put_stop(out);
    } else if (manner == T_HUGE) {
        t_hex(out, "0b0009 40000000");
    } else {
        t_gateway_result(out, name, c->g->value_bytes);
    }
    if (c->g->transport == STO_THRIFT_FRAMED)
        sto_thrift_set_i32(out, from, (int32_t)(out->n - from - 4));
}

/* Wait until the other side, or the test, closes. */
static inline void t_gateway_wait(const struct t_gateway_conn *c, bool reads)
{
    char bytes[4096];
    struct pollfd p = {.fd = c->fd, .events = 0};
    if (reads)
        while (recv(c->fd, bytes, sizeof(bytes), 0) > 0)
            ;
    else
        while (poll(&p, 1, -1) < 0)
            ;
}

/* Answer one request; false: the connection ends. */
static inline bool t_gateway_serve(struct t_gateway_conn *c)
{
    struct ts_slice name, name2;
    int32_t seq, seq2;
    size_t used, used2;
    if (c->g->manner == T_NO_READ) {
        t_gateway_wait(c, false);
        return false;
    }
    if (!t_gateway_read(c, &name, &seq, &used))
        return false;
    int manner = c->g->manner;
    atomic_fetch_add(&c->g->n_requests, 1);
    if (c->g->n_requests == c->g->n_manner)
        atomic_store(&c->g->manner, T_ANSWER);
    if (manner == T_HANG || manner == T_CANCEL) {
        if (manner == T_CANCEL)
            atomic_store(c->g->cancel, true);
        t_gateway_wait(c, true);
        return false;
    }
    if (manner == T_DROP)
        return false;
    ts_buf_clear(&c->out);
    if (manner == T_SWAP) {
        char first[64];
        size_t n = name.n;
        memcpy(first, name.p, n);
        memmove(c->in.p, c->in.p + used, c->in.n -= used);
        if (!t_gateway_read(c, &name2, &seq2, &used2))
            return false;
        t_gateway_reply(c, manner, name2, seq2);
        t_gateway_reply(c, manner, (struct ts_slice){first, n}, seq);
        used = used2;
    } else if (manner == T_GARBAGE) {
        ts_buf_str(&c->out, "HTTP/1.1 400 Bad Request\r\n\r\n");
    } else {
        t_gateway_reply(c, manner, name, seq);
    }
    if (manner == T_ANSWER_TWICE)
        t_gateway_reply(c, manner, name, seq);
    memmove(c->in.p, c->in.p + used, c->in.n -= used);
    bool sent = t_gateway_send(c->fd, c->out.p, manner == T_HALF ? c->out.n / 2 : c->out.n,
                               manner == T_DRIP ? 1 : SIZE_MAX);
    return sent && manner != T_HALF && manner != T_ANSWER_AND_CLOSE;
}

static inline void *t_gateway_talk(void *arg)
{
    struct t_gateway_conn *c = arg;
    while (t_gateway_serve(c))
        ;
    shutdown(c->fd,
             SHUT_RDWR); /* closed when the gateway ends, so that its number is not used again before */
    atomic_fetch_add(&c->g->n_closed, 1);
    return NULL;
}

static inline void *t_gateway_accept(void *arg)
{
    struct t_gateway *g = arg;
    while (g->n_conns < T_CONNS) {
        int fd = accept(g->fd, NULL, NULL);
        if (fd < 0)
            break;
        struct t_gateway_conn *c = &g->conns[g->n_conns];
        c->g = g;
        c->fd = fd;
        ts_buf_init(&c->in, 0);
        ts_buf_init(&c->out, 0);
        atomic_fetch_add(&g->n_conns, 1);
        assert_int_equal(pthread_create(&c->thread, NULL, t_gateway_talk, c), 0);
    }
    return NULL;
}

static inline void t_gateway_start(struct t_gateway *g, enum sto_thrift_transport transport,
                                   enum t_manner manner)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof(a);
    memset(g, 0, sizeof(*g));
    g->transport = transport;
    g->manner = manner;
    g->value_bytes = 1;
    g->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(g->fd >= 0);
    assert_int_equal(bind(g->fd, (struct sockaddr *)&a, sizeof(a)), 0);
    assert_int_equal(listen(g->fd, T_CONNS), 0);
    assert_int_equal(getsockname(g->fd, (struct sockaddr *)&a, &n), 0);
    (void)snprintf(g->port, sizeof(g->port), "%u", ntohs(a.sin_port));
    assert_int_equal(pthread_create(&g->thread, NULL, t_gateway_accept, g), 0);
}

/* Wait until it has ended n connections. */
static inline void t_gateway_closed(const struct t_gateway *g, int n)
{
    for (int ms = 0; g->n_closed < n && ms < 60000; ms++)
        poll(NULL, 0, 1);
    assert_true(g->n_closed >= n);
}

static inline void t_gateway_stop(struct t_gateway *g)
{
    shutdown(g->fd, SHUT_RDWR);
    pthread_join(g->thread, NULL);
    close(g->fd);
    for (int i = 0; i < g->n_conns; i++)
        shutdown(g->conns[i].fd, SHUT_RDWR);
    for (int i = 0; i < g->n_conns; i++) {
        pthread_join(g->conns[i].thread, NULL);
        close(g->conns[i].fd);
        ts_buf_release(&g->conns[i].in);
        ts_buf_release(&g->conns[i].out);
    }
}

#endif
