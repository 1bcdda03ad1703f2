/*
 * spread.h - how the bytes of a sorted file are spread over the times of its points, from its index alone.
 *
 * Threads    one; the file stays open
 * Not here   what is done with it (engine/evict_pick.h)
 */
#ifndef STORAGE_ENGINE_FILES_SPREAD_H
#define STORAGE_ENGINE_FILES_SPREAD_H

#include "storage/engine/files/sst.h"

#define STO_SPREAD_PARTS 64u /* equal parts of the time of a file */

struct sto_spread {
    int64_t from_ms, end_ms;               /* hours of the first and the last point: [from, end) */
    uint64_t before[STO_SPREAD_PARTS + 1]; /* bytes of the parts before part i; the last one: of all */
};

/** Bytes that are spread evenly over [min_ms, max_ms]. */
void sto_spread_even(struct sto_spread *s, int64_t min_ms, int64_t max_ms, uint64_t bytes);
/**
 * The bytes of a file on the disk by the hours of its blocks. A block of several series counts evenly for all hours of the file.
 *
 * @return 0; errors of reading the index (sto_index_load); *out is even then
 *
 * Blocks: reads the index.   Cost: 0.1 us for each block.
 */
int sto_spread_of(struct sto_sst *sst, struct sto_spread *out, struct ts_error *err);
/** Bytes before a time; rises with it from 0 to before[STO_SPREAD_PARTS]. O(1). */
uint64_t sto_spread_before(const struct sto_spread *s, int64_t ms);

#endif
