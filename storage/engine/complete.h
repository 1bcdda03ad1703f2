/*
 * complete.h - from when on everything that the remote store has is also here, because nobody else writes it.
 *
 * A caller says so (sto_engine_set_sole_writer). Then a full hour is kept in the manifest: the first one after the present time, after all
 * points that are here, after all hours of which something was ever sent, and after what retention has removed. The edits that remove files
 * raise it. So it is as durable as the removal, and a version always has the time that its own files fulfil.
 *
 * It is forgotten when points that were shipped may be missing here:
 *   - the machine was restarted while the store was open, since the end of the log may not have reached the disk;
 *   - the end of a log was lost, or a log could not be synced: what only memory and the remote store have is gone with the process;
 *   - the data folder is a copy, such as a backup that was restored: later points are in the remote store alone;
 *   - the store is opened for writing without the remote store;
 *   - tsd fsck has repaired it.
 *
 * A copy is recognised by the file DIR/COMPLETE, which is made anew at each start and end: the manifest knows its identity
 * (ts_fs.identity), which no copy has. A disk that is set back as a whole, below the file system, is recognised only if the store was open
 * when the image was taken (the machine has another boot ID then); otherwise the administrator removes DIR/COMPLETE.
 *
 * Threads    calls of sto_complete__* under files_mu, or while no other thread runs, unless they say otherwise
 */
#ifndef STORAGE_ENGINE_COMPLETE_H
#define STORAGE_ENGINE_COMPLETE_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

#define STO_COMPLETE_NAME "COMPLETE" /* in the data folder */

struct sto_engine;

/* What the manifest keeps. {0}: nothing is complete. */
struct sto_complete {
    bool known;
    int64_t from_ms;
    /* a number of DIR/COMPLETE, and while the store is open for writing of this start of the machine too */
    uint64_t proof;
};

/* What is complete while the engine is open. */
struct sto_complete__life {
    _Atomic bool holds; /* what the manifest has is true; set to false by any thread */
    uint64_t proof;     /* what sto_complete.proof is while the store is open */
};

/** The time of a state: from_ms; INT64_MAX if it is not known. */
static inline int64_t sto_complete_from_ms(const struct sto_complete *c)
{
    return c->known ? c->from_ms : INT64_MAX;
}
/** The logs were read: determine whether what the manifest has is true. torn: the end of a log was lost. */
void sto_complete__begin(struct sto_engine *e, bool torn);
/** What is complete now, if this is what the manifest has. */
struct sto_complete sto_complete__now(const struct sto_engine *e, const struct sto_complete *was);
/** What is complete when files are removed whose points are before a time (INT64_MIN: nothing is removed). */
struct sto_complete sto_complete__removed(const struct sto_complete *was, int64_t before_ms);
/** A log could not be written or synced: forget what is complete, for good. If the manifest cannot be written, or somebody holds files_mu, who
 * might wait for the sync, the next start finds no DIR/COMPLETE; does not wait. */
void sto_complete__lost(struct sto_engine *e);
/** Everything is on disk, and the store is about to be closed: write that down. An error costs no more than what is complete. */
void sto_complete__closed(struct sto_engine *e);

#endif
