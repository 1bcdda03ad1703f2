/*
 * store.h - the door of storage: open a store, put points, resolve and select series, scan, flush, small
 * cells.
 *
 * Writers are "ports": one for each worker thread. A worker puts points into its port, ends a turn, and runs
 * its shards when its queue wakes it. The owner of a shard writes the log first, the memstore second.
 * Programs without an event loop let the store run the ports itself (own_threads).
 *
 *   worker i: read socket > sto_put(port, ...)* > sto_port_turn(port)      sto_port_fd readable >
 * sto_port_turn(port)
 *
 * Threads    a port belongs to one thread; everything else may be called from any thread
 * Not here   files and logs (engine/), names (catalog/)
 */
#ifndef STORAGE_STORE_H
#define STORAGE_STORE_H

#include "base/conf.h"
#include "base/fs.h"
#include "base/pool.h"
#include "storage/batch.h"
#include "storage/catalog/catalog.h"
#include "storage/engine/cost.h"  /* sto_scan_cost_fn */
#include "storage/engine/merge.h" /* sto_scan_spec, sto_row */
#include "storage/fsck.h"         /* check and repair of a stopped store */

enum sto_sync { STO_SYNC_ALWAYS, STO_SYNC_INTERVAL, STO_SYNC_NONE };

struct sto_store;

struct sto_opts {
    const struct ts_fs *fs; /* NULL = the real one */
    const char *dir;        /* data folder */
    bool create;            /* make the folder and the store if missing */
    bool read_only;         /* nothing is written; the log is replayed into memory */
    bool own_threads;       /* the store runs the ports itself */
    unsigned n_ports;       /* workers; 0 = 1 */
    unsigned n_shards;      /* of a new store; power of two; 0 = 16 */
    enum sto_sync wal_sync;
    unsigned wal_sync_interval_ms; /* 0 = 100 */
    uint64_t reserve_bytes;        /* room kept for a full disk; 0 = none */
    uint64_t merge_bytes_per_s;    /* merges write no faster than this; 0 = no limit */
    uint64_t merge_memory_bytes;   /* blocks that a merge of files holds; 0 = 32 MiB */
    size_t memstore_bytes;         /* a generation is flushed at this size; 0 = 32 MiB */
    size_t queue_bytes;            /* cap of one port's queue; 0 = 16 MiB */
    size_t index_cache_bytes;      /* pages of the files' indexes in memory; 0 = 64 MiB */
    uint64_t max_series;           /* 0 = 2^32 - 1 */
    uint64_t max_name_bytes; /* memory for names and series; new ones are refused above it; 0 = no limit */
    int64_t retention_ms;    /* 0 = keep for ever */
    int64_t
        forget_every_ms; /* how often series without points are looked for and forgotten (catalog/forget.h); 0 = never.
                                Needs retention_ms, and not own_threads */
    bool (*keeps_series)(struct sto_store *st,
                         const struct sto_series *s); /* is there something else about a series, so that it
                                                         stays? Compact thread; NULL = no */
    int64_t flush_age_ms; /* a generation is flushed when it is this old; 0 = never */
    bool no_background;   /* tests: flush and compact only when told */
    bool
        survive_sync_errors; /* tests: refuse puts after a failed fdatasync, fail flushes after an error of manifest
                                 or catalog, instead of ending the process */
    bool pumped; /* tests: no thread is started; the caller turns the ports and calls sto_store_pump. Needs
                    no_background, not own_threads */
    uint64_t
        wal_segment_bytes; /* tests: a log segment longer than this is followed by a new one; 0 = 64 MiB */
    uint64_t
        log_grow_bytes; /* tests: logs of manifest, names and cells are rewritten after growing by this; 0 =
                                as each of them likes */
    uint64_t big_day_points;    /* tests: a day with this many points gets files of its own; 0 = 100,000 */
    uint64_t output_bytes;      /* tests: files are cut by key at this size; 0 = 1 GiB */
    uint32_t index_page_blocks; /* tests: entries of a page of an index; 0 = 256 */
    bool index_late;            /* tests: no index is read when its file is opened, however small */
};

struct sto_port;

/** The keys of storage (wal_sync, wal_sync_interval_ms, memstore_bytes, ...), a table for ts_conf_new. */
extern const struct ts_conf_key sto_conf_keys[];
/** Fill the options that keys speak of; the others stay as they are. */
void sto_opts_from_conf(struct sto_opts *opts, const struct ts_conf *conf);

/** Open. One clear sentence each for: not a store, locked by another process (TS_EBUSY), read-only folder,
 * full disk, newer format. A store on a disk that is full only when logs are synced is opened for reading only: sto_store_refusing. */
int sto_open(const struct sto_opts *opts, struct sto_store **out_store, struct ts_error *err);
/** Everything accepted is on disk, threads ended, lock released. Ports must not be used any more; a barrier
 * that was not answered yet never is. TS_ENOSPC, TS_EIO: what was confirmed is safe in the log; what a full
 * disk held back, or a broken one, is not. */
int sto_close(struct sto_store *st, struct ts_error *err);
/** Names and series of the store; borrowed. */
struct sto_catalog *sto_store_catalog(struct sto_store *st);
/** Names a sto_store refuses puts with and why, NULL when it accepts: disk full or a broken log. Static until
 * it changes. */
const char *sto_store_refusing(const struct sto_store *st);

/* --- writing --- */
struct sto_port *sto_port(struct sto_store *st, unsigned i);
/** Add one operation. Owner of the port only. 0, TS_EBUSY (queue of the shard's owner full: stop reading;
 * nothing is lost, the point was NOT taken), TS_ENOSPC, TS_ENOMEM, TS_EMFILE, TS_EIO (store refuses). */
int sto_put(struct sto_port *port, const struct sto_series *series, int64_t ts_ms, struct ts_num value,
            bool ms);
/** The same, but the value is added to what stands at that time. */
int sto_add(struct sto_port *port, const struct sto_series *series, int64_t ts_ms, struct ts_num value,
            bool ms);
/** Delete a series' points with from_ms <= time <= to_ms that were put before. */
int sto_delete(struct sto_port *port, const struct sto_series *series, int64_t from_ms, int64_t to_ms);
/** Fast lane for parsers: the open batch for a series' owner; append to batch->points[batch->n++] yourself
 * while n < STO_BATCH_POINTS, then call again. NULL: busy or refusing (ask sto_port_error). */
struct sto_batch *sto_port_batch(struct sto_port *port, const struct sto_series *series);
/** Why puts are refused: TS_EBUSY, TS_ENOSPC, TS_ENOMEM, TS_EMFILE, TS_EIO, or 0. */
int sto_port_error(const struct sto_port *port, struct ts_error *err);
/** Index of the batch slot of a series (owner of its shard); batches of equal slot are the same until the
 * next sto_port_batch or turn. */
unsigned sto_port_slot(const struct sto_port *port, const struct sto_series *series);
/** Send open batches, take in what others sent: log, memstore, done. Call at the end of each loop turn and
 * when sto_port_fd is readable. */
void sto_port_turn(struct sto_port *port);
/** Readable when sto_port_turn has something to do. */
int sto_port_fd(const struct sto_port *port);
/** Memory: sto_put fills memstores for whoever does not ask here. The daemon asks before each read of a line
 * socket and before each body, so that one buffer and one body a worker come on top of the budget.
 * Should sockets be read? False above 75 % of any queue or while memstores wait for a flush, true again
 * below 50 %. */
bool sto_port_ready(struct sto_port *port);

enum sto_level {
    STO_LEVEL_LOG,     /* accepted: handed to the kernel, visible to queries */
    STO_LEVEL_DISK,    /* logs synced */
    STO_LEVEL_FILES,   /* memstores flushed to files */
    STO_LEVEL_COMPACT, /* and files merged */
};
typedef void (*sto_done_fn)(void *arg, int rc, const struct ts_error *err);
/** Ask: everything put into this port before the call holds at level (LOG, DISK). done is called once, in the
 * port's thread, from sto_port_turn. TS_ENOSPC, TS_ENOMEM, TS_EMFILE: the disk is full, memory is gone or no file can be opened, some of it waits and is written as
 * soon as there is room (ask again), but additions that wait are dropped and never written: additions of two
 * askers must not be under way in one port, each waits for its answer first. TS_EIO: some of it is lost, or
 * in doubt until the store was opened again. */
void sto_port_barrier(struct sto_port *port, enum sto_level level, sto_done_fn done, void *arg);
/** Level the configuration promises for an answered put: LOG with wal_sync none, else DISK. */
enum sto_level sto_ack_level(const struct sto_store *st);
/** Everything accepted so far at level, blocking the caller (never a port's thread). Errors as for a barrier;
 * files are written in any case. */
int sto_flush(struct sto_store *st, enum sto_level level, struct ts_error *err);
/** Tests, with `pumped`: what the sync thread does once: sync the logs, answer the barriers that wait for it. */
void sto_store_pump(struct sto_store *st);
/** Tests, with `pumped`: what the compact thread does after a flush: retention, and the merges worth doing. */
int sto_store_pump_merges(struct sto_store *st, struct ts_error *err);
/** Tests, with `pumped`, no snapshot being taken meanwhile: what the compact thread does every forget_every_ms: forget series
 * that nothing mentions. Each port was turned after its last put, and asks for its series anew afterwards.
 * TS_ENOSPC, TS_ENOMEM, TS_EMFILE: begun, and to be called again; TS_EIO. */
int sto_store_pump_forget(struct sto_store *st, struct ts_error *err);
/** Ask for STO_LEVEL_COMPACT in the background, return at once. */
void sto_compact_soon(struct sto_store *st);

/* --- reading --- */
struct sto_snap;
/** Pin one version: files and memstores behind one pointer; nothing appears twice or not at all through a
 * flush. Series that are found while it is held stay in memory (sto_catalog_read_begin). It begins retention_ms before the present time: what is older is in no answer. Cheap. */
struct sto_snap *sto_snap_take(struct sto_store *st);
/** Let the version go. NULL is harmless. */
void sto_snap_release(struct sto_snap *snap);
/** Rows of the chosen series in key order. Several scans of one snapshot may run in parallel threads. */
int sto_scan(struct sto_snap *snap, const struct sto_scan_spec *spec, struct sto_merge **out_scan,
             struct ts_error *err);
/** Time of the first and last point anywhere (a bound, from files and memstores); false if empty. */
bool sto_snap_time_range(struct sto_snap *snap, int64_t *out_min_ms, int64_t *out_max_ms);
/** Number of points and bytes a scan would read at most (from indexes; for planning and limits). */
void sto_scan_estimate(struct sto_snap *snap, const struct sto_scan_spec *spec, uint64_t *out_points,
                       uint64_t *out_bytes);
/** What a scan of chosen series would touch, file by file, from indexes alone; see engine/cost.h. */
int sto_scan_cost(struct sto_snap *snap, const struct sto_scan_spec *spec, sto_scan_cost_fn each, void *arg,
                  struct ts_error *err);

/* --- small cells: annotations, metadata; key and value are bytes; logged, in memory --- */
/** Copy of a value into out (appended); TS_ENOTFOUND. */
int sto_cell_get(struct sto_store *st, struct ts_slice key, struct ts_buf *out);
/** Durable (at the ack level) when 0 is returned. An empty value deletes. */
int sto_cell_put(struct sto_store *st, struct ts_slice key, struct ts_slice value, struct ts_error *err);
/** Put if the present value equals expected (empty = must be missing); TS_EEXIST if not. */
int sto_cell_cas(struct sto_store *st, struct ts_slice key, struct ts_slice expected, struct ts_slice value,
                 struct ts_error *err);
/** The same for many cells: readers see the changes at once, they are durable when sto_cell_sync has returned 0. */
int sto_cell_put_later(struct sto_store *st, struct ts_slice key, struct ts_slice value,
                       struct ts_error *err);
int sto_cell_cas_later(struct sto_store *st, struct ts_slice key, struct ts_slice expected,
                       struct ts_slice value, struct ts_error *err);
/** Make all changes of cells durable that were made so far; one sync. */
int sto_cell_sync(struct sto_store *st, struct ts_error *err);
/** Add delta to a 64-bit counter (missing = 0). */
int sto_cell_incr(struct sto_store *st, struct ts_slice key, int64_t delta, int64_t *out_value,
                  struct ts_error *err);
/** Cells whose key begins with prefix, in byte order, each(arg, key, value); each returns false to stop. */
void sto_cell_each(struct sto_store *st, struct ts_slice prefix,
                   bool (*each)(void *arg, struct ts_slice key, struct ts_slice value), void *arg);
/** The same for cells from <= key < to; an empty to: up to the last one. */
void sto_cell_range(struct sto_store *st, struct ts_slice from, struct ts_slice to,
                    bool (*each)(void *arg, struct ts_slice key, struct ts_slice value), void *arg);

/** Counters with units: each(arg, "wal.bytes", value). */
void sto_stats(struct sto_store *st, void (*each)(void *arg, const char *name, uint64_t value), void *arg);

#endif
