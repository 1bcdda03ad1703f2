/*
 * pages.h - a cache of index pages, shared by all open sorted files.
 *
 * A page holds the entries of a few hundred neighbouring blocks of one file (index.h cuts and reads them), or a part of its set of
 * series (sst_series.h).
 * The cache is divided into shards; each has a mutex, a hash table and the CLOCK algorithm: a page that was
 * used since the hand last reached it stays for another round. No reader keeps a page: it copies the entries
 * it needs while it holds the shard's mutex, so the cache never holds more than its limit.
 *
 * Source     CLOCK: F. J. Corbato, A Paging Experiment with the Multics System, 1968
 * Threads    any; a shard's mutex is held for a search in a page (about 50 ns), never across I/O
 * Not here   what is in a page, reading it (index.h, sst_series.h)
 */
#ifndef STORAGE_ENGINE_FILES_PAGES_H
#define STORAGE_ENGINE_FILES_PAGES_H

#include "storage/engine/files/sst_format.h"

#define STO_PAGE_BLOCKS 256u /* entries of a page: 10 KiB, 4 KiB in the file */
#define STO_PAGES_EAGER_BYTES                                                                                \
    (16u                                                                                                     \
     << 10) /* an index up to this size is checked when its file is opened, a set of series kept in memory */
#define STO_PAGES_DEF_BYTES (64ull << 20) /* default limit of a cache */

/* A part of an index or of a set of series. */
struct sto_page {
    uint64_t owner;                /* number of the index or set (sto_pages_owner); never reused */
    uint32_t no, n_bytes;          /* number of the page in it; length of bytes */
    bool used;                     /* since the hand last reached it */
    struct sto_page *next;         /* in its hash bucket */
    struct sto_page *left, *right; /* neighbours on the clock */
    _Alignas(8) uint8_t bytes[];   /* what its reader puts there */
};

struct sto_pages_opts {
    uint64_t limit_bytes; /* 0 = STO_PAGES_DEF_BYTES */
    uint32_t page_blocks; /* tests: entries of a page, 1 to STO_PAGE_BLOCKS; 0 = STO_PAGE_BLOCKS */
    bool late; /* tests: no index is read when its file is opened, and no set of series kept, however small */
};

struct sto_pages;
/** An empty cache. Never NULL. */
struct sto_pages *sto_pages_new(const struct sto_pages_opts *opts);
/** Free the cache; no file that uses it may be open. NULL is ignored. */
void sto_pages_free(struct sto_pages *c);
/** Entries of a page in the files that use this cache; c may be NULL. */
uint32_t sto_pages_blocks(const struct sto_pages *c);
/** Most bytes of a page of a set of series in the files that use this cache, 8 KiB; a single container may be longer. c may be NULL. */
uint32_t sto_pages_bytes(const struct sto_pages *c);
/** Is an index of n_bytes checked when its file is opened, a set of series of n_bytes kept in memory? c may be NULL. */
bool sto_pages_eager(const struct sto_pages *c, uint64_t n_bytes);
/** A number for an index or set that uses any cache; never returned again. */
uint64_t sto_pages_owner(void);

/** Allocate a page of n_bytes, to be filled and passed to sto_pages_put or ts_free; NULL: no memory. */
struct sto_page *sto_page_new(uint64_t owner, uint32_t no, uint32_t n_bytes);
/** Look a page up: borrowed, with its shard locked, until sto_pages_leave. NULL: it is not cached, and
 * nothing is locked. */
const struct sto_page *sto_pages_enter(struct sto_pages *c, uint64_t owner, uint32_t no);
/** Unlock the shard that sto_pages_enter locked. */
void sto_pages_leave(struct sto_pages *c, const struct sto_page *page);
/** Add a page, if the limit allows and it is not cached yet. Takes ownership in any case. */
void sto_pages_put(struct sto_pages *c, struct sto_page *page);
/** Drop pages 0 to n - 1 of an index or set whose file is closed. */
void sto_pages_forget(struct sto_pages *c, uint64_t owner, uint32_t n);

struct sto_pages_stats {
    uint64_t bytes, limit_bytes;          /* used; limit */
    uint64_t n_hits, n_misses, n_evicted; /* lookups; evicted pages */
};
/** Counters of the cache. Any thread. */
struct sto_pages_stats sto_pages_stats(struct sto_pages *c);

#endif
