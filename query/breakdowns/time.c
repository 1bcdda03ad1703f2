/*
 * time.c - cells of time: intervals of the zone's calendar, hours of the day, days of the week.
 *
 * First the range is cut into days, or into smaller parts where an interval or the hour of the day requires
 * them (calendar.c). Then parts of one key, the interval they lie in, their weekday and their hour, become
 * one cell.
 */
#include "query/breakdowns/breakdown.h"

#include "query/limit.h"
#include "query/query.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_BACK     3   /* cells that a change of the clock can go back to */
#define LOOK_BACK_ALL 512 /* cells to look through where hours or weekdays come again: more than 7 * 24 */

/* --- keys of by --- */

static bool interval_is(const struct qry_by_time *t, int64_t n, enum ts_unit unit)
{
    return t->n == n && t->unit == unit;
}

int qry_breakdown__interval(struct ts_slice key, int64_t n, enum ts_unit unit, struct qry_spec *spec,
                            struct ts_error *err)
{
    struct qry_by_time *t = &spec->by_time;
    bool day = n == 1 && unit == TS_UNIT_D, hour = n == 1 && unit == TS_UNIT_H;
    if (t->n && (day || hour) && (interval_is(t, 1, TS_UNIT_D) || interval_is(t, 1, TS_UNIT_H)) &&
        !(day ? t->day : t->hour))
        t->unit = TS_UNIT_H; /* day and hour: rows of hours have their date anyway */
    else if (t->n && interval_is(t, n, unit))
        return ts_error_set(err, TS_EINVAL, "Invalid breakdown, %.*s stands twice", (int)key.n, key.p);
    else if (t->n)
        return ts_error_set(
            err, TS_EINVAL,
            "Invalid breakdown, %.*s is a second interval: give one of minute, 10m, hour, day, "
            "week, month, quarter, year, 90d",
            (int)key.n, key.p);
    else
        *t = (struct qry_by_time){n, unit, t->hour_of_day, t->weekday, false, false};
    t->day |= day;
    t->hour |= hour;
    return 0;
}

static int add_once(bool *flag, struct ts_slice key, struct ts_error *err)
{
    if (*flag)
        return ts_error_set(err, TS_EINVAL, "Invalid breakdown, %.*s stands twice", (int)key.n, key.p);
    *flag = true;
    return 0;
}

static int add_hour_of_day(struct ts_slice key, struct qry_spec *spec, struct ts_error *err)
{
    return add_once(&spec->by_time.hour_of_day, key, err);
}
static int add_weekday(struct ts_slice key, struct qry_spec *spec, struct ts_error *err)
{
    return add_once(&spec->by_time.weekday, key, err);
}

const struct qry_breakdown qry_breakdown_minute = {
    .name = "minute", .n = 1, .unit = TS_UNIT_M, .help = "Each minute of the zone's clock."};
const struct qry_breakdown qry_breakdown_hour = {
    .name = "hour", .n = 1, .unit = TS_UNIT_H, .help = "Each hour of each date of the zone."};
const struct qry_breakdown qry_breakdown_day = {
    .name = "day", .n = 1, .unit = TS_UNIT_D, .help = "Each date of the zone, of 23 to 25 hours."};
const struct qry_breakdown qry_breakdown_week = {
    .name = "week", .n = 1, .unit = TS_UNIT_W, .help = "Each week, from Monday on."};
const struct qry_breakdown qry_breakdown_month = {
    .name = "month", .n = 1, .unit = TS_UNIT_N, .help = "Each month of the zone's calendar."};
const struct qry_breakdown qry_breakdown_quarter = {
    .name = "quarter", .n = 3, .unit = TS_UNIT_N, .help = "Each quarter of the zone's calendar, as 3n."};
const struct qry_breakdown qry_breakdown_year = {
    .name = "year", .n = 1, .unit = TS_UNIT_Y, .help = "Each year of the zone's calendar."};
const struct qry_breakdown qry_breakdown_hourofday = {
    .name = "hourofday", .add = add_hour_of_day, .help = "The hours 00 to 23 of all days together."};
const struct qry_breakdown qry_breakdown_weekday = {
    .name = "weekday", .add = add_weekday, .help = "Monday to Sunday of all weeks together."};

/* --- cutting --- */

/* Milliseconds of an interval that is made of hours or less; 0: it is made of days. */
static int64_t clock_ms(const struct qry_by_time *t)
{
    static const int64_t ms[] = {
        [TS_UNIT_MS] = 1, [TS_UNIT_S] = 1000, [TS_UNIT_M] = 60000, [TS_UNIT_H] = TS_HOUR_MS};
    int64_t all;
    if (!t->n || t->unit > TS_UNIT_H)
        return 0;
    return __builtin_mul_overflow(t->n, ms[t->unit], &all) || all > 36525 * TS_DAY_MS ? 36525 * TS_DAY_MS
                                                                                      : all;
}

int64_t qry_by_time_floor(const struct qry_by_time *t, int64_t local_ms)
{
    int64_t unit_ms = clock_ms(t), day = ts_floor_div(local_ms, TS_DAY_MS);
    int64_t n = t->n > 1000000 ? 1000000 : t->n;
    if (!n)
        return 0;
    if (unit_ms)
        return ts_floor_div(local_ms, unit_ms) * unit_ms;
    if (t->unit == TS_UNIT_D)
        return ts_floor_div(day, n) * n * TS_DAY_MS;
    if (t->unit == TS_UNIT_W) /* 1970-01-01 was a Thursday */
        return (ts_floor_div(day + 3, 7 * n) * 7 * n - 3) * TS_DAY_MS;
    struct ts_civil c = ts_civil_from_ms(NULL, local_ms);
    if (t->unit == TS_UNIT_Y)
        return ts_civil_to_ms((int32_t)(ts_floor_div(c.year, n) * n), 1, 1, 0, 0, 0);
    int64_t month = ts_floor_div(c.year * 12ll + c.month - 1, n) * n;
    return ts_civil_to_ms((int32_t)ts_floor_div(month, 12), (int32_t)ts_floor_mod(month, 12) + 1, 1, 0, 0, 0);
}

int64_t qry_by_time_next(const struct qry_by_time *t, int64_t local_ms)
{
    int64_t unit_ms = clock_ms(t), n = t->n > 1000000 ? 1000000 : t->n;
    struct ts_civil c = ts_civil_from_ms(NULL, local_ms);
    if (unit_ms)
        return local_ms + unit_ms;
    if (t->unit == TS_UNIT_N)
        return ts_civil_to_ms(c.year, (int32_t)(c.month + n), 1, 0, 0, 0);
    if (t->unit == TS_UNIT_Y)
        return ts_civil_to_ms((int32_t)(c.year + n), 1, 1, 0, 0, 0);
    return local_ms + n * TS_DAY_MS * (t->unit == TS_UNIT_W ? 7 : 1);
}

static struct qry_cell key_of(const struct qry_by_time *t, bool merged, const struct qry_cell *part)
{
    struct qry_cell c = *part;
    if (t->weekday)
        c.weekday = (uint8_t)(ts_floor_mod(ts_floor_div(part->local_ms, TS_DAY_MS) + 3, 7) + 1);
    if (t->hour_of_day)
        c.hour_of_day = (uint8_t)(ts_floor_mod(part->local_ms, TS_DAY_MS) / TS_HOUR_MS);
    if (merged) {
        c.local_ms = qry_by_time_floor(t, part->local_ms);
        c.repeated = false;
    }
    return c;
}

static bool same_key(const struct qry_cell *a, const struct qry_cell *b)
{
    return a->local_ms == b->local_ms && a->weekday == b->weekday && a->hour_of_day == b->hour_of_day &&
           a->repeated == b->repeated;
}

/* Assign each stretch from cell i to cell map[i], and join adjacent stretches of one cell. */
static void remap(struct qry_cells *c, const uint32_t *map)
{
    size_t n = 0;
    for (size_t i = 0; i < c->n_stretches; i++) {
        struct qry_stretch s = {c->stretch[i].start_ms, map[c->stretch[i].cell]};
        if (!n || c->stretch[n - 1].cell != s.cell)
            c->stretch[n++] = s;
    }
    c->n_stretches = n;
}

/* A cell on its way into the order of keys. */
struct placed {
    struct qry_cell cell;
    uint32_t from;
};
static int cmp_placed(const void *a, const void *b)
{
    const struct qry_cell *x = &((const struct placed *)a)->cell, *y = &((const struct placed *)b)->cell;
    if (x->local_ms != y->local_ms)
        return x->local_ms < y->local_ms ? -1 : 1;
    if (x->weekday != y->weekday)
        return x->weekday < y->weekday ? -1 : 1;
    return x->hour_of_day < y->hour_of_day ? -1 : x->hour_of_day > y->hour_of_day;
}

/* Hours and weekdays that come again: cells in the order of their keys, not of their first times. */
static int order(struct qry_cells *c, struct ts_error *err)
{
    struct ts_budget *memory = c->budget->memory;
    struct placed *p = ts_budget_calloc(memory, c->n, sizeof *p, err);
    uint32_t *map = p ? ts_budget_calloc(memory, c->n, sizeof *map, err) : NULL;
    if (map) {
        for (size_t i = 0; i < c->n; i++)
            p[i] = (struct placed){c->cell[i], (uint32_t)i};
        qsort(p, c->n, sizeof *p, cmp_placed);
        for (size_t i = 0; i < c->n; i++) {
            c->cell[i] = p[i].cell;
            map[p[i].from] = (uint32_t)i;
        }
        remap(c, map);
    }
    int rc = map ? 0 : qry_memory_code(err);
    ts_budget_free(memory, map, map ? c->n * sizeof *map : 0);
    ts_budget_free(memory, p, p ? c->n * sizeof *p : 0);
    return rc;
}

/* Parts of one key become one cell. */
static int merge(const struct qry_by_time *t, const struct ts_tz *tz, bool merged, struct qry_cells *c,
                 struct ts_error *err)
{
    bool again = t->weekday || t->hour_of_day;
    size_t n = 0, n_parts = c->n, look_back = again ? LOOK_BACK_ALL : LOOK_BACK, step = 0;
    uint32_t *map = ts_budget_calloc(c->budget->memory, n_parts, sizeof *map, err);
    if (!map)
        return qry_memory_code(err);
    int rc = 0;
    for (size_t i = 0; i < n_parts && rc == 0; i++) {
        struct qry_cell cell = key_of(t, merged, &c->cell[i]);
        size_t back = 1;
        while (back <= look_back && back <= n && !same_key(&c->cell[n - back], &cell))
            back++;
        bool known = back <= look_back && back <= n;
        if (!known) {
            if (merged && t->n)
                cell.start_ms = ts_tz_from_local(tz, cell.local_ms);
            c->cell[n] = cell;
        }
        map[i] = (uint32_t)(known ? n - back : n);
        n += !known;
        rc = qry_budget_step(c->budget, &step, err);
    }
    if (rc == 0) {
        c->n = n;
        remap(c, map);
    }
    ts_budget_free(c->budget->memory, map, n_parts * sizeof *map);
    return rc == 0 && again ? order(c, err) : rc;
}

/* The longest time of which both are multiples. */
static int64_t common_ms(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

int qry_breakdown__cut_time(const struct qry_by_time *t, const struct ts_tz *tz, int64_t from_ms,
                            int64_t to_ms, struct qry_cells *out, struct ts_error *err)
{
    int64_t unit_ms = clock_ms(t), part_ms = unit_ms ? unit_ms : TS_DAY_MS;
    /* no part may lie in two intervals, weekdays or hours: 36h begin at noon every other time */
    if (t->weekday)
        part_ms = common_ms(part_ms, TS_DAY_MS);
    if (t->hour_of_day)
        part_ms = common_ms(part_ms, TS_HOUR_MS);
    TS_TRY(qry_cells__cut(tz, part_ms, from_ms, to_ms, out, err));
    bool merged = part_ms != (t->n == 1 && t->unit == TS_UNIT_D ? TS_DAY_MS : unit_ms);
    return merged || t->weekday || t->hour_of_day ? merge(t, tz, merged, out, err) : 0;
}

/* --- columns --- */

size_t qry_time_columns(const struct qry_by_time *t, enum qry_time_column *out)
{
    size_t n = 0;
    if (t->n) {
        static const enum qry_time_column days[] = {[TS_UNIT_D] = QRY_COLUMN_DATE,
                                                    [TS_UNIT_W] = QRY_COLUMN_WEEK,
                                                    [TS_UNIT_N] = QRY_COLUMN_MONTH,
                                                    [TS_UNIT_Y] = QRY_COLUMN_YEAR};
        bool clock = t->unit <= TS_UNIT_H;
        out[n++] = clock                          ? QRY_COLUMN_DATE
                   : interval_is(t, 3, TS_UNIT_N) ? QRY_COLUMN_QUARTER
                                                  : days[t->unit];
        if (clock)
            out[n++] = t->n == 1 && t->unit == TS_UNIT_H ? QRY_COLUMN_HOUR : QRY_COLUMN_TIME;
    }
    if (t->weekday)
        out[n++] = QRY_COLUMN_WEEKDAY;
    if (t->hour_of_day)
        out[n++] = QRY_COLUMN_HOUR_OF_DAY;
    return n;
}

const char *qry_time_column_name(enum qry_time_column c)
{
    static const char *const names[] = {
        [QRY_COLUMN_DATE] = "date", [QRY_COLUMN_HOUR] = "hour",       [QRY_COLUMN_TIME] = "time",
        [QRY_COLUMN_WEEK] = "week", [QRY_COLUMN_MONTH] = "month",     [QRY_COLUMN_QUARTER] = "quarter",
        [QRY_COLUMN_YEAR] = "year", [QRY_COLUMN_WEEKDAY] = "weekday", [QRY_COLUMN_HOUR_OF_DAY] = "hourofday"};
    return names[c];
}

/* "+05:45" behind an hour that comes the second time. */
static int print_offset(const struct qry_total *t, char *out, size_t room)
{
    int64_t min = t->offset_ms / 60000, abs = min < 0 ? -min : min;
    return t->repeated
               ? snprintf(out, room, "%c%02d:%02d", min < 0 ? '-' : '+', (int)(abs / 60), (int)(abs % 60))
               : 0;
}

size_t qry_time_column_print(enum qry_time_column c, const struct qry_total *t, char *out)
{
    static const char *const weekdays[] = {"", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};
    const struct ts_civil *l = &t->local;
    const size_t room = QRY_TIME_COLUMN_BYTES;
    const char *sign = l->year < 0 ? "-" : "";
    int year = l->year < 0 ? -l->year : l->year, n = 0;
    switch (c) {
    case QRY_COLUMN_DATE:
    case QRY_COLUMN_WEEK:
        n = snprintf(out, room, "%s%04d-%02d-%02d", sign, year, l->month, l->day);
        break;
    case QRY_COLUMN_MONTH:
        n = snprintf(out, room, "%s%04d-%02d", sign, year, l->month);
        break;
    case QRY_COLUMN_QUARTER:
        n = snprintf(out, room, "%s%04d-Q%d", sign, year, (l->month + 2) / 3);
        break;
    case QRY_COLUMN_YEAR:
        n = snprintf(out, room, "%s%04d", sign, year);
        break;
    case QRY_COLUMN_HOUR:
        n = snprintf(out, room, "%02d", l->hour);
        n += print_offset(t, out + n, room - (size_t)n);
        break;
    case QRY_COLUMN_TIME:
        n = snprintf(out, room, "%02d:%02d", l->hour, l->minute);
        if (t->unit <= TS_UNIT_S)
            n += snprintf(out + n, room - (size_t)n, ":%02d", l->second);
        if (t->unit == TS_UNIT_MS)
            n += snprintf(out + n, room - (size_t)n, ".%03d", l->ms);
        n += print_offset(t, out + n, room - (size_t)n);
        break;
    case QRY_COLUMN_WEEKDAY:
        n = snprintf(out, room, "%s", weekdays[t->weekday % 8]);
        break;
    case QRY_COLUMN_HOUR_OF_DAY:
        n = snprintf(out, room, "%02d", t->hour_of_day);
        break;
    }
    return (size_t)n;
}

int64_t qry_by_time_end(const struct qry_by_time *t, const struct ts_tz *tz, int64_t ts_ms, int64_t local_ms,
                        bool repeated)
{
    int64_t next = qry_by_time_next(t, local_ms), to_ms = ts_tz_from_local(tz, next), from, change_ms;
    int64_t offset_ms = ts_tz_span(tz, ts_ms, &from, &change_ms);
    if (to_ms <= ts_ms) /* the first of two that are called so */
        return ts_ms + (next - local_ms);
    bool back = change_ms < to_ms && ts_tz_offset_ms(tz, change_ms) < offset_ms;
    return back && !repeated && next - local_ms <= TS_HOUR_MS ? change_ms : to_ms;
}
