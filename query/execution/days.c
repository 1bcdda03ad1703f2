/*
 * days.c - see days.h.
 */
#include "query/execution/days.h"

#include "query/limit.h"
#include "storage/day.h"

#include <string.h>

static bool all(void *arg, int64_t from_ms, int64_t to_ms)
{
    (void)arg, (void)from_ms, (void)to_ms;
    return true;
}

int qry_plan_days(struct qry_plan *p, bool (*one)(void *arg, int64_t from_ms, int64_t to_ms), void *arg,
                  struct ts_error *err)
{
    p->days = NULL;
    p->one = (struct qry_one){p->whole_hours ? one ? one : all : NULL, arg};
    if (!p->whole_hours)
        return 0;
    int32_t h0 = sto_hour(p->scan_from_ms), h1 = sto_hour(p->scan_to_ms - 1);
    size_t n = (size_t)(h1 - h0) + 1;
    uint8_t *days = qry_arena_take(p->arena, n, 1, err);
    struct sto_day day;
    bool any = false;
    if (!days)
        return qry_memory_code(err);
    memset(days, 0, n);
    for (int32_t h = h0; h <= h1; h = day.to) {
        if (!sto_day_of(h, &day))
            return 0;
        if (day.from < h0)
            continue;
        size_t at = (size_t)(day.from - h0), hours = (size_t)(day.to - day.from);
        bool whole = day.to <= h1 + 1 && !memchr(p->whole_hours + at, 0, hours) &&
                     p->one.may(arg, day.from * TS_HOUR_MS, day.to * TS_HOUR_MS);
        days[at] = (uint8_t)(hours | (whole ? STO_DAY_WHOLE : 0));
        any |= whole;
    }
    p->days = any ? days : NULL;
    return 0;
}

static bool in_one_bucket(void *arg, int64_t from_ms, int64_t to_ms)
{
    const struct qry_grid *g = arg;
    return to_ms <= qry_grid_start(g, qry_grid_find(g, from_ms) + 1);
}

int qry_plan_days_of_buckets(struct qry_plan *p, struct ts_error *err)
{
    p->days = NULL;
    p->one = (struct qry_one){NULL, NULL};
    if (p->grid.step_ms && p->grid.step_ms < TS_DAY_MS)
        return 0;
    return qry_plan_days(p, in_one_bucket, &p->grid, err);
}
