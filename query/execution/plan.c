/*
 * plan.c - divides the series of a sub query into groups and pieces, and determines the range that is read.
 */
#include "query/execution/plan.h"

#include "query/execution/as_of.h"

#include "base/array.h"
#include "base/hash.h"
#include "query/breakdowns/breakdown.h"
#include "query/execution/days.h"
#include "storage/aged.h"
#include "query/execution/rollup.h"
#include "query/execution/select.h"
#include "query/ids.h"
#include "query/sort.h"
#include "storage/day.h"

#include <stdlib.h>
#include <string.h>

static uint32_t value_of(const struct sto_tag *tags, size_t n, uint32_t tagk)
{
    for (size_t i = 0; i < n; i++)
        if (tags[i].k == tagk)
            return tags[i].v;
    return 0;
}

uint32_t qry_series_value(const struct sto_series *s, uint32_t tagk)
{
    return value_of(s->tags, s->n_tags, tagk);
}

static int cmp_series_id(const void *a, const void *b)
{
    const struct sto_series *const *x = a, *const *y = b;
    return ts_cmp_u32(&(*x)->id, &(*y)->id);
}

/* Order of a series' key in OpenTSDB's table: metric (the same here), then tag ids. */
static int cmp_series_tags(const struct sto_series *a, const struct sto_series *b)
{
    for (size_t i = 0; i < a->n_tags && i < b->n_tags; i++) {
        if (a->tags[i].k != b->tags[i].k)
            return a->tags[i].k < b->tags[i].k ? -1 : 1;
        if (a->tags[i].v != b->tags[i].v)
            return a->tags[i].v < b->tags[i].v ? -1 : 1;
    }
    return a->n_tags < b->n_tags ? -1 : a->n_tags > b->n_tags;
}

struct ranked {
    const struct sto_series *series;
    uint32_t pos;
};
static int cmp_ranked(const void *a, const void *b, void *arg)
{
    (void)arg;
    return cmp_series_tags(((const struct ranked *)a)->series, ((const struct ranked *)b)->series);
}

static int make_ranks(struct qry_plan *p, struct qry_budget *budget, struct ts_error *err)
{
    struct ranked *r = ts_budget_alloc(budget->memory, p->n * sizeof *r, err);
    if (!r)
        return qry_memory_code(err);
    for (size_t i = 0; i < p->n; i++)
        r[i] = (struct ranked){p->series[i], (uint32_t)i};
    int rc = qry_sort(r, p->n, sizeof *r, cmp_ranked, NULL, budget, err);
    if (rc == 0 && !(p->rank = qry_arena_take(p->arena, p->n, sizeof *p->rank, err)))
        rc = qry_memory_code(err);
    for (size_t i = 0; i < p->n && rc == 0; i++)
        p->rank[r[i].pos] = (uint32_t)i;
    ts_budget_free(budget->memory, r, p->n * sizeof *r);
    return rc;
}

static int from_tsuids(struct qry_view *view, struct qry_plan *p, struct ts_error *err)
{
    const struct qry_sub *sub = p->sub;
    p->series = ts_arena_alloc(p->arena, sub->n_tsuids * sizeof(*p->series));
    for (size_t i = 0; i < sub->n_tsuids; i++) {
        TS_TRY(qry_ids_series(view, sub->tsuids[i], &p->series[i], err));
        if (p->series[i]->metric != p->series[0]->metric)
            return ts_error_set(
                err, TS_EINVAL, "One or more TSUIDs did not share the same metric [%.*s] [%.*s]",
                (int)sub->tsuids[0].n, sub->tsuids[0].p, (int)sub->tsuids[i].n, sub->tsuids[i].p);
    }
    p->metric = p->series[0]->metric;
    qsort(p->series, sub->n_tsuids, sizeof(*p->series), cmp_series_id);
    for (size_t i = 0; i < sub->n_tsuids; i++)
        if (!p->n || p->series[p->n - 1] != p->series[i])
            p->series[p->n++] = p->series[i];
    return 0;
}

static int from_filters(struct qry_view *view, struct qry_plan *p, struct qry_budget *budget,
                        struct ts_error *err)
{
    const struct qry_sub *sub = p->sub;
    roaring_bitmap_t *set;
    int rc = qry_select_metric(view, sub->metric, &p->metric, err);
    if (rc == TS_ENOTFOUND && !p->spec->compat)
        qry_select_near(view, STO_UID_METRIC, sub->metric, NULL, err);
    TS_TRY(rc);
    struct qry_selection what = {.metric_name = sub->metric,
                                 .metric = p->metric,
                                 .filters = sub->filters,
                                 .n = sub->n_filters,
                                 .explicit_tags = sub->explicit_tags,
                                 .must_exist = p->spec->values_must_exist};
    qry_select_range(p->spec, sub, &what.from_ms, &what.to_ms);
    what.useful_from_ms = qry_select_first(p->spec, sub);
    if (view->remote)
        TS_TRY(qry_rollup_metrics(p->spec, sub, p->arena, &what.internal, &what.n_internal, err));
    rc = qry_select_filters(view, &what, budget, p->arena, &set, err);
    if (rc == TS_ENOTFOUND && !p->spec->compat)
        qry_select_near_filter(view, sub, err);
    TS_TRY(rc);
    return qry_select_series(view, set, budget, p->arena, &p->series, &p->n, err);
}

/* Ids of the keys to group by, ascending, each once; for totals, names are in the order of the request. */
static int grouping_keys(struct qry_view *view, struct qry_plan *p, const struct ts_slice *by_keys,
                         size_t n_by_keys, struct ts_error *err)
{
    const struct qry_sub *sub = p->sub;
    p->keys = ts_arena_alloc(p->arena, (n_by_keys + sub->n_filters + 1) * sizeof *p->keys);
    for (size_t i = 0; i < n_by_keys; i++) {
        int rc = qry_select_tagk(view, by_keys[i], &p->keys[p->n_keys++], err);
        if (rc == TS_ENOTFOUND && !p->spec->compat)
            qry_select_near(view, STO_UID_TAGK, by_keys[i], qry_breakdown_names(), err);
        TS_TRY(rc);
    }
    if (by_keys)
        return 0;
    for (size_t i = 0; i < sub->n_filters; i++)
        if (sub->filters[i].group_by)
            TS_TRY(qry_select_tagk(view, sub->filters[i].tagk, &p->keys[p->n_keys++], err));
    qsort(p->keys, p->n_keys, sizeof *p->keys, ts_cmp_u32);
    size_t n = 0;
    for (size_t i = 0; i < p->n_keys; i++)
        if (!n || p->keys[n - 1] != p->keys[i])
            p->keys[n++] = p->keys[i];
    p->n_keys = n;
    return 0;
}

/* Is a tag cell among those that are shown separately? */
static bool is_kept(const struct qry_keep *keep, const uint32_t *ids, size_t n_keys)
{
    size_t lo = 0, hi = keep->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int c = qry_keep_cmp(keep, keep->ids + mid * n_keys, ids, n_keys);
        if (c == 0)
            return true;
        if (c < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return false;
}

/* The tag cell of a series of totals, by its tags. */
static void cell_ids(const struct qry_plan *p, const struct sto_tag *tags, size_t n_tags, uint32_t *out)
{
    for (size_t k = 0; k < p->n_keys; k++)
        out[k] = value_of(tags, n_tags, p->keys[k]);
    const struct qry_keep *keep = p->by_tags ? p->spec->keep : NULL;
    if (keep && !is_kept(keep, out, p->n_keys))
        for (size_t k = 0; k < p->n_keys; k++)
            out[k] = k == keep->apart ? out[k] : QRY_OTHERS;
}

/* For totals, leave out series whose tag cell is not selected and, with compat, those without one of the
 * keys. */
static void drop_unwanted(struct qry_plan *p)
{
    const struct qry_keep *keep = p->spec->keep;
    uint32_t *ids = ts_arena_alloc(p->arena, (p->n_keys + 1) * sizeof *ids);
    size_t n = 0;
    for (size_t i = 0; i < p->n; i++) {
        size_t k = 0;
        for (size_t j = 0; j < p->n_keys; j++) {
            ids[j] = qry_series_value(p->series[i], p->keys[j]);
            k += ids[j] != QRY_NO_VALUE;
        }
        if ((k == p->n_keys || !p->spec->compat) && (!keep || keep->others || is_kept(keep, ids, p->n_keys)))
            p->series[n++] = p->series[i];
    }
    p->n = n;
}

struct ts_slice qry_plan_value_name(const struct qry_view *view, uint32_t id)
{
    return id == QRY_NO_VALUE ? TS_SLICE_LIT("(none)")
           : id == QRY_OTHERS ? TS_SLICE_LIT("(others)")
                              : qry_view_name(view, STO_UID_TAGV, id);
}

/* A group that was found while series are collected. */
struct found {
    uint32_t *key;
    uint32_t n;     /* series */
    uint32_t index; /* in order of discovery */
};

struct finder {
    struct found *found; /* owned */
    size_t n, cap;
    uint32_t *slots; /* open addressing: index + 1; owned */
    size_t n_slots;  /* a power of 2, at least twice n; or 0 */
    size_t n_keys;
    struct ts_budget *memory; /* account of both */
};

static size_t find_slot(const struct finder *f, const uint32_t *key)
{
    size_t at = (size_t)ts_hash(key, f->n_keys * sizeof *key) & (f->n_slots - 1);
    while (f->slots[at] && memcmp(f->found[f->slots[at] - 1].key, key, f->n_keys * sizeof *key) != 0)
        at = (at + 1) & (f->n_slots - 1);
    return at;
}

static int finder_grow(struct finder *f, struct ts_error *err)
{
    size_t n = f->n_slots ? f->n_slots * 2 : 128;
    TS_TRY(ts_budget_grow(f->memory, &f->found, &f->cap, n / 2, sizeof *f->found, err));
    uint32_t *slots = ts_budget_calloc(f->memory, n, sizeof *slots, err);
    if (!slots)
        return qry_memory_code(err);
    ts_budget_free(f->memory, f->slots, f->n_slots * sizeof *f->slots);
    f->slots = slots;
    f->n_slots = n;
    for (size_t i = 0; i < f->n; i++)
        f->slots[find_slot(f, f->found[i].key)] = (uint32_t)i + 1;
    return 0;
}

static int finder_put(struct finder *f, const uint32_t *key, struct ts_arena *arena, uint32_t *out,
                      struct ts_error *err)
{
    if (2 * (f->n + 1) > f->n_slots)
        TS_TRY(finder_grow(f, err));
    size_t at = find_slot(f, key);
    if (!f->slots[at]) {
        uint32_t *copy = qry_arena_take(arena, f->n_keys, sizeof *key, err);
        if (!copy)
            return qry_memory_code(err);
        memcpy(copy, key, f->n_keys * sizeof *key);
        f->found[f->n] = (struct found){copy, 0, (uint32_t)f->n};
        f->slots[at] = (uint32_t)++f->n;
    }
    f->found[f->slots[at] - 1].n++;
    *out = f->slots[at] - 1;
    return 0;
}

static int cmp_found(const void *a, const void *b, void *arg)
{
    const struct found *x = a, *y = b;
    size_t n_keys = *(size_t *)arg;
    for (size_t k = 0; k < n_keys; k++)
        if (x->key[k] != y->key[k])
            return x->key[k] < y->key[k] ? -1 : 1;
    return 0;
}

/* Allocate n groups of all series. */
static int open_groups(struct qry_plan *p, size_t n, uint32_t **out_members, struct ts_error *err)
{
    p->n_groups = n;
    p->groups = qry_arena_take(p->arena, n, sizeof *p->groups, err);
    *out_members = p->groups ? qry_arena_take(p->arena, p->n, sizeof **out_members, err) : NULL;
    return *out_members ? 0 : qry_memory_code(err);
}

/* Sort groups by their keys, and members by position; group_of has indexes in the order of discovery. */
static int order_groups(struct qry_plan *p, struct finder *f, struct qry_budget *budget, struct ts_error *err)
{
    uint32_t *members;
    TS_TRY(qry_sort(f->found, f->n, sizeof *f->found, cmp_found, &p->n_keys, budget, err));
    TS_TRY(open_groups(p, f->n, &members, err));
    uint32_t *place = ts_budget_alloc(budget->memory, f->n * sizeof *place, err);
    uint32_t **next = place ? ts_budget_alloc(budget->memory, f->n * sizeof(*next), err) : NULL;
    int rc = next ? 0 : qry_memory_code(err);
    for (size_t g = 0; g < f->n && rc == 0; g++) {
        place[f->found[g].index] = (uint32_t)g;
        p->groups[g] = (struct qry_group){f->found[g].key, f->found[g].n, members};
        next[g] = members;
        members += f->found[g].n;
    }
    for (size_t i = 0; i < p->n && rc == 0; i++) {
        p->group_of[i] = place[p->group_of[i]];
        *next[p->group_of[i]]++ = (uint32_t)i;
    }
    ts_budget_free(budget->memory, next, next ? f->n * sizeof(*next) : 0);
    ts_budget_free(budget->memory, place, place ? f->n * sizeof *place : 0);
    return rc;
}

static int find_groups(struct qry_plan *p, struct finder *f, struct qry_budget *budget, struct ts_error *err)
{
    size_t step = 0;
    uint32_t *key = qry_arena_take(p->arena, p->n_keys + 1, sizeof *key, err);
    if (!key)
        return qry_memory_code(err);
    for (size_t i = 0; i < p->n; i++) {
        cell_ids(p, p->series[i]->tags, p->series[i]->n_tags, key);
        TS_TRY(finder_put(f, key, p->arena, &p->group_of[i], err));
        TS_TRY(qry_budget_step(budget, &step, err));
    }
    return order_groups(p, f, budget, err);
}

int64_t qry_plan_find_group(const struct qry_plan *p, const struct sto_tag *tags, size_t n_tags)
{
    uint32_t key[UINT8_MAX];
    size_t lo = 0, hi = p->n_groups, n_keys = p->n_keys;
    if (n_keys > UINT8_MAX)
        return -1;
    cell_ids(p, tags, n_tags, key);
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        const struct found at = {.key = (uint32_t *)(uintptr_t)p->groups[mid].key}, want = {.key = key};
        int c = cmp_found(&at, &want, &n_keys);
        if (c == 0)
            return (int64_t)mid;
        if (c < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return -1;
}

static int make_groups(struct qry_plan *p, struct qry_budget *budget, struct ts_error *err)
{
    struct finder f = {.n_keys = p->n_keys, .memory = budget->memory};
    p->group_of = qry_arena_take(p->arena, p->n, sizeof *p->group_of, err);
    int rc = p->group_of ? find_groups(p, &f, budget, err) : qry_memory_code(err);
    ts_budget_free(f.memory, f.found, f.cap * sizeof *f.found);
    ts_budget_free(f.memory, f.slots, f.n_slots * sizeof *f.slots);
    return rc;
}

/* Aggregator none: each series is a group, in the order of names. */
static int single_groups(struct qry_plan *p, struct qry_budget *budget, struct ts_error *err)
{
    uint32_t *members;
    TS_TRY(make_ranks(p, budget, err));
    TS_TRY(open_groups(p, p->n, &members, err));
    p->group_of = qry_arena_take(p->arena, p->n, sizeof *p->group_of, err);
    if (!p->group_of)
        return qry_memory_code(err);
    for (size_t i = 0; i < p->n; i++) {
        p->group_of[i] = p->rank[i];
        members[p->rank[i]] = (uint32_t)i;
    }
    for (size_t g = 0; g < p->n; g++)
        p->groups[g] = (struct qry_group){NULL, 1, members + g};
    return 0;
}

int qry_plan_select(const struct qry_spec *spec, size_t index, const struct ts_slice *by_keys,
                    size_t n_by_keys, struct qry_budget *budget, struct ts_arena *arena, struct qry_plan *out,
                    struct ts_error *err)
{
    struct qry_view *view = spec->view;
    struct qry_plan *p = out;
    *p = (struct qry_plan){.spec = spec, .sub = &spec->subs[index], .index = index, .arena = arena};
    TS_TRY(p->sub->n_tsuids ? from_tsuids(view, p, err) : from_filters(view, p, budget, err));
    p->shown_metric = p->metric;
    if (spec->as_of_us)
        TS_TRY(qry_as_of_check(view, qry_view_name(view, STO_UID_METRIC, p->metric), spec->as_of_us, err));
    if (spec->show_tsuids) /* all of them together, rather than those of each group when it is printed */
        TS_TRY(qry_ids_load(view, p->series, p->n, err));
    TS_TRY(grouping_keys(view, p, by_keys, n_by_keys, err));
    p->by_tags = by_keys != NULL;
    if (by_keys)
        drop_unwanted(p);
    p->has_data = qry_arena_zero(arena, p->n, 1, err);
    if (!p->has_data)
        return qry_memory_code(err);
    if (p->sub->none && !by_keys)
        return single_groups(p, budget, err);
    const struct qry_agg *agg = spec->compat ? qry_agg_plain(p->sub->agg) : p->sub->agg;
    if (!by_keys && agg->group_acc && agg->group_acc->by_rank)
        TS_TRY(make_ranks(p, budget, err));
    return make_groups(p, budget, err);
}

static int64_t floor_hour(int64_t t)
{
    return ts_floor_div(t, TS_HOUR_MS) * TS_HOUR_MS;
}

void qry_plan_clip(struct sto_snap *snap, struct qry_plan *p)
{
    int64_t lo, hi;
    struct sto_day day;
    p->scan_from_ms = p->from_ms;
    p->scan_to_ms = p->to_ms;
    if (!sto_snap_time_range(snap, &lo, &hi)) {
        p->scan_to_ms = p->scan_from_ms;
        return;
    }
    lo = floor_hour(lo);
    hi = floor_hour(hi) + TS_HOUR_MS;
    if (sto_snap_ages(snap)) /* a row of a day, in its first hour */
        hi += STO_DAY_MAX_HOURS * TS_HOUR_MS;
    /* whole days, so that summaries can answer the first and the last one */
    if (sto_day_of(sto_hour(lo), &day))
        lo = day.from * TS_HOUR_MS;
    if (sto_day_of(sto_hour(hi - 1), &day))
        hi = day.to * TS_HOUR_MS;
    if (lo > p->scan_from_ms)
        p->scan_from_ms = lo;
    if (hi < p->scan_to_ms)
        p->scan_to_ms = hi;
}

int qry_plan_whole_hours(struct qry_plan *p, size_t *out_n, struct ts_error *err)
{
    *out_n = 0;
    p->whole_hours = NULL;
    p->days = NULL;
    p->one.may = NULL;
    if (p->scan_from_ms >= p->scan_to_ms || p->spec->as_of_us) /* summaries are of what is now */
        return 0;
    int32_t h0 = sto_hour(p->scan_from_ms), h1 = sto_hour(p->scan_to_ms - 1);
    size_t n = (size_t)((int64_t)h1 - h0 + 1);
    if (n > QRY_WHOLE_HOURS_MAX)
        return 0;
    p->whole_hours = qry_arena_take(p->arena, n, 1, err);
    if (!p->whole_hours)
        return qry_memory_code(err);
    memset(p->whole_hours, 1, n);
    if (h0 * TS_HOUR_MS < p->scan_from_ms)
        p->whole_hours[0] = 0;
    if ((h1 + 1ll) * TS_HOUR_MS > p->scan_to_ms)
        p->whole_hours[n - 1] = 0;
    *out_n = n;
    return 0;
}

int qry_plan_no_hours(struct sto_snap *snap, struct qry_plan *p, struct ts_error *err)
{
    size_t n = 0;
    p->needs_points = true;
    p->whole_hours = NULL;
    p->days = NULL;
    p->one.may = NULL;
    if (sto_snap_ages(snap))
        TS_TRY(qry_plan_whole_hours(p, &n, err));
    if (n)
        memset(p->whole_hours, 0, n);
    return 0;
}

/* Determine the hours of the scan that summaries may answer. Also if there are none, aged.c counts what has expired. */
static int hours_of_buckets(struct sto_snap *snap, struct qry_plan *p, struct ts_error *err)
{
    const struct qry_downsample *ds = &p->sub->downsample;
    size_t n = 0;
    if (ds->on && (!ds->fn->bucket_acc->add_hour || p->grid.own))
        return qry_plan_no_hours(snap, p, err);
    if (ds->on)
        TS_TRY(qry_plan_whole_hours(p, &n, err));
    if (n)
        qry_grid_whole_hours(&p->grid, sto_hour(p->scan_from_ms), n, p->whole_hours);
    if (n && !memchr(p->whole_hours, 1, n) && !sto_snap_ages(snap))
        p->whole_hours = NULL;
    return qry_plan_days_of_buckets(p, err);
}

int qry_plan_range(struct sto_snap *snap, struct qry_plan *p, struct ts_error *err)
{
    const struct qry_downsample *ds = &p->sub->downsample;
    int64_t step = ds->on && !ds->all ? ds->interval_ms : 0;
    qry_select_hours(p->spec, p->sub, &p->from_ms, &p->to_ms);
    qry_plan_clip(snap, p);
    if (ds->on) {
        /* calendar steps of several units are counted from the beginning requested, not from the data */
        bool clip = ds->fill == QRY_FILL_NONE && !(ds->calendar && ds->n > 1);
        int64_t from = p->from_ms, to = p->to_ms;
        if (clip && !ds->all) {
            /* the bucket that holds the first hour with data may begin before it */
            from = p->scan_from_ms > from ? p->scan_from_ms : from;
            if (from > p->from_ms) {
                from = ds->calendar ? ts_calendar_floor(p->spec->tz, from, ds->n, ds->unit)
                                    : from - ts_floor_mod(from, step);
                from = from > p->from_ms ? from : p->from_ms;
            }
            to = p->scan_to_ms < to ? p->scan_to_ms : to;
        }
        TS_TRY(qry_grid_make(ds, p->spec->tz, p->spec->start_ms, p->spec->end_ms, from, to, p->arena,
                             &p->grid, err));
        TS_TRY(hours_of_buckets(snap, p, err));
    }
    return qry_plan_cut(
        p, ds->on && ds->fn->bucket_acc->add_hour && (ds->all || ds->interval_ms >= TS_HOUR_MS), err);
}

struct sto_scan_spec qry_plan_scan(const struct qry_plan *p)
{
    return (struct sto_scan_spec){.metric = p->metric,
                                  .series = p->series,
                                  .n_series = p->n,
                                  .from_ms = p->scan_from_ms,
                                  .to_ms = p->scan_to_ms - 1,
                                  .whole_hours = p->whole_hours,
                                  .days = p->days,
                                  .final = true};
}

/* Do points that are not shown have no part in the answer? As of a time they are not read then, since one that is not known would be an error. */
static bool reads_what_is_shown(const struct qry_plan *p)
{
    return p->spec->as_of_us && p->sub->none && !p->sub->downsample.on && !p->sub->rate.on && !p->spec->uncut;
}

/* The time from which points may be in the answer: buckets that begin before the range of the query are read, but not shown. */
static int64_t shown_from_ms(const struct qry_plan *p)
{
    const struct qry_grid *g = &p->grid;
    int64_t start_ms = p->spec->start_ms;
    if (!p->sub->downsample.on || g->all || g->own || p->spec->uncut || !g->n)
        return start_ms;
    if (g->first_ms >= start_ms)
        return g->first_ms;
    if (start_ms >= qry_grid_start(g, g->n))
        return INT64_MAX;
    size_t k = qry_grid_find(g, start_ms);
    return qry_grid_start(g, qry_grid_start(g, k) < start_ms ? k + 1 : k);
}

struct qry_reading qry_plan_reading(const struct qry_plan *p, struct sto_snap *snap,
                                    struct qry_budget *budget)
{
    int64_t from_ms = p->scan_from_ms, to_ms = p->scan_to_ms;
    if (reads_what_is_shown(p)) {
        from_ms = p->spec->start_ms > from_ms ? p->spec->start_ms : from_ms;
        to_ms = p->spec->end_ms < to_ms ? p->spec->end_ms + 1 : to_ms;
    }
    return (struct qry_reading){.snap = snap,
                                .budget = budget,
                                .view = p->spec->view,
                                .metric = p->metric,
                                .series = p->series,
                                .n = p->n,
                                .from_ms = from_ms,
                                .to_ms = to_ms,
                                .asked_from_ms = shown_from_ms(p),
                                .asked_to_ms = p->spec->end_ms + 1,
                                .whole_hours = p->whole_hours,
                                .needs_points = p->needs_points,
                                .days = p->days,
                                .one = p->one,
                                .counts_only = p->spec->del, /* a sum that does not fit is deleted, too */
                                .as_of_us = p->spec->as_of_us};
}

int qry_plan_afford(const struct qry_plan *p, struct sto_snap *snap, struct qry_budget *budget,
                    struct ts_error *err)
{
    struct sto_scan_spec scan = qry_plan_scan(p);
    return qry_budget_scan(budget, snap, &scan, err);
}
