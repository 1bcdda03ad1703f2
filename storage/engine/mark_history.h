/*
 * mark_history.h - ship marks of earlier times: what the remote store had received by then.
 *
 * What was shipped stays here for some time, because a remote store may lose what it has just acknowledged. Marks alone do not tell when
 * an hour was shipped, so copies of them are kept with their times. The copies are some time apart, so files stay a little longer than
 * required, never shorter.
 *
 * Threads    plain data
 * Not here   which files may be removed (ship_drop.c), bytes (manifest_format.c)
 */
#ifndef STORAGE_ENGINE_MARK_HISTORY_H
#define STORAGE_ENGINE_MARK_HISTORY_H

#include "storage/engine/marks.h"

#define STO_MARK_HISTORY_MAX   12u /* most copies */
#define STO_MARK_HISTORY_STEPS 8   /* copies are at least this fraction of the time that files stay apart */

/* Marks at one time. */
struct sto_mark_past {
    int64_t at_ms;             /* wall clock: the marks were at least as high from then on */
    struct sto_mark_list list; /* owned */
};
/* Ascending by time. {0} is empty. */
struct sto_mark_history {
    struct sto_mark_past past[STO_MARK_HISTORY_MAX];
    size_t n;
};
/** Copy a history into new arrays. False: there is no memory, and out is empty. */
bool sto_mark_history_copy(const struct sto_mark_history *h, struct sto_mark_history *out);
/** Free the arrays; the history is empty then. */
void sto_mark_history_release(struct sto_mark_history *h);
/** Are all marks in order, none above max_gen, and the times ascending? */
bool sto_mark_history_valid(const struct sto_mark_history *h, uint64_t max_gen);
/**
 * Note the present marks, if the newest copy is old enough, and forget copies that are not needed any more. Times after now_ms, which a
 * clock that was wrong has left, become now_ms.
 *
 * @param before_ms  the caller removes what was shipped before this time
 * @return true: the history has changed
 */
bool sto_mark_history_note(struct sto_mark_history *h, const struct sto_mark_list *marks, int64_t now_ms,
                           int64_t before_ms);
/** Forget that the hours lo..hi were shipped, because they are shipped again. True: the history has changed. */
bool sto_mark_history_forget(struct sto_mark_history *h, int32_t lo, int32_t hi);
/** The newest marks that are not after a time; NULL: none are known. Borrowed. */
const struct sto_mark_list *sto_mark_history_at(const struct sto_mark_history *h, int64_t ms);

#endif
