/*
 * test_time.c - clocks, civil dates, durations, every form of time text.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/time.h"

#define SEED   0xd1342543de82ef95ull
#define NOW_MS 1600000000123ll
#include "base_kit.h"

static void t_expect(const char *text, const char *zone, bool strict, int64_t want_ms, bool want_date)
{
    struct ts_error err = {0};
    int64_t ms = -1;
    bool is_date = !want_date;
    if (ts_time_parse(ts_slice_str(text), zone ? t_tz(zone) : NULL, NOW_MS, strict, &ms, &is_date, &err) != 0)
        fail_msg("%s: %s", text, err.text);
    if (ms != want_ms || is_date != want_date)
        fail_msg("%s: %lld, date %d", text, (long long)ms, is_date);
    assert_int_equal(
        ts_time_parse(ts_slice_str(text), zone ? t_tz(zone) : NULL, NOW_MS, strict, &ms, NULL, NULL), 0);
}

/* How messages end that are not OpenTSDB's. */
#define FORMS                                                                                                \
    "Times are 2026/11/01, 2026-11-01T13:30:00+01:00, 2026-11, 2026, today, yesterday, monday, now-90m, "    \
    "1h-ago, "                                                                                               \
    "2days, or seconds or milliseconds since 1970"
#define SPANS "Durations are 90m, 1h30m, 90min, 2 days, 1week. "

static void t_expect_error(const char *text, bool strict, const char *message)
{
    struct ts_error err = {0};
    int64_t ms;
    int rc = ts_time_parse(ts_slice_str(text), NULL, NOW_MS, strict, &ms, NULL, &err);
    if (rc != TS_EPARSE || strcmp(err.text, message) != 0)
        fail_msg("%s: %d %s", text, rc, err.text);
}

static void test_time__clocks_run_and_the_wall_can_be_faked(void **state)
{
    (void)state;
    int64_t real = ts_clock_ms();
    assert_true(real > 1600000000000);
    ts_clock_set_fake(42);
    assert_int_equal(ts_clock_ms(), 42);
    ts_clock_set_fake(0);
    assert_true(ts_clock_ms() >= real);
    int64_t a = ts_clock_mono_ns();
    assert_true(ts_clock_mono_ns() >= a);
}

static void test_time__floor_division_goes_down_before_1970(void **state)
{
    (void)state;
    assert_int_equal(ts_floor_div(-1, 1000), -1);
    assert_int_equal(ts_floor_mod(-1, 1000), 999);
    assert_int_equal(ts_floor_div(-1000, 1000), -1);
    assert_int_equal(ts_floor_mod(-1000, 1000), 0);
    assert_int_equal(ts_floor_div(999, 1000), 0);
    assert_true(ts_floor_div(INT64_MIN, TS_HOUR_MS) * (__int128)TS_HOUR_MS <= INT64_MIN);
}

static void test_time__civil_dates_agree_with_the_c_library(void **state)
{
    (void)state;
    for (int i = 0; i < 200000; i++) {
        int64_t t =
            (int64_t)(t_rand() % 400000000000000ull) - 200000000000000; /* some 6,300 years around 1970 */
        struct ts_civil c = ts_civil_from_ms(NULL, t);
        struct tm tm = {.tm_year = c.year - 1900,
                        .tm_mon = c.month - 1,
                        .tm_mday = c.day,
                        .tm_hour = c.hour,
                        .tm_min = c.minute,
                        .tm_sec = c.second};
        assert_int_equal((int64_t)timegm(&tm) * 1000 + c.ms, t);
        assert_int_equal(ts_civil_to_ms(c.year, c.month, c.day, c.hour, c.minute, c.second) + c.ms, t);
        assert_int_equal(tm.tm_mday, c.day); /* timegm would have put an impossible date right */
    }
}

static void test_time__civil_dates_hold_at_the_edges(void **state)
{
    (void)state;
    static const struct {
        int64_t ms;
        struct ts_civil c;
    } rows[] = {
        {0, {1970, 1, 1, 0, 0, 0, 0}},
        {-1, {1969, 12, 31, 23, 59, 59, 999}},
        {951782400000, {2000, 2, 29, 0, 0, 0, 0}},
        {-2203891200000, {1900, 3, 1, 0, 0, 0, 0}},
        {4107542400000, {2100, 3, 1, 0, 0, 0, 0}},
        {-62167219200000, {0, 1, 1, 0, 0, 0, 0}},
        {INT64_MAX, {292278994, 8, 17, 7, 12, 55, 807}},
        {INT64_MIN, {-292275055, 5, 16, 16, 47, 4, 192}},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct ts_civil c = ts_civil_from_ms(NULL, rows[i].ms);
        assert_int_equal(c.year, rows[i].c.year);
        assert_int_equal(c.month, rows[i].c.month);
        assert_int_equal(c.day, rows[i].c.day);
        assert_int_equal(c.hour, rows[i].c.hour);
        assert_int_equal(c.minute, rows[i].c.minute);
        assert_int_equal(c.second, rows[i].c.second);
        assert_int_equal(c.ms, rows[i].c.ms);
    }
    assert_true(ts_civil_to_ms(INT32_MAX, 12, 31, 0, 0, 0) == INT64_MAX);
    assert_true(ts_civil_to_ms(INT32_MIN, 1, 1, 0, 0, 0) == INT64_MIN);
    (void)ts_civil_from_ms(t_tz("Asia/Kathmandu"), INT64_MAX);
    (void)ts_civil_from_ms(t_tz("America/New_York"), INT64_MIN);
}

static void test_time__civil_dates_roll_over(void **state)
{
    (void)state;
    assert_int_equal(ts_civil_to_ms(2017, 13, 1, 0, 0, 0), ts_civil_to_ms(2018, 1, 1, 0, 0, 0));
    assert_int_equal(ts_civil_to_ms(2017, 0, 1, 0, 0, 0), ts_civil_to_ms(2016, 12, 1, 0, 0, 0));
    assert_int_equal(ts_civil_to_ms(2017, -11, 1, 0, 0, 0), ts_civil_to_ms(2016, 1, 1, 0, 0, 0));
    assert_int_equal(ts_civil_to_ms(2017, 2, 30, 0, 0, 0), ts_civil_to_ms(2017, 3, 2, 0, 0, 0));
    assert_int_equal(ts_civil_to_ms(2017, 1, 0, 24, 60, 60), ts_civil_to_ms(2017, 1, 1, 1, 1, 0));
}

static void test_time__durations_are_read_as_opentsdb_reads_them(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t n;
        enum ts_unit unit;
        int64_t ms;
    } rows[] = {
        {"500ms", 500, TS_UNIT_MS, 500},
        {"90s", 90, TS_UNIT_S, 90000},
        {"90m", 90, TS_UNIT_M, 5400000},
        {"1M", 1, TS_UNIT_M, 60000},
        {"2h", 2, TS_UNIT_H, 7200000},
        {"1d", 1, TS_UNIT_D, 86400000},
        {"1w", 1, TS_UNIT_W, 604800000},
        {"1n", 1, TS_UNIT_N, 2592000000},
        {"1y", 1, TS_UNIT_Y, 31536000000},
        {"1.5h", 1, TS_UNIT_H, 3600000},
        {"5minutes", 5, TS_UNIT_S, 5000},
        {"007d", 7, TS_UNIT_D, 604800000},
        {"9223372036854775807ms", INT64_MAX, TS_UNIT_MS, INT64_MAX},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int64_t n, ms;
        enum ts_unit unit;
        assert_int_equal(ts_duration_parse(ts_slice_str(rows[i].text), &n, &unit, &ms, NULL), 0);
        assert_int_equal(n, rows[i].n);
        assert_int_equal(unit, rows[i].unit);
        assert_int_equal(ms, rows[i].ms);
        assert_int_equal(ts_duration_parse(ts_slice_str(rows[i].text), NULL, NULL, NULL, NULL), 0);
    }
}

static void test_time__bad_durations_get_opentsdbs_words(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"0s", "Zero or negative duration: 0s"},
        {"5", "Invalid duration, must have an integer and unit: 5"},
        {"", "Invalid duration, must have an integer and unit: "},
        {"1x", "Invalid duration (suffix): 1x"},
        {"ms", "Invalid duration (number): ms"},
        {"-5m", "Invalid duration (number): -5m"},
        {"9223372036854775808ms", "Invalid duration (number): 9223372036854775808ms"},
        {"9223372036854775807s", "Invalid duration (number): 9223372036854775807s"},
        {"300000000y", "Invalid duration (number): 300000000y"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct ts_error err = {0};
        assert_int_equal(ts_duration_parse(ts_slice_str(rows[i].text), NULL, NULL, NULL, &err), TS_EPARSE);
        assert_string_equal(err.text, rows[i].message);
    }
}

static void test_time__numbers_are_seconds_up_to_ten_digits(void **state)
{
    (void)state;
    for (int strict = 0; strict < 2; strict++) {
        t_expect("1500000000", NULL, strict, 1500000000000, false);
        t_expect("1500000000123", NULL, strict, 1500000000123, false);
        t_expect("1500000000.123", NULL, strict, 1500000000123, false);
        t_expect("15000000001", NULL, strict, 15000000001, false);
        t_expect("1500000000ms", NULL, strict, 1500000000, false);
        t_expect("0", NULL, strict, 0, false);
        t_expect("00000000001", NULL, strict, 1, false);
        t_expect("9223372036854775807", NULL, strict, INT64_MAX, false);
    }
    t_expect("1500000000.5", NULL, true, 15000000005, false); /* OpenTSDB deletes the dot */
    t_expect("1500000000.5", NULL, false, 1500000000500, false);
    t_expect("1500000000.05", NULL, false, 1500000000050, false);
    t_expect("1.5", NULL, false, 1500, false);
}

static void test_time__relative_times_count_from_now(void **state)
{
    (void)state;
    t_expect("now", NULL, true, NOW_MS, false);
    t_expect("NoW", NULL, false, NOW_MS, false);
    t_expect("90m-ago", NULL, true, NOW_MS - 5400000, false);
    t_expect("1n-AGO", NULL, true, NOW_MS - 2592000000, false);
    t_expect("500ms-ago", NULL, true, NOW_MS - 500, false);
    t_expect("9223372036854775807ms-ago", NULL, true, NOW_MS - INT64_MAX, false);
    t_expect_error("0s-ago", true, "Zero or negative duration: 0s");
    t_expect_error("-ago", true, "Invalid duration, must have an integer and unit: ");
    t_expect("now-90m", NULL, false, NOW_MS - 5400000, false);
    t_expect("now+1h", NULL, false, NOW_MS + 3600000, false);
    t_expect("now 1h", NULL, false, NOW_MS + 3600000, false); /* as + arrives in a URL */
    t_expect("1d", NULL, false, NOW_MS - 86400000, false);
    t_expect("-1d", NULL, false, NOW_MS - 86400000, false);
    t_expect("-1500ms", NULL, false, -1500, false); /* milliseconds of 1969 */
    t_expect_error("1x-ago", false, "Invalid time: 1x-ago. " SPANS FORMS);
    t_expect("2 days ago", NULL, false, NOW_MS - 2 * TS_DAY_MS, false);
    t_expect("1hours", NULL, false, NOW_MS - 3600000, false);
    t_expect("now-2weeks", NULL, false, NOW_MS - 14 * TS_DAY_MS, false);
    t_expect("90min-ago", NULL, false, NOW_MS - 5400000, false);
    t_expect_error("1xh-ago", false, "Invalid time: 1xh-ago. " SPANS FORMS);
    t_expect_error("ago", false, "Invalid time: ago. " FORMS);
    t_expect_error(" ago", false, "Invalid time:  ago. " SPANS FORMS);
    t_expect_error("-15", false, "Invalid time: -15. Seconds before 1970 are written as a date. " FORMS);
    t_expect_error("now-", false, "Invalid time: now-. " FORMS);
    t_expect_error("noon", false, "Invalid time: noon. " FORMS);
    t_expect_error("12a", false, "Invalid time: 12a. " SPANS FORMS);
}

static void test_time__dates_are_told_by_length_and_taken_in_the_zone(void **state)
{
    (void)state;
    t_expect("2017/03/12", NULL, true, 1489276800000, true);
    t_expect("2017/03/12-01:02", NULL, true, 1489280520000, false);
    t_expect("2017/03/12 01:02", NULL, true, 1489280520000, false);
    t_expect("2017/03/12-01:02:03", NULL, true, 1489280523000, false);
    t_expect("2017/03/12 01:02:03", NULL, true, 1489280523000, false);
    t_expect("2017/03/12", "America/New_York", true, 1489294800000, true);
    t_expect("2017/03/13-00:00", "America/New_York", true, 1489377600000, false);
    t_expect("2017/03/12", "Asia/Kathmandu", true, 1489276800000 - 20700000, true);
    t_expect("2017/13/01", NULL, true, 1514764800000, true);
    t_expect("2017/02/30", NULL, true, 1488412800000, true);
    t_expect("1969/12/31", NULL, true, -86400000, true);
}

static void test_time__iso_dates_are_read_unless_strict(void **state)
{
    (void)state;
    t_expect("2017-03-12", NULL, false, 1489276800000, true);
    t_expect("2017-03-12", "America/New_York", false, 1489294800000, true);
    t_expect("2017-03-12T01:02", NULL, false, 1489280520000, false);
    t_expect("2017-03-12T01:02Z", "America/New_York", false, 1489280520000, false);
    t_expect("2017-03-12T01:02:03", NULL, false, 1489280523000, false);
    t_expect("2017-03-12 01:02:03", NULL, false, 1489280523000, false);
    t_expect("2017-03-12T01:02:03.5Z", NULL, false, 1489280523500, false);
    t_expect("2017-03-12T01:02:03.045Z", NULL, false, 1489280523045, false);
    t_expect_error("2017-03-12T01:02:03Z", true, "Invalid absolute date: 2017-03-12T01:02:03Z");
    t_expect_error("2017-03-12", true, "Invalid time: 2017-03-12. Invalid character '-' in 2017-03-12");
    t_expect("2017-03-12T1:02", NULL, false, 1489280520000, false);
    t_expect("2017-03-12T01", NULL, false, 1489280400000, false);
    t_expect("2017/03/12-01", NULL, false, 1489280400000, false);
    t_expect("2017-03-12 1", NULL, false, 1489280400000, false);
    t_expect("2017-03-12T01Z", "America/New_York", false, 1489280400000, false);
    t_expect("2017-03-12T01+01:00", NULL, false, 1489276800000, false);
    t_expect_error("2017-03-12T24", false,
                   "Invalid time: 2017-03-12T24. There is no such time of day. " FORMS);
    t_expect_error("2017-03-12T01:", false,
                   "Invalid time: 2017-03-12T01:. There is no such time of day. " FORMS);
    t_expect_error("2017-03-12T0102", false,
                   "Invalid time: 2017-03-12T0102. There is no such time of day. " FORMS);
    t_expect("2017/3/12", NULL, false, 1489276800000, true);
    t_expect("2017-03", "America/New_York", false, 1488344400000, true);
    t_expect("2017/03/12-01:02", NULL, false, 1489280520000, false);
    t_expect("2017-03-12T01:02:03+00:00", "America/New_York", false, 1489280523000, false);
    t_expect("2017-03-12T01:02:03+23:59", NULL, false, 1489194183000, false);
    t_expect_error("2017-03-12T01:02:03+24:00", false,
                   "Invalid time: 2017-03-12T01:02:03+24:00. There is no such time of day. " FORMS);
    t_expect_error("2017-03-12T01:02:03-05:60", false,
                   "Invalid time: 2017-03-12T01:02:03-05:60. There is no such time of day. " FORMS);
    t_expect("2017-03-12T01:02:03 05:45", NULL, false, 1489280523000 - 20700000, false);
    t_expect("2017-03-12 01:02:03-0330", NULL, false, 1489280523000 + 12600000, false);
    t_expect("2017-03-12T01:02:03.123456789Z", NULL, false, 1489280523123, false);
    t_expect_error("2017-03-12T01:02:03.Z", false,
                   "Invalid time: 2017-03-12T01:02:03.Z. There is no such time of day. " FORMS);
    t_expect_error("2017-02-30", false, "Invalid time: 2017-02-30. There is no such day. " FORMS);
    t_expect_error("2017/02/29", false, "Invalid time: 2017/02/29. There is no such day. " FORMS);
    t_expect_error("2017/13/01", false, "Invalid time: 2017/13/01. There is no such month. " FORMS);
    t_expect_error("2017/03/01 24:00", false,
                   "Invalid time: 2017/03/01 24:00. There is no such time of day. " FORMS);
    t_expect_error("2017/03/1x", false, "Invalid time: 2017/03/1x. " FORMS);
    t_expect_error("2017/03-01", false, "Invalid time: 2017/03-01. " FORMS);
}

static void test_time__digits_that_look_like_a_date_are_one_unless_strict(void **state)
{
    (void)state;
    t_expect("2017", NULL, false, 1483228800000, true);
    t_expect("2017", "America/New_York", false, 1483246800000, true);
    t_expect("20170312", NULL, false, 1489276800000, true);
    t_expect("2017", NULL, true, 2017000, false);
    t_expect("20170312", NULL, true, 20170312000, false);
    t_expect("20170312.0", NULL, false, 20170312000, false);
    t_expect("20170312000ms", NULL, false, 20170312000, false);
    t_expect("1969", NULL, false, 1969000, false);
    t_expect("2200", NULL, false, 2200000, false);
    t_expect("15000000", NULL, false, 15000000000, false);
    t_expect("201713", NULL, false, 201713000, false);
    t_expect_error("201703", false,
                   "Invalid time: 201703. Write a month as 2026-11, seconds so near to 1970 with .0. " FORMS);
    t_expect_error(
        "20170230", false,
        "Invalid time: 20170230. There is no such day; write seconds so near to 1970 with .0. " FORMS);
}

static void t_expect_alone(const char *text, const char *zone, int64_t want_from_ms, int64_t want_to_ms)
{
    int64_t from_ms = 0, to_ms = 0;
    struct ts_error err = {0};
    if (ts_time_parse_alone(ts_slice_str(text), zone ? t_tz(zone) : NULL, NOW_MS, &from_ms, &to_ms, &err) !=
        0)
        fail_msg("%s: %s", text, err.text);
    if (from_ms != want_from_ms || to_ms != want_to_ms)
        fail_msg("%s: %lld to %lld", text, (long long)from_ms, (long long)to_ms);
}

static void test_time__a_start_alone_is_until_now_or_the_range_it_names(void **state)
{
    const int64_t today_ms = NOW_MS - NOW_MS % TS_DAY_MS;
    (void)state;
    t_expect_alone("1h-ago", NULL, NOW_MS - TS_HOUR_MS, NOW_MS);
    t_expect_alone("2017-03-12", NULL, 1489276800000, NOW_MS);
    t_expect_alone("20170312", NULL, 1489276800000, NOW_MS);
    t_expect_alone("today", NULL, today_ms, NOW_MS);
    t_expect_alone("yesterday", NULL, today_ms - TS_DAY_MS, today_ms - 1);
    t_expect_alone("tomorrow", NULL, today_ms + TS_DAY_MS, today_ms + 2 * TS_DAY_MS - 1);
    t_expect_alone("2017-03", NULL, 1488326400000, 1491004800000 - 1);
    t_expect_alone("2017/03", "America/New_York", 1488344400000, 1491019200000 - 1);
    t_expect_alone("2016", NULL, 1451606400000, 1483228800000 - 1);
}

static void t_expect_end(const char *text, const char *zone, bool strict, int64_t want_ms)
{
    int64_t ms = 0;
    struct ts_error err = {0};
    if (ts_time_parse_end(ts_slice_str(text), zone ? t_tz(zone) : NULL, NOW_MS, strict, &ms, &err) != 0)
        fail_msg("%s: %s", text, err.text);
    if (ms != want_ms)
        fail_msg("%s: %lld", text, (long long)ms);
}

static void test_time__a_day_or_month_named_as_the_end_is_in_the_range(void **state)
{
    (void)state;
    t_expect_end("2017-03-12", NULL, false, 1489276800000 + TS_DAY_MS - 1);
    t_expect_end("2017/03/12", NULL, true, 1489276800000 + TS_DAY_MS - 1);
    t_expect_end("2017/03/12", "America/New_York", false, 1489294800000 + 23 * TS_HOUR_MS - 1); /* spring */
    t_expect_end("2017-02", NULL, false, 1488326400000 - 1);
    t_expect_end("2017-03-12T01:02", NULL, false, 1489280520000);
    t_expect_end("2017-03-12T01", NULL, false, 1489280400000);
    t_expect_end("1500000000", NULL, false, 1500000000000);
    t_expect_end("now", NULL, true, NOW_MS);
}

static void test_time__named_days_are_the_zones(void **state)
{
    (void)state;
    for (int z = 0; z < 3; z++) {
        const char *zone = z == 0 ? NULL : z == 1 ? "Pacific/Kiritimati" : "Pacific/Pago_Pago";
        int64_t today = ts_calendar_floor(zone ? t_tz(zone) : NULL, NOW_MS, 1, TS_UNIT_D);
        t_expect("today", zone, false, today, true);
        t_expect("Yesterday", zone, false, today - TS_DAY_MS, true);
        t_expect("tomorrow", zone, false, today + TS_DAY_MS, true);
        t_expect_end("yesterday", zone, false, today - 1);
    }
    t_expect_error("today", true, "Invalid time: today. Invalid character 't' in today");
}

static void test_time__iso_times_are_printed_and_read_back(void **state)
{
    (void)state;
    static const struct {
        const char *zone;
        int64_t ms;
        const char *text;
    } rows[] = {{NULL, 0, "1970-01-01T00:00:00Z"},
                {NULL, -1, "1969-12-31T23:59:59.999Z"},
                {"Asia/Kathmandu", 1500000000000, "2017-07-14T08:25:00+05:45"},
                {"America/St_Johns", 1500000000250, "2017-07-14T00:10:00.250-02:30"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct ts_buf b;
        ts_buf_init(&b, 0);
        ts_time_print(rows[i].zone ? t_tz(rows[i].zone) : NULL, rows[i].ms, false, &b);
        if (!ts_slice_is(ts_buf_get(&b), rows[i].text))
            fail_msg("%.*s", (int)b.n, b.p);
        ts_buf_release(&b);
        t_expect(rows[i].text, "Asia/Tokyo", false, rows[i].ms, false);
    }
}

static void test_time__bad_times_get_opentsdbs_words(void **state)
{
    (void)state;
    t_expect_error("", true, "Invalid time: . Empty string");
    t_expect_error(
        "", false,
        "Invalid time: . The text is empty. Times are 2026/11/01, 2026-11-01T13:30:00+01:00, 2026-11, 2026, "
        "today, yesterday, monday, now-90m, 1h-ago, 2days, or seconds or milliseconds since 1970");
    t_expect_error("-5", true, "Invalid time: -5. Negative timestamps are not supported.");
    t_expect_error("12a", true, "Invalid time: 12a. Invalid character 'a' in 12a");
    t_expect_error("2017/3/1", true, "Invalid absolute date: 2017/3/1");
    t_expect_error("01:02", true, "Invalid absolute date: 01:02");
    t_expect_error("2017/03/1x", true, "Invalid date: 2017/03/1x. Unparseable date: \"2017/03/1x\"");
    t_expect_error("2017/03/12+01:02", true,
                   "Invalid date: 2017/03/12+01:02. Unparseable date: \"2017/03/12+01:02\"");
    t_expect_error("//////////", true, "Invalid date: //////////. Unparseable date: \"//////////\"");
    t_expect_error("99999999999999999999", true,
                   "Invalid time: 99999999999999999999. Value too long: 99999999999999999999");
    t_expect_error("99999999999999999999ms", true,
                   "Invalid time: 99999999999999999999ms. Value too long: 99999999999999999999");
    static const char *const dotted[] = {"1500000000.", "1500000000.1234", "150000000.5",
                                         ".5",          "15000000000.5",   "1500000000.1x"};
    for (size_t i = 0; i < sizeof(dotted) / sizeof(dotted[0]); i++) {
        char message[TS_ERROR_TEXT_BYTES];
        snprintf(message, sizeof(message),
                 "Invalid time: %s. Millisecond timestamps must be in the format <seconds>.<ms> where the "
                 "milliseconds are limited to 3 digits",
                 dotted[i]);
        t_expect_error(dotted[i], true, message);
    }
}

static void test_time__long_texts_are_cut_in_messages(void **state)
{
    (void)state;
    static char text[5000];
    struct ts_error err = {0};
    int64_t ms;
    for (int c = 0; c < 4; c++) {
        memset(text, "a/.9"[c], sizeof(text));
        assert_int_equal(
            ts_time_parse((struct ts_slice){text, sizeof(text)}, NULL, NOW_MS, c % 2, &ms, NULL, &err),
            TS_EPARSE);
        assert_true(strlen(err.text) > 20);
    }
}

static void test_time__an_exact_duration_has_units(void **state)
{
    static const struct {
        const char *text;
        int64_t ms;
    } good[] = {{"7d", 7 * TS_DAY_MS},
                {"500ms", 500},
                {"10M", 600000},
                {"1n", 30 * TS_DAY_MS},
                {"2Y", 730 * TS_DAY_MS},
                {"7days", 7 * TS_DAY_MS},
                {"1month", 30 * TS_DAY_MS},
                {"2hours", 2 * TS_HOUR_MS},
                {"30minutes", 1800000},
                {"10min", 600000},
                {"1 day", TS_DAY_MS},
                {"2  Weeks", 14 * TS_DAY_MS},
                {"5 milliseconds", 5},
                {"90sec", 90000},
                {"1hr", TS_HOUR_MS},
                {"1year", 365 * TS_DAY_MS},
                {"1h30m", 5400000},
                {"1d 12h", 36 * TS_HOUR_MS},
                {"1 week  2days", 9 * TS_DAY_MS},
                {"1m30s500ms", 90500},
                {"1d5ms", TS_DAY_MS + 5},
                {"1y6n", 545 * TS_DAY_MS}};
    static const char *const bad[] = {"1.5h",
                                      "5mms",
                                      "d",
                                      "",
                                      "day",
                                      " 1d",
                                      "1d ",
                                      "1 ",
                                      "1dayss",
                                      "1xd",
                                      "0d",
                                      "30m1h",
                                      "1h1h",
                                      "1h0m",
                                      "1h30",
                                      "1h 30m ",
                                      "1n2d",
                                      "1y2w",
                                      "106751991167d 10h",
                                      "99999999999999999999d",
                                      "9223372036854775807d",
                                      "0000000000000000000000000000000001d"};
    struct ts_error err;
    int64_t ms;
    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        if (ts_duration_exact(ts_slice_str(good[i].text), NULL, NULL, &ms, NULL) < 0 || ms != good[i].ms)
            fail_msg("%s", good[i].text);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (ts_duration_exact(ts_slice_str(bad[i]), NULL, NULL, &ms, &err) != TS_EPARSE)
            fail_msg("%s is taken for %lld ms", bad[i], (long long)ms);
}

static void t_expect_units(const char *text, int64_t want_n, enum ts_unit want_unit)
{
    int64_t n;
    enum ts_unit unit;
    if (ts_duration_exact(ts_slice_str(text), &n, &unit, NULL, NULL) < 0 || n != want_n || unit != want_unit)
        fail_msg("%s", text);
}

static void test_time__a_duration_of_parts_counts_the_smallest_unit(void **state)
{
    (void)state;
    t_expect_units("90m", 90, TS_UNIT_M);
    t_expect_units("1h30m", 90, TS_UNIT_M);
    t_expect_units("1d12h", 36, TS_UNIT_H);
    t_expect_units("1w1d", 8, TS_UNIT_D);
    t_expect_units("1h500ms", 3600500, TS_UNIT_MS);
    t_expect_units("1y6n", 18, TS_UNIT_N);
    t_expect("1h30m", NULL, false, NOW_MS - 5400000, false);
    t_expect("now-1h30m", NULL, false, NOW_MS - 5400000, false);
    t_expect("1h30m-ago", NULL, false, NOW_MS - 5400000, false);
    t_expect("1 day 12 hours ago", NULL, false, NOW_MS - 36 * TS_HOUR_MS, false);
}

static void test_time__a_weekday_is_the_last_one(void **state)
{
    static const char *const names[] = {"monday", "Tuesday",  "WEDNESDAY", "thursday",
                                        "friday", "saturday", "sunday"};
    (void)state;
    for (int z = 0; z < 4; z++) {
        const char *zone = z == 0   ? NULL
                           : z == 1 ? "Pacific/Kiritimati"
                           : z == 2 ? "Pacific/Pago_Pago"
                                    : "America/New_York";
        const struct ts_tz *tz = zone ? t_tz(zone) : NULL;
        int64_t day = ts_calendar_floor(tz, NOW_MS, 1, TS_UNIT_D);
        int64_t local = ts_floor_div(day + (tz ? ts_tz_offset_ms(tz, day) : 0), TS_DAY_MS);
        for (int back = 0; back < 7; back++, local--) {
            const char *name = names[ts_floor_mod(local + 3, 7)];
            t_expect(name, zone, false, day, true);
            t_expect_end(name, zone, false, ts_calendar_next(tz, day, 1, TS_UNIT_D) - 1);
            t_expect_alone(name, zone, day, NOW_MS);
            day = ts_calendar_floor(tz, day - 1, 1, TS_UNIT_D);
        }
    }
    t_expect_error("monday", true, "Invalid time: monday. Invalid character 'm' in monday");
    t_expect_error("mondays", false, "Invalid time: mondays. " FORMS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_time__an_exact_duration_has_units),
        cmocka_unit_test(test_time__a_duration_of_parts_counts_the_smallest_unit),
        cmocka_unit_test(test_time__a_weekday_is_the_last_one),
        cmocka_unit_test(test_time__digits_that_look_like_a_date_are_one_unless_strict),
        cmocka_unit_test(test_time__a_start_alone_is_until_now_or_the_range_it_names),
        cmocka_unit_test(test_time__clocks_run_and_the_wall_can_be_faked),
        cmocka_unit_test(test_time__floor_division_goes_down_before_1970),
        cmocka_unit_test(test_time__civil_dates_agree_with_the_c_library),
        cmocka_unit_test(test_time__civil_dates_hold_at_the_edges),
        cmocka_unit_test(test_time__civil_dates_roll_over),
        cmocka_unit_test(test_time__durations_are_read_as_opentsdb_reads_them),
        cmocka_unit_test(test_time__bad_durations_get_opentsdbs_words),
        cmocka_unit_test(test_time__numbers_are_seconds_up_to_ten_digits),
        cmocka_unit_test(test_time__relative_times_count_from_now),
        cmocka_unit_test(test_time__dates_are_told_by_length_and_taken_in_the_zone),
        cmocka_unit_test(test_time__iso_dates_are_read_unless_strict),
        cmocka_unit_test(test_time__a_day_or_month_named_as_the_end_is_in_the_range),
        cmocka_unit_test(test_time__named_days_are_the_zones),
        cmocka_unit_test(test_time__iso_times_are_printed_and_read_back),
        cmocka_unit_test(test_time__bad_times_get_opentsdbs_words),
        cmocka_unit_test(test_time__long_texts_are_cut_in_messages),
    };
    print_message("seed %llu\n", SEED);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
