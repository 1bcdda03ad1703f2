/*
 * once_gone.c - see once_gone.h.
 */
#include "storage/engine/once_gone.h"

/* Put range i + 1 into range i. */
static void join(struct sto_once_gone *g, unsigned i)
{
    if (g->at[i + 1].to_s > g->at[i].to_s)
        g->at[i].to_s = g->at[i + 1].to_s;
    g->n--;
    for (unsigned k = i + 1; k < g->n; k++)
        g->at[k] = g->at[k + 1];
}

static void join_nearest(struct sto_once_gone *g)
{
    unsigned best = 0;
    for (unsigned i = 1; i + 1 < g->n; i++)
        if (g->at[i + 1].from_s - g->at[i].to_s < g->at[best + 1].from_s - g->at[best].to_s)
            best = i;
    join(g, best);
}

void sto_once_gone_add(struct sto_once_gone *g, uint64_t made_s, uint64_t near_s)
{
    unsigned i = 0;
    while (i < g->n && made_s > g->at[i].to_s && made_s - g->at[i].to_s > near_s)
        i++;
    struct sto_once_range *r = &g->at[i];
    if (i < g->n && (made_s >= r->from_s || r->from_s - made_s <= near_s)) {
        r->from_s = made_s < r->from_s ? made_s : r->from_s;
        r->to_s = made_s > r->to_s ? made_s : r->to_s;
        while (i + 1 < g->n && (g->at[i + 1].from_s <= r->to_s || g->at[i + 1].from_s - r->to_s <= near_s))
            join(g, i);
        return;
    }
    if (g->n == STO_ONCE_GONE) {
        join_nearest(g);
        sto_once_gone_add(g, made_s, near_s); /* there is room now */
        return;
    }
    for (unsigned k = g->n++; k > i; k--)
        g->at[k] = g->at[k - 1];
    *r = (struct sto_once_range){made_s, made_s};
}

bool sto_once_gone_has(const struct sto_once_gone *g, uint64_t made_s)
{
    for (unsigned i = 0; i < g->n; i++)
        if (made_s >= g->at[i].from_s && made_s <= g->at[i].to_s)
            return true;
    return false;
}
