/*
 * test_sink_order.c - values of one series and time arrive in the order in which they came, though some are put aside.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/collectors/t_peer.h"

/* A value that was put aside is not sent behind a newer one of its series and time: by a process that put it aside itself, and by one that
 * found it. */
static void test_sink_order__an_older_value_never_follows_a_newer_one(void **state)
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
static void test_sink_order__of_values_put_aside_the_last_is_sent(void **state)
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
static void test_sink_order__dropped_values_are_not_waited_for(void **state)
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
    wait_empty(later);
    append(s, "new", 1, "77 a=b");
    wait_acked(s, 1001);
    assert_true(col_sink_stop(k, WAIT_MS));
    assert_int_equal(p.newest, 77);
    peer_stop(&p);
    col_spool_close(s);
}

/* A newer value of the same block was taken: the older one, which was not, is out of date. */
static void test_sink_order__what_the_block_overwrites_is_not_put_aside(void **state)
{
    struct peer p;
    struct col_sink_stats st;
    char servers[64];
    (void)state;
    peer_start(&p, FIRST);
    snprintf(servers, sizeof(servers), "127.0.0.1:%u", p.port);
    struct col_spool *s = spool_of(0);
    append(s, "new", 1, "10 a=b");
    append(s, "new", 1, "11 a=b");
    append(s, "new", 2, "12 a=b");
    struct col_sink *k = start(s, servers, WAIT_MS);
    wait_acked(s, 3);
    assert_int_equal(points_in(later), 0);
    assert_true(col_sink_stop(k, WAIT_MS));
    assert_int_equal(p.newest, 11);
    col_spool_close(s);
    s = spool_of(0);
    p.answer = FIRST;
    append(s, "new", 1, "20 a=b");
    append(s, "new", 1, "21 a=c"); /* another series of that time overwrites nothing */
    k = start(s, servers, WAIT_MS);
    wait_acked(s, 2);
    col_sink_stats(k, &st);
    assert_int_equal(st.n_superseded, 0);
    assert_false(col_sink_stop(k, 0)); /* it may have been tried again meanwhile */
    assert_int_equal(points_in(later), 1);
    p.answer = OK;
    k = start(s, servers, WAIT_MS);
    wait_empty(later);
    assert_true(col_sink_stop(k, WAIT_MS));
    assert_int_equal(p.newest, 20);
    peer_stop(&p);
    col_spool_close(s);
}

/* What is refused once more is put behind the others only where there is room: nothing is dropped for it. */
static void test_sink_order__a_full_spool_keeps_what_waits(void **state)
{
    struct col_spool_opts small = {.max_bytes = 8 << 10, .segment_bytes = 1 << 10};
    struct col_spool_stats st, now;
    struct peer p;
    char servers[64];
    (void)state;
    col_spool_close(later);
    assert_int_equal(col_spool_open(&small, &later, NULL), 0);
    for (int i = 0;; i++) { /* as full as it gets */
        col_spool_stats(later, &st);
        if (st.n_bytes + 200 > small.max_bytes)
            break;
        append(later, "new", i, "1 a=b");
    }
    peer_start(&p, NO_ROOM);
    snprintf(servers, sizeof(servers), "127.0.0.1:%u", p.port);
    struct col_spool *s = spool_of(1); /* this one is known */
    struct col_sink_opts opts = {.spool = s,
                                 .later = later,
                                 .servers = servers,
                                 .timeout_ms = WAIT_MS,
                                 .retry_min_ms = 1,
                                 .retry_max_ms = 50,
                                 .block_bytes = 2000};
    struct col_sink *k = col_sink_start(&opts);
    wait_least(&p.n_syncs, 9); /* some tries */
    p.answer = OK;
    wait_empty(later);
    col_spool_stats(later, &now);
    assert_int_equal(now.n_dropped_points, 0);
    assert_true(col_sink_stop(k, WAIT_MS));
    assert_true((uint64_t)p.n_lines > st.n_points); /* the change of answers may repeat some */
    peer_stop(&p);
    col_spool_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_sink_order__an_older_value_never_follows_a_newer_one),
        CASE(test_sink_order__of_values_put_aside_the_last_is_sent),
        CASE(test_sink_order__dropped_values_are_not_waited_for),
        CASE(test_sink_order__what_the_block_overwrites_is_not_put_aside),
        CASE(test_sink_order__a_full_spool_keeps_what_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
