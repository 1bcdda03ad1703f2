/*
 * wal.h - write-ahead log of one worker: what a crash may not lose.
 *
 *   folder wal/   RRRRRRRR-GGGGGGGG-WWW-SSSS.log    run, generation, worker, segment (hex)
 *   segment       header | record | record | ...     record: length · CRC-32C · body
 *   bodies        points | series definitions | mark "synced up to here"
 *
 * A segment belongs to one generation of the memstores: when the generation is flushed, its segments are
 * deleted. The first use of a series in a segment writes its ids and text, or its number alone if the catalog has it
 * on disk, so each segment can be replayed beside the catalog. Within the segment the series then has a number of its
 * own, so that senders that repeat their order cost nothing for it. Points cost about 3 bytes under load: one control byte (series = last + 1, same time
 * as before, same flags as before, sign), then varints for what differs.
 *
 * Format     docs/FORMAT.md "Write-ahead log"
 * Threads    append, set_gen, close: the owning worker. sto_wal_sync: any number of threads, meanwhile; they
 *            share one fdatasync. Replay: before threads start.
 * Invariant  a point is visible to readers only after it is in this file
 * Not here   when to sync (sync.c), what replay does with points (recover.c), bytes (wal_format.h)
 */
#ifndef STORAGE_ENGINE_WAL_H
#define STORAGE_ENGINE_WAL_H

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "storage/point.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STO_WAL_SEGMENT_BYTES (64u << 20) /* a segment longer than this is followed by a new one */

struct sto_wal;
/**
 * A log for worker of this run. Nothing is written yet: the first append creates the first segment.
 *
 * @param dir  the wal folder, existing; copied
 * @param run  higher than in any name in the folder (sto_wal_replay_result.max_run)
 * @return 0, TS_EINVAL (path too long)
 */
int sto_wal_new(const struct ts_fs *fs, const char *dir, uint32_t run, uint32_t worker, uint64_t gen,
                struct sto_wal **out_wal, struct ts_error *err);
/** Sync what is left, mark it as synced, close, free. No other thread may be inside sto_wal_sync. NULL is
 * harmless. */
int sto_wal_close(struct sto_wal *wal, struct ts_error *err);
/** Which series the catalog has on disk: n_known(arg) is asked at the first use of a series in a segment, on the
 * owner's thread; those with lower ids are named by id alone. NULL (as at first): none. Owner only. */
void sto_wal_set_known(struct sto_wal *wal, uint32_t (*n_known)(void *arg), void *arg);
/** Shards of the store, and owners over which they are spread (as at first: 1 and 1), so that the table of numbers is as long as
 * this owner has series at once. Before the first append. */
void sto_wal_set_spread(struct sto_wal *wal, uint32_t n_shards, uint32_t n_owners);
/** Bytes of the tables of numbers: 8 for each series that the owner has at once, at most about twice that. Owner only. */
size_t sto_wal_table_bytes(const struct sto_wal *wal);
/** Length at which a segment is followed by a new one; 0 = STO_WAL_SEGMENT_BYTES. Owner only. */
void sto_wal_set_segment_bytes(struct sto_wal *wal, uint64_t n_bytes);
/**
 * Append operations as one or more records with one write. On 0 they are with the kernel. Times, values and
 * flags come back bit for bit.
 *
 * @param points  borrowed until return; flags as sto_meta_flags makes them
 * @return 0
 *         TS_ENOSPC  nothing of them counts, the segment is cut back to its last good end; may be tried again
 *         TS_EMFILE  a new segment could not be opened, nothing written; may be tried again
 *         TS_ENOMEM, TS_ELIMIT (a definition above 16 MiB)  nothing written
 *         TS_EIO     nothing of them counts, and the log refuses everything from now on
 *
 * Threads: owner only.   Blocks: for a new segment that nobody has prepared (sync of the folder).
 * Cost:   ~5 ns a point without the write, no allocation once warm.
 */
int sto_wal_append(struct sto_wal *wal, const struct sto_point *points, size_t n, struct ts_error *err);
/** Points from now on belong to generation gen (not lower than before): the open segment is over, the next append begins another
 * one. The next sto_wal_sync syncs it. Owner only. TS_EIO: the log is broken. */
int sto_wal_set_gen(struct sto_wal *wal, uint64_t gen, struct ts_error *err);
/** Has a segment ended since the last call, so that somebody should call sto_wal_sync soon? Owner only. */
bool sto_wal_take_retired(struct sto_wal *wal);
/** Is the open segment half full, so that the next one should be prepared for *out_gen? Any thread. */
bool sto_wal_wants_next(struct sto_wal *wal, uint64_t *out_gen);
/** Make the file of the next segment, which will belong to gen, so that the owner need not. Errors are left to the owner, who tries
 * himself. True: there is one; sync the folder, then call sto_wal_prepared. Nothing is made for a log that has neither an open segment nor one that
 * was prepared. Any thread. Blocks:
 * making a file. */
bool sto_wal_prepare(struct sto_wal *wal, uint64_t gen);
/** The folder was synced since sto_wal_prepare: the owner may use the file. Any thread, the one that prepared. */
void sto_wal_prepared(struct sto_wal *wal);
/** Bytes appended since the start of the run, all segments (a position to wait for), and bytes known to be on
 * disk. Any thread. */
uint64_t sto_wal_written(const struct sto_wal *wal);
/** Bytes that are on disk; any thread. */
uint64_t sto_wal_synced(const struct sto_wal *wal);
/** Did an error break the log, so that it takes nothing until the store is opened again? Any thread. */
bool sto_wal_broken(const struct sto_wal *wal);
/** fdatasync what was written when the call began, segments that ended first; callable while the owner appends or rotates. After a failure the log is broken for good (TS_EIO for all later calls of all functions). Any
 * thread. */
int sto_wal_sync(struct sto_wal *wal, struct ts_error *err);

/* --- replay --- */
struct sto_wal_replay_ops {
    /* A series definition: find or restore it; returns the handle to be used for its points. tags are in the
     * order the writer's struct sto_series had them. NULL with *err set stops the replay with that code; NULL
     * with *err untouched leaves out the series' points (they are counted in n_skipped). */
    const struct sto_series *(*series)(void *arg, uint32_t id, uint32_t metric, const struct sto_tag *tags,
                                       size_t n_tags, struct ts_slice text, uint32_t metric_len,
                                       struct ts_error *err);
    /* A series that was in the catalog, on disk, when the log named it by its id: the handle, or NULL as series().
     * NULL: a log that names one is damaged. */
    const struct sto_series *(*known)(void *arg, uint32_t id, struct ts_error *err);
    /* Operations in the order they were written (of one worker and generation); n >= 1. A negative answer
     * stops the replay. */
    int (*points)(void *arg, uint64_t gen, const struct sto_point *points, size_t n, struct ts_error *err);
};
/* What replay found. */
struct sto_wal_replay_result {
    uint64_t n_points;   /* operations given to points() */
    uint64_t n_skipped;  /* operations left out because series() said so */
    uint64_t n_segments; /* segments read */
    uint64_t n_bytes;    /* their good bytes */
    uint32_t max_run;    /* highest run number seen in file names; the next run must be higher */
    uint64_t max_gen;    /* highest generation seen in file names */
    uint64_t n_torn;     /* segments whose torn tail was cut (logged) */
};
/**
 * Read all segments of generations > flushed_gen in the order run, generation, worker, segment, and tell ops.
 * Segments of generations <= flushed_gen are deleted. A missing folder is an empty log. Unless read_only, what was
 * told is on disk when 0 is returned.
 *
 * @param read_only  nothing is deleted or cut; torn tails are passed over
 * @return 0
 *         TS_ECORRUPT  damage below what is known to have been on disk, named with file and offset; ops may
 * have been told a part TS_EVERSION  a segment of a newer format or what ops or the file system answered
 */
int sto_wal_replay(const struct ts_fs *fs, const char *dir, uint64_t flushed_gen,
                   const struct sto_wal_replay_ops *ops, void *arg, bool read_only,
                   struct sto_wal_replay_result *out, struct ts_error *err);
/** Is there a segment of this generation? 1, 0, < 0. */
int sto_wal_has_gen(const struct ts_fs *fs, const char *dir, uint64_t gen, struct ts_error *err);
/** Delete all segments of generations <= gen (after the flush of gen is in the manifest). */
int sto_wal_drop(const struct ts_fs *fs, const char *dir, uint64_t gen, struct ts_error *err);

#endif
