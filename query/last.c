/*
 * last.c - the newest point of each series of a metric.
 *
 * Looks into the newest hours first and goes back in growing steps, each time only for the series that have
 * no point yet. Whole hours answer from their summaries.
 *
 * Source     protocols-and-queries 5.1
 */
#include "query/plan.h"
#include "query/reader.h"
#include "query/select.h"

#include "base/mem.h"

#include <string.h>

#define FIRST_WINDOW_HOURS 2 /* collectors write every minute: most series end here */
#define WINDOW_GROWTH      8
#define MAX_PIECES         64  /* of a window */
#define MIN_PIECE_SERIES   128 /* fewer would decode the same blocks again and again */

/* The newest point found so far. */
struct newest {
    bool found;
    int64_t ts_ms;
    struct ts_num value;
};

struct last_run {
    struct sto_snap *snap;
    struct qry_budget budget;
    uint32_t metric;
    const struct sto_series **left; /* series without a point yet */
    struct newest *newest;          /* of each of them */
    size_t n_left;
    size_t chunk;
    int64_t from_ms, to_ms; /* window, from <= t < to */
    const uint8_t *whole_hours;
};

static void take(struct newest *n, const struct sto_row *row)
{
    int64_t base = row->key.hour * TS_HOUR_MS;
    n->found = true;
    if (row->sum) {
        n->ts_ms = base + row->sum->last_off;
        n->value = row->sum->last;
        return;
    }
    uint32_t k = row->cells->n - 1;
    n->ts_ms = base + sto_meta_off(row->cells->meta[k]);
    n->value = sto_cell_num(row->cells->meta[k], row->cells->m[k]);
}

static void window_piece(void *arg, size_t piece)
{
    struct last_run *r = arg;
    size_t first = piece * r->chunk, n = r->n_left - first < r->chunk ? r->n_left - first : r->chunk;
    struct ts_error err = {0};
    struct qry_reader rd;
    struct sto_row row;
    if (qry_budget_stopped(&r->budget))
        return;
    int rc = qry_reader_open(&rd, r->snap, &r->budget, r->metric, r->left + first, n, r->from_ms, r->to_ms,
                             r->whole_hours, false, &err);
    while (rc == 0 && (rc = qry_reader_next(&rd, &row, &err)) > 0) {
        take(&r->newest[first + row.pos], &row); /* rows of a series come in time order: the last one stays */
        rc = 0;
    }
    qry_reader_close(&rd);
    if (rc < 0)
        qry_budget_fail(&r->budget, rc, &err);
}

static int read_window(struct last_run *r, struct ts_pool *pool, struct ts_error *err)
{
    size_t n_hours = (size_t)((r->to_ms - r->from_ms) / TS_HOUR_MS);
    uint8_t *whole = NULL;
    if (n_hours <= QRY_WHOLE_HOURS_MAX) {
        whole = ts_xmalloc(n_hours + 1);
        memset(whole, 1, n_hours + 1);
    }
    r->whole_hours = whole;
    r->chunk = (r->n_left + MAX_PIECES - 1) / MAX_PIECES;
    r->chunk = r->chunk < MIN_PIECE_SERIES ? MIN_PIECE_SERIES : r->chunk;
    size_t n = (r->n_left + r->chunk - 1) / r->chunk;
    if (pool && n > 1) {
        ts_pool_each(pool, n, window_piece, r);
    } else {
        for (size_t i = 0; i < n; i++)
            window_piece(r, i);
    }
    ts_free(whole);
    return qry_budget_result(&r->budget, err);
}

/* Conditions from "{k=v,...}": exact values. */
static int parse_conds(struct sto_catalog *cat, struct ts_slice in, struct ts_arena *arena,
                       struct sto_tag_cond *conds, size_t *out_n, struct ts_error *err)
{
    size_t from = 0;
    *out_n = 0;
    for (size_t i = 0; i <= in.n; i++) {
        if (i < in.n && in.p[i] != ',')
            continue;
        struct ts_slice item = {in.p + from, i - from};
        const char *eq = item.n ? memchr(item.p, '=', item.n) : NULL;
        from = i + 1;
        if (!item.n && !in.n)
            break;
        if (!eq || eq == item.p || eq == item.p + item.n - 1)
            return ts_error_set(err, TS_EINVAL, "When parsing tag '%.*s': invalid tag: %.*s", (int)item.n,
                                item.p, (int)item.n, item.p);
        struct ts_slice k = {item.p, (size_t)(eq - item.p)}, v = {eq + 1, item.n - k.n - 1};
        uint32_t *id = ts_arena_alloc(arena, sizeof *id);
        struct sto_tag_cond *c = &conds[(*out_n)++];
        *c = (struct sto_tag_cond){.values = id, .n_values = 1};
        TS_TRY(qry_select_tagk(cat, k, &c->tagk, err));
        if (sto_uid_find(cat, STO_UID_TAGV, v, id) < 0)
            return ts_error_set(err, TS_ENOTFOUND, "No such name for 'tagv': '%.*s'", (int)v.n, v.p);
    }
    return 0;
}

static int select_tsuid(struct sto_catalog *cat, struct ts_slice tsuid, struct ts_arena *arena,
                        struct last_run *r, struct ts_error *err)
{
    r->left = ts_arena_alloc(arena, sizeof(*r->left));
    TS_TRY(qry_select_tsuid(cat, tsuid, &r->left[0], err));
    r->metric = r->left[0]->metric;
    r->n_left = 1;
    return 0;
}

static int select_series(struct sto_catalog *cat, const struct qry_last_ask *ask, uint64_t max_series,
                         struct ts_arena *arena, struct last_run *r, struct ts_error *err)
{
    struct ts_slice text = ask->timeseries;
    const char *open = text.n ? memchr(text.p, '{', text.n) : NULL;
    struct ts_slice metric = {text.p, open ? (size_t)(open - text.p) : text.n};
    struct sto_tag_cond *conds = NULL;
    size_t n_conds = 0;
    roaring_bitmap_t *set;
    if (ask->tsuid.n)
        return select_tsuid(cat, ask->tsuid, arena, r, err);
    if (!metric.n)
        return ts_error_set(err, TS_EINVAL, "Missing the metric of a timeseries");
    if (open && text.p[text.n - 1] != '}')
        return ts_error_set(err, TS_EINVAL, "Missing '}' at the end of: %.*s", (int)text.n, text.p);
    TS_TRY(qry_select_metric(cat, metric, &r->metric, err));
    if (open) {
        struct ts_slice in = {open + 1, text.n - metric.n - 2};
        conds = ts_arena_alloc(arena, (in.n / 2 + 2) * sizeof *conds);
        TS_TRY(parse_conds(cat, in, arena, conds, &n_conds, err));
    }
    TS_TRY(sto_select(cat, r->metric, conds, n_conds, ask->only, &set, err));
    uint64_t n = roaring_bitmap_get_cardinality(set);
    if (max_series && n > max_series) {
        roaring_bitmap_free(set);
        return ts_error_set(err, TS_ELIMIT,
                            "The query selects %llu series, more than our limit of %llu (query_max_series)",
                            (unsigned long long)n, (unsigned long long)max_series);
    }
    uint32_t *ids = ts_xmalloc((size_t)n * sizeof *ids + 1);
    roaring_bitmap_to_uint32_array(set, ids);
    roaring_bitmap_free(set);
    r->left = ts_arena_alloc(arena, (size_t)n * sizeof(*r->left) + 1);
    for (size_t i = 0; i < n; i++) {
        const struct sto_series *s = sto_series_get(cat, ids[i]);
        if (s)
            r->left[r->n_left++] = s;
    }
    ts_free(ids);
    return 0;
}

/* Series found keep their place in all[]; the others move to the front of left. */
static void keep_found(struct last_run *r, struct newest *all, size_t *place)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n_left; i++) {
        if (r->newest[i].found) {
            all[place[i]] = r->newest[i];
        } else {
            place[n] = place[i];
            r->left[n++] = r->left[i];
        }
    }
    r->n_left = n;
    memset(r->newest, 0, n * sizeof *r->newest);
}

static int64_t floor_hour(int64_t t)
{
    return ts_floor_div(t, TS_HOUR_MS) * TS_HOUR_MS;
}

static int search(struct last_run *r, struct ts_pool *pool, int64_t back_scan_hours, int64_t now_ms,
                  struct newest *all, struct ts_arena *arena, struct ts_error *err)
{
    int64_t lo, hi, hours = FIRST_WINDOW_HOURS;
    if (!sto_snap_time_range(r->snap, &lo, &hi))
        return 0;
    lo = floor_hour(lo);
    hi = floor_hour(hi) + TS_HOUR_MS;
    if (back_scan_hours > 0) {
        int64_t top = floor_hour(now_ms) + TS_HOUR_MS;
        int64_t most = (top - lo) / TS_HOUR_MS;
        int64_t bottom = back_scan_hours < most ? top - (back_scan_hours + 1) * TS_HOUR_MS : lo;
        hi = top < hi ? top : hi;
        lo = bottom > lo ? bottom : lo;
    }
    size_t *place = ts_arena_alloc(arena, r->n_left * sizeof *place + 1);
    for (size_t i = 0; i < r->n_left; i++)
        place[i] = i;
    r->newest = ts_arena_zalloc(arena, r->n_left * sizeof *r->newest + 1);
    for (r->to_ms = hi; r->n_left && r->to_ms > lo; r->to_ms = r->from_ms) {
        int64_t room = (r->to_ms - lo) / TS_HOUR_MS;
        r->from_ms = hours < room ? r->to_ms - hours * TS_HOUR_MS : lo;
        TS_TRY(read_window(r, pool, err));
        keep_found(r, all, place);
        hours = hours < INT64_MAX / WINDOW_GROWTH ? hours * WINDOW_GROWTH : hours;
    }
    return 0;
}

int qry_run_last(struct sto_store *st, struct ts_pool *pool, const struct qry_last_ask *ask,
                 struct qry_limit *limit, qry_last_fn emit, void *arg, struct ts_error *err)
{
    struct last_run r = {0};
    struct ts_arena arena;
    ts_arena_init(&arena, 0);
    qry_budget_init(&r.budget, limit);
    int rc = select_series(sto_store_catalog(st), ask, limit ? limit->max_series : 0, &arena, &r, err);
    if (rc == 0) {
        size_t n = r.n_left;
        const struct sto_series **series = ts_arena_alloc(&arena, n * sizeof(*series) + 1);
        struct newest *all = ts_arena_zalloc(&arena, n * sizeof *all + 1);
        if (n)
            memcpy(series, r.left, n * sizeof(*series));
        r.snap = sto_snap_take(st);
        rc = search(&r, pool, ask->back_scan_hours, ask->now_ms, all, &arena, err);
        sto_snap_release(r.snap);
        for (size_t i = 0; i < n && rc >= 0; i++) {
            if (!all[i].found)
                continue;
            struct qry_last out = {series[i], all[i].ts_ms, all[i].value};
            rc = emit(arg, &out, err);
        }
    }
    ts_arena_release(&arena);
    return rc < 0 ? rc : 0;
}
