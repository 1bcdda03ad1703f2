/*
 * test_day.c - days of zones are those of the calendar, also where the clock changes at midnight or a day is left out; and what a day
 * knows of its hours.
 */
#include "storage/day.h"

#include "base/time.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define FIRST_HOUR (-24 * 366 * 5) /* 1965 */
#define HOURS      (24 * 366 * 80)

/* changes: there are days of other lengths that begin and end at whole hours */
static void check_zone(struct ts_slice name, bool changes)
{
    struct ts_error err = {0};
    const struct ts_tz *zone = NULL;
    struct sto_day day;
    uint32_t n_days = 0, n_odd = 0;
    if (ts_tz_open(name, &zone, &err) < 0)
        fail_msg("%s", err.text);
    ts_tz_set_default(zone);
    for (int32_t h = FIRST_HOUR; h < FIRST_HOUR + HOURS; h += 5) {
        int64_t t = h * TS_HOUR_MS, from = ts_calendar_floor(zone, t, 1, TS_UNIT_D),
                to = ts_calendar_next(zone, from, 1, TS_UNIT_D);
        bool whole = from % TS_HOUR_MS == 0 && to % TS_HOUR_MS == 0 && t < to;
        if (sto_day_of(h, &day) != whole)
            fail_msg("hour %d", h);
        if (!whole)
            continue;
        n_days++;
        n_odd += to - from != TS_DAY_MS;
        assert_int_equal(day.from * TS_HOUR_MS, from);
        assert_int_equal(day.to * TS_HOUR_MS, to);
    }
    assert_true(ts_slice_is(name, "Asia/Kolkata") ? !n_days : n_days > 0);
    assert_int_equal(n_odd > 0, changes);
    ts_tz_set_default(NULL);
}

static void test_day__is_that_of_the_calendar(void **state)
{
    (void)state;
    check_zone(TS_SLICE_LIT("UTC"), false);
    check_zone(TS_SLICE_LIT("Europe/Berlin"), true);
    check_zone(TS_SLICE_LIT("America/Sao_Paulo"), true); /* the clock changed at midnight */
    check_zone(TS_SLICE_LIT("Atlantic/Azores"), true);   /* the clock is set back to the day before */
    check_zone(TS_SLICE_LIT("Pacific/Apia"), true);      /* 2011-12-30 was left out */
    check_zone(TS_SLICE_LIT("Australia/Lord_Howe"), false);
    check_zone(TS_SLICE_LIT("Asia/Kolkata"), false); /* days begin at half past */
}

static struct sto_summary hour_of(int64_t first, int64_t last, bool has_sum)
{
    return (struct sto_summary){.n = 2,
                                .first_off = 1000,
                                .last_off = 2000,
                                .is_int = true,
                                .has_sum = has_sum,
                                .first = {.m = first},
                                .last = {.m = last},
                                .min = {.m = first < last ? first : last},
                                .max = {.m = first > last ? first : last},
                                .sum = has_sum ? first + last : 0};
}

/* An hour without a sum takes that of its day, wherever in the day it is; all else is known. */
static void test_day__an_hour_without_a_sum(void **state)
{
    (void)state;
    for (unsigned without = 0; without <= 3; without++) { /* 3: none is without */
        struct sto_summary day = {0};
        for (unsigned h = 0; h < 3; h++) {
            struct sto_summary hour = hour_of(10 + h, 5 - (int64_t)h, h != without);
            assert_true(sto_day_add(&day, &hour, h * 3600000));
        }
        assert_int_equal(day.has_sum, without == 3);
        assert_true(day.sum == (without == 3 ? 45 : 0));
        assert_int_equal(day.n, 6);
        assert_int_equal(day.first.m, 10);
        assert_int_equal(day.last.m, 3);
        assert_int_equal(day.min.m, 3);
        assert_int_equal(day.max.m, 12);
        assert_int_equal(day.first_off, 1000);
        assert_int_equal(day.last_off, 2 * 3600000 + 2000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_day__is_that_of_the_calendar),
        cmocka_unit_test(test_day__an_hour_without_a_sum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
