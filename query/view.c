/*
 * view.c - names and series that only the remote store has, with ids that are valid in one request.
 *
 * Not here   finding them in the remote store (view_find.c)
 */
#include "query/view.h"

#include "base/hash.h"
#include "query/view_int.h"

#include <stdlib.h>
#include <string.h>

#define FEW_SLOTS 64u

void qry_view_open(struct qry_view *view, struct sto_store *st, struct qry_limit *limit)
{
    struct qry_budget budget;
    qry_budget_init(&budget, limit);
    memset(view, 0, sizeof *view);
    view->cat = sto_store_catalog(st);
    view->store = st;
    view->remote = sto_store_remote(st);
    view->complete_from_ms = sto_complete_from(st);
    view->limit = limit;
    view->memory = budget.memory;
    ts_arena_init(&view->arena, 0);
    view->arena.budget = view->memory;
}

const struct qry_spec *qry_view_use(struct qry_view *view, struct sto_store *st, struct qry_limit *limit,
                                    const struct qry_spec *spec, struct qry_spec *copy)
{
    if (spec->view)
        return spec;
    qry_view_open(view, st, limit);
    *copy = *spec;
    copy->view = view;
    view->notes = spec->notes;
    return copy;
}

void qry_view_unuse(struct qry_view *view, const struct qry_spec *spec)
{
    if (spec->view == view)
        qry_view_close(view);
}

void qry_view_close(struct qry_view *view)
{
    for (int kind = 0; kind < STO_UID_KINDS; kind++) {
        struct qry_view_names *t = &view->names[kind];
        ts_budget_free(view->memory, t->names, t->cap * sizeof *t->names);
        ts_budget_free(view->memory, t->slots, t->n_slots * sizeof *t->slots);
        *t = (struct qry_view_names){0};
        ts_budget_free(view->memory, view->ids[kind].slots,
                       view->ids[kind].n_slots * sizeof *view->ids[kind].slots);
        view->ids[kind] = (struct qry_view_remote_ids){0};
    }
    ts_budget_free(view->memory, view->series, view->cap_series * sizeof(*view->series));
    ts_budget_free(view->memory, view->slots, view->n_slots * sizeof *view->slots);
    view->series = NULL;
    view->slots = NULL;
    view->n_series = view->cap_series = view->n_slots = 0;
    ts_arena_release(&view->arena);
}

/* --- names --- */
static size_t name_slot(const struct qry_view_names *t, struct ts_slice name)
{
    size_t at = (size_t)ts_hash(name.p, name.n) & (t->n_slots - 1);
    while (t->slots[at] && !ts_slice_eq(t->names[t->slots[at] - 1], name))
        at = (at + 1) & (t->n_slots - 1);
    return at;
}

int qry_view_known(const struct qry_view *view, enum sto_uid_kind kind, struct ts_slice name,
                   uint32_t *out_id)
{
    const struct qry_view_names *t = &view->names[kind];
    if (sto_uid_find(view->cat, kind, name, out_id) == 0)
        return 0;
    uint32_t at = t->n_slots ? t->slots[name_slot(t, name)] : 0;
    if (!at)
        return TS_ENOTFOUND;
    *out_id = STO_FOREIGN + at - 1;
    return 0;
}

void qry_view_known_names(const struct qry_view *view, enum sto_uid_kind kind, struct ts_slice prefix,
                          void (*each)(void *arg, uint32_t id, struct ts_slice name), void *arg)
{
    const struct qry_view_names *t = &view->names[kind];
    sto_uid_suggest(view->cat, kind, prefix, SIZE_MAX, each, arg);
    for (size_t i = 0; i < t->n; i++) {
        struct ts_slice name = t->names[i];
        uint32_t id;
        if (name.n >= prefix.n && ts_slice_eq((struct ts_slice){name.p, prefix.n}, prefix) &&
            sto_uid_find(view->cat, kind, name, &id) < 0) /* it may have come into the catalog since */
            each(arg, STO_FOREIGN + (uint32_t)i, name);
    }
}

static int names_grow(struct qry_view *view, struct qry_view_names *t, struct ts_error *err)
{
    size_t n = t->n_slots ? t->n_slots * 2 : FEW_SLOTS;
    TS_TRY(ts_budget_grow(view->memory, &t->names, &t->cap, n / 2, sizeof *t->names, err));
    uint32_t *slots = ts_budget_calloc(view->memory, n, sizeof *slots, err);
    if (!slots)
        return qry_memory_code(err);
    ts_budget_free(view->memory, t->slots, t->n_slots * sizeof *t->slots);
    t->slots = slots;
    t->n_slots = n;
    for (size_t i = 0; i < t->n; i++)
        t->slots[name_slot(t, t->names[i])] = (uint32_t)i + 1;
    return 0;
}

int qry_view__intern(struct qry_view *view, enum sto_uid_kind kind, struct ts_slice name, uint32_t *out_id,
                     struct ts_error *err)
{
    struct qry_view_names *t = &view->names[kind];
    if (qry_view_known(view, kind, name, out_id) == 0)
        return 0;
    if (2 * (t->n + 1) > t->n_slots)
        TS_TRY(names_grow(view, t, err));
    char *copy = qry_arena_take(&view->arena, name.n + 1, 1, err);
    if (!copy)
        return qry_memory_code(err);
    memcpy(copy, name.p, name.n);
    t->names[t->n] = (struct ts_slice){copy, name.n};
    size_t at = name_slot(t, t->names[t->n]);
    *out_id = STO_FOREIGN + (uint32_t)t->n;
    t->slots[at] = (uint32_t)++t->n;
    return 0;
}

/* --- series --- */
static uint64_t ids_hash(uint32_t metric, const struct sto_tag *tags, size_t n_tags)
{
    return ts_hash(tags, n_tags * sizeof *tags) ^ ts_hash_u64(metric);
}

static size_t series_slot(const struct qry_view *view, uint32_t metric, const struct sto_tag *tags,
                          size_t n_tags)
{
    size_t at = (size_t)ids_hash(metric, tags, n_tags) & (view->n_slots - 1);
    for (; view->slots[at]; at = (at + 1) & (view->n_slots - 1)) {
        const struct sto_series *s = view->series[view->slots[at] - 1];
        if (s->metric == metric && s->n_tags == n_tags && memcmp(s->tags, tags, n_tags * sizeof *tags) == 0)
            break;
    }
    return at;
}

static bool any_foreign(uint32_t metric, const struct sto_tag *tags, size_t n_tags)
{
    uint32_t all = metric;
    for (size_t i = 0; i < n_tags; i++)
        all |= tags[i].k | tags[i].v;
    return all >= STO_FOREIGN;
}

int qry_view_find_ids(const struct qry_view *view, uint32_t metric, const struct sto_tag *tags, size_t n_tags,
                      const struct sto_series **out)
{
    if (!any_foreign(metric, tags, n_tags) && sto_series_find_ids(view->cat, metric, tags, n_tags, out) == 0)
        return 0;
    uint32_t at = view->n_slots ? view->slots[series_slot(view, metric, tags, n_tags)] : 0;
    if (!at)
        return TS_ENOTFOUND;
    *out = view->series[at - 1];
    return 0;
}

static int series_grow(struct qry_view *view, struct ts_error *err)
{
    size_t n = view->n_slots ? view->n_slots * 2 : FEW_SLOTS;
    TS_TRY(ts_budget_grow(view->memory, &view->series, &view->cap_series, n / 2, sizeof(*view->series), err));
    uint32_t *slots = ts_budget_calloc(view->memory, n, sizeof *slots, err);
    if (!slots)
        return qry_memory_code(err);
    ts_budget_free(view->memory, view->slots, view->n_slots * sizeof *view->slots);
    view->slots = slots;
    view->n_slots = n;
    for (size_t i = 0; i < view->n_series; i++) {
        const struct sto_series *s = view->series[i];
        view->slots[series_slot(view, s->metric, s->tags, s->n_tags)] = (uint32_t)i + 1;
    }
    return 0;
}

static int cmp_tag(const void *pa, const void *pb)
{
    const struct sto_tag *a = pa, *b = pb;
    return a->k < b->k ? -1 : a->k > b->k;
}

static char *put(char *to, struct ts_slice text)
{
    memcpy(to, text.p, text.n);
    return to + text.n;
}

/* A series with these ids, whose text has the tags in the order of the names. */
static struct sto_series *make(struct qry_view *view, const struct sto_remote_series *names, uint32_t metric,
                               const struct sto_tag *tags, struct ts_error *err)
{
    size_t text_len = names->metric.n;
    for (size_t i = 0; i < names->n_tags; i++)
        text_len += 2 + names->tags[i].k.n + names->tags[i].v.n;
    struct sto_series *s =
        qry_arena_take(&view->arena, sizeof *s + names->n_tags * sizeof *tags + text_len, 1, err);
    if (!s)
        return NULL;
    *s = (struct sto_series){.id = STO_FOREIGN + (uint32_t)view->n_series,
                             .metric = metric,
                             .local = (uint32_t)view->n_series,
                             .n_tags = (uint8_t)names->n_tags,
                             .metric_len = (uint32_t)names->metric.n,
                             .text_len = (uint32_t)text_len};
    memcpy(s->tags, tags, names->n_tags * sizeof *tags);
    char *text = put((char *)(s->tags + names->n_tags), names->metric);
    for (size_t i = 0; i < names->n_tags; i++) {
        *text++ = ' ';
        text = put(text, names->tags[i].k);
        *text++ = '=';
        text = put(text, names->tags[i].v);
    }
    return s;
}

int qry_view__series(struct qry_view *view, const struct sto_remote_series *names,
                     const struct sto_series **out, struct ts_error *err)
{
    struct sto_tag tags[QRY_VIEW_MAX_TAGS];
    uint32_t metric = 0;
    (void)qry_view_known(view, STO_UID_METRIC, names->metric, &metric);
    for (size_t i = 0; i < names->n_tags; i++) {
        tags[i] = (struct sto_tag){0, 0};
        (void)qry_view_known(view, STO_UID_TAGK, names->tags[i].k, &tags[i].k);
        (void)qry_view_known(view, STO_UID_TAGV, names->tags[i].v, &tags[i].v);
    }
    qsort(tags, names->n_tags, sizeof *tags, cmp_tag);
    if (qry_view_find_ids(view, metric, tags, names->n_tags, out) == 0)
        return 0;
    if (2 * (view->n_series + 1) > view->n_slots)
        TS_TRY(series_grow(view, err));
    struct sto_series *s = make(view, names, metric, tags, err);
    if (!s)
        return qry_memory_code(err);
    size_t at = series_slot(view, metric, tags, names->n_tags);
    view->series[view->n_series] = s;
    view->slots[at] = (uint32_t)++view->n_series;
    *out = s;
    return 0;
}

static int cmp_remote_tag(const void *pa, const void *pb)
{
    const struct sto_remote_tag *a = pa, *b = pb;
    return ts_slice_cmp(a->k, b->k);
}

void qry_view_names_of(const struct qry_view *view, const struct sto_series *s, struct sto_remote_tag *tags,
                       struct sto_remote_series *out)
{
    for (size_t i = 0; i < s->n_tags; i++)
        tags[i] = (struct sto_remote_tag){qry_view_name(view, STO_UID_TAGK, s->tags[i].k),
                                          qry_view_name(view, STO_UID_TAGV, s->tags[i].v)};
    qsort(tags, s->n_tags, sizeof *tags, cmp_remote_tag);
    *out = (struct sto_remote_series){.key = STO_REMOTE_NO_KEY,
                                      .metric = qry_view_name(view, STO_UID_METRIC, s->metric),
                                      .tags = tags,
                                      .n_tags = s->n_tags};
}
