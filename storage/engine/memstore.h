/*
 * memstore.h - rows of one owner and one generation in memory: one writer, any number of readers without
 * locks.
 *
 *   root[slot >> 10] -> branch[slot >> 3 & 127] -> leaf: heads[slot & 7] -> row(hour) -> row(other hour) -> ...
 *   row: n (published with release) | chunk 4 cells -> 8 -> ... -> 128 -> 128
 *
 * The slot of a series is its dense number among the series of this owner, so that memory depends on the series that
 * have rows here and hardly on how many exist: 64 bytes a leaf, and 1 KiB for each 1,024 series of the owner.
 *
 * Cells are kept in the order of arrival (= order of writing); a row remembers whether that is also the order
 * of time.
 *
 * Threads    the owner writes; readers see rows through acquire loads and hold a reference to the memstore
 * Invariant  a cell is appended only after it is in the log; rows and chunks never move
 * Not here   the log (wal.h), when to freeze (engine.c)
 */
#ifndef STORAGE_ENGINE_MEMSTORE_H
#define STORAGE_ENGINE_MEMSTORE_H

#include "storage/point.h"

struct sto_mem;
struct ts_budget;
struct sto_mem_row;

/* How shards are spread over owners: shard mod n_owners owns it. */
struct sto_mem_spread {
    uint32_t n_shards; /* of the store, at least 1; sto_series.shard is below it */
    uint32_t n_owners; /* 1: the memstore takes series of every shard */
};

/** Empty memstore of a generation; count of references is 1. With n_owners > 1 only series whose shard mod n_owners is
 * owner may be put in. */
struct sto_mem *sto_mem_new(uint64_t gen, uint16_t owner, struct sto_mem_spread spread);
/** Count its rows and points in an account that outlives it; while it is empty. */
void sto_mem_count_in(struct sto_mem *mem, struct ts_budget *account);
/** One more reference. */
struct sto_mem *sto_mem_ref(struct sto_mem *mem);
/** The last one frees it. NULL is harmless. */
void sto_mem_unref(struct sto_mem *mem);
uint64_t sto_mem_gen(const struct sto_mem *mem);
/** Owner that writes it. */
uint16_t sto_mem_owner(const struct sto_mem *mem);

/** Append n operations, in order; times within STO_MIN_TS_MS..STO_MAX_TS_MS (TS_BUG), deletes of any range. A
 * DEL deletes what is in the memstore in its range and leaves a tombstone for what is older. Owner only.
 * Cost: ~20 ns a point (rows of points to come are prefetched). */
void sto_mem_apply(struct sto_mem *mem, const struct sto_point *points, size_t n);
/** Bytes that sto_mem_count_in's account counts for it. */
size_t sto_mem_counted_bytes(const struct sto_mem *mem);
/** Memory taken, bytes; points (operations) held. Any thread, may be a moment old. */
size_t sto_mem_bytes(const struct sto_mem *mem);
/** Operations in it; any thread. */
uint64_t sto_mem_points(const struct sto_mem *mem);
/** Bounds of the times of its rows, to whole hours; false if it has no row (tombstones do not count). Any
 * thread, may be a moment old. */
bool sto_mem_time_range(const struct sto_mem *mem, int64_t *out_min_ms, int64_t *out_max_ms);

/** First row of a series (any hour; list order unspecified), NULL if none, also for a series of another owner. Any
 * thread. */
const struct sto_mem_row *sto_mem_rows(const struct sto_mem *mem, const struct sto_series *series);
/** Next row of the same series, NULL at the end. */
const struct sto_mem_row *sto_mem_row_next(const struct sto_mem_row *row);
/** Its series. */
const struct sto_series *sto_mem_row_series(const struct sto_mem_row *row);
/** Its hour since 1970. */
int32_t sto_mem_row_hour(const struct sto_mem_row *row);
/** Cells of a row as one consistent prefix (one read of n): sorted by offset, each offset once, PUT and ADD
 * only, deletes carried out. May give n = 0. */
void sto_mem_row_read(const struct sto_mem_row *row, struct sto_cells *out);
/** Operations in a row: at least as many as sto_mem_row_read gives cells. For estimates. */
uint32_t sto_mem_row_n(const struct sto_mem_row *row);
/** Walk over all series that have rows: the first row of the next one, NULL at the end. Begin with *pos = 0; each series
 * comes once, in no particular order of numbers. Any thread; series that come meanwhile may be left out. */
const struct sto_mem_row *sto_mem_walk(const struct sto_mem *mem, uint64_t *pos);
/** Tombstones for older generations, in order of arrival; *out_n with acquire; borrowed, stable while
 * referenced. */
const struct sto_tomb *sto_mem_tombs(const struct sto_mem *mem, size_t *out_n);
/** Place of the last tombstone of a series, 0 = it has none. Any thread. Cost: one look into a hash. */
size_t sto_mem_tombs_last(const struct sto_mem *mem, uint32_t series);
/** The tombstone at a place, and the place of the one of the same series that came before it (0 = none). Any thread. */
const struct sto_tomb *sto_mem_tomb(const struct sto_mem *mem, size_t place, size_t *out_before);

#endif
