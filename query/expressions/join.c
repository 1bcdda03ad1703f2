/*
 * join.c - keys of columns, sorted; labels of rows.
 */
#include "query/expressions/join.h"

#include <stdlib.h>
#include <string.h>

/* A column with its key. */
struct keyed {
    struct ts_slice key;
    uint32_t set, at;
};

static char *put_id(char *p, uint32_t id)
{
    for (int shift = 24; shift >= 0; shift -= 8)
        *p++ = (char)(id >> shift);
    return p;
}

static bool in_query(const struct qry_cols *set, struct ts_slice key)
{
    for (size_t i = 0; i < set->n_query_keys; i++)
        if (ts_slice_eq(set->query_keys[i], key))
            return true;
    return false;
}

static int make_key(struct qry_work *w, const struct qry_join_in *in, const struct qry_cols *set,
                    const struct qry_label *l, struct ts_slice *out, struct ts_error *err)
{
    char *from, *p;
    TS_TRY(qry_work_take(w, l->n_tags * 2 + l->n_agg_tags, 4, &from, err));
    p = from;
    for (size_t i = 0; i < l->n_tags; i++) {
        if (in->use_query_tags && !in_query(set, l->tags[i].k.text))
            continue;
        p = put_id(p, l->tags[i].k.id);
        p = put_id(p, l->tags[i].v.id);
    }
    for (size_t i = 0; in->with_agg_tags && i < l->n_agg_tags; i++)
        p = put_id(p, l->agg_tags[i].id);
    *out = (struct ts_slice){from, (size_t)(p - from)};
    return 0;
}

static int cmp_keyed(const void *pa, const void *pb)
{
    const struct keyed *a = pa, *b = pb;
    int c = ts_slice_cmp(a->key, b->key);
    if (c)
        return c;
    if (a->set != b->set)
        return a->set < b->set ? -1 : 1;
    return (a->at > b->at) - (a->at < b->at);
}

int qry_join_make(struct qry_work *w, const struct qry_join_in *in, struct qry_join *out,
                  struct ts_error *err)
{
    size_t n = 0, total = 0;
    struct keyed *all;
    *out = (struct qry_join){0};
    for (size_t s = 0; s < in->n_sets; s++)
        total += in->sets[s]->n;
    TS_TRY(qry_work_take(w, total, sizeof *all, &all, err));
    TS_TRY(qry_work_take(w, total * in->n_sets, sizeof *out->at, &out->at, err));
    for (size_t s = 0; s < in->n_sets; s++)
        for (size_t i = 0; i < in->sets[s]->n; i++, n++) {
            all[n] = (struct keyed){.set = (uint32_t)s, .at = (uint32_t)i};
            TS_TRY(make_key(w, in, in->sets[s], &in->sets[s]->col[i].label, &all[n].key, err));
        }
    qsort(all, n, sizeof *all, cmp_keyed);
    for (size_t i = 0, e; i < n; i = e) {
        uint32_t *at = out->at + out->n * in->n_sets;
        size_t found = 0;
        memset(at, 0xff, in->n_sets * sizeof *at);
        for (e = i; e < n && ts_slice_eq(all[e].key, all[i].key); e++) {
            found += at[all[e].set] == QRY_JOIN_NONE;
            at[all[e].set] = all[e].at;
        }
        out->n += !in->intersection || found == in->n_sets;
    }
    return 0;
}

const struct qry_col *qry_join_col(const struct qry_join_in *in, const struct qry_join *j, size_t row,
                                   size_t set)
{
    uint32_t at = j->at[row * in->n_sets + set];
    return at == QRY_JOIN_NONE ? NULL : &in->sets[set]->col[at];
}

/* --- labels --- */
static bool has_name(const struct qry_name *names, size_t n, const struct qry_name *name)
{
    for (size_t i = 0; i < n; i++)
        if (names[i].id == name->id && ts_slice_eq(names[i].text, name->text))
            return true;
    return false;
}

static const struct qry_name_pair *tag_of(const struct qry_label *l, const struct qry_name *k)
{
    for (size_t i = 0; i < l->n_tags; i++)
        if (l->tags[i].k.id == k->id)
            return &l->tags[i];
    return NULL;
}

static int cmp_names(const void *pa, const void *pb)
{
    const struct qry_name *a = pa, *b = pb;
    return a->id != b->id ? (a->id < b->id ? -1 : 1) : ts_slice_cmp(a->text, b->text);
}

static int cmp_pairs(const void *a, const void *b)
{
    return cmp_names(&((const struct qry_name_pair *)a)->k, &((const struct qry_name_pair *)b)->k);
}

static int cmp_slices(const void *a, const void *b)
{
    return ts_slice_cmp(*(const struct ts_slice *)a, *(const struct ts_slice *)b);
}

static int cmp_series(const void *pa, const void *pb)
{
    const struct sto_series *a = *(const struct sto_series *const *)pa,
                            *b = *(const struct sto_series *const *)pb;
    return (a->id > b->id) - (a->id < b->id);
}

/* Names of both lists, each once. */
static int merge_names(struct qry_work *w, const struct qry_name *a, size_t n_a, const struct qry_name *b,
                       size_t n_b, struct qry_name **out, size_t *out_n, struct ts_error *err)
{
    struct qry_name *names;
    TS_TRY(qry_work_take(w, n_a + n_b, sizeof *names, &names, err));
    size_t n = 0;
    for (size_t i = 0; i < n_a + n_b; i++) {
        const struct qry_name *name = i < n_a ? &a[i] : &b[i - n_a];
        if (!has_name(names, n, name))
            names[n++] = *name;
    }
    qsort(names, n, sizeof *names, cmp_names);
    *out = names;
    *out_n = n;
    return 0;
}

static int merge_tsuids(struct qry_work *w, struct qry_label *l, const struct qry_label *o,
                        struct ts_error *err)
{
    struct ts_slice *all;
    size_t n = 0, total = l->n_tsuids + o->n_tsuids;
    if (!o->n_tsuids)
        return 0;
    TS_TRY(qry_work_take(w, total, sizeof *all, &all, err));
    for (size_t i = 0; i < total; i++)
        all[i] = i < l->n_tsuids ? l->tsuids[i] : o->tsuids[i - l->n_tsuids];
    qsort(all, total, sizeof *all, cmp_slices);
    for (size_t i = 0; i < total; i++)
        if (!n || !ts_slice_eq(all[n - 1], all[i]))
            all[n++] = all[i];
    l->tsuids = all;
    l->n_tsuids = n;
    return 0;
}

static int merge_members(struct qry_work *w, struct qry_label *l, const struct qry_label *o,
                         struct ts_error *err)
{
    const struct sto_series **all;
    size_t n = 0, total = l->n_members + o->n_members;
    TS_TRY(qry_work_take(w, total, sizeof(*all), &all, err));
    for (size_t i = 0; i < total; i++)
        all[i] = i < l->n_members ? l->members[i] : o->members[i - l->n_members];
    qsort(all, total, sizeof(*all), cmp_series);
    for (size_t i = 0; i < total; i++)
        if (!n || all[n - 1] != all[i])
            all[n++] = all[i];
    l->members = all;
    l->n_members = n;
    return 0;
}

/* Tags of l and o into l: equal ones stay, different ones are only keys now. */
static int merge_tags(struct qry_work *w, struct qry_label *l, const struct qry_label *o,
                      struct ts_error *err)
{
    struct qry_name_pair *tags;
    struct qry_name *differ, *agg;
    size_t n = 0, n_differ = 0;
    TS_TRY(qry_work_take(w, l->n_tags + o->n_tags, sizeof *tags, &tags, err));
    TS_TRY(qry_work_take(w, l->n_tags + o->n_agg_tags, sizeof *differ, &differ, err));
    for (size_t i = 0; i < l->n_tags; i++) {
        const struct qry_name_pair *t = &l->tags[i], *other = tag_of(o, &t->k);
        if ((other && other->v.id != t->v.id) || has_name(o->agg_tags, o->n_agg_tags, &t->k))
            differ[n_differ++] = t->k;
        else
            tags[n++] = *t;
    }
    for (size_t i = 0; i < o->n_tags && !w->compat; i++)
        if (!tag_of(l, &o->tags[i].k) && !has_name(l->agg_tags, l->n_agg_tags, &o->tags[i].k))
            tags[n++] = o->tags[i];
    qsort(tags, n, sizeof *tags, cmp_pairs);
    for (size_t i = 0; i < o->n_agg_tags; i++)
        if (!has_name(differ, n_differ, &o->agg_tags[i]))
            differ[n_differ++] = o->agg_tags[i];
    TS_TRY(merge_names(w, l->agg_tags, l->n_agg_tags, differ, n_differ, &agg, &l->n_agg_tags, err));
    l->agg_tags = agg;
    l->tags = tags;
    l->n_tags = n;
    return 0;
}

int qry_join_label(struct qry_work *w, const struct qry_join_in *in, const struct qry_join *j, size_t row,
                   struct qry_label *out, struct ts_error *err)
{
    bool first = true;
    *out = (struct qry_label){0};
    for (size_t s = 0; s < in->n_sets; s++) {
        const struct qry_col *c = qry_join_col(in, j, row, s);
        if (c && first) {
            *out = c->label;
        } else if (c) {
            struct qry_name *metrics;
            TS_TRY(merge_tags(w, out, &c->label, err));
            TS_TRY(merge_tsuids(w, out, &c->label, err));
            TS_TRY(merge_members(w, out, &c->label, err));
            TS_TRY(merge_names(w, out->metrics, out->n_metrics, c->label.metrics, c->label.n_metrics,
                               &metrics, &out->n_metrics, err));
            out->metrics = metrics;
        }
        first = first && !c && !w->compat;
    }
    return 0;
}
