/*
 * rollup_plan.c - a plan for visible series becomes one for internal series beside them.
 */
#include "query/execution/rollup.h"

#include <stdlib.h>

/* An internal series and whose it is. */
struct pair {
    const struct sto_series *internal;
    uint32_t pos; /* of the visible series in the plan */
};

static int cmp_pairs(const void *a, const void *b)
{
    uint32_t x = ((const struct pair *)a)->internal->id, y = ((const struct pair *)b)->internal->id;
    return x < y ? -1 : x > y;
}

/* Members of groups by their new positions; groups without any go. */
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
        ((uint32_t *)(uintptr_t)g->members)[g->n++] = (uint32_t)i; /* ours, being filled */
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

void qry_plan_rollup(struct sto_catalog *cat, struct qry_plan *p, struct ts_slice internal_metric)
{
    uint32_t metric = 0;
    bool known = sto_uid_find(cat, STO_UID_METRIC, internal_metric, &metric) == 0;
    struct pair *pairs = ts_arena_alloc(p->arena, p->n * sizeof *pairs + 1);
    size_t n = 0;
    for (size_t i = 0; known && i < p->n; i++) {
        const struct sto_series *s = p->series[i];
        if (sto_series_find_ids(cat, metric, s->tags, s->n_tags, &pairs[n].internal) == 0)
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
}
