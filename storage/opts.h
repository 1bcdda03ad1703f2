/*
 * opts.h - the options of a store. The engine takes the same ones.
 *
 * Threads    plain data
 * Not here   configuration keys (store_conf.c)
 */
#ifndef STORAGE_OPTS_H
#define STORAGE_OPTS_H

#include "base/fs.h"
#include "storage/point.h"

#include <roaring/roaring.h>

struct sto_store;
struct sto_remote; /* storage/remote.h */

enum sto_sync { STO_SYNC_ALWAYS, STO_SYNC_INTERVAL, STO_SYNC_NONE };

struct sto_opts {
    const struct ts_fs *fs; /* NULL = the real file system */
    const char *dir;        /* data folder */
    bool create;            /* create the folder and the store if they are missing */
    bool read_only;         /* write nothing; the log is replayed into memory */
    bool own_threads;       /* the store runs the writers itself */
    bool knows_zone;        /* ts_tz_default is the zone of the days: hours may become days (storage/age.h) */
    unsigned n_writers;     /* number of writers, one for each worker; 0 = 1 */
    unsigned n_shards;      /* shards of a new store; a power of two; 0 = 16 */
    enum sto_sync wal_sync;
    unsigned wal_sync_interval_ms; /* 0 = 100 */
    /* size of the reserve file, which is removed when the disk is full; 0 = none */
    uint64_t reserve_bytes;
    uint64_t merge_bytes_per_s;  /* merges write no faster than this; 0 = no limit */
    uint64_t merge_memory_bytes; /* memory for the blocks that a merge of files holds; 0 = 32 MiB */
    size_t memstore_bytes;       /* a generation of memstores is flushed at this size; 0 = 32 MiB */
    size_t queue_bytes;          /* largest size of the queue of a writer; 0 = 16 MiB */
    size_t index_cache_bytes;    /* cache for index pages of files; 0 = 64 MiB */
    /* most descriptors of sorted files held open; 0 = an eighth of those that the process may have, 8 to 4,096 */
    size_t open_files;
    uint64_t max_series; /* largest number of series, without own ones (sto_series_resolve_own); 0 = 2^31 */
    uint64_t max_name_bytes; /* memory for names and series, above which new ones are refused; 0 = no limit */
    uint64_t max_cell_bytes; /* memory for small cells, above which they may not grow; 0 = no limit */
    uint64_t max_bytes; /* limit of the bytes on disk, above which the oldest points go; 0 = none (quota.h) */
    int64_t max_bytes_grace_ms; /* after a start or a lower limit nothing goes for so long */
    int64_t retention_ms;       /* points older than this expire if no rule matches their series; 0 = never */
    const char *
        retention_rules; /* rules of retention (storage/retain_rules.h); used while the store opens; NULL = none */
    /* interval at which series without points, and names without series, are forgotten (catalog/forget.h);
     * 0 = never. Cannot be combined with own_threads */
    int64_t forget_every_ms;
    size_t max_ids; /* most ids of clients that add, in each shard; 0 = 10,000 (engine/once.h) */
    size_t
        max_client_ids; /* the same of one client address; 0 = a quarter of max_ids, or of what ids_bytes has room for */
    uint64_t ids_kept_s; /* an id may be used for this long after it was made; 0 = a week */
    uint64_t
        ids_bytes; /* memory for ids, at most 32 MiB, since one record of the manifest holds them; 0 = 32 MiB */
    int64_t
        bulk_keep_ms; /* after how long the folder of a bulk load that is not used is removed; 0 = never */
    unsigned kept_name_kinds; /* bit 1 << enum sto_uid_kind: names of this kind are never forgotten */
    /* returns true if something other than points refers to the series, which is then kept; called in the
     * compact thread; NULL = nothing else does */
    bool (*keeps_series)(struct sto_store *st, const struct sto_series *s);
    /* adds the ids of names that something other than series mentions, by enum sto_uid_kind; these names are
     * then kept (struct sto_name_keeper); called in the compact thread; NULL = nothing else does */
    void (*mentioned_names)(struct sto_store *st, roaring_bitmap_t *const *ids);
    /* store behind this one, which receives all points, and whose points queries see
     * (storage/remote.h); NULL = none. It outlives the store. No series and no name is forgotten then, since
     * points may be there alone */
    struct sto_remote *remote;
    /* Appends the key that a small cell has in the remote store (storage/remote_cell.h); TS_ENOTFOUND: it is kept here alone.
     * Called in the thread that changes the cell; NULL = no cell is shared with the remote store */
    int (*remote_cell)(struct sto_store *st, struct ts_slice key, struct ts_buf *out);
    int64_t ship_every_ms; /* after how long a point is on its way there at the latest; 0 = 10 s */
    /* an hour is shipped when it is over by five minutes, each of its rows once as a whole; points that arrive later are
     * shipped after ship_every_ms */
    bool ship_whole_hours;
    unsigned ship_batch_rows;  /* tests: most rows of a shipment; 0 = 1,024, which is the most */
    uint64_t ship_pass_points; /* tests: a shipping pass that has sent so many points ends; 0 = 4,194,304 */
    unsigned ship_additions; /* tests: most additions that one shipping pass makes absolute; 0 = 1,048,576 */
    int64_t flush_age_ms;    /* a generation of memstores is flushed at this age; 0 = never */
    bool no_background;      /* tests: flush and compact only when a function of this header requests it */
    /* tests: refuse puts after a failed fdatasync, and fail flushes after an error of the manifest or the
     * catalog, instead of ending the process */
    bool survive_sync_errors;
    /* tests: start no thread; the caller calls sto_writer_turn and sto_store_pump. Needs no_background; cannot
     * be combined with own_threads */
    bool pumped;
    /* tests: a segment of the write-ahead log that exceeds this size is followed by a new one; 0 = 64 MiB */
    uint64_t wal_segment_bytes;
    /* tests: the logs of manifest, catalog and small cells are rewritten after growing by this; 0 = the
     * default of each */
    uint64_t log_grow_bytes;
    uint64_t
        day_rows; /* tests: a file with this many rows gets day summaries at once (engine/day_files.h); 0 = 4,096, when it is old */
    uint64_t big_day_points; /* tests: a day with this many points gets files of its own; 0 = 100,000 */
    uint64_t
        age_pass_rows; /* tests: a pass that makes summaries (age.h) ends after so many rows; 0 = 2,000,000 */
    /* a merge begins a new file at the next key when a file has this size; 0 = 1 GiB */
    uint64_t output_bytes;
    uint64_t
        bulk_ahead_gens; /* tests: so many flushes may happen while bulk files are handed over; 0 = 2^20 */
    uint64_t
        checkpoint_bytes; /* tests: a merge writes this much between two checkpoints; 0 = 1 GiB, or output_bytes if that is more */
    uint32_t index_page_blocks; /* tests: entries of an index page; 0 = 256 */
    /* tests: opening a file does not read its index, however small the index is */
    bool index_late;
    uint64_t boot; /* tests: a number of this start of the machine; 0 = that of the system */
};

/** The options with defaults in place of zeros: fs, n_writers, n_shards (rounded up to a power of two),
 * wal_sync_interval_ms, merge_memory_bytes, memstore_bytes, queue_bytes. What else is 0 by default keeps its meaning of 0. */
struct sto_opts sto_opts_filled(const struct sto_opts *opts);

#endif
