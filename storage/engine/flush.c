/*
 * flush.c - writes a generation of memstores as sorted files.
 *
 * The steps: the owners switch to a new generation (and to a log segment each, which has been prepared);
 * names are synced; files are written and synced, their folder too; the manifest lists them; the version
 * shows files instead of memstores; the old log segments are deleted. A crash may follow any of these steps.
 *
 * Threads    the flush thread, or a caller that waits; one at a time (flush_mu)
 * Not here   encoding of rows (sst_write.c), cutting by days (partition.c), naming files (output.c)
 */
#include "base/log.h"
#include "base/time.h"
#include "storage/engine/files/handles.h"
#include "storage/engine/once_engine.h"
#include "storage/engine/output.h"
#include "storage/engine/reserve.h"
#include "storage/engine/shards.h"
#include "storage/readonly.h"

#include <string.h>

/* Generations that are no longer written to. */
struct frozen {
    struct sto_version *v; /* pinned */
    struct sto_mem **mems; /* borrowed from v */
    size_t n;
    uint64_t gen_lo, gen_hi;
    uint64_t
        put_gen; /* the last one that was written to, so its log exists until the files are listed (lost.c); 0 = none was */
    uint64_t n_points;
};

/* Create files for the logs of the next generation, so that no owner waits for the disk. */
static void prepare_logs(struct sto_engine *e, uint64_t gen)
{
    bool *made = ts_xcalloc(e->n_owners, sizeof *made), any = false;
    for (unsigned i = 0; i < e->n_owners; i++)
        any |= made[i] = sto_wal_prepare(e->owners[i].wal, gen);
    bool named = any && e->fs->sync_dir(e->fs, e->wal_dir, NULL) == 0;
    for (unsigned i = 0; i < e->n_owners; i++)
        if (named && made[i])
            sto_wal_prepared(e->owners[i].wal);
    ts_free(made);
}

/* Let the owners continue with memstores of generation gen. make_logs: prepare them first; otherwise nothing waits for a disk. */
static void change_generation(struct sto_engine *e, uint64_t gen, bool make_logs)
{
    struct sto_mem **mems = ts_xcalloc(e->n_owners, sizeof *mems);
    struct sto_set_gen *msgs = ts_xcalloc(e->n_owners, sizeof *msgs);
    struct ts_latch latch;
    ts_latch_init(&latch, e->n_owners);
    for (unsigned i = 0; i < e->n_owners; i++)
        mems[i] = sto_engine__mem_new(e, gen, (uint16_t)i, e->n_owners);
    if (make_logs)
        prepare_logs(e, gen);
    /* Set before the owners switch: the first point put into the new generation sets its age. */
    atomic_store_explicit(&e->gen_born_ms, 0, memory_order_relaxed);
    /* Readers see the new memstores before anything is put into them. */
    sto_version__edit(e, NULL, 0, NULL, 0, 0, mems, e->n_owners);
    atomic_store_explicit(&e->gen, gen, memory_order_relaxed);
    for (unsigned i = 0; i < e->n_owners; i++) {
        msgs[i].msg.kind = STO_MSG_SET_GEN;
        msgs[i].mem = mems[i];
        ts_buf_init(&msgs[i].once, 0);
        msgs[i].latch = &latch;
        ts_queue_push(e->owners[i].in, &msgs[i].msg);
    }
    if (!e->threads_run)
        sto_engine__pump(e);
    ts_latch_wait(&latch);
    ts_latch_release(&latch);
    atomic_store_explicit(&e->flush_requested, false, memory_order_relaxed);
    sto_once__take(e, msgs);
    for (unsigned i = 0; i < e->n_owners; i++)
        sto_mem_unref(mems[i]); /* the version holds its own reference */
    ts_free(mems);
    ts_free(msgs);
}

/* The generation of a hand-over of bulk files is on disk already, so no flush may reach it. */
static int next_generation(struct sto_engine *e, struct ts_error *err)
{
    uint64_t gen = atomic_load_explicit(&e->gen, memory_order_relaxed) + 1;
    if (e->reserved_gen && gen >= e->reserved_gen)
        return ts_error_set(err, TS_EBUSY,
                            "a hand-over of bulk files has been at work for too many flushes: "
                            "the next flush has to wait until it has ended");
    change_generation(e, gen, true);
    return 0;
}

static bool active_has_points(struct sto_engine *e)
{
    uint64_t gen = atomic_load_explicit(&e->gen, memory_order_relaxed), n = 0;
    struct sto_version *v = sto_engine_pin(e);
    for (size_t i = 0; i < v->n_mems; i++)
        if (sto_mem_gen(v->mems[i]) == gen)
            n += sto_mem_points(v->mems[i]);
    sto_engine_unpin(e, v);
    return n > 0;
}

static void frozen_take(struct sto_engine *e, struct frozen *f)
{
    uint64_t active = atomic_load_explicit(&e->gen, memory_order_relaxed);
    *f = (struct frozen){.v = sto_engine_pin(e), .gen_lo = UINT64_MAX};
    size_t bytes = 0;
    f->mems = ts_xcalloc(f->v->n_mems + 1, sizeof *f->mems);
    for (size_t i = 0; i < f->v->n_mems; i++) {
        struct sto_mem *m = f->v->mems[i];
        uint64_t gen = sto_mem_gen(m);
        if (gen >= active)
            continue;
        f->mems[f->n++] = m;
        f->gen_lo = gen < f->gen_lo ? gen : f->gen_lo;
        f->gen_hi = gen > f->gen_hi ? gen : f->gen_hi;
        if (sto_mem_points(m) > 0 && gen > f->put_gen)
            f->put_gen = gen;
        f->n_points += sto_mem_points(m);
        bytes += sto_mem_bytes(m);
    }
    atomic_store_explicit(&e->frozen_bytes, bytes, memory_order_relaxed);
}

static void count_days(const struct frozen *f, struct sto_day_counts *days)
{
    for (size_t i = 0; i < f->n; i++) {
        uint64_t pos = 0;
        for (const struct sto_mem_row *r; (r = sto_mem_walk(f->mems[i], &pos));)
            for (; r; r = sto_mem_row_next(r))
                sto_day_counts_add(days, sto_mem_row_hour(r), sto_mem_row_n(r));
    }
}

/* --- writing --- */

/* Write several cuts in one pass over the memstores. */
static int write_cuts(const struct frozen *f, const struct sto_cut *cuts, size_t n, struct sto_output *out,
                      struct ts_error *err)
{
    struct sto_scan_spec spec = {.from_ms = STO_MIN_TS_MS,
                                 .to_ms = STO_MAX_TS_MS,
                                 .cut_hour_lo = cuts[0].hour_lo,
                                 .cut_hour_hi = cuts[n - 1].hour_hi};
    struct sto_merge *merge = NULL;
    TS_TRY(sto_merge_new(&spec, NULL, 0, f->mems, f->n, &merge, err));
    return sto_output__rows(out, merge, cuts, n, err);
}

static int write_files(const struct frozen *f, uint64_t big_day_points, struct sto_output *out,
                       struct ts_error *err)
{
    struct sto_day_counts days = {0};
    struct sto_cut *cuts;
    int rc = 0;
    count_days(f, &days);
    size_t n_cuts = sto_day_counts_cut(&days, big_day_points, &cuts);
    if (n_cuts > 1 &&
        !sto_handles_leave_free(out->e->caches.handles,
                                2 * (n_cuts + 1))) { /* one file for all days; it is split later */
        cuts[0].hour_hi = cuts[n_cuts - 1].hour_hi;
        n_cuts = 1;
    }
    for (size_t i = 0, n; rc == 0 && i < n_cuts; i += n) {
        n = n_cuts - i < STO_OUTPUT_CUTS ? n_cuts - i : STO_OUTPUT_CUTS;
        rc = write_cuts(f, cuts + i, n, out, err);
    }
    for (size_t i = 0; rc == 0 && i < f->n; i++) {
        size_t n;
        const struct sto_tomb *tombs = sto_mem_tombs(f->mems[i], &n);
        rc = sto_output__tombs(out, tombs, n, err);
    }
    ts_free(days.days);
    ts_free(cuts);
    return rc;
}

/* Unlink the logs of generations that are in files. This takes long on some file systems, so it is done after
 * the flush, when its memstores are released. */
void sto_flush__drop_logs(struct sto_engine *e, uint64_t gen)
{
    struct ts_error why = {0};
    if (gen && sto_wal_drop(e->fs, e->wal_dir, gen, &why) < 0)
        ts_log(TS_LOG_WARN, "old log segments were not removed: %s", why.text);
}

/* *out_gen: the logs of generations up to it are not needed any more; unchanged if there are none. */
static int flush_frozen(struct sto_engine *e, uint64_t *out_gen, struct ts_error *err)
{
    struct frozen f;
    int rc = 0;
    frozen_take(e, &f);
    struct sto_output out = {.e = e, .gen_lo = f.gen_lo, .gen_hi = f.put_gen ? f.put_gen : f.gen_hi};
    bool committed = false;
    if (f.n) {
        int64_t began = ts_clock_mono_ns();
        rc = e->owner.sync_names ? e->owner.sync_names(e->owner.arg, err) : 0;
        sto_engine__fatal(e, rc, err);
        out.once = (struct ts_slice){e->once_frozen, e->once_frozen_bytes};
        if (rc == 0)
            rc = write_files(&f, e->opts.big_day_points, &out, err);
        committed = rc == 0 && (rc = sto_output__commit(&out, NULL, 0, f.gen_hi, err)) == 0;
        if (committed) {
            atomic_store_explicit(&e->frozen_bytes, 0, memory_order_relaxed);
            atomic_store_explicit(&e->frozen_born_ms, 0, memory_order_relaxed);
            sto_engine__recovered(e);
            *out_gen = f.gen_hi;
            atomic_fetch_add_explicit(&e->n_flushes, 1, memory_order_relaxed);
            atomic_fetch_add_explicit(&e->n_flushed_points, out.n_points, memory_order_relaxed);
            ts_log(TS_LOG_DEBUG, "flushed generation=%llu points=%llu files=%zu ms=%lld",
                   (unsigned long long)f.gen_hi, (unsigned long long)f.n_points, out.n,
                   (long long)((ts_clock_mono_ns() - began) / 1000000));
        }
    }
    sto_output__release(&out, committed);
    ts_free(f.mems);
    sto_engine_unpin(e, f.v);
    return rc;
}

/* The manifest must have the number of shards to which the tables of this flush belong. */
static int settle(struct sto_engine *e, struct ts_error *err)
{
    int rc = sto_shards__settle(e, err);
    if (rc == TS_ENOSPC && sto_reserve__use(e, err)) {
        *err = (struct ts_error){0};
        rc = sto_shards__settle(e, err);
    }
    return rc;
}

int sto_flush__all(struct sto_engine *e, struct ts_error *err)
{
    if (e->opts.read_only)
        return sto_read_only_refuse(&e->owner.read_only_why, err);
    struct ts_error why = {0};
    pthread_mutex_lock(&e->flush_mu);
    uint64_t gen = 0;
    int rc = settle(e, &why);
    bool settled = rc == 0;
    if (rc == 0 &&
        e->flush_failed) { /* otherwise each retry on a full disk would freeze one more generation */
        rc = flush_frozen(e, &gen, &why);
        sto_flush__drop_logs(e, gen); /* at once, since new segments may need the space */
    }
    if (rc == 0 && active_has_points(e))
        rc = next_generation(e, &why);
    if (rc == 0)
        rc = flush_frozen(e, &gen, &why);
    if (rc == TS_ENOSPC && settled && sto_reserve__use(e, &why)) {
        why = (struct ts_error){0};
        rc = flush_frozen(e, &gen, &why);
    }
    e->flush_failed = rc < 0;
    pthread_mutex_unlock(&e->flush_mu);
    sto_flush__drop_logs(e, gen);
    sto_reserve__tick(e);
    if (rc < 0) {
        atomic_fetch_add_explicit(&e->n_flush_errors, 1, memory_order_relaxed);
        if (rc != TS_ENOMEM && sto_engine__may_wait(rc) &&
            /* otherwise a write of the log shows whether the disk is too full for puts */
            sto_engine__memory_full(e))
            sto_engine__refuse(e, rc, &why);
        if (err)
            *err = why;
    }
    return rc;
}

int sto_flush__below(struct sto_engine *e, uint64_t gen, struct ts_error *err)
{
    uint64_t flushed = 0;
    TS_TRY(sto_shards__settle(e, err));
    change_generation(e, gen + 1, true);
    int rc = flush_frozen(e, &flushed, err);
    e->flush_failed = rc < 0;
    sto_flush__drop_logs(e, flushed);
    if (rc < 0)
        atomic_fetch_add_explicit(&e->n_flush_errors, 1, memory_order_relaxed);
    return rc;
}

void sto_flush__next_generation(struct sto_engine *e)
{
    change_generation(e, atomic_load_explicit(&e->gen, memory_order_relaxed) + 1, false);
}

void sto_flush__ahead(struct sto_engine *e)
{
    uint64_t gen = atomic_load_explicit(&e->gen, memory_order_relaxed) + 1;
    bool any = false;
    for (unsigned i = 0; i < e->n_owners; i++)
        any |= sto_wal_ahead(e->owners[i].wal, gen);
    if (any && e->fs->sync_dir(e->fs, e->wal_dir, NULL) == 0)
        for (unsigned i = 0; i < e->n_owners; i++)
            sto_wal_ahead_synced(e->owners[i].wal);
}

void sto_flush__end_ahead(struct sto_engine *e)
{
    for (unsigned i = 0; i < e->n_owners; i++)
        sto_wal_end_ahead(e->owners[i].wal);
}

int sto_flush__stopped(struct sto_engine *e, uint64_t *out_gen, struct ts_error *err)
{
    *out_gen = 0;
    if (e->reserved_gen)
        return ts_error_set(err, TS_EBUSY, "a hand-over of bulk files is at work");
    if (e->flush_failed)
        return ts_error_set(err, TS_EBUSY, "the last flush has failed");
    change_generation(e, atomic_load_explicit(&e->gen, memory_order_relaxed) + 1, true);
    int rc = flush_frozen(e, out_gen, err);
    e->flush_failed = rc < 0;
    return rc;
}

int sto_engine_flush(struct sto_engine *e, struct ts_error *err)
{
    struct ts_error why = {0};
    int waited = sto_engine_wait(e, false, &why);
    TS_TRY(sto_flush__all(e, err)); /* write what is in memory, whatever the state of the log */
    sto_compact__wake(e, false);
    if (sto_engine__may_wait(waited) && (waited = sto_engine_wait(e, false, &why)) == 0)
        return sto_flush__all(e, err); /* deleted logs made space for batches that were waiting */
    if (waited < 0 && err)
        *err = why;
    return waited;
}

/* --- the thread --- */

void sto_flush__wake(struct sto_engine *e)
{
    pthread_mutex_lock(&e->bg_mu);
    e->flush_wanted = true;
    pthread_cond_signal(&e->flush_cond);
    pthread_mutex_unlock(&e->bg_mu);
}

/* Has a generation that got its first point at born_ms (0 = it has none) reached flush_age_ms? */
static bool aged(const struct sto_engine *e, int64_t born_ms)
{
    return born_ms && ts_clock_mono_ns() / 1000000 - born_ms > e->opts.flush_age_ms;
}

static bool too_old(const struct sto_engine *e)
{
    return e->opts.flush_age_ms && (aged(e, atomic_load_explicit(&e->gen_born_ms, memory_order_relaxed)) ||
                                    aged(e, atomic_load_explicit(&e->frozen_born_ms, memory_order_relaxed)));
}

void *sto_flush__thread(void *arg)
{
    struct sto_engine *e = arg;
    static struct ts_log_limit limit;
    pthread_mutex_lock(&e->bg_mu);
    while (!e->bg_stop) {
        if (!e->flush_wanted && !atomic_load_explicit(&e->shards_look, memory_order_relaxed)) {
            struct timespec until;
            clock_gettime(CLOCK_MONOTONIC, &until); /* the clock of the condition variable: see
                                                     * sto_engine_open */
            until.tv_sec += 1;
            pthread_cond_timedwait(&e->flush_cond, &e->bg_mu, &until);
        }
        pthread_mutex_unlock(&e->bg_mu);
        (void)sto_handles_leave_free(e->caches.handles, 0);
        sto_version__release_unused(e);
        sto_reserve__tick(e);
        sto_shards__tick(e);
        pthread_mutex_lock(&e->bg_mu);
        bool want = e->flush_wanted || too_old(e);
        e->flush_wanted = false;
        if (!want || e->bg_stop)
            continue;
        pthread_mutex_unlock(&e->bg_mu);
        struct ts_error err = {0};
        if (sto_flush__all(e, &err) < 0) {
            ts_log_limited(&limit, TS_LOG_ERROR, "a flush failed and will be tried again: %s", err.text);
            struct timespec pause = {.tv_sec = 1};
            nanosleep(&pause, NULL);
            pthread_mutex_lock(&e->bg_mu);
            e->flush_wanted = true;
        } else {
            sto_compact__wake(e, false);
            pthread_mutex_lock(&e->bg_mu);
        }
    }
    pthread_mutex_unlock(&e->bg_mu);
    atomic_fetch_sub_explicit(&e->n_bg, 1, memory_order_release); /* pairs with stop_background */
    return NULL;
}
