/*
 * downsample.c - divides rows into buckets, with one open bucket at a time.
 *
 * Cost       a row costs a border search and one call a bucket; points go through the aggregator's array
 * loops
 */
#include "query/execution/downsample.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

/* Must each border be computed from the zone's calendar? Hours and shorter units have a fixed length. */
static bool uneven(const struct qry_downsample *ds)
{
    return ds->calendar && ds->unit >= TS_UNIT_D;
}

/* Do the borders of steps depend on the base from which they are counted? */
static bool depends_on_base(const struct qry_downsample *ds)
{
    if (!ds->calendar || ds->all || ds->n == 1 || ds->fill != QRY_FILL_NONE)
        return false;
    switch (ds->unit) {
    case TS_UNIT_MS:
        return 1000 % ds->n != 0;
    case TS_UNIT_S:
    case TS_UNIT_M:
        return 60 % ds->n != 0;
    case TS_UNIT_H:
        return 24 % ds->n != 0;
    case TS_UNIT_N:
        return 12 % ds->n != 0;
    default:
        return true;
    }
}

static int calendar_edges(const struct qry_downsample *ds, const struct ts_tz *tz, int64_t from_ms,
                          int64_t to_ms, struct ts_arena *arena, struct qry_grid *g, struct ts_error *err)
{
    int64_t first = ts_calendar_floor(tz, from_ms, ds->n, ds->unit);
    if (first < from_ms)
        first = ts_calendar_next(tz, first, ds->n, ds->unit);
    size_t n = 0;
    int64_t t = first;
    while (t < to_ms && n <= QRY_MAX_DENSE_BUCKETS) {
        int64_t next = ts_calendar_next(tz, t, ds->n, ds->unit);
        n++;
        if (next <= t)
            break;
        t = next;
    }
    if (n > QRY_MAX_DENSE_BUCKETS)
        return ts_error_set(err, TS_ELIMIT, "The query has more than %d calendar buckets; make it shorter",
                            QRY_MAX_DENSE_BUCKETS);
    int64_t *edges = qry_arena_take(arena, n + 1, sizeof *edges, err);
    if (!edges)
        return qry_memory_code(err);
    edges[0] = first;
    for (size_t k = 0; k < n; k++)
        edges[k + 1] = ts_calendar_next(tz, edges[k], ds->n, ds->unit);
    g->n = n;
    g->first_ms = first;
    g->edges = edges;
    g->dense = true;
    return 0;
}

int qry_grid_make(const struct qry_downsample *ds, const struct ts_tz *tz, int64_t start_ms, int64_t end_ms,
                  int64_t from_ms, int64_t to_ms, struct ts_arena *arena, struct qry_grid *out,
                  struct ts_error *err)
{
    *out = (struct qry_grid){.all = ds->all, .fill = ds->fill};
    if (ds->all) {
        int64_t *edges = ts_arena_alloc(arena, 2 * sizeof *edges);
        edges[0] = out->first_ms = start_ms;
        edges[1] = end_ms;
        out->edges = edges;
        out->n = 1;
        out->dense = true;
        return 0;
    }
    if (from_ms >= to_ms) {
        out->step_ms = ds->interval_ms;
        out->first_ms = from_ms;
        return 0;
    }
    out->own = depends_on_base(ds);
    out->tz = tz;
    out->units = ds->n;
    out->unit = ds->unit;
    out->to_ms = to_ms;
    if (uneven(ds)) {
        int rc = calendar_edges(ds, tz, from_ms, to_ms, arena, out, err);
        out->dense &= !out->own;
        return rc;
    }
    int64_t step = ds->interval_ms;
    int64_t first = ds->calendar ? ts_calendar_floor(tz, from_ms, ds->n, ds->unit)
                                 : from_ms - ts_floor_mod(from_ms, step);
    if (first < from_ms)
        first += step;
    uint64_t n =
        first < to_ms ? ((uint64_t)to_ms - (uint64_t)first + (uint64_t)step - 1) / (uint64_t)step : 0;
    out->first_ms = first;
    out->step_ms = step;
    out->n = n;
    if (ds->fill != QRY_FILL_NONE && n > QRY_MAX_BUCKETS)
        return ts_error_set(
            err, TS_ELIMIT,
            "The query fills %llu buckets, more than %d; shorten its time range or lengthen its buckets",
            (unsigned long long)n, QRY_MAX_BUCKETS);
    out->dense = n <= QRY_MAX_DENSE_BUCKETS && !out->own;
    if (out->dense) {
        int64_t *edges = qry_arena_take(arena, n + 1, sizeof *edges, err);
        if (!edges)
            return qry_memory_code(err);
        for (size_t k = 0; k <= n; k++)
            edges[k] = first + (int64_t)k * step;
        out->edges = edges;
    }
    return 0;
}

size_t qry_grid_find(const struct qry_grid *g, int64_t t_ms)
{
    if (g->step_ms)
        return (size_t)((t_ms - g->first_ms) / g->step_ms);
    size_t lo = 0, hi = g->n; /* edges[lo] <= t < edges[hi] */
    while (hi - lo > 1) {
        size_t mid = lo + (hi - lo) / 2;
        if (g->edges[mid] <= t_ms)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

void qry_grid_whole_hours(const struct qry_grid *g, int32_t hour0, size_t n_hours, uint8_t *bits)
{
    if (!g->n || g->own || (g->step_ms && g->step_ms < TS_HOUR_MS)) {
        memset(bits, 0, n_hours);
        return;
    }
    int64_t end = qry_grid_start(g, g->n);
    for (size_t h = 0; h < n_hours; h++) {
        int64_t t = ((int64_t)hour0 + (int64_t)h) * TS_HOUR_MS;
        bits[h] = bits[h] && t >= g->first_ms && t < end &&
                  t + TS_HOUR_MS <= qry_grid_start(g, qry_grid_find(g, t) + 1);
    }
}

void qry_down_init(struct qry_down *d, const struct qry_grid *grid, const struct qry_agg *fn,
                   struct ts_budget *memory)
{
    *d = (struct qry_down){.grid = grid,
                           .shared = grid,
                           .fn = fn,
                           .memory = memory,
                           .feed = {.ops = fn->bucket_acc, .memory = memory}};
    d->state = ts_xaligned(fn->bucket_acc->state_bytes);
    memset(d->state, 0, fn->bucket_acc->state_bytes);
}

void qry_down_release(struct qry_down *d)
{
    if (d->state && d->fn->bucket_acc->reset)
        d->fn->bucket_acc->reset(d->state);
    ts_free(d->state);
    ts_budget_free(d->memory, d->bucket, d->cap_bucket * sizeof *d->bucket);
    ts_budget_free(d->memory, d->v, d->cap * sizeof *d->v);
    ts_budget_free(d->memory, d->edges, d->cap_edges * sizeof *d->edges);
    qry_feed_release(&d->feed);
    *d = (struct qry_down){0};
}

static void clear_state(struct qry_down *d)
{
    if (d->fn->bucket_acc->reset)
        d->fn->bucket_acc->reset(d->state);
    else
        memset(d->state, 0, d->fn->bucket_acc->state_bytes);
}

void qry_down_begin(struct qry_down *d)
{
    clear_state(d);
    d->open = false;
    d->cur = 0;
    d->n = 0;
    d->grid = d->shared;
}

/* The grid of a series whose first point is at t. */
static int own_grid(struct qry_down *d, int64_t t_ms, struct ts_error *err)
{
    const struct qry_grid *s = d->shared;
    int64_t first = ts_calendar_floor(s->tz, t_ms, s->units, s->unit);
    d->grid = &d->mine;
    if (d->mine.n && d->mine.first_ms == first)
        return 0;
    d->mine = *s;
    d->mine.first_ms = first;
    d->mine.own = false;
    d->mine.n = 0;
    if (s->step_ms) {
        d->mine.n = (size_t)((s->to_ms - first + s->step_ms - 1) / s->step_ms);
        return 0;
    }
    /* there are never more steps than the shared grid has, plus the one in which it begins */
    size_t room = s->n + 2;
    int rc = ts_budget_grow(d->memory, &d->edges, &d->cap_edges, room + 1, sizeof *d->edges, err);
    if (rc < 0)
        return rc;
    d->mine.edges = d->edges;
    d->edges[0] = first;
    while (d->mine.n < room && d->edges[d->mine.n] < s->to_ms) {
        d->edges[d->mine.n + 1] = ts_calendar_next(s->tz, d->edges[d->mine.n], s->units, s->unit);
        d->mine.n++;
    }
    return 0;
}

static int more_room(struct qry_down *d, size_t n, struct ts_error *err)
{
    n = n < 256 ? 256 : n;
    TS_TRY(ts_budget_grow(d->memory, &d->bucket, &d->cap_bucket, n, sizeof *d->bucket, err));
    return ts_budget_grow(d->memory, &d->v, &d->cap, n, sizeof *d->v, err);
}

static inline int put_bucket(struct qry_down *d, size_t k, double v, struct ts_error *err)
{
    if (d->n == d->cap)
        TS_TRY(more_room(d, d->n + 1, err));
    d->bucket[d->n] = k;
    d->v[d->n++] = v;
    return 0;
}

static int close_bucket(struct qry_down *d, struct ts_error *err)
{
    if (!d->open)
        return 0;
    d->open = false;
    struct qry_value out;
    d->fn->bucket_acc->done(d->state, d->fn, &out);
    clear_state(d);
    return put_bucket(d, d->cur, qry_value_double(&out), err);
}

static int open_bucket(struct qry_down *d, size_t k, struct ts_error *err)
{
    if (d->open && d->cur == k)
        return 0;
    TS_TRY(close_bucket(d, err));
    d->open = true;
    d->cur = k;
    return 0;
}

int qry_down_row(struct qry_down *d, const struct sto_row *row, struct ts_error *err)
{
    const struct qry_grid *g = d->grid;
    int64_t base = row->key.hour * TS_HOUR_MS;
    if (!g->n)
        return 0;
    if (row->sum) {
        struct qry_hour h;
        qry_feed_hour(row, &h);
        TS_TRY(open_bucket(d, qry_grid_find(g, base), err));
        d->fn->bucket_acc->add_hour(d->state, &h);
        return 0;
    }
    TS_TRY(qry_feed_row(&d->feed, row, err));
    const struct sto_cells *c = row->cells;
    size_t i = qry_feed_border(&d->feed, 0, g->first_ms - base);
    size_t n = qry_feed_border(&d->feed, i, qry_grid_start(g, g->n) - base);
    if (i == n)
        return 0;
    if (g->own) {
        TS_TRY(own_grid(d, base + sto_meta_off(c->meta[i]), err));
        g = d->grid;
        n = qry_feed_border(&d->feed, i, qry_grid_start(g, g->n) - base);
    }
    size_t k = d->open ? d->cur : 0;
    int64_t t = base + sto_meta_off(c->meta[i]);
    if (!d->open || t >= qry_grid_start(g, k + 1))
        k = qry_grid_find(g, t);
    d->feed.guess = 0;
    bool direct = d->fn->bucket_acc->one && (d->feed.how == QRY_FEED_INT || d->feed.how == QRY_FEED_DEC);
    uint8_t exp = d->feed.how == QRY_FEED_DEC ? sto_meta_exp(c->common) : 0;
    for (;;) {
        int64_t from = qry_grid_start(g, k) - base, to = qry_grid_start(g, k + 1) - base;
        size_t e = qry_feed_border(&d->feed, i, to);
        e = e < n ? e : n;
        if (direct && from >= 0 && to <= TS_HOUR_MS) {
            /* the bucket lies within this hour, so it is complete */
            TS_TRY(close_bucket(d, err));
            TS_TRY(put_bucket(d, k, d->fn->bucket_acc->one(c->m + i, e - i, exp), err));
            d->cur = k;
        } else {
            TS_TRY(open_bucket(d, k, err));
            TS_TRY(qry_feed_add(&d->feed, d->state, i, e, err));
        }
        i = e;
        if (i == n)
            return 0;
        t = base + sto_meta_off(c->meta[i]);
        if (++k < g->n && t >= qry_grid_start(g, k + 1))
            k = qry_grid_find(g, t);
    }
}

/* Give every bucket a value (fill policy previous: from the first value on). A series without points is not
 * filled. */
static int fill_buckets(struct qry_down *d, struct ts_error *err)
{
    const struct qry_grid *g = d->grid;
    if (g->fill == QRY_FILL_NONE || g->all || !d->n || d->n == g->n)
        return 0;
    TS_TRY(more_room(d, g->n, err));
    bool previous = g->fill == QRY_FILL_PREVIOUS;
    double gap = g->fill == QRY_FILL_ZERO ? 0 : (double)NAN;
    size_t have = d->n, first = previous ? d->bucket[0] : 0; /* nothing to repeat before the first value */
    for (size_t k = g->n; k-- > first;) {
        bool is = have && d->bucket[have - 1] == k;
        d->v[k - first] = is || previous ? d->v[have - 1] : gap;
        have -= is;
        d->bucket[k - first] = k;
    }
    d->n = g->n - first;
    return 0;
}

int qry_down_end(struct qry_down *d, struct ts_error *err)
{
    TS_TRY(close_bucket(d, err));
    return fill_buckets(d, err);
}
