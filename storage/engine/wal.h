/*
 * wal.h - write-ahead log of one worker: what a crash may not lose.
 *
 *   folder wal/   RRRRRRRR-GGGGGGGG-WWW-SSSS.log    run, generation, worker, segment (hex)
 *   segment       header | record | record | ...     record: length · CRC-32C · body
 *   bodies        points | series definitions | mark "synced up to here"
 *
 * A segment belongs to one generation of the memstores: when the generation is flushed, its segments are deleted. The first use of a series in a
 * segment writes its ids and text, so each segment can be replayed alone. Points cost about 3 bytes under load: one control byte (series = last + 1,
 * same time as before, same flags as before, sign), then varints for what differs.
 * Format     docs/FORMAT.md "Write-ahead log"
 * Threads    append, rotate: the owning worker. sto_wal_sync: the sync thread. Replay: before threads start.
 * Invariant  a point is visible to readers only after it is in this file
 * Not here   when to sync (engine.c), what replay does with points (recover.c)
 */
#ifndef STORAGE_ENGINE_WAL_H
#define STORAGE_ENGINE_WAL_H

#include "base/err.h"
#include "base/fs.h"
#include "storage/point.h"

#define STO_WAL_SEGMENT_BYTES (64u << 20)

struct sto_wal;
/** A log for worker of this run; the first segment is created by the first append. dir is the wal folder. */
int sto_wal_new(const struct ts_fs *fs, const char *dir, uint32_t run, uint32_t worker, uint64_t gen, struct sto_wal **out_wal,
                struct ts_error *err);
/** Sync what is left and close. NULL is harmless. */
int sto_wal_close(struct sto_wal *wal, struct ts_error *err);
/** Append operations as one or more records with one write. On 0 they are with the kernel. On error nothing of them counts: the segment is cut back to the last good end; TS_ENOSPC may be
 *  tried again later; after TS_EIO the log refuses everything. Cost: ~10 ns a point, no allocation once warm. */
int sto_wal_append(struct sto_wal *wal, const struct sto_point *points, size_t n, struct ts_error *err);
/** Points from now on belong to generation gen: sync the open segment, close it, begin a new one with the next append. */
int sto_wal_set_gen(struct sto_wal *wal, uint64_t gen, struct ts_error *err);
/** Bytes appended since the start of the run, all segments (a position to wait for), and bytes known to be on disk. Any thread. */
uint64_t sto_wal_written(const struct sto_wal *wal);
uint64_t sto_wal_synced(const struct sto_wal *wal);
/** fdatasync what was written when the call began; callable while the owner appends or rotates (segments are referenced). After a failure the log is broken for good (TS_EIO for all later calls). */
int sto_wal_sync(struct sto_wal *wal, struct ts_error *err);

/* --- replay --- */
struct sto_wal_replay_ops {
    /* A series definition: find or restore it; returns the handle to be used for its points, NULL to skip them (then *err is set by it and replay stops). */
    const struct sto_series *(*series)(void *arg, uint32_t id, uint32_t metric, const struct sto_tag *tags, size_t n_tags, struct ts_slice text,
                                       uint32_t metric_len, struct ts_error *err);
    /* Operations in the order they were written (of one worker and generation). */
    int (*points)(void *arg, uint64_t gen, const struct sto_point *points, size_t n, struct ts_error *err);
};
/* What replay found. */
struct sto_wal_replay_result {
    uint64_t n_points, n_segments, n_bytes;
    uint32_t max_run;     /* highest run number seen in file names; the next run must be higher */
    uint64_t max_gen;     /* highest generation seen */
    uint64_t n_torn;      /* segments whose torn tail was cut (logged) */
};
/** Read all segments of generations > flushed_gen in order (run, generation, worker, segment), tell ops; torn tails are cut (file truncated), damage before the last mark is TS_ECORRUPT naming file and offset. Segments of generations
 *  <= flushed_gen are deleted. */
int sto_wal_replay(const struct ts_fs *fs, const char *dir, uint64_t flushed_gen, const struct sto_wal_replay_ops *ops, void *arg,
                   struct sto_wal_replay_result *out, struct ts_error *err);
/** Delete all segments of generations <= gen (after the flush of gen is in the manifest). */
int sto_wal_drop(const struct ts_fs *fs, const char *dir, uint64_t gen, struct ts_error *err);

#endif
