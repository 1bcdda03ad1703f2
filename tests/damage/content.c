/*
 * content.c - reads everything from a store: points of each series, summaries of whole hours, cells.
 *
 * Threads    one
 */
#include "tests/damage/content.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "tests/damage/shapes.h"

static void add_point(struct content *c, uint32_t series, int64_t ts_ms, struct ts_num v)
{
    if (c->n_points == c->cap)
        c->points = ts_xrealloc(c->points, (c->cap = c->cap ? c->cap * 2 : 4096) * sizeof *c->points);
    c->points[c->n_points++] = (struct content_point){series, ts_ms, v};
}

/* A summary must say what the points of its hour say. */
static int check_sum(const struct content *c, size_t from, const struct sto_row *row, struct ts_error *err)
{
    uint64_t n = 0;
    double lo = 0, hi = 0;
    for (size_t i = from; i < c->n_points; i++) {
        if (sto_hour(c->points[i].ts_ms) != row->key.hour)
            continue;
        double v = ts_num_double(c->points[i].value);
        lo = n == 0 || v < lo ? v : lo;
        hi = n == 0 || v > hi ? v : hi;
        n++;
    }
    if (n != row->sum->n || lo != ts_num_double(row->sum->min) || hi != ts_num_double(row->sum->max))
        return ts_error_set(err, TS_EINVAL, "wrong summary");
    return 0;
}

static int scan(struct sto_snap *snap, const struct sto_series *s, struct content *c, uint32_t index,
                bool sums, struct ts_error *err)
{
    int64_t lo, hi;
    if (!sto_snap_time_range(snap, &lo, &hi))
        return 0;
    lo = ts_floor_div(lo, TS_HOUR_MS) * TS_HOUR_MS;
    hi = ts_floor_div(hi, TS_HOUR_MS) * TS_HOUR_MS + TS_HOUR_MS - 1;
    size_t n_hours = (size_t)((hi - lo) / TS_HOUR_MS) + 1, from = c->n_points;
    uint8_t *whole = NULL;
    if (sums && n_hours < 100000) {
        whole = ts_xmalloc(n_hours);
        memset(whole, 1, n_hours);
        while (from > 0 && c->points[from - 1].series == index)
            from--;
    }
    struct sto_scan_spec spec = {.metric = s->metric,
                                 .series = &s,
                                 .n_series = 1,
                                 .from_ms = lo,
                                 .to_ms = hi,
                                 .whole_hours = whole,
                                 .final = true};
    struct sto_merge *m = NULL;
    struct sto_row row;
    int rc = sto_scan(snap, &spec, &m, err);
    while (rc >= 0 && (rc = sto_merge_next(m, &row, err)) == 1) {
        if (sums && row.sum)
            rc = check_sum(c, from, &row, err);
        for (uint32_t i = 0; !sums && i < row.cells->n; i++)
            add_point(c, index, (int64_t)row.key.hour * TS_HOUR_MS + sto_meta_off(row.cells->meta[i]),
                      sto_cell_num(row.cells->meta[i], row.cells->m[i]));
    }
    sto_merge_free(m);
    ts_free(whole);
    return rc;
}

static int by_text(const void *a, const void *b)
{
    const struct sto_series *x = *(const struct sto_series *const *)a,
                            *y = *(const struct sto_series *const *)b;
    return ts_slice_cmp(sto_series_text(x), sto_series_text(y));
}

static int read_points(struct sto_store *st, struct content *c, struct ts_error *err)
{
    struct sto_catalog *cat = sto_store_catalog(st);
    uint32_t n_series = sto_series_count(cat);
    const struct sto_series **all = ts_xcalloc(n_series + 1, sizeof(struct sto_series *));
    size_t n = 0;
    for (uint32_t i = 0; i < n_series; i++)
        if (sto_series_get(cat, i))
            all[n++] = sto_series_get(cat, i);
    qsort(all, n, sizeof(struct sto_series *), by_text);
    c->texts = ts_xcalloc(n + 1, sizeof(char *));
    struct sto_snap *snap = sto_snap_take(st);
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < n; i++) {
        struct ts_slice name = sto_series_text(all[i]);
        char *text = ts_xstrndup(name.p, name.n);
        c->texts[c->n_texts++] = text;
        rc = scan(snap, all[i], c, (uint32_t)i, false, err);
        if (rc == 0)
            rc = scan(snap, all[i], c, (uint32_t)i, true, err);
    }
    sto_snap_release(snap);
    ts_free(all);
    return rc;
}

static bool on_cell(void *arg, struct ts_slice key, struct ts_slice value)
{
    struct ts_buf *b = arg;
    ts_buf_slice(b, key);
    ts_buf_char(b, '=');
    ts_buf_slice(b, value);
    ts_buf_char(b, '\n');
    return true;
}

int content_read(struct t_faultfs *f, bool read_only, struct content *out, struct ts_error *err)
{
    struct sto_opts opts = shape_opts(f, read_only);
    struct sto_store *st = NULL;
    *out = (struct content){0};
    TS_TRY(sto_open(&opts, &st, err));
    int rc = read_points(st, out, err);
    struct ts_buf cells;
    ts_buf_init(&cells, 0);
    sto_cell_each(st, (struct ts_slice){NULL, 0}, on_cell, &cells);
    out->cells = cells.p;
    out->cells_n = cells.n;
    int rc_close = sto_close(st, rc < 0 ? NULL : err);
    return rc < 0 ? rc : rc_close;
}

void content_release(struct content *c)
{
    for (size_t i = 0; i < c->n_texts; i++)
        ts_free(c->texts[i]);
    ts_free(c->texts);
    ts_free(c->points);
    ts_free(c->cells);
    *c = (struct content){0};
}

static bool same_value(struct ts_num a, struct ts_num b)
{
    return (a.kind == TS_NUM_INT) == (b.kind == TS_NUM_INT) && ts_num_double(a) == ts_num_double(b);
}

struct content_diff content_compare(const struct content *a, const struct content *b,
                                    void (*missing)(void *arg, const char *text, int64_t ts_ms),
                                    bool (*other)(void *arg, const char *text, int64_t ts_ms), void *arg)
{
    struct content_diff d = {.cells = a->cells_n != b->cells_n ||
                                      (a->cells_n && memcmp(a->cells, b->cells, a->cells_n) != 0)};
    size_t i = 0, k = 0;
    while (i < a->n_points || k < b->n_points) {
        int cmp = i == a->n_points ? 1 : k == b->n_points ? -1 : 0;
        if (cmp == 0)
            cmp = strcmp(a->texts[a->points[i].series], b->texts[b->points[k].series]);
        if (cmp == 0)
            cmp = a->points[i].ts_ms < b->points[k].ts_ms ? -1 : a->points[i].ts_ms > b->points[k].ts_ms;
        if (cmp == 0)
            d.n_other += !same_value(a->points[i].value, b->points[k].value) &&
                         (!other || other(arg, a->texts[a->points[i].series], a->points[i].ts_ms));
        if (cmp > 0 && other)
            d.n_other += other(arg, b->texts[b->points[k].series], b->points[k].ts_ms);
        else
            d.n_other += cmp > 0;
        d.n_missing += cmp < 0;
        if (cmp < 0 && missing)
            missing(arg, a->texts[a->points[i].series], a->points[i].ts_ms);
        i += cmp <= 0;
        k += cmp >= 0;
    }
    return d;
}
