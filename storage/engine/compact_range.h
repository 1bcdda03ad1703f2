/*
 * compact_range.h - merges that somebody has asked for: all of them, or compressing the files of a range of time harder.
 *
 * Threads    compact_mu is held
 * Not here   merging (compact.c), which files (merge/pick_level.c)
 */
#ifndef STORAGE_ENGINE_COMPACT_RANGE_H
#define STORAGE_ENGINE_COMPACT_RANGE_H

#include "storage/compaction.h"
#include "storage/engine/output.h"

/* Which merges to run. {0}: those that are due by the rules. */
struct sto_compact__how {
    bool full;                           /* until no files overlap */
    const struct sto_pick_range *range;  /* only those that compress files of this range; NULL = the others */
    const struct sto_compact_spec *spec; /* who has asked for them; NULL = nobody can stop them */
    struct sto_compact_result *result;   /* what they do; NULL = nobody wants to know */
    _Atomic uint64_t *done_bytes;        /* with result: its n_bytes, for other threads */
};
/** Run one merge. 1: it was done, or failed in a way that concerns only its window (*failed gets the first such error); 0: there is
 * nothing to merge; < 0: error, which err gets if it is not NULL. Blocks. */
int sto_compact__one(struct sto_engine *e, const struct sto_compact__how *how, struct ts_error *failed,
                     struct ts_error *err);
/** Does the one who has asked for the merges want them to end? */
bool sto_compact__is_stopped(const struct sto_compact__how *how);
/** A merge of a range has replaced its inputs: count both. Other merges are not counted. */
void sto_compact__count(const struct sto_compact__how *how, const struct sto_pick *pick,
                        const struct sto_output *out);

#endif
