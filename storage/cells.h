/*
 * cells.h - small named values: annotations, metadata, counters. In memory in byte order, logged in cells.log
 * (record log), which is rewritten when it is mostly history.
 *
 * A change is visible to others at once and durable when its call returns 0. Calls that come together share
 * one write and one fdatasync. When the disk is full or fails, the calls under way answer with the error,
 * though their changes stay in memory and reach the log as soon as the disk takes them; later calls are
 * refused before they change anything.
 *
 * Format     docs/FORMAT.md "Cells"
 * Threads    any thread; one mutex for the cells, one for the log; the first is never held across I/O
 * Not here   what keys mean (query, tsd)
 */
#ifndef STORAGE_CELLS_H
#define STORAGE_CELLS_H

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"

#define STO_CELL_MAX_KEY_BYTES   65535u      /* longer keys are TS_ELIMIT; empty ones TS_EINVAL */
#define STO_CELL_MAX_VALUE_BYTES (16u << 20) /* longer values are TS_ELIMIT */

struct sto_cellmap; /* the set of cells */
/** Open dir/cells.log, or create it. read_only: TS_ENOTFOUND if it is missing; changes are TS_EINVAL. sync: changes are
 *  fdatasynced before they return; else they are handed to the kernel. Errors as sto_reclog_open. */
int sto_cellmap_open(const struct ts_fs *fs, const char *dir, bool read_only, bool sync,
                     struct sto_cellmap **out_map, struct ts_error *err);
/** The log is rewritten when it is twice the cells and this larger; 1 MiB unless told. Before others use the map. */
void sto_cellmap_set_grow_bytes(struct sto_cellmap *map, uint64_t n_bytes);
/** Write what is left, sync, close. No other call may be under way. NULL is harmless. */
int sto_cellmap_close(struct sto_cellmap *map, struct ts_error *err);
/** Copy of a value appended to out; TS_ENOTFOUND; TS_ELIMIT or TS_ENOMEM if out cannot hold it. */
int sto_cellmap_get(struct sto_cellmap *map, struct ts_slice key, struct ts_buf *out);
/** Set a cell. An empty value deletes (a missing cell too). later: readers see it at once, but it is durable only when sto_cellmap_sync or
 *  another change has returned 0. TS_EINVAL TS_ELIMIT TS_ENOMEM TS_ENOSPC TS_EIO. */
int sto_cellmap_put(struct sto_cellmap *map, struct ts_slice key, struct ts_slice value, bool later,
                    struct ts_error *err);
/** Set a cell if its present value equals expected (empty = it must be missing); TS_EEXIST if not. Errors as put. */
int sto_cellmap_cas(struct sto_cellmap *map, struct ts_slice key, struct ts_slice expected,
                    struct ts_slice value, bool later, struct ts_error *err);
/** Make all changes durable that were made so far; one sync. */
int sto_cellmap_sync(struct sto_cellmap *map, struct ts_error *err);
/** Add delta to a counter: 8 bytes, little-endian, missing = 0. TS_EINVAL if the cell is no counter, TS_ELIMIT if it
 *  would leave 64 bits; errors as put. out_value may be NULL. */
int sto_cellmap_incr(struct sto_cellmap *map, struct ts_slice key, int64_t delta, int64_t *out_value,
                     struct ts_error *err);
/** Cells whose key begins with prefix, in byte order; each returns false to stop. Called outside of the lock on copies
 *  (borrowed until it returns), so that it may call any function of the map. */
void sto_cellmap_each(struct sto_cellmap *map, struct ts_slice prefix,
                      bool (*each)(void *arg, struct ts_slice key, struct ts_slice value), void *arg);
/** The same for cells from <= key < to; an empty to: up to the last one. */
void sto_cellmap_range(struct sto_cellmap *map, struct ts_slice from, struct ts_slice to,
                       bool (*each)(void *arg, struct ts_slice key, struct ts_slice value), void *arg);
/** Memory of cells, bytes. */
uint64_t sto_cellmap_bytes(const struct sto_cellmap *map);

#endif
