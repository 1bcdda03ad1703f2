/*
 * store.h - the public API of storage: open a store, put points, find and select series, scan, flush, small
 * cells.
 *
 * A writer uses a writer; each worker thread has its own. A worker puts points into its writer, calls
 * sto_writer_turn at the end of each turn of its event loop, and calls it again when the descriptor of the writer
 * becomes readable. The owner of a shard appends a batch to the write-ahead log first and adds it to the
 * memstore second. A program without an event loop lets the store run the writers in threads of its own
 * (own_threads).
 *
 *   worker i:   read a socket -> sto_put(writer, ...) ... -> sto_writer_turn(writer)
 *               sto_writer_fd(writer) is readable           -> sto_writer_turn(writer)
 *
 * Threads    a writer belongs to one thread; every other function may be called from any thread
 * Not here   files and logs (engine/), names (catalog/)
 */
#ifndef STORAGE_STORE_H
#define STORAGE_STORE_H

#include "base/conf.h"
#include "base/fs.h"
#include "base/pool.h"
#include "storage/bulk.h" /* bulk loads */
#include "storage/catalog/catalog.h"
#include "storage/compaction.h" /* compressing harder */
#include "storage/fsck.h"       /* check and repair of a stopped store */
#include "storage/opts.h"
#include "storage/refusals.h"
#include "storage/retain.h" /* rules of retention */
#include "storage/writer.h"
#include "storage/scan.h"
#include "storage/sizes.h"

/** The configuration keys of storage (wal_sync, wal_sync_interval_ms, memstore_bytes, ...): a table for
 * ts_conf_new. */
extern const struct ts_conf_key sto_conf_keys[];
/** Set the options for which a configuration key exists; all others keep their values. */
void sto_opts_from_conf(struct sto_opts *opts, const struct ts_conf *conf);

/**
 * Open a store, or create it if opts->create is set.
 *
 * If the disk reports only when the logs are synced that it is full, the store is opened for reading only;
 * sto_store_refusing reports it.
 *
 * @param opts       borrowed until return, but for opts->fs, which must outlive the store
 * @param out_store  [out] the caller closes it with sto_close; NULL on error
 * @return 0
 *         TS_EBUSY     another process has locked the store
 *         TS_EVERSION  a newer program wrote the store
 *         or another error, whose text names the cause: no store in the folder, no permission to write,
 *         a full disk, a damaged file
 *
 * Blocks: replays the write-ahead log.
 */
int sto_open(const struct sto_opts *opts, struct sto_store **out_store, struct ts_error *err);
/**
 * Write everything that was accepted to disk, end the threads and release the lock. Afterwards no writer may be
 * used; a barrier that was not answered before is never answered.
 *
 * @return 0
 *         TS_ENOSPC TS_EIO  what was confirmed is safe in the log; points that a full or broken disk did not
 *                           take are lost. The store is closed and freed in any case.
 */
int sto_close(struct sto_store *st, struct ts_error *err);
/** The catalog: names and series of the store. Borrowed until sto_close. */
struct sto_catalog *sto_store_catalog(struct sto_store *st);
/** Say whether nobody else writes the series that are put here, so that scans of recent times need not read the remote store;
 * sto_engine_set_sole_writer. */
int sto_set_sole_writer(struct sto_store *st, bool on, struct ts_error *err);
/** The time from which on everything that the remote store has was put here and is still here, and all of its series are in the catalog;
 * INT64_MAX: it is not known. The first holds for snapshots that exist already, too, the second until the store is closed. Any thread. */
int64_t sto_complete_from(const struct sto_store *st);
/** The remote store behind this one (opts.remote); NULL if there is none. Borrowed until sto_close. */
struct sto_remote *sto_store_remote(const struct sto_store *st);
/** Why puts are refused, such as a full disk or a broken log; NULL while they are accepted. The text is
 * static. */
const char *sto_store_refusing(const struct sto_store *st);

/* --- writing --- */
/** The writer of worker i, with i < n_writers. Borrowed until sto_close; one thread at a time may use it. */
struct sto_writer *sto_writer(struct sto_store *st, unsigned i);
/**
 * Put one point. Only the thread that owns the writer may call this.
 *
 * @param ts_ms  time of the point, in milliseconds since the Unix epoch
 * @param ms     true: the point came with millisecond resolution; false: with a resolution of seconds
 * @return 0
 *         TS_EINVAL  ts_ms is outside of STO_MIN_TS_MS..STO_MAX_TS_MS
 *         TS_EBUSY   the queue to the owner of the shard is full; the point was NOT accepted: stop reading
 *                    input, call sto_writer_turn and try again
 *         TS_ENOSPC TS_ENOMEM TS_EMFILE TS_EIO  the store refuses puts; the point was NOT accepted
 *
 * Cost:   O(1), but a full batch is sent to its owner; if that is the caller, it writes the log at once.
 */
int sto_put(struct sto_writer *writer, const struct sto_series *series, int64_t ts_ms, struct ts_num value,
            bool ms);
/** Add a value to the one stored at that time (0 if there is none); otherwise as sto_put.
 * @param asker  the one of the barrier that tells whether it was made (sto_writer_barrier); 0 = nobody waits */
int sto_add(struct sto_writer *writer, const struct sto_series *series, int64_t ts_ms, struct ts_num value,
            bool ms, uint32_t asker);
/** When a value was written, and how many versions of its time are kept from then on (storage/versions.h). */
struct sto_stamp {
    int64_t written_us; /* since 1970 */
    unsigned keep;      /* 1 to STO_VERSIONS_MAX */
};
/** Put a version of a point: the stamp and the value stand in one batch. The series has nothing but versions. Otherwise as sto_put. */
int sto_put_version(struct sto_writer *writer, const struct sto_series *series, int64_t ts_ms,
                    const struct sto_stamp *stamp, struct ts_num value, bool ms);
/** Delete the points of a series with from_ms <= time <= to_ms that were put before the call. TS_EINVAL:
 * from_ms > to_ms; other errors as for sto_put. */
int sto_delete(struct sto_writer *writer, const struct sto_series *series, int64_t from_ms, int64_t to_ms);
/** The level that the configuration promises for a put that was answered: LOG with wal_sync = none, otherwise
 * DISK. */
enum sto_level sto_ack_level(const struct sto_store *st);
/** Bring everything accepted so far to a level. Blocks; must not be called in the thread of a writer. Errors as
 * for a barrier; with FILES and COMPACT, the memstores are flushed to files even if the log fails. */
int sto_flush(struct sto_store *st, enum sto_level level, struct ts_error *err);
/** Tests, with `pumped`: one step of the sync thread: sync the logs and answer the barriers that wait for
 * it. */
void sto_store_pump(struct sto_store *st);
/** Tests, with `pumped`: what the compact thread does after a flush: apply retention and do the merges that
 * are due. */
int sto_store_pump_merges(struct sto_store *st, struct ts_error *err);
/** Tests, with `pumped`: what the compact thread does every forget_every_ms: forget the series to which
 * nothing refers, and the names of those whose memory is free. No snapshot may be taken meanwhile, each writer
 * must have ended a turn after its last put, and its user must look all series up again afterwards. TS_ENOSPC,
 * TS_ENOMEM, TS_EMFILE: not finished, call it again; TS_EIO. */
int sto_store_pump_forget(struct sto_store *st, struct ts_error *err);
/** Ship all points to the remote store now; returns when it has acknowledged them. Errors of storage/remote.h: the
 * background repeats what is missing, and so may the caller. TS_EINVAL: there is no remote store. Blocks. */
int sto_ship(struct sto_store *st, struct ts_error *err);
/** Ship again what was shipped of these hours (since 1970), inclusive, and is still here; sto_engine_reship. */
int sto_reship(struct sto_store *st, int32_t from_hour, int32_t to_hour, struct ts_error *err);
/** Rows that the remote store has refused for good, the newest first, at most max; sto_engine_refused. */
size_t sto_refused_rows(struct sto_store *st, struct sto_refused_row *out, size_t max);
/** For how many seconds shipping has failed, and why; sto_engine_ship_failing. */
uint64_t sto_ship_failing(struct sto_store *st, struct ts_error *out);
/** Remove files whose points are before a time and were all shipped before it; sto_engine_drop_shipped. Errors of the manifest.
 * Blocks. */
int sto_drop_shipped(struct sto_store *st, int64_t before_ms, struct ts_error *err);
/** Compress the files of a range of time harder; sto_engine_compact_range. */
int sto_compact(struct sto_store *st, const struct sto_compact_spec *spec, struct sto_compact_result *out,
                struct ts_error *err);
/** The number of shards, and the one that was asked for; sto_engine_shards. */
struct sto_shards sto_shards(const struct sto_store *st);
/** Ask for another number of shards; sto_engine_set_shards. */
int sto_rebalance(struct sto_store *st, unsigned n_shards, struct ts_error *err);
/** Tests, with `pumped`: change to that number now; sto_engine_pump_shards. */
int sto_store_pump_shards(struct sto_store *st, struct ts_error *err);
/** Request STO_LEVEL_COMPACT in the background; returns at once. */
void sto_compact_soon(struct sto_store *st);

/* --- reading --- */
struct sto_snap;
/** Pin the current version: its files and memstores. A flush that happens meanwhile neither hides a point nor
 * shows it twice. Scans return no points that have expired at the present time, by the rules of retention (retain.h).
 * Series found while it is held stay in memory (as after sto_catalog_read_begin). Release it with
 * sto_snap_release. Any thread; O(1), does no I/O. */
struct sto_snap *sto_snap_take(struct sto_store *st);
/** Release the version. NULL is ignored. */
void sto_snap_release(struct sto_snap *snap);
/** The time from which on scans of the snapshot do not read the remote store, a full hour; INT64_MAX: they always do, INT64_MIN: there is
 * none. */
int64_t sto_snap_complete_from(const struct sto_snap *snap);
/** Scan the rows of the selected series in key order. Several threads may run scans of one snapshot at the
 * same time. With a remote store this fetches what it has of them first: errors of storage/remote.h; TS_EBUSY in a thread
 * that must not wait; TS_EINVAL if spec->series is NULL. */
int sto_scan(struct sto_snap *snap, const struct sto_scan_spec *spec, struct sto_merge **out_scan,
             struct ts_error *err);
/** Bounds of the times of all points, from the ranges that files and memstores record; false if there are no
 * points. With a remote store that does not know its bounds, or does not answer, they are as wide as times can be. */
bool sto_snap_time_range(struct sto_snap *snap, int64_t *out_min_ms, int64_t *out_max_ms);
/** Upper bounds of the points and bytes that a scan would read here, from indexes alone; for planning and
 * limits. What a remote store would add is not known. */
void sto_scan_estimate(struct sto_snap *snap, const struct sto_scan_spec *spec, uint64_t *out_points,
                       uint64_t *out_bytes);
/** Report for each file what a scan of the selected series would read, from indexes alone; see
 * engine/cost.h. */
int sto_scan_cost(struct sto_snap *snap, const struct sto_scan_spec *spec, sto_scan_cost_fn each, void *arg,
                  struct ts_error *err);

/** Remove from a set the series that have no points here in from_ms..to_ms; approximately, see engine/engine.h. What a remote
 * store has is not looked at. 0; errors of reading files, and set is unchanged then. Blocks. Cost: the sets of the files of
 * that time, and a lookup for each series that is in none of them. */
int sto_snap_keep_used(struct sto_snap *snap, int64_t from_ms, int64_t to_ms, roaring_bitmap_t *set,
                       struct ts_error *err);
/** Windows of time that have files; out gets the first max, smallest windows first. Returns how many there are. */
size_t sto_snap_windows(const struct sto_snap *snap, struct sto_window_size *out, size_t max);
/** What owners have in memory; returns how many there are, at most max. */
size_t sto_snap_owners(const struct sto_snap *snap, struct sto_owner_size *out, size_t max);

/* --- small cells: annotations, metadata; key and value are bytes; logged, in memory --- */
/* Cells that a remote store shares with other programs (opts.remote_cell) are changed there first: changes of them block for the network, are TS_EBACKEND if the
 * remote store does not acknowledge them, in which case nothing has changed here, and TS_EBUSY in a thread that must not wait. Reads are of the copy here. */
/** Append a copy of the value of a small cell to out. 0, TS_ENOTFOUND, and TS_ELIMIT or TS_ENOMEM if out
 * cannot hold it. */
int sto_cell_get(struct sto_store *st, struct ts_slice key, struct ts_buf *out);
/** Set a small cell; an empty value deletes it. The change is durable (at sto_ack_level) when 0 is returned.
 * Blocks. */
int sto_cell_put(struct sto_store *st, struct ts_slice key, struct ts_slice value, struct ts_error *err);
/** Set a small cell if its present value equals expected (empty: the cell must not exist); otherwise
 * TS_EEXIST. */
int sto_cell_cas(struct sto_store *st, struct ts_slice key, struct ts_slice expected, struct ts_slice value,
                 struct ts_error *err);
/** Like sto_cell_put and sto_cell_cas, for many cells: readers see the change at once, but it is durable only
 * after sto_cell_sync has returned 0. */
int sto_cell_put_later(struct sto_store *st, struct ts_slice key, struct ts_slice value,
                       struct ts_error *err);
int sto_cell_cas_later(struct sto_store *st, struct ts_slice key, struct ts_slice expected,
                       struct ts_slice value, struct ts_error *err);
/** Read a cell that is shared with a remote store from there, so that the reads below see what other programs wrote. must: wait as long as for a
 * change, otherwise for 2 s. 0, also for a cell that is not shared; TS_EBACKEND: what is here stays. Blocks. */
int sto_cell_refresh(struct sto_store *st, struct ts_slice key, bool must, struct ts_error *err);
/** A moment before a fetch (sto_fetch.note), for sto_cell_seen. */
uint64_t sto_cell_stamp(struct sto_store *st);
/** A fetch that began after the stamp has found a value in a shared cell, or has read its place and found none (empty value): correct
 * what is here (storage/cells_shared.h). Blocks if cells have changed here since the stamp. */
int sto_cell_seen(struct sto_store *st, struct ts_slice key, struct ts_slice value, uint64_t stamp,
                  struct ts_error *err);
/** Make all changes of small cells made so far durable, with one sync. */
int sto_cell_sync(struct sto_store *st, struct ts_error *err);
/** Add delta to a 64-bit counter; a missing cell counts as 0. Durable when 0 is returned. */
int sto_cell_incr(struct sto_store *st, struct ts_slice key, int64_t delta, int64_t *out_value,
                  struct ts_error *err);
/** Call each(arg, key, value) for the small cells whose keys begin with prefix, in byte order, until it
 * returns false. */
void sto_cell_each(struct sto_store *st, struct ts_slice prefix,
                   bool (*each)(void *arg, struct ts_slice key, struct ts_slice value), void *arg);
/** The same for the small cells with from <= key < to; an empty to means no upper bound. */
void sto_cell_range(struct sto_store *st, struct ts_slice from, struct ts_slice to,
                    bool (*each)(void *arg, struct ts_slice key, struct ts_slice value), void *arg);

/** Report the counters, whose names carry the unit: each(arg, "wal.bytes", value). */
void sto_stats(struct sto_store *st, void (*each)(void *arg, const char *name, uint64_t value), void *arg);

#endif
