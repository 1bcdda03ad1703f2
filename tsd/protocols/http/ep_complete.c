/*
 * ep_complete.c - /api/tsd/names: names for a person who types, those that begin with a text before those that contain it.
 *
 *   no metric, filter or time   the names of one kind, from the catalog alone
 *   a metric                    tag keys, or values of one key, of its series that match the filters and have points then
 *   kind=metric and filters     metrics with such a series; at most COMPLETE_METRICS are looked at
 *
 * With a remote store, its names and series of a metric belong to the answer; which of its metrics have series that match a filter
 * is not asked.
 *
 * Threads    a job
 * Not here   /api/suggest (ep_names.c)
 */
#include "tsd/protocols/http/ep.h"

#include "base/text.h"
#include "base/time.h"
#include "query/execution/select.h"
#include "query/view.h"
#include "tsd/protocols/http/job.h"

#include <stdlib.h>

#define COMPLETE_MAX     50     /* names of an answer */
#define COMPLETE_SERIES  200000 /* series of a metric that are looked at; with more, the answer says more */
#define COMPLETE_METRICS 1000   /* metrics that are looked at for a filter or a time */
#define COMPLETE_FIRST   200    /* as many first: usually they are enough, and fewer are found sooner */
#define COMPLETE_FILTERS 100    /* filters of a request */

/* A request. */
struct complete {
    struct tsd_job *job;
    struct sto_store *store;
    struct sto_catalog *cat;
    struct qry_view view;
    struct qry_budget budget; /* time and cancellation */
    enum sto_uid_kind kind;
    struct ts_slice q, metric, tagk;
    struct qry_filter filters[COMPLETE_FILTERS];
    size_t n_filters;
    bool timed;             /* start or end was given, and no remote store may know more */
    int64_t from_ms, to_ms; /* then */
    size_t max;             /* names of the answer */
    struct ts_slice names[COMPLETE_MAX + 1], inside[COMPLETE_MAX + 1]; /* beginning with q, containing it */
    size_t n_names, n_inside;
    bool more;
};

static int complete_number(const struct tsd_req *req, const char *key, size_t *out, struct ts_error *err)
{
    struct ts_slice text;
    int64_t n;
    if (!tsd_req_param(req, key, &text))
        return 0;
    if (ts_num_parse_int(text, &n, NULL) < 0 || n < 1 || n > COMPLETE_MAX)
        return ts_error_set(err, TS_EINVAL, "%s=%.*s is not a number from 1 to %d", key, TS_SHOWN(text, 40),
                            COMPLETE_MAX);
    *out = (size_t)n;
    return 0;
}

/* The parameters start and end. */
static int complete_times(struct complete *c, const struct tsd_req *req, struct ts_error *err)
{
    struct ts_slice start, end;
    int64_t now_ms = ts_clock_ms();
    c->from_ms = STO_MIN_TS_MS;
    c->to_ms = STO_MAX_TS_MS;
    bool has_start = tsd_req_param(req, "start", &start) && start.n;
    bool has_end = tsd_req_param(req, "end", &end) && end.n;
    if (has_start)
        TS_TRY(ts_time_parse(start, NULL, now_ms, false, &c->from_ms, NULL, err));
    if (has_end)
        TS_TRY(ts_time_parse_end(end, NULL, now_ms, false, &c->to_ms, err));
    c->timed = (has_start || has_end) && !sto_store_remote(c->store);
    c->from_ms = c->from_ms < STO_MIN_TS_MS ? STO_MIN_TS_MS : c->from_ms;
    c->to_ms = c->to_ms > STO_MAX_TS_MS ? STO_MAX_TS_MS : c->to_ms;
    return c->from_ms <= c->to_ms ? 0
                                  : ts_error_set(err, TS_EINVAL, "start=%.*s is later than end=%.*s",
                                                 TS_SHOWN(start, 40), TS_SHOWN(end, 40));
}

/* Filters as they stand in the request. */
struct wanted {
    struct ts_slice tagk[COMPLETE_FILTERS], expr[COMPLETE_FILTERS];
    bool plain[COMPLETE_FILTERS]; /* a value, to which others of the key may be added */
    size_t n;
};

/* A filter K=EXPR, as it stands in the braces of a query. Values of one key, each in a parameter of its own, are alternatives. */
static int wanted_add(struct wanted *w, struct ts_slice text, struct ts_arena *arena, struct ts_error *err)
{
    const char *eq = text.n ? memchr(text.p, '=', text.n) : NULL;
    if (!eq)
        return ts_error_set(err, TS_EINVAL, "filter=%.*s has no '=': write filter=KEY=VALUE",
                            TS_SHOWN(text, 60));
    struct ts_slice tagk = {text.p, (size_t)(eq - text.p)}, expr = {eq + 1, text.n - tagk.n - 1};
    bool plain = true;
    size_t i = 0;
    for (size_t at = 0; at < expr.n; at++)
        plain = plain && !strchr("*(|)", expr.p[at]);
    while (i < w->n && !(plain && w->plain[i] && ts_slice_eq(w->tagk[i], tagk)))
        i++;
    if (i < w->n) {
        char *both = ts_arena_alloc(arena, w->expr[i].n + 1 + expr.n);
        memcpy(both, w->expr[i].p, w->expr[i].n);
        both[w->expr[i].n] = '|';
        memcpy(both + w->expr[i].n + 1, expr.p, expr.n);
        w->expr[i] = (struct ts_slice){both, w->expr[i].n + 1 + expr.n};
        return 0;
    }
    w->tagk[w->n] = tagk;
    w->expr[w->n] = expr;
    w->plain[w->n++] = plain;
    return 0;
}

/* The parameters filter. */
static int complete_filters(struct complete *c, const struct tsd_req *req, struct ts_error *err)
{
    struct ts_arena *arena = tsd_job_arena(c->job);
    struct wanted *w = ts_arena_zalloc(arena, sizeof(*w));
    size_t n = 0;
    for (size_t i = 0; i < req->n_params; i++) {
        if (!ts_slice_is(req->params[i].name, "filter"))
            continue;
        if (++n > COMPLETE_FILTERS)
            return ts_error_set(err, TS_ELIMIT, "more than %d filters", COMPLETE_FILTERS);
        TS_TRY(wanted_add(w, req->params[i].value, arena, err));
    }
    for (; c->n_filters < w->n; c->n_filters++)
        TS_TRY(qry_filter_parse(w->tagk[c->n_filters], w->expr[c->n_filters], false, false, arena,
                                &c->filters[c->n_filters], err));
    return 0;
}

static int complete_parse(struct complete *c, struct ts_error *err)
{
    const struct tsd_req *req = tsd_job_req(c->job);
    struct ts_slice kind;
    if (!tsd_req_param(req, "kind", &kind))
        kind = TS_SLICE_LIT("metric");
    (void)tsd_req_param(req, "q", &c->q);
    (void)tsd_req_param(req, "metric", &c->metric);
    (void)tsd_req_param(req, "tagk", &c->tagk);
    if (!ts_slice_is(kind, "metric") && !ts_slice_is(kind, "tagk") && !ts_slice_is(kind, "tagv"))
        return ts_error_set(err, TS_EINVAL, "kind=%.*s is none of metric, tagk, tagv", TS_SHOWN(kind, 40));
    c->kind = ts_slice_is(kind, "metric") ? STO_UID_METRIC
              : ts_slice_is(kind, "tagk") ? STO_UID_TAGK
                                          : STO_UID_TAGV;
    TS_TRY(complete_number(req, "max", &c->max, err));
    TS_TRY(complete_times(c, req, err));
    TS_TRY(complete_filters(c, req, err));
    if (c->kind != STO_UID_METRIC && !c->metric.n && (c->n_filters || c->tagk.n))
        return ts_error_set(err, TS_EINVAL, "tagk and filter need the parameter metric if kind=%.*s",
                            TS_SHOWN(kind, 10));
    if (c->kind == STO_UID_TAGV && c->metric.n && !c->tagk.n)
        return ts_error_set(err, TS_EINVAL, "kind=tagv needs the parameter tagk beside metric");
    return 0;
}

/* --- the series of a metric --- */

/* Those that match the filters and have points in the time, as a view sees them. */
static int complete_series(struct complete *c, struct qry_view *view, struct sto_snap *snap, uint32_t metric,
                           struct ts_slice name, roaring_bitmap_t **out, struct ts_error *err)
{
    struct qry_selection what = {.metric = metric,
                                 .metric_name = name,
                                 .filters = c->filters,
                                 .n = c->n_filters,
                                 .from_ms = c->from_ms,
                                 .to_ms = c->to_ms};
    int rc = qry_select_filters(view, &what, &c->budget, tsd_job_arena(c->job), out, err);
    if (rc == TS_ENOTFOUND) { /* a key that no series has */
        *out = roaring_bitmap_create();
        return 0;
    }
    TS_TRY(rc);
    rc = c->timed ? sto_snap_keep_used(snap, c->from_ms, c->to_ms, *out, err) : 0;
    if (rc < 0)
        roaring_bitmap_free(*out);
    return rc;
}

/* Insert a name into a sorted list of at most max + 1. */
static void complete_insert(struct ts_slice *list, size_t *n, size_t max, struct ts_slice name)
{
    size_t at = *n <= max ? *n : max;
    if (*n > max && ts_slice_cmp(name, list[max]) > 0)
        return;
    for (; at > 0 && ts_slice_cmp(name, list[at - 1]) < 0; at--)
        list[at] = list[at - 1];
    list[at] = name;
    *n = *n <= max ? *n + 1 : *n;
}

static void complete_offer(struct complete *c, struct ts_slice name)
{
    if (!name.p || name.n < c->q.n || sto_name_internal(name))
        return;
    if (!c->q.n || !memcmp(name.p, c->q.p, c->q.n))
        complete_insert(c->names, &c->n_names, c->max, name);
    else if (memmem(name.p, name.n, c->q.p, c->q.n))
        complete_insert(c->inside, &c->n_inside, c->max, name);
}

/* Different tag keys of series, or values of one key. */
static void complete_tags(struct complete *c, const roaring_bitmap_t *set)
{
    roaring_bitmap_t *seen = roaring_bitmap_create();
    roaring_uint32_iterator_t it;
    uint32_t tagk = 0;
    size_t n = 0;
    (void)qry_view_known(&c->view, STO_UID_TAGK, c->tagk, &tagk);
    roaring_init_iterator(set, &it);
    for (; it.has_value && n < COMPLETE_SERIES; roaring_advance_uint32_iterator(&it), n++) {
        const struct sto_series *s = qry_view_series(&c->view, it.current_value);
        for (size_t i = 0; s && i < s->n_tags; i++) {
            bool is_key = c->kind == STO_UID_TAGK;
            uint32_t id = is_key ? s->tags[i].k : s->tags[i].v;
            if ((is_key || s->tags[i].k == tagk) && roaring_bitmap_add_checked(seen, id))
                complete_offer(c, qry_view_name(&c->view, c->kind, id));
        }
    }
    c->more = it.has_value;
    roaring_bitmap_free(seen);
}

static int complete_of_metric(struct complete *c, struct sto_snap *snap, struct ts_error *err)
{
    uint32_t metric;
    roaring_bitmap_t *set;
    int rc = qry_view_find(&c->view, STO_UID_METRIC, c->metric, &metric, err);
    if (rc == TS_ENOTFOUND)
        return 0; /* which has no series */
    TS_TRY(rc);
    TS_TRY(complete_series(c, &c->view, snap, metric, c->metric, &set, err));
    complete_tags(c, set);
    roaring_bitmap_free(set);
    return 0;
}

/* --- names of the catalog --- */

/* Candidates in the order of the answer. */
struct candidates {
    uint32_t ids[COMPLETE_METRICS];
    size_t n;
};

static void candidate(void *arg, uint32_t id, struct ts_slice name)
{
    struct candidates *f = arg;
    (void)name;
    if (f->n < COMPLETE_METRICS)
        f->ids[f->n++] = id;
}

static void complete_each(void *arg, uint32_t id, struct ts_slice name)
{
    (void)id;
    complete_offer(arg, name);
}

/* Does a metric here have a series that matches the filters, with points in the time? */
static int complete_exists(struct complete *c, struct sto_snap *snap, uint32_t metric, struct ts_slice name,
                           bool *out, struct ts_error *err)
{
    struct qry_view here = qry_view_of(c->cat);
    roaring_bitmap_t *set;
    TS_TRY(complete_series(c, &here, snap, metric, name, &set, err));
    *out = !roaring_bitmap_is_empty(set);
    roaring_bitmap_free(set);
    return qry_budget_look(&c->budget, err);
}

/* Names that begin with q, then those that contain it, of the first so many; unless all, only metrics that exist. */
static int complete_candidates(struct complete *c, struct sto_snap *snap, struct candidates *f, size_t want,
                               bool all, struct ts_error *err)
{
    if (c->kind == STO_UID_METRIC && sto_name_internal(c->q))
        return 0;
    if (all && qry_view_remote(&c->view))
        TS_TRY(qry_view_suggest(&c->view, c->kind, c->q, want, complete_each, c, err));
    else
        sto_uid_suggest(c->cat, c->kind, c->q, want, candidate, f);
    if (c->n_names + f->n < want && c->q.n)
        sto_uid_containing(c->cat, c->kind, c->q, want - c->n_names - f->n, candidate, f);
    c->more = !all && f->n == want;
    for (size_t i = 0; i < f->n && c->n_names <= c->max; i++) {
        struct ts_slice name = sto_uid_name(c->cat, c->kind, f->ids[i]);
        bool exists = name.p != NULL;
        if (exists && !all)
            TS_TRY(complete_exists(c, snap, f->ids[i], name, &exists, err));
        if (exists)
            c->names[c->n_names++] = name;
    }
    return 0;
}

/* If a filter or a time applies, only metrics with such series. */
static int complete_of_catalog(struct complete *c, struct sto_snap *snap, struct ts_error *err)
{
    bool all = c->kind != STO_UID_METRIC || (!c->n_filters && !c->timed);
    struct candidates *f = ts_arena_zalloc(tsd_job_arena(c->job), sizeof(*f));
    if (all)
        return complete_candidates(c, snap, f, c->max + 1, true, err);
    TS_TRY(complete_candidates(c, snap, f, COMPLETE_FIRST, false, err));
    if (!c->more || c->n_names > c->max)
        return 0;
    f->n = c->n_names = 0;
    return complete_candidates(c, snap, f, COMPLETE_METRICS, false, err);
}

static int complete_write(struct complete *c, struct ts_error *err)
{
    struct ts_buf b;
    struct ts_json j;
    size_t n = c->n_names < c->max ? c->n_names : c->max;
    size_t n_inside = c->n_inside < c->max - n ? c->n_inside : c->max - n;
    ts_buf_init(&b, 0);
    ts_json_init(&j, &b);
    ts_json_obj(&j);
    ts_json_member_arr(&j, "names");
    for (size_t i = 0; i < n; i++)
        ts_json_slice(&j, c->names[i]);
    for (size_t i = 0; i < n_inside; i++)
        ts_json_slice(&j, c->inside[i]);
    ts_json_arr_end(&j);
    ts_json_member_bool(&j, "more", c->more || c->n_names + c->n_inside > n + n_inside);
    ts_json_obj_end(&j);
    int rc = ts_sink_write(tsd_job_sink(c->job), ts_buf_get(&b), err);
    ts_buf_release(&b);
    return rc;
}

int tsd_ep_complete(struct tsd_job *job, struct ts_error *err)
{
    struct complete *c = ts_arena_zalloc(tsd_job_arena(job), sizeof(*c));
    c->job = job;
    c->store = tsd_job_req(job)->d->store;
    c->cat = sto_store_catalog(c->store);
    c->max = COMPLETE_MAX;
    qry_budget_init(&c->budget, tsd_job_limit(job));
    TS_TRY(complete_parse(c, err));
    qry_view_open(&c->view, c->store, tsd_job_limit(job));
    struct sto_snap *snap = sto_snap_take(c->store);
    int rc = c->metric.n && c->kind != STO_UID_METRIC ? complete_of_metric(c, snap, err)
                                                      : complete_of_catalog(c, snap, err);
    sto_snap_release(snap);
    rc = rc < 0 ? rc : complete_write(c, err);
    qry_view_close(&c->view);
    return rc;
}
