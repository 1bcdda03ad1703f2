/*
 * fold.h - turns operations on one row, in order of arrival, into sorted cells; defines what put, add and
 * delete mean.
 *
 * For each offset the last put wins, and later adds are summed onto it; a delete removes what arrived before
 * it in its range. Versions (storage/versions.h) of an offset stay beside each other, in the order of arrival, as
 * many as their stamps say.
 *
 * Threads    pure functions
 * Not here   where operations come from (memstore.h), rows of several sources (merge.h)
 */
#ifndef STORAGE_ENGINE_MEMORY_FOLD_H
#define STORAGE_ENGINE_MEMORY_FOLD_H

#include "storage/point.h"

/* Bits of the value (TS_NUM_RAW, a NaN that no client can send) of a cell whose sum did not fit. It stays whatever is added, until a put
 * or a delete ends it; a scan for readers refuses a row that has it (merge/merge.c). */
#define STO_SUM_OVERFLOW 0x7ff80000004f5646ll

/** Does a cell have a sum that did not fit? */
static inline bool sto_sum_overflows(uint32_t meta, int64_t m)
{
    return m == STO_SUM_OVERFLOW && sto_meta_kind(meta) == TS_NUM_RAW;
}

/** a + b as STO_OP_ADD defines it. INT + INT is INT. Decimals and integers are added exactly while the sum, without its point, is at most
 * 2^53; every other sum is a double that is rounded once (DEC if it has a short decimal form). A sum of integers that
 * does not fit into 64 bits, and one of doubles that is not finite, is STO_SUM_OVERFLOW. */
struct ts_num sto_num_add(struct ts_num a, struct ts_num b);

/**
 * Apply n operations (PUT, ADD, and DEL whose offset and m are its first and last ms, inclusive; or KEEP and DEL).
 *
 * @param meta, m  in order of arrival; must not be arrays of out
 * @param out      sorted by offset, each offset once, PUT and ADD only; or whole versions; may become empty
 *
 * Cost: O(n) for puts and adds, O(n log n) with deletes; scratch of about 30 bytes an operation beyond 256.
 */
void sto_fold(const uint32_t *meta, const int64_t *m, uint32_t n, struct sto_cells *out);

/** Update a cell by writing (meta, m), a PUT or ADD, to the same offset. */
void sto_fold_on_top(uint32_t *cell_meta, int64_t *cell_m, uint32_t meta, int64_t m);

/** Compute uniform and common from the cells. O(n). */
void sto_fold_uniform(struct sto_cells *c);

#endif
