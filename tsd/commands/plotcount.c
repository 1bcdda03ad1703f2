/*
 * plotcount.c - points of counts as bars: each is a number of events, so what can be seen is how many there were in an
 * interval.
 *
 * Threads    see plot.h
 */
#include "base/time.h"
#include "tsd/commands/plot.h"

#include <math.h>

/* Lengths of bars that people read well. */
static const struct qry_by_time lengths[] = {
    {.n = 1, .unit = TS_UNIT_S},  {.n = 5, .unit = TS_UNIT_S},  {.n = 10, .unit = TS_UNIT_S},
    {.n = 30, .unit = TS_UNIT_S}, {.n = 1, .unit = TS_UNIT_M},  {.n = 5, .unit = TS_UNIT_M},
    {.n = 10, .unit = TS_UNIT_M}, {.n = 30, .unit = TS_UNIT_M}, {.n = 1, .unit = TS_UNIT_H},
    {.n = 2, .unit = TS_UNIT_H},  {.n = 6, .unit = TS_UNIT_H},  {.n = 12, .unit = TS_UNIT_H},
    {.n = 1, .unit = TS_UNIT_D},  {.n = 1, .unit = TS_UNIT_W},  {.n = 1, .unit = TS_UNIT_N},
    {.n = 3, .unit = TS_UNIT_N},  {.n = 1, .unit = TS_UNIT_Y},  {.n = 10, .unit = TS_UNIT_Y}};

static int64_t length_ms(const struct qry_by_time *t)
{
    static const int64_t ms[] = {
        [TS_UNIT_MS] = 1,       [TS_UNIT_S] = 1000,      [TS_UNIT_M] = 60000,      [TS_UNIT_H] = 3600000,
        [TS_UNIT_D] = 86400000, [TS_UNIT_W] = 604800000, [TS_UNIT_N] = 2592000000, [TS_UNIT_Y] = 31536000000};
    return t->n * ms[t->unit];
}

/* The shortest length that makes at most max_bars; it holds whole intervals of ds. */
static struct qry_by_time count_length(int64_t span_ms, size_t max_bars, const struct qry_downsample *ds)
{
    size_t n = sizeof lengths / sizeof lengths[0];
    int64_t most = (int64_t)max_bars;
    if (ds->on && ds->unit >= TS_UNIT_S && span_ms / ds->interval_ms <= most)
        return (struct qry_by_time){.n = ds->n, .unit = ds->unit};
    for (size_t i = 0; i < n; i++)
        if (span_ms / length_ms(&lengths[i]) <= most &&
            (!ds->on || length_ms(&lengths[i]) % ds->interval_ms == 0))
            return lengths[i];
    return lengths[n - 1];
}

/* Points become the sums of their intervals, in place. */
static void count_series(const struct tsd_plot *p, struct tsd_plot_series *s)
{
    size_t n = 0;
    for (size_t k = 0; k < s->n; k++) {
        if (isnan(s->y[k]))
            continue;
        int64_t x_s = tsd_plot__floor_s(p, s->x_s[k] * 1000);
        double y = s->y[k];
        if (n && s->x_s[n - 1] == x_s) {
            s->y[n - 1] += y;
            continue;
        }
        s->x_s[n] = x_s;
        s->y[n++] = y;
    }
    s->n = n;
}

void tsd_plot_count(struct tsd_plot *p, size_t max_bars, const struct qry_downsample *ds)
{
    int64_t lo_s, hi_s;
    if (ds->on && ds->all)
        return;
    for (size_t i = 0; i < p->n; i++)
        tsd_plot__figures(&p->series[i]);
    tsd_plot__range(p, &lo_s, &hi_s);
    p->by_time = count_length((hi_s - lo_s) * 1000, max_bars, ds);
    p->axis = p->by_time.unit <= TS_UNIT_H ? TSD_PLOT_HOURS : TSD_PLOT_DAYS;
    p->additive = p->sums = true;
    for (size_t i = 0; i < p->n; i++)
        count_series(p, &p->series[i]);
}
