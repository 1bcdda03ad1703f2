/*
 * compare.c - totals beside those of the same cells some time before.
 *
 * Not here   the two runs and their rows (table.c)
 */
#include "query/breakdowns/compare.h"

#include "base/text.h"
#include "base/num.h"
#include "query/breakdowns/breakdown.h"

#include <stdio.h>

#define WEEK_HOURS 168

/* Is it made of months, whose lengths differ? */
static bool in_months(enum ts_unit unit)
{
    return unit >= TS_UNIT_N;
}

/* n units in milliseconds, or in months. */
static int64_t length_of(int64_t n, enum ts_unit unit)
{
    static const int64_t each[] = {
        [TS_UNIT_MS] = 1,        [TS_UNIT_S] = 1000,          [TS_UNIT_M] = 60000, [TS_UNIT_H] = TS_HOUR_MS,
        [TS_UNIT_D] = TS_DAY_MS, [TS_UNIT_W] = 7 * TS_DAY_MS, [TS_UNIT_N] = 1,     [TS_UNIT_Y] = 12};
    int64_t all;
    return __builtin_mul_overflow(n, each[unit], &all) ? INT64_MAX : all;
}

/* --- what fits --- */

/* Does each interval become one, moved so much? */
static bool interval_fits(const struct qry_by_time *by, int64_t n, enum ts_unit unit)
{
    int64_t shift = length_of(n, unit), len = length_of(by->n, by->unit);
    if (!by->n)
        return true;
    if (in_months(unit) == in_months(by->unit))
        return shift % len == 0;
    /* a month and a day begin together with a day */
    return in_months(unit) && by->unit != TS_UNIT_W && TS_DAY_MS % len == 0;
}

/* Do the cells of the intervals determine the weekday and the hour of the day? */
static bool parts_are_cells(const struct qry_by_time *by)
{
    return by->n && by->unit <= TS_UNIT_H &&
           length_of(by->n, by->unit) <= (by->hour_of_day ? TS_HOUR_MS : TS_DAY_MS);
}
/* Does each interval lie in one day? */
static bool lies_in_day(const struct qry_by_time *by)
{
    return by->n && !in_months(by->unit) && TS_DAY_MS % length_of(by->n, by->unit) == 0;
}

static int refuse(const struct qry_spec *spec, const char *cells, const char *give, struct ts_error *err)
{
    struct ts_slice s = spec->compare_text;
    return ts_error_set(
        err, TS_EINVAL,
        "compare=%.*s does not fit totals by %s: moved so much, one would lie across two others. Give a "
        "multiple of %s%s",
        TS_SHOWN(s, 40), cells, give, spec->compare_unit == TS_UNIT_M ? " (m is minutes, n is months)" : "");
}

int qry_compare_check(const struct qry_spec *spec, struct ts_error *err)
{
    static const char *const units[] = {"ms", "s", "m", "h", "d", "w", "n", "y"};
    static const char *const names[] = {"millisecond", "second", "minute", "hour",
                                        "day",         "week",   "month",  "year"};
    const struct qry_by_time *by = &spec->by_time;
    int64_t shift = length_of(spec->compare_n, spec->compare_unit);
    if (!interval_fits(by, spec->compare_n, spec->compare_unit)) {
        char give[64], cells[64];
        (void)snprintf(give, sizeof give, "%lld%s", (long long)by->n, units[by->unit]);
        (void)snprintf(cells, sizeof cells, "%s", by->n == 1 ? names[by->unit] : give);
        return refuse(spec, cells, give, err);
    }
    if (in_months(spec->compare_unit) || parts_are_cells(by))
        return 0;
    if (by->hour_of_day && shift % TS_HOUR_MS)
        return refuse(spec, "hourofday", "1h", err);
    if (by->weekday && !by->hour_of_day && shift % TS_DAY_MS)
        return refuse(spec, "weekday", "1d", err);
    return 0;
}

/* --- moving --- */

/* A local time n units later. false: that day does not exist in the later month; *out_ms is then the end of that month. */
static bool local_shift(int64_t local_ms, int64_t n, enum ts_unit unit, int64_t *out_ms)
{
    int64_t len = length_of(n, unit);
    if (!in_months(unit)) {
        *out_ms = local_ms + len;
        return true;
    }
    struct ts_civil c = ts_civil_from_ms(NULL, local_ms);
    int32_t month = (int32_t)(c.month + len);
    *out_ms = ts_civil_to_ms(c.year, month, c.day, c.hour, c.minute, c.second) + c.ms;
    if (ts_civil_from_ms(NULL, *out_ms).day == c.day)
        return true;
    *out_ms = ts_civil_to_ms(c.year, month + 1, 1, 0, 0, 0);
    return false;
}

static int64_t instant_before(const struct qry_spec *spec, int64_t t_ms)
{
    int64_t local;
    (void)local_shift(t_ms + ts_tz_offset_ms(spec->tz, t_ms), -spec->compare_n, spec->compare_unit, &local);
    return ts_tz_from_local(spec->tz, local);
}

bool qry_compare_range(const struct qry_spec *spec, int64_t *out_from_ms, int64_t *out_to_ms)
{
    int64_t end_ms = spec->now_ms && spec->now_ms < spec->end_ms ? spec->now_ms : spec->end_ms;
    *out_from_ms = instant_before(spec, spec->start_ms);
    *out_to_ms = instant_before(spec, end_ms + 1) - 1;
    return *out_from_ms <= *out_to_ms;
}

/* Weekday and hour of a cell that has moved. */
static void move_keys(const struct qry_spec *spec, struct qry_total *t)
{
    const struct qry_by_time *by = &spec->by_time;
    bool parts = parts_are_cells(by), months = in_months(spec->compare_unit);
    int64_t hours = months ? 0 : length_of(spec->compare_n, spec->compare_unit) / TS_HOUR_MS;
    int64_t at = (by->weekday ? t->weekday - 1 : 0) * 24 + (by->hour_of_day ? t->hour_of_day : 0);
    at = ts_floor_mod(at + hours, WEEK_HOURS);
    if (by->weekday && (parts || lies_in_day(by)))
        t->weekday = (uint8_t)(ts_floor_mod(ts_floor_div(t->local_ms, TS_DAY_MS) + 3, 7) + 1);
    else if (by->weekday)
        t->weekday = (uint8_t)(at / 24 + 1);
    if (by->hour_of_day && parts)
        t->hour_of_day = (uint8_t)(ts_floor_mod(t->local_ms, TS_DAY_MS) / TS_HOUR_MS);
    else if (by->hour_of_day)
        t->hour_of_day = (uint8_t)(at % 24);
}

bool qry_compare_move(const struct qry_spec *spec, struct qry_total *t)
{
    if (spec->by_time.n) {
        if (!local_shift(t->local_ms, spec->compare_n, spec->compare_unit, &t->local_ms))
            return false;
        t->local = ts_civil_from_ms(NULL, t->local_ms);
        t->ts_ms = qry_compare_start_ms(spec->tz, t);
    }
    move_keys(spec, t);
    return true;
}

int64_t qry_compare_start_ms(const struct ts_tz *tz, const struct qry_total *t)
{
    int64_t first = ts_tz_from_local(tz, t->local_ms), from, to;
    if (!t->repeated)
        return first;
    (void)ts_tz_span(tz, first, &from, &to);
    if (to == INT64_MAX)
        return first;
    int64_t second = t->local_ms - ts_tz_offset_ms(tz, to);
    return second >= to ? second : first;
}

int qry_compare_clock(const struct qry_total *a, const struct qry_total *b)
{
    if (a->local_ms != b->local_ms)
        return a->local_ms < b->local_ms ? -1 : 1;
    return a->repeated - b->repeated;
}

/* --- values --- */

static double number(const struct qry_total_value *v)
{
    return v->is_int ? (double)v->i : v->d;
}

/* The nearest number of six digits: what people compare. Infinity and the largest numbers stay. */
static double rounded(double x)
{
    char text[32];
    struct ts_num out;
    int n = snprintf(text, sizeof text, "%.5e", x);
    return ts_num_parse((struct ts_slice){text, (size_t)n}, &out, NULL) == 0 ? ts_num_double(out) : x;
}

void qry_compare_derive(struct qry_total_value *v)
{
    double now = number(&v[0]), before = number(&v[1]);
    v[2] = v[3] = (struct qry_total_value){.null = true};
    if (v[0].null || v[1].null)
        return;
    v[2] = (struct qry_total_value){.is_int = v[0].is_int && v[1].is_int, .d = now - before};
    if (v[2].is_int && __builtin_sub_overflow(v[0].i, v[1].i, &v[2].i))
        v[2] = (struct qry_total_value){.d = now - before};
    if (before != 0)
        v[3] = (struct qry_total_value){.d = rounded(now / before)};
}
