/*
 * delete.c - finds the series of a query that have points between start and end, in order to delete these.
 *
 * Not here   deleting the points, which must be done through ports of other threads
 *            (tsd/protocols/http/ep_delete.c)
 * Source     docs/OPENTSDB.md, section 2.5; exact times instead of whole hours, see docs/COMPATIBILITY.md
 */
#include "query/execution/days.h"
#include "query/execution/internal_metric.h"
#include "query/execution/histogram.h"
#include "query/execution/reader.h"
#include "query/execution/rollup.h"

#include "base/mem.h"
#include "base/time.h"
#include "storage/aged.h"
#include "storage/day.h"

#include <string.h>

int qry_delete_need_end(const struct qry_spec *spec, struct ts_error *err)
{
    struct ts_slice start = spec->start_text;
    int n = (int)(start.n < 64 ? start.n : 64);
    int64_t ms;
    bool is_date = false;
    if (spec->compat || spec->end_text.n ||
        ts_time_parse(start, NULL, spec->now_ms, false, &ms, &is_date, NULL) < 0 || !is_date)
        return 0;
    return ts_error_set(
        err, TS_EINVAL,
        "the END of what is to be deleted is missing: \"%.*s %.*s\" deletes only what it names, "
        "\"%.*s now\" deletes everything since its beginning",
        n, start.p, n, start.p, n, start.p);
}

void qry_delete_target_range(const struct qry_spec *spec, int64_t *out_from_ms, int64_t *out_to_ms)
{
    *out_from_ms = spec->start_ms;
    *out_to_ms = spec->end_ms;
    if (!spec->compat)
        return;
    *out_from_ms = sto_hour(spec->start_ms) * TS_HOUR_MS;
    *out_to_ms = (sto_hour(spec->end_ms) + 1ll) * TS_HOUR_MS - 1;
}

/* State of a request. */
struct searching {
    struct sto_snap *snap;       /* of it */
    struct qry_budget *budget;   /* of the request */
    const struct qry_plan *plan; /* series that are read now */
    /* the target that is reported next: range, sub query, kind, and the current series */
    struct qry_delete_target target;
    qry_delete_target_fn each; /* receives the targets */
    void *arg;                 /* for each */
};

/* A delete is logged here, so a series that only the remote store has enters the catalog. */
static int enter(struct searching *s, const struct sto_series **series, struct ts_error *err)
{
    const struct qry_view *view = s->plan->spec->view;
    struct sto_remote_tag tags[QRY_VIEW_MAX_TAGS];
    struct sto_tag_text texts[QRY_VIEW_MAX_TAGS];
    struct sto_remote_series names;
    qry_view_names_of(view, *series, tags, &names);
    for (size_t i = 0; i < names.n_tags; i++)
        texts[i] = (struct sto_tag_text){tags[i].k, tags[i].v};
    return sto_series_resolve(view->cat, sto_series_text(*series), (uint32_t)names.metric.n, texts,
                              names.n_tags, true, series, err);
}

static int begin_series(void *arg, size_t pos, struct ts_error *err)
{
    struct searching *s = arg;
    s->target.series = s->plan->series[pos];
    s->target.n_points = 0;
    return qry_series_foreign(s->target.series) ? enter(s, &s->target.series, err) : 0;
}

static int count_row(void *arg, const struct sto_row *row, struct ts_error *err)
{
    struct searching *s = arg;
    (void)err;
    s->target.n_points += row->sum ? row->sum->n : row->cells->n;
    return 0;
}

static int end_series(void *arg, size_t pos, struct ts_error *err)
{
    struct searching *s = arg;
    (void)pos;
    return s->each(s->arg, &s->target, err);
}

/* The end of a range for summaries, which is not in it: a second that is named as the last one counts as a whole, as in totals. */
static int64_t end_of_summaries(int64_t to_ms)
{
    int64_t end_ms = to_ms % 1000 ? to_ms + 1 : to_ms + 1000;
    return to_ms < STO_MAX_TS_MS - 1000 ? end_ms : STO_MAX_TS_MS;
}

/* Find the targets among the series of a plan; summaries give the number of points of whole hours and days. */
static int find_plan(struct searching *s, struct qry_plan *plan, struct ts_error *err)
{
    size_t n_hours;
    s->plan = plan;
    plan->from_ms = s->target.from_ms;
    plan->to_ms = sto_snap_ages(s->snap) ? end_of_summaries(s->target.to_ms) : s->target.to_ms + 1;
    qry_plan_clip(s->snap, plan);
    TS_TRY(qry_plan_whole_hours(plan, &n_hours, err));
    TS_TRY(qry_plan_days(plan, NULL, NULL, err));
    struct qry_reading rd = qry_plan_reading(plan, s->snap, s->budget);
    rd.counts_only = true; /* the way to get rid of a sum that did not fit */
    rd.begin = begin_series;
    rd.row = count_row;
    rd.end = end_series;
    rd.arg = s;
    return qry_read(&rd, err);
}

/* Find the targets of an internal metric. counts: its points are counted. */
static int find_metric(struct searching *s, const struct qry_plan *visible, struct ts_slice metric,
                       bool counts, struct ts_error *err)
{
    struct qry_plan plan = *visible;
    s->target.counts = counts;
    TS_TRY(qry_plan_rollup(&plan, metric, s->budget, err));
    return find_plan(s, &plan, err);
}

/* Rollups that the remote store may have, beside the n that the catalog has: those of every interval and aggregator that is configured. */
static int find_remote_rollups(struct searching *s, const struct qry_plan *visible,
                               const struct qry_internal_metric *list, size_t n, struct ts_error *err)
{
    const struct qry_spec *spec = visible->spec;
    struct ts_slice *names;
    size_t n_names;
    if (!spec->rollups || !qry_view_remote(spec->view))
        return 0;
    qry_rollup_names(spec->rollups, qry_view_name(spec->view, STO_UID_METRIC, visible->metric),
                     visible->arena, &names, &n_names);
    for (size_t i = 0; i < n_names; i++) {
        size_t k = 0;
        while (k < n && !ts_slice_eq(list[k].name, names[i]))
            k++;
        if (k == n)
            TS_TRY(find_metric(s, visible, names[i], true, err));
    }
    return 0;
}

/* Find the rollups that belong to the series of a plan. */
static int find_rollups(struct searching *s, const struct qry_plan *visible, struct ts_error *err)
{
    const struct qry_view *view = visible->spec->view;
    const struct qry_internal_metric *list;
    size_t n;
    s->target.kind = QRY_KIND_ROLLUPS;
    qry_internal_list(view->cat, qry_view_name(view, STO_UID_METRIC, visible->metric), visible->arena, &list,
                      &n);
    for (size_t i = 0; i < n; i++)
        if (list[i].parts.kind == STO_INTERNAL_ROLLUP)
            TS_TRY(find_metric(s, visible, list[i].name, true, err));
    return find_remote_rollups(s, visible, list, n, err);
}

/* Find the buckets of histograms that belong to the series of a plan. */
static int find_buckets(struct searching *s, const struct qry_plan *visible, struct ts_error *err)
{
    struct qry_buckets buckets;
    s->target.kind = QRY_KIND_HISTOGRAMS;
    TS_TRY(qry_plan_buckets(visible, s->target.from_ms, s->target.to_ms, s->budget, &buckets, err));
    for (size_t i = 0; i < buckets.n; i++)
        TS_TRY(find_metric(s, visible, buckets.metrics[i], buckets.b[i].kind == STO_BUCKET_UNDER, err));
    return 0;
}

static int find_sub(struct searching *s, const struct qry_spec *spec, size_t index, struct ts_error *err)
{
    struct ts_arena arena;
    struct qry_plan plan;
    unsigned kinds = spec->kinds;
    if (!kinds)
        kinds = qry_sub_is_histogram(&spec->subs[index]) ? QRY_KIND_HISTOGRAMS : QRY_KIND_POINTS;
    ts_arena_init(&arena, 0);
    arena.budget = s->budget->memory;
    s->target.sub = index;
    int rc = qry_plan_select(spec, index, NULL, 0, s->budget, &arena, &plan, err);
    if (rc == 0)
        rc = kinds & QRY_KIND_ROLLUPS ? find_rollups(s, &plan, err) : 0;
    if (rc == 0 && (kinds & QRY_KIND_HISTOGRAMS))
        rc = find_buckets(s, &plan, err);
    s->target.kind = QRY_KIND_POINTS;
    s->target.counts = true;
    if (rc == 0 && (kinds & QRY_KIND_POINTS))
        rc = find_plan(s, &plan, err);
    ts_arena_release(&arena);
    return rc;
}

static int select_sub(const struct qry_spec *spec, size_t index, struct qry_budget *budget,
                      roaring_bitmap_t *set, struct ts_error *err)
{
    struct ts_arena arena;
    struct qry_plan plan;
    ts_arena_init(&arena, 0);
    arena.budget = budget->memory;
    int rc = qry_plan_select(spec, index, NULL, 0, budget, &arena, &plan, err);
    for (size_t i = 0; rc == 0 && i < plan.n; i++)
        if (!qry_series_foreign(plan.series[i]))
            roaring_bitmap_add(set, plan.series[i]->id);
    ts_arena_release(&arena);
    return rc;
}

int qry_series_select(struct sto_store *st, const struct qry_spec *spec, struct qry_limit *limit,
                      roaring_bitmap_t *set, struct ts_error *err)
{
    struct qry_budget budget;
    struct qry_view view;
    struct qry_spec copy;
    struct ts_error why;
    int rc = 0;
    spec = qry_view_use(&view, st, limit, spec, &copy);
    qry_budget_init(&budget, limit);
    for (size_t i = 0; i < spec->n_subs && rc == 0; i++)
        rc = select_sub(spec, i, &budget, set, err);
    qry_view_unuse(&view, spec);
    if (rc < 0 && qry_budget_result(&budget, &why) < 0 && err)
        *err = why;
    return rc;
}

/* Where a range that ends at to_ms has to end so that no row of a day is in it that is longer than the range. */
static int cut_days(struct sto_snap *snap, const struct sto_series *days, int64_t *io_to_ms,
                    struct ts_error *err)
{
    struct sto_merge *scan;
    struct sto_row row;
    struct sto_aged day;
    int64_t to_ms = *io_to_ms;
    TS_TRY(sto_snap_aged_scan(snap, &days, 1, to_ms - STO_DAY_MAX_HOURS * TS_HOUR_MS, to_ms - 1, NULL, &scan,
                              err));
    int rc;
    while ((rc = sto_merge_next(scan, &row, err)) == 1) {
        int64_t from_ms = row.key.hour * TS_HOUR_MS;
        if (sto_aged_read(row.cells, &day) && from_ms + day.n_hours * TS_HOUR_MS > to_ms &&
            from_ms < *io_to_ms)
            *io_to_ms = from_ms;
    }
    sto_merge_free(scan);
    return rc;
}

/* What is to be deleted of the summaries of x->series, which x gets in its place: whole hours, and whole days. aged_metric: that of the summaries.
 * False: nothing. */
static int aged_target(struct sto_snap *snap, uint32_t aged_metric, struct qry_delete_target *x,
                       bool *out_any, struct ts_error *err)
{
    struct sto_aged_bounds at;
    bool of_days = sto_snap_aged_level(snap, x->series->metric) == STO_AGED_HOURS;
    sto_snap_aged(snap, x->series, &at);
    int64_t to_ms = ts_floor_div(end_of_summaries(x->to_ms), TS_HOUR_MS) * TS_HOUR_MS;
    x->from_ms =
        x->from_ms > STO_MIN_TS_MS ? -ts_floor_div(-x->from_ms, TS_HOUR_MS) * TS_HOUR_MS : STO_MIN_TS_MS;
    x->counts = false;
    *out_any = false;
    if (x->from_ms >= to_ms || (x->from_ms >= at.points_from_ms && !at.lost))
        return 0;
    x->series = sto_snap_aged_series(snap, aged_metric, x->series);
    if (x->series && of_days)
        TS_TRY(cut_days(snap, x->series, &to_ms, err));
    x->to_ms = to_ms - 1;
    *out_any = x->series && x->from_ms < to_ms;
    return 0;
}

int qry_delete_aged(struct sto_store *st, const struct qry_delete_target *targets, size_t n,
                    qry_delete_target_fn each, void *arg, struct ts_error *err)
{
    struct sto_snap *snap = sto_snap_take(st);
    uint32_t metric = UINT32_MAX, aged_metric = UINT32_MAX; /* of the last series */
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0 && sto_snap_ages(snap); i++) {
        struct qry_delete_target x = targets[i];
        bool any;
        if (x.kind != QRY_KIND_POINTS || qry_series_foreign(x.series))
            continue;
        if (x.series->metric != metric)
            aged_metric = sto_snap_aged_metric(snap, metric = x.series->metric);
        rc = aged_target(snap, aged_metric, &x, &any, err);
        if (rc == 0 && any)
            rc = each(arg, &x, err);
    }
    sto_snap_release(snap);
    return rc;
}

int qry_delete_find(struct sto_store *st, const struct qry_spec *spec, struct qry_limit *limit,
                    qry_delete_target_fn each, void *arg, struct ts_error *err)
{
    struct qry_budget budget;
    struct qry_view view;
    struct qry_spec copy;
    if (spec->as_of_us)
        return ts_error_set(err, TS_EINVAL, "as_of is for reading: only what is there now can be deleted");
    spec = qry_view_use(&view, st, limit, spec, &copy);
    struct searching s = {.snap = sto_snap_take(st), .budget = &budget, .each = each, .arg = arg};
    int rc = 0;
    qry_budget_init(&budget, limit);
    qry_delete_target_range(spec, &s.target.from_ms, &s.target.to_ms);
    for (size_t i = 0; i < spec->n_subs && rc == 0; i++)
        rc = find_sub(&s, spec, i, err);
    sto_snap_release(s.snap);
    qry_view_unuse(&view, spec);
    struct ts_error why;
    if (rc < 0 && qry_budget_result(&budget, &why) < 0 && err)
        *err = why;
    return rc;
}
