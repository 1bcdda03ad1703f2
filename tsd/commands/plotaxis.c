/*
 * plotaxis.c - the axis of time of a picture: how far it goes, and labels by the clock and calendar of the query's zone.
 *
 * Hours and points stand at their instants, so that the hour that comes twice in autumn is two bars and the one that is left out in
 * spring is no gap. Days and longer intervals stand at their dates, and their labels below the middle of each.
 *
 * Threads    see plot.h
 */
#include "tsd/commands/plot.h"

#include "base/time.h"
#include "query/breakdowns/breakdown.h"

#include <stdio.h>

#define AXIS_LABELS     12            /* on an axis of time, about */
#define AXIS_DAY_LABELS 14            /* below bars of days */
#define AXIS_MAX_CELLS  120           /* intervals whose own dates are written; more get months and years */
#define AXIS_MAX_TICS   100           /* labels of any axis */
#define AXIS_LAST_MS    4102444800000 /* an end after 2100 means: all there is */

static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

/* --- seconds of the axis and of the clock --- */

/* What the clock says, in seconds since 1970, at a place of the axis. */
static int64_t axis_local_s(const struct tsd_plot *p, int64_t x_s)
{
    int64_t off_ms = p->tz && p->axis != TSD_PLOT_DAYS ? ts_tz_offset_ms(p->tz, x_s * 1000) : 0;
    return x_s + ts_floor_div(off_ms, 1000);
}

/* Where the clock says so. */
static int64_t axis_of_local_s(const struct tsd_plot *p, int64_t local_s)
{
    if (!p->tz || p->axis == TSD_PLOT_DAYS)
        return local_s;
    return ts_floor_div(ts_tz_from_local(p->tz, local_s * 1000), 1000);
}

int64_t tsd_plot__next_s(const struct tsd_plot *p, int64_t x_s)
{
    if (p->axis == TSD_PLOT_TIMES || !p->by_time.n)
        return x_s;
    int64_t local_s = axis_local_s(p, x_s);
    int64_t length_s = ts_floor_div(qry_by_time_next(&p->by_time, local_s * 1000), 1000) - local_s;
    int64_t end_s = axis_of_local_s(p, local_s + length_s);
    if (end_s <= x_s || (length_s <= 3600 && end_s > x_s + length_s)) /* the clock is set back in between */
        end_s = x_s + length_s;
    return end_s > x_s ? end_s : x_s + 1;
}

int64_t tsd_plot__middle_s(const struct tsd_plot *p, int64_t x_s)
{
    return p->axis == TSD_PLOT_DAYS ? x_s + (tsd_plot__next_s(p, x_s) - x_s) / 2 : x_s;
}

/* --- how far it goes --- */

/* Start of the interval that holds a moment. */
static int64_t axis_floor_s(const struct tsd_plot *p, int64_t ms)
{
    int64_t local_ms = ms + (p->tz ? ts_tz_offset_ms(p->tz, ms) : 0);
    if (p->axis == TSD_PLOT_TIMES || !p->by_time.n)
        return ts_floor_div(ms + 500, 1000); /* an end of 23:59:59.999 is midnight */
    return axis_of_local_s(p, ts_floor_div(qry_by_time_floor(&p->by_time, local_ms), 1000));
}

void tsd_plot__range(const struct tsd_plot *p, int64_t *out_lo_s, int64_t *out_hi_s)
{
    int64_t lo = INT64_MAX, hi = INT64_MIN;
    for (size_t i = 0; i < p->n; i++) {
        const struct tsd_plot_series *s = &p->series[i];
        int64_t end = s->n ? tsd_plot__next_s(p, s->x_s[s->n - 1]) : hi;
        lo = s->n && s->x_s[0] < lo ? s->x_s[0] : lo;
        hi = end > hi ? end : hi;
    }
    bool has_range = p->to_ms > p->from_ms;
    if (has_range && (p->from_ms > 0 || lo > hi)) {
        int64_t from = axis_floor_s(p, p->from_ms);
        lo = from < lo ? from : lo;
    }
    if (has_range && (p->to_ms < AXIS_LAST_MS || lo > hi)) {
        int64_t to = tsd_plot__next_s(p, axis_floor_s(p, p->to_ms));
        hi = to > hi ? to : hi;
    }
    if (lo > hi)
        lo = hi = 0;
    *out_lo_s = hi > lo ? lo : lo - 30;
    *out_hi_s = hi > lo ? hi : hi + 30;
}

/* --- labels --- */

/* A distance between labels: seconds by the clock, or months. */
struct axis_step {
    int64_t s;
    int n_months;
};

static struct axis_step axis_step(int64_t span_s, int64_t least_s)
{
    static const struct axis_step steps[] = {
        {1, 0},        {5, 0},         {15, 0},        {60, 0},        {300, 0},     {900, 0},
        {1800, 0},     {3600, 0},      {7200, 0},      {10800, 0},     {21600, 0},   {43200, 0},
        {86400, 0},    {172800, 0},    {604800, 0},    {2678400, 1},   {5270400, 2}, {7948800, 3},
        {15811200, 6}, {31622400, 12}, {63244800, 24}, {158112000, 60}};
    const size_t n = sizeof(steps) / sizeof(steps[0]);
    for (size_t i = 0; i < n; i++)
        if (steps[i].s >= least_s && span_s / steps[i].s <= AXIS_LABELS)
            return steps[i];
    int64_t decades = span_s / AXIS_LABELS / 316224000 + 1;
    return (struct axis_step){decades * 316224000, (int)(decades < 10000 ? decades * 120 : 1200000)};
}

/* Labels being written. */
struct tics {
    const struct tsd_plot *p;
    struct ts_buf *out;
    struct axis_step step;
    bool dates; /* of clock readings too */
    struct ts_civil last;
    size_t n;
};

/* One label at x for what the clock says there; a date or year stands below where it is another one. */
static void tic_add(struct tics *t, int64_t x_s, int64_t local_s)
{
    struct ts_civil c = ts_civil_from_ms(NULL, local_s * 1000), *last = &t->last;
    bool year = !t->n || c.year != last->year, day = year || c.month != last->month || c.day != last->day;
    ts_buf_str(t->out, t->n ? ", \"" : "\"");
    if (t->step.n_months >= 12)
        ts_buf_printf(t->out, "%04d", c.year);
    else if (t->step.n_months)
        ts_buf_printf(t->out, "%s", months[c.month - 1]);
    else if (t->step.s >= 86400)
        ts_buf_printf(t->out, "%02d %s", c.day, months[c.month - 1]);
    else
        ts_buf_printf(t->out, t->step.s >= 60 ? "%02d:%02d" : "%02d:%02d:%02d", c.hour, c.minute, c.second);
    if (t->step.s < 86400 && t->dates && day)
        ts_buf_printf(t->out, "\\n%02d %s", c.day, months[c.month - 1]);
    else if (t->step.s >= 86400 && t->step.n_months < 12 && year)
        ts_buf_printf(t->out, "\\n%04d", c.year);
    ts_buf_printf(t->out, "\" %lld", (long long)x_s);
    t->last = c;
    t->n++;
}

/* Labels at whole readings of clock and calendar. */
static void tics_of_clock(struct tics *t, int64_t lo_s, int64_t hi_s)
{
    int64_t from_s = axis_local_s(t->p, lo_s), before = INT64_MIN;
    struct qry_by_time months_of = {.n = t->step.n_months, .unit = TS_UNIT_N};
    int64_t origin = t->step.s == 604800 ? 4 * 86400 : 0; /* weeks begin on Monday */
    int64_t local = ts_floor_div(from_s - origin, t->step.s) * t->step.s + origin;
    if (t->step.n_months)
        local = ts_floor_div(qry_by_time_floor(&months_of, from_s * 1000), 1000);
    for (size_t i = 0; i < AXIS_MAX_TICS; i++) {
        int64_t x_s = axis_of_local_s(t->p, local);
        if (x_s > hi_s)
            break;
        if (x_s >= lo_s && x_s > before) /* the clock leaves out some */
            tic_add(t, x_s, local);
        before = x_s;
        local = t->step.n_months ? ts_floor_div(qry_by_time_next(&months_of, local * 1000), 1000)
                                 : local + t->step.s;
    }
}

/* Labels below the middle of intervals of days and more. */
static void tics_of_days(struct tics *t, int64_t lo_s, int64_t hi_s, size_t n_cells)
{
    static const size_t strides[] = {1, 2, 3, 5, 7, 10, 14};
    size_t i = 0, stride;
    while (i + 1 < sizeof(strides) / sizeof(strides[0]) && n_cells > strides[i] * AXIS_DAY_LABELS)
        i++;
    stride = strides[i];
    enum ts_unit unit = t->p->by_time.unit;
    t->step = unit == TS_UNIT_Y   ? (struct axis_step){31622400, 12}
              : unit == TS_UNIT_N ? (struct axis_step){2678400, 1}
                                  : (struct axis_step){86400, 0};
    for (size_t k = 0; lo_s < hi_s && k < AXIS_MAX_CELLS; k++) {
        if (k % stride == 0)
            tic_add(t, tsd_plot__middle_s(t->p, lo_s), lo_s);
        lo_s = tsd_plot__next_s(t->p, lo_s);
    }
}

/* How many intervals there are, AXIS_MAX_CELLS + 1 if more. */
static size_t axis_cells(const struct tsd_plot *p, int64_t lo_s, int64_t hi_s)
{
    size_t n = 0;
    for (; lo_s < hi_s && n <= AXIS_MAX_CELLS; n++)
        lo_s = tsd_plot__next_s(p, lo_s);
    return n;
}

void tsd_plot__time_axis(const struct tsd_plot *p, struct ts_buf *out)
{
    int64_t lo, hi;
    tsd_plot__range(p, &lo, &hi);
    size_t n_cells = p->axis == TSD_PLOT_DAYS ? axis_cells(p, lo, hi) : 0;
    int64_t least_s = p->axis == TSD_PLOT_TIMES ? 1 : tsd_plot__next_s(p, lo) - lo;
    struct tics t = {.p = p, .out = out, .step = axis_step(hi - lo, least_s)};
    t.dates = axis_local_s(p, hi) - axis_local_s(p, lo) > 86400;
    if (t.step.s < 86400) { /* what the labels leave out */
        struct ts_civil a = ts_civil_from_ms(NULL, axis_local_s(p, lo) * 1000),
                        b = ts_civil_from_ms(NULL, (axis_local_s(p, hi) - 1) * 1000);
        ts_buf_printf(out, "set xlabel '%04d-%02d-%02d", a.year, a.month, a.day);
        if (a.day != b.day || a.month != b.month || a.year != b.year)
            ts_buf_printf(out, " to %04d-%02d-%02d", b.year, b.month, b.day);
        ts_buf_printf(out, "' %s textcolor rgb '#444444'\n", t.dates ? "offset 0,-1" : "");
    }
    /* gnuplot reserves space for one line of these labels */
    ts_buf_printf(out, "set bmargin %d\n", t.step.s >= 86400 ? 3 : t.dates ? 4 : 3);
    ts_buf_printf(out, "set xrange [%lld:%lld]\nset xtics (", (long long)lo, (long long)hi);
    if (n_cells && n_cells <= AXIS_MAX_CELLS)
        tics_of_days(&t, lo, hi, n_cells);
    else
        tics_of_clock(&t, lo, hi);
    ts_buf_str(out, ")\n");
}
