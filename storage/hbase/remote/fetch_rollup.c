/*
 * fetch_rollup.c - the rollups of a row: the cells of one function, as rows of an hour.
 *
 * A row has as many hours as its span. Of several cells of one interval the newest one counts, whatever form their qualifiers have.
 */
#include "storage/hbase/remote/fetch_int.h"
#include "storage/hbase/remote/rollup_cells.h"

#include "base/time.h"

#include <stdlib.h>

/* A cell of the function within the range. */
struct sto_hbase__rollup {
    uint32_t time_s;
    int64_t age; /* its timestamp */
    struct ts_slice qualifier;
    struct ts_num value;
};

/* --- requests --- */

void sto_hbase__filter_rollups(const struct sto_hbase__fetch *x, bool more, struct ts_buf *out)
{
    struct sto_hbase_rollup_cells all = {.place = &x->place, .last = STO_HBASE_MAX_INTERVALS - 1};
    int64_t from_s = x->f->from_ms / 1000, to_s = x->f->to_ms / 1000;
    if (x->first_h ==
        x->last_h) /* one row: of the intervals that are needed, and for series of those of the same hours */
        (void)sto_hbase_rollup_part(x->place.shape, x->first_h * STO_HBASE_ROW_S,
                                    from_s < 3600 ? 0 : (uint64_t)(from_s - from_s % 3600),
                                    (uint64_t)(to_s - to_s % 3600 + 3599), &all.first, &all.last);
    ts_buf_str(out, more ? " AND " : "");
    sto_hbase_rollup_filter(&all, 1, out);
}

bool sto_hbase__is_of_place(const struct sto_hbase__fetch *x, const struct sto_remote_series *series)
{
    const struct sto_hbase_rollups *r = x->h->opts.rollups;
    struct ts_slice value = {NULL, 0};
    for (size_t i = 0; i < series->n_tags; i++)
        if (ts_slice_is(series->tags[i].k, r->tag_key))
            value = series->tags[i].v;
    return sto_hbase_rollups_is_pre(r, value) == x->place.pre;
}

/* --- cells --- */

static int by_time(const void *pa, const void *pb)
{
    const struct sto_hbase__rollup *a = pa, *b = pb;
    if (a->time_s != b->time_s)
        return a->time_s < b->time_s ? -1 : 1;
    if (a->age != b->age)
        return a->age < b->age ? -1 : 1;
    return ts_slice_cmp(a->qualifier, b->qualifier);
}

/* The time of a cell; false: it is not one of the function, or has no place in the row. */
static bool time_of(const struct sto_hbase__reader *r, const struct sto_hbase_cell *cell, uint32_t *out_s,
                    struct sto_hbase_rollup_cell *out)
{
    const struct sto_hbase_rollup_place *place = &r->x->place;
    if (!sto_hbase_rollup_is(place, cell->qualifier, &out->index, &out->flags))
        return false;
    uint64_t time_s = r->row.base_s + (uint64_t)out->index * place->shape->interval_s;
    *out_s = (uint32_t)time_s;
    return time_s < sto_hbase_rollup_next(place->shape, r->row.base_s) && time_s <= UINT32_MAX;
}

/* List the cells within the range, each time once. */
static int list_cells(struct sto_hbase__reader *r, struct ts_slice key, struct ts_error *err)
{
    const struct sto_fetch *f = r->x->f;
    const struct sto_hbase__row *row = &r->row;
    size_t n = 0, n_contradicting = 0;
    r->n_rollups = 0;
    TS_TRY(ts_budget_grow(r->x->limits.memory, &r->rollups, &r->cap_rollups, row->n_cells, sizeof *r->rollups,
                          err));
    for (size_t i = 0; i < row->n_cells; i++) {
        const struct sto_hbase_cell *cell = &row->cells[i];
        struct sto_hbase__rollup one = {.age = cell->ts_ms, .qualifier = cell->qualifier};
        struct sto_hbase_rollup_cell parsed;
        struct ts_error why = {0};
        if (!time_of(r, cell, &one.time_s, &parsed) || one.time_s * 1000ll < f->from_ms ||
            one.time_s * 1000ll > f->to_ms)
            continue;
        if (sto_hbase_rollup_value(&parsed, cell->value, &one.value, &why) < 0)
            sto_hbase__row_damaged(r, key, why.text);
        else
            r->rollups[r->n_rollups++] = one;
    }
    if (r->n_rollups)
        qsort(r->rollups, r->n_rollups, sizeof *r->rollups, by_time);
    for (size_t i = 0; i < r->n_rollups; i++) {
        bool is_last = i + 1 == r->n_rollups || r->rollups[i + 1].time_s != r->rollups[i].time_s;
        if (is_last)
            r->rollups[n++] = r->rollups[i];
        n_contradicting += !is_last;
    }
    r->n_rollups = n;
    sto_hbase__count(&r->x->h->fetched.n_cells, row->n_cells);
    sto_hbase__count(&r->x->h->fetched.n_contradicting, n_contradicting);
    return 0;
}

/* series_only: does the row have a cell in the hours of the range? */
static bool has_cell(const struct sto_hbase__reader *r)
{
    int64_t first_h = r->x->f->from_ms / TS_HOUR_MS, last_h = r->x->f->to_ms / TS_HOUR_MS;
    struct sto_hbase_rollup_cell parsed;
    uint32_t time_s;
    for (size_t i = 0; i < r->row.n_cells; i++)
        if (time_of(r, &r->row.cells[i], &time_s, &parsed) && time_s / STO_HBASE_ROW_S >= first_h &&
            time_s / STO_HBASE_ROW_S <= last_h)
            return true;
    return false;
}

/* --- to the caller --- */

/* The points of one hour, rollups[from, to). */
static int deliver(struct sto_hbase__reader *r, size_t from, size_t to, struct ts_error *err)
{
    struct sto_hbase__fetch *x = r->x;
    size_t n = to - from;
    uint32_t base_s = r->rollups[from].time_s - r->rollups[from].time_s % STO_HBASE_ROW_S;
    TS_TRY(ts_budget_grow(x->limits.memory, &r->meta, &r->cap_meta, n, sizeof *r->meta, err));
    TS_TRY(ts_budget_grow(x->limits.memory, &r->m, &r->cap_m, n, sizeof *r->m, err));
    for (size_t i = 0; i < n; i++) {
        const struct sto_hbase__rollup *c = &r->rollups[from + i];
        r->meta[i] =
            (c->time_s - base_s) * 1000 | sto_meta_flags(STO_OP_PUT, c->value.kind, c->value.exp, false);
        r->m[i] = c->value.m;
    }
    struct sto_cells cells = {.meta = r->meta, .m = r->m, .n = (uint32_t)n};
    sto_hbase__count(&x->h->fetched.n_points, n);
    return sto_hbase__row_deliver(x, r->row.met, base_s, NULL, &cells, err);
}

int sto_hbase__row_rollups(struct sto_hbase__reader *r, struct ts_slice key, struct ts_error *err)
{
    if (r->x->f->series_only)
        return has_cell(r) ? sto_hbase__row_report(r, r->row.met, r->row.base_s, err) : 0;
    TS_TRY(list_cells(r, key, err));
    for (size_t from = 0, to; from < r->n_rollups; from = to) {
        uint32_t hour = r->rollups[from].time_s / STO_HBASE_ROW_S;
        for (to = from + 1; to < r->n_rollups && r->rollups[to].time_s / STO_HBASE_ROW_S == hour;)
            to++;
        TS_TRY(deliver(r, from, to, err));
    }
    return 0;
}

void sto_hbase__row_release_rollups(struct sto_hbase__reader *r)
{
    ts_budget_free(r->x->limits.memory, r->rollups, r->cap_rollups * sizeof *r->rollups);
}
