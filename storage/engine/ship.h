/*
 * ship.h - sends what the engine has accepted to the remote store, hour by hour.
 *
 * A pass ships everything that is in files and memstores and above the mark of its hour, deletes first, then
 * the newest hour and the others after it. When the remote store has acknowledged an hour, the hour's mark becomes
 * the generation up to which all points were in files when the pass began: a crash repeats at most the hour that was
 * under way. Whatever is newer, or in memory, stays above the mark and is shipped once more later.
 *
 * Threads    the shipping thread, or a caller of sto_engine_ship; one pass at a time
 * Not here   what a remote store is (storage/remote.h), marks (marks.h), rows on their way (shipment.h)
 */
#ifndef STORAGE_ENGINE_SHIP_H
#define STORAGE_ENGINE_SHIP_H

#include "storage/engine/engine_int.h"

/** Prepare for shipping if there is a remote store. Before all threads. */
void sto_ship__init(struct sto_engine *e);
/** Start the shipping thread, if the engine has background threads. */
int sto_ship__start(struct sto_engine *e, struct ts_error *err);
/** Cancel the pass under way and end the thread. */
void sto_ship__stop(struct sto_engine *e);
/** Free what sto_ship__init made. No pass is under way. */
void sto_ship__free(struct sto_engine *e);

/** The generation up to which the pass under way may set marks; 0 = none is under way. Takes files_mu. */
uint64_t sto_ship__target(struct sto_engine *e);
/**
 * The next merge worth doing, as sto_pick_next, but none has generations on both sides of a mark, or of one that the pass
 * under way may set.
 *
 * @param v      pinned before the call
 * @param infos  of its files, in the order of v->ssts
 * @param out    [out] out->files are indexes in v->ssts; owned by the caller
 */
void sto_ship__pick(struct sto_engine *e, const struct sto_version *v, const struct sto_sst_info *infos,
                    const struct sto_pick_opts *opts, struct sto_pick *out);
/** The reason why an interrupted merge cannot continue beside what was shipped since; NULL: it can. pick->files are indexes
 * in infos. */
const char *sto_ship__misfit(struct sto_engine *e, const struct sto_sst_info *infos,
                             const struct sto_pick *pick);
/** Report counters of shipping; none without a remote store. */
void sto_ship__stats(struct sto_engine *e, void (*each)(void *arg, const char *name, uint64_t value),
                     void *arg);

#endif
