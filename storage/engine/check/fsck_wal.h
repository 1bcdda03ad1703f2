/*
 * fsck_wal.h - reads a write-ahead log that may be damaged: reports every record that is whole, and what is
 * not.
 *
 * Replay stops at the first bad record of a segment; this reader continues after it.
 *
 * Format     docs/FORMAT.md "Write-ahead log"
 * Threads    one; no writer at work in the folder
 * Not here   replay when a store is opened (wal_read.c), what is done about damage (storage/fsck_repair.c)
 */
#ifndef STORAGE_ENGINE_CHECK_FSCK_WAL_H
#define STORAGE_ENGINE_CHECK_FSCK_WAL_H

#include "storage/engine/log/wal.h"

/* Called while segments are read, in the order of replay. Arguments are borrowed until return. */
struct sto_fsck_wal_ops {
    struct sto_wal_replay_ops replay; /* as for replay; an error of series() skips the points of the series */
    /* Bytes [off, off + n) of a segment can't be read. torn: they were not known to be on disk, as after a
     * power cut. from..to: times of the records around them; from > to = not known. */
    void (*bad)(void *arg, const char *path, uint64_t off, uint64_t n, bool torn, int64_t from_ms,
                int64_t to_ms);
    /* Something else is wrong with a segment. lost: points are lost with it. */
    void (*damage)(void *arg, const char *path, const char *what, bool lost);
    /* n_bytes more were read. */
    void (*read)(void *arg, uint64_t n_bytes);
};

/* Result of a read. */
struct sto_fsck_wal {
    bool damaged; /* some segment is damaged; torn tails do not count */
    /* Whole records follow a torn place: opening the store would cut them off. */
    bool beyond_torn;
    uint64_t n_segments; /* read */
    uint64_t n_points;   /* passed to points() */
    uint64_t n_skipped;  /* points whose series is not known */
    uint64_t max_gen;    /* highest generation in names */
    uint32_t max_run;    /* highest run in names */
};

/** Read all segments of generations > flushed_gen. 0, TS_ENOMEM, TS_EVERSION, or the result of points().
 * Blocks. */
int sto_fsck_wal_read(const struct ts_fs *fs, const char *dir, uint64_t flushed_gen,
                      const struct sto_fsck_wal_ops *ops, void *arg, struct sto_fsck_wal *out,
                      struct ts_error *err);

#endif
