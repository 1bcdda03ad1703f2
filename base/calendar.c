/*
 * calendar.c - calendar buckets: days, weeks, months of a time zone.
 *
 * Buckets are found by going down to a base and stepping up by n units. Hours and less are exact lengths;
 * days and more are steps of local dates, so that days of 23 or 25 hours come out right.
 * Source
 * docs/PROTOCOL.md, calendar buckets. Two points are ours: for weeks in threes or more the base is the Sunday
 * on or before 1 January of t's year; and hours, minutes, seconds keep step with the local clock in force at
 * t.
 * Threads    any
 */
#include "base/time.h"

#define CAL_MAX_YEARS                                                                                        \
    1000000 /* steps beyond are cut to this: far outside of int64 milliseconds with any base */

static int64_t cal_mul(int64_t a, int64_t b)
{
    int64_t r;
    return __builtin_mul_overflow(a, b, &r) ? INT64_MAX : r;
}

static int64_t cal_add(int64_t a, int64_t b)
{
    int64_t r;
    return __builtin_add_overflow(a, b, &r) ? (b > 0 ? INT64_MAX : INT64_MIN) : r;
}

/* First instant of a local date; month and day may be out of range. */
static int64_t cal_midnight(const struct ts_tz *tz, int64_t year, int64_t month, int64_t day)
{
    int64_t local = ts_civil_to_ms((int32_t)year, (int32_t)month, (int32_t)day, 0, 0, 0);
    return tz ? ts_tz_from_local(tz, local) : local;
}

/* First instant of the local day that is so many days after 1970-01-01. */
static int64_t cal_midnight_of_day(const struct ts_tz *tz, int64_t days)
{
    int64_t local = cal_mul(days, TS_DAY_MS);
    if (days < 0 && local == INT64_MAX)
        local = INT64_MIN;
    return tz ? ts_tz_from_local(tz, local) : local;
}

static int64_t cal_local(const struct ts_tz *tz, int64_t t_ms)
{
    return cal_add(t_ms, tz ? ts_tz_offset_ms(tz, t_ms) : 0);
}

/* Days from 1970-01-01 to the local date of t. */
static int64_t cal_day(const struct ts_tz *tz, int64_t t_ms)
{
    return ts_floor_div(cal_local(tz, t_ms), TS_DAY_MS);
}

/* Days from 1970-01-01, a Thursday, to the Sunday on or before a day. */
static int64_t cal_sunday(int64_t day)
{
    return day - ts_floor_mod(day + 4, 7);
}

static int64_t cal_jan1_day(int32_t year)
{
    return ts_floor_div(ts_civil_to_ms(year, 1, 1, 0, 0, 0), TS_DAY_MS);
}

/* Units of exact length: step from base in multiples of n * unit. */
static int64_t cal_floor_exact(int64_t t_ms, int64_t base_ms, int64_t step_ms)
{
    __int128 d = (__int128)t_ms - base_ms, r = d % step_ms;
    if (r < 0)
        r += step_ms;
    d = (__int128)t_ms - r;
    return d < INT64_MIN ? INT64_MIN : (int64_t)d;
}

/* Base that is the start of a local second, minute or hour, by the offset in force at t. */
static int64_t cal_clock_base(const struct ts_tz *tz, int64_t t_ms, int64_t span_ms)
{
    return cal_add(t_ms, -ts_floor_mod(cal_local(tz, t_ms), span_ms));
}

/* Length of one unit; days and more are not requested. */
static int64_t cal_exact_ms(enum ts_unit unit)
{
    return unit == TS_UNIT_MS ? 1 : unit == TS_UNIT_S ? 1000 : unit == TS_UNIT_M ? 60000 : TS_HOUR_MS;
}

static int64_t cal_floor_clock(const struct ts_tz *tz, int64_t t_ms, int64_t n, enum ts_unit unit)
{
    int64_t base;
    struct ts_civil c = ts_civil_from_ms(tz, t_ms);
    switch (unit) {
    case TS_UNIT_MS:
        base = cal_clock_base(tz, t_ms, 1000 % n == 0 ? 1000 : 60000);
        break;
    case TS_UNIT_S:
        base = cal_clock_base(tz, t_ms, 60 % n == 0 ? 60000 : TS_HOUR_MS);
        break;
    case TS_UNIT_M:
        base = 60 % n == 0 ? cal_clock_base(tz, t_ms, TS_HOUR_MS) : cal_midnight(tz, c.year, c.month, c.day);
        break;
    default:
        base = cal_midnight(tz, c.year, c.month, 24 % n == 0 ? c.day : 1);
        break;
    }
    return cal_floor_exact(t_ms, base, cal_mul(n, cal_exact_ms(unit)));
}

/* Days in steps of n from base_day, down from the local date of t. */
static int64_t cal_floor_days(const struct ts_tz *tz, int64_t t_ms, int64_t base_day, int64_t n)
{
    int64_t day = cal_day(tz, t_ms);
    return cal_midnight_of_day(tz, day - ts_floor_mod(day - base_day, n));
}

int64_t ts_calendar_floor(const struct ts_tz *tz, int64_t t_ms, int64_t n, enum ts_unit unit)
{
    if (n < 1)
        TS_BUG("calendar bucket of %lld units", (long long)n);
    struct ts_civil c = ts_civil_from_ms(tz, t_ms);
    int64_t start;
    switch (unit) {
    case TS_UNIT_D:
        start = n == 1 ? cal_midnight_of_day(tz, cal_day(tz, t_ms))
                       : cal_floor_days(tz, t_ms, cal_jan1_day(c.year), n);
        break;
    case TS_UNIT_W:
        if (n <= 2)
            start = cal_midnight_of_day(tz, cal_sunday(cal_day(tz, t_ms)));
        else
            start = cal_floor_days(tz, t_ms, cal_sunday(cal_jan1_day(c.year)), cal_mul(n, 7));
        break;
    case TS_UNIT_N:
        start = cal_midnight(tz, c.year, 1 + (c.month - 1) / n * n, 1);
        break;
    case TS_UNIT_Y:
        start = cal_midnight(tz, c.year, 1, 1);
        break;
    default:
        return cal_floor_clock(tz, t_ms, n, unit);
    }
    /* Where midnight comes twice, the second time round a date is behind a bucket that has begun already. */
    int64_t next = ts_calendar_next(tz, start, n, unit);
    while (next <= t_ms && next > start) {
        start = next;
        next = ts_calendar_next(tz, start, n, unit);
    }
    return start;
}

int64_t ts_calendar_next(const struct ts_tz *tz, int64_t start_ms, int64_t n, enum ts_unit unit)
{
    struct ts_civil c = ts_civil_from_ms(tz, start_ms);
    int64_t years = n > CAL_MAX_YEARS * 12ll ? CAL_MAX_YEARS * 12ll : n;
    switch (unit) {
    case TS_UNIT_D:
        return cal_midnight_of_day(tz, cal_add(cal_day(tz, start_ms), n));
    case TS_UNIT_W:
        return cal_midnight_of_day(tz, cal_add(cal_day(tz, start_ms), cal_mul(n, 7)));
    case TS_UNIT_N:
        return cal_midnight(tz, c.year, c.month + years, 1);
    case TS_UNIT_Y:
        return cal_midnight(tz, c.year + years, 1, 1);
    default:
        return cal_add(start_ms, cal_mul(n, cal_exact_ms(unit)));
    }
}
