/*
 * calendar.c - parts of one length by the clock of a zone.
 *
 * Within a stretch of constant offset local time is a plain shift; at a change of the clock a new stretch
 * begins. Forward changes inside an hour continue with the same cell; after a backward change hours that come
 * again are cells of their own, and dates go back to the cell they had.
 */
#include "query/breakdowns/breakdown.h"

#include "query/limit.h"

#include <string.h>

#define LOOK_BACK 3 /* cells of days that a change of the clock can go back to */

void qry_cells_release(struct qry_cells *c)
{
    struct qry_budget *b = c->budget;
    if (b) {
        ts_budget_free(b->memory, c->cell, c->cap * sizeof *c->cell);
        ts_budget_free(b->memory, c->stretch, c->cap_stretches * sizeof *c->stretch);
    }
    *c = (struct qry_cells){.budget = b};
}

size_t qry_cells_find(const struct qry_cells *c, size_t from, int64_t t_ms)
{
    size_t lo = from, hi = c->n_stretches, step = 1;
    /* invariant: stretch[lo] begins at or before t */
    while (lo + step < hi && c->stretch[lo + step].start_ms <= t_ms) {
        lo += step;
        step *= 2;
    }
    if (lo + step < hi)
        hi = lo + step;
    while (hi - lo > 1) {
        size_t mid = lo + (hi - lo) / 2;
        if (c->stretch[mid].start_ms <= t_ms)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

static int too_many(uint64_t max, struct ts_error *err)
{
    return ts_error_set(
        err, TS_ELIMIT,
        "The totals have more than %llu cells of time; decrease your time range, or ask for longer "
        "intervals (query_max_cells)",
        (unsigned long long)max);
}

int qry_cells__add(struct qry_cells *c, struct qry_cell cell, struct ts_error *err)
{
    TS_TRY(ts_budget_grow(c->budget->memory, &c->cell, &c->cap, c->n + 1, sizeof *c->cell, err));
    c->cell[c->n++] = cell;
    return c->n % QRY_LOOK_STEPS ? 0 : qry_budget_look(c->budget, err);
}

int qry_cells__stretch(struct qry_cells *c, int64_t start_ms, uint32_t cell, struct ts_error *err)
{
    if (c->n_stretches && c->stretch[c->n_stretches - 1].cell == cell)
        return 0; /* the clock was changed within it */
    TS_TRY(ts_budget_grow(c->budget->memory, &c->stretch, &c->cap_stretches, c->n_stretches + 1,
                          sizeof *c->stretch, err));
    c->stretch[c->n_stretches++] = (struct qry_stretch){start_ms, cell};
    return 0;
}

/* The cell of a day that is there already, or SIZE_MAX. */
static size_t known_day(const struct qry_cells *c, int64_t local_ms)
{
    for (size_t back = 1; back <= LOOK_BACK && back <= c->n; back++)
        if (c->cell[c->n - back].local_ms == local_ms)
            return c->n - back;
    return SIZE_MAX;
}

/* One local day or hour within a span of constant offset. before: offset until the span began. */
static int add_local(struct qry_cells *c, int64_t unit_ms, int64_t local_ms, int64_t start_ms,
                     int64_t offset_ms, int64_t span_from_ms, int64_t before_ms, struct ts_error *err)
{
    size_t known = known_day(c, local_ms);
    bool forward = offset_ms >= before_ms;
    if (known != SIZE_MAX && (unit_ms > TS_HOUR_MS || forward))
        return qry_cells__stretch(c, start_ms, (uint32_t)known, err);
    /* it came before the span began, if the clock then showed this hour or a later one */
    bool again = unit_ms < TS_DAY_MS && !forward && span_from_ms != INT64_MIN &&
                 local_ms <= ts_floor_div(span_from_ms - 1 + before_ms, unit_ms) * unit_ms;
    TS_TRY(qry_cells__add(
        c,
        (struct qry_cell){
            .start_ms = start_ms, .local_ms = local_ms, .offset_ms = offset_ms, .repeated = again},
        err));
    return qry_cells__stretch(c, start_ms, (uint32_t)(c->n - 1), err);
}

static int cut_local(const struct ts_tz *tz, int64_t unit_ms, int64_t from_ms, int64_t to_ms,
                     struct qry_cells *out, struct ts_error *err)
{
    out->end_ms = to_ms;
    /* begin two units early, so that dates and hours cut by a change of the clock are seen whole */
    int64_t t = from_ms - 2 * unit_ms;
    uint64_t max =
        out->budget->limit && out->budget->limit->max_cells ? out->budget->limit->max_cells : QRY_MAX_CELLS;
    if ((uint64_t)((to_ms - t) / unit_ms) > max) {
        qry_limit_refuse(out->budget->limit, QRY_REFUSAL_CELLS);
        return too_many(max, err);
    }
    while (t < to_ms) {
        int64_t span_from, span_to;
        int64_t offset = ts_tz_span(tz, t, &span_from, &span_to);
        int64_t before = span_from == INT64_MIN ? offset : ts_tz_offset_ms(tz, span_from - 1);
        int64_t end = span_to < to_ms ? span_to : to_ms;
        int64_t local = ts_floor_div(t + offset, unit_ms) * unit_ms;
        for (; local - offset < end; local += unit_ms) {
            int64_t start = local - offset;
            if (start < span_from)
                start = span_from;
            TS_TRY(add_local(out, unit_ms, local, start, offset, span_from, before, err));
        }
        t = span_to > t ? span_to : end;
    }
    return 0;
}

/* Leave out cells that end before the range begins. */
static void drop_early(struct qry_cells *c, int64_t from_ms)
{
    size_t first = qry_cells_find(c, 0, from_ms);
    uint32_t lowest = c->stretch[first].cell;
    for (size_t i = first; i < c->n_stretches; i++)
        lowest = c->stretch[i].cell < lowest ? c->stretch[i].cell : lowest;
    c->n_stretches -= first;
    memmove(c->stretch, c->stretch + first, c->n_stretches * sizeof *c->stretch);
    c->n -= lowest;
    memmove(c->cell, c->cell + lowest, c->n * sizeof *c->cell);
    for (size_t i = 0; i < c->n_stretches; i++)
        c->stretch[i].cell -= lowest;
}

int qry_cells__cut(const struct ts_tz *tz, int64_t unit_ms, int64_t from_ms, int64_t to_ms,
                   struct qry_cells *out, struct ts_error *err)
{
    TS_TRY(cut_local(tz, unit_ms, from_ms, to_ms, out, err));
    drop_early(out, from_ms);
    return 0;
}
