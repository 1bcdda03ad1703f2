/*
 * compaction.h - compressing files of a range of time with another level of zstd, on request.
 *
 * Threads    neutral types
 */
#ifndef STORAGE_COMPACTION_H
#define STORAGE_COMPACTION_H

#include <stdbool.h>
#include <stdint.h>

#define STO_LEVEL_LEAST 4u  /* levels of zstd that may be set */
#define STO_LEVEL_MOST  19u /* the same */

/* What to compress. */
struct sto_compact_spec {
    int64_t from_ms, to_ms;  /* files with points of this time, inclusive */
    unsigned level;          /* of zstd, STO_LEVEL_LEAST to STO_LEVEL_MOST */
    bool (*stop)(void *arg); /* true: give up; asked between rows. May be NULL */
    void *arg;               /* its argument */
};
/* What came of it. */
struct sto_compact_result {
    uint64_t n_files, n_files_after; /* files that were written again; what they became */
    uint64_t n_bytes, n_bytes_after; /* the same, bytes */
    uint64_t n_same, n_same_bytes;   /* files of the range that had the level already */
    uint64_t n_recent;               /* files of the range that were left alone: their days are not over */
};

#endif
