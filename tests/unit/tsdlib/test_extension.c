/*
 * test_extension.c - what is added to the daemon from outside: a protocol with a port of its own, one over UDP, a
 * transport that changes every byte, a client that may only read.
 */
#include "t_daemon.h"

#include "tsd/net/listen.h"
#include "tsd/protocols/line/line_conn.h"
#include "tsd/protocols/line/put.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/event.h>

/* --- a protocol over TCP with a port of its own: it answers each byte with the next one --- */

static int any_port(const struct tsd_settings *set)
{
    (void)set;
    return 0;
}

static void next_open(struct tsd_conn *c)
{
    (void)c;
}

static size_t next_input(struct tsd_conn *c, const char *p, size_t n, bool eof)
{
    for (size_t i = 0; i < n; i++)
        ts_buf_char(&c->out, (char)(p[i] + 1));
    if (eof)
        tsd_conn_close_soon(c);
    return n;
}

static const struct tsd_protocol next_protocol = {
    .name = "next", .own_port = any_port, .open = next_open, .input = next_input};

/* --- a protocol over UDP: "METRIC VALUE" is a point of now --- */

static void point_datagram(struct tsd_worker *w, const struct tsd_identity *who, const char *p, size_t n)
{
    char line[256];
    struct tsd_chain chain = {0};
    const char *blank = memchr(p, ' ', n);
    if (!who->local || !strstr(who->address, "127.0.0.1:") || !blank || n > 100)
        abort();
    int length = snprintf(line, sizeof(line), "%.*s 1793620800 %.*s from=udp", (int)(blank - p), p,
                          (int)(n - (size_t)(blank + 1 - p)), blank + 1);
    tsd_ingest_begin(&w->ingest);
    if (tsd_put_line(&w->ingest, &chain, (struct ts_slice){line, (size_t)length}) != 0)
        abort();
}

static const struct tsd_protocol point_protocol = {
    .name = "point", .own_port = any_port, .datagram = point_datagram};

static const struct tsd_protocol *const protocols[] = {&next_protocol, &point_protocol, &tsd_http_protocol,
                                                       &tsd_line_protocol, NULL};

static int socket_to(int type, unsigned port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
    int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (const void *)&to, sizeof(to)), 0);
    return fd;
}

/* Accepts until the test is over. */
static void *accepting(void *base)
{
    (void)event_base_loop(base, EVLOOP_NO_EXIT_ON_EMPTY);
    return NULL;
}

static void stop_accepting(evutil_socket_t fd, short what, void *base)
{
    (void)fd;
    (void)what;
    (void)event_base_loopbreak(base);
}

struct listening {
    struct t_daemon t;
    struct event_base *base;
    struct tsd_listen *l;
    struct event *ev_stop; /* the other end of stop[0] was closed */
    int stop[2];
    pthread_t thread;
    unsigned port;
};

static void listening_open(struct listening *x)
{
    static const char *const keys[] = {"port", "0", "bind", "127.0.0.1", NULL};
    struct ts_error err = {0};
    t_daemon_open(&x->t, keys);
    x->t.d.protocols = protocols;
    x->t.d.max_fd = UINT64_MAX;
    tsd_peers_init(&x->t.d.peers, &x->t.d.memory, &x->t.d.spools.account);
    x->base = event_base_new();
    t_daemon_check(tsd_listen_open(&x->t.d, x->base, &x->l, &x->port, &err), &err);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, x->stop), 0);
    x->ev_stop = event_new(x->base, x->stop[0], EV_READ, stop_accepting, x->base);
    assert_int_equal(event_add(x->ev_stop, NULL), 0);
    assert_int_equal(pthread_create(&x->thread, NULL, accepting, x->base), 0);
}

static void listening_close(struct listening *x)
{
    close(x->stop[1]);
    pthread_join(x->thread, NULL);
    close(x->stop[0]);
    event_free(x->ev_stop);
    tsd_listen_close(x->l);
    event_base_free(x->base);
    t_daemon_close(&x->t);
    tsd_peers_release(&x->t.d.peers);
}

static void test_extension__a_protocol_has_a_port_of_its_own(void **state)
{
    (void)state;
    struct listening x;
    char got[4096];
    listening_open(&x);
    unsigned port = tsd_listen_own_port(x.l, &next_protocol);
    assert_true(port && port != x.port);
    int fd = socket_to(SOCK_STREAM, port);
    assert_int_equal(send(fd, "HAL", 3, 0), 3);
    shutdown(fd, SHUT_WR);
    assert_int_equal(t_read_all(fd, got, sizeof(got)), 3);
    assert_string_equal(got, "IBM");
    close(fd);
    fd = socket_to(SOCK_STREAM, x.port); /* the shared port still tells protocols by their first bytes */
    assert_int_equal(send(fd, "version\n", 8, 0), 8);
    shutdown(fd, SHUT_WR);
    assert_true(t_read_all(fd, got, sizeof(got)) > 3);
    assert_memory_equal(got, "tsd ", 4);
    close(fd);
    listening_close(&x);
}

static void test_extension__a_protocol_comes_by_udp(void **state)
{
    (void)state;
    struct listening x;
    listening_open(&x);
    int fd = socket_to(SOCK_DGRAM, tsd_listen_own_port(x.l, &point_protocol));
    for (int i = 0; i < 10; i++) {
        char text[32];
        int n = snprintf(text, sizeof(text), "udp.m%d %d", i, i);
        assert_int_equal(send(fd, text, (size_t)n, 0), n);
    }
    close(fd);
    struct tsd_counts *counts = &x.t.workers[0]->counts;
    while (__atomic_load_n(&counts->n_points, __ATOMIC_RELAXED) < 10)
        poll(NULL, 0, 1);
    assert_int_equal(__atomic_load_n(&counts->n_datagrams, __ATOMIC_RELAXED), 10);
    char got[4096];
    const char ask[] = "GET /api/suggest?type=metrics&q=udp HTTP/1.0\r\n\r\n";
    t_talk(&x.t, ask, sizeof(ask) - 1, got, sizeof(got));
    assert_non_null(strstr(got, "[\"udp.m0\",\"udp.m1\""));
    assert_non_null(strstr(got, "\"udp.m9\"]"));
    listening_close(&x);
}

/* --- a transport that inverts all bits, takes much from the socket and hands out little --- */

struct inverter {
    unsigned char have[1 << 16]; /* decoded, not received yet: from..to */
    size_t from, to;
};

static int inverter_open(struct tsd_conn *c)
{
    c->transport_state = ts_xcalloc(1, sizeof(struct inverter));
    return 0;
}

static ssize_t inverter_receive(struct tsd_conn *c, void *p, size_t n)
{
    struct inverter *v = c->transport_state;
    if (v->from == v->to) {
        ssize_t k = recv(c->fd, v->have, sizeof(v->have), MSG_DONTWAIT);
        if (k <= 0)
            return k;
        v->from = 0;
        v->to = (size_t)k;
        for (size_t i = 0; i < v->to; i++)
            v->have[i] = (unsigned char)~v->have[i];
    }
    size_t take = v->to - v->from < 7 ? v->to - v->from : 7;
    take = take < n ? take : n;
    memcpy(p, v->have + v->from, take);
    v->from += take;
    return (ssize_t)take;
}

static ssize_t inverter_send(struct tsd_conn *c, const void *p, size_t n)
{
    unsigned char piece[100];
    size_t take = n < sizeof(piece) ? n : sizeof(piece);
    for (size_t i = 0; i < take; i++)
        piece[i] = (unsigned char)~((const unsigned char *)p)[i];
    return send(c->fd, piece, take, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void inverter_shutdown(struct tsd_conn *c)
{
    (void)shutdown(c->fd, SHUT_WR);
}

static size_t inverter_decoded(const struct tsd_conn *c)
{
    const struct inverter *v = c->transport_state;
    return v->to - v->from;
}

static void inverter_close(struct tsd_conn *c)
{
    ts_free(c->transport_state);
}

static const struct tsd_transport inverter = {.name = "inverter",
                                              .open = inverter_open,
                                              .receive = inverter_receive,
                                              .send = inverter_send,
                                              .shutdown = inverter_shutdown,
                                              .decoded = inverter_decoded,
                                              .close = inverter_close};

static void invert(char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        p[i] = (char)~p[i];
}

static void test_extension__a_transport_carries_every_protocol(void **state)
{
    (void)state;
    struct t_daemon t;
    char ask[8192], got[8192];
    t_daemon_open(&t, NULL);
    t.d.transport = &inverter;
    size_t n = 0;
    for (int i = 0; i < 100; i++)
        n += (size_t)snprintf(ask + n, sizeof(ask) - n, "put inverted 17936208%02d %d a=b\n", i, i);
    n += (size_t)snprintf(ask + n, sizeof(ask) - n, "nonsense\n");
    invert(ask, n);
    size_t k = t_talk(&t, ask, n, got, sizeof(got));
    invert(got, k);
    assert_string_equal(got, "unknown command: nonsense.  Try `help'.\n");

    n = (size_t)snprintf(
        ask, sizeof(ask),
        "GET /api/query?start=1793620800&end=1793620950&m=sum:0all-sum:inverted HTTP/1.0\r\n\r\n");
    invert(ask, n);
    k = t_talk(&t, ask, n, got, sizeof(got));
    invert(got, k);
    if (!strstr(got, ":4950"))
        fail_msg("%s", got);
    t_daemon_close(&t);
}

/* --- a client that may only read --- */

static atomic_bool readers_only;

static unsigned restrict_client(const struct tsd_identity *who)
{
    (void)who;
    return atomic_load(&readers_only) ? TSD_MAY_WRITE | TSD_MAY_ADMIN : 0;
}

static void expect(struct t_daemon *t, const char *ask, const char *want)
{
    char got[8192];
    t_talk(t, ask, strlen(ask), got, sizeof(got));
    if (!strstr(got, want))
        fail_msg("%s\nis answered by\n%s\nwithout: %s", ask, got, want);
}

static void test_extension__a_reader_may_not_write(void **state)
{
    (void)state;
    struct t_daemon t;
    t_daemon_open(&t, NULL);
    t.d.restrict_client = restrict_client;
    expect(&t, "put m 1793620800 1 a=b\n", "");
    atomic_store(&readers_only, true);
    expect(&t, "put m 1793620801 2 a=b\n", "put: read-only: this client may not write\n");
    expect(&t, "PUT m 1793620801 2 a=b\n", "put: read-only: this client may not write\n");
    expect(&t, "rollup 1h:sum m 1793620800 2 a=b\n", "rollup: read-only: this client may not write\n");
    expect(&t, "version\n", "tsd ");
    expect(&t, "diediedie\n", "unknown command");
    expect(&t,
           "POST /api/put HTTP/1.0\r\nContent-Length: 62\r\n\r\n"
           "{\"metric\":\"m\",\"timestamp\":1793620801,\"value\":2,\"tags\":{\"a\":\"b\"}}",
           "HTTP/1.1 403");
    expect(&t, "POST /api/uid/assign?metric=x HTTP/1.0\r\nContent-Length: 0\r\n\r\n",
           "This client may not change anything");
    expect(&t, "POST /api/admin/flush HTTP/1.0\r\nContent-Length: 0\r\n\r\n",
           "This client may not administrate the daemon");
    expect(&t, "GET /api/query?start=1793620800&end=1793620802&m=sum:m HTTP/1.0\r\n\r\n",
           "\"1793620800\":1}");
    assert_int_equal(atomic_load(&t.d.n_denied[TSD_DENIED_CLIENT]), 3);
    t_daemon_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_extension__a_protocol_has_a_port_of_its_own),
        cmocka_unit_test(test_extension__a_protocol_comes_by_udp),
        cmocka_unit_test(test_extension__a_transport_carries_every_protocol),
        cmocka_unit_test(test_extension__a_reader_may_not_write),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
