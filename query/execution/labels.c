/*
 * labels.c - tags of groups.
 */
#include "query/execution/labels.h"

#include "query/ids.h"
#include "query/sort.h"

#include <string.h>

/* A key of the series of the group that were visited so far. */
struct key {
    uint32_t k, v; /* its id, and the first value seen */
    bool differs;  /* another value was seen too */
};

/* Keys of a group while its series are visited. */
struct keys {
    struct key *key; /* ascending by id; counted in the budget */
    size_t n, cap;
};

/* Keys are few and sorted in both lists: one walk a series. */
static int add_series(struct keys *l, const struct sto_series *s, struct qry_budget *budget,
                      struct ts_error *err)
{
    size_t i = 0;
    for (size_t t = 0; t < s->n_tags; t++) {
        while (i < l->n && l->key[i].k < s->tags[t].k)
            i++;
        if (i < l->n && l->key[i].k == s->tags[t].k) {
            l->key[i].differs |= l->key[i].v != s->tags[t].v;
            continue;
        }
        TS_TRY(ts_budget_grow(budget->memory, &l->key, &l->cap, l->n + 1 < 16 ? 16 : l->n + 1, sizeof *l->key,
                              err));
        memmove(l->key + i + 1, l->key + i, (l->n - i) * sizeof *l->key);
        l->key[i] = (struct key){s->tags[t].k, s->tags[t].v, false};
        l->n++;
    }
    return 0;
}

static int cmp_slices(const void *a, const void *b, void *arg)
{
    (void)arg;
    return ts_slice_cmp(*(const struct ts_slice *)a, *(const struct ts_slice *)b);
}

static int make_tsuids(const struct qry_plan *p, const struct qry_group *g, struct qry_budget *budget,
                       struct ts_arena *arena, struct qry_labels *out, struct ts_error *err)
{
    struct ts_buf buf;
    size_t step = 0;
    int rc = 0;
    out->tsuids = qry_arena_take(arena, out->n_series, sizeof *out->tsuids, err);
    if (!out->tsuids)
        return qry_memory_code(err);
    ts_buf_init(&buf, 0);
    for (size_t i = 0; i < g->n && rc == 0; i++) {
        if (!p->has_data[g->members[i]])
            continue;
        ts_buf_clear(&buf);
        rc = qry_ids_tsuid_of(p->spec->view, qry_plan_shown(p, g->members[i]), &buf, err);
        if (rc == TS_ENOTFOUND) {
            rc = 0;
            continue; /* it has none */
        }
        if (rc < 0)
            break;
        char *text = qry_arena_take(arena, buf.n, 1, err);
        rc = text ? qry_budget_step(budget, &step, err) : qry_memory_code(err);
        if (text) {
            memcpy(text, buf.p, buf.n);
            out->tsuids[out->n_tsuids++] = (struct ts_slice){text, buf.n};
        }
    }
    ts_buf_release(&buf);
    if (rc < 0)
        return rc;
    return qry_sort(out->tsuids, out->n_tsuids, sizeof *out->tsuids, cmp_slices, NULL, budget, err);
}

static int find_keys(const struct qry_plan *p, const struct qry_group *g, struct qry_budget *budget,
                     struct keys *keys, struct qry_labels *out, struct ts_error *err)
{
    size_t step = 0;
    for (size_t i = 0; i < g->n; i++) {
        TS_TRY(qry_budget_step(budget, &step, err));
        if (!p->has_data[g->members[i]])
            continue;
        out->n_series++;
        TS_TRY(add_series(keys, p->series[g->members[i]], budget, err));
    }
    return 0;
}

int qry_labels_make(const struct qry_view *view, const struct qry_plan *p, const struct qry_group *g,
                    bool tsuids, struct qry_budget *budget, struct ts_arena *arena, struct qry_labels *out,
                    struct ts_error *err)
{
    struct keys keys = {0};
    *out = (struct qry_labels){0};
    int rc = find_keys(p, g, budget, &keys, out, err);
    if (rc == 0) {
        out->tags = qry_arena_take(arena, keys.n, sizeof *out->tags, err);
        out->agg_tags = out->tags ? qry_arena_take(arena, keys.n, sizeof *out->agg_tags, err) : NULL;
        rc = out->agg_tags ? 0 : qry_memory_code(err);
    }
    for (size_t i = 0; i < keys.n && rc == 0; i++) {
        struct ts_slice name = qry_view_name(view, STO_UID_TAGK, keys.key[i].k);
        if (keys.key[i].differs)
            out->agg_tags[out->n_agg_tags++] = name;
        else
            out->tags[out->n_tags++] =
                (struct sto_tag_text){name, qry_view_name(view, STO_UID_TAGV, keys.key[i].v)};
    }
    ts_budget_free(budget->memory, keys.key, keys.cap * sizeof *keys.key);
    return rc == 0 && tsuids ? make_tsuids(p, g, budget, arena, out, err) : rc;
}

struct qry_series qry_labels_series(const struct qry_view *view, const struct qry_plan *p,
                                    const struct qry_group *g, const struct qry_labels *l)
{
    return (struct qry_series){.sub = p->index,
                               .view = view,
                               .metric = qry_view_name(view, STO_UID_METRIC, p->shown_metric),
                               .tags = l->tags,
                               .n_tags = l->n_tags,
                               .agg_tags = l->agg_tags,
                               .n_agg_tags = l->n_agg_tags,
                               .tsuids = l->tsuids,
                               .n_tsuids = l->n_tsuids,
                               .members = p->shown ? p->shown : p->series,
                               .places = g->members,
                               .data = p->has_data,
                               .n_places = g->n,
                               .nan_is_null =
                                   p->sub->downsample.on && p->sub->downsample.fill == QRY_FILL_NULL};
}
