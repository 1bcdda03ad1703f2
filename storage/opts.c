/*
 * opts.c - defaults of the options.
 *
 * Threads    pure functions
 */
#include "storage/opts.h"

#define DEF_MEMSTORE_BYTES (32u << 20)
#define DEF_QUEUE_BYTES    (16u << 20)
#define DEF_MERGE_BYTES    (32u << 20)
#define DEF_SHARDS         16u
#define DEF_SYNC_MS        100u
#define DEF_IDS            10000u
#define DEF_IDS_KEPT_S     (7u * 86400)
#define DEF_IDS_BYTES      (32u << 20)

static unsigned power_of_two(unsigned n)
{
    unsigned p = 1;
    while (p < n)
        p <<= 1;
    return p;
}

struct sto_opts sto_opts_filled(const struct sto_opts *opts)
{
    struct sto_opts o = *opts;
    o.fs = o.fs ? o.fs : ts_fs_real();
    o.n_writers = o.n_writers ? o.n_writers : 1;
    o.n_shards = power_of_two(o.n_shards ? o.n_shards : DEF_SHARDS);
    o.wal_sync_interval_ms = o.wal_sync_interval_ms ? o.wal_sync_interval_ms : DEF_SYNC_MS;
    o.merge_memory_bytes = o.merge_memory_bytes ? o.merge_memory_bytes : DEF_MERGE_BYTES;
    o.memstore_bytes = o.memstore_bytes ? o.memstore_bytes : DEF_MEMSTORE_BYTES;
    o.queue_bytes = o.queue_bytes ? o.queue_bytes : DEF_QUEUE_BYTES;
    o.max_ids = o.max_ids ? o.max_ids : DEF_IDS;
    o.ids_kept_s = o.ids_kept_s ? o.ids_kept_s : DEF_IDS_KEPT_S;
    o.ids_bytes = o.ids_bytes ? o.ids_bytes : DEF_IDS_BYTES;
    return o;
}
