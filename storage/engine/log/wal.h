/*
 * wal.h - the write-ahead log of one owner, from which points are replayed after a crash.
 *
 *   folder wal/   RRRRRRRR-GGGGGGGG-WWW-SSSS.log    run, generation, owner, segment (hex)
 *   segment       header | record | record | ...
 *   record        length | CRC-32C | body
 *   body          points, or series definitions, or a mark ("synced up to here")
 *
 * A segment belongs to one generation of the memstores and is deleted once that generation is flushed. The
 * first use of a series in a segment writes a definition: its ids and text, or its number alone if the
 * catalog has it on disk. So each segment can be replayed with nothing but the catalog. Definitions number
 * the series of a segment in order of first use; a sender that repeats its order of series then costs nothing
 * for it. A point takes about 3 bytes under load: one control byte (series = last + 1, same time as before,
 * same flags as before, sign), then varints for what differs.
 *
 * Format     docs/FORMAT.md "Write-ahead log"
 * Threads    append, set_gen, close: the owner. sto_wal_sync: any number of threads at the same time;
 *            they share one fdatasync. Replay: before threads start.
 * Invariant  a point is visible to readers only after it is in this file
 * Not here   when to sync (sync.c), what replay does with points (recover.c), bytes (wal_format.h)
 */
#ifndef STORAGE_ENGINE_LOG_WAL_H
#define STORAGE_ENGINE_LOG_WAL_H

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "storage/batch.h"
#include "storage/slots.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STO_WAL_SEGMENT_BYTES (64u << 20) /* a longer segment is followed by a new one */

struct sto_wal;
/**
 * Create the log of an owner in this run. Nothing is written yet: the first append creates the first segment.
 *
 * @param dir  the wal folder, which exists; copied
 * @param run  higher than in any name in the folder (sto_wal_replay_result.max_run)
 * @return 0, TS_EINVAL (path too long)
 */
int sto_wal_new(const struct ts_fs *fs, const char *dir, uint32_t run, uint32_t owner, uint64_t gen,
                struct sto_wal **out_wal, struct ts_error *err);
/** Sync what is not synced yet, mark it as synced, close and free. No other thread may be inside
 * sto_wal_sync. NULL is ignored. */
int sto_wal_close(struct sto_wal *wal, struct ts_error *err);
/** Set which series the catalog has on disk: at the first use of a series in a segment the owner's thread
 * calls n_known(arg), and series with ids below its result are named by id alone. NULL (the default):
 * none. Owner only. */
void sto_wal_set_known(struct sto_wal *wal, uint32_t (*n_known)(void *arg), void *arg);
/** Set the number of shards of the store and of the owners among which they are distributed (1 and 1 by
 * default), so that the table of numbers is only as long as the number of series that this owner has at
 * once. Call it before the first append. */
void sto_wal_set_spread(struct sto_wal *wal, struct sto_shard_spread spread);
/** Memory of the tables of numbers: 8 bytes for each series that the owner has at once, at most about
 * twice that. Owner only. */
size_t sto_wal_table_bytes(const struct sto_wal *wal);
/** Set the length, bytes, above which a segment is followed by a new one; 0 = STO_WAL_SEGMENT_BYTES. Owner
 * only. */
void sto_wal_set_segment_bytes(struct sto_wal *wal, uint64_t n_bytes);
/**
 * Append operations as one or more records with one write. When 0 is returned the kernel has them. Replay
 * returns times, values and flags bit for bit.
 *
 * @param points  borrowed until return; flags as sto_meta_flags makes them
 * @return 0
 *         TS_ENOSPC  none of them is in the log: the segment is cut back to its last good end; the call may
 *                    be repeated
 *         TS_EMFILE  a new segment could not be opened, nothing is written; the call may be repeated
 *         TS_ENOMEM TS_ELIMIT  (TS_ELIMIT: a definition above 16 MiB) nothing is written
 *         TS_EIO     none of them is in the log, and the log refuses everything from now on
 *
 * Threads: owner only.   Blocks: if a new segment is needed and none is prepared (sync of the folder).
 * Cost:   about 5 ns a point without the write, no allocation once warm.
 */
int sto_wal_append(struct sto_wal *wal, const struct sto_point *points, size_t n, struct ts_error *err);
/** The same for a batch whose points may belong to parts: a part is in one record with its id and sequence, so that replay sees all of it or nothing. */
int sto_wal_append_batch(struct sto_wal *wal, const struct sto_batch *batch, struct ts_error *err);
/** Assign later points to generation gen (not lower than before): the open segment ends, and the next
 * append begins another one. The next sto_wal_sync syncs the one that ended. Owner only. TS_EIO: the log
 * is broken. */
int sto_wal_set_gen(struct sto_wal *wal, uint64_t gen, struct ts_error *err);
/** Has a segment ended since the last call? Then sto_wal_sync should be called soon. Owner only. */
bool sto_wal_take_retired(struct sto_wal *wal);
/** Is the open segment half full, so that the next one should be prepared for *out_gen? Any thread. */
bool sto_wal_wants_next(struct sto_wal *wal, uint64_t *out_gen);
/** Create the file of the next segment, which will belong to gen, so that the owner does not have to.
 * Errors are not reported; the owner then tries itself. True: there is such a file; sync the folder, then
 * call sto_wal_prepared. Nothing is created for a log that has neither an open segment nor a prepared
 * one. Any thread. Blocks: creating a file. */
bool sto_wal_prepare(struct sto_wal *wal, uint64_t gen);
/** The folder was synced after sto_wal_prepare, so the owner may use the file. Called by the thread that
 * prepared it. */
void sto_wal_prepared(struct sto_wal *wal);
/** As sto_wal_prepare, but what is prepared for the present generation stays: gen may begin or not. True: sync the folder, then call
 * sto_wal_ahead_synced. One thread at a time. Blocks: creating a file. */
bool sto_wal_ahead(struct sto_wal *wal, uint64_t gen);
/** The folder was synced after sto_wal_ahead. The same thread. */
void sto_wal_ahead_synced(struct sto_wal *wal);
/** That generation has begun, or does not begin: remove what is not used. The same thread. Blocks: unlinks a file. */
void sto_wal_end_ahead(struct sto_wal *wal);
/** Bytes appended since the start of the run, over all segments: a position to wait for. Any thread. */
uint64_t sto_wal_written(const struct sto_wal *wal);
/** Position up to which everything is known to be on disk. Any thread. */
uint64_t sto_wal_synced(const struct sto_wal *wal);
/** Has an error broken the log, so that it accepts nothing until the store is opened again? Any thread. */
bool sto_wal_broken(const struct sto_wal *wal);
/** Call fdatasync for everything that was written when the call began, oldest segment first. The owner may
 * append and rotate meanwhile. After a failure the log stays broken (every later call of any function
 * returns TS_EIO). Any thread. */
int sto_wal_sync(struct sto_wal *wal, struct ts_error *err);

/* --- replay --- */
struct sto_wal_replay_ops {
    /* A series definition: find or restore the series and return the handle for its points. tags are in
     * the order in which the writer's struct sto_series had them. NULL with *err set stops the replay with
     * that code; NULL with *err untouched skips the points of the series (counted in n_skipped). */
    const struct sto_series *(*series)(void *arg, uint32_t id, uint32_t metric, const struct sto_tag *tags,
                                       size_t n_tags, struct ts_slice text, uint32_t metric_len,
                                       struct ts_error *err);
    /* A series that the catalog had on disk when the log named it by its id alone: return the handle, or
     * NULL as series() does. If this callback is NULL, a log with such a definition is damaged. */
    const struct sto_series *(*known)(void *arg, uint32_t id, struct ts_error *err);
    /* Operations in the order they were written (of one owner and generation); n >= 1. A negative result
     * stops the replay. */
    int (*points)(void *arg, uint64_t gen, const struct sto_point *points, size_t n, struct ts_error *err);
    /* One of these operations, which points() gets too, belongs to a sequence of a client. A negative result stops the
     * replay. May be NULL. */
    int (*once)(void *arg, uint16_t shard, const struct sto_once_id *id, uint64_t seq, struct ts_error *err);
};
/* Result of a replay. */
struct sto_wal_replay_result {
    uint64_t n_points;   /* operations passed to points() */
    uint64_t n_skipped;  /* operations skipped because series() returned NULL */
    uint64_t n_segments; /* segments read */
    uint64_t n_bytes;    /* bytes of whole records in them */
    uint32_t max_run;    /* highest run number in file names; the next run must be higher */
    uint64_t max_gen;    /* highest generation in file names */
    uint64_t n_torn;     /* segments whose torn tail was cut (each is logged) */
};
/**
 * Read all segments of generations > flushed_gen in the order run, generation, owner, segment, and pass
 * their contents to ops. Segments of generations <= flushed_gen are deleted. A missing folder is an empty
 * log. Unless read_only is set, everything passed to ops is on disk when 0 is returned.
 *
 * @param read_only  nothing is deleted or cut; torn tails are ignored
 * @return 0
 *         TS_ECORRUPT  damage within bytes that are known to have been on disk; err names file and offset.
 *                      ops may have received a part
 *         TS_EVERSION  a segment of a newer format
 *         or the error of a callback or of the file system
 */
int sto_wal_replay(const struct ts_fs *fs, const char *dir, uint64_t flushed_gen,
                   const struct sto_wal_replay_ops *ops, void *arg, bool read_only,
                   struct sto_wal_replay_result *out, struct ts_error *err);
/** Is there a segment of this generation? 1, 0, < 0. */
int sto_wal_has_gen(const struct ts_fs *fs, const char *dir, uint64_t gen, struct ts_error *err);
/** Delete all segments of generations <= gen (once the manifest says that gen is flushed). */
int sto_wal_drop(const struct ts_fs *fs, const char *dir, uint64_t gen, struct ts_error *err);

/* --- salvage: reads the good parts of a log that replay refuses as damaged --- */
/* Called while segments are read, in the order of replay. Arguments are borrowed until return. */
struct sto_wal_salvage_ops {
    struct sto_wal_replay_ops replay; /* an error of series() or known() skips the points of the series */
    /* Bytes [off, off + n) of a segment can't be read. torn: they were not known to be on disk, as after a power cut.
     * from_ms..to_ms: times of the record of points before them; from_ms > to_ms = not known. May be NULL. */
    void (*bad)(void *arg, const char *path, uint64_t off, uint64_t n, bool torn, int64_t from_ms,
                int64_t to_ms);
    /* Something else is wrong with a segment, and points are lost with it. May be NULL. */
    void (*damage)(void *arg, const char *path, const char *what);
    /* Called after n_bytes more were read. May be NULL. */
    void (*read)(void *arg, uint64_t n_bytes);
};
/* Result of a salvage. */
struct sto_wal_salvage_result {
    bool damaged;        /* a segment is damaged; torn tails are no damage */
    bool beyond_torn;    /* good records follow a torn part, and opening the store would remove them */
    uint64_t n_segments; /* read */
    uint64_t n_points;   /* passed to points() */
    uint64_t n_skipped;  /* points whose series is not known */
    uint64_t max_gen;    /* highest generation in names */
    uint32_t max_run;    /* highest run in names */
};
/** Read all segments of generations > flushed_gen and pass their good records on; nothing is written. 0,
 * TS_ENOMEM, TS_EMFILE, TS_EVERSION, or the result of points(). Blocks. */
int sto_wal_salvage(const struct ts_fs *fs, const char *dir, uint64_t flushed_gen,
                    const struct sto_wal_salvage_ops *ops, void *arg, struct sto_wal_salvage_result *out,
                    struct ts_error *err);

#endif
