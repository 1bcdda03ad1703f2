/*
 * cells.h - small named values: annotations, metadata, counters. In memory, logged in cells.log (record log).
 *
 * Threads    any thread, one mutex inside; sync waits outside of it share one fdatasync where they can
 */
#ifndef STORAGE_CELLS_H
#define STORAGE_CELLS_H

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"

struct sto_cellmap; /* the set of cells */
int sto_cellmap_open(const struct ts_fs *fs, const char *dir, bool read_only, bool sync, struct sto_cellmap **out_map, struct ts_error *err);
int sto_cellmap_close(struct sto_cellmap *map, struct ts_error *err);
/** Same contracts as sto_cell_* in store.h. */
int sto_cellmap_get(struct sto_cellmap *map, struct ts_slice key, struct ts_buf *out);
int sto_cellmap_put(struct sto_cellmap *map, struct ts_slice key, struct ts_slice value, struct ts_error *err);
int sto_cellmap_cas(struct sto_cellmap *map, struct ts_slice key, struct ts_slice expected, struct ts_slice value, struct ts_error *err);
int sto_cellmap_incr(struct sto_cellmap *map, struct ts_slice key, int64_t delta, int64_t *out_value, struct ts_error *err);
void sto_cellmap_each(struct sto_cellmap *map, struct ts_slice prefix, bool (*each)(void *arg, struct ts_slice key, struct ts_slice value), void *arg);
uint64_t sto_cellmap_bytes(const struct sto_cellmap *map);

#endif
