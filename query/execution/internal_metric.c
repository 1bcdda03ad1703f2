/*
 * internal_metric.c - the internal metrics of a store.
 */
#include "query/execution/internal_metric.h"

#include "storage/aged.h"
#include "storage/versioned.h"

#include <string.h>

#define MARK TS_SLICE_LIT("\1")

/* A list under construction. */
struct lister {
    struct ts_slice metric;           /* visible metric; empty = all */
    struct qry_internal_metric *list; /* owned */
    size_t n, cap;                    /* used, allocated */
};

static void list_one(void *arg, uint32_t id, struct ts_slice name)
{
    struct lister *l = arg;
    struct sto_internal h;
    if (!sto_internal_parse(name, &h) || (l->metric.n && !ts_slice_eq(h.metric, l->metric)))
        return;
    if (l->n == l->cap) {
        l->cap = l->cap ? l->cap * 2 : 64;
        l->list = ts_xrealloc(l->list, l->cap * sizeof *l->list);
    }
    l->list[l->n++] = (struct qry_internal_metric){id, name, h};
}

void qry_internal_list(struct sto_catalog *cat, struct ts_slice metric, struct ts_arena *arena,
                       const struct qry_internal_metric **out, size_t *out_n)
{
    struct lister l = {.metric = metric};
    sto_uid_suggest(cat, STO_UID_METRIC, MARK, SIZE_MAX, list_one, &l);
    struct qry_internal_metric *copy = ts_arena_alloc(arena, l.n * sizeof *copy + 1);
    if (l.n)
        memcpy(copy, l.list, l.n * sizeof *copy);
    ts_free(l.list);
    *out = copy;
    *out_n = l.n;
}

/* A walk over the internal metrics of a store. */
struct walk {
    struct sto_catalog *cat;
    struct ts_buf text;   /* scratch */
    struct ts_slice from; /* what is deleted */
    int rc;               /* first error */
    struct ts_error *err; /* and its text */
};

/* Visit the visible series of an internal one. */
static int walk_series(struct walk *w, const struct sto_series *s, struct ts_slice metric)
{
    const struct sto_series *seen;
    return sto_series_resolve_like(w->cat, metric, s, &w->text, &seen, w->err);
}

static void walk_restore(void *arg, uint32_t id, struct ts_slice name)
{
    struct walk *w = arg;
    struct sto_internal h;
    roaring_bitmap_t *set;
    if (w->rc < 0 || !sto_internal_parse(name, &h) ||
        (w->rc = sto_select(w->cat, id, NULL, 0, false, NULL, &set, w->err)) < 0)
        return;
    roaring_uint32_iterator_t it;
    for (roaring_init_iterator(set, &it); it.has_value && w->rc == 0; roaring_advance_uint32_iterator(&it)) {
        const struct sto_series *s = sto_series_get(w->cat, it.current_value);
        if (s)
            w->rc = walk_series(w, s, h.metric);
    }
    roaring_bitmap_free(set);
}

static void walk_delete(void *arg, uint32_t id, struct ts_slice name)
{
    struct walk *w = arg;
    struct sto_internal h;
    (void)id;
    if (w->rc == 0 && sto_internal_parse(name, &h) && ts_slice_eq(h.metric, w->from))
        w->rc = sto_uid_delete(w->cat, STO_UID_METRIC, name, w->err);
}

static int walk_all(struct walk *w, void (*each)(void *arg, uint32_t id, struct ts_slice name))
{
    ts_buf_init(&w->text, 0);
    sto_uid_suggest(w->cat, STO_UID_METRIC, MARK, SIZE_MAX, each, w);
    ts_buf_release(&w->text);
    return w->rc;
}

int qry_internal_restore(struct sto_store *st, struct ts_error *err)
{
    struct walk w = {.cat = sto_store_catalog(st), .err = err};
    return walk_all(&w, walk_restore);
}

/* While marks are held: a pass may create the metric of the first summaries behind the list, but no mark lets them answer before the change. */
static int rename_metric(struct sto_store *st, struct ts_slice from, struct ts_slice to, struct ts_error *err)
{
    const struct qry_internal_metric *internal;
    struct ts_arena arena;
    struct ts_buf name;
    size_t n;
    ts_arena_init(&arena, 0);
    ts_buf_init(&name, 0);
    qry_internal_list(sto_store_catalog(st), from, &arena, &internal, &n);
    struct sto_uid_change *all = ts_arena_alloc(&arena, (n + 1) * sizeof *all);
    all[0] = (struct sto_uid_change){.from = from, .to = to};
    for (size_t i = 0; i < n; i++) {
        struct sto_internal parts = internal[i].parts;
        parts.metric = to;
        ts_buf_clear(&name);
        sto_internal_name(&parts, &name);
        struct ts_slice made = ts_buf_get(&name);
        char *copy = ts_arena_alloc(&arena, made.n);
        memcpy(copy, made.p, made.n);
        all[i + 1] = (struct sto_uid_change){.from = internal[i].name, .to = {copy, made.n}};
    }
    int rc = sto_uid_rename_all(sto_store_catalog(st), STO_UID_METRIC, all, n + 1, err);
    ts_buf_release(&name);
    ts_arena_release(&arena);
    return rc;
}

int qry_metric_rename(struct sto_store *st, struct ts_slice from, struct ts_slice to, struct ts_error *err)
{
    sto_aged_hold(st);
    int rc = rename_metric(st, from, to, err);
    sto_aged_let(st);
    return rc < 0 ? rc : sto_versioned_rename(st, from, to, err);
}

int qry_tag_rename(struct sto_store *st, enum sto_uid_kind kind, struct ts_slice from, struct ts_slice to,
                   struct ts_error *err)
{
    sto_aged_hold(st);
    int rc = sto_uid_rename(sto_store_catalog(st), kind, from, to, err);
    sto_aged_let(st);
    return rc;
}

int qry_internal_delete(struct sto_store *st, struct ts_slice metric, struct ts_error *err)
{
    struct walk w = {.cat = sto_store_catalog(st), .from = metric, .err = err};
    int rc = sto_versioned_set(st, metric, 0, err);
    return rc < 0 && rc != TS_ENOTFOUND ? rc : walk_all(&w, walk_delete);
}
