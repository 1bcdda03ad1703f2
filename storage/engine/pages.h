/*
 * pages.h - a cache of index pages, shared by all open sorted files.
 *
 * A page holds the entries of some hundred neighbouring blocks of one file (index.h cuts and reads pages). The cache is divided into
 * shards; each has a mutex, a hash table and the CLOCK algorithm: a page that was used since the hand passed it stays for another round.
 * Nobody keeps a page: who looks one up copies what he needs and leaves, so the cache never holds more than its limit.
 *
 * Source     CLOCK: F. J. Corbato, A Paging Experiment with the Multics System, 1968
 * Threads    any; a shard's mutex is held for a search in a page (about 50 ns), never across I/O
 * Not here   what is in a page, reading it (index.h)
 */
#ifndef STORAGE_ENGINE_PAGES_H
#define STORAGE_ENGINE_PAGES_H

#include "storage/engine/sst_format.h"

#define STO_PAGE_BLOCKS       256u          /* entries of a page: 10 KiB, 4 KiB in the file */
#define STO_PAGES_EAGER_BYTES (16u << 10)   /* an index up to this size is checked when its file is opened */
#define STO_PAGES_DEF_BYTES   (64ull << 20) /* limit of a cache unless somebody sets one */

/* Entries of neighbouring blocks. */
struct sto_page {
    uint64_t owner;                /* of which file; never used again */
    uint32_t no, n;                /* which page of it; its entries */
    bool used;                     /* since the hand passed */
    struct sto_page *next;         /* in its bucket */
    struct sto_page *left, *right; /* round the clock */
    struct sto_sst_block blocks[]; /* n of them */
};

struct sto_pages_opts {
    uint64_t limit_bytes; /* 0 = STO_PAGES_DEF_BYTES */
    uint32_t page_blocks; /* tests: entries of a page, 1 to STO_PAGE_BLOCKS; 0 = STO_PAGE_BLOCKS */
    bool late;            /* tests: no index is read when its file is opened, however small */
};

struct sto_pages;
/** An empty cache. Never NULL. */
struct sto_pages *sto_pages_new(const struct sto_pages_opts *opts);
/** Memory away; no file that uses it may be open. NULL is harmless. */
void sto_pages_free(struct sto_pages *c);
/** Entries of a page of the files that use it; c may be NULL. */
uint32_t sto_pages_blocks(const struct sto_pages *c);
/** Is an index of n_bytes checked when its file is opened? c may be NULL. */
bool sto_pages_eager(const struct sto_pages *c, uint64_t n_bytes);
/** A number for a file that uses any cache; never the same again. */
uint64_t sto_pages_owner(void);

/** Room for a page of n entries, to be filled and given to sto_pages_put or ts_free; NULL: no memory. */
struct sto_page *sto_page_new(uint64_t owner, uint32_t no, uint32_t n);
/** Look a page up: borrowed, with its shard locked, until sto_pages_leave. NULL: it is not here, nothing is locked. */
const struct sto_page *sto_pages_enter(struct sto_pages *c, uint64_t owner, uint32_t no);
/** End what sto_pages_enter began. */
void sto_pages_leave(struct sto_pages *c, const struct sto_page *page);
/** Keep a page, if the limit allows and it is not here yet; takes it over in any case. */
void sto_pages_put(struct sto_pages *c, struct sto_page *page);
/** Drop pages 0 to n - 1 of a file that is closed. */
void sto_pages_forget(struct sto_pages *c, uint64_t owner, uint32_t n);

struct sto_pages_stats {
    uint64_t bytes, limit_bytes;          /* held; at most */
    uint64_t n_hits, n_misses, n_evicted; /* lookups; pages dropped for others */
};
/** What the cache holds and has done. */
struct sto_pages_stats sto_pages_stats(struct sto_pages *c);

#endif
