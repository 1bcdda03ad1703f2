/*
 * labels.c - tags of groups.
 */
#include "query/labels.h"

#include <stdlib.h>
#include <string.h>

/* A key of the group so far. */
struct key {
    uint32_t k, v; /* its id, and the first value seen */
    bool differs;  /* another value was seen too */
};

/* Keys are few and sorted in both lists: one walk a series. */
static size_t add_series(struct key **keys, size_t n, size_t *cap, const struct sto_series *s)
{
    size_t i = 0;
    for (size_t t = 0; t < s->n_tags; t++) {
        while (i < n && (*keys)[i].k < s->tags[t].k)
            i++;
        if (i < n && (*keys)[i].k == s->tags[t].k) {
            (*keys)[i].differs |= (*keys)[i].v != s->tags[t].v;
            continue;
        }
        if (n == *cap) {
            *cap = *cap ? *cap * 2 : 16;
            *keys = ts_xrealloc(*keys, *cap * sizeof **keys);
        }
        memmove(*keys + i + 1, *keys + i, (n - i) * sizeof **keys);
        (*keys)[i] = (struct key){s->tags[t].k, s->tags[t].v, false};
        n++;
    }
    return n;
}

static int cmp_slices(const void *a, const void *b)
{
    return ts_slice_cmp(*(const struct ts_slice *)a, *(const struct ts_slice *)b);
}

static void make_tsuids(const struct qry_plan *p, const struct qry_group *g, struct ts_arena *arena,
                        struct qry_labels *out)
{
    struct ts_buf buf;
    ts_buf_init(&buf, 0);
    out->tsuids = ts_arena_alloc(arena, out->n_series * sizeof *out->tsuids + 1);
    for (size_t i = 0; i < g->n; i++) {
        if (!p->has_data[g->members[i]])
            continue;
        ts_buf_clear(&buf);
        qry_tsuid(qry_plan_shown(p, g->members[i]), &buf);
        out->tsuids[out->n_tsuids++] = (struct ts_slice){ts_arena_strndup(arena, buf.p, buf.n), buf.n};
    }
    ts_buf_release(&buf);
    qsort(out->tsuids, out->n_tsuids, sizeof *out->tsuids, cmp_slices);
}

void qry_labels_make(const struct sto_catalog *cat, const struct qry_plan *p, const struct qry_group *g,
                     bool tsuids, struct ts_arena *arena, struct qry_labels *out)
{
    struct key *keys = NULL;
    size_t n = 0, cap = 0;
    *out = (struct qry_labels){0};
    for (size_t i = 0; i < g->n; i++) {
        if (!p->has_data[g->members[i]])
            continue;
        out->n_series++;
        n = add_series(&keys, n, &cap, p->series[g->members[i]]);
    }
    out->tags = ts_arena_alloc(arena, n * sizeof *out->tags + 1);
    out->agg_tags = ts_arena_alloc(arena, n * sizeof *out->agg_tags + 1);
    for (size_t i = 0; i < n; i++) {
        struct ts_slice name = sto_uid_name(cat, STO_UID_TAGK, keys[i].k);
        if (keys[i].differs)
            out->agg_tags[out->n_agg_tags++] = name;
        else
            out->tags[out->n_tags++] =
                (struct sto_tag_text){name, sto_uid_name(cat, STO_UID_TAGV, keys[i].v)};
    }
    ts_free(keys);
    if (tsuids)
        make_tsuids(p, g, arena, out);
}

struct qry_series qry_labels_series(const struct sto_catalog *cat, const struct qry_plan *p,
                                    const struct qry_group *g, const struct qry_labels *l)
{
    return (struct qry_series){.sub = p->index,
                               .metric = sto_uid_name(cat, STO_UID_METRIC, p->shown_metric),
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
