/*
 * ship.h - sends accepted points to the remote store, hour by hour.
 *
 * A pass ships everything in files and memstores that is above the mark of its hour: deletes first, then the
 * hours, beginning with the newest. When the remote store has acknowledged an hour, its mark is set to the
 * generation up to which all points were in files when the pass began (the target); after a crash the hours
 * whose marks were not set yet, and what only memory held, are shipped again.
 *
 * Each operation is sent once in the ordinary case. A row of a memstore remembers how many of its operations were acknowledged, and a pass
 * sends the others, generation by generation. The pass keeps a reference to the memstores it has seen, so that the next one can send the
 * rest of them even if they are in files by then; the mark of such an hour advances without reading files. Why this is right:
 *
 *   - Marks are all that outlives the process, and cover generations in files alone. What rows remember only saves work: a start forgets it.
 *   - Of one hour older generations are sent before newer ones. Whenever an hour has to be read from files as a merge, because a generation
 *     was not in memory when a pass saw it, or a pass failed, what rows remember of newer generations is forgotten first, and these are sent
 *     again after the merge. So for each time the last value that was sent is the newest that is here.
 *   - A step (an hour and generation) that fails does not change what the rows remember.
 *   - Additions, deletes and refused rows are not settled by sending points: an hour whose memory had them is merged when it is in files.
 *   - A delete in memory is shipped when it is in a file. Until then the remote store shows what was sent before it, and what was put after it;
 *     queries here apply it to both stores. When it is shipped, everything above the marks of its hours is sent again after it.
 *
 * Several hours are sent at the same time, each in steps that follow one another (ship_hours.c).
 *
 * A pass that has sent some millions of points ends, since it keeps files and memstores from being freed; another one follows at once. An
 * hour with a file that cannot be read is left alone, the others are shipped, and the pass reports the error.
 *
 * Rows that the remote store refuses stay here, and their hour gets no mark. They are sent again when the hour changes, after a start, when the hour is to be
 * shipped again, and after ten minutes, then twenty and so on up to a day, since an exception may look like a refusal for good and pass.
 *
 * Shipping again (sto_engine_reship) does not lower marks, since older deletes and additions here would then apply to newer points of the
 * remote store. It sends what the marks cover, and afterwards everything that is newer.
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
/** Count the points of files that retention has removed before they were shipped, and log them. gone: n numbers of files of v. */
void sto_ship__expired(struct sto_engine *e, const struct sto_version *v, const uint64_t *gone, size_t n);
/** Remove files whose points are before a time and were all shipped by now, as sto_engine_drop_shipped does; the clock is not asked. Errors of
 * the manifest. Takes remove_mu. */
int sto_ship__drop_before(struct sto_engine *e, int64_t before_ms, struct ts_error *err);
/** Report counters of shipping, and the backlog of a pinned version; none without a remote store. */
void sto_ship__stats(struct sto_engine *e, const struct sto_version *v,
                     void (*each)(void *arg, const char *name, uint64_t value), void *arg);

#endif
