/*
 * ingest_cache.h - from the text "metric tags" as a sender spells it to its series, without locks or
 * allocation.
 *
 * There are two ways to look up a text. Collectors repeat their order, so each spelling remembers which one
 * followed it last time: the guess costs two memcmp and no hash (docs/ARCHITECTURE.md). If it is wrong, a
 * hash table is searched, whose buckets are one cache line each.
 *
 *   ref:  pointer to a sto_series whose text is the spelling, or pointer | 1 to a tsd_spelling (other order
 * of tags, double blanks); 0 = none
 *
 * The table grows up to its share of the budget; then a new entry replaces the last one of its bucket, and a
 * hit moves an entry one place forward, so that a flood of new names displaces few busy ones.
 *
 * Threads    one worker
 * Invariant  a ref is valid until tsd_icache_reset, which increments `epoch`
 */
#ifndef TSD_INGEST_INGEST_CACHE_H
#define TSD_INGEST_INGEST_CACHE_H

#include "base/mem.h"
#include "storage/store.h"

#define TSD_ICACHE_WAYS  8     /* entries of a bucket: 64 bytes */
#define TSD_ICACHE_LINKS 4096u /* links of a page */

/* A text that clients send for a series and that differs from the catalog's, for instance in the order of the tags. */
struct tsd_spelling {
    const struct sto_series *series; /* the series that it names */
    uintptr_t next;                  /* ref of the spelling that followed last time */
    uint32_t metric_len, text_len;   /* bytes of the metric and of all of text */
    char text[];                     /* metric, a blank, tags as sent */
};

struct tsd_icache_bucket {
    uint32_t hash[TSD_ICACHE_WAYS]; /* low half of the hash, never 0; 0 = free */
    uint32_t ref[TSD_ICACHE_WAYS];  /* number of the series; TSD_ICACHE_SPELLING | index of a spelling */
};
#define TSD_ICACHE_SPELLING 0x80000000u

struct tsd_icache {
    const struct sto_catalog *cat;     /* number -> series */
    struct tsd_icache_bucket *buckets; /* n_buckets, a power of two; within bucket_memory */
    struct tsd_icache_bucket
        *old; /* half as many from before the last growth, as far as they are not moved; NULL = all are */
    void *bucket_memory, *old_memory; /* what is freed */
    uint32_t n_buckets;               /* now */
    uint32_t n_moved;                 /* of old, from the front */
    uint32_t max_buckets;             /* share of the budget */
    uint32_t n_used;                  /* entries in use */
    uintptr_t **links; /* by number of series, in pages: ref of the spelling that followed last time */
    uint32_t n_link_pages, max_link_pages;     /* room in links; at most */
    uint32_t n_links;                          /* in the pages that are there */
    struct tsd_spelling **spellings;           /* by index */
    uint32_t n_spellings, max_spellings;       /* in use, room in the array */
    struct ts_arena arena;                     /* of spellings */
    size_t spelling_bytes, max_spelling_bytes; /* text and structs of spellings: now and at most */
    uint32_t epoch;                            /* incremented at each reset */
    uint64_t generation;                       /* of the catalog when the cache was empty last */
    uint64_t n_resets;                         /* for stats */
};

/** Empty cache of at most max_bytes. cat is borrowed for life. */
void tsd_icache_init(struct tsd_icache *c, const struct sto_catalog *cat, size_t max_bytes);
/** Release; idempotent. */
void tsd_icache_release(struct tsd_icache *c);
/** Empty the cache: names were renamed, or spellings have used up their share. */
void tsd_icache_reset(struct tsd_icache *c);
/** Bytes taken now. */
size_t tsd_icache_bytes(const struct tsd_icache *c);

/** Hash of a spelling in its two parts. */
uint64_t tsd_icache_hash(struct ts_slice metric, struct ts_slice tags);
/** The ref of a spelling, 0 if not known. */
uintptr_t tsd_icache_find(struct tsd_icache *c, uint64_t hash, struct ts_slice metric, struct ts_slice tags);
/** Prefetch the memory that tsd_icache_find reads first. */
void tsd_icache_prefetch(const struct tsd_icache *c, uint64_t hash);
/** Remember a spelling of a series; returns its ref, 0 if it can't be kept. May reset the cache first. */
uintptr_t tsd_icache_add(struct tsd_icache *c, uint64_t hash, struct ts_slice metric, struct ts_slice tags,
                         const struct sto_series *series);
/** Place where the successor of ref is stored; NULL if there is none. Valid until the next tsd_icache_add. */
uintptr_t *tsd_icache_link_grow(struct tsd_icache *c, uint32_t id);

/** Series of a ref that is not 0. */
static inline const struct sto_series *tsd_ref_series(uintptr_t ref)
{
    if (ref & 1)
        return ((const struct tsd_spelling *)(ref - 1))->series;
    return (const struct sto_series *)ref;
}
/** Text of a ref that is not 0, and its lengths. */
static inline const char *tsd_ref_text(uintptr_t ref, uint32_t *out_metric_len, uint32_t *out_text_len)
{
    if (__builtin_expect(ref & 1, 0)) {
        const struct tsd_spelling *s = (const struct tsd_spelling *)(ref - 1);
        *out_metric_len = s->metric_len;
        *out_text_len = s->text_len;
        return s->text;
    }
    const struct sto_series *s = (const struct sto_series *)ref;
    *out_metric_len = s->metric_len;
    *out_text_len = s->text_len;
    return sto_series_text(s).p;
}
/** Place of the successor of ref; NULL if none can be allocated. */
static inline uintptr_t *tsd_icache_link(struct tsd_icache *c, uintptr_t ref)
{
    if (__builtin_expect(ref & 1, 0))
        return &((struct tsd_spelling *)(ref - 1))->next;
    uint32_t id = ((const struct sto_series *)ref)->id, page = id / TSD_ICACHE_LINKS;
    if (__builtin_expect(page < c->n_link_pages && c->links[page], 1))
        return &c->links[page][id % TSD_ICACHE_LINKS];
    return tsd_icache_link_grow(c, id);
}

#endif
