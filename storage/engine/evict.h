/*
 * evict.h - keeps the store within its limit of bytes: measures it, chooses the cutoff, and has what is before it removed.
 *
 *   bytes of files, logs, names -> evict_pick.h -> DIR/QUOTA -> cutoff of the manifest (retention.h) -> files go; merges leave out rows
 *
 * What counts are the files of the present version and everything in the data folder but what is being written: outputs of a merge count when
 * they replace its inputs, a bulk load when it is handed over. Files that the limit has cut through are written again while the store
 * exceeds it, else as those that the cutoff of retention_days passes (expire_cut.h).
 *
 * With a remote store nothing is hidden: files go whose points it has acknowledged, the oldest first.
 *
 * Threads    compact_mu held, but for stats: any
 * Not here   the limit itself (storage/quota.h)
 */
#ifndef STORAGE_ENGINE_EVICT_H
#define STORAGE_ENGINE_EVICT_H

#include "storage/engine/engine_int.h"

/** Measure the store, and raise the cutoff of the limit if it has been exceeded for long enough. Errors are logged: the next call tries again.
 * Blocks: a look at each file of the folder; a sync of DIR/QUOTA when the cutoff rises. */
void sto_evict__look(struct sto_engine *e);
/** Points before this time must go, ms; STO_MIN_TS_MS: none must. Any thread. */
int64_t sto_evict__least_ms(const struct sto_engine *e);
/** Is there a limit, or a cutoff that one has left? Any thread. */
bool sto_evict__is_on(const struct sto_engine *e);
/** If there is no limit any more: make what it had cut off impossible to reappear, and clear its cutoff. Blocks: a flush. */
void sto_evict__end(struct sto_engine *e);
/** Add to the wear of the files of v what the limit has cut off of them. */
void sto_evict__wear(struct sto_engine *e, const struct sto_version *v, struct sto_pick_wear *out);
/** Report the counters. Any thread. */
void sto_evict__stats(struct sto_engine *e, void (*each)(void *arg, const char *name, uint64_t value),
                      void *arg);

#endif
