/*
 * fold.h - turns operations on one row, in order of arrival, into sorted cells; defines what put, add and
 * delete mean.
 *
 * For each offset the last put wins, and later adds are summed onto it; a delete removes what arrived before
 * it in its range.
 *
 * Threads    pure functions
 * Not here   where operations come from (memstore.h), rows of several sources (merge.h)
 */
#ifndef STORAGE_ENGINE_MEMORY_FOLD_H
#define STORAGE_ENGINE_MEMORY_FOLD_H

#include "storage/point.h"

/** a + b as STO_OP_ADD defines it: INT + INT is INT, or a double if 64 bits do not suffice; every other
 * sum is a double (DEC if it has a short decimal form). */
struct ts_num sto_num_add(struct ts_num a, struct ts_num b);

/**
 * Apply n operations (PUT, ADD, and DEL whose offset and m are its first and last ms, inclusive).
 *
 * @param meta, m  in order of arrival; must not be arrays of out
 * @param out      sorted by offset, each offset once, PUT and ADD only; may become empty
 *
 * Cost: O(n) for puts and adds, O(n log n) with deletes; scratch of about 30 bytes an operation beyond 256.
 */
void sto_fold(const uint32_t *meta, const int64_t *m, uint32_t n, struct sto_cells *out);

/** Update a cell by writing (meta, m), a PUT or ADD, to the same offset. */
void sto_fold_on_top(uint32_t *cell_meta, int64_t *cell_m, uint32_t meta, int64_t m);

/** Compute uniform and common from the cells. O(n). */
void sto_fold_uniform(struct sto_cells *c);

#endif
