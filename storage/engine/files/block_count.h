/*
 * block_count.h - count the blocks of a sorted file that hold given rows, from its index alone.
 *
 * Threads    one; the file stays open
 * Not here   which rows a scan wants (cost.h)
 */
#ifndef STORAGE_ENGINE_FILES_BLOCK_COUNT_H
#define STORAGE_ENGINE_FILES_BLOCK_COUNT_H

#include "storage/engine/files/index.h"

/* Blocks of points, or of summaries, counted so far. Rows are looked up in the order of keys; each block is counted once. */
struct sto_block_count {
    struct sto_sst *sst;
    struct sto_sst__file *f;       /* points or summaries of sst */
    struct sto_index_reader index; /* of f */
    uint32_t next;                 /* first block that is not passed */
    uint64_t n, bytes;             /* counted; output */
};

/** Count from zero. sst is borrowed; release with sto_block_count_release. */
struct sto_block_count sto_block_count_of(struct sto_sst *sst, enum sto_sst_what what);
/** Add the blocks with rows of a series in hours lo..hi. Keys must not descend from call to call.
 *  0; TS_EIO TS_ECORRUPT TS_ENOMEM: the index can't be read. Cost: a search of the index and a step for each block. */
int sto_block_count_add(struct sto_block_count *c, uint32_t metric, uint32_t series, int32_t lo, int32_t hi,
                        struct ts_error *err);
/** Give up the page of the index. */
void sto_block_count_release(struct sto_block_count *c);
/** Bytes of all blocks of the file. */
uint64_t sto_block_count_file_bytes(const struct sto_block_count *c);

#endif
