/*
 * evict.h - keeps the store within its limit of bytes: measures it, chooses the cutoff, and has what is before it removed.
 *
 *   bytes of files, logs, names -> evict_pick.h -> DIR/QUOTA -> cutoff of the manifest (retention.h) -> files go; merges leave out rows
 *
 * What counts are the files of the present version and everything in the data folder but what is being written: outputs of a merge count when
 * they replace its inputs, a bulk load when it is handed over. Files that the limit has cut through are written again while the store
 * exceeds it, else as those that the cutoff of retention_days passes (expire_cut.h).
 *
 * **Points before summaries.** If there are summaries of hours or days, or rules that make them, the cutoff of points rises first, up to the beginning of the newest day (UTC). What
 * is before it gets summaries where its rule makes them (storage/age.h), and then floors remove it (expire.h). Until that is done nothing else is cut off; what the floors hide
 * counts as gone. Only when points of all days before the newest do not suffice, the cutoff of everything rises, which removes the oldest summaries, and points once it passes the other one.
 * It rises alone, too, once making summaries has failed STO_EVICT_FAILURES times since all were made last: many series fail, or a few that have more than 1/32 of the limit, or somebody deletes or renames
 * during each pass. The cutoff of points rises neither while such failures are counted nor then, since the points of what failed do not go, and would drive it up to the newest day.
 *
 * With a remote store nothing is hidden: files go whose points it has acknowledged, the oldest first.
 *
 * Threads    compact_mu held, but for stats: any
 * Not here   the limit itself (storage/quota.h)
 */
#ifndef STORAGE_ENGINE_EVICT_H
#define STORAGE_ENGINE_EVICT_H

#include "storage/engine/engine_int.h"

#define STO_EVICT_FAILURES 10u /* attempts to make summaries, a minute or more apart */

/** Measure the store, and raise the cutoff of the limit if it has been exceeded for long enough. Errors are logged: the next call tries again.
 * Blocks: a look at each file of the folder; a sync of DIR/QUOTA when the cutoff rises. */
void sto_evict__look(struct sto_engine *e);
/** Points before this time must go, ms; STO_MIN_TS_MS: none must. Any thread. */
int64_t sto_evict__points_ms(const struct sto_engine *e);
/** Are there points that must go although their summaries stay? Any thread. */
bool sto_evict__is_apart(const struct sto_engine *e);
/** And does the store exceed its limit, so that files are written again without such points at once? Any thread. */
bool sto_evict__is_urgent(const struct sto_engine *e);
/** Summaries were made, rc and left as in struct sto_engine_owner, while points before points_ms had to go. compact_mu held. Blocks: reads blocks of files that have series of
 * left. */
void sto_evict__aged(struct sto_engine *e, int rc, int64_t points_ms, const struct sto_age_left *left);
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
