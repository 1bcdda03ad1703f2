/*
 * sizes.h - how the points of a store are spread: sizes of windows of time and of shards, for people who watch it.
 *
 * Threads    neutral types
 */
#ifndef STORAGE_SIZES_H
#define STORAGE_SIZES_H

#include <stdint.h>

/* A window of time that has files (docs/ARCHITECTURE.md, "Windows of time"). */
struct sto_window_size {
    int64_t start_ms,
        end_ms; /* first ms of the window, and the first ms after it; of the window of all time: of its points */
    uint64_t n_files, n_bytes, n_points; /* sorted files, their size on disk, their points */
};
/* What one owner has in memory: the points of its shards that are not in files yet. */
struct sto_owner_size {
    uint64_t n_points, n_bytes; /* operations, bytes */
};
#define STO_SHARDS_MOST 4096u /* most shards of a store, a power of two */

/* Numbers of shards. */
struct sto_shards {
    uint32_t n_now;    /* of the store as it is open */
    uint32_t n_wanted; /* that somebody has asked for; n_now if nobody has */
    const char *waits; /* why it has not changed yet; static; NULL: it has, or is about to */
};

#endif
