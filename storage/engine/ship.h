/*
 * ship.h - sends accepted points to the remote store, hour by hour.
 *
 * A pass ships everything in files and memstores that is above the mark of its hour: deletes first, then the
 * hours, beginning with the newest. When the remote store has acknowledged an hour, its mark is set to the
 * generation up to which all points were in files when the pass began; after a crash at most one hour is
 * shipped again. Points that are newer or only in memory stay above the mark and are shipped again by a later
 * pass.
 *
 * Threads    the shipping thread, or a caller of sto_engine_ship; one pass at a time
 * Not here   remote stores (storage/remote.h), marks (marks.h), sending rows (shipment.h)
 */
#ifndef STORAGE_ENGINE_SHIP_H
#define STORAGE_ENGINE_SHIP_H

#include "storage/engine/engine_int.h"

/** Prepare for shipping if there is a remote store. No other thread runs yet. */
void sto_ship__init(struct sto_engine *e);
/** Start the shipping thread, if the engine has background threads. */
int sto_ship__start(struct sto_engine *e, struct ts_error *err);
/** Cancel the running pass and end the thread. */
void sto_ship__stop(struct sto_engine *e);
/** Free what sto_ship__init created. No pass may be running. */
void sto_ship__free(struct sto_engine *e);

/** The generation up to which the running pass may set marks; 0 = no pass runs. Takes files_mu. */
uint64_t sto_ship__target(struct sto_engine *e);
/**
 * Pick the next merge as sto_pick_next does, but none with generations on both sides of a mark, or of a mark
 * that the running pass may set.
 *
 * @param v      pinned before the call
 * @param infos  of its files, in the order of v->ssts
 * @param out    [out] out->files are indexes in v->ssts; owned by the caller
 */
void sto_ship__pick(struct sto_engine *e, const struct sto_version *v, const struct sto_sst_info *infos,
                    const struct sto_pick_opts *opts, struct sto_pick *out);
/** The reason why an interrupted merge cannot continue because of points that were shipped since; NULL: it
 * can. pick->files are indexes in infos. */
const char *sto_ship__misfit(struct sto_engine *e, const struct sto_sst_info *infos,
                             const struct sto_pick *pick);
/** Report counters of shipping; none without a remote store. */
void sto_ship__stats(struct sto_engine *e, void (*each)(void *arg, const char *name, uint64_t value),
                     void *arg);

#endif
