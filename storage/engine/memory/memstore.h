/*
 * memstore.h - rows of one owner and one generation in memory: one writer, any number of readers without
 * locks.
 *
 *   root[slot >> 10] -> branch[slot >> 3 & 127] -> leaf: heads[slot & 7]
 *   head -> row (one hour) -> row (another hour) -> ...
 *   row: n (published with release) | 4 cells -> 8 cells -> ... -> 128 cells -> 128 cells
 *
 * The slot of a series is its dense number among the series of this owner. So memory depends on the series
 * that have rows here and hardly on the number of all series: 64 bytes a leaf, and 1 KiB for each 1,024
 * series of the owner.
 *
 * Cells are kept in order of arrival (= order of writing); a row remembers whether that is also the order of
 * time.
 *
 * Threads    the owner writes; readers see rows through acquire loads and hold a reference to the memstore
 * Invariant  a cell is appended only after it is in the log; rows and chunks never move
 * Not here   the log (wal.h), when to freeze (engine.c)
 */
#ifndef STORAGE_ENGINE_MEMORY_MEMSTORE_H
#define STORAGE_ENGINE_MEMORY_MEMSTORE_H

#include "storage/point.h"
#include "storage/slots.h"

struct sto_mem;
struct ts_budget;
struct sto_mem_row;

/* Owner numbers of memstores with rows that a scan has fetched from the remote store: of series that the catalog
 * has, and of foreign ones (STO_FOREIGN). No other memstore has rows of foreign series. */
#define STO_MEM_REMOTE  UINT16_MAX
#define STO_MEM_FOREIGN (UINT16_MAX - 1)

/** An empty memstore of a generation, with one reference. With n_owners > 1 it accepts only series whose
 * shard mod n_owners is owner. The spread is its own: that of the store may change while readers hold it. */
struct sto_mem *sto_mem_new(uint64_t gen, uint16_t owner, struct sto_shard_spread spread);
/** Does it accept a series? */
bool sto_mem_takes(const struct sto_mem *mem, const struct sto_series *series);
/** Count its rows and points in an account, which must outlive it. Call it while the memstore is empty. */
void sto_mem_count_in(struct sto_mem *mem, struct ts_budget *account);
/** Add a reference. */
struct sto_mem *sto_mem_ref(struct sto_mem *mem);
/** Remove a reference; the last one frees the memstore. NULL is ignored. */
void sto_mem_unref(struct sto_mem *mem);
/** The generation that it belongs to. */
uint64_t sto_mem_gen(const struct sto_mem *mem);
/** The owner that writes it. */
uint16_t sto_mem_owner(const struct sto_mem *mem);

/** Append n operations in order. Times lie within STO_MIN_TS_MS..STO_MAX_TS_MS (else TS_BUG); deletes may
 * have any range. A DEL deletes the points of its range in the memstore and leaves a tombstone for older
 * points. Owner only. Cost: about 20 ns a point (rows of points to come are prefetched). */
void sto_mem_apply(struct sto_mem *mem, const struct sto_point *points, size_t n);
/** Bytes that the account of sto_mem_count_in counts for it. */
size_t sto_mem_counted_bytes(const struct sto_mem *mem);
/** Memory it uses, bytes. Any thread; the value may be slightly out of date. */
size_t sto_mem_bytes(const struct sto_mem *mem);
/** Operations that it holds. Any thread; the value may be slightly out of date. */
uint64_t sto_mem_points(const struct sto_mem *mem);
/** Bounds of the times of its rows, rounded to whole hours; false if it has no row (tombstones do not
 * count). Any thread; the bounds may be slightly out of date. */
bool sto_mem_time_range(const struct sto_mem *mem, int64_t *out_min_ms, int64_t *out_max_ms);

/** First row of a series (any hour; the order of the list is unspecified); NULL if it has none, also for a
 * series of another owner. Any thread. */
const struct sto_mem_row *sto_mem_rows(const struct sto_mem *mem, const struct sto_series *series);
/** Next row of the same series; NULL at the end. */
const struct sto_mem_row *sto_mem_row_next(const struct sto_mem_row *row);
/** The series of a row. */
const struct sto_series *sto_mem_row_series(const struct sto_mem_row *row);
/** The hour of a row, counted since 1970. */
int32_t sto_mem_row_hour(const struct sto_mem_row *row);
/** Read the cells of a row as one consistent prefix (n is loaded once): sorted by offset, each offset
 * once, PUT and ADD only, deletes applied; or versions, trimmed, without a last one that is written just now. May
 * return n = 0. */
void sto_mem_row_read(const struct sto_mem_row *row, struct sto_cells *out);
/** Operations in a row, at least as many as sto_mem_row_read returns cells. For estimates. */
uint32_t sto_mem_row_n(const struct sto_mem_row *row);
/** Operations of a row, from the first one on, that the shipping pass has noted as sent. One thread at a time calls this function and
 * sto_mem_row_set_sent, which no other function of this header needs. */
uint32_t sto_mem_row_sent(const struct sto_mem_row *row);
/** Note that the first n operations were sent; numbers above 2^24 - 1 are reduced to that. */
void sto_mem_row_set_sent(const struct sto_mem_row *row, uint32_t n);
/**
 * Read the operations of a row from number `from` on, in the order of arrival, as sto_mem_row_read would if there were no others.
 *
 * @param out         additions without a put among these operations stay additions; deletes apply to these operations alone
 * @param out_n       [out] operations of the row, which the next call may begin with
 * @param out_mixed   [out] set if there are additions or deletes; else unchanged
 * @return whether all operations of the row are in the order of time, so that those read are later than those before
 */
bool sto_mem_row_read_from(const struct sto_mem_row *row, uint32_t from, struct sto_cells *out,
                           uint32_t *out_n, bool *out_mixed);
/** Iterate over all series that have rows: returns the first row of the next one, NULL at the end. Begin
 * with *pos = 0. Each series comes once, in no particular order. Any thread; series that are added
 * meanwhile may be missing. */
const struct sto_mem_row *sto_mem_walk(const struct sto_mem *mem, uint64_t *pos);
/** Tombstones for older generations, in order of arrival; *out_n is loaded with acquire. Borrowed; they
 * stay valid while the memstore is referenced. */
const struct sto_tomb *sto_mem_tombs(const struct sto_mem *mem, size_t *out_n);
/** Position of the last tombstone of a series; 0 = it has none. Any thread. Cost: one hash lookup. */
size_t sto_mem_tombs_last(const struct sto_mem *mem, uint32_t series);
/** The tombstone at a position; *out_before gets the position of the previous one of the same series (0 =
 * none). Any thread. */
const struct sto_tomb *sto_mem_tomb(const struct sto_mem *mem, size_t place, size_t *out_before);

#endif
