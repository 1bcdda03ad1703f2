/*
 * index.h - the index of a sorted file: where its blocks are, read page by page.
 *
 * An index is a list of entries, each encoded as its difference from the previous one. It is cut into pages
 * of a fixed number of entries. For each page a *fence* holds the state before it, where it begins and its
 * checksum, so that a page can be read on its own (32 bytes of memory for 256 blocks). Fences are made by
 * reading the index once from front to back: when its file is opened if the index is small, else when it is
 * first used or checked in the background. Pages are not part of the format, so files of every version have
 * them.
 *
 * Pages are read through a cache (pages.h). A merge, which reads a whole file, keeps a page of its own
 * instead and does not use the cache.
 *
 * Cost       a lookup about 0.1 us while its page is in the cache, 3 us from the page cache of the system;
 *            fences 10 ns a block
 * Threads    as stated at sto_index_load and sto_index_release; a reader belongs to one thread
 * Not here   bytes of an entry (sst_format.h)
 */
#ifndef STORAGE_ENGINE_FILES_INDEX_H
#define STORAGE_ENGINE_FILES_INDEX_H

#include <stdatomic.h>

#include "storage/engine/files/handles.h"
#include "storage/engine/files/pages.h"

/* What is needed to read a page on its own. */
struct sto_index_fence {
    struct sto_sst_index_at at; /* state before its first entry */
    uint64_t pos;               /* its offset in the file */
    uint32_t crc;               /* CRC-32C of its bytes */
};

/* The index of one open file. */
struct sto_index {
    struct sto_handle *file;                  /* borrowed */
    struct sto_pages *pages;                  /* borrowed; NULL: without a cache */
    uint64_t owner;                           /* number of the file in the cache */
    uint32_t n_blocks;                        /* entries */
    uint32_t page_blocks;                     /* entries of a page */
    uint32_t crc;                             /* CRC-32C of all its bytes */
    uint64_t off, end;                        /* its offsets in the file */
    uint64_t blocks_end;                      /* end of the blocks that it names */
    _Atomic(struct sto_index_fence *) fences; /* n_pages + 1; NULL: not made yet; owned */
};

/** Initialize an index with file, footer and cache (NULL: none). Nothing is read yet. The file outlives x. */
void sto_index_init(struct sto_index *x, struct sto_handle *file, uint64_t file_bytes,
                    const struct sto_sst_footer *foot, struct sto_pages *pages);
/** Release the fences and the cached pages; idempotent, also for {0}. No reader may be using it. */
void sto_index_release(struct sto_index *x);
/** Make the fences, unless they exist. Any thread. 0; TS_ECORRUPT naming file and offset; TS_EIO;
 * TS_ENOMEM; TS_EMFILE; TS_EBUSY: the thread must not wait (ts_fs_set_nowait), and the index is long or not in the
 * page cache, or the file is not open. */
int sto_index_load(struct sto_index *x, struct ts_error *err);
/** Memory of the fences, bytes. Any thread. */
size_t sto_index_memory(struct sto_index *x);

/* Reads entries of one index. Belongs to one thread. */
struct sto_index_reader {
    struct sto_index *x;  /* borrowed */
    bool alone;           /* does not use the cache: for a reader of a whole file */
    struct sto_page *own; /* the page read last, if alone is set or there is no cache; owned */
};
/* A block that was looked up. */
struct sto_index_hit {
    uint32_t i;                 /* number of the block */
    struct sto_sst_block block; /* its entry */
    struct sto_key before;      /* last key of the previous block; that of STO_SST_INDEX_BEGIN if this is the
                            * first */
};
/** Read the entry of block i, which must be below n_blocks. 0; < 0 as sto_index_load. */
int sto_index_at(struct sto_index_reader *r, uint32_t i, struct sto_index_hit *out, struct ts_error *err);
/** Find the first block whose last key is not below key. 1, 0 = there is none; < 0 as sto_index_load. */
int sto_index_find(struct sto_index_reader *r, const struct sto_key *key, struct sto_index_hit *out,
                   struct ts_error *err);
/** Release the reader's own page; idempotent. r can be used again. */
void sto_index_reader_release(struct sto_index_reader *r);

#endif
