/*
 * memory_remote.h - a remote store in the memory of the process, with faults that tests inject. It is an
 * example of a remote store, and is not linked into tsd. It ends the process if a row claims to be fresh although one of its offsets
 * was sent before, be it by a shipment that was cut off, or deleted since.
 *
 * Threads    as storage/remote.h; faults may be set by any thread
 */
#ifndef STORAGE_REMOTE_MEMORY_REMOTE_H
#define STORAGE_REMOTE_MEMORY_REMOTE_H

#include "storage/remote.h"

/* Limits of a remote store in memory; {0} = none. */
struct sto_memory_remote_opts {
    unsigned max_tags; /* 0 = 255 */
    bool no_range;     /* time_range answers TS_ENOTFOUND */
};
/** A new, empty store; its function `close` frees it. opts is copied; NULL = {0}. */
struct sto_remote *sto_memory_remote_new(const struct sto_memory_remote_opts *opts);

/** Make the store unreachable: every call fails with TS_EBACKEND and changes nothing. */
void sto_memory_remote_set_unreachable(struct sto_remote *r, bool away);
/** The next shipment stores n_rows of its rows and fails with TS_EBACKEND. */
void sto_memory_remote_cut_next(struct sto_remote *r, size_t n_rows);
/** The same for the shipment after n_shipments others. */
void sto_memory_remote_cut_after(struct sto_remote *r, uint64_t n_shipments, size_t n_rows);
/** Refuse rows and deletes of series of this metric for good; an empty name ends this. The name is borrowed until then. */
void sto_memory_remote_refuse(struct sto_remote *r, struct ts_slice metric);
/** Delay results: shipments are stored, but reported only after sto_memory_remote_release. */
void sto_memory_remote_hold(struct sto_remote *r);
/** End the delay, and report the waiting results in the order of the shipments. */
void sto_memory_remote_release(struct sto_remote *r);
/** Let the next n calls succeed; afterwards the store is unreachable. UINT64_MAX ends this. */
void sto_memory_remote_unreachable_after(struct sto_remote *r, uint64_t n_calls);

#endif
