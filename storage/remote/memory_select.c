/*
 * memory_select.c - which series of a remote store in memory a fetch selects.
 */
#include "storage/remote/memory_select.h"

static bool begins(struct ts_slice s, struct ts_slice prefix)
{
    return s.n >= prefix.n && ts_slice_eq((struct ts_slice){s.p, prefix.n}, prefix);
}

static bool cond_meets(const struct sto_remote_cond *c, const struct sto_remote_series *s)
{
    for (size_t i = 0; i < s->n_tags; i++) {
        if (!ts_slice_eq(s->tags[i].k, c->tagk))
            continue;
        bool in = c->n_values == 0;
        for (size_t k = 0; k < c->n_values && !in; k++)
            in = ts_slice_eq(s->tags[i].v, c->values[k]);
        return in;
    }
    return false;
}

bool sto_memory_selects(const struct sto_fetch *f, const struct sto_remote_series *s)
{
    bool all = f->all_buckets ? begins(s->metric, f->metric) : ts_slice_eq(s->metric, f->metric);
    for (size_t i = 0; i < f->n_conds && all; i++)
        all = cond_meets(&f->conds[i], s);
    return all;
}

size_t sto_memory_position(const struct sto_fetch *f, const struct sto_remote_series *s)
{
    size_t pos = 0;
    for (; pos < f->n_series; pos++) {
        const struct sto_remote_series *v = &f->series[pos];
        size_t i = 0;
        while (v->n_tags == s->n_tags && i < s->n_tags && ts_slice_eq(v->tags[i].k, s->tags[i].k) &&
               ts_slice_eq(v->tags[i].v, s->tags[i].v))
            i++;
        if (i == s->n_tags)
            break;
    }
    return pos;
}
