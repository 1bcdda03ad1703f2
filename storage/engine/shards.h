/*
 * shards.h - changing the number of shards of a store.
 *
 * A shard is a part of all series by the low bits of a hash of their names. Files, names and small cells do not depend on it. The number
 * is in the manifest, and with it the ids of clients (once_all.h), which each shard remembers for itself. What somebody wants stands in
 * DIR/SHARDS until the store is closed in order: then no batch is on its way, everything is in files, and one edit of the manifest
 * changes the number and divides the ids anew. So a crash leaves the old number or the new one, each with ids that fit.
 *
 *   more shards   A shard becomes several. Each gets all ids of the former one: a sequence that the former shard added was added to all of its
 *                 series in one record of the log.
 *   fewer shards  Several shards become one, which remembers one sequence for an id. That is exact only if all of them have added the
 *                 same one; if not, a repeat that is still to come would be lost or added twice. Then the number stays, with a line in
 *                 the log, and the next close tries again; ids are forgotten counter_ids_kept_h (and two hours) after they came first.
 *
 * Alternatives: changing it while points come would need all handles of series, which every thread reads without a lock, to be made
 * again; dividing at the start would need the logs to be replayed twice.
 *
 * Format     docs/FORMAT.md "Wanted shards"
 * Threads    open and close: the caller's, no other thread runs; the others: any
 */
#ifndef STORAGE_ENGINE_SHARDS_H
#define STORAGE_ENGINE_SHARDS_H

#include "base/fs.h"

#include <stdint.h>

#define STO_SHARDS_NAME "SHARDS" /* in the data folder */
#define STO_SHARDS_MOST 4096u    /* as the key shards */

struct sto_engine;

/** Read DIR/SHARDS. 1; 0 = there is none; TS_ECORRUPT, TS_EIO, TS_ENOMEM, TS_EMFILE. */
int sto_shards_read(const struct ts_fs *fs, const char *dir, uint32_t *out_n, struct ts_error *err);
/** Take up what is wanted; what cannot be read is reported in the log, and nothing is wanted then. */
void sto_shards__open(struct sto_engine *e);
/** Everything is in files and no owner runs any more: change to the wanted number. 0, also if it has to wait; errors of the manifest, after
 * which it has the old number or the new one. */
int sto_shards__close(struct sto_engine *e, struct ts_error *err);

#endif
