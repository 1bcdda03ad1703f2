/*
 * expire.h - removes what the rules of retention let expire, series by series.
 *
 * An answer is cut by the rules themselves (storage/keep.h). What merges leave out and which files are removed is decided by floors
 * (storage/floors.h), which rise from time to time:
 *
 *   rules, catalog, clock -> floors, an hour behind -> DIR/FLOORS -> merges leave out rows; files that have nothing else are removed
 *
 * A file in which every series has expired is removed as it is; one of which a quarter has is written again before all other merges (expire_cut.h,
 * pick_deleted.c). Nothing is removed while the clock is not trusted (retention.h), nor with a remote store, whose copy of the
 * points is hidden by the rules alone.
 *
 * Threads    compact_mu held, but for keep: any
 * Not here   one duration for all series (retention.c), rules as text (storage/retain.h)
 */
#ifndef STORAGE_ENGINE_EXPIRE_H
#define STORAGE_ENGINE_EXPIRE_H

#include "storage/engine/engine_int.h"
#include "storage/floors.h"
#include "storage/keep.h"

/** The present rules; the caller gives the reference back. Any thread. */
struct sto_keep *sto_expire__keep(struct sto_engine *e);
/** Read the floors when the store opens. Damage is logged: it only matters when a rule keeps points longer than before. Any other error is
 * returned, since the floors would be replaced: those of sto_floors_read but TS_ECORRUPT. */
int sto_expire__open(struct sto_engine *e, struct ts_error *err);
/** Free them when it closes. */
void sto_expire__close(struct sto_engine *e);

/**
 * Raise the floors to what has expired at before_ms, once an hour and when the rules have changed. Errors of writing them are logged:
 * nothing is removed then.
 *
 * @param merge_gen  highest generation of an interrupted merge; 0 = there is none
 *
 * remove_mu held, the clock is trusted.   Cost: a look at each series, a write of DIR/FLOORS.
 */
void sto_expire__raise(struct sto_engine *e, const struct sto_version *v, int64_t before_ms,
                       uint64_t merge_gen);
/** Add the files of v that hold nothing but what is below the floors to gone, which has n numbers and room for all files of v. Returns how
 * many there are then. remove_mu held. */
size_t sto_expire__choose(struct sto_engine *e, const struct sto_version *v, uint64_t *gone, size_t n);
/** Raise the floors to what the limit of bytes cuts off of points, whatever the hour; what else has expired does not matter. False: they could not be written. remove_mu
 * held. Cost as sto_expire__raise. */
bool sto_expire__raise_to_limit(struct sto_engine *e, const struct sto_version *v, uint64_t merge_gen);
/** How many bytes of the files of v are points that floors hide, an estimate: those of files of which they hide so much that they are written again while
 * the store exceeds its limit. Blocks: reads blocks of files that it looks at for the first time. */
uint64_t sto_expire__pending_bytes(struct sto_engine *e, const struct sto_version *v);
/** Add what is below the floors, and what the limit of bytes has cut off, to the wear of the files of v. */
void sto_expire__look(struct sto_engine *e, const struct sto_version *v, struct sto_pick_wear *out);
/** Would a merge of a file leave out rows because of these floors? f may be NULL. */
bool sto_expire__concerns(const struct sto_floors *f, const struct sto_sst_info *file);

#endif
