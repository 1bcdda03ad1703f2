/*
 * test_sink.c - delivery to daemons played by a thread: acknowledgement, refusal, failover, silence, OpenTSDB's answers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "collectors/collect.h"
#include "collectors/sink.h"

#define WAIT_MS 60000 /* for things that happen at once on a machine that is not busy */

enum answer { OK, OPENTSDB, REFUSE_ODD, FULL, CLOSE, SILENT };

/* A daemon that listens; one connection at a time. */
struct peer {
    int fd;             /* listening */
    unsigned port;      /* of it */
    atomic_int answer;  /* enum answer to the next sync */
    atomic_int n_lines; /* put lines that were acknowledged */
    atomic_int n_conns; /* connections accepted */
    atomic_int n_syncs; /* syncs read */
    atomic_bool end;    /* told to end */
    pthread_t thread;   /* its thread */
};

/* Answer one line; false = close. n_new, n_taken: put lines since the last answer, and taken on this connection. */
static bool peer_line(struct peer *p, int fd, const char *line, int *n_new, int *n_taken)
{
    char text[128] = "";
    if (strncmp(line, "put ", 4) == 0) {
        ++*n_new;
        if (p->answer == REFUSE_ODD && *n_new % 2) {
            --*n_taken; /* made up for below */
            snprintf(text, sizeof(text), "put: illegal argument: bad %d\n", *n_new);
        }
    } else if (strcmp(line, "sync") == 0) {
        p->n_syncs++;
        int how = p->answer;
        if (how == CLOSE)
            return false;
        *n_taken += *n_new;
        if (how == OPENTSDB)
            snprintf(text, sizeof(text), "unknown command: sync.  Try `help'.\n");
        else if (how == FULL)
            snprintf(text, sizeof(text), "sync: error disk full\n");
        else if (how != SILENT)
            snprintf(text, sizeof(text), "ok %d\n", *n_taken);
        if (how != FULL && how != SILENT)
            p->n_lines += *n_new;
        *n_new = 0;
    }
    return !*text || send(fd, text, strlen(text), MSG_NOSIGNAL) > 0;
}

static void peer_serve(struct peer *p, int fd)
{
    char buf[4096];
    size_t n = 0;
    int n_new = 0, n_taken = 0;
    while (!p->end) {
        struct pollfd f = {.fd = fd, .events = POLLIN};
        if (poll(&f, 1, 20) <= 0)
            continue;
        ssize_t got = recv(fd, buf + n, sizeof(buf) - n, 0);
        if (got <= 0)
            return;
        n += (size_t)got;
        for (char *nl; (nl = memchr(buf, '\n', n));) {
            *nl = '\0';
            if (!peer_line(p, fd, buf, &n_new, &n_taken))
                return;
            n -= (size_t)(nl + 1 - buf);
            memmove(buf, nl + 1, n);
        }
    }
}

static void *peer_main(void *arg)
{
    struct peer *p = arg;
    while (!p->end) {
        struct pollfd f = {.fd = p->fd, .events = POLLIN};
        if (poll(&f, 1, 20) <= 0)
            continue;
        int fd = accept(p->fd, NULL, NULL);
        p->n_conns++;
        peer_serve(p, fd);
        close(fd);
    }
    return NULL;
}

static void peer_start(struct peer *p, enum answer answer)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t n = sizeof(a);
    int one = 1;
    memset(p, 0, sizeof(*p));
    p->answer = (int)answer;
    p->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)setsockopt(p->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    assert_int_equal(bind(p->fd, (struct sockaddr *)&a, n), 0);
    assert_int_equal(listen(p->fd, 8), 0);
    assert_int_equal(getsockname(p->fd, (struct sockaddr *)&a, &n), 0);
    p->port = ntohs(a.sin_port);
    assert_int_equal(pthread_create(&p->thread, NULL, peer_main, p), 0);
}

static void peer_stop(struct peer *p)
{
    p->end = true;
    pthread_join(p->thread, NULL);
    close(p->fd);
}

static struct col_spool *spool_of(int n)
{
    struct col_spool_opts opts = {.max_bytes = 1 << 20};
    struct col_spool *s;
    assert_int_equal(col_spool_open(&opts, &s, NULL), 0);
    for (int i = 0; i < n; i++)
        assert_int_equal(col_spool_append(s, TS_SLICE_LIT("put m 1 1 a=b\n"), 1, false, NULL), 0);
    return s;
}

static struct col_sink *start(struct col_spool *spool, const char *servers, int64_t timeout_ms)
{
    struct col_sink_opts opts = {
        .spool = spool, .servers = servers, .timeout_ms = timeout_ms, .retry_max_ms = 50, .block_bytes = 140};
    return col_sink_start(&opts);
}

static void wait_acked(struct col_spool *s, uint64_t n)
{
    struct col_spool_stats st;
    for (int i = 0; i < WAIT_MS / 10; i++) {
        col_spool_stats(s, &st);
        if (st.n_acked >= n)
            return;
        usleep(10000);
    }
    fail_msg("only %llu points were acknowledged", (unsigned long long)st.n_acked);
}

/* Until all of n points are sent or refused, which is counted after their acknowledgement. */
static void wait_counted(struct col_sink *k, uint64_t n, struct col_sink_stats *out)
{
    for (int i = 0; i < WAIT_MS / 10; i++) {
        col_sink_stats(k, out);
        if (out->n_sent + out->n_refused == n)
            return;
        usleep(10000);
    }
    fail_msg("only %llu points were counted", (unsigned long long)(out->n_sent + out->n_refused));
}

static void wait_least(const atomic_int *count, int n)
{
    for (int i = 0; i < WAIT_MS / 10 && *count < n; i++)
        usleep(10000);
    assert_true(*count >= n);
}

static void test_sink__all_are_delivered(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct peer p;
        struct col_sink_stats st;
        char servers[64];
        peer_start(&p, i ? OPENTSDB : OK);
        snprintf(servers, sizeof(servers), "127.0.0.1:%u", p.port);
        struct col_spool *s = spool_of(100);
        struct col_sink *k = start(s, servers, WAIT_MS);
        wait_acked(s, 100);
        wait_counted(k, 100, &st);
        assert_int_equal(st.n_sent, 100);
        assert_int_equal(st.n_refused, 0);
        assert_true(st.connected);
        assert_true(col_sink_stop(k, 0));
        assert_int_equal(p.n_lines, 100);
        assert_int_equal(p.n_conns, 1);
        assert_int_equal(p.n_syncs, 10); /* blocks of ten lines */
        peer_stop(&p);
        col_spool_close(s);
    }
}

static void test_sink__refused_points_are_counted_and_not_sent_again(void **state)
{
    struct peer p;
    struct col_sink_stats st;
    char servers[64];
    (void)state;
    peer_start(&p, REFUSE_ODD);
    snprintf(servers, sizeof(servers), "127.0.0.1:%u", p.port);
    struct col_spool *s = spool_of(20);
    struct col_sink *k = start(s, servers, WAIT_MS);
    wait_acked(s, 20);
    wait_counted(k, 20, &st);
    assert_int_equal(st.n_sent, 10);
    assert_int_equal(st.n_refused, 10);
    assert_true(col_sink_stop(k, WAIT_MS));
    assert_int_equal(p.n_syncs, 2);
    peer_stop(&p);
    col_spool_close(s);
}

/* The first address has nobody, the second one does not take points at present, then it does. */
static void test_sink__fails_over_and_tries_again(void **state)
{
    struct peer dead, p;
    struct col_sink_stats st;
    char servers[96];
    (void)state;
    peer_start(&dead, OK);
    peer_stop(&dead);
    peer_start(&p, FULL);
    snprintf(servers, sizeof(servers), "127.0.0.1:%u,127.0.0.1:%u", dead.port, p.port);
    struct col_spool *s = spool_of(10);
    struct col_sink *k = start(s, servers, WAIT_MS);
    wait_least(&p.n_syncs, 3);
    col_sink_stats(k, &st);
    assert_int_equal(st.n_sent, 0);
    p.answer = CLOSE;
    wait_least(&p.n_syncs, p.n_syncs + 2);
    p.answer = OK;
    wait_acked(s, 10);
    col_sink_stats(k, &st);
    assert_true(st.n_failures >= 5);
    assert_true(col_sink_stop(k, 0));
    peer_stop(&p);
    col_spool_close(s);
}

static void test_sink__silence_is_a_failure(void **state)
{
    struct peer mute, p;
    char servers[96];
    (void)state;
    peer_start(&mute, SILENT);
    peer_start(&p, OK);
    snprintf(servers, sizeof(servers), "127.0.0.1:%u,127.0.0.1:%u", mute.port, p.port);
    struct col_spool *s = spool_of(10);
    struct col_sink *k = start(s, servers, 300);
    wait_least(&p.n_lines, 10);
    assert_int_equal(p.n_lines, 10);
    assert_true(mute.n_syncs >= 1);
    assert_true(col_sink_stop(k, WAIT_MS));
    peer_stop(&mute);
    peer_stop(&p);
    col_spool_close(s);
}

static void test_sink__stops_though_nobody_answers(void **state)
{
    struct peer dead;
    char servers[64];
    (void)state;
    peer_start(&dead, OK);
    peer_stop(&dead);
    snprintf(servers, sizeof(servers), "127.0.0.1:%u", dead.port);
    struct col_spool *s = spool_of(10);
    struct col_sink *k = start(s, servers, WAIT_MS);
    assert_false(col_sink_stop(k, 3600000)); /* one round is enough to see that nobody is there */
    col_spool_close(s);
    assert_true(col_sink_stop(NULL, 0));
}

static void test_sink__addresses_are_checked(void **state)
{
    static const char *const good[] = {"a", "a:1", "[::1]:4242", "[::1]", "a:1, b:2", "10.0.0.1:65535", NULL};
    static const char *const bad[] = {"",    ",",   "a:",   ":1",     "a:0",   "a:65536",
                                      "a:x", "::1", "[::1", "[::1]x", "a:1:2", NULL};
    (void)state;
    for (size_t i = 0; good[i]; i++)
        assert_int_equal(col_servers_check(good[i], NULL), 0);
    for (size_t i = 0; bad[i]; i++) {
        struct ts_error err = {0};
        assert_int_equal(col_servers_check(bad[i], &err), TS_EINVAL);
        assert_non_null(strstr(err.text, "collect_server"));
    }
}

static void test_sink__the_first_address_is_taken_apart(void **state)
{
    static const struct {
        const char *servers, *host, *port; /* host NULL: refused */
    } rows[] = {
        {"[::1]:4242", "::1", "4242"}, {"[::1]:80, b", "::1", "80"},
        {"[::1]", "::1", "4242"},      {"host", "host", "4242"},
        {"host:8080", "host", "8080"}, {" , host:1 ,b", "host", "1"},
        {"::1", NULL, NULL},           {"host:x", NULL, NULL},
        {"host,b:", NULL, NULL},       {"", NULL, NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct ts_error err = {0};
        char *host = (char *)&err, *port = host;
        int rc = col_server_first(rows[i].servers, &host, &port, &err);
        if (!rows[i].host) {
            assert_int_equal(rc, TS_EINVAL);
            assert_non_null(strstr(err.text, "collect_server"));
            assert_null(host);
            assert_null(port);
            continue;
        }
        assert_int_equal(rc, 0);
        assert_string_equal(host, rows[i].host);
        assert_string_equal(port, rows[i].port);
        ts_free(host);
        ts_free(port);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sink__all_are_delivered),
        cmocka_unit_test(test_sink__refused_points_are_counted_and_not_sent_again),
        cmocka_unit_test(test_sink__fails_over_and_tries_again),
        cmocka_unit_test(test_sink__silence_is_a_failure),
        cmocka_unit_test(test_sink__stops_though_nobody_answers),
        cmocka_unit_test(test_sink__addresses_are_checked),
        cmocka_unit_test(test_sink__the_first_address_is_taken_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
