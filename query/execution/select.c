/*
 * select.c - finds the series of a sub query: looks up the ids of names and converts filters to conditions
 * for the catalog.
 *
 * Not here   groups and ranges (plan.c)
 */
#include "query/execution/select.h"

#include "base/text.h"
#include "base/mem.h"
#include "base/near.h"
#include "query/query.h"

#include <stdio.h>
#include <string.h>

#define NEAR_MAX_NAMES 2000   /* most names of a kind that are compared with an unknown one */
#define NEAR_MAX_IDS   100000 /* most ids that are visited for this; many may be forgotten */

static int no_such(struct ts_error *err, const char *kind, struct ts_slice name)
{
    return ts_error_set(err, TS_ENOTFOUND, "No such name for '%s': '%.*s'", kind, TS_SHOWN(name, 150));
}

int qry_select_metric(struct qry_view *view, struct ts_slice name, uint32_t *out_id, struct ts_error *err)
{
    int rc = qry_view_find(view, STO_UID_METRIC, name, out_id, err);
    return rc == TS_ENOTFOUND ? no_such(err, "metrics", name) : rc;
}

int qry_select_tagk(struct qry_view *view, struct ts_slice name, uint32_t *out_id, struct ts_error *err)
{
    int rc = qry_view_find(view, STO_UID_TAGK, name, out_id, err);
    return rc == TS_ENOTFOUND ? no_such(err, "tagk", name) : rc;
}

int qry_select_tagv(struct qry_view *view, struct ts_slice name, uint32_t *out_id, struct ts_error *err)
{
    int rc = qry_view_find(view, STO_UID_TAGV, name, out_id, err);
    return rc == TS_ENOTFOUND ? no_such(err, "tagv", name) : rc;
}

static bool near_one(void *arg, struct ts_slice name)
{
    struct ts_near *near = arg;
    if (!sto_name_internal(name))
        ts_near_see(near, name);
    return true;
}

/* Compare names of the remote store too. An error is of no interest: there is one already. */
static void near_remote(const struct qry_view *view, enum sto_uid_kind kind, struct ts_near *near)
{
    struct ts_error err;
    if (!view->remote || ts_fs_is_nowait())
        return;
    struct sto_remote_call call = qry_view_call(view);
    (void)view->remote->ops->suggest(view->remote, (enum sto_remote_kind)kind, (struct ts_slice){"", 0},
                                     NEAR_MAX_NAMES, &call, near_one, near, &err);
}

void qry_select_near(const struct qry_view *view, enum sto_uid_kind kind, struct ts_slice name,
                     const char *const *others, struct ts_error *err)
{
    struct ts_near near;
    uint32_t max = sto_uid_max(view->cat, kind);
    size_t n = err ? strlen(err->text) : 0;
    if (kind == STO_UID_METRIC && err && name.n && memchr(name.p, '=', name.n)) { /* metrics have no '=' */
        (void)snprintf(err->text + n, sizeof(err->text) - n,
                       "; METRIC{tag=value} has lost its braces: in a shell it needs quotes, with curl -g");
        return;
    }
    ts_near_init(&near, name);
    size_t n_seen = 0;
    for (uint32_t id = 1; id <= max && id <= NEAR_MAX_IDS && n_seen < NEAR_MAX_NAMES; id++) {
        struct ts_slice known = sto_uid_name(view->cat, kind, id);
        n_seen += known.n > 0;
        if (known.n && !sto_uid_deleted(known) && !sto_name_internal(known))
            ts_near_see(&near, known);
    }
    near_remote(view, kind, &near);
    for (; others && *others; others++)
        ts_near_see(&near, ts_slice_str(*others));
    ts_near_hint(&near, err);
}

void qry_select_near_filter(const struct qry_view *view, const struct qry_sub *sub, struct ts_error *err)
{
    uint32_t id;
    for (size_t i = 0; i < sub->n_filters; i++)
        if (qry_view_known(view, STO_UID_TAGK, sub->filters[i].tagk, &id) < 0) {
            qry_select_near(view, STO_UID_TAGK, sub->filters[i].tagk, NULL, err);
            return;
        }
}

void qry_select_range(const struct qry_spec *spec, const struct qry_sub *sub, int64_t *out_from_ms,
                      int64_t *out_to_ms)
{
    const struct qry_downsample *ds = &sub->downsample;
    int64_t more = TS_DAY_MS;
    *out_from_ms = STO_MIN_TS_MS;
    *out_to_ms = STO_MAX_TS_MS;
    if (spec->by_on && spec->fill_zero)
        return; /* tag values without points have rows too */
    if (!spec->by_on && !ds->on) {
        /* exactly what is read: a row more costs more than a point */
        qry_select_hours(spec, sub, out_from_ms, out_to_ms);
        *out_to_ms -= 1;
        return;
    }
    if (ds->on && !ds->all && ds->interval_ms < (STO_MAX_TS_MS - more) / 2)
        more += 2 * ds->interval_ms; /* the buckets at both ends are read whole */
    *out_from_ms = spec->start_ms > STO_MIN_TS_MS + more ? spec->start_ms - more : STO_MIN_TS_MS;
    *out_to_ms = spec->end_ms < STO_MAX_TS_MS - more ? spec->end_ms + more : STO_MAX_TS_MS;
}

static int64_t floor_hour(int64_t t)
{
    return ts_floor_div(t, TS_HOUR_MS) * TS_HOUR_MS;
}

void qry_select_hours(const struct qry_spec *spec, const struct qry_sub *sub, int64_t *out_from_ms,
                      int64_t *out_to_ms)
{
    const struct qry_downsample *ds = &sub->downsample;
    /* whole seconds, and one more at the end */
    int64_t start = ts_floor_div(spec->start_ms, 1000) * 1000;
    int64_t end = ts_floor_div(spec->end_ms, 1000) * 1000 + 1000;
    int64_t step = ds->on && !ds->all ? ds->interval_ms : 0;
    if (step) {
        int64_t s = ts_floor_div(start - ts_floor_mod(start, step), 1000) * 1000;
        *out_from_ms = floor_hour(s);
        int64_t e = end + ts_floor_div(step - ts_floor_mod(end, step), 1000) * 1000;
        *out_to_ms = floor_hour(e + TS_HOUR_MS - 1);
    } else {
        *out_from_ms = floor_hour(start);
        *out_to_ms = floor_hour(end) + TS_HOUR_MS;
    }
}

int64_t qry_select_first(const struct qry_spec *spec, const struct qry_sub *sub)
{
    int64_t from_ms, to_ms;
    if (spec->by_on)
        return spec->start_ms;
    qry_select_hours(spec, sub, &from_ms, &to_ms);
    return from_ms;
}

/* Ids of a filter's values; unknown ones match nothing, or are errors. */
static int resolve_values(struct qry_view *view, const struct qry_filter *f, bool must_exist,
                          struct qry_budget *budget, struct ts_arena *arena, struct sto_tag_cond *cond,
                          struct ts_error *err)
{
    uint32_t *ids = qry_arena_take(arena, f->n_values, sizeof *ids, err);
    size_t n = 0, step = 0;
    if (!ids)
        return qry_memory_code(err);
    for (size_t i = 0; i < f->n_values; i++) {
        TS_TRY(qry_budget_step(budget, &step, err));
        uint32_t id = STO_FOREIGN;
        if (qry_view_known(view, STO_UID_TAGV, f->values[i], &id) < 0 && must_exist)
            TS_TRY(qry_select_tagv(view, f->values[i], &id, err));
        if (id < STO_FOREIGN)
            ids[n++] = id; /* the catalog has no others */
    }
    cond->values = ids;
    cond->n_values = n;
    cond->negate = f->type->negate;
    return 0;
}

static int make_cond(struct qry_view *view, const struct qry_filter *f, bool must_exist,
                     struct qry_budget *budget, struct ts_arena *arena, struct sto_tag_cond *cond,
                     void **state, struct ts_error *err)
{
    *cond = (struct sto_tag_cond){0};
    *state = NULL;
    TS_TRY(qry_select_tagk(view, f->tagk, &cond->tagk, err));
    if (f->type->by_values)
        return resolve_values(view, f, must_exist, budget, arena, cond, err);
    if (f->any)
        return 0;
    cond->match = f->type->match;
    /* not changed: the match function of a type without open only reads it */
    cond->arg = (void *)(uintptr_t)f;
    if (f->type->open) {
        TS_TRY(f->type->open(f, budget, state, err));
        cond->arg = *state;
    }
    return 0;
}

struct sto_select_ctl qry_select_ctl(struct qry_budget *budget)
{
    return (struct sto_select_ctl){.memory = budget->memory, .look = qry_budget_look_at, .arg = budget};
}

static int too_many_filters(size_t n, size_t most, struct ts_error *err)
{
    return ts_error_set(err, TS_ELIMIT,
                        "A sub query has %zu filters, more than our limit of %zu: list values in one filter, "
                        "literal_or(a|b). (query_max_filters)",
                        n, most);
}

int qry_select_here(const struct qry_view *view, uint32_t metric, const struct sto_tag_cond *conds, size_t n,
                    bool explicit_tags, struct qry_budget *budget, roaring_bitmap_t **out_set,
                    struct ts_error *err)
{
    struct sto_select_ctl ctl = qry_select_ctl(budget);
    bool foreign = metric >= STO_FOREIGN;
    for (size_t i = 0; i < n; i++)
        foreign |= conds[i].tagk >= STO_FOREIGN;
    if (!foreign)
        return sto_select(view->cat, metric, conds, n, explicit_tags, &ctl, out_set, err);
    *out_set = roaring_bitmap_create();
    return 0;
}

/* Add the series of the remote store that match the same filters. */
static int add_remote(struct qry_view *view, const struct qry_selection *what, void *const *states,
                      struct qry_budget *budget, struct ts_arena *arena, roaring_bitmap_t *set,
                      struct ts_error *err)
{
    struct qry_view_cond *conds = qry_arena_zero(arena, what->n, sizeof *conds, err);
    if (!conds)
        return qry_memory_code(err);
    for (size_t i = 0; i < what->n; i++) {
        const struct qry_filter *f = &what->filters[i];
        conds[i] = (struct qry_view_cond){.tagk = f->tagk};
        if (f->type->by_values) {
            conds[i].values = f->values;
            conds[i].n_values = f->n_values;
            conds[i].negate = f->type->negate;
        } else if (!f->any) {
            conds[i].match = f->type->match;
            conds[i].arg = states[i] ? states[i] : (void *)(uintptr_t)f;
        }
    }
    struct qry_view_ask ask = {.metric = what->metric_name,
                               .conds = conds,
                               .n_conds = what->n,
                               .explicit_keys = what->explicit_tags,
                               .from_ms = what->from_ms,
                               .to_ms = what->to_ms,
                               .useful_from_ms = what->useful_from_ms};
    TS_TRY(qry_view_add(view, &ask, budget, set, err));
    ask.shown = what->metric_name;
    for (size_t i = 0; i < what->n_internal; i++) {
        ask.metric = what->internal[i];
        TS_TRY(qry_view_add(view, &ask, budget, set, err));
    }
    return 0;
}

int qry_select_filters(struct qry_view *view, const struct qry_selection *what, struct qry_budget *budget,
                       struct ts_arena *arena, roaring_bitmap_t **out_set, struct ts_error *err)
{
    const struct qry_filter *filters = what->filters;
    size_t n = what->n;
    *out_set = NULL;
    if (budget->limit && budget->limit->max_filters && n > budget->limit->max_filters)
        qry_limit_refuse(budget->limit, QRY_REFUSAL_FILTERS);
    if (budget->limit && budget->limit->max_filters && n > budget->limit->max_filters)
        return too_many_filters(n, budget->limit->max_filters, err);
    struct sto_tag_cond *conds = qry_arena_zero(arena, n, sizeof *conds, err);
    void **states = conds ? qry_arena_zero(arena, n, sizeof *states, err) : NULL;
    int rc = states ? 0 : qry_memory_code(err);
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = make_cond(view, &filters[i], what->must_exist, budget, arena, &conds[i], &states[i], err);
    if (rc == 0)
        rc = qry_select_here(view, what->metric, conds, n, what->explicit_tags, budget, out_set, err);
    if (rc == 0 && view->remote)
        rc = add_remote(view, what, states, budget, arena, *out_set, err);
    for (size_t i = 0; i < n && states; i++) {
        struct ts_error close_err = {0};
        if (!states[i] || filters[i].type->close(states[i], &close_err) == 0 || rc < 0)
            continue;
        rc = close_err.code;
        if (err)
            *err = close_err;
    }
    if (rc < 0 && *out_set) {
        roaring_bitmap_free(*out_set);
        *out_set = NULL;
    }
    return rc;
}

/* Take the series of the set, some at a time. */
static int take_series(const struct qry_view *view, const roaring_bitmap_t *set, struct qry_budget *budget,
                       const struct sto_series **out, size_t *out_n, struct ts_error *err)
{
    uint32_t ids[QRY_LOOK_STEPS], n;
    roaring_uint32_iterator_t it;
    roaring_init_iterator(set, &it);
    while ((n = roaring_read_uint32_iterator(&it, ids, QRY_LOOK_STEPS)) > 0) {
        TS_TRY(qry_budget_look(budget, err));
        for (uint32_t i = 0; i < n; i++) {
            const struct sto_series *s = qry_view_series(view, ids[i]);
            if (s)
                out[(*out_n)++] = s;
        }
    }
    return 0;
}

int qry_select_series(const struct qry_view *view, roaring_bitmap_t *set, struct qry_budget *budget,
                      struct ts_arena *arena, const struct sto_series ***out, size_t *out_n,
                      struct ts_error *err)
{
    size_t n = (size_t)roaring_bitmap_get_cardinality(set);
    uint64_t most = budget->limit && !budget->any_series ? budget->limit->max_series : 0;
    int rc = 0;
    *out_n = 0;
    *out = NULL;
    if (most && n > most)
        qry_limit_refuse(budget->limit, QRY_REFUSAL_SERIES);
    if (most && n > most)
        rc = ts_error_set(
            err, TS_ELIMIT,
            "The query selects %zu series, more than our limit of %llu. Please try filtering using "
            "more tags. (query_max_series)",
            n, (unsigned long long)most);
    if (rc == 0 && !(*out = qry_arena_take(arena, n, sizeof(**out), err)))
        rc = qry_memory_code(err);
    if (rc == 0)
        rc = take_series(view, set, budget, *out, out_n, err);
    roaring_bitmap_free(set);
    return rc;
}
