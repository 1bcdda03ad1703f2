/*
 * times.h - sorts the points of one series by time.
 *
 * Many points are sorted as numbers of 64 bits, a time and a place each, by radix from the lowest byte that differs; then each point moves
 * once. Few points, and those whose times and places need more bits, are merged bottom up.
 *
 * Threads    the scratch memory belongs to one thread
 * Cost       about 10 ns a point; 1 ns if they are in order
 */
#ifndef STORAGE_ENGINE_BULK_TIMES_H
#define STORAGE_ENGINE_BULK_TIMES_H

#include "storage/bulk.h"

/* Scratch memory; {0} is empty. */
struct sto_bulk_times {
    uint64_t *keys; /* owned, ts_free */
    size_t cap;     /* its elements */
};

/**
 * Sort points by time, stable, and leave the last one of equal times; versions (STO_OP_KEEP) are all left.
 *
 * @param p       n points of one series
 * @param aux     room for n points
 * @param out_n   [out] how many are left
 * @return p or aux, whichever has them; the other one is scratch. If there is no memory for keys, sorting takes longer.
 */
struct sto_bulk_point *sto_bulk_sort_times(struct sto_bulk_times *t, struct sto_bulk_point *p, size_t n,
                                           struct sto_bulk_point *aux, size_t *out_n);

#endif
