/*
 * test_series_rate.c - tokens for new series: a minute's worth at once, then the rate; lines wait, then are refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/err.h"
#include "tsd/ingest/series_rate.h"

#define T0 1000

static struct tsd_series_total total;
static struct ts_buf msg;

static int set_up(void **state)
{
    (void)state;
    tsd_series_total_init(&total, 100, T0);
    ts_buf_init(&msg, 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tsd_series_total_release(&total);
    ts_buf_release(&msg);
    return 0;
}

/* Tokens that can be taken at a time without waiting. */
static unsigned take_all(struct tsd_series_conn *c, uint64_t per_min, int64_t now_ms)
{
    unsigned n = 0;
    ts_buf_clear(&msg);
    while (n < 1000 && tsd_series_take(c, per_min, &total, false, now_ms, &msg) == 0)
        n++;
    return n;
}

static void test_series_rate__a_minutes_worth_then_the_rate(void **state)
{
    (void)state;
    struct tsd_series_conn c = {.started = false};
    assert_int_equal(take_all(&c, 60, T0), 60);
    assert_non_null(strstr(msg.p, "more than 60 in a minute on this connection (new_series_per_min)"));
    assert_int_equal(take_all(&c, 60, T0 + 999), 0);
    assert_int_equal(take_all(&c, 60, T0 + 1000), 1);
    assert_int_equal(take_all(&c, 60, T0 + 11000), 10);
    assert_int_equal(take_all(&c, 60, T0 + 10000), 0); /* a clock that goes back brings nothing */
    assert_int_equal(take_all(&c, 60, T0 + 3600000), 60);
}

static void test_series_rate__all_connections_share_one(void **state)
{
    (void)state;
    struct tsd_series_conn a = {.started = false}, b = {.started = false};
    assert_int_equal(take_all(&a, 60, T0), 60);
    assert_int_equal(take_all(&b, 60, T0), 40);
    assert_non_null(strstr(msg.p, "more than 100 in a minute (new_series_per_min_total)"));
    assert_int_equal(take_all(&b, 60, T0 + 600), 1);
}

/* What all connections together may not create takes nothing from what one may. */
static void test_series_rate__a_refusal_takes_no_token(void **state)
{
    (void)state;
    struct tsd_series_conn a = {.started = false}, b = {.started = false};
    assert_int_equal(take_all(&a, 200, T0), 100);
    for (int i = 0; i < 10; i++)
        assert_int_equal(take_all(&b, 5, T0), 0);
    assert_int_equal(take_all(&b, 5, T0 + 3000), 5);
}

static void test_series_rate__nought_is_no_limit(void **state)
{
    (void)state;
    struct tsd_series_conn c = {.started = false};
    tsd_series_total_release(&total);
    tsd_series_total_init(&total, 0, T0);
    assert_int_equal(take_all(&c, 0, T0), 1000);
}

static void test_series_rate__largest_rates_do_not_overflow(void **state)
{
    (void)state;
    struct tsd_series_conn c = {.started = false};
    tsd_series_total_release(&total);
    tsd_series_total_init(&total, UINT32_MAX, T0);
    assert_int_equal(take_all(&c, UINT32_MAX, T0), 1000);
    assert_int_equal(take_all(&c, UINT32_MAX, INT64_MAX / 2), 1000);
}

static void test_series_rate__a_line_waits_then_it_and_its_followers_are_refused(void **state)
{
    (void)state;
    struct tsd_series_conn c = {.started = false};
    tsd_series_total_release(&total);
    tsd_series_total_init(&total, 1, T0);
    assert_int_equal(take_all(&c, 5, T0), 1);
    assert_int_equal(tsd_series_take(&c, 5, &total, true, T0, &msg), TS_EBUSY);
    assert_int_equal(tsd_series_take(&c, 5, &total, true, T0 + TSD_SERIES_WAIT_MS - 1, &msg), TS_EBUSY);
    assert_int_equal(tsd_series_take(&c, 5, &total, true, T0 + TSD_SERIES_WAIT_MS, &msg), TS_ETIMEOUT);
    assert_int_equal(tsd_series_take(&c, 5, &total, true, T0 + TSD_SERIES_WAIT_MS + 1, &msg), TS_ETIMEOUT);
    assert_int_equal(tsd_series_take(&c, 5, &total, true, T0 + 60000, &msg), 0);
    assert_int_equal(tsd_series_take(&c, 5, &total, true, T0 + 60000, &msg), TS_EBUSY); /* it waits again */
}

static void test_series_rate__a_token_not_needed_is_given_back(void **state)
{
    (void)state;
    struct tsd_series_conn a = {.started = false}, b = {.started = false};
    assert_true(tsd_series_limited(60, &total));
    for (int i = 0; i < 200; i++) {
        assert_true(tsd_series_try(&a, 60, &total, T0));
        tsd_series_give(&a, &total);
    }
    assert_int_equal(take_all(&a, 60, T0), 60);
    assert_false(tsd_series_try(&a, 60, &total, T0));
    assert_int_equal(take_all(&b, 0, T0), 40);
    /* an attempt does not begin a wait */
    assert_false(tsd_series_try(&a, 60, &total, T0 + 1));
    assert_int_equal(tsd_series_take(&a, 60, &total, true, T0 + 500, &msg), TS_EBUSY);
    assert_int_equal(tsd_series_take(&a, 60, &total, true, T0 + 501, &msg), TS_EBUSY);
    tsd_series_total_release(&total);
    tsd_series_total_init(&total, 0, T0);
    assert_true(tsd_series_limited(60, &total));
    assert_false(tsd_series_limited(0, &total));
}

#define T_CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T_CASE(test_series_rate__a_minutes_worth_then_the_rate),
        T_CASE(test_series_rate__all_connections_share_one),
        T_CASE(test_series_rate__a_refusal_takes_no_token),
        T_CASE(test_series_rate__nought_is_no_limit),
        T_CASE(test_series_rate__largest_rates_do_not_overflow),
        T_CASE(test_series_rate__a_token_not_needed_is_given_back),
        T_CASE(test_series_rate__a_line_waits_then_it_and_its_followers_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
