/*
 * delete.c - which series of a query hold points between start and end, for deleting them.
 *
 * Not here   the deleting itself: points are the store's, and its ports belong to other threads (tsd/http/delete.c)
 * Source     protocols-and-queries 2.5; exact times instead of whole hours, see docs/COMPATIBILITY.md
 */
#include "query/plan.h"
#include "query/reader.h"

#include "base/mem.h"

#include <string.h>

/* Hours of a range that lie in it whole: their summaries say how many points they hold. */
static uint8_t *whole_hours(int64_t from_ms, int64_t to_ms, struct ts_arena *arena)
{
    if (from_ms >= to_ms)
        return NULL;
    int32_t h0 = sto_hour(from_ms), h1 = sto_hour(to_ms - 1);
    size_t n = (size_t)((int64_t)h1 - h0 + 1);
    if (n > QRY_WHOLE_HOURS_MAX)
        return NULL;
    uint8_t *whole = ts_arena_alloc(arena, n);
    memset(whole, 1, n);
    if (h0 * TS_HOUR_MS < from_ms)
        whole[0] = 0;
    if ((h1 + 1ll) * TS_HOUR_MS > to_ms)
        whole[n - 1] = 0;
    return whole;
}

struct finder {
    const struct qry_plan *plan; /* series and range */
    struct qry_doomed *out;      /* what was found */
    qry_doomed_fn each;          /* who wants to know */
    void *arg;                   /* for each */
};

/* Points of each series, counted; a series ends where the next one begins. */
static int find(struct finder *f, struct qry_reader *rd, struct ts_error *err)
{
    struct sto_row row;
    size_t pos = SIZE_MAX;
    int rc;
    while ((rc = qry_reader_next(rd, &row, err)) > 0) {
        if (row.pos != pos) {
            if (pos != SIZE_MAX)
                TS_TRY(f->each(f->arg, f->out, err));
            pos = row.pos;
            f->out->series = f->plan->series[pos];
            f->out->n_points = 0;
        }
        f->out->n_points += row.sum ? row.sum->n : row.cells->n;
    }
    return rc == 0 && pos != SIZE_MAX ? f->each(f->arg, f->out, err) : rc;
}

static int find_sub(struct sto_store *st, struct sto_snap *snap, const struct qry_spec *spec, size_t index,
                    struct qry_budget *budget, qry_doomed_fn each, void *arg, struct ts_error *err)
{
    struct ts_arena arena;
    struct qry_plan plan;
    struct qry_reader rd = {0};
    struct qry_doomed doomed = {.from_ms = spec->start_ms, .to_ms = spec->end_ms};
    if (spec->compat) {
        doomed.from_ms = sto_hour(spec->start_ms) * TS_HOUR_MS;
        doomed.to_ms = (sto_hour(spec->end_ms) + 1ll) * TS_HOUR_MS - 1;
    }
    ts_arena_init(&arena, 0);
    int rc = qry_plan_select(st, spec, index, NULL, 0, budget->limit ? budget->limit->max_series : 0, &arena,
                             &plan, err);
    if (rc == 0) {
        struct finder f = {.plan = &plan, .out = &doomed, .each = each, .arg = arg};
        plan.from_ms = doomed.from_ms;
        plan.to_ms = doomed.to_ms + 1;
        qry_plan_clip(snap, &plan);
        rc = qry_reader_open(&rd, snap, budget, plan.metric, plan.series, plan.n, plan.scan_from_ms,
                             plan.scan_to_ms, whole_hours(plan.scan_from_ms, plan.scan_to_ms, &arena), false,
                             err);
        if (rc == 0)
            rc = find(&f, &rd, err);
        qry_reader_close(&rd);
    }
    ts_arena_release(&arena);
    return rc;
}

int qry_find_doomed(struct sto_store *st, const struct qry_spec *spec, struct qry_limit *limit,
                    qry_doomed_fn each, void *arg, struct ts_error *err)
{
    struct qry_budget budget;
    struct sto_snap *snap = sto_snap_take(st);
    int rc = 0;
    qry_budget_init(&budget, limit);
    for (size_t i = 0; i < spec->n_subs && rc == 0; i++)
        rc = find_sub(st, snap, spec, i, &budget, each, arg, err);
    sto_snap_release(snap);
    struct ts_error why;
    if (rc < 0 && qry_budget_result(&budget, &why) < 0 && err)
        *err = why;
    return rc;
}
