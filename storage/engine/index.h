/*
 * index.h - where the blocks of a sorted file are: its index, read by pages.
 *
 * An index is a list of entries, each told as its difference from the one before. It is cut into pages of a fixed number of entries;
 * for each page a *fence* says what stands before it, where it begins and which checksum it has, so that a page can be read by itself
 * (32 bytes of memory for 256 blocks). Fences are made by reading the index once from front to back: when its file is opened if it is
 * small, else when it is first used or checked in the background. Files of every version have pages that way.
 *
 * Pages are read through a cache (pages.h). Who walks a whole file (a merge) keeps a page of its own instead and leaves the cache alone.
 *
 * Cost       a lookup about 0.1 us while its page is in the cache, 3 us from the page cache of the system; fences 10 ns a block
 * Threads    sto_index_load and sto_index_release as said there; a reader belongs to one thread
 * Not here   bytes of an entry (sst_format.h)
 */
#ifndef STORAGE_ENGINE_INDEX_H
#define STORAGE_ENGINE_INDEX_H

#include <stdatomic.h>

#include "base/fs.h"
#include "storage/engine/pages.h"

/* What is needed to read a page. */
struct sto_index_fence {
    struct sto_sst_index_at at; /* what stands before its first entry */
    uint64_t pos;               /* where it begins, in the file */
    uint32_t crc;               /* CRC-32C of its bytes */
};

/* The index of one open file. */
struct sto_index {
    const struct ts_fs *fs;                   /* borrowed */
    struct ts_file *file;                     /* borrowed */
    const char *path;                         /* borrowed */
    struct sto_pages *pages;                  /* borrowed; NULL: without a cache */
    uint64_t owner;                           /* in the cache */
    uint32_t n_blocks;                        /* entries */
    uint32_t page_blocks;                     /* of them in a page */
    uint32_t crc;                             /* CRC-32C of all its bytes */
    uint64_t off, end;                        /* where it lies */
    uint64_t blocks_end;                      /* where the blocks end that it names */
    _Atomic(struct sto_index_fence *) fences; /* n_pages + 1; NULL: not read yet; owned */
};

/** Nothing is read yet. Names file, footer and cache (NULL: none) of an index. */
void sto_index_init(struct sto_index *x, const struct ts_fs *fs, struct ts_file *file, const char *path,
                    uint64_t file_bytes, const struct sto_sst_footer *foot, struct sto_pages *pages);
/** Fences and pages away. Nobody may read any more; harmless for {0}. */
void sto_index_release(struct sto_index *x);
/** Make the fences, unless they are there. Any thread. 0; TS_ECORRUPT naming file and offset; TS_EIO; TS_ENOMEM; TS_EBUSY: the thread
 * must not wait (ts_fs_set_nowait), and the index is long or not in the page cache. */
int sto_index_load(struct sto_index *x, struct ts_error *err);
/** Memory of the fences, bytes. Any thread. */
size_t sto_index_memory(struct sto_index *x);

/* Reads entries of one index. */
struct sto_index_reader {
    struct sto_index *x;  /* borrowed */
    bool alone;           /* leaves the cache alone: for whoever walks a whole file */
    struct sto_page *own; /* the page read last, if alone or there is no cache; owned */
};
/* A block, and what its entry is looked up for. */
struct sto_index_hit {
    uint32_t i;                 /* number of the block */
    struct sto_sst_block block; /* its entry */
    struct sto_key before; /* last key of the block before; that of STO_SST_INDEX_BEGIN if it is the first */
};
/** Entry of block i, which must be below n_blocks. 0; < 0 as sto_index_load. */
int sto_index_at(struct sto_index_reader *r, uint32_t i, struct sto_index_hit *out, struct ts_error *err);
/** The first block whose last key is not below key. 1, 0 = there is none; < 0 as sto_index_load. */
int sto_index_find(struct sto_index_reader *r, const struct sto_key *key, struct sto_index_hit *out,
                   struct ts_error *err);
/** Page of its own away; r can be used again. */
void sto_index_reader_release(struct sto_index_reader *r);

#endif
