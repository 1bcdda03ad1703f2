/*
 * view_find.c - finds names and series in the remote store for a view.
 *
 * The rows of a fetch are collected first. Their names then get ids in the order of their bytes, and after that
 * the series.
 */
#include "base/time.h"
#include "query/ids.h"
#include "query/sort.h"
#include "query/view_int.h"

#include <string.h>

struct sto_remote_call qry_view_call(const struct qry_view *view)
{
    struct qry_limit *l = view->limit;
    int64_t deadline_ns = l ? l->deadline_ns : 0, now_ns = ts_clock_mono_ns();
    if (deadline_ns > now_ns &&
        l->allow_partial) /* calls are repeated until then: the rest is for what is here */
        deadline_ns = now_ns + (deadline_ns - now_ns) / 2;
    return (struct sto_remote_call){.deadline_ns = deadline_ns,
                                    .cancel = l ? &l->cancelled : NULL,
                                    .memory = view->memory,
                                    .is_query = true};
}

int qry_view_failed(const struct qry_view *view, int rc, struct ts_error *err)
{
    bool late = rc == TS_ETIMEOUT && view->limit && qry_limit_late(view->limit);
    if (rc != TS_EBACKEND && (rc != TS_ETIMEOUT || late))
        return rc;
    if (view->limit && qry_limit_continue(view->limit))
        return 0;
    struct ts_error why = err ? *err : (struct ts_error){0};
    return ts_error_set(err, TS_EBACKEND, "The request needs the remote store %s, which failed: %s",
                        view->remote->ops->name, why.text);
}

int qry_view__may_wait(struct ts_error *err)
{
    return ts_fs_is_nowait() ? ts_error_set(err, TS_EBUSY, "the remote store has to be read") : 0;
}

/* --- names --- */
struct exact {
    struct ts_slice name;
    bool found;
};

static bool see_exact(void *arg, struct ts_slice name)
{
    struct exact *e = arg;
    e->found = ts_slice_eq(name, e->name);
    return false; /* a name is the first one that begins with it */
}

/* Has the remote store a name? 0; TS_ENOTFOUND. A store with ids keeps those that it has looked up. */
static int find_name(struct qry_view *view, enum sto_uid_kind kind, struct ts_slice name,
                     struct ts_error *err)
{
    struct exact e = {.name = name};
    uint64_t id;
    if (qry_ids_remote(view)) {
        int found = qry_ids_of_name(view, kind, name, false, &id, err);
        return found == TS_EINVAL ? TS_ENOTFOUND : found;
    }
    struct sto_remote_call call = qry_view_call(view);
    int rc = view->remote->ops->suggest(view->remote, (enum sto_remote_kind)kind, name, 1, &call, see_exact,
                                        &e, err);
    if (rc < 0)
        rc = qry_view_failed(view, rc, err);
    return rc < 0 || e.found ? rc : TS_ENOTFOUND;
}

int qry_view_find(struct qry_view *view, enum sto_uid_kind kind, struct ts_slice name, uint32_t *out_id,
                  struct ts_error *err)
{
    int rc = qry_view_known(view, kind, name, out_id);
    if (rc == 0 || !qry_view_remote(view) || !name.n)
        return rc;
    TS_TRY(qry_view__may_wait(err));
    TS_TRY(find_name(view, kind, name, err));
    return qry_view__intern(view, kind, name, out_id, err);
}

struct suggesting {
    struct qry_view *view;
    enum sto_uid_kind kind;
    struct ts_slice *names; /* copies, since `each` may need the remote store */
    size_t n, cap;
    int rc;
    struct ts_error *err;
};

static bool see_name(void *arg, struct ts_slice name)
{
    struct suggesting *s = arg;
    struct qry_view *view = s->view;
    uint32_t id;
    if (sto_uid_find(view->cat, s->kind, name, &id) == 0)
        return true; /* the catalog reports it */
    s->rc = ts_budget_grow(view->memory, &s->names, &s->cap, s->n + 1, sizeof *s->names, s->err);
    if (s->rc == 0)
        s->rc = qry_view__intern(view, s->kind, name, &id, s->err);
    if (s->rc == 0)
        s->names[s->n++] = qry_view_name(view, s->kind, id);
    return s->rc == 0;
}

int qry_view_suggest(struct qry_view *view, enum sto_uid_kind kind, struct ts_slice prefix, size_t max,
                     void (*each)(void *arg, uint32_t id, struct ts_slice name), void *arg,
                     struct ts_error *err)
{
    if (each)
        sto_uid_suggest(view->cat, kind, prefix, max, each, arg);
    if (!qry_view_remote(view))
        return 0;
    struct suggesting s = {.view = view, .kind = kind, .err = err};
    TS_TRY(qry_view__may_wait(err));
    struct sto_remote_call call = qry_view_call(view);
    int rc = view->remote->ops->suggest(view->remote, (enum sto_remote_kind)kind, prefix, max, &call,
                                        see_name, &s, err);
    if (rc < 0)
        rc = qry_view_failed(view, rc, err);
    rc = s.rc < 0 ? s.rc : rc;
    for (size_t i = 0; i < s.n && rc == 0 && each; i++) {
        uint32_t id;
        if (sto_name_internal(s.names[i]) && !sto_name_internal(prefix))
            continue;
        if (qry_view_known(view, kind, s.names[i], &id) == 0)
            each(arg, id, s.names[i]);
    }
    ts_budget_free(view->memory, s.names, s.cap * sizeof *s.names);
    return rc;
}

/* --- series --- */
/* A series that matches. Its names are copies in the arena. */
struct hit {
    struct sto_remote_series names;
};

struct adding {
    struct qry_view *view;
    const struct qry_view_ask *ask;
    struct qry_budget *budget;
    size_t n_keys;         /* different keys of the conditions */
    struct ts_arena arena; /* copies of names */
    struct hit *hits;
    size_t n, cap, step;
};

static struct ts_slice metric_of(const struct qry_view_ask *ask)
{
    return ask->shown.n ? ask->shown : ask->metric;
}

static bool listed(const struct qry_view_cond *c, struct ts_slice value)
{
    for (size_t i = 0; i < c->n_values; i++)
        if (ts_slice_eq(c->values[i], value))
            return true;
    return false;
}

static bool cond_meets(const struct qry_view_cond *c, const struct sto_remote_series *s)
{
    for (size_t i = 0; i < s->n_tags; i++) {
        if (!ts_slice_eq(s->tags[i].k, c->tagk))
            continue;
        if (c->values && !c->negate)
            return true; /* the remote store has compared the values */
        return c->values ? !listed(c, s->tags[i].v) : !c->match || c->match(c->arg, s->tags[i].v);
    }
    return false;
}

static bool matches(const struct adding *a, const struct sto_remote_series *s)
{
    if (a->ask->explicit_keys && s->n_tags != a->n_keys)
        return false;
    for (size_t i = 0; i < a->ask->n_conds; i++)
        if (!cond_meets(&a->ask->conds[i], s))
            return false;
    return true;
}

static int copy(struct adding *a, struct ts_slice from, struct ts_slice *out, struct ts_error *err)
{
    char *p = qry_arena_take(&a->arena, from.n + 1, 1, err);
    if (!p)
        return qry_memory_code(err);
    memcpy(p, from.p, from.n);
    *out = (struct ts_slice){p, from.n};
    return 0;
}

static int too_many(const struct adding *a, struct ts_error *err)
{
    struct qry_limit *l = a->budget->limit;
    if (!l || !l->max_series || a->budget->any_series || a->n < l->max_series)
        return 0;
    qry_limit_refuse(l, QRY_REFUSAL_SERIES);
    return ts_error_set(
        err, TS_ELIMIT,
        "The query selects more than our limit of %llu series. Please try filtering using more "
        "tags. (query_max_series)",
        (unsigned long long)l->max_series);
}

static int on_row(void *arg, const struct sto_remote_row *row, size_t pos, struct ts_error *err)
{
    struct adding *a = arg;
    const struct sto_remote_series *s = &row->series;
    (void)pos;
    TS_TRY(qry_budget_step(a->budget, &a->step, err));
    if (!s->n_tags || s->n_tags > QRY_VIEW_MAX_TAGS || !matches(a, s))
        return 0;
    TS_TRY(too_many(a, err));
    TS_TRY(ts_budget_grow(a->view->memory, &a->hits, &a->cap, a->n + 1, sizeof *a->hits, err));
    struct sto_remote_tag *tags = qry_arena_take(&a->arena, s->n_tags, sizeof *tags, err);
    if (!tags)
        return qry_memory_code(err);
    for (size_t i = 0; i < s->n_tags; i++) {
        TS_TRY(copy(a, s->tags[i].k, &tags[i].k, err));
        TS_TRY(copy(a, s->tags[i].v, &tags[i].v, err));
    }
    a->hits[a->n++].names = (struct sto_remote_series){
        .key = STO_REMOTE_NO_KEY, .metric = metric_of(a->ask), .tags = tags, .n_tags = s->n_tags};
    return 0;
}

static int cmp_hits(const void *pa, const void *pb, void *arg)
{
    const struct sto_remote_series *a = &((const struct hit *)pa)->names,
                                   *b = &((const struct hit *)pb)->names;
    (void)arg;
    for (size_t i = 0; i < a->n_tags && i < b->n_tags; i++) {
        int c = ts_slice_cmp(a->tags[i].k, b->tags[i].k);
        c = c ? c : ts_slice_cmp(a->tags[i].v, b->tags[i].v);
        if (c)
            return c;
    }
    return a->n_tags < b->n_tags ? -1 : a->n_tags > b->n_tags;
}

static int cmp_slices(const void *a, const void *b, void *arg)
{
    (void)arg;
    return ts_slice_cmp(*(const struct ts_slice *)a, *(const struct ts_slice *)b);
}

/* Give the names of a kind ids in the order of their bytes. */
static int intern_kind(struct adding *a, enum sto_uid_kind kind, struct ts_error *err)
{
    struct ts_budget *memory = a->view->memory;
    struct ts_slice *list = NULL;
    size_t n = 0, cap = 0;
    int rc = 0;
    for (size_t i = 0; i < a->n && rc == 0; i++)
        for (size_t t = 0; t < a->hits[i].names.n_tags && rc == 0; t++) {
            const struct sto_remote_tag *tag = &a->hits[i].names.tags[t];
            struct ts_slice name = kind == STO_UID_TAGK ? tag->k : tag->v;
            uint32_t id;
            if (qry_view_known(a->view, kind, name, &id) == 0)
                continue;
            rc = ts_budget_grow(memory, &list, &cap, n + 1, sizeof *list, err);
            if (rc == 0)
                list[n++] = name;
            if (rc == 0)
                rc = qry_budget_step(a->budget, &a->step, err);
        }
    if (rc == 0 && n)
        rc = qry_sort(list, n, sizeof *list, cmp_slices, NULL, a->budget, err);
    for (size_t i = 0; i < n && rc == 0; i++) {
        uint32_t id;
        rc = qry_view__intern(a->view, kind, list[i], &id, err);
    }
    ts_budget_free(memory, list, cap * sizeof *list);
    return rc;
}

/* Make the series that were found, and add their numbers to the set. */
static int add_hits(struct adding *a, roaring_bitmap_t *set, struct ts_error *err)
{
    uint32_t metric;
    TS_TRY(qry_view__intern(a->view, STO_UID_METRIC, metric_of(a->ask), &metric, err));
    TS_TRY(intern_kind(a, STO_UID_TAGK, err));
    TS_TRY(intern_kind(a, STO_UID_TAGV, err));
    TS_TRY(qry_sort(a->hits, a->n, sizeof *a->hits, cmp_hits, NULL, a->budget, err));
    for (size_t i = 0; i < a->n; i++) {
        const struct sto_series *s;
        TS_TRY(qry_budget_step(a->budget, &a->step, err));
        TS_TRY(qry_view__series(a->view, &a->hits[i].names, &s, err));
        roaring_bitmap_add(set, s->id);
    }
    return 0;
}

static size_t count_keys(const struct qry_view_ask *ask)
{
    size_t n = 0;
    for (size_t i = 0; i < ask->n_conds; i++) {
        size_t j = 0;
        while (j < i && !ts_slice_eq(ask->conds[j].tagk, ask->conds[i].tagk))
            j++;
        n += j == i;
    }
    return n;
}

static int fetch(struct adding *a, struct ts_error *err)
{
    const struct qry_view_ask *ask = a->ask;
    struct sto_remote *remote = a->view->remote;
    struct sto_remote_call call = qry_view_call(a->view);
    struct sto_remote_cond *conds = qry_arena_zero(&a->arena, ask->n_conds, sizeof *conds, err);
    if (!conds)
        return qry_memory_code(err);
    for (size_t i = 0; i < ask->n_conds; i++) {
        const struct qry_view_cond *c = &ask->conds[i];
        bool list = c->values && !c->negate;
        conds[i] = (struct sto_remote_cond){c->tagk, list ? c->values : NULL, list ? c->n_values : 0};
        if (list && !c->n_values)
            return 0; /* nothing matches */
    }
    struct sto_fetch f = {.metric = ask->metric,
                          .conds = conds,
                          .n_conds = ask->n_conds,
                          .from_ms = ask->from_ms < STO_MIN_TS_MS ? STO_MIN_TS_MS : ask->from_ms,
                          .to_ms = ask->to_ms > STO_MAX_TS_MS ? STO_MAX_TS_MS : ask->to_ms,
                          .series_only = true};
    if (f.from_ms > f.to_ms)
        return 0;
    int rc = remote->ops->fetch(remote, &f, &call, on_row, a, err);
    return rc < 0 ? qry_view_failed(a->view, rc, err) : 0;
}

int qry_view_add(struct qry_view *view, const struct qry_view_ask *ask, struct qry_budget *budget,
                 roaring_bitmap_t *set, struct ts_error *err)
{
    struct adding a = {.view = view, .ask = ask, .budget = budget, .n_keys = count_keys(ask)};
    /* files may be dropped from now on, but no series is forgotten */
    if (!qry_view_remote(view) || ask->useful_from_ms >= view->complete_from_ms)
        return 0;
    TS_TRY(qry_view__may_wait(err));
    ts_arena_init(&a.arena, 0);
    a.arena.budget = view->memory;
    int rc = fetch(&a, err);
    if (rc == 0 && a.n)
        rc = add_hits(&a, set, err);
    ts_budget_free(view->memory, a.hits, a.cap * sizeof *a.hits);
    ts_arena_release(&a.arena);
    return rc;
}
