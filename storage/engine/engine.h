/*
 * engine.h - the embedded storage engine: owners of shards, generations of memstores, versions, flush and
 * compaction.
 *
 *   caller's thread   put -> writer (one open batch per owner)
 *   owner             batch -> write-ahead log -> memstore
 *   flush thread      frozen generation -> sorted files -> manifest -> new version
 *   compact thread    several files -> fewer files; retention
 *   sync thread       fdatasync of the logs; answers barriers
 *
 * The engine knows a series as a handle (storage/point.h). The caller that opens the engine keeps the names,
 * and the engine reaches them through callbacks.
 *
 * Threads    docs/THREADS.md
 * Not here   names (catalog/), options as text (store.c)
 */
#ifndef STORAGE_ENGINE_ENGINE_H
#define STORAGE_ENGINE_ENGINE_H

#include "storage/compaction.h"
#include "storage/engine/files/sst_series.h"
#include "storage/engine/log/wal.h"
#include "storage/engine/merge/merge.h"
#include "storage/floors.h"
#include "storage/keep.h"
#include "storage/opts.h"
#include "storage/quota.h"
#include "storage/writer.h"
#include "storage/refusals.h"
#include "storage/remote.h"
#include "storage/sizes.h"
#include "storage/total_scan.h"

struct sto_engine;

/* What the manifest and the files contain, for the caller that keeps the names. */
struct sto_engine_found {
    uint32_t n_shards;
    uint64_t series_end; /* every series that has rows in files has a lower number */
    /* The store was opened for writing before, so the logs of names and of small cells were created then. */
    bool used;
};

/* Series whose points stay although they have expired, since their summaries were not made (storage/age_left.h). {0}: there are none. */
struct sto_age_left {
    roaring_bitmap_t
        *series;    /* of points, not of summaries of hours, which go last anyway; owned; NULL: none */
    uint64_t epoch; /* another one when series is another set; 0: never any */
};

/* What the engine needs of the caller that opens it, who keeps the names. */
struct sto_engine_owner {
    /* Code 0: the caller wants a read-only store. Otherwise refused puts return this code and text. */
    struct ts_error read_only_why;
    /* Makes the names of all series durable. A flush calls it before the manifest lists its files. Flush
     * thread. */
    int (*sync_names)(void *arg, struct ts_error *err);
    /* Rewrites logs that have grown. The compact thread calls it from time to time. Errors are not
     * returned here; the next sync_names reports them. May be NULL. */
    void (*tidy)(void *arg);
    /* Forgets series that nothing mentions, by means of sto_engine_used and sto_engine_turned. The compact
     * thread calls it from time to time. full: a caller requested a full compaction, and it has ended. May
     * be NULL. */
    void (*forget)(void *arg, bool full);
    /* Opens the catalog. Called once the manifest and the footers of the files are read, before the log is
     * replayed. */
    int (*ready)(void *arg, const struct sto_engine_found *found, struct ts_error *err);
    /* Replay: returns the handle of a series, given its ids and text; NULL with *err set. */
    const struct sto_series *(*restore)(void *arg, uint32_t id, uint32_t metric, const struct sto_tag *tags,
                                        size_t n_tags, struct ts_slice text, uint32_t metric_len,
                                        struct ts_error *err);
    /* Returns n: all series with numbers below n are in the catalog on disk, so the write-ahead log records
     * only their numbers. Owner threads. NULL: it always records names. */
    uint32_t (*n_known)(void *arg);
    /* Replay: returns the handle of such a series; NULL with *err set. NULL if n_known is NULL. */
    const struct sto_series *(*known)(void *arg, uint32_t id, struct ts_error *err);
    /* Called when the engine closes, or fails to open: the engine has closed everything of its own, and
     * the folder is still locked. Closes whatever else is stored in the folder. May be NULL. */
    void (*closed)(void *arg);
    /* A write-ahead log, the manifest or the names could not be written or synced. It is not known how
     * much of it is on disk, and only opening the store again can find out, so the process should report
     * err and exit. err names the file and errno. Sync, flush or compact thread; may be NULL (tests). */
    void (*on_fatal)(void *arg, const struct ts_error *err);
    /* The names of a series, for the remote store. tags has space for STO_SHIP_TAGS_MAX; the texts stay valid
     * until the engine is closed. False: the series is not known. Any thread; not NULL if opts->remote is
     * not. */
    bool (*names)(void *arg, uint32_t series, struct sto_remote_tag *tags, struct sto_remote_series *out);
    /* The handle of a series; NULL: it is not known. Any thread; not NULL if opts->remote is not. */
    const struct sto_series *(*series)(void *arg, uint32_t id);
    /* The rules of retention as they are now, by the present names; the engine gives the reference back. Called after `ready`, by any
     * thread. NULL: points are kept for opts->retention_ms. */
    struct sto_keep *(*keep)(void *arg);
    /* Makes summaries of what has expired before_ms, and of what the limit of bytes cuts off, before it is removed (storage/age.h). The compact thread calls it with
     * nothing held but compact_mu. 1: nothing is left to do, or too few series to matter; 0: it made some, and another call goes on; TS_ECANCELLED: it could not tell; other errors: too many were
     * not made. out_left is set to the series whose points stay; borrowed until the next call. May be NULL. */
    int (*age)(void *arg, int64_t before_ms, const struct sto_age_left **out_left);
    /* The limit of bytes; borrowed, and open from `ready` to `closed`. NULL: there is none. */
    struct sto_quota *quota;
    /* The declared totals whose names are known: how many; out has room for STO_TOTALS_MAX. Called after `ready`, by any thread. NULL: there are none. */
    size_t (*totals)(void *arg, struct sto_total_ids *out);
    /* The tags of a series, as sto_total_tags_fn (files/total.h); not NULL if totals is not. */
    int (*tags)(void *arg, uint32_t series, struct sto_tag *tags);
    void *arg; /* first argument of the callbacks */
};
#define STO_SHIP_TAGS_MAX 255 /* tags of a series */

/**
 * Open or create a store: lock the folder, read the manifest, replay the logs, start the threads.
 *
 * @param opts   copied, dir too, with defaults in place of zeros; fs is used until sto_engine_close returns
 * @param owner  copied; the callbacks are used until sto_engine_close returns
 * @param out_e  [out] the engine, set before callbacks come from its threads; NULL on error
 * @return 0, or a negative code with one clear sentence in err for each way in which opening can fail
 *
 * Blocks: reads the manifest, the footers of all files and the logs.
 */
int sto_engine_open(const struct sto_opts *opts, const struct sto_engine_owner *owner,
                    struct sto_engine **out_e, struct ts_error *err);
/**
 * Flush the memstores, sync the logs, end the threads, unlock the folder and free the engine. The threads of
 * the writers have ended before. NULL is ignored.
 *
 * @return 0, or the first error; the engine is closed in any case
 */
int sto_engine_close(struct sto_engine *e, struct ts_error *err);
/** Why puts are refused; NULL while they are accepted. out_code gets TS_ENOSPC, TS_ENOMEM, TS_EMFILE,
 * TS_EIO, or the code of sto_read_only_error. The text is never freed. Any thread. */
const char *sto_engine_refusing(const struct sto_engine *e, int *out_code);

/* --- writers: storage/writer.h --- */
/** Writer i, below n_writers; borrowed. One thread at a time may use it. */
struct sto_writer *sto_engine_writer(struct sto_engine *e, unsigned i);
/** Block until everything that was sent before the call is in the logs (disk: and synced). TS_ENOSPC,
 * TS_ENOMEM: a part of it waits for space on the disk or for memory; TS_EIO: a part of it is lost. */
int sto_engine_wait(struct sto_engine *e, bool disk, struct ts_error *err);

/** With `pumped`: do what one pass of the sync thread does. */
void sto_engine_pump_sync(struct sto_engine *e);
/** With `pumped`: change the number of shards now if another one is wanted. No function of a writer may be running. 0, also if the change has to wait; errors of
 * flushes and of the manifest. */
int sto_engine_pump_shards(struct sto_engine *e, struct ts_error *err);
/** With `pumped`: do what the compact thread does when it is woken. */
int sto_engine_pump_merges(struct sto_engine *e, struct ts_error *err);

/* --- files --- */
/** Write all generations that hold points to files; returns when the manifest lists these files. Blocks. */
int sto_engine_flush(struct sto_engine *e, struct ts_error *err);
/** Merge files until none overlap in time, no delete remains to be applied and small windows are joined.
 * Blocks. A window whose merge fails is skipped; the first such error is returned after all other windows
 * are done. */
int sto_engine_compact(struct sto_engine *e, struct ts_error *err);
/** Flush, then compress the files that have points of a range of time with a level of zstd, except those that have this level and those
 * whose days are not over. Later merges keep the level. What was replaced when it fails stays.
 *
 * @param out  [out] what was done, also after an error
 * @return 0; TS_EINVAL: level or range; TS_ELIMIT: compaction_memory_bytes is too low for the level; TS_EBUSY: another call is at work;
 *         TS_ECANCELLED: spec->stop, or the store is closing; the first error of a window of the range, the others are done
 *
 * Blocks, for hours if there is much to compress. */
int sto_engine_compact_range(struct sto_engine *e, const struct sto_compact_spec *spec,
                             struct sto_compact_result *out, struct ts_error *err);
/** Request a flush and a full compaction in the background and return at once. Any thread. */
void sto_engine_compact_soon(struct sto_engine *e);
/** Wake the compact thread, which otherwise looks for work once a minute. Any thread. */
void sto_engine_look_soon(struct sto_engine *e);

/** The declared totals, as owner.totals says. Any thread. */
size_t sto_engine_declared(struct sto_engine *e, struct sto_total_ids *out);
/** How far the files have these totals; out has n members. Any thread. */
void sto_engine_totals(struct sto_engine *e, const struct sto_total_ids *ids, size_t n,
                       struct sto_total_state *out);

/* --- shards --- */
/** The present number of shards and the wanted one. Any thread. */
struct sto_shards sto_engine_shards(const struct sto_engine *e);
/** Set the wanted number of shards, a power of two up to STO_SHARDS_MOST. The flush thread changes to it within about a second, while the store is in use,
 * and tries again if something keeps it from that (shards.h); without a flush thread the store changes when it is closed in order. Returns as soon as the
 * wish is on disk. 0; TS_EINVAL; errors of writing DIR/SHARDS. Any thread. Blocks. */
int sto_engine_set_shards(struct sto_engine *e, unsigned n_shards, struct ts_error *err);

/* --- retention --- */
/** What these rules do to the present files. out: for each rule, and one more for the rest. 0; errors of reading sets of series. Any
 * thread. */
int sto_engine_expired(struct sto_engine *e, struct sto_keep *keep, int64_t now_ms, struct sto_expired *out,
                       struct ts_error *err);
/** The present time as far as retention trusts the clock: what has jumped forward is left out; INT64_MIN while nothing is known. Any
 * thread. */
int64_t sto_engine_sure_ms(struct sto_engine *e);
/** What rules have removed for good, for scans (struct sto_scan_spec); NULL: nothing. Take it after the version is pinned, and give it back.
 * Any thread. */
struct sto_floors *sto_engine_floors(struct sto_engine *e);

/* What the limit of bytes does (storage/max_bytes.h has the meaning of each). */
struct sto_evicts {
    uint64_t bytes, fixed_bytes, pending_bytes, freed_bytes;
    int64_t cutoff_ms, summaries_ms, next_ms, held_ms;
    bool is_short;
};
/** What a limit would do now; 0 = none. TS_EINVAL: the owner has none. Any thread. Blocks: reads indexes. */
int sto_engine_evicts(struct sto_engine *e, uint64_t max_bytes, struct sto_evicts *out, struct ts_error *err);

/* --- the remote store --- */
/** Ship everything that the remote store has not received yet, and return when it has acknowledged all of it.
 * Points of memstores are shipped too, but nothing is flushed; their hours get marks after a later flush.
 * Calls run one after the other. Errors of the remote store; TS_ECANCELLED: the engine is closing; TS_EINVAL:
 * there is no remote store. Blocks. */
int sto_engine_ship(struct sto_engine *e, struct ts_error *err);
/** Ship again what was shipped of these hours, inclusive, and is still here; the next passes do it. Deletes are not
 * repeated. Values that another writer has put there since are replaced. Returns when this is durable. Errors of the manifest; TS_EINVAL:
 * there is no remote store. Does not wait for the running pass, which may have seen these hours already: the next one sends them. */
int sto_engine_reship(struct sto_engine *e, int32_t from_hour, int32_t to_hour, struct ts_error *err);
/** Copy the newest rows that the remote store has refused for good since the start, at most max; returns how many. Any thread. */
size_t sto_engine_refused(struct sto_engine *e, struct sto_refused_row *out, size_t max);
/** For how many seconds all passes of shipping have failed; 0: the last one has not, or there is no remote store.
 * @param out  [out] why, set if the last one has failed; may be NULL. Any thread */
uint64_t sto_engine_ship_failing(struct sto_engine *e, struct ts_error *out);
/** Remove the files whose points are before a time and were all shipped before it, unless older points of other files
 * would reappear or a merge is reading the file; it does not wait for merges. When points were shipped is known from earlier calls, which
 * note the ship marks of their time: call it regularly with a time that is as long ago. With a time that is not in the past everything
 * that was shipped goes. Returns when the manifest no longer names the files. Blocks. */
int sto_engine_drop_shipped(struct sto_engine *e, int64_t before_ms, struct ts_error *err);

/** Say whether nobody else writes the series that are put here. If so, from the first full hour on that is after the present time and after
 * all points here and all that were ever sent, everything that the remote store has is here too, and from a later time on once shipped points
 * are removed here. It is kept over a restart (complete.h). TS_EINVAL: there is no remote store, nothing can be written, or the clock was not
 * set; TS_ENOSPC: DIR/COMPLETE cannot be written; errors of the manifest. */
int sto_engine_set_sole_writer(struct sto_engine *e, bool on, struct ts_error *err);

/* --- forgetting series --- */
/**
 * Series that are mentioned: by files that have rows of them, whatever the age of the rows, and by memstores
 * that have rows or deletes of them. The part of the write-ahead log that would be replayed mentions no
 * others. Tombstones in files do not count: without rows there is nothing that they could delete.
 *
 * @return a bitmap of the caller's (roaring_bitmap_free); NULL: a file cannot be read, so the set is not known
 */
roaring_bitmap_t *sto_engine_used(struct sto_engine *e);
/** Wait until each worker has ended a turn and the memstores hold what the workers had put by then. A
 * caller that first changes something that workers check before they put (sto_catalog_generation) then
 * knows that no worker puts by its former state. Errors as for sto_engine_wait: some of it may be
 * missing. Not with own_threads, where no worker turns the writers. */
int sto_engine_turned(struct sto_engine *e, struct ts_error *err);

/* --- reading --- */
struct sto_version; /* immutable: the files and memstores that make up the store at one moment */
/** Pin the present version: nothing of it is freed until sto_engine_unpin. Any thread. */
struct sto_version *sto_engine_pin(struct sto_engine *e);
/** Release a version; NULL is ignored. After the last reference the flush thread frees the version and
 * unlinks the files that were removed from the manifest; without background threads this call does so. */
void sto_engine_unpin(struct sto_engine *e, struct sto_version *v);
/** The time from which on a version has everything that the remote store has; INT64_MAX: it is not known. */
int64_t sto_version_complete_from(const struct sto_version *v);
/** The same of the present version. Any thread. */
int64_t sto_engine_complete_from(struct sto_engine *e);
/** As sto_scan. */
int sto_version_scan(const struct sto_version *v, const struct sto_scan_spec *spec, struct sto_merge **out,
                     struct ts_error *err);
/**
 * As sto_version_scan, with the rows that the remote store has of the selected series. For one time the order
 * is, from old to new: local points that were shipped; points of the remote store; local points that were not
 * shipped. Tombstones that were not shipped apply to both stores.
 *
 * All rows are fetched before it returns and are counted in spec->memory. Blocks; TS_EBUSY in a thread that
 * must not wait (ts_fs_set_nowait). TS_EINVAL: spec->series is NULL. Errors of the remote store.
 */
int sto_engine_scan_both(struct sto_engine *e, const struct sto_version *v, const struct sto_scan_spec *spec,
                         struct sto_merge **out, struct ts_error *err);
/** Bounds of the times of all points, here and in the remote store; the widest possible ones if they are not
 * known. False: there are no points. Blocks, except in a thread that must not wait. */
bool sto_engine_time_range(struct sto_engine *e, const struct sto_version *v, int64_t *out_min_ms,
                           int64_t *out_max_ms);
/** As sto_snap_time_range. */
bool sto_version_time_range(const struct sto_version *v, int64_t *out_min_ms, int64_t *out_max_ms);
/** As sto_scan_estimate. */
void sto_version_estimate(const struct sto_version *v, const struct sto_scan_spec *spec, uint64_t *out_points,
                          uint64_t *out_bytes);

/** Sizes of the windows of time that have files, the smallest windows first; out gets the first max of them. Returns how many there
 * are. O(files log files). */
size_t sto_version_windows(const struct sto_version *v, struct sto_window_size *out, size_t max);
/** Sizes of the memstores by owner; returns how many owners there are, at most max. */
size_t sto_version_owners(const struct sto_version *v, struct sto_owner_size *out, size_t max);
/**
 * Remove from a set the series that have no rows in a range of time. Series are kept that share a file with points of
 * the range, so the answer is as exact as files are short; retention and deletes are not looked at.
 *
 * @param series  the series with a number, NULL if there is none
 * @return 0; TS_ECORRUPT, TS_EIO, TS_ENOMEM, TS_EMFILE and TS_EBUSY of the sets of files; set is unchanged then
 */
int sto_version_keep_used(const struct sto_version *v, int64_t from_ms, int64_t to_ms,
                          const struct sto_series *(*series)(void *arg, uint32_t id), void *arg,
                          roaring_bitmap_t *set, struct ts_error *err);

/** Report the counters of the engine: each(arg, "wal.bytes", value). Any thread. */
void sto_engine_stats(struct sto_engine *e, void (*each)(void *arg, const char *name, uint64_t value),
                      void *arg);

#endif
