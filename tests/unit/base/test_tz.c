/*
 * test_tz.c - time zones: gaps and repeats of the local clock, far times.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/time.h"

#define SEED 0xbf58476d1ce4e5b9ull
#include "base_kit.h"

static const char *const zones[] = {
    "Europe/Berlin", "America/New_York", "Asia/Kathmandu",   "Australia/Lord_Howe", "Pacific/Apia",
    "Asia/Kabul",    "America/Havana",   "America/St_Johns", "Africa/Casablanca",   "America/Sao_Paulo",
    "Asia/Manila",   "Antarctica/Troll", "Etc/GMT+12",
};
#define N_ZONES (sizeof(zones) / sizeof(zones[0]))

static void test_tz__unknown_names_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "Mars/Olympus",
        "GMT+5",
        "GMT+05:30",
        "europe/berlin",
        "Europe/Berlin ",
        "+01:00",
        "Etc/Unknown",
        "utc",
        "\xc3\xa9",
        "../../etc/passwd",
        "Europe/Berlin/Europe/Berlin/Europe/Berlin/Europe/Berlin/Europe/Berlin"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        const struct ts_tz *tz = (const struct ts_tz *)&tz;
        struct ts_error err = {0};
        char message[TS_ERROR_TEXT_BYTES];
        snprintf(message, sizeof(message), "Invalid timezone name: %.100s", bad[i]);
        if (ts_tz_open(ts_slice_str(bad[i]), &tz, &err) != TS_EPARSE)
            fail_msg("%s was opened", bad[i]);
        assert_null(tz);
        if (strncmp(err.text, message, strlen(message)) != 0)
            fail_msg("%s", err.text);
    }
    const struct ts_tz *tz;
    assert_int_equal(ts_tz_open((struct ts_slice){"Europe/Berlin\0", 14}, &tz, NULL), TS_EPARSE);
}

static void test_tz__utc_is_everywhere_zero(void **state)
{
    (void)state;
    static const char *const names[] = {"", "UTC", "GMT", "Etc/UTC"};
    for (size_t i = 0; i < 4; i++) {
        const struct ts_tz *tz = t_tz(names[i]);
        int64_t from, to;
        assert_int_equal(ts_tz_span(tz, 0, &from, &to), 0);
        assert_true(from == INT64_MIN && to == INT64_MAX);
        assert_int_equal(ts_tz_offset_ms(tz, INT64_MIN), 0);
        assert_int_equal(ts_tz_offset_ms(tz, INT64_MAX), 0);
        assert_int_equal(ts_tz_from_local(tz, -12345), -12345);
        assert_string_equal(ts_tz_name(tz), "UTC");
    }
    const struct ts_tz *tz;
    assert_int_equal(ts_tz_open((struct ts_slice){NULL, 0}, &tz, NULL), 0);
    assert_string_equal(ts_tz_name(tz), "UTC");
    assert_int_equal(ts_tz_offset_ms(NULL, 77), 0);
}

static void *t_open_all(void *arg)
{
    const struct ts_tz **got = arg;
    for (size_t i = 0; i < N_ZONES; i++)
        ts_tz_open(ts_slice_str(zones[i]), &got[i], NULL);
    return NULL;
}

static void test_tz__a_zone_is_opened_once_by_any_thread(void **state)
{
    (void)state;
    static const struct ts_tz *got[4][N_ZONES];
    pthread_t threads[4];
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, t_open_all, got[i]), 0);
    for (size_t i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    for (size_t z = 0; z < N_ZONES; z++) {
        assert_string_equal(ts_tz_name(t_tz(zones[z])), zones[z]);
        for (size_t i = 0; i < 4; i++)
            assert_ptr_equal(got[i][z], t_tz(zones[z]));
    }
}

static void test_tz__known_offsets_hold(void **state)
{
    (void)state;
    static const struct {
        const char *zone;
        int64_t t_s, offset_s;
    } rows[] = {
        {"Asia/Kathmandu", 0, 19800},
        {"Asia/Kathmandu", 1600000000, 20700},
        {"Asia/Kabul", 1600000000, 16200},
        {"Australia/Lord_Howe", 1700000000, 39600},
        {"Australia/Lord_Howe", 1720000000, 37800},
        {"Europe/Berlin", 1700000000, 3600},
        {"Europe/Berlin", 1720000000, 7200},
        {"Africa/Casablanca", 1700000000, 3600},
        {"Africa/Casablanca", 1710400000, 0},
        {"Pacific/Apia", 1325239199, -36000},
        {"Pacific/Apia", 1325239200, 50400},
        {"America/New_York", -3000000000, -17762},
        {"Etc/GMT+12", 5, -43200},
        /* rules that changed since 2022 */
        {"America/Mexico_City", 1782864000, -21600},
        {"Africa/Cairo", 1782864000, 10800},
        {"Asia/Almaty", 1782864000, 18000},
        {"America/Asuncion", 1782864000, -10800},
        {"America/Nuuk", 1782864000, -3600},
        {"America/Scoresbysund", 1782864000, -3600},
        {"Pacific/Fiji", 1767225600, 43200},
        {"America/Ciudad_Juarez", 1782864000, -21600},
        {"America/Coyhaique", 1782864000, -10800},
        {"Europe/Dublin", 1782864000, 3600},
        {"Europe/Dublin", 1767225600, 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (ts_tz_offset_ms(t_tz(rows[i].zone), rows[i].t_s * 1000) != rows[i].offset_s * 1000)
            fail_msg("%s at %lld", rows[i].zone, (long long)rows[i].t_s);
}

static void test_tz__spans_join_and_hold_one_offset(void **state)
{
    (void)state;
    for (size_t z = 0; z < N_ZONES; z++) {
        const struct ts_tz *tz = t_tz(zones[z]);
        int64_t from, to = INT64_MIN, last_to, offset, n = 0;
        do {
            last_to = to;
            offset = ts_tz_span(tz, last_to, &from, &to);
            assert_true(from == last_to && to > from);
            assert_int_equal(ts_tz_offset_ms(tz, from), offset);
            assert_int_equal(ts_tz_offset_ms(tz, to - 1), offset);
            n++;
        } while (to != INT64_MAX && to < 40000000000000); /* some way into the year 3237 */
        if (strcmp(zones[z], "Europe/Berlin") == 0)
            assert_true(n > 2400); /* two changes a year since 1980, for ever */
        ts_tz_span(tz, INT64_MAX, &from, &to);
        assert_true(to == INT64_MAX && from < to);
        ts_tz_span(tz, INT64_MIN, &from, &to);
        assert_true(from == INT64_MIN);
    }
}

static int64_t t_local(int y, int mo, int d, int h, int mi)
{
    return ts_civil_to_ms(y, mo, d, h, mi, 0);
}

static void test_tz__local_times_in_gaps_and_repeats(void **state)
{
    (void)state;
    const struct ts_tz *tz = t_tz("Europe/Berlin");
    int64_t spring = 1711846800000, autumn = 1729990800000; /* 2024-03-31 and 2024-10-27, 01:00 UTC */
    assert_int_equal(ts_tz_from_local(tz, t_local(2024, 3, 31, 1, 59)), spring - 60000);
    assert_int_equal(ts_tz_from_local(tz, t_local(2024, 3, 31, 2, 0)), spring);
    assert_int_equal(ts_tz_from_local(tz, t_local(2024, 3, 31, 2, 59)), spring);
    assert_int_equal(ts_tz_from_local(tz, t_local(2024, 3, 31, 3, 0)), spring);
    assert_int_equal(ts_tz_from_local(tz, t_local(2024, 3, 31, 3, 1)), spring + 60000);
    assert_int_equal(ts_tz_from_local(tz, t_local(2024, 10, 27, 2, 30)), autumn - 1800000);
    assert_int_equal(ts_tz_from_local(tz, t_local(2024, 10, 27, 3, 0)), autumn + TS_HOUR_MS);
    tz = t_tz("Australia/Lord_Howe"); /* half an hour, 2024-10-06 02:00 -> 02:30 at 15:30 UTC */
    int64_t change = ts_civil_to_ms(2024, 10, 5, 15, 30, 0);
    assert_int_equal(ts_tz_from_local(tz, t_local(2024, 10, 6, 1, 59)), change - 60000);
    assert_int_equal(ts_tz_from_local(tz, t_local(2024, 10, 6, 2, 15)), change);
    assert_int_equal(ts_tz_from_local(tz, t_local(2024, 10, 6, 2, 30)), change);
    tz = t_tz("Pacific/Apia"); /* 2011-12-30 was left out */
    assert_int_equal(ts_tz_from_local(tz, t_local(2011, 12, 29, 23, 59)), 1325239140000);
    assert_int_equal(ts_tz_from_local(tz, t_local(2011, 12, 30, 12, 0)), 1325239200000);
    assert_int_equal(ts_tz_from_local(tz, t_local(2011, 12, 31, 0, 0)), 1325239200000);
    assert_int_equal(ts_tz_from_local(NULL, 5), 5);
}

static void test_tz__from_local_is_the_first_instant_that_shows_the_time(void **state)
{
    (void)state;
    for (size_t z = 0; z < N_ZONES; z++) {
        const struct ts_tz *tz = t_tz(zones[z]);
        for (int i = 0; i < 3000; i++) {
            int64_t t = (int64_t)(t_rand() % 44180000000000ull) - 5364662400000, from, to;
            if (i % 2 && ts_tz_span(tz, t, &from, &to) < TS_DAY_MS && from != INT64_MIN)
                t = from + (int64_t)(t_rand() % (4 * TS_HOUR_MS)) - 2 * TS_HOUR_MS;
            int64_t local = t + ts_tz_offset_ms(tz, t);
            int64_t got = ts_tz_from_local(tz, local);
            assert_int_equal(got + ts_tz_offset_ms(tz, got), local);
            assert_true(got <= t);
            if (got != t) /* only where the clock was put back */
                assert_true(ts_tz_offset_ms(tz, got) > ts_tz_offset_ms(tz, t));
        }
        (void)ts_tz_from_local(tz, INT64_MIN);
        (void)ts_tz_from_local(tz, INT64_MAX);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tz__a_zone_is_opened_once_by_any_thread),
        cmocka_unit_test(test_tz__unknown_names_are_refused),
        cmocka_unit_test(test_tz__utc_is_everywhere_zero),
        cmocka_unit_test(test_tz__known_offsets_hold),
        cmocka_unit_test(test_tz__spans_join_and_hold_one_offset),
        cmocka_unit_test(test_tz__local_times_in_gaps_and_repeats),
        cmocka_unit_test(test_tz__from_local_is_the_first_instant_that_shows_the_time),
    };
    print_message("seed %llu\n", SEED);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
