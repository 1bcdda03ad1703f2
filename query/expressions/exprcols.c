/*
 * exprcols.c - copies of result series, common times of columns.
 */
#include "query/expressions/exprcols.h"

#include "query/aggregators/align.h"

#include <math.h>
#include <string.h>

void qry_work_open(struct qry_work *w, struct sto_store *st, struct qry_limit *limit, bool compat)
{
    memset(w, 0, sizeof *w);
    w->compat = compat;
    qry_view_open(&w->view, st, limit);
    ts_arena_init(&w->arena, 0);
    qry_budget_init(&w->budget, limit);
    w->arena.budget = w->budget.memory;
}

void qry_work_close(struct qry_work *w)
{
    ts_arena_release(&w->arena);
    qry_view_close(&w->view);
}

int qry_work_take(struct qry_work *w, size_t n, size_t size, void *out_p, struct ts_error *err)
{
    void **out = out_p;
    *out = NULL;
    TS_TRY(qry_budget_look(&w->budget, err));
    *out = qry_arena_take(&w->arena, n, size, err);
    return *out ? 0 : qry_memory_code(err);
}

int qry_cols_add(struct qry_work *w, struct qry_cols *cols, struct qry_col **out, struct ts_error *err)
{
    if (cols->n == cols->cap) {
        size_t cap = cols->cap ? cols->cap * 2 : 8;
        struct qry_col *more;
        TS_TRY(qry_work_take(w, cap, sizeof *more, &more, err));
        if (cols->n)
            memcpy(more, cols->col, cols->n * sizeof *more);
        cols->col = more;
        cols->cap = cap;
    }
    *out = &cols->col[cols->n++];
    **out = (struct qry_col){0};
    return 0;
}

/* --- in and out --- */
/* Texts of names are those of the view and stay; others are copied. */
static struct qry_name name_of(struct qry_work *w, enum sto_uid_kind kind, struct ts_slice text)
{
    struct qry_name n = {0, text};
    if (qry_view_known(&w->view, kind, text, &n.id) < 0)
        n = (struct qry_name){0, {ts_arena_strndup(&w->arena, text.p, text.n), text.n}};
    return n;
}

static int copy_label(struct qry_work *w, const struct qry_series *s, struct qry_label *out,
                      struct ts_error *err)
{
    struct qry_name *metric, *agg;
    struct qry_name_pair *tags;
    struct ts_slice *tsuids;
    const struct sto_series **members;
    size_t n = 0;
    TS_TRY(qry_work_take(w, s->n_places, sizeof *members, &members, err));
    TS_TRY(qry_work_take(w, 1, sizeof *metric, &metric, err));
    TS_TRY(qry_work_take(w, s->n_tags, sizeof *tags, &tags, err));
    TS_TRY(qry_work_take(w, s->n_agg_tags, sizeof *agg, &agg, err));
    TS_TRY(qry_work_take(w, s->n_tsuids, sizeof *tsuids, &tsuids, err));
    *metric = name_of(w, STO_UID_METRIC, s->metric);
    for (size_t i = 0; i < s->n_tags; i++)
        tags[i] = (struct qry_name_pair){name_of(w, STO_UID_TAGK, s->tags[i].k),
                                         name_of(w, STO_UID_TAGV, s->tags[i].v)};
    for (size_t i = 0; i < s->n_agg_tags; i++)
        agg[i] = name_of(w, STO_UID_TAGK, s->agg_tags[i]);
    for (size_t i = 0; i < s->n_tsuids; i++)
        tsuids[i] =
            (struct ts_slice){ts_arena_strndup(&w->arena, s->tsuids[i].p, s->tsuids[i].n), s->tsuids[i].n};
    for (size_t i = 0; i < s->n_places; i++)
        if (s->data[s->places[i]])
            members[n++] = s->members[s->places[i]];
    *out =
        (struct qry_label){metric, 1, tags, s->n_tags, agg, s->n_agg_tags, tsuids, s->n_tsuids, members, n};
    return 0;
}

/* A series may have no points, and no arrays then. */
static void copy(void *to, const void *from, size_t n_bytes)
{
    if (n_bytes)
        memcpy(to, from, n_bytes);
}

int qry_collect_series(void *arg, const struct qry_series *s, struct ts_error *err)
{
    struct qry_collect *c = arg;
    struct qry_work *w = c->work;
    struct qry_col *col;
    int64_t *ts;
    uint64_t *v;
    uint8_t *is_int = NULL;
    if (s->sub >= c->n_sets)
        TS_BUG("series of sub query %zu of %zu", s->sub, c->n_sets);
    struct qry_cols *set = &c->sets[s->sub];
    TS_TRY(qry_cols_add(w, set, &col, err));
    TS_TRY(copy_label(w, s, &col->label, err));
    /* columns of one sub query often have the same times */
    const struct qry_col *prev = set->n > 1 ? col - 1 : NULL;
    bool same =
        prev && prev->n == s->n && (s->n == 0 || memcmp(prev->ts_ms, s->ts_ms, s->n * sizeof *ts) == 0);
    if (!same) {
        TS_TRY(qry_work_take(w, s->n, sizeof *ts, &ts, err));
        copy(ts, s->ts_ms, s->n * sizeof *ts);
    }
    TS_TRY(qry_work_take(w, s->n, sizeof *v, &v, err));
    copy(v, s->v, s->n * sizeof *v);
    if (s->is_int && !s->all_int) {
        TS_TRY(qry_work_take(w, s->n, 1, &is_int, err));
        copy(is_int, s->is_int, s->n);
    }
    col->n = s->n;
    col->ts_ms = same ? prev->ts_ms : ts;
    col->v = v;
    col->is_int = is_int;
    col->all_int = s->all_int;
    col->nan_is_null = s->nan_is_null;
    return 0;
}

int qry_col_series(struct qry_work *w, const struct qry_col *c, size_t sub, struct qry_series *out,
                   struct ts_error *err)
{
    struct sto_tag_text *tags;
    struct ts_slice *agg;
    uint32_t *places;
    uint8_t *data;
    TS_TRY(qry_work_take(w, c->label.n_members, sizeof *places, &places, err));
    TS_TRY(qry_work_take(w, c->label.n_members, 1, &data, err));
    for (size_t i = 0; i < c->label.n_members; i++)
        places[i] = (uint32_t)i;
    memset(data, 1, c->label.n_members);
    TS_TRY(qry_work_take(w, c->label.n_tags, sizeof *tags, &tags, err));
    TS_TRY(qry_work_take(w, c->label.n_agg_tags, sizeof *agg, &agg, err));
    for (size_t i = 0; i < c->label.n_tags; i++)
        tags[i] = (struct sto_tag_text){c->label.tags[i].k.text, c->label.tags[i].v.text};
    for (size_t i = 0; i < c->label.n_agg_tags; i++)
        agg[i] = c->label.agg_tags[i].text;
    *out = (struct qry_series){.sub = sub,
                               .view = &w->view,
                               .metric = c->label.n_metrics ? c->label.metrics[0].text : TS_SLICE_LIT(""),
                               .tags = tags,
                               .n_tags = c->label.n_tags,
                               .agg_tags = agg,
                               .n_agg_tags = c->label.n_agg_tags,
                               .tsuids = c->label.tsuids,
                               .n_tsuids = c->label.n_tsuids,
                               .members = c->label.members,
                               .places = places,
                               .data = data,
                               .n_places = c->label.n_members,
                               .n = c->n,
                               .ts_ms = c->ts_ms,
                               .v = c->v,
                               .is_int = c->is_int,
                               .all_int = c->all_int,
                               .nan_is_null = c->nan_is_null,
                               .joined = c->joined};
    return 0;
}

/* --- common times --- */
int qry_cols_rows(struct qry_work *w, const struct qry_col *const *cols, size_t n, const int64_t **out_ts_ms,
                  size_t *out_n, struct ts_error *err)
{
    struct qry_stamps *sets, all = {0};
    size_t k = 0;
    int64_t *ts = NULL;
    const struct qry_col *prev = NULL;
    *out_ts_ms = NULL;
    *out_n = 0;
    sets = ts_budget_alloc(w->budget.memory, n * sizeof *sets, err);
    if (!sets)
        return qry_memory_code(err);
    for (size_t i = 0; i < n; i++) {
        if (!cols[i]->n || (prev && cols[i]->ts_ms == prev->ts_ms && cols[i]->n == prev->n))
            continue;
        prev = cols[i];
        sets[k++] = (struct qry_stamps){.ts = prev->ts_ms, .n = prev->n};
    }
    int rc = qry_stamps_union(sets, k, &w->budget, &all, err);
    if (rc == 0 && all.owner) {
        rc = qry_work_take(w, all.n, sizeof *ts, &ts, err);
        copy(ts, all.ts, rc == 0 ? all.n * sizeof *ts : 0);
    }
    *out_ts_ms = all.owner ? ts : all.ts; /* borrowed ones are those of a column */
    *out_n = all.n;
    for (size_t i = 0; i < k; i++)
        qry_stamps_release(&sets[i]);
    qry_stamps_release(&all);
    ts_budget_free(w->budget.memory, sets, n * sizeof *sets);
    return rc;
}

void qry_col_align(const struct qry_col *c, const int64_t *rows, size_t n, double fill, double *out)
{
    size_t k = 0;
    for (size_t i = 0; i < n; i++) {
        while (k < c->n && c->ts_ms[k] < rows[i])
            k++;
        out[i] = k < c->n && c->ts_ms[k] == rows[i] ? qry_col_double(c, k) : fill;
        if (isnan(out[i]))
            out[i] = fill;
    }
}
