/*
 * rollup.c - chooses the rollups that answer a sub query, and converts a plan for visible series to one for
 * their internal series.
 *
 * An interval fits if it divides the downsampling interval; with the calendar of a zone it must divide every
 * bucket, whatever offsets the zone has.
 */
#include "query/execution/rollup.h"
#include "query/execution/select.h"

#include "query/aggregators/agg.h"
#include "query/filters/filter.h"
#include "query/execution/internal_metric.h"
#include "query/execution/rate.h"
#include "query/execution/select.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ZONE_STEP_MS 900000ll /* offsets of zones are multiples of 15 minutes */

/* The length that an interval of rollups must divide. */
static int64_t fit_ms(const struct qry_spec *spec, const struct qry_downsample *ds)
{
    if (!ds->calendar)
        return ds->interval_ms;
    bool utc = !spec->tz || strcmp(ts_tz_name(spec->tz), "UTC") == 0;
    int64_t most = utc ? TS_DAY_MS : ZONE_STEP_MS;
    return ds->interval_ms < most ? ds->interval_ms : most;
}

/* Is there a filter for exact values of the tag of pre-aggregates, other than the one of raw data? */
static bool wants_pre_aggregate(const struct qry_rollups *conf, const struct qry_sub *sub)
{
    for (size_t i = 0; i < sub->n_filters; i++) {
        const struct qry_filter *f = &sub->filters[i];
        if (!ts_slice_is(f->tagk, conf->tag_key) || !f->type->by_values || f->type->negate)
            continue;
        for (size_t k = 0; k < f->n_values; k++)
            if (!ts_slice_is(f->values[k], conf->raw_value))
                return true;
    }
    return false;
}

/* The attempt-th largest interval that fits; NULL if there are fewer. */
static const struct qry_rollup_step *step_of(const struct qry_spec *spec, const struct qry_sub *sub,
                                             unsigned attempt)
{
    const struct qry_rollups *conf = spec->rollups;
    if (!sub->downsample.on || sub->downsample.all || sub->rollup_usage == QRY_ROLLUP_RAW ||
        spec->where.n) /* conditions are on points */
        return NULL;
    int64_t fit = fit_ms(spec, &sub->downsample);
    for (size_t i = conf->n_steps; i-- > 0;)
        if (fit % conf->steps[i].ms == 0 && attempt-- == 0)
            return &conf->steps[i];
    return NULL;
}

int qry_rollup_choose(const struct qry_spec *spec, const struct qry_sub *sub, unsigned attempt,
                      struct qry_rollup_use *out, struct ts_error *err)
{
    *out = (struct qry_rollup_use){.fn = sub->downsample.fn};
    if (!spec->rollups || !spec->rollups->on || spec->by_on || spec->as_of_us)
        return attempt == 0;
    bool pre = sub->pre_aggregate || wants_pre_aggregate(spec->rollups, sub);
    enum qry_rollup_usage usage = sub->rollup_usage;
    if (usage == QRY_ROLLUP_UNSET)
        usage = spec->compat ? QRY_ROLLUP_NOFALLBACK : QRY_ROLLUP_FALLBACK_RAW;
    const struct qry_rollup_step *first = step_of(spec, sub, 0);
    if (first && (attempt == 0 || usage == QRY_ROLLUP_FALLBACK)) {
        const struct qry_rollup_step *step = step_of(spec, sub, attempt);
        if (!step)
            return 0;
        const char *fn = sub->downsample.fn->name;
        if (strcmp(fn, "dev") == 0)
            return ts_error_set(err, TS_EINVAL,
                                "Standard deviation over rolled up data is not supported: use ROLLUP_RAW");
        bool avg = strcmp(fn, "avg") == 0;
        const char *stored = sub->downsample.fn->rollup ? sub->downsample.fn->rollup : fn;
        out->internal = true;
        (void)snprintf(out->spec, sizeof out->spec, "%s-%s%s", step->text, stored, pre ? ":" : "");
        if (avg)
            (void)snprintf(out->divisor, sizeof out->divisor, "%s-count%s", step->text, pre ? ":" : "");
        if (avg || strcmp(fn, "count") == 0)
            out->fn = qry_agg_find(TS_SLICE_LIT("sum"), spec->compat);
        return 1;
    }
    if (attempt > (first ? 1u : 0u) || (first && usage != QRY_ROLLUP_FALLBACK_RAW))
        return 0;
    out->internal = pre;
    if (pre)
        (void)snprintf(out->spec, sizeof out->spec, ":");
    return 1;
}

#define MAX_ATTEMPTS 16 /* intervals of rollups that are looked at */

/* Append the name of an internal metric to a list in the arena. */
static void add_name(struct ts_slice *list, size_t *n, const struct sto_internal *h, struct ts_arena *arena)
{
    struct ts_buf name;
    ts_buf_init(&name, 0);
    sto_internal_name(h, &name);
    list[(*n)++] = (struct ts_slice){ts_arena_strndup(arena, name.p, name.n), name.n};
    ts_buf_release(&name);
}

void qry_rollup_names(const struct qry_rollups *conf, struct ts_slice metric, struct ts_arena *arena,
                      struct ts_slice **out, size_t *out_n)
{
    size_t n_aggs = 0;
    *out_n = 0;
    while (conf->on && conf->aggs && conf->aggs[n_aggs])
        n_aggs++;
    *out = ts_arena_alloc(arena, (2 * conf->n_steps * n_aggs + 1) * sizeof **out);
    for (size_t i = 0; i < 2 * conf->n_steps * n_aggs; i++) {
        char spec[64], name[32];
        size_t len = 0;
        for (const char *p = conf->aggs[i / 2 % n_aggs]; *p && len < sizeof name - 1; p++)
            name[len++] = (char)(*p >= 'A' && *p <= 'Z' ? *p + 32 : *p);
        name[len] = 0;
        (void)snprintf(spec, sizeof spec, "%s-%s%s", conf->steps[i / 2 / n_aggs].text,
                       strcmp(name, "squaresum") ? name : "squareSum", i % 2 ? ":" : "");
        add_name(*out, out_n, &(struct sto_internal){STO_INTERNAL_ROLLUP, metric, ts_slice_str(spec)}, arena);
    }
    if (n_aggs)
        add_name(*out, out_n, &(struct sto_internal){STO_INTERNAL_ROLLUP, metric, TS_SLICE_LIT(":")}, arena);
}

int qry_rollup_metrics(const struct qry_spec *spec, const struct qry_sub *sub, struct ts_arena *arena,
                       const struct ts_slice **out, size_t *out_n, struct ts_error *err)
{
    struct ts_slice *list = ts_arena_alloc(arena, MAX_ATTEMPTS * sizeof *list);
    struct sto_internal h = {STO_INTERNAL_HISTOGRAM, sub->metric, TS_SLICE_LIT("u")};
    *out = list;
    *out_n = 0;
    if (qry_sub_is_histogram(sub)) { /* every histogram has this bucket */
        add_name(list, out_n, &h, arena);
        return 0;
    }
    if ((spec->kinds & QRY_KIND_ROLLUPS) && spec->rollups) { /* all of them are deleted */
        struct ts_slice *all;
        qry_rollup_names(spec->rollups, sub->metric, arena, &all, out_n);
        *out = all;
        return 0;
    }
    h.kind = STO_INTERNAL_ROLLUP;
    for (unsigned attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        struct qry_rollup_use use;
        int rc = qry_rollup_choose(spec, sub, attempt, &use, err);
        if (rc <= 0)
            return rc;
        h.detail = ts_slice_str(use.spec);
        if (use.internal)
            add_name(list, out_n, &h, arena);
    }
    return 0;
}

/* --- plans over internal series --- */
#define FEW_SERIES 4096 /* series that are looked for one by one in the remote store */
/* An internal series and the visible series that it belongs to. */
struct pair {
    const struct sto_series *internal;
    uint32_t pos; /* of the visible series in the plan */
};

static int cmp_pairs(const void *a, const void *b)
{
    uint32_t x = ((const struct pair *)a)->internal->id, y = ((const struct pair *)b)->internal->id;
    return x < y ? -1 : x > y;
}

/* Set the members of groups by their new positions, and remove groups without members. */
static void regroup(struct qry_plan *p, const struct pair *pairs)
{
    uint32_t *members = ts_arena_alloc(p->arena, p->n * sizeof *members + 1);
    uint32_t *group_of = ts_arena_alloc(p->arena, p->n * sizeof *group_of + 1);
    uint32_t *count = ts_arena_zalloc(p->arena, (p->n_groups + 1) * sizeof *count);
    uint32_t *place = ts_arena_alloc(p->arena, (p->n_groups + 1) * sizeof *place);
    for (size_t i = 0; i < p->n; i++)
        count[p->group_of[pairs[i].pos]]++;
    struct qry_group *groups = ts_arena_alloc(p->arena, (p->n_groups + 1) * sizeof *groups);
    uint32_t *shown_group = ts_arena_alloc(p->arena, p->n_groups * sizeof *shown_group + 1);
    size_t n_groups = 0;
    for (size_t g = 0; g < p->n_groups; g++) {
        place[g] = (uint32_t)n_groups;
        if (!count[g])
            continue;
        shown_group[n_groups] = (uint32_t)g;
        groups[n_groups++] = (struct qry_group){p->groups[g].key, 0, members};
        members += count[g];
    }
    for (size_t i = 0; i < p->n; i++) {
        struct qry_group *g = &groups[place[p->group_of[pairs[i].pos]]];
        ((uint32_t *)(uintptr_t)g->members)[g->n++] = (uint32_t)i; /* owned by this function, being filled */
        group_of[i] = (uint32_t)(g - groups);
    }
    p->groups = groups;
    p->n_groups = n_groups;
    p->group_of = group_of;
    p->shown_group = shown_group;
}

static void rerank(struct qry_plan *p, const struct pair *pairs)
{
    uint32_t *rank = ts_arena_alloc(p->arena, p->n * sizeof *rank + 1);
    for (size_t i = 0; i < p->n; i++)
        rank[i] = qry_plan_rank(p, pairs[i].pos);
    p->rank = rank;
}

/* Find which series of the plan have an internal one in the remote store; of very many the whole metric is read. */
static int find_remote(struct qry_plan *p, struct ts_slice internal_metric, struct qry_budget *budget,
                       struct ts_error *err)
{
    int64_t from_ms, to_ms, useful_from_ms = qry_select_first(p->spec, p->sub);
    qry_select_range(p->spec, p->sub, &from_ms, &to_ms);
    if (p->n <= FEW_SERIES) {
        struct qry_view_buckets few = {internal_metric, p->series, p->n, from_ms, to_ms, useful_from_ms};
        return qry_view_add_rollups(p->spec->view, &few, budget, err);
    }
    struct qry_view_ask ask = {
        .metric = internal_metric, .from_ms = from_ms, .to_ms = to_ms, .useful_from_ms = useful_from_ms};
    roaring_bitmap_t *set = roaring_bitmap_create();
    int rc = qry_view_add(p->spec->view, &ask, budget, set, err);
    roaring_bitmap_free(set);
    return rc;
}

int qry_plan_rollup(struct qry_plan *p, struct ts_slice internal_metric, struct qry_budget *budget,
                    struct ts_error *err)
{
    struct qry_view *view = p->spec->view;
    struct sto_internal name;
    bool is_bucket = sto_internal_parse(internal_metric, &name) && name.kind == STO_INTERNAL_HISTOGRAM;
    if (view->remote && !is_bucket)
        TS_TRY(find_remote(p, internal_metric, budget, err));
    uint32_t metric = 0;
    bool known = qry_view_known(view, STO_UID_METRIC, internal_metric, &metric) == 0;
    struct pair *pairs = ts_arena_alloc(p->arena, p->n * sizeof *pairs + 1);
    size_t n = 0;
    for (size_t i = 0; known && i < p->n; i++) {
        const struct sto_series *s = p->series[i];
        if (qry_view_find_ids(view, metric, s->tags, s->n_tags, &pairs[n].internal) == 0)
            pairs[n++].pos = (uint32_t)i;
    }
    if (n)
        qsort(pairs, n, sizeof *pairs, cmp_pairs);
    p->n = n;
    regroup(p, pairs);
    rerank(p, pairs);
    const struct sto_series **internal = ts_arena_alloc(p->arena, n * sizeof(*internal) + 1);
    const struct sto_series **shown = ts_arena_alloc(p->arena, n * sizeof(*shown) + 1);
    uint32_t *shown_pos = ts_arena_alloc(p->arena, n * sizeof *shown_pos + 1);
    for (size_t i = 0; i < n; i++) {
        shown_pos[i] = pairs[i].pos;
        internal[i] = pairs[i].internal;
        shown[i] = qry_plan_shown(p, pairs[i].pos);
    }
    p->series = internal;
    p->shown = shown;
    p->shown_pos = shown_pos;
    p->metric = metric;
    p->has_data = ts_arena_zalloc(p->arena, n + 1);
    return 0;
}

int qry_rollup_plan(const struct qry_rollup_use *use, const char *spec, struct qry_plan *p,
                    struct qry_budget *budget, struct ts_error *err)
{
    struct ts_buf name;
    struct qry_sub *sub = ts_arena_alloc(p->arena, sizeof *sub);
    struct sto_internal h = {STO_INTERNAL_ROLLUP,
                             qry_view_name(p->spec->view, STO_UID_METRIC, p->shown_metric),
                             ts_slice_str(spec)};
    *sub = *p->sub;
    if (use->fn)
        sub->downsample.fn = use->fn;
    p->sub = sub;
    p->keep_spans = use->divisor[0] != 0;
    ts_buf_init(&name, 0);
    sto_internal_name(&h, &name);
    int rc = qry_plan_rollup(p, ts_buf_get(&name), budget, err);
    ts_buf_release(&name);
    return rc;
}

/* Number of a visible series, and its position. */
struct place {
    uint32_t id, pos;
};

static int cmp_places(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* v / count where both have a point; a bucket filled with 0 stays 0. */
static void divide_span(struct qry_span *s, const struct qry_span *counts)
{
    size_t n = 0, k = 0;
    for (size_t i = 0; counts && i < s->n; i++) {
        while (k < counts->n && counts->ts[k] < s->ts[i])
            k++;
        if (k == counts->n || counts->ts[k] != s->ts[i])
            continue;
        double v = ts_double_of(s->v[i]), c = ts_double_of(counts->v[k]);
        if (c != 0 || v != 0)
            v /= c;
        s->v[n] = ts_double_bits(v);
        s->ts[n++] = s->ts[i];
    }
    s->n = n;
}

void qry_rollup_divide(struct qry_sub_run *sums, const struct qry_sub_run *counts)
{
    const struct qry_plan *p = &sums->plan, *q = &counts->plan;
    struct place *places = ts_xmalloc((q->n + 1) * sizeof *places);
    for (size_t i = 0; i < q->n; i++)
        places[i] = (struct place){q->shown[i]->id, (uint32_t)i};
    if (q->n)
        qsort(places, q->n, sizeof *places, cmp_places);
    for (size_t i = 0; i < p->n; i++) {
        struct place want = {p->shown[i]->id, 0};
        const struct place *at = q->n ? bsearch(&want, places, q->n, sizeof want, cmp_places) : NULL;
        divide_span(&sums->spans[i], at ? &counts->spans[at->pos] : NULL);
        if (p->sub->rate.on)
            qry_rate_span(&p->sub->rate, p->spec->compat, &sums->spans[i]);
        p->has_data[i] = sums->spans[i].n > 0;
    }
    ts_free(places);
}
