/*
 * recover.c - opens a store, whether or not it was closed: files from the manifest, memstores by replaying
 * the logs.
 *
 * Threads    before any other thread runs
 * Invariant  replay puts the operations of a generation into a memstore of that generation, so that the order
 *            of writes is preserved
 */
#include "base/log.h"
#include "base/time.h"
#include "storage/engine/engine_int.h"
#include "storage/engine/once_engine.h"

/* State of a replay: memstores by generation, ascending. */
struct replay {
    struct sto_engine *e;
    struct sto_mem **mems;
    size_t n, cap;
};

static struct sto_mem *mem_of(struct replay *r, uint64_t gen)
{
    for (size_t i = r->n; i-- > 0;)
        if (sto_mem_gen(r->mems[i]) == gen)
            return r->mems[i];
    if (r->n == r->cap)
        r->mems = ts_xrealloc(r->mems, (r->cap = r->cap ? r->cap * 2 : 4) * sizeof *r->mems);
    return r->mems[r->n++] = sto_engine__mem_new(r->e, gen, 0, 1);
}

static const struct sto_series *on_series(void *arg, uint32_t id, uint32_t metric, const struct sto_tag *tags,
                                          size_t n_tags, struct ts_slice text, uint32_t metric_len,
                                          struct ts_error *err)
{
    struct replay *r = arg;
    return r->e->owner.restore(r->e->owner.arg, id, metric, tags, n_tags, text, metric_len, err);
}

static const struct sto_series *on_known(void *arg, uint32_t id, struct ts_error *err)
{
    struct replay *r = arg;
    return r->e->owner.known(r->e->owner.arg, id, err);
}

static int on_points(void *arg, uint64_t gen, const struct sto_point *points, size_t n, struct ts_error *err)
{
    struct replay *r = arg;
    (void)err;
    sto_mem_apply(mem_of(r, gen), points, n);
    return 0;
}

static int on_once(void *arg, uint16_t shard, const struct sto_once_id *id, uint64_t seq,
                   struct ts_error *err)
{
    struct replay *r = arg;
    if (r->e->once && sto_once_added(r->e->once[shard & (sto_engine__n_shards(r->e) - 1)], id, seq) < 0)
        return ts_error_set(err, TS_ENOMEM, "no memory for the ids of additions in the write-ahead log");
    return 0;
}

int sto_recover__wal(struct sto_engine *e, bool *out_torn, struct ts_error *err)
{
    const struct sto_manifest_state *state = sto_manifest_state(e->manifest);
    struct sto_wal_replay_ops ops = {
        .series = on_series, .known = e->owner.known ? on_known : NULL, .points = on_points, .once = on_once};
    struct sto_wal_replay_result found = {0};
    struct replay r = {.e = e};
    int64_t began = ts_clock_mono_ns();
    int rc = sto_wal_replay(e->fs, e->wal_dir, state->flushed_gen, &ops, &r, e->opts.read_only, &found, err);
    *out_torn = found.n_torn > 0;
    if (rc == 0) {
        sto_version__edit(e, NULL, 0, NULL, 0, 0, r.mems, r.n);
        size_t bytes = 0; /* of generations that wait for a flush, for instance after a failed one */
        for (size_t i = 0; i < r.n; i++)
            bytes += sto_mem_bytes(r.mems[i]);
        atomic_store_explicit(&e->frozen_bytes, bytes, memory_order_relaxed);
        sto_once__replayed(e);
        if (r.n) /* their age is not known; it counts from now on */
            atomic_store_explicit(&e->frozen_born_ms, ts_clock_mono_ns() / 1000000, memory_order_relaxed);
        e->flush_wanted =
            bytes > e->opts.memstore_bytes / 2; /* otherwise repeated crashes would accumulate more; no other
                                          * thread runs yet */
        uint64_t gen = found.max_gen > state->flushed_gen ? found.max_gen : state->flushed_gen;
        atomic_store_explicit(&e->gen, gen + 1, memory_order_relaxed);
        e->run = (found.max_run > state->run ? found.max_run : state->run) + 1;
        atomic_store_explicit(&e->n_replayed, found.n_points, memory_order_relaxed);
        if (found.n_segments)
            ts_log(TS_LOG_INFO, "replayed log points=%llu segments=%llu torn=%llu ms=%lld",
                   (unsigned long long)found.n_points, (unsigned long long)found.n_segments,
                   (unsigned long long)found.n_torn, (long long)((ts_clock_mono_ns() - began) / 1000000));
    }
    for (size_t i = 0; i < r.n; i++)
        sto_mem_unref(r.mems[i]);
    ts_free(r.mems);
    return rc;
}
