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

/* Number of a pair's entry + 1; 0 = there is none. */
static uint32_t number_of(const struct sto_tagindex *ti, uint32_t k, uint32_t v)
{
    uint32_t i;
    for (struct sto_idtab_walk w = sto_idtab__walk(&ti->by_pair, pair_hash(k, v)); sto_idtab__next(&w, &i);) {
        const struct sto_tagindex_entry *e = entry(ti, i);
        if (e->k == k && e->v == v)
            return i + 1;
    }
    return 0;
}

static struct sto_tagindex_entry *find(const struct sto_tagindex *ti, uint32_t k, uint32_t v)
{
    uint32_t n = number_of(ti, k, v);
    return n ? entry(ti, n - 1) : NULL;
}

static struct sto_tagindex_entry *find_or_make(struct sto_tagindex *ti, uint32_t k, uint32_t v)
{
    struct sto_tagindex_entry *e = find(ti, k, v);
    if (e)
        return e;
    if (ti->first_free) {
        uint32_t i = ti->first_free - 1;
        e = entry(ti, i);
        ti->first_free = e->v;
        ti->n_free--;
        *e = (struct sto_tagindex_entry){.k = k, .v = v};
        sto_idtab__insert(&ti->by_pair, pair_hash(k, v), i);
        return e;
    }
    if (ti->n / STO_TAGINDEX_CHUNK == ti->n_chunks) {
        ti->chunks = ts_xrealloc(ti->chunks, (ti->n_chunks + 1) * sizeof(struct sto_tagindex_entry *));
        ti->chunks[ti->n_chunks++] = ts_xmalloc(STO_TAGINDEX_CHUNK * sizeof(struct sto_tagindex_entry));
    }
    e = entry(ti, ti->n);
    *e = (struct sto_tagindex_entry){.k = k, .v = v};
    sto_idtab__insert(&ti->by_pair, pair_hash(k, v), ti->n++);
    return e;
}

void sto_tagindex__prefetch(const struct sto_tagindex *ti, const struct sto_tag *tags, size_t n_tags)
{
    for (size_t i = 0; i < n_tags; i++)
        sto_idtab__prefetch(&ti->by_pair, pair_hash(tags[i].k, tags[i].v));
}

void sto_tagindex__add(struct sto_tagindex *ti, const struct sto_series *s)
{
    sto_posting__add(&find_or_make(ti, 0, s->metric)->set, &ti->pool, s->id);
    for (unsigned i = 0; i < s->n_tags; i++) {
        sto_posting__add(&find_or_make(ti, s->tags[i].k, 0)->set, &ti->pool, s->id);
        sto_posting__add(&find_or_make(ti, s->tags[i].k, s->tags[i].v)->set, &ti->pool, s->id);
    }
}

/* Add the pairs of one tag for all series. */
static void add_pairs(struct sto_tagindex *ti, const struct sto_series *const *series, size_t n, unsigned tag)
{
    enum { AHEAD = 8 }; /* memory is prefetched for that many series ahead */
    uint32_t k = series[0]->tags[tag].k;
    struct sto_tagindex_entry *e = NULL;
    for (size_t i = 0; i < n; i++) {
        if (i + AHEAD < n)
            sto_idtab__prefetch(&ti->by_pair, pair_hash(k, series[i + AHEAD]->tags[tag].v));
        if (!e || e->v != series[i]->tags[tag].v)
            e = find_or_make(ti, k, series[i]->tags[tag].v);
        sto_posting__add(&e->set, &ti->pool, series[i]->id);
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
    sto_posting__add_many(&find_or_make(ti, 0, first->metric)->set, &ti->pool, ids, n);
    for (unsigned tag = 0; tag < first->n_tags; tag++) {
        sto_posting__add_many(&find_or_make(ti, first->tags[tag].k, 0)->set, &ti->pool, ids, n);
        add_pairs(ti, series, n, tag);
    }
    ts_free(ids);
}

static void remove_from(struct sto_tagindex *ti, uint32_t k, uint32_t v, uint32_t id)
{
    uint32_t n = number_of(ti, k, v);
    if (!n)
        return;
    struct sto_tagindex_entry *e = entry(ti, n - 1);
    sto_posting__remove(&e->set, &ti->pool, id);
    if (e->set)
        return;
    sto_idtab__remove(&ti->by_pair, pair_hash(k, v), n - 1);
    *e = (struct sto_tagindex_entry){.v = ti->first_free};
    ti->first_free = n;
    ti->n_free++;
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
    const struct sto_tagindex_entry *e = find(ti, k, v);
    return e ? e->set : 0;
}

void sto_tagindex__reserve(struct sto_tagindex *ti, uint64_t n_pairs)
{
    sto_idtab__reserve(&ti->by_pair, ti->n + n_pairs);
}

void sto_tagindex__release(struct sto_tagindex *ti)
{
    for (uint32_t i = 0; i < ti->n; i++)
        sto_posting__free(entry(ti, i)->set);
    for (uint32_t c = 0; c < ti->n_chunks; c++)
        ts_free(ti->chunks[c]);
    ts_free(ti->chunks);
    sto_idtab__release(&ti->by_pair);
    ts_arena_release(&ti->pool.arena);
    memset(ti, 0, sizeof(*ti));
}

size_t sto_tagindex__bytes(const struct sto_tagindex *ti)
{
    return sto_idtab__bytes(&ti->by_pair) +
           ti->n_chunks * (STO_TAGINDEX_CHUNK * sizeof(struct sto_tagindex_entry) + sizeof(void *)) +
           ti->pool.arena.used_bytes;
}
