/*
 * query.c - the entry point: runs all sub queries of a spec over one snapshot, and emits results in order.
 */
#include "query/query.h"

#include "query/execution/histogram.h"
#include "query/execution/labels.h"
#include "query/execution/rollup.h"
#include "query/execution/top.h"

#include <math.h>
#include <string.h>

/* A run of all sub queries. */
struct run {
    struct qry_sub_run
        *subs;         /* [2 * spec->n_subs]: those of the spec, and divisors of averages over rollups */
    size_t n_subs;     /* sub runs begun */
    size_t *main;      /* [spec->n_subs] index in subs of each sub query */
    size_t *divisor;   /* [spec->n_subs] index in subs of its divisor; 0 = none */
    unsigned *attempt; /* [spec->n_subs] which attempt is read (query/execution/rollup.h) */
    struct qry_histogram *histograms; /* [spec->n_subs] queries of histograms, which have no sub run */
};

/* --- seconds: several points of one second become one --- */
static bool same_second(const struct qry_result *r)
{
    for (size_t k = 1; k < r->n; k++)
        if (ts_floor_div(r->ts[k], 1000) == ts_floor_div(r->ts[k - 1], 1000))
            return true;
    return false;
}

/* Aggregate points i..e into one; false: all values are NaN. */
static int fold_second(const struct qry_agg *agg, const struct qry_result *r, size_t i, size_t e, void *state,
                       struct qry_budget *budget, struct qry_value *out, struct ts_error *err)
{
    const struct qry_acc_ops *ops = agg->bucket_acc;
    bool any = false;
    if (ops->reserve)
        TS_TRY(ops->reserve(state, e - i, NULL, budget->memory, err));
    for (size_t k = i; k < e; k++) {
        double d = ts_double_of(r->v[k]);
        if (qry_result_int(r, k))
            ops->add_i64(state, (const int64_t *)&r->v[k], 1, r->ts[k], r->ts[k]);
        else if (d == d)
            ops->add_f64(state, &d, 1, r->ts[k], r->ts[k]);
        else
            continue;
        any = true;
    }
    *out = (struct qry_value){.d = (double)NAN};
    if (any)
        ops->done(state, agg, out);
    if (ops->reset)
        ops->reset(state);
    memset(state, 0, ops->state_bytes);
    return 0;
}

static void put_value(struct qry_result *r, size_t at, const struct qry_value *v)
{
    bool is_int = v->is_int && v->i >= INT64_MIN && v->i <= INT64_MAX;
    r->v[at] = is_int ? (uint64_t)(int64_t)v->i : ts_double_bits(qry_value_double(v));
    r->is_int[at] = is_int;
}

/* Points of one second are joined by the aggregator (none: the last one stays). */
static int join_seconds(const struct qry_agg *agg, struct qry_result *r, struct qry_budget *budget,
                        struct ts_error *err)
{
    int rc = 0;
    size_t step = 0;
    void *state = agg->bucket_acc ? ts_xaligned(agg->bucket_acc->state_bytes) : NULL;
    if (state)
        memset(state, 0, agg->bucket_acc->state_bytes);
    if (!r->is_int) {
        /* the kind of the values may change, as in an average of integers */
        rc = qry_result_flags(r, err);
        if (rc == 0)
            memset(r->is_int, r->all_int, r->n);
    }
    size_t n = 0;
    for (size_t i = 0, e; i < r->n && rc == 0; i = e) {
        int64_t second = ts_floor_div(r->ts[i], 1000);
        for (e = i + 1; e < r->n && ts_floor_div(r->ts[e], 1000) == second; e++)
            continue;
        if (e == i + 1 || !state) {
            r->v[n] = r->v[e - 1];
            r->is_int[n] = r->is_int[e - 1];
        } else {
            struct qry_value v = {0};
            rc = fold_second(agg, r, i, e, state, budget, &v, err);
            put_value(r, n, &v);
        }
        r->ts[n++] = second * 1000;
        if (rc == 0)
            rc = qry_budget_step(budget, &step, err);
    }
    if (rc == 0) {
        r->n = n;
        r->all_int = !memchr(r->is_int, 0, n);
    }
    ts_free(state);
    return rc;
}

/* --- what was done --- */
static int64_t lap(int64_t *since_ns)
{
    int64_t now = ts_clock_mono_ns(), took = now - *since_ns;
    *since_ns = now;
    return took;
}

/* Rows and points of an average over rollups are those of its sums and counts. Attempts without data are
 * counted too. */
static void count_read(const struct run *run, const struct qry_spec *spec, struct qry_stats *stats)
{
    for (size_t s = 0; s < spec->n_subs && s < stats->n_subs && run->main[s] < run->n_subs; s++) {
        if (s && !run->main[s])
            break; /* it was not planned */
        size_t runs[2] = {run->main[s], run->divisor[s]};
        stats->subs[s].n_series = run->subs[runs[0]].plan.n;
        stats->subs[s].n_groups = run->subs[runs[0]].plan.n_groups;
        for (int i = 0; i < 2 && (i == 0 || runs[i]); i++) {
            struct qry_sub_run *sr = &run->subs[runs[i]];
            stats->subs[s].n_rows += atomic_load_explicit(&sr->n_rows, memory_order_relaxed);
            stats->subs[s].n_points += atomic_load_explicit(&sr->n_points, memory_order_relaxed);
        }
    }
}

static void count_out(const struct qry_series *out, struct qry_sub_stats *stats)
{
    stats->n_out += out->n;
    for (size_t k = 0; !out->all_int && k < out->n; k++) {
        double d = ts_double_of(out->v[k]);
        stats->n_nan += !(out->is_int && out->is_int[k]) && d != d;
    }
}

/* --- output --- */
static int settle_group(const struct qry_sub_run *sr, struct qry_result *r, struct ts_error *err)
{
    const struct qry_plan *p = &sr->plan;
    if (p->spec->ms || p->spec->compat || !same_second(r))
        return 0;
    return join_seconds(p->sub->agg, r, sr->budget, err);
}

static int emit_group(struct qry_sub_run *sr, size_t g, struct qry_stats *stats, qry_series_fn emit,
                      void *arg, struct ts_error *err)
{
    struct qry_plan *p = &sr->plan;
    const struct qry_spec *spec = p->spec;
    struct qry_result *r = &sr->results[g];
    struct ts_arena arena;
    struct qry_labels l;
    ts_arena_init(&arena, 0);
    arena.budget = sr->budget->memory;
    int rc = qry_budget_look(sr->budget, err);
    if (rc == 0)
        rc = qry_labels_make(spec->view, p, &p->groups[g], spec->show_tsuids, sr->budget, &arena, &l, err);
    if (rc == 0 && l.n_series)
        rc = settle_group(sr, r, err);
    if (rc == 0 && l.n_series) {
        struct qry_series out = qry_labels_series(spec->view, p, &p->groups[g], &l);
        out.n = r->n;
        out.ts_ms = r->ts;
        out.v = r->v;
        out.is_int = r->is_int;
        out.all_int = r->all_int;
        if (stats && p->index < stats->n_subs)
            count_out(&out, &stats->subs[p->index]);
        rc = emit(arg, &out, err);
    }
    ts_arena_release(&arena);
    qry_result_release(r);
    return rc;
}

/* Emit only the groups that rank best. */
static int emit_top(struct qry_sub_run *sr, struct qry_stats *stats, qry_series_fn emit, void *arg,
                    struct ts_error *err)
{
    struct ts_arena arena;
    size_t *order;
    int rc = 0;
    ts_arena_init(&arena, 0);
    size_t n = 0;
    arena.budget = sr->budget->memory;
    for (size_t g = 0; g < sr->plan.n_groups && rc == 0; g++)
        rc = settle_group(sr, &sr->results[g], err);
    if (rc == 0)
        rc = qry_top_order(sr->plan.spec->view, &sr->plan.spec->top, sr, &arena, &order, &n, err);
    for (size_t i = 0; i < n && rc >= 0; i++)
        rc = emit_group(sr, order[i], stats, emit, arg, err);
    ts_arena_release(&arena);
    return rc;
}

static int group_all(const struct qry_spec *spec, struct run *run, struct ts_error *err)
{
    for (size_t s = 0; s < spec->n_subs; s++) {
        if (qry_sub_is_histogram(&spec->subs[s]))
            continue;
        if (run->divisor[s])
            qry_rollup_divide(&run->subs[run->main[s]], &run->subs[run->divisor[s]]);
        TS_TRY(qry_sub_run_groups(&run->subs[run->main[s]], err));
    }
    return 0;
}

/* Begin the next sub run, whose series are already selected. */
static int begin_run(struct run *run, struct sto_snap *snap, struct ts_pool *pool, struct qry_budget *budget,
                     struct ts_error *err)
{
    struct qry_sub_run *sr = &run->subs[run->n_subs];
    TS_TRY(qry_plan_range(snap, &sr->plan, err));
    TS_TRY(qry_plan_afford(&sr->plan, snap, budget, err));
    TS_TRY(qry_sub_run_init(sr, snap, budget, pool, err));
    run->n_subs++;
    return 0;
}

static int plan_all(struct sto_snap *snap, const struct qry_spec *spec, struct ts_pool *pool,
                    struct qry_budget *budget, struct ts_arena *arena, struct run *run, struct ts_error *err)
{
    for (size_t s = 0; s < spec->n_subs; s++) {
        struct qry_rollup_use use;
        struct qry_plan visible;
        if (qry_sub_is_histogram(&spec->subs[s])) {
            if (run->histograms[s].runs)
                continue; /* read already */
            TS_TRY(qry_histogram_read(snap, pool, spec, s, budget, arena, &run->histograms[s], err));
            continue;
        }
        TS_TRY(qry_rollup_choose(spec, &spec->subs[s], run->attempt[s], &use, err));
        TS_TRY(qry_plan_select(spec, s, NULL, 0, budget, arena, &visible, err));
        struct qry_plan *p = &run->subs[run->n_subs].plan;
        *p = visible;
        if (use.internal)
            TS_TRY(qry_rollup_plan(&use, use.spec, p, budget, err));
        run->main[s] = run->n_subs;
        TS_TRY(begin_run(run, snap, pool, budget, err));
        if (!use.divisor[0])
            continue;
        run->divisor[s] = run->n_subs;
        p = &run->subs[run->n_subs].plan;
        *p = visible;
        TS_TRY(qry_rollup_plan(&use, use.divisor, p, budget, err));
        TS_TRY(begin_run(run, snap, pool, budget, err));
    }
    return 0;
}

/* The rollups have no data: try the next attempt. True if there is one. */
static bool next_attempt(const struct qry_spec *spec, struct run *run)
{
    bool again = false;
    for (size_t s = 0; spec->rollups && s < spec->n_subs; s++) {
        const struct qry_plan *p = &run->subs[run->main[s]].plan;
        struct qry_rollup_use use;
        if (qry_sub_is_histogram(&spec->subs[s]) || !p->shown || (p->n && memchr(p->has_data, 1, p->n)) ||
            qry_rollup_choose(spec, &spec->subs[s], run->attempt[s] + 1, &use, NULL) <= 0)
            continue;
        run->attempt[s]++;
        again = true;
    }
    return again;
}

static void release_runs(const struct qry_spec *spec, struct run *run)
{
    for (size_t i = 0; i < run->n_subs; i++)
        qry_sub_run_release(&run->subs[i]);
    memset(run->subs, 0, 2 * spec->n_subs * sizeof *run->subs);
    memset(run->divisor, 0, spec->n_subs * sizeof *run->divisor);
    run->n_subs = 0;
}

/* Check the number of sub queries before memory is allocated for each. */
static int check_subs(const struct qry_spec *spec, struct qry_limit *limit, struct ts_error *err)
{
    if (!limit || !limit->max_subs || spec->n_subs <= limit->max_subs)
        return 0;
    qry_limit_refuse(limit, QRY_REFUSAL_SUBS);
    return ts_error_set(err, TS_ELIMIT,
                        "The request has %zu sub queries, more than our limit of %zu: send several requests. "
                        "(query_max_subqueries)",
                        spec->n_subs, limit->max_subs);
}

static int run_spec(struct sto_store *st, struct ts_pool *pool, const struct qry_spec *spec,
                    struct qry_limit *limit, qry_series_fn emit, void *arg, struct ts_error *err)
{
    struct qry_budget budget;
    struct ts_arena arena;
    struct run run = {0};
    qry_budget_init(&budget, limit);
    ts_arena_init(&arena, 0);
    arena.budget = budget.memory;
    run.subs = ts_arena_zalloc(&arena, (2 * spec->n_subs + 1) * sizeof *run.subs);
    run.main = ts_arena_zalloc(&arena, (spec->n_subs + 1) * sizeof *run.main);
    run.divisor = ts_arena_zalloc(&arena, (spec->n_subs + 1) * sizeof *run.divisor);
    run.histograms = ts_arena_zalloc(&arena, (spec->n_subs + 1) * sizeof *run.histograms);
    run.attempt = ts_arena_zalloc(&arena, (spec->n_subs + 1) * sizeof *run.attempt);
    struct qry_stats none = {.n_subs = 0}, *stats = limit && limit->stats ? limit->stats : &none;
    struct sto_snap *snap = sto_snap_take(st);
    int64_t since_ns = ts_clock_mono_ns();
    int rc;
    do {
        release_runs(spec, &run);
        rc = plan_all(snap, spec, pool, &budget, &arena, &run, err);
        stats->plan_ns += lap(&since_ns);
        if (rc == 0)
            rc = qry_sub_runs_read(run.subs, run.n_subs, &budget, pool, err);
        stats->read_ns += lap(&since_ns);
        count_read(&run, spec, stats);
    } while (rc == 0 && next_attempt(spec, &run));
    sto_snap_release(snap);
    if (rc == 0)
        rc = group_all(spec, &run, err);
    stats->group_ns = lap(&since_ns);
    for (size_t s = 0; s < spec->n_subs && rc >= 0; s++) {
        if (qry_sub_is_histogram(&spec->subs[s])) {
            rc = qry_histogram_answer(&run.histograms[s], emit, arg, err);
            continue;
        }
        struct qry_sub_run *sr = &run.subs[run.main[s]];
        rc = spec->top.n ? emit_top(sr, stats, emit, arg, err) : 0;
        for (size_t g = 0; g < sr->plan.n_groups && rc >= 0 && !spec->top.n; g++) {
            rc = emit_group(sr, g, stats, emit, arg, err);
            stats->emit_ns = ts_clock_mono_ns() - since_ns;
        }
    }
    release_runs(spec, &run);
    for (size_t s = 0; s < spec->n_subs; s++)
        qry_histogram_close(&run.histograms[s]);
    ts_arena_release(&arena);
    return rc < 0 ? rc : 0;
}

int qry_run(struct sto_store *st, struct ts_pool *pool, const struct qry_spec *spec, struct qry_limit *limit,
            qry_series_fn emit, void *arg, struct ts_error *err)
{
    struct qry_view view;
    struct qry_spec copy;
    TS_TRY(check_subs(spec, limit, err));
    spec = qry_view_use(&view, st, limit, spec, &copy);
    int rc = run_spec(st, pool, spec, limit, emit, arg, err);
    qry_view_unuse(&view, spec);
    return rc;
}
