/*
 * rests.h - windows whose merge failed and that are left alone for a while.
 *
 * Threads    compact_mu is held
 * Not here   merging (compact.c)
 */
#ifndef STORAGE_ENGINE_RESTS_H
#define STORAGE_ENGINE_RESTS_H

#include "storage/engine/engine_int.h"

/** The merge of a window has failed: do not repeat it for a while, which doubles each time, and write a line to the log. */
void sto_rests__leave(struct sto_engine *e, const struct sto_pick *pick, const struct ts_error *why);
/** A merge of the window has succeeded: its next failure counts as the first. */
void sto_rests__forgive(struct sto_engine *e, struct sto_window w);
/** Windows to leave alone now; owned by the caller (ts_free). */
struct sto_window *sto_rests__now(struct sto_engine *e, size_t *out_n);
/** All windows may be tried again. */
void sto_rests__end(struct sto_engine *e);

#endif
