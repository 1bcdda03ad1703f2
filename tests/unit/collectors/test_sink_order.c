/*
 * test_sink_order.c - values of one series and time arrive in the order in which they came, though some are put aside.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/collectors/t_peer.h"

/* A daemon, points for it and a sink between them. */
struct delivery {
    struct peer p;
    struct col_spool *s;       /* points that nobody has sent yet */
    struct col_sink_opts opts; /* of the sink */
    char servers[64];
    struct col_sink *k;
};

static void delivery_begin(struct delivery *d, enum answer answer)
{
    peer_start(&d->p, answer);
    snprintf(d->servers, sizeof(d->servers), "127.0.0.1:%u", d->p.port);
    d->s = spool_of(0);
    d->opts = (struct col_sink_opts){.spool = d->s,
                                     .later = later,
                                     .servers = d->servers,
                                     .timeout_ms = WAIT_MS,
                                     .retry_min_ms = 1,
                                     .retry_max_ms = 50,
                                     .block_bytes = 2000};
}

static void delivery_start(struct delivery *d)
{
    d->k = col_sink_start(&d->opts);
}

static void delivery_end(struct delivery *d)
{
    peer_stop(&d->p);
    col_spool_close(d->s);
}

/* What is put aside has little room: 8 KiB. */
static void small_later(void)
{
    struct col_spool_opts small = {.max_bytes = 8 << 10, .segment_bytes = 1 << 10};
    col_spool_close(later);
    assert_int_equal(col_spool_open(&small, &later, NULL), 0);
}

/* A value that was put aside is not sent behind a newer one of its series and time: by a process that put it aside itself, and by one that
 * found it. */
static void test_sink_order__an_older_value_never_follows_a_newer_one(void **state)
{
    (void)state;
    for (int restart = 0; restart < 2; restart++) {
        struct delivery d;
        delivery_begin(&d, NO_ROOM);
        d.opts.block_bytes = 0;
        d.opts.retry_min_ms = d.opts.retry_max_ms = 1000;
        delivery_start(&d);
        append(d.s, "new", 1, "10 a=b");
        append(d.s, "new", 2, "10 a=b");
        wait_acked(d.s, 2);
        wait_least(&d.p.n_syncs, 4); /* it was sent again once, and a pause begins */
        if (restart)
            assert_false(col_sink_stop(d.k, 0));
        d.p.answer = OK;
        append(d.s, "new", 1, "11 a=b");
        append(d.s, "old", 1, "12 a=b");
        if (restart)
            delivery_start(&d);
        wait_least(&d.p.n_lines, 3);
        for (int i = 0; i < WAIT_MS / 10 && points_in(d.s) + points_in(later); i++)
            usleep(10000);
        assert_true(col_sink_stop(d.k, WAIT_MS));
        assert_int_equal(d.p.newest, 11);
        assert_int_equal(d.p.n_known, 1);
        delivery_end(&d);
    }
}

/* Of many values of one series and time that wait, the last is sent; of other times all are. */
static void test_sink_order__of_values_put_aside_the_last_is_sent(void **state)
{
    struct delivery d;
    struct col_sink_stats st;
    char value[32];
    (void)state;
    delivery_begin(&d, OK);
    d.opts.block_bytes = 140;
    for (int i = 1; i <= 40; i++) {
        snprintf(value, sizeof(value), "%d a=b", i);
        append(later, "new", i % 4 == 3 ? i : 1, value);
    }
    delivery_start(&d);
    wait_acked(later, 40);
    wait_counted(d.k, 11, &st);
    assert_true(col_sink_stop(d.k, 0));
    assert_int_equal(d.p.n_lines, 11);
    assert_int_equal(d.p.newest, 40);
    assert_int_equal(st.n_sent, 11);
    assert_int_equal(st.n_superseded, 29);
    delivery_end(&d);
}

/* The same when the daemon fails first: what was out of date in the try that failed is so in the next one. */
static void test_sink_order__a_failed_try_forgets_no_value(void **state)
{
    struct delivery d;
    struct col_sink_stats st;
    (void)state;
    delivery_begin(&d, CLOSE);
    append(later, "new", 1, "10 a=b");
    append(later, "new", 1, "11 a=b");
    delivery_start(&d);
    wait_least(&d.p.n_syncs, 3);
    d.p.answer = OK;
    wait_acked(later, 2);
    wait_counted(d.k, 1, &st);
    assert_int_equal(st.n_superseded, 1);
    assert_true(col_sink_stop(d.k, WAIT_MS));
    delivery_end(&d);
}

/* Which points wait is counted anew when some of them are dropped because the spool is full: what is left is sent all the same. */
static void test_sink_order__dropped_values_are_not_waited_for(void **state)
{
    struct col_spool_stats st;
    struct delivery d;
    (void)state;
    small_later();
    delivery_begin(&d, NO_ROOM);
    for (int i = 0; i < 1000; i++)
        append(d.s, "new", i % 500, "1 a=b"); /* 18 bytes a line: most do not fit */
    delivery_start(&d);
    wait_acked(d.s, 1000);
    col_spool_stats(later, &st);
    assert_true(st.n_dropped_points > 0);
    d.p.answer = OK;
    wait_empty(later);
    append(d.s, "new", 1, "77 a=b");
    wait_acked(d.s, 1001);
    assert_true(col_sink_stop(d.k, WAIT_MS));
    assert_int_equal(d.p.newest, 77);
    delivery_end(&d);
}

/* And none of it is taken for a value that another one overwrites: all times differ. */
static void test_sink_order__dropped_values_overwrite_nothing(void **state)
{
    struct col_spool_stats st;
    struct col_sink_stats sent;
    struct delivery d;
    (void)state;
    small_later();
    delivery_begin(&d, NO_ROOM);
    for (int i = 0; i < 1000; i++)
        append(d.s, "new", i, "1 a=b");
    delivery_start(&d);
    wait_acked(d.s, 1000);
    col_spool_stats(later, &st);
    assert_true(st.n_dropped_points > 0);
    d.p.answer = OK;
    wait_empty(later);
    col_sink_stats(d.k, &sent);
    assert_int_equal(sent.n_superseded, 0);
    assert_true(col_sink_stop(d.k, WAIT_MS));
    delivery_end(&d);
}

/* A newer value of the same block was taken: the older one, which was not, is out of date. */
static void test_sink_order__what_the_block_overwrites_is_not_put_aside(void **state)
{
    struct delivery d;
    struct col_sink_stats st;
    (void)state;
    delivery_begin(&d, FIRST);
    append(d.s, "new", 1, "10 a=b");
    append(d.s, "new", 1, "11 a=b");
    append(d.s, "new", 2, "12 a=b");
    delivery_start(&d);
    wait_acked(d.s, 3);
    assert_int_equal(points_in(later), 0);
    assert_true(col_sink_stop(d.k, WAIT_MS));
    assert_int_equal(d.p.newest, 11);
    delivery_end(&d);
    delivery_begin(&d, FIRST);
    append(d.s, "new", 1, "20 a=b");
    append(d.s, "new", 1, "21 a=c"); /* another series of that time overwrites nothing */
    delivery_start(&d);
    wait_acked(d.s, 2);
    col_sink_stats(d.k, &st);
    assert_int_equal(st.n_superseded, 0);
    assert_false(col_sink_stop(d.k, 0)); /* it may have been tried again meanwhile */
    assert_int_equal(points_in(later), 1);
    d.p.answer = OK;
    delivery_start(&d);
    wait_empty(later);
    assert_true(col_sink_stop(d.k, WAIT_MS));
    assert_int_equal(d.p.newest, 20);
    delivery_end(&d);
}

/* What is refused once more is put behind the others only where there is room: nothing is dropped for it. */
static void test_sink_order__a_full_spool_keeps_what_waits(void **state)
{
    struct col_spool_stats st, now;
    struct delivery d;
    (void)state;
    small_later();
    for (int i = 0;; i++) { /* as full as it gets */
        col_spool_stats(later, &st);
        if (st.n_bytes + 200 > 8 << 10)
            break;
        append(later, "new", i, "1 a=b");
    }
    delivery_begin(&d, NO_ROOM);
    append(d.s, "m", 1, "1 a=b"); /* this one is known */
    delivery_start(&d);
    wait_least(&d.p.n_syncs, 9); /* some tries */
    d.p.answer = OK;
    wait_empty(later);
    col_spool_stats(later, &now);
    assert_int_equal(now.n_dropped_points, 0);
    assert_true(col_sink_stop(d.k, WAIT_MS));
    assert_true((uint64_t)d.p.n_lines > st.n_points); /* the change of answers may repeat some */
    delivery_end(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_sink_order__an_older_value_never_follows_a_newer_one),
        CASE(test_sink_order__of_values_put_aside_the_last_is_sent),
        CASE(test_sink_order__a_failed_try_forgets_no_value),
        CASE(test_sink_order__dropped_values_are_not_waited_for),
        CASE(test_sink_order__dropped_values_overwrite_nothing),
        CASE(test_sink_order__what_the_block_overwrites_is_not_put_aside),
        CASE(test_sink_order__a_full_spool_keeps_what_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
