/*
 * shards.h - changing the number of shards of a store.
 *
 * A shard is a part of all series by the low bits of a hash of their names. Files, names and small cells do not depend on it. The number
 * is in the manifest, and with it the ids of clients (once_all.h), which each shard remembers for itself. What somebody wants stands in
 * DIR/SHARDS until one edit of the manifest changes the number and the ids together. So a crash leaves the old number or the new one, each with ids that fit.
 *
 *   in use        The flush thread first sees whether the ids let it, and flushes most of what is in memory. Then it stops all writers (stop.h), so that no batch is on its
 *                 way, flushes the rest, edits the manifest, and lets owners continue with a generation whose memstores, logs and tables belong to
 *                 the new shards. Readers notice nothing: memstores and series stay as they are (storage/slots.h).
 *   closing       Everything is in files and no owner runs any more. This is for stores without a flush thread, and for a wish that still waits.
 *
 *   more shards   A shard becomes several. Each gets all ids of the former one: a sequence that the former shard added was added to all of its
 *                 series in one record of the log.
 *   fewer shards  Several shards become one, which remembers one sequence for an id. That is exact only if all of them have added the
 *                 same one; if not, a repeat that is still to come would be lost or added twice. Then the number stays, with a line in
 *                 the log, and the change is tried again; ids are forgotten counter_ids_kept_h (and two hours) after they came first.
 *   refusals      While a refused sequence has to come again before later ones, the number stays, too: of the shards that take part of it after the change, some
 *                 may get no part of it, and would wait for ever. Closing ends all streams, and with them refusals.
 *
 * Alternatives: shards as part of the number of a series would have to be changed in all series, which every thread reads without a lock;
 * dividing at the start would need the logs to be replayed twice.
 *
 * Format     docs/FORMAT.md "Wanted shards"
 * Threads    open and close: the caller's, no other thread runs; tick: the flush thread; the others: any
 */
#ifndef STORAGE_ENGINE_SHARDS_H
#define STORAGE_ENGINE_SHARDS_H

#include "base/fs.h"
#include "storage/sizes.h"

#include <stdint.h>

#define STO_SHARDS_NAME "SHARDS" /* in the data folder */

struct sto_engine;

/** Read DIR/SHARDS. 1; 0 = there is none; TS_ECORRUPT, TS_EIO, TS_ENOMEM, TS_EMFILE. */
int sto_shards_read(const struct ts_fs *fs, const char *dir, uint32_t *out_n, struct ts_error *err);
/** Take up what is wanted; what cannot be read is reported in the log, and nothing is wanted then. */
void sto_shards__open(struct sto_engine *e);
/** Change to the wanted number if there is another one, and it is time to try. The flush thread, without locks. Blocks: two flushes; puts wait for the last
 * part of it. */
void sto_shards__tick(struct sto_engine *e);
/** If the manifest may have a number of shards that owners do not use, write the one that they use. Before anything is flushed; flush_mu held. 0; errors of the manifest. */
int sto_shards__settle(struct sto_engine *e, struct ts_error *err);
/** The figures for sto_engine_stats. Any thread. */
void sto_shards__stats(struct sto_engine *e, void (*each)(void *arg, const char *name, uint64_t value),
                       void *arg);
/** Everything is in files and no owner runs any more: change to the wanted number. 0, also if it has to wait; errors of the manifest, after
 * which it has the old number or the new one. */
int sto_shards__close(struct sto_engine *e, struct ts_error *err);

#endif
