/*
 * engine.h - the embedded engine: owners of shards, generations of memstores, versions of files, flush and
 * compaction.
 *
 *   put > port (open batch per owner) > owner: log, memstore      flush thread: generation > sorted files >
 * manifest > version compact thread: files > fewer files sync thread: fdatasync of the logs, answers barriers
 *
 * The engine knows series as handles (storage/point.h); names are kept by whoever opened it, reached through
 * two callbacks.
 * Threads    docs/THREADS.md
 * Not here   names (catalog/), options as text (store.c)
 */
#ifndef STORAGE_ENGINE_ENGINE_H
#define STORAGE_ENGINE_ENGINE_H

#include "base/fs.h"
#include "storage/batch.h"
#include "storage/engine/merge.h"
#include "storage/engine/pages.h"
#include "storage/engine/wal.h"

struct sto_engine;
struct sto_port;

enum sto_engine_sync { STO_ENGINE_SYNC_ALWAYS, STO_ENGINE_SYNC_INTERVAL, STO_ENGINE_SYNC_NONE };

/* What the manifest and the files say, for who keeps the names. */
struct sto_engine_found {
    uint32_t n_shards;
    uint64_t series_end; /* files have rows of series below it */
    bool used;           /* it was started for writing before: logs of names and cells were made then */
};

struct sto_engine_opts {
    const struct ts_fs *fs;
    const char *dir; /* data folder */
    bool create, read_only, own_threads, no_background;
    struct ts_error
        read_only_why; /* code 0: somebody wanted it so; else what refused puts say, with this code */
    unsigned n_ports;  /* >= 1 */
    unsigned n_shards; /* of a new store */
    enum sto_engine_sync sync;
    unsigned sync_interval_ms;
    uint64_t reserve_bytes;     /* room kept for a full disk (reserve.h); 0 = none */
    size_t memstore_bytes;      /* flush at this size of one generation */
    size_t queue_bytes;         /* cap of one owner's queue */
    int64_t retention_ms;       /* 0 = keep */
    uint64_t merge_bytes_per_s; /* merges write no faster than this; 0 = no limit */
    uint64_t
        merge_memory_bytes; /* most that a merge holds of its inputs, but for what one row needs; 0 = no limit */
    int64_t max_age_ms;     /* flush a generation that is older; 0 = never */
    bool pumped; /* no thread is started: the caller turns the ports and calls sto_engine_pump_sync */
    uint64_t wal_segment_bytes;   /* 0 = STO_WAL_SEGMENT_BYTES */
    uint64_t manifest_grow_bytes; /* 0 = as the manifest likes */
    uint64_t big_day_points;      /* 0 = STO_BIG_DAY_POINTS */
    uint64_t output_bytes;        /* files are cut by key at this size; 0 = STO_OUTPUT_BYTES */
    struct sto_pages_opts index;  /* cache of index pages */
    /* Called before a flush counts: names of all series in it must be on disk. Flush thread. */
    int (*sync_names)(void *arg, struct ts_error *err);
    /* Called now and then by the compact thread: rewrite what has grown. Errors are met again by sync_names. May be
     * NULL. */
    void (*tidy)(void *arg);
    /* The same: forget series that nothing mentions, with sto_engine_used and sto_engine_turned; full: everything was
     * merged because somebody asked for it. May be NULL. */
    void (*forget)(void *arg, bool full);
    /* Called once the manifest and the heads of the files are read, before the log is replayed: open the catalog. */
    int (*ready)(void *arg, const struct sto_engine_found *found, struct ts_error *err);
    /* Replay: handle of a series from its ids and text. */
    const struct sto_series *(*restore)(void *arg, uint32_t id, uint32_t metric, const struct sto_tag *tags,
                                        size_t n_tags, struct ts_slice text, uint32_t metric_len,
                                        struct ts_error *err);
    /* Series with numbers below the answer are in the catalog, on disk: the log names them by number alone. Owner
     * threads; NULL: none are. */
    uint32_t (*n_known)(void *arg);
    /* Replay: handle of such a series; NULL with *err set. NULL if n_known is. */
    const struct sto_series *(*known)(void *arg, uint32_t id, struct ts_error *err);
    /* Closing (or a failed opening): all of the engine is closed, but the folder is still locked. Close what
     * else lives in it. May be NULL. */
    void (*closed)(void *arg);
    /* A write-ahead log, the manifest or the names could not be written or synced, nobody knows what of it is on
     * disk, and only opening the store again finds out: the process should say so and end. err names file and
     * errno. Sync, flush or compact thread; may be NULL (tests). */
    void (*on_fatal)(void *arg, const struct ts_error *err);
    void *arg; /* for the callbacks */
};

/** Open or create: lock, manifest, replay of the logs, threads. One clear sentence in err for each way it can
 * fail. */
int sto_engine_open(const struct sto_engine_opts *opts, struct sto_engine **out_e, struct ts_error *err);
/** Flush what is in memory, sync, end threads, unlock. Ports' threads have ended before. NULL is harmless. */
int sto_engine_close(struct sto_engine *e, struct ts_error *err);
/** Why puts are refused, NULL if they are not; out_code gets TS_ENOSPC, TS_ENOMEM, TS_EMFILE, TS_EIO, or TS_EINVAL (read-only). The
 * text stays for ever. */
const char *sto_engine_refusing(const struct sto_engine *e, int *out_code);

/* --- ports: see storage/store.h for the contracts --- */
struct sto_port *sto_engine_port(struct sto_engine *e, unsigned i);
/** As sto_port_batch. */
struct sto_batch *sto_engine_batch(struct sto_port *port, const struct sto_series *series);
/** As sto_port_slot. */
unsigned sto_engine_slot(const struct sto_port *port, const struct sto_series *series);
/** As sto_port_turn. */
void sto_engine_turn(struct sto_port *port);
/** As sto_port_fd. */
int sto_engine_fd(const struct sto_port *port);
/** As sto_port_ready. */
bool sto_engine_ready(struct sto_port *port);
/** Engine of a port. */
struct sto_engine *sto_engine_of(const struct sto_port *port);
typedef void (*sto_engine_done_fn)(void *arg, int rc, const struct ts_error *err);
/** done is called once in the port's thread when what the port sent before is in the logs (disk: synced). */
void sto_engine_barrier(struct sto_port *port, bool disk, sto_engine_done_fn done, void *arg);
/** Blocking barrier over everything that was sent before the call. TS_ENOSPC, TS_ENOMEM: some of it waits for
 * room on the disk, or memory; TS_EIO: some of it is lost. */
int sto_engine_wait(struct sto_engine *e, bool disk, struct ts_error *err);

/** With `pumped`: one pass of what the sync thread would do. */
void sto_engine_pump_sync(struct sto_engine *e);
/** With `pumped`: one pass of what the compact thread would do when it is woken. */
int sto_engine_pump_merges(struct sto_engine *e, struct ts_error *err);

/* --- files --- */
/** Write all generations that hold points into files; returns when they are in the manifest. */
int sto_engine_flush(struct sto_engine *e, struct ts_error *err);
/** Merge files until none overlap in time, no delete waits to be carried out, and small windows are joined. Blocks.
 * A window whose merge fails is left alone; the first such error is returned when all others are done. */
int sto_engine_compact(struct sto_engine *e, struct ts_error *err);
/** Ask for flush and full compaction in the background, return at once. */
void sto_engine_compact_soon(struct sto_engine *e);
/** Wake the compact thread: it looks at once for what it looks for each minute. */
void sto_engine_look_soon(struct sto_engine *e);

/* --- forgetting series --- */
/**
 * Series that are mentioned: by files that have rows of them, whatever their age, and by memstores that have rows or deletes
 * of them. The write-ahead log that would be replayed mentions no others; tombstones in files concern nothing once there are
 * no rows.
 *
 * @return the caller's (roaring_bitmap_free); NULL: a file is broken, nobody knows
 */
roaring_bitmap_t *sto_engine_used(struct sto_engine *e);
/** Wait until each worker has ended a turn, and what they had put by then is in the memstores. Who calls this with a change
 * that workers look at when they begin to put (sto_catalog_generation) knows that nobody puts by what was known before.
 * Errors as sto_engine_wait: some of it may not be there. Not with own_threads, whose ports nobody turns. */
int sto_engine_turned(struct sto_engine *e, struct ts_error *err);

/* --- reading --- */
struct sto_version; /* immutable: files and memstores that make up the store at one moment */
struct sto_version *sto_engine_pin(struct sto_engine *e);
/** Let a version go. After the last one the flush thread frees it and unlinks its doomed files; without background
 * threads this call does. v may be NULL. */
void sto_engine_unpin(struct sto_engine *e, struct sto_version *v);
/** As sto_scan. */
int sto_version_scan(const struct sto_version *v, const struct sto_scan_spec *spec, struct sto_merge **out,
                     struct ts_error *err);
/** As sto_snap_time_range. */
bool sto_version_time_range(const struct sto_version *v, int64_t *out_min_ms, int64_t *out_max_ms);
/** As sto_scan_estimate. */
void sto_version_estimate(const struct sto_version *v, const struct sto_scan_spec *spec, uint64_t *out_points,
                          uint64_t *out_bytes);

/** Counters of the engine, each(arg, "wal.bytes", value). Any thread. */
void sto_engine_stats(struct sto_engine *e, void (*each)(void *arg, const char *name, uint64_t value),
                      void *arg);

#endif
