/*
 * tagindex.h - sets of series by metric, by tag key and by tag pair.
 *
 * One hash table for all three: a pair (k, v) of ids from 1, with k = 0 for a metric v and v = 0 for "has the
 * key k".
 *
 * Threads    the catalog's lock; no I/O, no long work
 * Cost       27-32 bytes for a pair with one series (entry 16, hash table 11-16)
 * Not here   evaluating conditions (select.c)
 */
#ifndef STORAGE_CATALOG_TAGINDEX_H
#define STORAGE_CATALOG_TAGINDEX_H

#include "storage/catalog/idtab.h"
#include "storage/catalog/posting.h"
#include "storage/point.h"

#define STO_TAGINDEX_CHUNK 4096u /* entries allocated together */

/* A pair and its series. */
struct sto_tagindex_entry {
    uint32_t k, v;   /* see above */
    sto_posting set; /* series */
};

struct sto_tagindex {
    struct sto_idtab by_pair;           /* (k, v) -> number of entry */
    struct sto_tagindex_entry **chunks; /* owned; entries by number, STO_TAGINDEX_CHUNK each */
    uint32_t n_chunks;                  /* allocated */
    uint32_t n;                         /* entries in use or free */
    uint32_t n_free;                    /* free entries among them */
    /* number + 1 of the first free entry, whose v links to the next one in the same way; 0 = none */
    uint32_t first_free;
    struct sto_posting_pool pool; /* arrays of short sets */
};

/** Prefetch the memory that adding a series with these tags will touch. */
void sto_tagindex__prefetch(const struct sto_tagindex *ti, const struct sto_tag *tags, size_t n_tags);
/** Add a new series to the sets of its metric, keys and pairs. */
void sto_tagindex__add(struct sto_tagindex *ti, const struct sto_series *s);
/** The same for n series with ascending numbers that share metric and tag keys. */
void sto_tagindex__add_many(struct sto_tagindex *ti, const struct sto_series *const *series, size_t n);
/** Remove a series from the sets of its metric, keys and pairs; sets that become empty are removed. */
void sto_tagindex__remove(struct sto_tagindex *ti, const struct sto_series *s);
/** Set of a pair; 0 if there is none. Valid until the lock is released. */
sto_posting sto_tagindex__find(const struct sto_tagindex *ti, uint32_t k, uint32_t v);
/** Grow for n more pairs at once. */
void sto_tagindex__reserve(struct sto_tagindex *ti, uint64_t n_pairs);
/** Release; no reader may be running. */
void sto_tagindex__release(struct sto_tagindex *ti);
/** Memory in bytes, without that of bitmaps. */
size_t sto_tagindex__bytes(const struct sto_tagindex *ti);

#endif
