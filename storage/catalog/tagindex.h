/*
 * tagindex.h - sets of series by metric, by tag key and by tag pair.
 *
 * A pair (k, v) consists of ids from 1, with k = 0 for a metric v and v = 0 for "has the key k". Nearly every
 * value occurs with one key only, and new values get ascending ids: the first key of a value and its set are
 * stored by the id of the value. The sets of its other keys, of metrics and of keys are found by a hash table.
 *
 *   firsts   value / 512 -> chunk of keys and sets        others   (k, v) -> number -> entry
 *
 * Threads    the catalog's lock; no I/O, no long work
 * Cost       12 bytes for a value with one key and one series, and a write to memory that its predecessor has
 *            just written; 27-29 bytes for any other pair (entry 16, hash table 11-13). A chunk is freed when
 *            none of its 512 values is in use.
 * Not here   evaluating conditions (select.c)
 */
#ifndef STORAGE_CATALOG_TAGINDEX_H
#define STORAGE_CATALOG_TAGINDEX_H

#include "storage/catalog/dense.h"
#include "storage/catalog/idtab.h"
#include "storage/catalog/posting.h"
#include "storage/point.h"

#define STO_TAGINDEX_CHUNK  4096u /* entries allocated together */
#define STO_TAGINDEX_FIRSTS 512u  /* values whose first keys are allocated together */

/* A pair and its series. */
struct sto_tagindex_entry {
    uint32_t k, v;   /* see above */
    sto_posting set; /* series */
};

/* First keys of consecutive values. */
struct sto_tagindex_firsts {
    uint32_t n;                           /* values that have a first key */
    uint32_t k[STO_TAGINDEX_FIRSTS];      /* first key; 0 = none */
    sto_posting set[STO_TAGINDEX_FIRSTS]; /* series that have the value with this key */
};

struct sto_tagindex {
    struct sto_dense firsts;            /* value / STO_TAGINDEX_FIRSTS -> struct sto_tagindex_firsts, owned */
    uint32_t firsts_end;                /* highest number of a chunk that was allocated + 1 */
    uint32_t n_firsts;                  /* chunks allocated now */
    uint64_t n_pairs;                   /* sets that are not empty */
    struct sto_idtab others;            /* (k, v) -> number of entry */
    struct sto_tagindex_entry **chunks; /* owned; entries by number, STO_TAGINDEX_CHUNK each */
    uint32_t n_chunks;                  /* allocated */
    uint32_t n;                         /* entries in use or free */
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
/** Release; no reader may be running. */
void sto_tagindex__release(struct sto_tagindex *ti);
/** Memory in bytes, without that of bitmaps. */
size_t sto_tagindex__bytes(const struct sto_tagindex *ti);

#endif
