/*
 * ingest_cache.c - buckets of spellings and the chain of who follows whom.
 *
 * A worker waits for its cache, so it grows a little at a time: buckets move from the old table when they are touched, and some
 * with each new entry; links come by pages. The largest table has 64 MiB: copying it at once would stop the worker.
 *
 * Threads    see ingest_cache.h
 * Not here   reading a line (line/put.c), making a series (ingest.c)
 */
#include "tsd/ingest/ingest_cache.h"

#include "base/array.h"
#include "base/hash.h"
#include "base/hugepage.h"

#define ICACHE_FIRST_BUCKETS 1024u
#define ICACHE_MOVE_PER_ADD  4u /* the old table is empty long before the next growth */
#define ICACHE_MIN_BYTES     ((size_t)1 << 20)

_Static_assert(sizeof(struct tsd_icache_bucket) == 64, "a bucket is a cache line");

/* Of the budget: half for buckets, a quarter for links, a quarter for spellings. */
void tsd_icache_init(struct tsd_icache *c, const struct sto_catalog *cat, size_t max_bytes)
{
    if (max_bytes < ICACHE_MIN_BYTES)
        max_bytes = ICACHE_MIN_BYTES;
    *c = (struct tsd_icache){.cat = cat};
    c->max_buckets = ICACHE_FIRST_BUCKETS;
    while (c->max_buckets < 1u << 28 && (size_t)c->max_buckets * 2 * sizeof(*c->buckets) <= max_bytes / 2)
        c->max_buckets *= 2;
    c->max_link_pages = (uint32_t)(max_bytes / 4 / (TSD_ICACHE_LINKS * sizeof(**c->links)));
    c->max_link_pages = c->max_link_pages ? c->max_link_pages : 1;
    c->max_spelling_bytes = max_bytes / 4;
    ts_arena_init(&c->arena, 4096);
    c->epoch = 0;
    tsd_icache_reset(c);
    c->n_resets = 0;
}

void tsd_icache_release(struct tsd_icache *c)
{
    ts_free(c->bucket_memory);
    ts_free(c->old_memory);
    for (uint32_t i = 0; i < c->n_link_pages; i++)
        ts_free(c->links[i]);
    ts_free(c->links);
    ts_free(c->spellings);
    ts_arena_release(&c->arena);
    c->buckets = c->old = NULL;
    c->bucket_memory = c->old_memory = NULL;
    c->links = NULL;
    c->spellings = NULL;
    c->n_buckets = c->n_moved = c->n_links = c->n_link_pages = c->n_spellings = c->max_spellings = 0;
}

/* Empty buckets on cache lines. Large ones take memory when they are first touched. */
static void icache_new_buckets(struct tsd_icache *c, uint32_t n)
{
    c->bucket_memory = ts_xcalloc((size_t)n + 1, sizeof(*c->buckets));
    ts_huge_pages(c->bucket_memory, ((size_t)n + 1) * sizeof(*c->buckets)); /* all pages are touched soon */
    uintptr_t line = sizeof(*c->buckets);
    c->buckets = (struct tsd_icache_bucket *)(((uintptr_t)c->bucket_memory + line - 1) / line * line);
    c->n_buckets = n;
}

void tsd_icache_reset(struct tsd_icache *c)
{
    tsd_icache_release(c);
    icache_new_buckets(c, ICACHE_FIRST_BUCKETS);
    c->n_used = 0;
    c->spelling_bytes = 0;
    c->epoch++;
    c->n_resets++;
    c->generation = c->cat ? sto_catalog_generation(c->cat) : 0;
}

size_t tsd_icache_bytes(const struct tsd_icache *c)
{
    return ((size_t)c->n_buckets + (c->old ? c->n_buckets / 2 : 0)) * sizeof(*c->buckets) +
           (size_t)c->n_links * sizeof(**c->links) + (size_t)c->n_link_pages * sizeof(*c->links) +
           (size_t)c->max_spellings * sizeof(*c->spellings) + c->arena.used_bytes;
}

uint64_t tsd_icache_hash(struct ts_slice metric, struct ts_slice tags)
{
    uint64_t h = ts_hash(metric.p, metric.n) * 0x9e3779b97f4a7c15ull ^ ts_hash(tags.p, tags.n);
    return h ^ h >> 32;
}

static uint32_t icache_tag(uint64_t hash)
{
    return (uint32_t)hash ? (uint32_t)hash : 1;
}

/* An entry into a bucket that has room. */
static bool icache_put(struct tsd_icache_bucket *b, uint32_t tag, uint32_t ref)
{
    for (unsigned i = 0; i < TSD_ICACHE_WAYS; i++)
        if (!b->hash[i]) {
            b->hash[i] = tag;
            b->ref[i] = ref;
            return true;
        }
    return false;
}

/* An old bucket's entries fall into two, by the next bit: nothing is lost. */
static void icache_move(struct tsd_icache *c, uint32_t k)
{
    struct tsd_icache_bucket *old = &c->old[k];
    for (unsigned i = 0; i < TSD_ICACHE_WAYS && old->hash[i]; i++)
        (void)icache_put(&c->buckets[(uint64_t)old->hash[i] * c->n_buckets >> 32], old->hash[i], old->ref[i]);
    old->hash[0] = 0;
}

/* Go on with the last growth. */
static void icache_move_some(struct tsd_icache *c, uint32_t n)
{
    for (; c->old && n > 0; n--) {
        icache_move(c, c->n_moved);
        if (++c->n_moved < c->n_buckets / 2)
            continue;
        ts_free(c->old_memory);
        c->old_memory = c->old = NULL;
    }
}

/* Bucket of a stored half hash: its high bits, so that growing needs no text. */
static struct tsd_icache_bucket *icache_bucket(struct tsd_icache *c, uint32_t tag)
{
    uint32_t k = (uint32_t)((uint64_t)tag * c->n_buckets >> 32);
    if (__builtin_expect(c->old != NULL, 0))
        icache_move(c, k / 2);
    return &c->buckets[k];
}

static bool icache_same(struct ts_slice metric, struct ts_slice tags, const char *text, uint32_t metric_len,
                        uint32_t text_len)
{
    return metric.n == metric_len && metric.n + 1 + tags.n == text_len && !memcmp(text, metric.p, metric.n) &&
           !memcmp(text + metric_len + 1, tags.p, tags.n);
}

/* What an entry stands for; 0 if its series is gone. */
static uintptr_t icache_ref(const struct tsd_icache *c, uint32_t ref)
{
    if (ref & TSD_ICACHE_SPELLING)
        return (uintptr_t)c->spellings[ref & ~TSD_ICACHE_SPELLING] | 1;
    return (uintptr_t)sto_series_get(c->cat, ref);
}

void tsd_icache_prefetch(const struct tsd_icache *c, uint64_t hash)
{
    uint32_t k = (uint32_t)((uint64_t)icache_tag(hash) * c->n_buckets >> 32);
    __builtin_prefetch(&c->buckets[k], 1);
    if (__builtin_expect(c->old != NULL, 0))
        __builtin_prefetch(&c->old[k / 2], 1);
}

uintptr_t tsd_icache_find(struct tsd_icache *c, uint64_t hash, struct ts_slice metric, struct ts_slice tags)
{
    uint32_t tag = icache_tag(hash);
    struct tsd_icache_bucket *b = icache_bucket(c, tag);
    for (unsigned i = 0; i < TSD_ICACHE_WAYS && b->hash[i]; i++) {
        if (b->hash[i] != tag)
            continue;
        uintptr_t ref = icache_ref(c, b->ref[i]);
        uint32_t metric_len, text_len;
        if (!ref)
            continue;
        const char *text = tsd_ref_text(ref, &metric_len, &text_len);
        if (!icache_same(metric, tags, text, metric_len, text_len))
            continue;
        if (i > 0) {
            uint32_t r = b->ref[i];
            b->hash[i] = b->hash[i - 1];
            b->ref[i] = b->ref[i - 1];
            b->hash[i - 1] = tag;
            b->ref[i - 1] = r;
        }
        return ref;
    }
    return 0;
}

static void icache_grow(struct tsd_icache *c)
{
    icache_move_some(c, UINT32_MAX);
    c->old_memory = c->bucket_memory;
    c->old = c->buckets;
    c->n_moved = 0;
    icache_new_buckets(c, c->n_buckets * 2);
}

/* A spelling that is not the text of its series: own copy. Resets the cache when spellings have used up their
 * share. */
static struct tsd_spelling *icache_spell(struct tsd_icache *c, struct ts_slice metric, struct ts_slice tags,
                                         const struct sto_series *series, uint32_t *out_index)
{
    size_t n = metric.n + 1 + tags.n;
    if (sizeof(struct tsd_spelling) + n > c->max_spelling_bytes / 16)
        return NULL;
    if (c->spelling_bytes + sizeof(struct tsd_spelling) + n > c->max_spelling_bytes)
        tsd_icache_reset(c);
    TS_ARRAY_GROW(c->spellings, c->n_spellings, c->max_spellings, 64);
    struct tsd_spelling *s = ts_arena_alloc(&c->arena, sizeof(*s) + n);
    *s = (struct tsd_spelling){.series = series, .metric_len = (uint32_t)metric.n, .text_len = (uint32_t)n};
    memcpy(s->text, metric.p, metric.n);
    s->text[metric.n] = ' ';
    memcpy(s->text + metric.n + 1, tags.p, tags.n);
    c->spelling_bytes += sizeof(*s) + n;
    *out_index = c->n_spellings;
    c->spellings[c->n_spellings++] = s;
    return s;
}

uintptr_t tsd_icache_add(struct tsd_icache *c, uint64_t hash, struct ts_slice metric, struct ts_slice tags,
                         const struct sto_series *series)
{
    uintptr_t result = (uintptr_t)series;
    uint32_t tag = icache_tag(hash), ref = series->id;
    if (!icache_same(metric, tags, sto_series_text(series).p, series->metric_len, series->text_len)) {
        struct tsd_spelling *s = icache_spell(c, metric, tags, series, &ref);
        if (!s)
            return 0;
        ref |= TSD_ICACHE_SPELLING;
        result = (uintptr_t)s | 1;
    } else if (ref & TSD_ICACHE_SPELLING) {
        return 0; /* numbers above 2^31 are found by the catalog alone */
    }
    icache_move_some(c, ICACHE_MOVE_PER_ADD);
    bool placed = icache_put(icache_bucket(c, tag), tag, ref);
    while (!placed && c->n_buckets < c->max_buckets && c->n_used > c->n_buckets) {
        icache_grow(c);
        placed = icache_put(icache_bucket(c, tag), tag, ref);
    }
    if (placed) {
        c->n_used++;
        return result;
    }
    struct tsd_icache_bucket *b = icache_bucket(c, tag);
    b->hash[TSD_ICACHE_WAYS - 1] = tag;
    b->ref[TSD_ICACHE_WAYS - 1] = ref;
    return result;
}

uintptr_t *tsd_icache_link_grow(struct tsd_icache *c, uint32_t id)
{
    uint32_t page = id / TSD_ICACHE_LINKS;
    if (page >= c->max_link_pages)
        return NULL;
    if (page >= c->n_link_pages) {
        uint32_t n = c->n_link_pages ? c->n_link_pages : 16;
        while (n <= page)
            n *= 2;
        uintptr_t **links = ts_xcalloc(n, sizeof(*links));
        for (uint32_t i = 0; i < c->n_link_pages; i++)
            links[i] = c->links[i];
        ts_free(c->links);
        c->links = links;
        c->n_link_pages = n;
    }
    if (!c->links[page]) {
        c->links[page] = ts_xcalloc(TSD_ICACHE_LINKS, sizeof(**c->links));
        c->n_links += TSD_ICACHE_LINKS;
    }
    return &c->links[page][id % TSD_ICACHE_LINKS];
}
