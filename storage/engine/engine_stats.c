/*
 * engine_stats.c - the counters of the engine.
 *
 * Threads    any
 */
#include "storage/codecs/codec.h"
#include "storage/engine/engine_int.h"
#include "storage/engine/shards.h"
#include "storage/engine/evict.h"
#include "storage/engine/files/handles.h"
#include "storage/engine/once_engine.h"
#include "storage/engine/ship.h"

/* Descriptors of files, pages of indexes. */
static void stats_of_caches(const struct sto_engine *e,
                            void (*each)(void *arg, const char *name, uint64_t value), void *arg)
{
    struct sto_handles_stats handles = sto_handles_stats(e->caches.handles);
    each(arg, "files.descriptors", handles.n_open);
    each(arg, "files.descriptors_limit", handles.limit);
    each(arg, "files.reopened", handles.n_reopened);
    each(arg, "files.open_refused", handles.n_refused);
    struct sto_pages_stats pages = sto_pages_stats(e->caches.pages);
    each(arg, "index_cache.bytes", pages.bytes);
    each(arg, "index_cache.limit_bytes", pages.limit_bytes);
    each(arg, "index_cache.hits", pages.n_hits);
    each(arg, "index_cache.misses", pages.n_misses);
    each(arg, "index_cache.evicted", pages.n_evicted);
}

void sto_engine_stats(struct sto_engine *e, void (*each)(void *arg, const char *name, uint64_t value),
                      void *arg)
{
    struct sto_version *v = sto_engine_pin(e);
    uint64_t points = 0, files_bytes = 0, mem_bytes = 0, mem_points = 0, failed = 0, put = 0, log_bytes = 0;
    uint64_t index_bytes = 0, counted = 0, held = atomic_load(&e->mems_budget.used_bytes);
    for (size_t i = 0; i < v->n_ssts; i++) {
        points += sto_sst_info(v->ssts[i])->n_points;
        files_bytes += sto_sst_disk_bytes(v->ssts[i]);
        index_bytes += sto_sst_memory(v->ssts[i]);
    }
    for (size_t i = 0; i < v->n_mems; i++) {
        mem_bytes += sto_mem_bytes(v->mems[i]);
        counted += sto_mem_counted_bytes(v->mems[i]);
        mem_points += sto_mem_points(v->mems[i]);
    }
    for (unsigned i = 0; i < e->n_owners; i++) {
        failed += atomic_load_explicit(&e->owners[i].n_failed, memory_order_relaxed);
        put += atomic_load_explicit(&e->owners[i].n_points, memory_order_relaxed);
        log_bytes += e->owners[i].wal ? sto_wal_written(e->owners[i].wal) : 0;
    }
    sto_shards__stats(e, each, arg);
    each(arg, "files.count", v->n_ssts);
    each(arg, "files.bytes", files_bytes);
    each(arg, "files.points", points);
    each(arg, "files.index_bytes", index_bytes);
    each(arg, "files.held", atomic_load(&e->held.n)); /* only readers hold them */
    each(arg, "files.held_bytes", atomic_load(&e->held.bytes));
    stats_of_caches(e, each, arg);
    sto_evict__stats(e, each, arg);
    each(arg, "merges.bytes", atomic_load(&e->merge_budget.used_bytes));
    each(arg, "merges.most_bytes", atomic_load(&e->merge_budget.peak_bytes));
    each(arg, "merges.limited", atomic_load(&e->merge_budget.n_refused));
    each(arg, "compress.done_bytes", atomic_load_explicit(&e->range_done_bytes, memory_order_relaxed));
    each(arg, "compress.all_bytes", atomic_load_explicit(&e->range_all_bytes, memory_order_relaxed));
    each(arg, "decoders.bytes", sto_dec_spare_bytes());
    each(arg, "memstore.bytes", mem_bytes);
    each(arg, "memstore.snapshot_bytes", held > counted ? held - counted : 0); /* only readers hold them */
    each(arg, "memstore.points", mem_points);
    each(arg, "memstore.generation", atomic_load(&e->gen));
    each(arg, "writers.batch_bytes", atomic_load(&e->n_batches) * sizeof(struct sto_batch));
    each(arg, "points.applied", put);
    each(arg, "points.refused", failed);
    sto_once__stats(e, each, arg);
    each(arg, "points.replayed", atomic_load(&e->n_replayed));
    each(arg, "wal.bytes", log_bytes);
    each(arg, "wal.syncs", atomic_load(&e->n_syncs));
    each(arg, "flush.count", atomic_load(&e->n_flushes));
    each(arg, "flush.errors", atomic_load(&e->n_flush_errors));
    each(arg, "flush.points", atomic_load(&e->n_flushed_points));
    each(arg, "bulk.files", atomic_load(&e->n_bulk_files));
    each(arg, "bulk.points", atomic_load(&e->n_bulk_points));
    each(arg, "compaction.points", atomic_load(&e->n_compacted_points));
    each(arg, "compaction.paused_ms", atomic_load(&e->n_merge_paused_ms));
    each(arg, "compaction.windows_left_alone", atomic_load(&e->n_resting));
    each(arg, "compaction.unfinished_bytes", atomic_load(&e->unfinished_bytes));
    each(arg, "compaction.resumed", atomic_load(&e->n_resumed));
    each(arg, "compaction.count", atomic_load(&e->n_compactions));
    each(arg, "compaction.bytes", atomic_load(&e->n_compacted_bytes));
    sto_ship__stats(e, v, each, arg);
    sto_engine_unpin(e, v);
}
