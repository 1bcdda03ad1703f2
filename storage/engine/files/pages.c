/*
 * pages.c - the cache of index pages.
 *
 * Threads    pages.h
 */
#include "storage/engine/files/pages.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/hash.h"
#include "base/mem.h"

#define PAGES_SHARDS_MAX  16u
#define PAGES_SHARD_BYTES (256u << 10) /* a shard has at least this much; a small cache has fewer shards */
#define PAGES_BUCKETS_MIN 16u
#define PAGES_ENTRY_BYTES 32u /* pages of sets of series are as long as if an entry had so many bytes */

/* A part of the cache. */
struct pages_shard {
    pthread_mutex_t mu;        /* protects all members below */
    struct sto_page **buckets; /* n_buckets, a power of two */
    size_t n_buckets, n;       /* n: pages */
    struct sto_page *hand;     /* next to be looked at; NULL: empty */
    uint64_t bytes;            /* of pages and buckets */
    uint64_t n_hits, n_misses, n_evicted;
};

struct sto_pages {
    struct sto_pages_opts opts; /* with defaults filled in */
    uint64_t shard_bytes;       /* limit of a shard */
    unsigned n_shards;          /* a power of two */
    struct pages_shard shards[PAGES_SHARDS_MAX];
};

struct sto_pages *sto_pages_new(const struct sto_pages_opts *opts)
{
    struct sto_pages *c = ts_xcalloc(1, sizeof *c);
    c->opts = *opts;
    if (!c->opts.limit_bytes)
        c->opts.limit_bytes = STO_PAGES_DEF_BYTES;
    if (!c->opts.page_blocks || c->opts.page_blocks > STO_PAGE_BLOCKS)
        c->opts.page_blocks = STO_PAGE_BLOCKS;
    c->n_shards = 1;
    while (c->n_shards < PAGES_SHARDS_MAX && c->opts.limit_bytes / (c->n_shards * 2) >= PAGES_SHARD_BYTES)
        c->n_shards *= 2;
    c->shard_bytes = c->opts.limit_bytes / c->n_shards;
    for (unsigned i = 0; i < c->n_shards; i++)
        pthread_mutex_init(&c->shards[i].mu, NULL);
    return c;
}

void sto_pages_free(struct sto_pages *c)
{
    if (!c)
        return;
    for (unsigned i = 0; i < c->n_shards; i++) {
        struct pages_shard *s = &c->shards[i];
        for (size_t b = 0; b < s->n_buckets; b++)
            while (s->buckets[b]) {
                struct sto_page *page = s->buckets[b];
                s->buckets[b] = page->next;
                ts_free(page);
            }
        ts_free(s->buckets);
        pthread_mutex_destroy(&s->mu);
    }
    ts_free(c);
}

uint32_t sto_pages_blocks(const struct sto_pages *c)
{
    return c ? c->opts.page_blocks : STO_PAGE_BLOCKS;
}

uint32_t sto_pages_bytes(const struct sto_pages *c)
{
    return sto_pages_blocks(c) * PAGES_ENTRY_BYTES;
}

bool sto_pages_eager(const struct sto_pages *c, uint64_t n_bytes)
{
    return n_bytes <= STO_PAGES_EAGER_BYTES && !(c && c->opts.late);
}

uint64_t sto_pages_owner(void)
{
    static _Atomic uint64_t last;
    return atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1; /* needs no order; the values
                                                                           * only have to differ */
}

struct sto_page *sto_page_new(uint64_t owner, uint32_t no, uint32_t n_bytes)
{
    struct sto_page *page = ts_try_malloc(sizeof *page + n_bytes);
    if (page)
        *page = (struct sto_page){.owner = owner, .no = no, .n_bytes = n_bytes};
    return page;
}

static uint64_t page_hash(uint64_t owner, uint32_t no)
{
    return ts_hash_u64(owner << 24 ^ no);
}

static struct pages_shard *shard_of(struct sto_pages *c, uint64_t hash)
{
    return &c->shards[hash >> 60 & (c->n_shards - 1)];
}

static uint64_t page_bytes(const struct sto_page *page)
{
    return sizeof *page + page->n_bytes;
}

/* Find the pointer to a page in its bucket; *result is NULL if the page is not cached. */
static struct sto_page **place_of(struct pages_shard *s, uint64_t hash, uint64_t owner, uint32_t no)
{
    struct sto_page **at = &s->buckets[hash & (s->n_buckets - 1)];
    while (*at && ((*at)->owner != owner || (*at)->no != no))
        at = &(*at)->next;
    return at;
}

const struct sto_page *sto_pages_enter(struct sto_pages *c, uint64_t owner, uint32_t no)
{
    uint64_t hash = page_hash(owner, no);
    struct pages_shard *s = shard_of(c, hash);
    pthread_mutex_lock(&s->mu);
    struct sto_page *page = s->n ? *place_of(s, hash, owner, no) : NULL;
    if (page) {
        page->used = true;
        s->n_hits++;
        return page;
    }
    s->n_misses++;
    pthread_mutex_unlock(&s->mu);
    return NULL;
}

void sto_pages_leave(struct sto_pages *c, const struct sto_page *page)
{
    pthread_mutex_unlock(&shard_of(c, page_hash(page->owner, page->no))->mu);
}

/* Remove a page from its shard and free it. */
static void drop(struct pages_shard *s, struct sto_page **at)
{
    struct sto_page *page = *at;
    *at = page->next;
    if (s->hand == page)
        s->hand = page->right == page ? NULL : page->right;
    page->left->right = page->right;
    page->right->left = page->left;
    s->bytes -= page_bytes(page);
    s->n--;
    ts_free(page);
}

/* Free n_bytes: pages that were used since the hand last reached them stay for another round. */
static void evict(struct pages_shard *s, uint64_t limit_bytes, uint64_t n_bytes)
{
    while (s->hand && s->bytes + n_bytes > limit_bytes) {
        struct sto_page *page = s->hand;
        if (page->used) {
            page->used = false;
            s->hand = page->right;
            continue;
        }
        drop(s, place_of(s, page_hash(page->owner, page->no), page->owner, page->no));
        s->n_evicted++;
    }
}

/* Grow to at least as many buckets as pages; false: the shard's limit does not allow it. */
static bool grow_buckets(struct pages_shard *s, uint64_t limit_bytes)
{
    if (s->n < s->n_buckets)
        return true;
    size_t n = s->n_buckets ? s->n_buckets * 2 : PAGES_BUCKETS_MIN;
    uint64_t more = (n - s->n_buckets) * sizeof(struct sto_page *);
    if (s->bytes + more > limit_bytes)
        return s->n_buckets > 0;
    struct sto_page **buckets = ts_xcalloc(n, sizeof(struct sto_page *));
    for (size_t b = 0; b < s->n_buckets; b++)
        for (struct sto_page *page = s->buckets[b], *next; page; page = next) {
            next = page->next;
            size_t to = page_hash(page->owner, page->no) & (n - 1);
            page->next = buckets[to];
            buckets[to] = page;
        }
    ts_free(s->buckets);
    s->buckets = buckets;
    s->n_buckets = n;
    s->bytes += more;
    return true;
}

static bool insert(struct pages_shard *s, uint64_t limit_bytes, struct sto_page *page)
{
    uint64_t hash = page_hash(page->owner, page->no), n_bytes = page_bytes(page);
    if (!grow_buckets(s, limit_bytes) || s->n_buckets * sizeof(struct sto_page *) + n_bytes > limit_bytes ||
        *place_of(s, hash, page->owner, page->no))
        return false;
    evict(s, limit_bytes, n_bytes);
    struct sto_page **at = &s->buckets[hash & (s->n_buckets - 1)];
    page->next = *at;
    *at = page;
    page->right = s->hand ? s->hand : page; /* just behind the hand, which reaches it last */
    page->left = s->hand ? s->hand->left : page;
    page->left->right = page;
    page->right->left = page;
    s->hand = s->hand ? s->hand : page;
    s->bytes += n_bytes;
    s->n++;
    return true;
}

void sto_pages_put(struct sto_pages *c, struct sto_page *page)
{
    struct pages_shard *s = shard_of(c, page_hash(page->owner, page->no));
    pthread_mutex_lock(&s->mu);
    bool kept = insert(s, c->shard_bytes, page);
    pthread_mutex_unlock(&s->mu);
    if (!kept)
        ts_free(page);
}

void sto_pages_forget(struct sto_pages *c, uint64_t owner, uint32_t n)
{
    for (uint32_t no = 0; no < n; no++) {
        uint64_t hash = page_hash(owner, no);
        struct pages_shard *s = shard_of(c, hash);
        pthread_mutex_lock(&s->mu);
        struct sto_page **at = s->n ? place_of(s, hash, owner, no) : NULL;
        if (at && *at)
            drop(s, at);
        pthread_mutex_unlock(&s->mu);
    }
}

struct sto_pages_stats sto_pages_stats(struct sto_pages *c)
{
    struct sto_pages_stats all = {.limit_bytes = c->opts.limit_bytes};
    for (unsigned i = 0; i < c->n_shards; i++) {
        struct pages_shard *s = &c->shards[i];
        pthread_mutex_lock(&s->mu);
        all.bytes += s->bytes;
        all.n_hits += s->n_hits;
        all.n_misses += s->n_misses;
        all.n_evicted += s->n_evicted;
        pthread_mutex_unlock(&s->mu);
    }
    return all;
}
