/*
 * tagindex.c - sets of series by metric, tag key and tag pair.
 *
 * Threads    see tagindex.h
 */
#include "storage/catalog/tagindex.h"

#include <string.h>

#include "base/hash.h"

static uint32_t pair_hash(uint32_t k, uint32_t v)
{
    return (uint32_t)(ts_hash_u64((uint64_t)k << 32 | v) >> 32);
}

static struct sto_tagindex_entry *entry(const struct sto_tagindex *ti, uint32_t i)
{
    return &ti->chunks[i / STO_TAGINDEX_CHUNK][i % STO_TAGINDEX_CHUNK];
}

/* Number of the entry of a pair + 1; 0 = there is none. */
static uint32_t number_of(const struct sto_tagindex *ti, uint32_t k, uint32_t v)
{
    uint32_t i;
    for (struct sto_idtab_walk w = sto_idtab__walk(&ti->others, pair_hash(k, v)); sto_idtab__next(&w, &i);) {
        const struct sto_tagindex_entry *e = entry(ti, i);
        if (e->k == k && e->v == v)
            return i + 1;
    }
    return 0;
}

static struct sto_tagindex_firsts *firsts_of(const struct sto_tagindex *ti, uint32_t v)
{
    return (struct sto_tagindex_firsts *)(uintptr_t)sto_dense__get(&ti->firsts, v / STO_TAGINDEX_FIRSTS);
}

/* Set of a pair; NULL if there is none. */
static sto_posting *find(const struct sto_tagindex *ti, uint32_t k, uint32_t v)
{
    if (k && v) {
        struct sto_tagindex_firsts *f = firsts_of(ti, v);
        if (f && f->k[v % STO_TAGINDEX_FIRSTS] == k)
            return &f->set[v % STO_TAGINDEX_FIRSTS];
    }
    uint32_t n = number_of(ti, k, v);
    return n ? &entry(ti, n - 1)->set : NULL;
}

/* Empty set of a value without a first key, which k becomes; NULL if the value has one. */
static sto_posting *make_first(struct sto_tagindex *ti, uint32_t k, uint32_t v)
{
    struct sto_tagindex_firsts *f = firsts_of(ti, v);
    uint32_t number = v / STO_TAGINDEX_FIRSTS, place = v % STO_TAGINDEX_FIRSTS;
    if (!f) {
        f = ts_xcalloc(1, sizeof(*f));
        sto_dense__set(&ti->firsts, number, f);
        ti->n_firsts++;
        ti->firsts_end = number >= ti->firsts_end ? number + 1 : ti->firsts_end;
    }
    if (f->k[place])
        return NULL;
    f->n++;
    f->k[place] = k;
    return &f->set[place];
}

/* Number of an entry that is not in use. */
static uint32_t new_number(struct sto_tagindex *ti)
{
    if (ti->first_free) {
        uint32_t i = ti->first_free - 1;
        ti->first_free = entry(ti, i)->v;
        return i;
    }
    if (ti->n / STO_TAGINDEX_CHUNK == ti->n_chunks) {
        ti->chunks = ts_xrealloc(ti->chunks, (ti->n_chunks + 1) * sizeof(struct sto_tagindex_entry *));
        ti->chunks[ti->n_chunks++] = ts_xmalloc(STO_TAGINDEX_CHUNK * sizeof(struct sto_tagindex_entry));
    }
    return ti->n++;
}

static sto_posting *find_or_make(struct sto_tagindex *ti, uint32_t k, uint32_t v)
{
    sto_posting *set = find(ti, k, v);
    if (set)
        return set;
    ti->n_pairs++;
    set = k && v ? make_first(ti, k, v) : NULL;
    if (set)
        return set;
    uint32_t i = new_number(ti);
    *entry(ti, i) = (struct sto_tagindex_entry){.k = k, .v = v};
    sto_idtab__insert(&ti->others, pair_hash(k, v), i);
    return &entry(ti, i)->set;
}

/* Prefetch what adding to the set of a pair reads first. */
static void prefetch(const struct sto_tagindex *ti, uint32_t v)
{
    const struct sto_tagindex_firsts *f = firsts_of(ti, v);
    if (f) {
        __builtin_prefetch(&f->k[v % STO_TAGINDEX_FIRSTS]);
        __builtin_prefetch(&f->set[v % STO_TAGINDEX_FIRSTS]);
    }
}

void sto_tagindex__prefetch(const struct sto_tagindex *ti, const struct sto_tag *tags, size_t n_tags)
{
    for (size_t i = 0; i < n_tags; i++)
        prefetch(ti, tags[i].v);
}

void sto_tagindex__add(struct sto_tagindex *ti, const struct sto_series *s)
{
    sto_posting__add(find_or_make(ti, 0, s->metric), &ti->pool, s->id);
    for (unsigned i = 0; i < s->n_tags; i++) {
        sto_posting__add(find_or_make(ti, s->tags[i].k, 0), &ti->pool, s->id);
        sto_posting__add(find_or_make(ti, s->tags[i].k, s->tags[i].v), &ti->pool, s->id);
    }
}

/* Add the pairs of one tag for all series. */
static void add_pairs(struct sto_tagindex *ti, const struct sto_series *const *series, size_t n, unsigned tag)
{
    enum { AHEAD = 8 }; /* memory is prefetched for that many series ahead */
    uint32_t k = series[0]->tags[tag].k;
    sto_posting *set = NULL;
    for (size_t i = 0; i < n; i++) {
        if (i + AHEAD < n)
            prefetch(ti, series[i + AHEAD]->tags[tag].v);
        if (!set || series[i - 1]->tags[tag].v != series[i]->tags[tag].v)
            set = find_or_make(ti, k, series[i]->tags[tag].v);
        sto_posting__add(set, &ti->pool, series[i]->id);
    }
}

void sto_tagindex__add_many(struct sto_tagindex *ti, const struct sto_series *const *series, size_t n)
{
    if (n == 0)
        return;
    const struct sto_series *first = series[0];
    uint32_t *ids = ts_xmalloc(n * sizeof(*ids));
    for (size_t i = 0; i < n; i++)
        ids[i] = series[i]->id;
    sto_posting__add_many(find_or_make(ti, 0, first->metric), &ti->pool, ids, n);
    for (unsigned tag = 0; tag < first->n_tags; tag++) {
        sto_posting__add_many(find_or_make(ti, first->tags[tag].k, 0), &ti->pool, ids, n);
        add_pairs(ti, series, n, tag);
    }
    ts_free(ids);
}

/* The set of a value's first key became empty. */
static void remove_first(struct sto_tagindex *ti, struct sto_tagindex_firsts *f, uint32_t v)
{
    f->k[v % STO_TAGINDEX_FIRSTS] = 0;
    if (--f->n)
        return;
    sto_dense__clear(&ti->firsts, v / STO_TAGINDEX_FIRSTS);
    ti->n_firsts--;
    ts_free(f);
}

/* The set of an entry became empty. */
static void remove_entry(struct sto_tagindex *ti, uint32_t k, uint32_t v)
{
    uint32_t n = number_of(ti, k, v);
    sto_idtab__remove(&ti->others, pair_hash(k, v), n - 1);
    *entry(ti, n - 1) = (struct sto_tagindex_entry){.v = ti->first_free};
    ti->first_free = n;
}

static void remove_from(struct sto_tagindex *ti, uint32_t k, uint32_t v, uint32_t id)
{
    sto_posting *set = find(ti, k, v);
    if (!set)
        return;
    sto_posting__remove(set, &ti->pool, id);
    if (*set)
        return;
    ti->n_pairs--;
    struct sto_tagindex_firsts *f = k && v ? firsts_of(ti, v) : NULL;
    if (f && set == &f->set[v % STO_TAGINDEX_FIRSTS])
        remove_first(ti, f, v);
    else
        remove_entry(ti, k, v);
}

void sto_tagindex__remove(struct sto_tagindex *ti, const struct sto_series *s)
{
    remove_from(ti, 0, s->metric, s->id);
    for (unsigned i = 0; i < s->n_tags; i++) {
        remove_from(ti, s->tags[i].k, 0, s->id);
        remove_from(ti, s->tags[i].k, s->tags[i].v, s->id);
    }
}

sto_posting sto_tagindex__find(const struct sto_tagindex *ti, uint32_t k, uint32_t v)
{
    const sto_posting *set = find(ti, k, v);
    return set ? *set : 0;
}

void sto_tagindex__release(struct sto_tagindex *ti)
{
    for (uint32_t c = 0; c < ti->firsts_end; c++) {
        struct sto_tagindex_firsts *f =
            (struct sto_tagindex_firsts *)(uintptr_t)sto_dense__get(&ti->firsts, c);
        for (uint32_t i = 0; f && i < STO_TAGINDEX_FIRSTS; i++)
            sto_posting__free(f->set[i]);
        ts_free(f);
    }
    sto_dense__release(&ti->firsts);
    for (uint32_t i = 0; i < ti->n; i++)
        sto_posting__free(entry(ti, i)->set);
    for (uint32_t c = 0; c < ti->n_chunks; c++)
        ts_free(ti->chunks[c]);
    ts_free(ti->chunks);
    sto_idtab__release(&ti->others);
    ts_arena_release(&ti->pool.arena);
    memset(ti, 0, sizeof(*ti));
}

size_t sto_tagindex__bytes(const struct sto_tagindex *ti)
{
    return ti->n_firsts * sizeof(struct sto_tagindex_firsts) + ti->firsts_end * sizeof(sto_dense_slot) +
           sto_idtab__bytes(&ti->others) +
           ti->n_chunks * (STO_TAGINDEX_CHUNK * sizeof(struct sto_tagindex_entry) + sizeof(void *)) +
           ti->pool.arena.used_bytes;
}
