/*
 * sst_int.h - an open pair of sorted files, shared by sst_read.c and sst_cur.c.
 */
#ifndef STORAGE_ENGINE_SST_INT_H
#define STORAGE_ENGINE_SST_INT_H

#include <stdatomic.h>

#include "storage/engine/sst_format.h"

/* One of the two files. */
struct sto_sst__file {
    struct ts_file *file;         /* NULL: not there */
    char *path;                   /* owned */
    uint64_t bytes;               /* its length */
    struct sto_sst_block *blocks; /* the index */
    uint32_t n_blocks;            /* its entries */
};

struct sto_sst {
    const struct ts_fs *fs;    /* borrowed */
    struct sto_sst__file t, s; /* points, summaries */
    struct sto_sst_info info;  /* as the manifest has it */
    roaring_bitmap_t *series;  /* series with rows */
    struct sto_tomb *tombs;    /* n_tombs, sorted */
    size_t n_tombs;
    struct sto_sst_wear wear; /* what deletes have done */
    size_t memory_bytes;      /* of all this */
    char *broken;             /* why it can't be read; NULL: it can; owned */
    atomic_uint refs;         /* the last unref frees */
    atomic_bool doomed;       /* and unlinks */
    atomic_bool no_remake;    /* it was tried and failed: not again until the file is opened anew */
    atomic_bool sums_lost;    /* there were summaries, and they are damaged; never cleared */
};

/** Bytes of block i of a file to buf (blocks[i].len bytes); they begin with the checksum that the index says.
 * Any thread. */
int sto_sst__read_block(struct sto_sst *sst, const struct sto_sst__file *f, uint32_t i, uint8_t *buf,
                        struct ts_error *err);

#endif
