/*
 * test_timeformat.c - times by formats: all letters, zones, what does not match, days that do not exist.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/time.h"

static int64_t read_ms(const char *text, const char *format, const struct ts_tz *tz)
{
    struct ts_error err = {0};
    int64_t ms = -1;
    if (ts_time_format_read(ts_slice_str(text), ts_slice_str(format), tz, &ms, &err) < 0)
        fail_msg("%s by %s: %s", text, format, err.text);
    assert_int_equal(err.code, 0);
    return ms;
}

static void test_timeformat__letters_mean_what_strptime_says(void **state)
{
    (void)state;
    assert_int_equal(read_ms("2026-11-02 06:30:15", "%Y-%m-%d %H:%M:%S", NULL), 1793601015000);
    assert_int_equal(read_ms("2/Nov/2026", "%d/%b/%Y", NULL), 1793577600000);
    assert_int_equal(read_ms("Mon, november 2 26", "%a, %B %e %y", NULL), 1793577600000);
    assert_int_equal(read_ms("monday2026306", "%A%Y%j", NULL), 1793577600000);
    assert_int_equal(read_ms("20261102T063015.25Z", "%Y%m%dT%H%M%S.%f%z", NULL), 1793601015250);
    assert_int_equal(read_ms("2026-11-02T07:30:15+01:00", "%FT%T%z", NULL), 1793601015000);
    assert_int_equal(read_ms("2026-11-02 02:00-0430", "%F %H:%M%z", NULL), 1793601000000);
    assert_int_equal(read_ms("11/2/2026 12:05 am", "%m/%d/%Y %I:%M %p", NULL), 1793577900000);
    assert_int_equal(read_ms("11/2/2026 12:05PM", "%m/%d/%Y %I:%M %p", NULL), 1793621100000);
    assert_int_equal(read_ms("1793601015.7", "%s.%f", NULL), 1793601015700);
    assert_int_equal(read_ms("-1", "%s", NULL), -1000);
    assert_int_equal(read_ms("50% 2026", "50%% %Y", NULL), 1767225600000);
    assert_int_equal(read_ms("70", "%y", NULL), 0);
    assert_int_equal(read_ms("2026-11-02 24", "%F %H", NULL), 1793664000000);
}

static void test_timeformat__a_zone_counts_unless_the_text_has_one(void **state)
{
    const struct ts_tz *berlin;
    (void)state;
    assert_int_equal(ts_tz_open(TS_SLICE_LIT("Europe/Berlin"), &berlin, NULL), 0);
    assert_int_equal(read_ms("2026-07-01 02", "%F %H", berlin), 1782864000000);
    assert_int_equal(read_ms("2026-07-01 02Z", "%F %H%z", berlin), 1782871200000);
    assert_int_equal(read_ms("1782864000", "%s", berlin), 1782864000000);
}

static void test_timeformat__a_clock_reading_that_the_zone_leaves_out_is_refused(void **state)
{
    const struct ts_tz *berlin, *sao_paulo;
    struct ts_error err = {0};
    int64_t ms;
    (void)state;
    assert_int_equal(ts_tz_open(TS_SLICE_LIT("Europe/Berlin"), &berlin, NULL), 0);
    assert_int_equal(
        ts_time_format_read(TS_SLICE_LIT("2026-03-29 02:30"), TS_SLICE_LIT("%F %H:%M"), berlin, &ms, &err),
        TS_ENOTFOUND);
    assert_string_equal(
        err.text,
        "the time \"2026-03-29 02:30\" does not exist in Europe/Berlin: the clock is set forward there");
    assert_int_equal(read_ms("2026-03-29 03:00", "%F %H:%M", berlin), 1774746000000);
    assert_int_equal(read_ms("2026-10-25 02:30", "%F %H:%M", berlin), 1792888200000);
    /* a day whose midnight is left out begins an hour later */
    assert_int_equal(ts_tz_open(TS_SLICE_LIT("America/Sao_Paulo"), &sao_paulo, NULL), 0);
    assert_int_equal(read_ms("2018-11-04", "%F", sao_paulo), 1541300400000);
}

static void refuse(const char *text, const char *format, const char *want)
{
    struct ts_error err = {0};
    int64_t ms;
    assert_int_equal(ts_time_format_read(ts_slice_str(text), ts_slice_str(format), NULL, &ms, &err),
                     TS_EPARSE);
    assert_string_equal(err.text, want);
}

static void test_timeformat__what_differs_is_named(void **state)
{
    (void)state;
    refuse("2026-13-02", "%Y-%m-%d", "the time \"2026-13-02\" has no %m at its character 6");
    refuse("2026/11", "%Y-%m", "the time \"2026/11\" has no - at its character 5");
    refuse("2026-02-29", "%F", "the time \"2026-02-29\" names a day that does not exist");
    refuse("2026366", "%Y%j", "the time \"2026366\" names a day that does not exist");
    refuse("2026x", "%Y", "the time \"2026x\" goes on behind its format, at character 5");
    refuse("", "%Y", "the time \"\" has no %Y at its character 1");
    refuse("2026", "%Y%z", "the time \"2026\" has no %z at its character 5");
    refuse("x", "%s", "the time \"x\" has no %s at its character 1");
}

static void test_timeformat__formats_are_checked(void **state)
{
    struct ts_error err = {0};
    (void)state;
    assert_int_equal(ts_time_format_check(TS_SLICE_LIT("%Y-%m-%dT%H:%M:%S"), NULL), 0);
    assert_int_equal(ts_time_format_check(TS_SLICE_LIT("%s"), NULL), 0);
    assert_int_equal(ts_time_format_check(TS_SLICE_LIT("%H:%M"), &err), TS_EPARSE);
    assert_int_equal(ts_time_format_check(TS_SLICE_LIT("%Y %Q"), &err), TS_EPARSE);
    assert_string_equal(err.text, "a format of time knows no %Q");
    assert_int_equal(ts_time_format_check(TS_SLICE_LIT("%Y%"), &err), TS_EPARSE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_timeformat__letters_mean_what_strptime_says),
        cmocka_unit_test(test_timeformat__a_clock_reading_that_the_zone_leaves_out_is_refused),
        cmocka_unit_test(test_timeformat__a_zone_counts_unless_the_text_has_one),
        cmocka_unit_test(test_timeformat__what_differs_is_named),
        cmocka_unit_test(test_timeformat__formats_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
