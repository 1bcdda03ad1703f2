/*
 * partition.c - the grid of windows, and cutting a flush along it.
 *
 * Not here   which files to merge (pick.c)
 */
#include "storage/engine/merge/partition.h"

#include "base/mem.h"

#include <stdlib.h>

/* --- the grid --- */

/* Days of a window, as a power of two. */
static unsigned level_bits(uint8_t level)
{
    return level * 3u;
}

struct sto_window sto_window_of(int64_t lo_ms, int64_t hi_ms)
{
    int64_t a = ts_floor_div(lo_ms, TS_DAY_MS), b = ts_floor_div(hi_ms, TS_DAY_MS);
    for (uint8_t level = STO_WINDOW_DAY; level < STO_WINDOW_ALL; level++) {
        int64_t days = (int64_t)1 << level_bits(level);
        if (ts_floor_div(a, days) == ts_floor_div(b, days))
            return (struct sto_window){level, (int32_t)ts_floor_div(a, days)};
    }
    return (struct sto_window){STO_WINDOW_ALL, 0};
}

void sto_window_span(struct sto_window w, int64_t *out_lo_ms, int64_t *out_end_ms)
{
    int64_t len = TS_DAY_MS << level_bits(w.level);
    *out_lo_ms = w.level == STO_WINDOW_ALL ? INT64_MIN : w.index * len;
    *out_end_ms = w.level == STO_WINDOW_ALL ? INT64_MAX : (w.index + (int64_t)1) * len;
}

/* --- counting --- */

void sto_day_counts_add(struct sto_day_counts *c, int32_t hour, uint64_t points)
{
    int32_t day = (int32_t)ts_floor_div(hour, 24);
    if (c->n == 0 || c->days[c->last].day != day) {
        size_t lo = 0, hi = c->n;
        while (lo < hi) {
            size_t mid = lo + (hi - lo) / 2;
            if (c->days[mid].day < day)
                lo = mid + 1;
            else
                hi = mid;
        }
        if (lo == c->n || c->days[lo].day != day) {
            if (c->n == c->cap)
                c->days = ts_xrealloc(c->days, (c->cap = c->cap ? c->cap * 2 : 16) * sizeof *c->days);
            for (size_t i = c->n++; i > lo; i--)
                c->days[i] = c->days[i - 1];
            c->days[lo] = (struct sto_day_count){.day = day};
        }
        c->last = lo;
    }
    c->days[c->last].n += points;
}

size_t sto_day_counts_cut(struct sto_day_counts *c, uint64_t big_day_points, struct sto_cut **out_cuts)
{
    *out_cuts = ts_xcalloc(c->n + 1, sizeof **out_cuts);
    return sto_partition_plan(c->days, c->n, big_day_points, *out_cuts);
}

/* --- cutting --- */

/* Number of points that justifies a file of their own in a flush of these days. */
static uint64_t own_points(const struct sto_day_count *days, size_t n_days, uint64_t big_day_points)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n_days; i++)
        sum += days[i].n;
    uint64_t share =
        sum / STO_BIG_DAY_SHARE > STO_BIG_DAY_LEAST ? sum / STO_BIG_DAY_SHARE : STO_BIG_DAY_LEAST;
    return share < big_day_points ? share : big_day_points;
}

/* Cuts so far. */
struct plan {
    const struct sto_day_count *days; /* all */
    uint64_t big;                     /* points that justify a file */
    struct sto_cut *out;
    size_t n;
    bool open; /* the last cut accepts neighbours with few points */
};

/* Begin a cut with days[i], or add the day to the open one. */
static void begin_cut(struct plan *p, size_t i, bool big)
{
    if (p->n == 0 || big || !p->open) {
        int32_t lo = p->n ? p->days[i].day * 24 : INT32_MIN; /* the first day of all begins before that */
        if (p->n)
            p->out[p->n - 1].hour_hi = lo;
        p->out[p->n++] = (struct sto_cut){.hour_lo = lo, .hour_hi = INT32_MAX};
    }
    p->open = !big;
}

/* Cut days[i..end), which lie in one window of a level. */
static void cut_window(struct plan *p, size_t i, size_t end, uint8_t level)
{
    uint64_t n = 0;
    for (size_t k = i; k < end; k++)
        n += p->days[k].n;
    if (level == STO_WINDOW_DAY || n < p->big) {
        begin_cut(p, i, n >= p->big);
        return;
    }
    p->open = false; /* days before a window with many points are not mixed with those in it */
    int64_t days = (int64_t)1 << level_bits((uint8_t)(level - 1));
    for (size_t next; i < end; i = next) {
        for (next = i + 1;
             next < end && ts_floor_div(p->days[next].day, days) == ts_floor_div(p->days[i].day, days);
             next++)
            ;
        cut_window(p, i, next, (uint8_t)(level - 1));
    }
    p->open = false;
}

size_t sto_partition_plan(const struct sto_day_count *days, size_t n_days, uint64_t big_day_points,
                          struct sto_cut *out)
{
    struct plan p = {.days = days, .big = own_points(days, n_days, big_day_points), .out = out};
    if (n_days)
        cut_window(&p, 0, n_days, STO_WINDOW_ALL);
    return p.n;
}
