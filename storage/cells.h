/*
 * cells.h - small cells, a key-value store for annotations, metadata and counters. Cells are in memory in
 * byte order and logged in cells.log, a record log that is rewritten when most of its records are obsolete.
 *
 * A change is visible to others at once and durable when its call returns 0. Concurrent calls share one write
 * and one fdatasync. When the disk is full or fails, the running calls return the error, although their
 * changes stay in memory and reach the log as soon as the disk accepts them; later calls are refused before
 * they change anything.
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
/** Open dir/cells.log, or create it. read_only: TS_ENOTFOUND if it is missing; changes fail with TS_EINVAL.
 * sync: changes are synced with fdatasync before they return, otherwise they are only written. Errors as for
 * sto_reclog_open. */
int sto_cellmap_open(const struct ts_fs *fs, const char *dir, bool read_only, bool sync,
                     struct sto_cellmap **out_map, struct ts_error *err);
/** The error that changes of a map opened with read_only get instead of TS_EINVAL (readonly.h). Borrowed until the map is
 * closed. To be called before other threads use the map. */
void sto_cellmap_set_read_only_why(struct sto_cellmap *map, const struct ts_error *why);
/**
 * To be called before other threads use the map.
 *
 * @param grow_bytes  size by which the log must grow before it is rewritten, which happens when it is twice as large as the
 *                    cells; 0 = 1 MiB
 * @param max_bytes   memory of cells, above which no cell is added and none becomes larger (TS_ENOSPC); 0 = no limit. Those of
 *                    the log are there whatever they take
 */
void sto_cellmap_set_sizes(struct sto_cellmap *map, uint64_t grow_bytes, uint64_t max_bytes);
/** Would the limit of memory let a cell have this value now? 0, or TS_ENOSPC with the text of a change that is refused. */
int sto_cellmap_check_room(struct sto_cellmap *map, struct ts_slice key, struct ts_slice value,
                           struct ts_error *err);
/** Write what is pending, sync and close. No other call may be running. NULL is ignored. */
int sto_cellmap_close(struct sto_cellmap *map, struct ts_error *err);
/** Append a copy of a value to out. TS_ENOTFOUND; TS_ELIMIT or TS_ENOMEM if out cannot hold it. */
int sto_cellmap_get(struct sto_cellmap *map, struct ts_slice key, struct ts_buf *out);
/** Set a cell; an empty value deletes it, and deleting a missing cell succeeds. later: readers see the change
 * at once, but it is durable only after sto_cellmap_sync or another change has returned 0. TS_EINVAL
 * TS_ELIMIT TS_ENOMEM TS_ENOSPC TS_EIO. */
int sto_cellmap_put(struct sto_cellmap *map, struct ts_slice key, struct ts_slice value, bool later,
                    struct ts_error *err);
/** Set a cell if its present value equals expected (empty: the cell must not exist); otherwise TS_EEXIST.
 * Errors as for put. */
int sto_cellmap_cas(struct sto_cellmap *map, struct ts_slice key, struct ts_slice expected,
                    struct ts_slice value, bool later, struct ts_error *err);
/** Make all changes made so far durable, with one sync. */
int sto_cellmap_sync(struct sto_cellmap *map, struct ts_error *err);
/** Add delta to a counter: 8 bytes, little-endian, missing = 0. TS_EINVAL if the cell is not a counter, TS_ELIMIT if it
 *  would leave 64 bits; errors as put. out_value may be NULL. */
int sto_cellmap_incr(struct sto_cellmap *map, struct ts_slice key, int64_t delta, int64_t *out_value,
                     struct ts_error *err);
/** Call each for the cells whose keys begin with prefix, in byte order, until it returns false. It runs
 * without the lock on copies (borrowed until it returns), so that it may call any function of the map. */
void sto_cellmap_each(struct sto_cellmap *map, struct ts_slice prefix,
                      bool (*each)(void *arg, struct ts_slice key, struct ts_slice value), void *arg);
/** The same for the cells with from <= key < to; an empty to means no upper bound. */
void sto_cellmap_range(struct sto_cellmap *map, struct ts_slice from, struct ts_slice to,
                       bool (*each)(void *arg, struct ts_slice key, struct ts_slice value), void *arg);
/** Memory that the cells use, bytes, with what the allocator adds. */
uint64_t sto_cellmap_bytes(const struct sto_cellmap *map);

#endif
