/*
 * explain.c - estimates the cost of the plans of a query without running them.
 *
 * It takes the same steps as qry_run (query.c), qry_histogram_read and qry_totals, and estimates the scans
 * that they would make.
 *
 * Threads    see explain.h
 */
#include "query/execution/explain.h"

#include "query/execution/histogram.h"
#include "query/execution/kept.h"
#include "query/execution/rollup.h"
#include "query/execution/select.h"
#include "storage/aged.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define READS_BYTES 160 /* "rollups SPEC and SPEC" */

/* The sums so far, by kind of source. */
struct pricing {
    struct qry_explained *e; /* files, memory grow */
    size_t cap;              /* allocated in e->files */
    struct ts_arena *arena;  /* of files */
};

static void add_cost(struct sto_scan_cost *to, const struct sto_scan_cost *c)
{
    to->by_summaries = to->by_summaries || c->by_summaries;
    to->n_series += c->n_series;
    to->n_rows += c->n_rows;
    to->n_points += c->n_points;
    to->n_sums += c->n_sums;
    to->n_blocks += c->n_blocks;
    to->n_bytes += c->n_bytes;
    to->n_sum_blocks += c->n_sum_blocks;
    to->n_sum_bytes += c->n_sum_bytes;
    to->n_tombs += c->n_tombs;
}

static void take_memory(struct qry_explained *e, const struct sto_scan_cost *c)
{
    if (e->n_memstores++ == 0)
        e->memory = (struct sto_scan_cost){.memory = true, .min_ms = INT64_MAX, .max_ms = INT64_MIN};
    e->memory.min_ms = c->min_ms < e->memory.min_ms ? c->min_ms : e->memory.min_ms;
    e->memory.max_ms = c->max_ms > e->memory.max_ms ? c->max_ms : e->memory.max_ms;
    add_cost(&e->memory, c);
}

static void take_cost(void *arg, const struct sto_scan_cost *c)
{
    struct pricing *p = arg;
    struct qry_explained *e = p->e;
    add_cost(&e->total, c);
    if (c->memory) {
        take_memory(e, c);
        return;
    }
    for (size_t i = 0; i < e->n_files; i++)
        if (e->files[i].file_no == c->file_no) {
            add_cost(&e->files[i], c);
            return;
        }
    if (e->n_files == p->cap) {
        size_t cap = p->cap ? p->cap * 2 : 16;
        struct sto_scan_cost *more = ts_arena_alloc(p->arena, cap * sizeof *more);
        if (p->cap)
            memcpy(more, e->files, p->cap * sizeof *more);
        e->files = more;
        p->cap = cap;
    }
    e->files[e->n_files++] = *c;
}

static int cmp_files(const void *pa, const void *pb)
{
    const struct sto_scan_cost *a = pa, *b = pb;
    if (a->min_ms != b->min_ms)
        return a->min_ms < b->min_ms ? -1 : 1;
    return a->file_no < b->file_no ? -1 : a->file_no > b->file_no;
}

/* Add the cost of a scan. */
static int price_scan(struct sto_snap *snap, const struct sto_scan_spec *scan, struct pricing *pr,
                      struct ts_error *err)
{
    uint64_t points, bytes;
    if (!scan->n_series)
        return 0;
    sto_scan_estimate(snap, scan, &points, &bytes);
    pr->e->limit_bytes += bytes;
    return sto_scan_cost(snap, scan, take_cost, pr, err);
}

/* --- summaries without points --- */

/* Rows of summaries. */
struct aged_pricing {
    struct pricing *all;
    uint64_t n_rows;
};

/* They count as summaries of rows of points do. */
static void take_aged_cost(void *arg, const struct sto_scan_cost *c)
{
    struct aged_pricing *a = arg;
    struct sto_scan_cost sums = *c;
    a->n_rows += c->n_rows;
    sums.n_sums = c->n_rows;
    sums.n_sum_blocks = c->n_blocks;
    sums.n_sum_bytes = c->n_bytes;
    sums.n_rows = sums.n_points = sums.n_blocks = sums.n_bytes = 0;
    take_cost(a->all, &sums);
}

static int cmp_ids(const void *pa, const void *pb)
{
    uint32_t a = (*(const struct sto_series *const *)pa)->id, b = (*(const struct sto_series *const *)pb)->id;
    return a < b ? -1 : a > b;
}

/* Series of summaries, and until when one of those that they are of has no points any more. */
struct aged_set {
    const struct sto_series **series; /* [n] ascending by number */
    size_t n;
    int64_t to_ms;
};

static struct aged_set aged_of(const struct sto_snap *snap, uint32_t metric, const struct aged_set *of,
                               struct ts_arena *arena)
{
    struct aged_set out = {.series = ts_arena_alloc(arena, (of->n + 1) * sizeof(*out.series)),
                           .to_ms = STO_MIN_TS_MS};
    for (size_t i = 0; i < of->n; i++) {
        struct sto_aged_bounds at;
        const struct sto_series *s = sto_snap_aged_series(snap, metric, of->series[i]);
        sto_snap_aged(snap, of->series[i], &at);
        if (!s)
            continue;
        out.series[out.n++] = s;
        out.to_ms = at.to_ms > out.to_ms ? at.to_ms : out.to_ms;
    }
    qsort(out.series, out.n, sizeof(*out.series), cmp_ids);
    return out;
}

/* Add the cost of the rows of some summaries. A day may begin before the range that is read. */
static int price_rows(struct sto_snap *snap, const struct qry_plan *p, uint32_t metric,
                      const struct aged_set *set, bool days, struct pricing *pr, struct ts_error *err)
{
    struct aged_pricing a = {.all = pr};
    struct sto_scan_spec scan = {.metric = metric,
                                 .series = set->series,
                                 .n_series = set->n,
                                 .from_ms = p->scan_from_ms - (days ? STO_DAY_MAX_HOURS * TS_HOUR_MS : 0),
                                 .to_ms = (p->scan_to_ms < set->to_ms ? p->scan_to_ms : set->to_ms) - 1,
                                 .final = true};
    if (!set->n || scan.from_ms > scan.to_ms)
        return 0;
    TS_TRY(sto_scan_cost(snap, &scan, take_aged_cost, &a, err));
    *(days ? &pr->e->n_expired_days : &pr->e->n_expired_hours) += a.n_rows;
    return 0;
}

/* Add the cost of the summaries of hours and days whose points have expired, where they may be used. */
static int price_aged(struct sto_snap *snap, const struct qry_plan *p, struct pricing *pr,
                      struct ts_error *err)
{
    if (!p->whole_hours || p->needs_points || p->spec->where.n || !sto_snap_ages(snap))
        return 0;
    uint32_t hours_metric = sto_snap_aged_metric(snap, p->metric), days_metric;
    struct aged_set points = {.series = p->series, .n = p->n};
    if (hours_metric == UINT32_MAX)
        return 0;
    struct aged_set hours = aged_of(snap, hours_metric, &points, p->arena);
    TS_TRY(price_rows(snap, p, hours_metric, &hours, false, pr, err));
    if ((days_metric = sto_snap_aged_metric(snap, hours_metric)) == UINT32_MAX)
        return 0;
    struct aged_set days = aged_of(snap, days_metric, &hours, p->arena);
    return price_rows(snap, p, days_metric, &days, true, pr, err);
}

/* Note the range of the scan of a plan. */
static void note_range(struct qry_explained *e, const struct qry_plan *p)
{
    e->n_scans++;
    if (p->scan_from_ms >= p->scan_to_ms)
        return;
    e->from_ms = p->scan_from_ms;
    e->to_ms = p->scan_to_ms;
    int32_t h0 = sto_hour(p->scan_from_ms), h1 = sto_hour(p->scan_to_ms - 1);
    e->n_hours = (int64_t)h1 - h0 + 1;
    e->n_whole = 0;
    for (int64_t h = 0; p->whole_hours && h < e->n_hours; h++)
        e->n_whole += p->whole_hours[h];
}

/* Add the cost of the scan of one plan. */
static int price(struct sto_snap *snap, const struct qry_plan *p, struct pricing *pr, struct ts_error *err)
{
    struct sto_scan_spec scan = qry_plan_scan(p);
    note_range(pr->e, p);
    if (p->scan_from_ms >= p->scan_to_ms)
        return 0;
    TS_TRY(price_scan(snap, &scan, pr, err));
    return price_aged(snap, p, pr, err);
}

/* --- kinds of sub queries --- */

static int explain_histogram(struct sto_snap *snap, struct qry_budget *budget, const struct qry_plan *visible,
                             struct pricing *pr, struct ts_error *err)
{
    struct qry_buckets buckets;
    int64_t from_ms, to_ms;
    TS_TRY(qry_histogram_check(visible->sub, err));
    qry_select_range(visible->spec, visible->sub, &from_ms, &to_ms);
    TS_TRY(qry_plan_buckets(visible, from_ms, to_ms, budget, &buckets, err));
    pr->e->reads = "histograms";
    for (size_t b = 0; b < buckets.n; b++) {
        struct qry_plan p = *visible;
        TS_TRY(qry_plan_rollup(&p, buckets.metrics[b], budget, err));
        TS_TRY(qry_plan_range(snap, &p, err));
        TS_TRY(price(snap, &p, pr, err));
    }
    return 0;
}

static const char *reads_text(const struct qry_rollup_use *use, struct ts_arena *arena)
{
    if (!use->internal)
        return "points";
    char *text = ts_arena_alloc(arena, READS_BYTES);
    const char *spec = strcmp(use->spec, ":") == 0 ? "of points over series" : use->spec;
    (void)snprintf(text, READS_BYTES, use->divisor[0] ? "rollups %s and %s" : "rollups %s", spec,
                   use->divisor);
    return text;
}

static int explain_attempt(struct sto_snap *snap, struct qry_budget *budget, const struct qry_plan *visible,
                           const struct qry_rollup_use *use, struct pricing *pr, struct ts_error *err)
{
    const char *specs[2] = {use->spec, use->divisor[0] ? use->divisor : NULL};
    pr->e->reads = reads_text(use, visible->arena);
    for (size_t i = 0; i < 2 && (i == 0 || specs[i]); i++) {
        struct qry_plan p = *visible;
        if (use->internal)
            TS_TRY(qry_rollup_plan(use, specs[i], &p, budget, err));
        TS_TRY(qry_plan_range(snap, &p, err));
        TS_TRY(price(snap, &p, pr, err));
    }
    return 0;
}

/* Rollups without data are ignored, as they are when the query runs. */
static int explain_points(struct sto_snap *snap, struct qry_budget *budget, const struct qry_plan *visible,
                          struct pricing *pr, struct ts_error *err)
{
    struct qry_rollup_use use;
    const struct qry_explained before = *pr->e;
    TS_TRY(qry_rollup_choose(visible->spec, visible->sub, 0, &use, err));
    for (unsigned attempt = 1;; attempt++) {
        TS_TRY(explain_attempt(snap, budget, visible, &use, pr, err));
        if (!use.internal || pr->e->total.n_rows + pr->e->total.n_sums > 0)
            return 0;
        struct qry_rollup_use next;
        int rc = qry_rollup_choose(visible->spec, visible->sub, attempt, &next, err);
        if (rc <= 0)
            return rc;
        use = next;
        *pr->e = before;
        pr->cap = 0;
    }
}

/* Names of the keys that a total sums over. */
static const char *keys_text(const struct sto_total_ids *t, const struct qry_view *view,
                             struct ts_arena *arena)
{
    struct ts_buf text;
    ts_buf_init(&text, 0);
    for (uint32_t i = 0; i < t->n_over; i++) {
        if (i)
            ts_buf_char(&text, ',');
        ts_buf_slice(&text, qry_view_name(view, STO_UID_TAGK, t->over[i]));
    }
    const char *copy = ts_arena_strndup(arena, text.n ? text.p : "", text.n);
    ts_buf_release(&text);
    return copy;
}

/* Totals: what a kept total answers is not read. */
static int explain_totals(struct sto_snap *snap, struct qry_budget *budget, struct qry_plan *p,
                          struct pricing *pr, struct ts_error *err)
{
    struct qry_kept kept;
    int rc = qry_kept_begin(p, snap, budget, p->sub->agg->bucket_acc, &kept, err);
    note_range(pr->e, p);
    if (rc == 0 && kept.n_hours) {
        pr->e->kept = keys_text(&kept.total, p->spec->view, pr->arena);
        pr->e->n_kept_hours = kept.n_hours;
    }
    for (size_t i = 0; rc == 0 && i < kept.n_gaps; i++) {
        struct sto_scan_spec scan = qry_kept_scan(&kept, i);
        rc = price_scan(snap, &scan, pr, err);
    }
    qry_kept_release(&kept);
    return rc == 0 && p->scan_from_ms < p->scan_to_ms ? price_aged(snap, p, pr, err) : rc;
}

static int explain_sub(struct sto_snap *snap, const struct qry_spec *spec, size_t s,
                       struct qry_budget *budget, struct ts_arena *arena, struct qry_explained *e,
                       struct ts_error *err)
{
    struct pricing pr = {.e = e, .arena = arena};
    struct qry_plan p;
    *e = (struct qry_explained){.sub = &spec->subs[s], .reads = "points"};
    int rc;
    if (spec->by_on) {
        struct qry_spec *one = ts_arena_alloc(arena, sizeof *one); /* the plan points to it */
        *one = *spec;
        one->subs = &spec->subs[s];
        one->n_subs = 1;
        TS_TRY(qry_totals_plan(snap, one, budget->limit, arena, &p, err));
        rc = explain_totals(snap, budget, &p, &pr, err);
    } else {
        TS_TRY(qry_plan_select(spec, s, NULL, 0, budget, arena, &p, err));
        rc = qry_sub_is_histogram(&spec->subs[s]) ? explain_histogram(snap, budget, &p, &pr, err)
                                                  : explain_points(snap, budget, &p, &pr, err);
    }
    struct ts_slice name =
        qry_view_name(spec->view, STO_UID_METRIC, p.metric); /* of the view, which is closed */
    e->metric = (struct ts_slice){ts_arena_strndup(arena, name.n ? name.p : "", name.n), name.n};
    e->n_series = p.n;
    e->n_groups = p.n_groups;
    if (e->n_files)
        qsort(e->files, e->n_files, sizeof *e->files, cmp_files);
    return rc;
}

/* --- limits --- */

static struct qry_explained_limit limit_of(const char *key, uint64_t limit, bool known, uint64_t needs)
{
    return (struct qry_explained_limit){key, limit, known, known ? needs : 0,
                                        known && limit && needs > limit};
}

static void explain_limits(struct qry_explain *x, const struct qry_limit *limit, int64_t timeout_ms)
{
    static const struct qry_limit none;
    uint64_t series = 0, points = 0, bytes = 0;
    const struct qry_limit *l = limit ? limit : &none;
    for (size_t i = 0; i < x->n_subs; i++) {
        const struct qry_explained *e = &x->subs[i];
        series = e->n_series > series ? e->n_series : series;
        points += e->total.n_points + e->total.n_sums;
        bytes += e->limit_bytes;
    }
    x->limits[0] = limit_of("query_max_series", l->max_series, true, series);
    x->limits[1] = limit_of("query_max_read_bytes", l->max_read_bytes, true, bytes);
    x->limits[2] = limit_of("query_max_points", l->max_points, true, points);
    x->limits[3] = limit_of("query_max_bytes", l->max_bytes, false, 0);
    x->limits[4] = limit_of("query_timeout_ms", (uint64_t)(timeout_ms > 0 ? timeout_ms : 0), false, 0);
}

int qry_explain(struct sto_store *st, const struct qry_spec *spec, struct qry_limit *limit,
                int64_t timeout_ms, struct ts_arena *arena, struct qry_explain *out, struct ts_error *err)
{
    struct qry_view view;
    struct qry_spec copy;
    spec = qry_view_use(&view, st, limit, spec, &copy);
    struct sto_snap *snap = sto_snap_take(st);
    struct qry_budget budget;
    int rc = 0;
    qry_budget_init(&budget, limit);
    budget.any_series = true;
    *out = (struct qry_explain){.n_subs = spec->n_subs};
    out->subs = ts_arena_zalloc(arena, (spec->n_subs + 1) * sizeof *out->subs);
    for (size_t s = 0; s < spec->n_subs && rc == 0; s++) {
        rc = explain_sub(snap, spec, s, &budget, arena, &out->subs[s], err);
        for (size_t i = 0; rc == 0 && i < out->subs[s].n_files; i++) {
            struct sto_scan_cost *c = &out->subs[s].files[i];
            if (c->broken) /* copied, since the text belongs to the snapshot */
                c->broken = ts_arena_strndup(arena, c->broken, strlen(c->broken));
        }
    }
    sto_snap_release(snap);
    qry_view_unuse(&view, spec);
    if (rc == 0)
        explain_limits(out, limit, timeout_ms);
    return rc;
}
