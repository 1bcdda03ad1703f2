/*
 * test_check_range.c - thresholds of monitoring plug-ins: which values raise an alert, and what is refused.
 */
#include "tsd/commands/check_range.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static struct tsd_check_range t_range(const char *text, bool durations)
{
    struct tsd_check_range r = {0};
    struct ts_error err = {0};
    if (tsd_check_range_parse(text, durations, &r, &err) < 0)
        fail_msg("%s: %s", text, err.text);
    return r;
}

/* values: numbers that must raise an alert, then numbers that must not, each list ended by NAN. */
static void t_alerts(const char *text, const double *alerts, const double *fine)
{
    struct tsd_check_range r = t_range(text, false);
    for (; !isnan(*alerts); alerts++)
        if (!tsd_check_range_alerts(&r, *alerts))
            fail_msg("%s: no alert for %g", text, *alerts);
    for (; !isnan(*fine); fine++)
        if (tsd_check_range_alerts(&r, *fine))
            fail_msg("%s: an alert for %g", text, *fine);
}

#define T_LIST(...) ((const double[]){__VA_ARGS__, NAN})

static void test_check_range__examples_of_the_guidelines_hold(void **state)
{
    (void)state;
    t_alerts("10", T_LIST(-0.1, 10.1, 1e300), T_LIST(0, 5, 10));
    t_alerts("10:", T_LIST(9.9, -1, -INFINITY), T_LIST(10, 11, INFINITY));
    t_alerts("~:10", T_LIST(10.1, INFINITY), T_LIST(10, 0, -5, -INFINITY));
    t_alerts("10:20", T_LIST(9.9, 20.1), T_LIST(10, 15, 20));
    t_alerts("@10:20", T_LIST(10, 15, 20), T_LIST(9.9, 20.1));
    t_alerts("@10", T_LIST(0, 10), T_LIST(-1, 11));
    t_alerts("-5:-2.5", T_LIST(-6, -2), T_LIST(-5, -3, -2.5));
    t_alerts("0", T_LIST(1, -1), T_LIST(0));
}

static void test_check_range__what_was_not_given_raises_no_alert(void **state)
{
    struct tsd_check_range r = {0};
    struct ts_buf out;
    (void)state;
    ts_buf_init(&out, 0);
    assert_false(tsd_check_range_alerts(&r, 1));
    tsd_check_range_print(&r, &out);
    assert_int_equal(out.n, 0);
    ts_buf_release(&out);
}

static void test_check_range__durations_become_seconds(void **state)
{
    (void)state;
    struct tsd_check_range r = t_range("10m:1h30m", true);
    assert_true(r.low == 600 && r.high == 5400);
    r = t_range("~:500ms", true);
    assert_true(isinf(r.low) && r.high == 0.5);
    r = t_range("90", true);
    assert_true(r.low == 0 && r.high == 90);
}

static void test_check_range__printing_gives_what_was_read(void **state)
{
    static const char *const same[] = {"10",   "10:",  "~:10", "10:20", "@10:20", "@5",
                                       "-5:2", "~:-1", "2.5",  "0:",    "@~:3",   "1000000:"};
    (void)state;
    for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
        struct tsd_check_range r = t_range(same[i], false);
        struct ts_buf out;
        ts_buf_init(&out, 0);
        tsd_check_range_print(&r, &out);
        ts_buf_char(&out, 0);
        assert_string_equal(out.p, same[i]);
        ts_buf_release(&out);
    }
}

static void test_check_range__what_is_no_range_is_refused(void **state)
{
    static const char *const bad[] = {"",    ":",   "@",     "@:",    "20:10", "ten",   "1:2:3",
                                      "10m", "5:~", "1 000", "nan:1", "1:inf", "1,5:2", "~"};
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct tsd_check_range r = {.low = 7};
        struct ts_error err = {0};
        if (tsd_check_range_parse(bad[i], false, &r, &err) != TS_EINVAL)
            fail_msg("\"%s\" was taken", bad[i]);
        assert_non_null(strstr(err.text, "is no range"));
        assert_true(r.low == 7 && !r.given);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_check_range__examples_of_the_guidelines_hold),
        cmocka_unit_test(test_check_range__what_was_not_given_raises_no_alert),
        cmocka_unit_test(test_check_range__durations_become_seconds),
        cmocka_unit_test(test_check_range__printing_gives_what_was_read),
        cmocka_unit_test(test_check_range__what_is_no_range_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
