/*
 * select.c - series of a metric that meet conditions on tags.
 *
 * Set operations come first (listed values, presence of a key); one walk over the result then checks patterns
 * and explicit keys.
 *
 * Threads    any; the catalog's lock is held for one set operation or a few dozen values at a time. The walk
 * and the callers' match functions run without a lock on series and names that never change.
 */
#include "storage/catalog/catalog_int.h"

#include "base/budget.h"

#define VALUES_PER_LOCK 64u /* sets united before the lock is released */
#define WALK_BATCH      256u
#define MEMO_CHUNK      65536u /* values in a chunk of the memo */

/* Results of a match function by value id, so that it is called once for each value. */
struct memo {
    uint8_t **chunks; /* 0 = unknown, 1 = no, 2 = yes; MEMO_CHUNK bytes each, NULL = all unknown */
    size_t cap;       /* capacity of chunks */
};

/* The walk of one selection. */
struct walk {
    const struct sto_catalog *cat;
    const struct sto_tag_cond *conds; /* all of them */
    size_t n_conds;
    struct memo *memos; /* one for each condition; unused ones are empty */
    bool explicit_keys; /* see sto_select */
    unsigned n_keys;    /* different keys in the conditions */
    const struct sto_select_ctl *ctl;
    struct ts_error *err; /* error that ended the walk */
    int rc;               /* that error */
};

static int look(const struct sto_select_ctl *ctl, struct ts_error *err)
{
    return ctl->look ? ctl->look(ctl->arg, err) : 0;
}

/* Unite the sets of the listed values. NULL: ctl ended the selection. */
static roaring_bitmap_t *unite(struct sto_catalog *cat, const struct sto_tag_cond *cond,
                               const struct sto_select_ctl *ctl, struct ts_error *err)
{
    roaring_bitmap_t *all = roaring_bitmap_create();
    for (size_t i = 0; i < cond->n_values;) {
        if (look(ctl, err) < 0) {
            roaring_bitmap_free(all);
            return NULL;
        }
        pthread_mutex_lock(&cat->lock);
        for (size_t end = i + VALUES_PER_LOCK; i < end && i < cond->n_values; i++)
            if (cond->values[i])
                sto_posting__or_into(sto_tagindex__find(&cat->index, cond->tagk, cond->values[i]), all);
        pthread_mutex_unlock(&cat->lock);
    }
    return all;
}

/* Keep the series that have the key and, where values are listed, one of them (or none of them). */
static int apply_sets(struct sto_catalog *cat, const struct sto_tag_cond *cond, roaring_bitmap_t *set,
                      const struct sto_select_ctl *ctl, struct ts_error *err)
{
    int rc = look(ctl, err);
    if (rc < 0)
        return rc;
    if (!cond->tagk) { /* no series has a key without an id; (0, v) are the sets of metrics */
        roaring_bitmap_clear(set);
        return 0;
    }
    if (!cond->values || cond->negate) {
        pthread_mutex_lock(&cat->lock);
        sto_posting__and_into(sto_tagindex__find(&cat->index, cond->tagk, 0), set);
        pthread_mutex_unlock(&cat->lock);
    }
    if (!cond->values)
        return 0;
    roaring_bitmap_t *listed = unite(cat, cond, ctl, err);
    if (!listed)
        return err && err->code ? err->code : TS_ECANCELLED;
    if (cond->negate)
        roaring_bitmap_andnot_inplace(set, listed);
    else
        roaring_bitmap_and_inplace(set, listed);
    roaring_bitmap_free(listed);
    return 0;
}

static bool asks(const struct sto_tag_cond *cond)
{
    return !cond->values && cond->match;
}

/* Place of the result for a value; NULL on error, with w->rc set. */
static uint8_t *answer_of(struct walk *w, struct memo *m, uint32_t value)
{
    size_t c = value / MEMO_CHUNK;
    if (c >= m->cap) {
        size_t before = m->cap;
        w->rc = ts_budget_grow(w->ctl->memory, &m->chunks, &m->cap, c + 1, sizeof(*m->chunks), w->err);
        if (w->rc < 0)
            return NULL;
        memset(m->chunks + before, 0, (m->cap - before) * sizeof(*m->chunks));
    }
    if (!m->chunks[c]) {
        struct ts_error err = {0};
        m->chunks[c] = ts_budget_calloc(w->ctl->memory, MEMO_CHUNK, 1, &err);
        if (!m->chunks[c]) {
            w->rc = err.code;
            if (w->err)
                *w->err = err;
            return NULL;
        }
    }
    return &m->chunks[c][value % MEMO_CHUNK];
}

static bool ask(struct walk *w, size_t i, uint32_t value)
{
    uint8_t *answer = answer_of(w, &w->memos[i], value);
    if (!answer)
        return false;
    if (*answer == 0) {
        bool yes = w->conds[i].match(w->conds[i].arg, sto_uidtab__name(&w->cat->uids[STO_UID_TAGV], value));
        *answer = yes != w->conds[i].negate ? 2 : 1;
    }
    return *answer == 2;
}

static bool meets(struct walk *w, const struct sto_series *s)
{
    if (!s || (w->explicit_keys && s->n_tags != w->n_keys))
        return false;
    for (size_t i = 0; i < w->n_conds; i++) {
        if (!asks(&w->conds[i]))
            continue;
        unsigned t = 0;
        while (s->tags[t].k != w->conds[i].tagk) /* ends, because the series is in the set of the key */
            t++;
        if (!ask(w, i, s->tags[t].v))
            return false;
    }
    return true;
}

/* Keep the series that meet the conditions which no set decides. Ends early if w->rc is set. */
static roaring_bitmap_t *walk_set(struct walk *w, const roaring_bitmap_t *set)
{
    roaring_bitmap_t *kept = roaring_bitmap_create();
    uint32_t ids[WALK_BATCH], n;
    roaring_uint32_iterator_t it;
    roaring_init_iterator(set, &it);
    while (w->rc == 0 && (n = roaring_read_uint32_iterator(&it, ids, WALK_BATCH)) > 0) {
        uint32_t n_kept = 0;
        w->rc = look(w->ctl, w->err);
        for (uint32_t i = 0; i < n && w->rc == 0; i++)
            if (meets(w, sto_seriestab__get(&w->cat->series,
                                            ids[i]))) /* one may have been forgotten meanwhile */
                ids[n_kept++] = ids[i];
        roaring_bitmap_add_many(kept, n_kept, ids);
    }
    return kept;
}

/* Walk over a set and free it. NULL: *rc has the error. */
static roaring_bitmap_t *walk_over(struct walk *w, roaring_bitmap_t *set, int *rc)
{
    roaring_bitmap_t *kept = walk_set(w, set);
    roaring_bitmap_free(set);
    for (size_t i = 0; i < w->n_conds; i++) {
        struct memo *m = &w->memos[i];
        for (size_t c = 0; c < m->cap; c++)
            if (m->chunks[c])
                ts_budget_free(w->ctl->memory, m->chunks[c], MEMO_CHUNK);
        ts_budget_free(w->ctl->memory, m->chunks, m->cap * sizeof(*m->chunks));
    }
    *rc = w->rc;
    if (w->rc == 0)
        return kept;
    roaring_bitmap_free(kept);
    return NULL;
}

static unsigned count_keys(const struct sto_tag_cond *conds, size_t n_conds)
{
    unsigned n = 0;
    for (size_t i = 0; i < n_conds; i++) {
        size_t j = 0;
        while (j < i && conds[j].tagk != conds[i].tagk)
            j++;
        n += j == i;
    }
    return n;
}

/* Series of the metric. If a condition lists values, the set starts with these, so that one user of a million
 * costs one number rather than a copy of the set of the metric. *out_first is that condition, n_conds if
 * there is none. */
static roaring_bitmap_t *start_set(struct sto_catalog *cat, uint32_t metric, const struct sto_tag_cond *conds,
                                   size_t n_conds, const struct sto_select_ctl *ctl, size_t *out_first,
                                   struct ts_error *err)
{
    size_t i = 0;
    while (i < n_conds && (!conds[i].tagk || !conds[i].values || conds[i].negate))
        i++;
    *out_first = i;
    roaring_bitmap_t *set = i < n_conds ? unite(cat, &conds[i], ctl, err) : NULL;
    if (i < n_conds && !set)
        return NULL;
    pthread_mutex_lock(&cat->lock);
    sto_posting all = metric ? sto_tagindex__find(&cat->index, 0, metric) : 0;
    if (set)
        sto_posting__and_into(all, set);
    else
        set = sto_posting__copy(all);
    pthread_mutex_unlock(&cat->lock);
    return set;
}

int sto_select(struct sto_catalog *cat, uint32_t metric, const struct sto_tag_cond *conds, size_t n_conds,
               bool explicit_keys, const struct sto_select_ctl *ctl, roaring_bitmap_t **out_set,
               struct ts_error *err)
{
    static const struct sto_select_ctl no_limits;
    struct ts_error why = {0};
    size_t first;
    int rc = 0;
    *out_set = NULL;
    if (!ctl)
        ctl = &no_limits;
    roaring_bitmap_t *set = start_set(cat, metric, conds, n_conds, ctl, &first, &why);
    bool must_walk = explicit_keys;
    for (size_t i = 0; i < n_conds && set && rc == 0; i++) {
        if (i != first)
            rc = apply_sets(cat, &conds[i], set, ctl, &why);
        must_walk |= asks(&conds[i]);
    }
    if (set && rc == 0 && must_walk && !roaring_bitmap_is_empty(set)) {
        struct walk w = {.cat = cat,
                         .conds = conds,
                         .n_conds = n_conds,
                         .memos = ts_budget_calloc(ctl->memory, n_conds, sizeof(struct memo), &why),
                         .explicit_keys = explicit_keys,
                         .n_keys = count_keys(conds, n_conds),
                         .ctl = ctl,
                         .err = &why};
        rc = w.memos ? 0 : why.code;
        if (w.memos)
            set = walk_over(&w, set, &rc);
        ts_budget_free(ctl->memory, w.memos, w.memos ? n_conds * sizeof(struct memo) : 0);
    }
    if (!set || rc < 0) {
        if (set)
            roaring_bitmap_free(set);
        if (err)
            *err = why;
        return why.code ? why.code : rc ? rc : TS_ECANCELLED;
    }
    *out_set = set;
    return 0;
}
