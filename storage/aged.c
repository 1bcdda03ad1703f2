/*
 * aged.c - see aged.h.
 */
#include "storage/aged.h"

#include <math.h>
#include <string.h>

#include "base/budget.h"
#include "storage/catalog/catalog.h"
#include "storage/engine/merge/merge.h"
#include "storage/internal.h"
#include "storage/store_int.h"

#define PART_CELLS  11u
#define HAS_SUM     (1ll << 40)
#define HOURS_SHIFT 41
#define HOURS_MASK  63 /* STO_DAY_MAX_HOURS fits */
#define LAST_SHIFT  32

enum cell { C_COUNT, C_ENDS, C_FIRST, C_LAST, C_MIN, C_MAX, C_SUM_LO, C_SUM_HI, C_SUMS };
_Static_assert(2 * PART_CELLS == STO_AGED_CELLS, "cells of a row");

/* --- summaries --- */

/* The doubles that a sum is made of; it is released. */
static void take_sum(struct ts_xsum *x, double out[STO_AGED_SUMS])
{
    for (size_t i = 0; i < STO_AGED_SUMS; i++) {
        double d = ts_xsum_get(x);
        out[i] = i == 0 || isfinite(d) ? d : 0; /* an infinite sum has no rest */
        ts_xsum_add(x, -d);
    }
    ts_xsum_release(x);
}

static void sum_of(const struct sto_cells *c, double out[STO_AGED_SUMS])
{
    struct ts_xsum x;
    ts_xsum_init(&x);
    for (uint32_t i = 0; i < c->n; i++)
        ts_xsum_add(&x, ts_num_double(sto_cell_num(c->meta[i], c->m[i])));
    take_sum(&x, out);
}

/* Does a point belong to a part? */
static bool is_of(const struct sto_cells *c, uint32_t i, int part)
{
    bool is_int = sto_meta_kind(c->meta[i]) == TS_NUM_INT;
    return is_int == (part == STO_AGED_INTS) &&
           (is_int || !isnan(ts_num_double(sto_cell_num(c->meta[i], c->m[i]))));
}

static void make_of(const struct sto_cells *c, int part, struct sto_aged *out)
{
    if (sto_summary_make(c, &out->part[part]) && !out->part[part].has_sum)
        sum_of(c, out->sum[part]);
}

/* Summarise n points of one part among all. */
static void make_part(const struct sto_cells *all, int part, uint32_t n, struct ts_budget *memory,
                      struct sto_aged *out)
{
    struct sto_cells some = {.n = 0};
    if (n == all->n)
        make_of(all, part, out);
    if (n == 0 || n == all->n)
        return;
    uint64_t bytes = sto_cells_growth(&some, n);
    ts_budget_force(memory, bytes);
    sto_cells_reserve(&some, n);
    for (uint32_t i = 0; i < all->n; i++)
        if (is_of(all, i, part)) {
            some.meta[some.n] = all->meta[i];
            some.m[some.n++] = all->m[i];
        }
    make_of(&some, part, out);
    sto_cells_release(&some);
    ts_budget_give(memory, bytes);
}

bool sto_aged_make_counted(const struct sto_cells *c, struct ts_budget *memory, struct sto_aged *out)
{
    memset(out, 0, sizeof *out);
    for (int part = 0; part < 2; part++) {
        uint32_t n = 0;
        for (uint32_t i = 0; i < c->n; i++)
            n += is_of(c, i, part);
        make_part(c, part, n, memory, out);
    }
    return out->part[0].n || out->part[1].n;
}

bool sto_aged_make(const struct sto_cells *c, struct sto_aged *out)
{
    return sto_aged_make_counted(c, NULL, out);
}

struct sto_day sto_aged_day_of(int32_t hour)
{
    struct sto_day day;
    return sto_day_of(hour, &day) ? day : (struct sto_day){hour, hour + 1};
}

void sto_aged_day_add(struct sto_aged_day *day, const struct sto_aged *hour, uint32_t shift_ms)
{
    for (unsigned p = 0; p < 2; p++)
        if (hour->part[p].n && !sto_day_add(&day->sum.part[p], &hour->part[p], shift_ms))
            TS_BUG("a part of a summary has numbers of the other kind");
    const struct sto_summary *s = &hour->part[STO_AGED_OTHERS];
    if (!s->n)
        return;
    if (s->has_sum)
        ts_xsum_merge(&day->others, &(struct ts_xsum){.fix = s->sum});
    for (size_t i = 0; i < STO_AGED_SUMS && !s->has_sum; i++)
        ts_xsum_add(&day->others, hour->sum[STO_AGED_OTHERS][i]);
}

bool sto_aged_day_take(struct sto_aged_day *day, uint32_t n_hours, struct sto_aged *out)
{
    *out = day->sum;
    out->n_hours = n_hours;
    struct sto_summary *s = &out->part[STO_AGED_OTHERS];
    s->has_sum = s->n && ts_xsum_is_fixed(&day->others);
    s->sum = s->has_sum ? day->others.fix : 0;
    if (s->n && !s->has_sum)
        take_sum(&day->others, out->sum[STO_AGED_OTHERS]);
    *day = (struct sto_aged_day){.others = {0}};
    return out->part[0].n || out->part[1].n;
}

/* --- rows --- */

/* Where the cells of a row go. */
struct row {
    const struct sto_series *series;
    int64_t base_ms; /* of the part */
    struct sto_point *out;
    size_t n;
};

static void put(struct row *r, unsigned c, struct ts_num v)
{
    r->out[r->n++] = (struct sto_point){.series = r->series,
                                        .ts_ms = r->base_ms + c,
                                        .m = v.m,
                                        .flags = sto_meta_flags(STO_OP_PUT, v.kind, v.exp, true)};
}

static void put_int(struct row *r, unsigned c, int64_t v)
{
    put(r, c, (struct ts_num){.m = v, .kind = TS_NUM_INT});
}

static void put_part(struct row *r, const struct sto_summary *s, uint32_t n_hours, const double *sums)
{
    put_int(r, C_COUNT,
            s->n ? (int64_t)s->n + (s->has_sum ? HAS_SUM : 0) + ((int64_t)n_hours << HOURS_SHIFT) : 0);
    if (!s->n)
        return;
    put_int(r, C_ENDS, (int64_t)s->first_off + ((int64_t)s->last_off << LAST_SHIFT));
    put(r, C_FIRST, s->first);
    put(r, C_LAST, s->last);
    put(r, C_MIN, s->min);
    put(r, C_MAX, s->max);
    if (s->has_sum) {
        put_int(r, C_SUM_LO, (int64_t)(uint64_t)(unsigned __int128)s->sum);
        put_int(r, C_SUM_HI, (int64_t)(uint64_t)((unsigned __int128)s->sum >> 64));
        return;
    }
    for (unsigned i = 0; i < STO_AGED_SUMS; i++) {
        struct ts_num v = {.kind = TS_NUM_RAW};
        memcpy(&v.m, &sums[i], sizeof v.m);
        put(r, C_SUMS + i, v);
    }
}

size_t sto_aged_row(const struct sto_aged *a, const struct sto_series *series, int32_t hour,
                    struct sto_point *out)
{
    struct row r = {.series = series, .out = out};
    for (unsigned p = 0; p < 2; p++) {
        r.base_ms = hour * TS_HOUR_MS + p * PART_CELLS;
        put_part(&r, &a->part[p], a->n_hours, a->sum[p]);
    }
    return r.n;
}

/* A row that is read from its first cell to its last one. */
struct row_reader {
    const struct sto_cells *row;
    uint32_t i;    /* no cell before it is asked for again */
    uint32_t base; /* offset of the part */
};

/* The value of a cell; false: it is not there. */
static inline bool get(struct row_reader *r, unsigned c, struct ts_num *out)
{
    const struct sto_cells *row = r->row;
    while (r->i < row->n && sto_meta_off(row->meta[r->i]) < r->base + c)
        r->i++;
    if (r->i == row->n || sto_meta_off(row->meta[r->i]) != r->base + c)
        return false;
    *out = sto_cell_num(row->meta[r->i], row->m[r->i]);
    return true;
}

static bool read_sum(struct row_reader *r, struct sto_summary *s, double sums[STO_AGED_SUMS])
{
    struct ts_num lo, hi, sum;
    for (unsigned i = 0; i < STO_AGED_SUMS && !s->has_sum; i++) {
        if (!get(r, C_SUMS + i, &sum))
            return false;
        sums[i] = ts_num_double(sum);
    }
    if (!s->has_sum)
        return true;
    if (!get(r, C_SUM_LO, &lo) || !get(r, C_SUM_HI, &hi))
        return false;
    s->sum = (__int128)((unsigned __int128)(uint64_t)hi.m << 64 | (uint64_t)lo.m);
    return true;
}

static bool read_part(struct row_reader *r, unsigned part, struct sto_aged *out)
{
    struct sto_summary *s = &out->part[part];
    struct ts_num count, ends;
    r->base = part * PART_CELLS;
    if (!get(r, C_COUNT, &count) || count.kind != TS_NUM_INT)
        return false;
    s->n = (uint32_t)(count.m & UINT32_MAX);
    if (!s->n)
        return true;
    s->is_int = part == STO_AGED_INTS;
    s->has_sum = (count.m & HAS_SUM) != 0;
    out->n_hours = (uint32_t)(count.m >> HOURS_SHIFT) & HOURS_MASK;
    if (!get(r, C_ENDS, &ends) || !get(r, C_FIRST, &s->first) || !get(r, C_LAST, &s->last) ||
        !get(r, C_MIN, &s->min) || !get(r, C_MAX, &s->max))
        return false;
    s->first_off = (uint32_t)(ends.m & UINT32_MAX);
    s->last_off = (uint32_t)(ends.m >> LAST_SHIFT);
    if (s->first_off > s->last_off || s->last_off >= sto_aged_hours(out) * TS_HOUR_MS)
        return false;
    return read_sum(r, s, out->sum[part]);
}

bool sto_aged_read(const struct sto_cells *row, struct sto_aged *out)
{
    struct row_reader r = {.row = row};
    memset(out, 0, sizeof *out);
    return read_part(&r, STO_AGED_INTS, out) && read_part(&r, STO_AGED_OTHERS, out) &&
           (out->part[0].n || out->part[1].n);
}

/* --- snapshots --- */

void sto_aged_hold(struct sto_store *st)
{
    pthread_mutex_lock(&st->age.marks_mu);
}

void sto_aged_let(struct sto_store *st)
{
    pthread_mutex_unlock(&st->age.marks_mu);
}

int64_t sto_aged_first_ms(struct sto_store *st, uint32_t series)
{
    struct sto_keep *k = sto_retain_keep(st);
    int64_t mark_ms = sto_keep_aged_to_ms(k, series),
            ms = sto_keep_days_from_ms(k, series, sto_retain_now_ms(st));
    sto_keep_unref(k);
    return ms > mark_ms ? ms : mark_ms;
}

bool sto_snap_ages(const struct sto_snap *snap)
{
    return sto_keep_ages(snap->keep);
}

void sto_snap_aged(const struct sto_snap *snap, const struct sto_series *series, struct sto_aged_bounds *out)
{
    struct sto_keep *k = snap->keep;
    *out = (struct sto_aged_bounds){.days_from_ms = sto_keep_days_from_ms(k, series->id, snap->now_ms),
                                    .hours_from_ms = sto_keep_hours_from_ms(k, series->id, snap->now_ms),
                                    .to_ms = sto_keep_aged_to_ms(k, series->id),
                                    .points_from_ms = sto_keep_from_ms(k, series->id, snap->now_ms),
                                    .lost = sto_keep_aged_lost(k, series->id)};
}

enum sto_aged_level sto_aged_level_of(const struct sto_catalog *catalog, uint32_t metric)
{
    return sto_internal_aged(sto_uid_name(catalog, STO_UID_METRIC, metric), NULL);
}

bool sto_aged_of_name(const struct sto_catalog *catalog, uint32_t metric, struct ts_buf *out)
{
    struct sto_internal internal;
    enum sto_aged_level level = sto_internal_aged(sto_uid_name(catalog, STO_UID_METRIC, metric), &internal);
    if (level == STO_AGED_NONE)
        return false;
    ts_buf_clear(out);
    if (level == STO_AGED_HOURS) {
        ts_buf_slice(out, internal.metric);
        return true;
    }
    internal.detail = TS_SLICE_LIT(STO_AGED_HOURS_NAME);
    sto_internal_name(&internal, out);
    return true;
}

enum sto_aged_level sto_snap_aged_level(const struct sto_snap *snap, uint32_t metric)
{
    return sto_aged_level_of(snap->catalog, metric);
}

void sto_aged_metric_name(const struct sto_catalog *catalog, uint32_t metric, struct ts_buf *out)
{
    struct sto_internal internal, name = {.kind = STO_INTERNAL_AGED,
                                          .metric = sto_uid_name(catalog, STO_UID_METRIC, metric),
                                          .detail = TS_SLICE_LIT(STO_AGED_HOURS_NAME)};
    if (sto_internal_aged(name.metric, &internal))
        name = (struct sto_internal){STO_INTERNAL_AGED, internal.metric, TS_SLICE_LIT(STO_AGED_DAYS_NAME)};
    ts_buf_clear(out);
    sto_internal_name(&name, out);
}

uint32_t sto_snap_aged_metric(const struct sto_snap *snap, uint32_t metric)
{
    struct ts_buf name;
    uint32_t id;
    if (sto_aged_level_of(snap->catalog, metric) == STO_AGED_DAYS)
        return UINT32_MAX;
    ts_buf_init(&name, 0);
    sto_aged_metric_name(snap->catalog, metric, &name);
    int rc = sto_uid_find(snap->catalog, STO_UID_METRIC, ts_buf_get(&name), &id);
    ts_buf_release(&name);
    return rc < 0 ? UINT32_MAX : id;
}

const struct sto_series *sto_snap_aged_series(const struct sto_snap *snap, uint32_t aged_metric,
                                              const struct sto_series *series)
{
    const struct sto_series *out;
    if (aged_metric == UINT32_MAX ||
        sto_series_find_ids(snap->catalog, aged_metric, series->tags, series->n_tags, &out) < 0)
        return NULL;
    return out;
}

int sto_snap_aged_scan(struct sto_snap *snap, const struct sto_series *const *series, size_t n,
                       int64_t from_ms, int64_t to_ms, struct ts_budget *memory, struct sto_merge **out,
                       struct ts_error *err)
{
    struct sto_scan_spec spec = {.metric = series[0]->metric,
                                 .series = series,
                                 .n_series = n,
                                 .from_ms = from_ms,
                                 .to_ms = to_ms,
                                 .aged = true,
                                 .final = true,
                                 .memory = memory,
                                 .must_go_on = true,
                                 .most_bytes = sto_merge_most_bytes(memory)};
    return sto_scan(snap, &spec, out, err);
}
