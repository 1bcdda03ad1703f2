/*
 * test_sink.c - delivery to daemons played by a thread: acknowledgement, the three kinds of refusal, failover, silence, OpenTSDB's answers.
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
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "collectors/answer.h"
#include "collectors/collect.h"
#include "collectors/sink.h"

#define WAIT_MS 60000 /* for things that happen at once on a machine that is not busy */

/* How a daemon answers. REFUSE_ODD: every second line is bad. NO_ROOM: max_series is reached, series with "new" are refused. READ_ONLY: no
 * such command as put. STRANGE: series with "new" are refused in words nobody knows. DRIP: sync is answered by a byte now and then, without
 * end. */
enum answer { OK, OPENTSDB, REFUSE_ODD, FULL, CLOSE, SILENT, NO_ROOM, READ_ONLY, STRANGE, DRIP };

/* A daemon that listens; one connection at a time. */
struct peer {
    int fd;             /* listening */
    unsigned port;      /* of it */
    atomic_int answer;  /* enum answer to the next sync */
    atomic_int n_lines; /* put lines that were acknowledged */
    atomic_int n_conns; /* connections accepted */
    atomic_int n_syncs; /* syncs read */
    atomic_int n_known; /* acknowledged put lines without "new" */
    atomic_int newest;  /* value of the last acknowledged line "put new 1 VALUE" */
    atomic_bool end;    /* told to end */
    pthread_t thread;   /* its thread */
};

/* The text a put line is refused with; "" = it is taken. n_new counts lines since the last sync. */
static const char *peer_refusal(int how, const char *line, int n_new)
{
    bool new_series = strstr(line, "new") != NULL;
    if (how == REFUSE_ODD && n_new % 2)
        return "put: illegal argument: Invalid metric name (\"m\"): illegal character: !\n";
    if (how == NO_ROOM && new_series)
        return "put: storage error: no more than 1 series (max_series)\n";
    if (how == READ_ONLY)
        return "unknown command: put.  Try `help'.\n";
    if (how == STRANGE && new_series)
        return "put: the moon is full\n";
    return "";
}

static bool peer_sync(struct peer *p, int fd, int *n_new, int *n_taken)
{
    char text[128] = "";
    int how = p->answer;
    p->n_syncs++;
    while (p->answer == DRIP && !p->end) {
        if (send(fd, "o", 1, MSG_NOSIGNAL) < 0)
            return false;
        usleep(20000);
    }
    if (how == CLOSE || how == DRIP)
        return false;
    if (how == OPENTSDB)
        snprintf(text, sizeof(text), "unknown command: sync.  Try `help'.\n");
    else if (how == FULL)
        snprintf(text, sizeof(text), "sync: error disk full\n");
    else if (how != SILENT)
        snprintf(text, sizeof(text), "ok %d\n", *n_taken);
    *n_new = 0;
    return !*text || send(fd, text, strlen(text), MSG_NOSIGNAL) > 0;
}

/* Answer one line; false = close. n_new, n_taken: put lines since the last sync, and taken on this connection. */
static bool peer_line(struct peer *p, int fd, const char *line, int *n_new, int *n_taken)
{
    int how = p->answer;
    const char *text = "";
    if (strncmp(line, "put ", 4) == 0) {
        ++*n_new;
        text = peer_refusal(how, line, *n_new);
        *n_taken += !*text;
        if (!*text && how != FULL && how != SILENT && how != CLOSE && how != DRIP) {
            p->n_lines++;
            p->n_known += strstr(line, "new") == NULL;
            if (strncmp(line, "put new 1 ", 10) == 0)
                p->newest = atoi(line + 10);
        }
    } else if (strcmp(line, "version") == 0) {
        text = "tsd 1\nBuilt by hand\n";
    } else if (strcmp(line, "sync") == 0) {
        return peer_sync(p, fd, n_new, n_taken);
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

/* Points put aside by the sinks of a case. */
static struct col_spool *later;

static int setup(void **state)
{
    (void)state;
    later = spool_of(0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    col_spool_close(later);
    return 0;
}

static struct col_sink *start(struct col_spool *spool, const char *servers, int64_t timeout_ms)
{
    struct col_sink_opts opts = {.spool = spool,
                                 .later = later,
                                 .servers = servers,
                                 .timeout_ms = timeout_ms,
                                 .retry_min_ms = 1,
                                 .retry_max_ms = 50,
                                 .block_bytes = 140};
    return col_sink_start(&opts);
}

static uint64_t points_in(struct col_spool *s)
{
    struct col_spool_stats st;
    col_spool_stats(s, &st);
    return st.n_points;
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
        assert_int_equal(st.opentsdb, i);
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
    assert_int_equal(p.n_syncs, 2); /* sent once */
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

/* Append a line "put NAME TIME REST". */
static void append(struct col_spool *s, const char *name, int time, const char *rest)
{
    char line[64];
    snprintf(line, sizeof(line), "put %s %d %s\n", name, time, rest);
    assert_int_equal(col_spool_append(s, ts_slice_str(line), 1, false, NULL), 0);
}

/* Lines of known and of new series, mixed; n of each. */
static struct col_spool *mixed_spool(int n)
{
    struct col_spool *s = spool_of(0);
    for (int i = 0; i < n; i++) {
        append(s, "new", i, "1 a=b");
        append(s, "old", i, "1 a=b");
    }
    return s;
}

/* New series are refused; points of known ones behind them arrive, the others when there is room. */
static void known_series_pass(enum answer how)
{
    struct peer p;
    struct col_sink_stats st;
    char servers[64];
    peer_start(&p, how);
    snprintf(servers, sizeof(servers), "127.0.0.1:%u", p.port);
    struct col_spool *s = mixed_spool(40);
    struct col_sink *k = start(s, servers, WAIT_MS);
    wait_acked(s, 80);
    assert_int_equal(points_in(s), 0);
    assert_true(p.n_known >= 40);
    assert_int_equal(points_in(later), 40);
    wait_least(&p.n_syncs, p.n_syncs + 3); /* what was put aside is tried again, and refused */
    assert_int_equal(points_in(later), 40);
    col_sink_stats(k, &st);
    assert_int_equal(st.n_refused, 0);
    assert_int_equal(st.n_sent, 40);
    p.answer = OK;
    wait_acked(later, 40);
    wait_counted(k, 80, &st);
    assert_int_equal(st.n_refused, 0);
    assert_true(col_sink_stop(k, 0));
    peer_stop(&p);
    col_spool_close(s);
}

static void test_sink__refused_series_hold_up_no_others(void **state)
{
    (void)state;
    known_series_pass(NO_ROOM);
}

static void test_sink__words_nobody_knows_hold_up_no_others(void **state)
{
    (void)state;
    known_series_pass(STRANGE);
}

/* Only new series wait: they are put aside too. */
static void test_sink__a_block_of_refused_series_is_put_aside(void **state)
{
    struct peer p;
    char servers[64];
    (void)state;
    peer_start(&p, NO_ROOM);
    snprintf(servers, sizeof(servers), "127.0.0.1:%u", p.port);
    struct col_spool *s = spool_of(0);
    for (int i = 0; i < 20; i++)
        append(s, "new", i, "1 a=b");
    struct col_sink *k = start(s, servers, WAIT_MS);
    wait_acked(s, 20);
    assert_int_equal(points_in(later), 20);
    assert_false(col_sink_stop(k, 0));
    assert_int_equal(p.n_lines, 0);
    peer_stop(&p);
    col_spool_close(s);
}

/* A value that was put aside is not sent behind a newer one of its series and time: by a process that put it aside itself, and by one that
 * found it. */
static void test_sink__an_older_value_never_follows_a_newer_one(void **state)
{
    (void)state;
    for (int restart = 0; restart < 2; restart++) {
        struct peer p;
        char servers[64];
        peer_start(&p, NO_ROOM);
        snprintf(servers, sizeof(servers), "127.0.0.1:%u", p.port);
        struct col_spool *s = spool_of(0);
        struct col_sink_opts opts = {.spool = s,
                                     .later = later,
                                     .servers = servers,
                                     .timeout_ms = WAIT_MS,
                                     .retry_min_ms = 1000,
                                     .retry_max_ms = 1000};
        struct col_sink *k = col_sink_start(&opts);
        append(s, "new", 1, "10 a=b");
        append(s, "new", 2, "10 a=b");
        wait_acked(s, 2);
        wait_least(&p.n_syncs, 4); /* it was sent again once, and a pause begins */
        if (restart)
            assert_false(col_sink_stop(k, 0));
        p.answer = OK;
        append(s, "new", 1, "11 a=b");
        append(s, "old", 1, "12 a=b");
        if (restart)
            k = col_sink_start(&opts);
        wait_least(&p.n_lines, 3);
        for (int i = 0; i < WAIT_MS / 10 && points_in(s) + points_in(later); i++)
            usleep(10000);
        assert_true(col_sink_stop(k, WAIT_MS));
        assert_int_equal(p.newest, 11);
        assert_int_equal(p.n_known, 1);
        peer_stop(&p);
        col_spool_close(s);
    }
}

/* Of many values of one series and time that wait, the last is sent; of other times all are. */
static void test_sink__of_values_put_aside_the_last_is_sent(void **state)
{
    struct peer p;
    struct col_sink_stats st;
    char servers[64], value[32];
    (void)state;
    peer_start(&p, OK);
    snprintf(servers, sizeof(servers), "127.0.0.1:%u", p.port);
    for (int i = 1; i <= 40; i++) {
        snprintf(value, sizeof(value), "%d a=b", i);
        append(later, "new", i % 4 == 3 ? i : 1, value);
    }
    struct col_spool *s = spool_of(0);
    struct col_sink *k = start(s, servers, WAIT_MS);
    wait_acked(later, 40);
    col_sink_stats(k, &st);
    assert_true(col_sink_stop(k, 0));
    assert_int_equal(p.n_lines, 11);
    assert_int_equal(p.newest, 40);
    assert_int_equal(st.n_sent, 11);
    assert_int_equal(st.n_superseded, 29);
    peer_stop(&p);
    col_spool_close(s);
}

/* Which points wait is counted anew when some of them are dropped because the spool is full: what is left is sent all the same. */
static void test_sink__dropped_values_are_not_waited_for(void **state)
{
    struct col_spool_opts small = {.max_bytes = 8 << 10, .segment_bytes = 1 << 10};
    struct col_spool_stats st;
    struct peer p;
    char servers[64];
    (void)state;
    col_spool_close(later);
    assert_int_equal(col_spool_open(&small, &later, NULL), 0);
    peer_start(&p, NO_ROOM);
    snprintf(servers, sizeof(servers), "127.0.0.1:%u", p.port);
    struct col_spool *s = spool_of(0);
    for (int i = 0; i < 1000; i++)
        append(s, "new", i % 500, "1 a=b"); /* 18 bytes a line: most do not fit */
    struct col_sink_opts opts = {.spool = s,
                                 .later = later,
                                 .servers = servers,
                                 .timeout_ms = WAIT_MS,
                                 .retry_min_ms = 1,
                                 .retry_max_ms = 50,
                                 .block_bytes = 2000};
    struct col_sink *k = col_sink_start(&opts);
    wait_acked(s, 1000);
    col_spool_stats(later, &st);
    assert_true(st.n_dropped_points > 0);
    p.answer = OK;
    for (int i = 0; i < WAIT_MS / 10 && points_in(later); i++)
        usleep(10000);
    assert_int_equal(points_in(later), 0);
    append(s, "new", 1, "77 a=b");
    wait_acked(s, 1001);
    assert_true(col_sink_stop(k, WAIT_MS));
    assert_int_equal(p.newest, 77);
    peer_stop(&p);
    col_spool_close(s);
}

/* A daemon with mode=ro does not know put: nothing is given up, the pause grows up to its limit and is short again afterwards. */
static void test_sink__a_read_only_daemon_costs_nothing(void **state)
{
    struct peer p;
    struct col_sink_stats st;
    char servers[64];
    (void)state;
    peer_start(&p, READ_ONLY);
    snprintf(servers, sizeof(servers), "127.0.0.1:%u", p.port);
    struct col_spool *s = spool_of(20);
    struct col_sink *k = start(s, servers, WAIT_MS);
    wait_least(&p.n_conns, 12);
    col_sink_stats(k, &st);
    assert_int_equal(st.n_sent + st.n_refused, 0);
    assert_int_equal(st.pause_ms, 50);
    assert_int_equal(points_in(s), 20);
    p.answer = OK;
    wait_counted(k, 20, &st);
    assert_int_equal(st.n_sent, 20);
    for (int i = 0; i < WAIT_MS / 10 && st.pause_ms != 1; i++) {
        usleep(10000);
        col_sink_stats(k, &st);
    }
    assert_int_equal(st.pause_ms, 1);
    assert_true(col_sink_stop(k, WAIT_MS));
    peer_stop(&p);
    col_spool_close(s);
}

/* A byte now and then is no answer: the block goes to the next address. */
static void test_sink__dripped_bytes_are_no_answer(void **state)
{
    struct peer slow, p;
    char servers[96];
    (void)state;
    peer_start(&slow, DRIP);
    peer_start(&p, OK);
    snprintf(servers, sizeof(servers), "127.0.0.1:%u,127.0.0.1:%u", slow.port, p.port);
    struct col_spool *s = spool_of(10);
    struct col_sink *k = start(s, servers, 300);
    wait_acked(s, 10);
    assert_true(slow.n_syncs >= 1);
    assert_true(col_sink_stop(k, WAIT_MS));
    peer_stop(&slow);
    peer_stop(&p);
    col_spool_close(s);
}

static void test_sink__refusals_have_three_meanings(void **state)
{
    static const struct {
        const char *line;
        enum col_verdict verdict;
    } cases[] = {
        {"put: illegal argument: not enough arguments (need least 4, got 2)", COL_NEVER},
        {"put: invalid value: Unable to parse", COL_NEVER},
        {"put: unknown metric: No such name for 'metrics': 'm'", COL_NEVER},
        {"line too long: more than 65536 bytes (line_max_bytes)", COL_NEVER},
        {"put: storage error: no more than 5 series (max_series)", COL_LATER_SERIES},
        {"put: HBase error: no more than 5 series (max_series)", COL_LATER_SERIES},
        {"put: too many series: no more than 5 series (max_series)", COL_LATER_SERIES},
        {"put: too many new series: more than 5 in a minute (new_series_per_min)", COL_LATER_SERIES},
        {"put: read-only: this daemon takes no points (mode = ro)", COL_LATER},
        {"put: too many series: no more than 5 series (max_series)", COL_LATER_SERIES},
        {"put: too many new series: more than 5 a minute (new_series_per_min)", COL_LATER_SERIES},
        {"put: read-only: this daemon takes no points (mode = ro)", COL_LATER},
        {"put: storage error: the disk is full", COL_LATER},
        {"put: HBase error: 10000 RPCs waiting on", COL_LATER},
        {"put: Please throttle writes: 10000 RPCs waiting on", COL_LATER},
        {"unknown command: put.  Try `help'.", COL_LATER},
        {"whatever a later daemon says", COL_LATER},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        assert_int_equal(col_verdict_of(ts_slice_str(cases[i].line)), cases[i].verdict);
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

static void test_sink__the_environment_names_the_port(void **state)
{
    char *host, *port;
    (void)state;
    setenv("TSD_PORT", "4300", 1);
    assert_int_equal(col_server_first("localhost", &host, &port, NULL), 0);
    assert_string_equal(port, "4300");
    ts_free(host);
    ts_free(port);
    assert_int_equal(col_server_first("localhost:80", &host, &port, NULL), 0);
    assert_string_equal(port, "80");
    ts_free(host);
    ts_free(port);
    unsetenv("TSD_PORT");
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

/* A case with a spool for what is put aside. */
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_sink__all_are_delivered),
        CASE(test_sink__refused_points_are_counted_and_not_sent_again),
        CASE(test_sink__fails_over_and_tries_again),
        CASE(test_sink__refused_series_hold_up_no_others),
        CASE(test_sink__words_nobody_knows_hold_up_no_others),
        CASE(test_sink__a_block_of_refused_series_is_put_aside),
        CASE(test_sink__an_older_value_never_follows_a_newer_one),
        CASE(test_sink__of_values_put_aside_the_last_is_sent),
        CASE(test_sink__dropped_values_are_not_waited_for),
        CASE(test_sink__a_read_only_daemon_costs_nothing),
        CASE(test_sink__dripped_bytes_are_no_answer),
        CASE(test_sink__refusals_have_three_meanings),
        CASE(test_sink__silence_is_a_failure),
        CASE(test_sink__stops_though_nobody_answers),
        CASE(test_sink__addresses_are_checked),
        CASE(test_sink__the_environment_names_the_port),
        CASE(test_sink__the_first_address_is_taken_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
