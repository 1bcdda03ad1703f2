/*
 * test_calendar.c - calendar buckets: worked examples, days of 23 and 25 hours, and what always holds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/time.h"

#define SEED 0x94d049bb133111ebull
#include "base_kit.h"

/* Bucket of t in seconds, and the starts after it. */
static void t_expect(const char *zone, int64_t n, enum ts_unit unit, int64_t t_s, const int64_t *want_s,
                     int n_want)
{
    const struct ts_tz *tz = t_tz(zone);
    int64_t start = ts_calendar_floor(tz, t_s * 1000, n, unit);
    for (int i = 0; i < n_want; i++) {
        if (start != want_s[i] * 1000)
            fail_msg("%s, %lld of unit %d, bucket %d: %lld", zone, (long long)n, unit, i,
                     (long long)start / 1000);
        start = ts_calendar_next(tz, start, n, unit);
    }
}

static int64_t t_s(int y, int mo, int d, int h, int mi)
{
    return ts_civil_to_ms(y, mo, d, h, mi, 0) / 1000;
}

static void test_calendar__worked_examples_hold(void **state)
{
    (void)state;
    /* days of New York around the day of 23 hours */
    t_expect("America/New_York", 1, TS_UNIT_D, 1489294800,
             (int64_t[]){1489294800, 1489377600, 1489464000, 1489550400}, 4);
    t_expect("America/New_York", 1, TS_UNIT_D, 1489377599, (int64_t[]){1489294800}, 1);
    /* months */
    t_expect("UTC", 1, TS_UNIT_N, 1452816000, (int64_t[]){1451606400, 1454284800, 1456790400}, 3);
    /* hours of Kabul, +4:30 */
    t_expect("Asia/Kabul", 1, TS_UNIT_H, 1499997600,
             (int64_t[]){1499997600 - 1800, 1499997600 + 1800, 1499997600 + 5400}, 3);
    /* weeks begin on Sunday */
    t_expect("UTC", 1, TS_UNIT_W, 1452816000, (int64_t[]){1452384000, 1452988800}, 2);
}

static void test_calendar__a_day_of_25_hours(void **state)
{
    (void)state;
    int64_t oct27 = t_s(2024, 10, 26, 22, 0), oct28 = t_s(2024, 10, 27, 23, 0);
    assert_int_equal(oct28 - oct27, 25 * 3600);
    t_expect("Europe/Berlin", 1, TS_UNIT_D, oct27, (int64_t[]){oct27, oct28, oct28 + 86400}, 3);
    t_expect("Europe/Berlin", 1, TS_UNIT_D, oct28 - 1, (int64_t[]){oct27}, 1);
    /* hours have their true length on such a day: 13 of 2 h from midnight, the last one runs into the next
     * day */
    t_expect("Europe/Berlin", 2, TS_UNIT_H, oct28 - 1, (int64_t[]){oct27 + 24 * 3600, oct27 + 26 * 3600}, 2);
    t_expect("Europe/Berlin", 2, TS_UNIT_H, oct28 + 1, (int64_t[]){oct28, oct28 + 7200}, 2);
}

static void test_calendar__zones_off_the_hour(void **state)
{
    (void)state;
    int64_t day = t_s(2020, 9, 12, 18, 15); /* midnight at +5:45 */
    t_expect("Asia/Kathmandu", 1, TS_UNIT_D, day + 50000, (int64_t[]){day, day + 86400}, 2);
    t_expect("Asia/Kathmandu", 1, TS_UNIT_H, day + 3599, (int64_t[]){day, day + 3600}, 2);
    t_expect("Asia/Kathmandu", 20, TS_UNIT_M, day + 3600 + 1250, (int64_t[]){day + 4800, day + 6000}, 2);
    /* Lord Howe puts its clock by half an hour: a day of 23.5 hours */
    int64_t oct6 = t_s(2024, 10, 5, 13, 30);
    t_expect("Australia/Lord_Howe", 1, TS_UNIT_D, oct6 + 100,
             (int64_t[]){oct6, oct6 + 84600, oct6 + 84600 + 86400}, 3);
    /* 02:30 there is 15:30 UTC, the instant of the change: hours keep step with the clock in force */
    int64_t change = t_s(2024, 10, 5, 15, 30);
    t_expect("Australia/Lord_Howe", 15, TS_UNIT_M, change + 60, (int64_t[]){change, change + 900}, 2);
}

static void test_calendar__midnight_may_be_missing_or_come_twice(void **state)
{
    (void)state;
    /* Sao Paulo 2017-10-15 began at 01:00 */
    int64_t oct15 = t_s(2017, 10, 15, 3, 0);
    t_expect("America/Sao_Paulo", 1, TS_UNIT_D, oct15 - 1,
             (int64_t[]){oct15 - 86400, oct15, oct15 + 23 * 3600}, 3);
    t_expect("America/Sao_Paulo", 1, TS_UNIT_D, oct15, (int64_t[]){oct15, oct15 + 23 * 3600}, 2);
    /* Havana 2023-11-05 had the hour after midnight twice */
    int64_t nov5 = t_s(2023, 11, 5, 4, 0);
    t_expect("America/Havana", 1, TS_UNIT_D, nov5 + 5000, (int64_t[]){nov5, nov5 + 25 * 3600}, 2);
    /* Apia left 2011-12-30 out */
    int64_t dec29 = t_s(2011, 12, 29, 10, 0);
    t_expect("Pacific/Apia", 1, TS_UNIT_D, dec29, (int64_t[]){dec29, dec29 + 86400, dec29 + 2 * 86400}, 3);
}

static void test_calendar__bases_of_several_units(void **state)
{
    (void)state;
    int64_t t = t_s(2024, 5, 15, 13, 47); /* a Wednesday */
    t_expect("UTC", 15, TS_UNIT_M, t, (int64_t[]){t_s(2024, 5, 15, 13, 45)}, 1);
    t_expect("UTC", 7, TS_UNIT_M, t, (int64_t[]){t_s(2024, 5, 15, 13, 46), t_s(2024, 5, 15, 13, 53)}, 2);
    t_expect("UTC", 90, TS_UNIT_M, t, (int64_t[]){t_s(2024, 5, 15, 13, 30)}, 1);
    t_expect("UTC", 6, TS_UNIT_H, t, (int64_t[]){t_s(2024, 5, 15, 12, 0), t_s(2024, 5, 15, 18, 0)}, 2);
    t_expect("UTC", 5, TS_UNIT_H, t, (int64_t[]){t_s(2024, 5, 15, 9, 0)}, 1); /* from 1 May: 345 h = 69 x 5 */
    t_expect("UTC", 10, TS_UNIT_D, t, (int64_t[]){t_s(2024, 5, 10, 0, 0), t_s(2024, 5, 20, 0, 0)},
             2); /* day 130 */
    t_expect("UTC", 2, TS_UNIT_W, t, (int64_t[]){t_s(2024, 5, 12, 0, 0), t_s(2024, 5, 26, 0, 0)}, 2);
    t_expect("UTC", 3, TS_UNIT_W, t, (int64_t[]){t_s(2024, 5, 5, 0, 0), t_s(2024, 5, 26, 0, 0)},
             2); /* from 2023-12-31 */
    t_expect("UTC", 3, TS_UNIT_N, t, (int64_t[]){t_s(2024, 4, 1, 0, 0), t_s(2024, 7, 1, 0, 0)}, 2);
    t_expect("UTC", 5, TS_UNIT_N, t_s(2024, 12, 31, 0, 0),
             (int64_t[]){t_s(2024, 11, 1, 0, 0), t_s(2025, 4, 1, 0, 0)}, 2);
    t_expect("UTC", 1, TS_UNIT_Y, t, (int64_t[]){t_s(2024, 1, 1, 0, 0), t_s(2025, 1, 1, 0, 0)}, 2);
    t_expect("UTC", 10, TS_UNIT_Y, t, (int64_t[]){t_s(2024, 1, 1, 0, 0), t_s(2034, 1, 1, 0, 0)}, 2);
    /* milliseconds and seconds */
    int64_t ms = t * 1000 + 12345;
    assert_int_equal(ts_calendar_floor(NULL, ms, 100, TS_UNIT_MS), t * 1000 + 12300);
    assert_int_equal(ts_calendar_floor(NULL, ms, 700, TS_UNIT_MS), t * 1000 + 11900);
    assert_int_equal(ts_calendar_floor(NULL, ms, 5, TS_UNIT_S), t * 1000 + 10000);
    assert_int_equal(ts_calendar_floor(NULL, ms, 7, TS_UNIT_S), (t_s(2024, 5, 15, 13, 0) + 7 * 404) * 1000);
}

static void test_calendar__times_before_1970(void **state)
{
    (void)state;
    t_expect("UTC", 1, TS_UNIT_D, -1, (int64_t[]){-86400, 0}, 2);
    t_expect("UTC", 1, TS_UNIT_W, -1, (int64_t[]){-4 * 86400, 3 * 86400}, 2);
    t_expect("UTC", 1, TS_UNIT_N, -1, (int64_t[]){-31 * 86400, 0}, 2);
    t_expect("UTC", 1, TS_UNIT_Y, -1, (int64_t[]){-365 * 86400, 0}, 2);
    t_expect("UTC", 7, TS_UNIT_M, -1, (int64_t[]){-300, 120}, 2); /* from 1969-12-31 00:00: 205 x 7 min */
}

static void test_calendar__every_time_lies_in_its_bucket(void **state)
{
    (void)state;
    static const char *const zones[] = {
        "UTC",          "Europe/Berlin",  "America/New_York",    "Asia/Kathmandu",
        "Pacific/Apia", "America/Havana", "Australia/Lord_Howe", "America/St_Johns"};
    for (int i = 0; i < 60000; i++) {
        const struct ts_tz *tz = t_tz(zones[t_rand() % 8]);
        enum ts_unit unit = (enum ts_unit)(t_rand() % 8);
        int64_t n = 1 + (int64_t)(t_rand() % (i % 2 ? 3 : 100));
        int64_t t = (int64_t)(t_rand() % 9467000000000ull) - 4733510400000, from, to; /* 1820 to 2120 */
        if (i % 3 == 0 && ts_tz_span(tz, t, &from, &to) < TS_DAY_MS && from != INT64_MIN)
            t = from + (int64_t)(t_rand() % (6 * TS_HOUR_MS)) - 3 * TS_HOUR_MS;
        int64_t start = ts_calendar_floor(tz, t, n, unit);
        int64_t next = ts_calendar_next(tz, start, n, unit);
        if (start > t || next <= t)
            fail_msg("%s: %lld of unit %d at %lld: [%lld, %lld)", ts_tz_name(tz), (long long)n, unit,
                     (long long)t, (long long)start, (long long)next);
        if (n == 1 && unit != TS_UNIT_H && ts_calendar_floor(tz, start, n, unit) != start)
            fail_msg("%s: unit %d, start %lld is not its own start", ts_tz_name(tz), unit, (long long)start);
    }
}

static void test_calendar__huge_counts_do_not_overflow(void **state)
{
    (void)state;
    const struct ts_tz *tz = t_tz("Europe/Berlin");
    for (int unit = TS_UNIT_MS; unit <= TS_UNIT_Y; unit++)
        for (int i = 0; i < 4; i++) {
            int64_t t = (int64_t[]){0, 1700000000000, INT64_MAX, INT64_MIN}[i];
            for (int64_t n = 1; n > 0;
                 n = n > INT64_MAX / 1000 ? (n == INT64_MAX ? -1 : INT64_MAX) : n * 1000) {
                int64_t start = ts_calendar_floor(tz, t, n, (enum ts_unit)unit);
                assert_true(start <= t || i == 3);
                assert_true(ts_calendar_next(tz, start, n, (enum ts_unit)unit) >= start);
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calendar__worked_examples_hold),
        cmocka_unit_test(test_calendar__a_day_of_25_hours),
        cmocka_unit_test(test_calendar__zones_off_the_hour),
        cmocka_unit_test(test_calendar__midnight_may_be_missing_or_come_twice),
        cmocka_unit_test(test_calendar__bases_of_several_units),
        cmocka_unit_test(test_calendar__times_before_1970),
        cmocka_unit_test(test_calendar__every_time_lies_in_its_bucket),
        cmocka_unit_test(test_calendar__huge_counts_do_not_overflow),
    };
    print_message("seed %llu\n", SEED);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
