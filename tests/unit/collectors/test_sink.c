/*
 * test_sink.c - delivery to daemons played by a thread: acknowledgement, the three kinds of refusal, failover, silence, OpenTSDB's answers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "collectors/core/answer.h"
#include "collectors/collect.h"
#include "tests/unit/collectors/t_peer.h"

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
    wait_points(later, 40);
    wait_least(&p.n_syncs, p.n_syncs + 3); /* what was put aside is tried again, and refused */
    wait_points(later, 40);
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
    wait_points(later, 20);
    assert_false(col_sink_stop(k, 0));
    assert_int_equal(p.n_lines, 0);
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
    wait_acked(s, 10);
    assert_true(p.n_lines >= 10); /* more where the second one also took longer than 300 ms to answer */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_sink__all_are_delivered),
        CASE(test_sink__refused_points_are_counted_and_not_sent_again),
        CASE(test_sink__fails_over_and_tries_again),
        CASE(test_sink__refused_series_hold_up_no_others),
        CASE(test_sink__words_nobody_knows_hold_up_no_others),
        CASE(test_sink__a_block_of_refused_series_is_put_aside),
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
