/*
 * max_bytes.h - the limit of bytes of an open store: seeing what it does, and changing it.
 *
 * Threads    any
 * Not here   the limit and its file (quota.h), removal (engine/evict.h)
 */
#ifndef STORAGE_MAX_BYTES_H
#define STORAGE_MAX_BYTES_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct sto_store;

#define STO_MAX_BYTES_MOST ((uint64_t)1 << 60) /* the largest limit, as of the key max_bytes */

enum sto_max_bytes_what {
    STO_MAX_BYTES_LIST, /* change nothing */
    STO_MAX_BYTES_SET,  /* set it to max_bytes; 0 = no limit */
    STO_MAX_BYTES_CONF  /* let it be that of the configuration */
};

struct sto_max_bytes_call {
    enum sto_max_bytes_what what;
    uint64_t max_bytes;
    bool dry_run; /* say what would be, change nothing */
    bool explain; /* measure the store */
};

/* The limit afterwards, and what it does. */
struct sto_max_bytes {
    uint64_t max_bytes;   /* in force; 0 = no limit */
    bool is_set;          /* by a command, not by the configuration */
    int64_t cutoff_ms;    /* points before it are not shown any more; STO_MIN_TS_MS: none are gone */
    int64_t summaries_ms; /* the same of summaries of hours and days; at most cutoff_ms */
    /* with explain, else 0: */
    uint64_t bytes;         /* what the store has on the disk, without what is being written */
    uint64_t fixed_bytes;   /* what of that cannot be removed: logs, names */
    uint64_t pending_bytes; /* what they still take, an estimate */
    int64_t next_ms;        /* the time before which points are to go now; STO_MIN_TS_MS: none */
    uint64_t freed_bytes;   /* what that frees, an estimate */
    int64_t held_ms;        /* for how long nothing goes yet (max_bytes_grace_s) */
    bool is_short;          /* even that does not suffice */
};

/**
 * See or change the limit.
 *
 * @return 0
 *         TS_EINVAL  the limit is too low for the log and the memstores, or the store was opened for reading only
 *         and errors of writing DIR/QUOTA, after which the former limit is in force
 *
 * Blocks: a sync with a change; with explain a look at the indexes of files that span several days.
 */
int sto_max_bytes(struct sto_store *st, const struct sto_max_bytes_call *call, struct sto_max_bytes *out,
                  struct ts_error *err);

#endif
