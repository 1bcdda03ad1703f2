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
#include "tsd/format/picture.h"

#include <stdio.h>

#define AXIS_LABELS      12  /* on an axis of time of gnuplot, about; of days two more */
#define AXIS_MAX_CELLS   120 /* intervals whose own dates are written; more get months and years */
#define AXIS_MAX_TICS    100 /* labels of any axis */
#define AXIS_LABEL_BYTES 32
#define AXIS_LAST_MS     4102444800000 /* an end after 2100 means: all there is */

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

int64_t tsd_plot__floor_s(const struct tsd_plot *p, int64_t ms)
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
        int64_t from = tsd_plot__floor_s(p, p->from_ms);
        lo = from < lo ? from : lo;
    }
    if (has_range && (p->to_ms < AXIS_LAST_MS || lo > hi)) {
        int64_t to = tsd_plot__next_s(p, tsd_plot__floor_s(p, p->to_ms));
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

static struct axis_step axis_step(int64_t span_s, int64_t least_s, int64_t n_labels)
{
    static const struct axis_step steps[] = {
        {1, 0},        {5, 0},         {15, 0},        {60, 0},        {300, 0},     {900, 0},
        {1800, 0},     {3600, 0},      {7200, 0},      {10800, 0},     {21600, 0},   {43200, 0},
        {86400, 0},    {172800, 0},    {604800, 0},    {2678400, 1},   {5270400, 2}, {7948800, 3},
        {15811200, 6}, {31622400, 12}, {63244800, 24}, {158112000, 60}};
    const size_t n = sizeof(steps) / sizeof(steps[0]);
    for (size_t i = 0; i < n; i++)
        if (steps[i].s >= least_s && span_s / steps[i].s <= n_labels)
            return steps[i];
    int64_t decades = span_s / n_labels / 316224000 + 1;
    return (struct axis_step){decades * 316224000, (int)(decades < 10000 ? decades * 120 : 1200000)};
}

/* Labels being written. */
struct tics {
    const struct tsd_plot *p;
    tsd_plot_tic_fn tic;
    void *arg;
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
    char label[AXIS_LABEL_BYTES], below[AXIS_LABEL_BYTES] = "";
    if (t->step.n_months >= 12)
        (void)snprintf(label, sizeof(label), "%04d", c.year);
    else if (t->step.n_months)
        (void)snprintf(label, sizeof(label), "%s", months[c.month - 1]);
    else if (t->step.s >= 86400)
        (void)snprintf(label, sizeof(label), "%02d %s", c.day, months[c.month - 1]);
    else if (t->step.s >= 60)
        (void)snprintf(label, sizeof(label), "%02d:%02d", c.hour, c.minute);
    else
        (void)snprintf(label, sizeof(label), "%02d:%02d:%02d", c.hour, c.minute, c.second);
    if (t->step.s < 86400 && t->dates && day)
        (void)snprintf(below, sizeof(below), "%02d %s", c.day, months[c.month - 1]);
    else if (t->step.s >= 86400 && t->step.n_months < 12 && year)
        (void)snprintf(below, sizeof(below), "%04d", c.year);
    t->tic(t->arg, x_s, label, below);
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
static void tics_of_days(struct tics *t, int64_t lo_s, int64_t hi_s, size_t n_cells, size_t n_labels)
{
    static const size_t strides[] = {1, 2, 3, 5, 7, 10, 14};
    size_t i = 0, stride;
    while (i + 1 < sizeof(strides) / sizeof(strides[0]) && n_cells > strides[i] * n_labels)
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

/* What the labels leave out: dates, and the zone. */
static void axis_caption(const struct tics *t, int64_t lo_s, int64_t hi_s, struct ts_buf *out)
{
    const struct tsd_plot *p = t->p;
    if (t->step.s < 86400) {
        struct ts_civil a = ts_civil_from_ms(NULL, axis_local_s(p, lo_s) * 1000),
                        b = ts_civil_from_ms(NULL, (axis_local_s(p, hi_s) - 1) * 1000);
        ts_buf_printf(out, "%04d-%02d-%02d", a.year, a.month, a.day);
        if (a.day != b.day || a.month != b.month || a.year != b.year)
            ts_buf_printf(out, " to %04d-%02d-%02d", b.year, b.month, b.day);
        ts_buf_str(out, ", ");
    }
    ts_buf_str(out, p->tz && *ts_tz_name(p->tz) ? ts_tz_name(p->tz) : "UTC");
}

bool tsd_plot__tics(const struct tsd_plot *p, int64_t lo_s, int64_t hi_s, size_t n_labels,
                    tsd_plot_tic_fn tic, void *arg, struct ts_buf *caption)
{
    size_t n_cells = p->axis == TSD_PLOT_DAYS ? axis_cells(p, lo_s, hi_s) : 0;
    int64_t least_s = p->axis == TSD_PLOT_TIMES ? 1 : tsd_plot__next_s(p, lo_s) - lo_s;
    struct tics t = {
        .p = p, .tic = tic, .arg = arg, .step = axis_step(hi_s - lo_s, least_s, (int64_t)n_labels)};
    t.dates = axis_local_s(p, hi_s) - axis_local_s(p, lo_s) > 86400;
    axis_caption(&t, lo_s, hi_s, caption);
    bool below = t.dates || t.step.s >= 86400;
    if (n_cells && n_cells <= AXIS_MAX_CELLS)
        tics_of_days(&t, lo_s, hi_s, n_cells, n_labels + 2);
    else
        tics_of_clock(&t, lo_s, hi_s);
    return below;
}

/* gnuplot's labels. */
struct axis_script {
    struct ts_buf *out;
    bool more; /* not the first one */
};

static void script_tic(void *arg, int64_t x_s, const char *label, const char *below)
{
    struct axis_script *s = arg;
    ts_buf_printf(s->out, "%s\"%s%s%s\" %lld", s->more ? ", " : "", label, *below ? "\\n" : "", below,
                  (long long)x_s);
    s->more = true;
}

void tsd_plot__time_axis(const struct tsd_plot *p, struct ts_buf *out)
{
    int64_t lo, hi;
    struct ts_buf tics, caption;
    ts_buf_init(&tics, 0);
    ts_buf_init(&caption, 0);
    tsd_plot__range(p, &lo, &hi);
    struct axis_script script = {.out = &tics};
    bool below = tsd_plot__tics(p, lo, hi, AXIS_LABELS, script_tic, &script, &caption);
    ts_buf_char(&caption, 0);
    ts_buf_str(out, "set xlabel ");
    tsd_gnuplot_quote(caption.p, out);
    /* gnuplot reserves space for one line of these labels, and less than the caption needs */
    ts_buf_printf(out, "%s textcolor rgb '#444444'\nset bmargin %d\n", below ? " offset 0,-1" : "",
                  below ? 5 : 4);
    ts_buf_printf(out, "set xrange [%lld:%lld]\nset xtics (", (long long)lo, (long long)hi);
    ts_buf_slice(out, ts_buf_get(&tics));
    ts_buf_str(out, ")\n");
    ts_buf_release(&tics);
    ts_buf_release(&caption);
}
