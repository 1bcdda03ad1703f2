/*
 * histogram.c - histogram queries. Each bucket is read and summed as a query of its own; percentiles are
 * computed from the counts of a group and time.
 *
 * Not here   storing (tsd/ingest/histogram.c), reading (run.c)
 */
#include "query/execution/histogram.h"

#include "query/aggregators/agg.h"
#include "query/execution/internal_metric.h"
#include "query/execution/labels.h"
#include "query/execution/rollup.h"
#include "query/execution/select.h"
#include "query/sort.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- buckets of a metric --- */

struct finder {
    struct ts_arena *arena;
    struct found {
        struct sto_bucket b;
        struct ts_slice metric;
    } * found;
    size_t n, cap;
};

static void find_one(void *arg, uint32_t id, struct ts_slice name)
{
    struct finder *f = arg;
    struct sto_internal h;
    struct found one = {.metric = name};
    (void)id;
    if (!sto_internal_parse(name, &h) || h.kind != STO_INTERNAL_HISTOGRAM ||
        !sto_bucket_parse(h.detail, &one.b))
        return;
    if (f->n == f->cap) {
        f->cap = f->cap ? f->cap * 2 : 32;
        f->found = ts_xrealloc(f->found, f->cap * sizeof *f->found);
    }
    f->found[f->n++] = one;
}

static int cmp_found(const void *a, const void *b)
{
    return sto_bucket_cmp(&((const struct found *)a)->b, &((const struct found *)b)->b);
}

void qry_buckets_find(const struct qry_view *view, struct ts_slice metric, struct ts_arena *arena,
                      struct qry_buckets *out)
{
    struct finder f = {.arena = arena};
    struct ts_buf prefix;
    ts_buf_init(&prefix, 0);
    sto_internal_buckets(metric, &prefix);
    qry_view_known_names(view, STO_UID_METRIC, ts_buf_get(&prefix), find_one, &f);
    ts_buf_release(&prefix);
    if (f.n)
        qsort(f.found, f.n, sizeof *f.found, cmp_found);
    *out = (struct qry_buckets){.b = ts_arena_alloc(arena, f.n * sizeof *out->b + 1),
                                .metrics = ts_arena_alloc(arena, f.n * sizeof *out->metrics + 1),
                                .n = f.n};
    for (size_t i = 0; i < f.n; i++) {
        out->b[i] = f.found[i].b;
        out->metrics[i] = f.found[i].metric;
    }
    ts_free(f.found);
}

int qry_plan_buckets(const struct qry_plan *visible, int64_t from_ms, int64_t to_ms,
                     struct qry_budget *budget, struct qry_buckets *out, struct ts_error *err)
{
    struct qry_view *view = visible->spec->view;
    struct ts_slice metric = qry_view_name(view, STO_UID_METRIC, visible->metric);
    struct qry_view_buckets ask = {.metric = metric,
                                   .series = visible->series,
                                   .n_series = visible->n,
                                   .from_ms = from_ms,
                                   .to_ms = to_ms,
                                   .useful_from_ms = qry_select_first(visible->spec, visible->sub)};
    TS_TRY(qry_view_add_buckets(view, &ask, budget, err));
    qry_buckets_find(view, metric, visible->arena, out);
    return 0;
}

/* --- answers --- */

int qry_histogram_check(const struct qry_sub *sub, struct ts_error *err)
{
    if (!sub->none && strcmp(sub->agg->name, "sum") != 0)
        return ts_error_set(err, TS_EINVAL,
                            "Only NONE or SUM aggregation function supported for histogram query");
    if (sub->downsample.on && strcmp(sub->downsample.fn->name, "sum") != 0)
        return ts_error_set(err, TS_EINVAL,
                            "Only SUM downsampling aggregation supported for histogram query");
    if (sub->rate.on)
        return ts_error_set(err, TS_EINVAL, "Rate is not supported for histogram query");
    return 0;
}

double qry_histogram_percentile(const struct sto_bucket *b, const double *counts, size_t n, double p)
{
    double total = 0, sum = 0;
    if (p < 1 || p > 100)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (b[i].kind == STO_BUCKET_RANGE)
            total += counts[i];
    for (size_t i = 0; i < n && total > 0; i++) {
        if (b[i].kind != STO_BUCKET_RANGE)
            continue;
        sum += counts[i];
        if (sum * 100 >= p * total) {
            float middle = (b[i].lower + b[i].upper) / 2;
            return (double)middle;
        }
    }
    return (double)NAN;
}

/* --- counts of groups --- */
/* Counts of a group: a row for each time. */
struct table {
    int64_t *ts;    /* [cap] ascending, each once */
    double *counts; /* [n * n_buckets] 0 where a bucket has no point */
    uint64_t *v;    /* [n] values of one output */
    size_t n, cap;
    bool seconds; /* histograms of one second are added */
};

static int cmp_ts(const void *a, const void *b, void *arg)
{
    (void)arg;
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int64_t table_time(const struct table *t, int64_t ts_ms)
{
    return t->seconds ? ts_floor_div(ts_ms, 1000) * 1000 : ts_ms;
}

/* The table is released also after an error. */
static int table_make(const struct qry_result *const *sums, size_t n_buckets, struct table *t,
                      struct qry_budget *budget, struct ts_error *err)
{
    struct ts_budget *memory = budget->memory;
    size_t all = 0;
    for (size_t i = 0; i < n_buckets; i++)
        all += sums[i] ? sums[i]->n : 0;
    t->ts = ts_budget_alloc(memory, all * sizeof *t->ts, err);
    if (!t->ts)
        return qry_memory_code(err);
    t->cap = all;
    for (size_t i = 0, n = 0; i < n_buckets; i++)
        for (size_t k = 0; sums[i] && k < sums[i]->n; k++)
            t->ts[n++] = table_time(t, sums[i]->ts[k]);
    TS_TRY(qry_sort(t->ts, all, sizeof *t->ts, cmp_ts, NULL, budget, err));
    for (size_t i = 0; i < all; i++)
        if (t->n == 0 || t->ts[t->n - 1] != t->ts[i])
            t->ts[t->n++] = t->ts[i];
    t->v = ts_budget_alloc(memory, t->n * sizeof *t->v, err);
    t->counts = t->v ? ts_budget_calloc(memory, t->n * n_buckets, sizeof *t->counts, err) : NULL;
    if (!t->counts)
        return qry_memory_code(err);
    for (size_t i = 0; i < n_buckets; i++) {
        TS_TRY(qry_budget_look(budget, err));
        for (size_t k = 0, row = 0; sums[i] && k < sums[i]->n; k++) {
            const struct qry_result *r = sums[i];
            while (t->ts[row] < table_time(t, r->ts[k]))
                row++;
            t->counts[row * n_buckets + i] += qry_result_double(r, k);
        }
    }
    return 0;
}

static void table_release(struct table *t, size_t n_buckets, struct ts_budget *memory)
{
    ts_budget_free(memory, t->ts, t->cap * sizeof *t->ts);
    ts_budget_free(memory, t->counts, t->counts ? t->n * n_buckets * sizeof *t->counts : 0);
    ts_budget_free(memory, t->v, t->v ? t->n * sizeof *t->v : 0);
}

static int emit_percentiles(const struct qry_sub *sub, const struct qry_buckets *buckets,
                            const struct table *t, struct qry_series *out, struct ts_slice metric,
                            struct qry_budget *budget, qry_series_fn emit, void *arg, struct ts_error *err)
{
    struct ts_buf name;
    int rc = 0;
    size_t step = 0;
    ts_buf_init(&name, 0);
    for (size_t i = 0; i < sub->n_percentiles && rc >= 0; i++) {
        ts_buf_clear(&name);
        ts_buf_slice(&name, metric);
        ts_buf_str(&name, "_pct_");
        sto_float_print((float)sub->percentiles[i], &name);
        for (size_t row = 0; row < t->n && rc >= 0; row++) {
            double d = qry_histogram_percentile(buckets->b, t->counts + row * buckets->n, buckets->n,
                                                sub->percentiles[i]);
            t->v[row] = ts_double_bits(d);
            rc = qry_budget_step(budget, &step, err);
        }
        out->metric = ts_buf_get(&name);
        out->all_int = false;
        rc = rc < 0 ? rc : emit(arg, out, err);
    }
    ts_buf_release(&name);
    return rc;
}

static int emit_buckets(const struct qry_buckets *buckets, const struct table *t, struct qry_series *out,
                        struct ts_slice metric, struct qry_budget *budget, qry_series_fn emit, void *arg,
                        struct ts_error *err)
{
    struct ts_buf name;
    int rc = 0;
    ts_buf_init(&name, 0);
    for (size_t i = 0; i < buckets->n && rc >= 0; i++) {
        const struct sto_bucket *b = &buckets->b[i];
        ts_buf_clear(&name);
        ts_buf_slice(&name, metric);
        ts_buf_char(&name, '_');
        if (b->kind == STO_BUCKET_RANGE) {
            sto_float_print(b->lower, &name);
            ts_buf_char(&name, '_');
            sto_float_print(b->upper, &name);
        } else {
            ts_buf_str(&name, b->kind == STO_BUCKET_UNDER ? "UNDERFLOW" : "OVERFLOW");
        }
        for (size_t row = 0; row < t->n; row++) {
            double c = t->counts[row * buckets->n + i];
            t->v[row] = c == c ? (uint64_t)(int64_t)c : 0;
        }
        out->metric = ts_buf_get(&name);
        out->all_int = true;
        rc = qry_budget_look(budget, err);
        rc = rc < 0 ? rc : emit(arg, out, err);
    }
    ts_buf_release(&name);
    return rc;
}

static int emit_group(const struct qry_histogram *h, const struct qry_result *const *sums,
                      const struct qry_series *base, qry_series_fn emit, void *arg, struct ts_error *err)
{
    const struct qry_spec *spec = h->visible.spec;
    struct table t = {.seconds = !spec->ms && !spec->compat};
    struct qry_series out = *base;
    int rc = table_make(sums, h->buckets.n, &t, h->budget, err);
    out.n = t.n;
    out.ts_ms = t.ts;
    out.v = t.v;
    if (rc == 0)
        rc = emit_percentiles(h->visible.sub, &h->buckets, &t, &out, base->metric, h->budget, emit, arg, err);
    if (rc >= 0 && h->visible.sub->histogram_buckets)
        rc = emit_buckets(&h->buckets, &t, &out, base->metric, h->budget, emit, arg, err);
    table_release(&t, h->buckets.n, h->budget->memory);
    return rc;
}

/* --- reading --- */

/* The sub query for one bucket: counts are summed, and a series without a point counts as 0. */
static const struct qry_sub *bucket_sub(const struct qry_sub *sub, bool compat, struct ts_arena *arena)
{
    struct qry_sub *one = ts_arena_alloc(arena, sizeof *one);
    *one = *sub;
    if (!sub->none)
        one->agg = qry_agg_find(TS_SLICE_LIT("zimsum"), compat);
    return one;
}

static int read_buckets(struct qry_histogram *h, struct sto_snap *snap, struct ts_pool *pool,
                        struct qry_budget *budget, struct ts_error *err)
{
    struct ts_arena *arena = h->visible.arena;
    const struct qry_sub *sub = bucket_sub(h->visible.sub, h->visible.spec->compat, arena);
    h->runs = qry_arena_zero(arena, h->buckets.n + 1, sizeof *h->runs, err);
    if (!h->runs)
        return qry_memory_code(err);
    for (size_t b = 0; b < h->buckets.n; b++) {
        struct qry_plan *p = &h->runs[b].plan;
        *p = h->visible;
        p->sub = sub;
        TS_TRY(qry_plan_rollup(p, h->buckets.metrics[b], budget, err));
        TS_TRY(qry_budget_look(budget, err));
        TS_TRY(qry_plan_range(snap, p, err));
        TS_TRY(qry_plan_afford(p, snap, budget, err));
        TS_TRY(qry_sub_run_init(&h->runs[b], snap, budget, pool, err));
    }
    TS_TRY(qry_sub_runs_read(h->runs, h->buckets.n, budget, pool, err));
    for (size_t b = 0; b < h->buckets.n; b++)
        TS_TRY(qry_sub_run_groups(&h->runs[b], err));
    return 0;
}

int qry_histogram_read(struct sto_snap *snap, struct ts_pool *pool, const struct qry_spec *spec, size_t s,
                       struct qry_budget *budget, struct ts_arena *arena, struct qry_histogram *out,
                       struct ts_error *err)
{
    int64_t from_ms, to_ms;
    *out = (struct qry_histogram){.budget = budget};
    TS_TRY(qry_histogram_check(&spec->subs[s], err));
    TS_TRY(qry_plan_select(spec, s, NULL, 0, budget, arena, &out->visible, err));
    qry_select_range(spec, &spec->subs[s], &from_ms, &to_ms);
    TS_TRY(qry_plan_buckets(&out->visible, from_ms, to_ms, budget, &out->buckets, err));
    TS_TRY(read_buckets(out, snap, pool, budget, err));
    for (size_t b = 0; b < out->buckets.n; b++) {
        const struct qry_plan *p = &out->runs[b].plan;
        for (size_t i = 0; i < p->n; i++)
            if (p->has_data[i])
                out->visible.has_data[p->shown_pos[i]] = 1;
    }
    return 0;
}

int qry_histogram_answer(const struct qry_histogram *h, qry_series_fn emit, void *arg, struct ts_error *err)
{
    const struct qry_plan *p = &h->visible;
    const struct qry_view *view = p->spec->view;
    const struct qry_result **sums = qry_arena_zero(p->arena, h->buckets.n, sizeof(*sums), err);
    /* first group of each bucket that is not emitted yet */
    size_t *next = sums ? qry_arena_zero(p->arena, h->buckets.n, sizeof *next, err) : NULL;
    int rc = next ? 0 : qry_memory_code(err);
    for (size_t g = 0; g < p->n_groups && rc >= 0; g++) {
        struct ts_arena arena;
        struct qry_labels l;
        for (size_t b = 0; b < h->buckets.n; b++) {
            const struct qry_sub_run *r = &h->runs[b];
            bool here = next[b] < r->plan.n_groups && r->plan.shown_group[next[b]] == g;
            sums[b] = here ? &r->results[next[b]++] : NULL;
        }
        ts_arena_init(&arena, 0);
        arena.budget = h->budget->memory;
        rc = qry_labels_make(view, p, &p->groups[g], p->spec->show_tsuids, h->budget, &arena, &l, err);
        struct qry_series base = qry_labels_series(view, p, &p->groups[g], &l);
        if (rc == 0 && l.n_series)
            rc = emit_group(h, sums, &base, emit, arg, err);
        ts_arena_release(&arena);
    }
    return rc < 0 ? rc : 0;
}

void qry_histogram_close(struct qry_histogram *h)
{
    for (size_t b = 0; h->runs && b < h->buckets.n; b++)
        if (h->runs[b].pieces) /* the run was begun */
            qry_sub_run_release(&h->runs[b]);
    h->runs = NULL;
}
