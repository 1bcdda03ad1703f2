/*
 * evict_pick.h - before which time points must go so that the store keeps within its limit: a computation, without I/O.
 *
 * A cutoff at which whole files go is preferred, since nothing has to be written for it. If that removed much more than necessary, rows go
 * at merges, and then somewhat more of them, so that files are not written again for a few rows each time.
 *
 * Threads    any; plain data
 * Not here   sizes of files (evict.c), spread of their bytes (files/spread.h)
 */
#ifndef STORAGE_ENGINE_EVICT_PICK_H
#define STORAGE_ENGINE_EVICT_PICK_H

#include "storage/engine/files/spread.h"

#define STO_EVICT_PARTS 32u /* shares of the limit are counted in these */
#define STO_EVICT_HIGH  31u /* a cutoff leaves at most this share of the limit, */
#define STO_EVICT_LOW   28u /* whole files only if this share is left, */
#define STO_EVICT_ROWS  30u /* and otherwise at most this one */

/* A file with points. */
struct sto_evict_file {
    int64_t max_ms;           /* its last point */
    struct sto_spread spread; /* of its bytes */
};

struct sto_evict_opts {
    uint64_t max_bytes;    /* the limit */
    uint64_t fixed_bytes;  /* what does not go: logs, catalog, tombstones */
    uint64_t before_bytes; /* what stays in files before from_ms whatever cutoff is chosen: summaries */
    uint64_t going_bytes;  /* what is in files at or after from_ms, and goes without a cutoff */
    int64_t from_ms;       /* present cutoff: points before it are gone, or will be */
    int64_t last_ms;       /* latest cutoff that is allowed */
};

struct sto_evict_pick {
    int64_t cutoff_ms;    /* points before it go: the beginning of an hour, unless it is from_ms or last_ms */
    uint64_t left_bytes;  /* what the store has then, */
    uint64_t freed_bytes; /* and what goes from its files */
    bool enough;          /* that is within the limit */
};

/** Bytes of the files at or after a time. O(n). */
uint64_t sto_evict_left(const struct sto_evict_file *files, size_t n, int64_t ms);
/** Choose the cutoff for n files. It stays where it is while fixed_bytes has STO_EVICT_ROWS shares of the limit: all points could not make room
 * then, and a log is smaller once it is written to files. O(n log hours). */
struct sto_evict_pick sto_evict_pick(const struct sto_evict_opts *opts, const struct sto_evict_file *files,
                                     size_t n);

#endif
