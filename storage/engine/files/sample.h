/*
 * sample.h - the points of some blocks of a sorted file, spread evenly over it, for estimates of what the file holds.
 *
 * Threads    one; the file stays open
 * Not here   what is estimated (engine/expire_cut.h)
 */
#ifndef STORAGE_ENGINE_FILES_SAMPLE_H
#define STORAGE_ENGINE_FILES_SAMPLE_H

#include "storage/engine/files/sst.h"

/* Called for each row, or piece of a long one, in key order. */
typedef void (*sto_sample_fn)(void *arg, const struct sto_key *key, uint32_t n_points);
/**
 * Read the rows of blocks of points.
 *
 * @param n_blocks  of so many, from the first one on at equal distances; all if the file has no more
 * @return 0; errors of reading the index or a block (sto_sst_cur_seek)
 *
 * Blocks: reads the file.   Cost: decodes the blocks, and a part of those behind them if a row goes on there.
 */
int sto_sample_rows(struct sto_sst *sst, uint32_t n_blocks, sto_sample_fn each, void *arg,
                    struct ts_error *err);

/** Number of blocks of points. */
uint32_t sto_sample_blocks(const struct sto_sst *sst);
/** Report the last key of each step-th block of points (step >= 1), in key order, with n_points 0. Reads the index only. Errors of reading it. */
int sto_sample_keys(struct sto_sst *sst, uint32_t step, sto_sample_fn each, void *arg, struct ts_error *err);

#endif
