/*
 * engine.c - opening and closing the embedded engine: folder, lock, manifest, files, replay, threads.
 *
 *   DIR/LOCK  DIR/MANIFEST  DIR/catalog.log  DIR/cells.log  DIR/wal/  DIR/files/
 *
 * Not here   names (store.c opens the catalog when the engine calls `ready`), flushing (flush.c), merging
 * (compact.c)
 */
#include "storage/engine/engine.h"

#include "base/log.h"
#include "base/thread.h"
#include "base/time.h"
#include "storage/codecs/codec.h"
#include "storage/engine/engine_int.h"
#include "storage/engine/handover.h"
#include "storage/engine/lost.h"
#include "storage/engine/once_engine.h"
#include "storage/engine/orphans.h"
#include "storage/engine/remake.h"
#include "storage/engine/reserve.h"
#include "storage/engine/expire.h"
#include "storage/engine/retention.h"
#include "storage/engine/shards.h"
#include "storage/engine/ship.h"
#include "storage/engine/total_files.h"
#include "storage/engine/merge/partition.h"
#include "storage/engine/files/handles.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SYNCS_MAX 16u /* logs that are synced at the same time */

/* --- folder and lock --- */

struct folder {
    bool any;      /* the folder has files that do not belong to a store */
    bool of_store; /* the folder has files of a store that are created after the manifest */
    bool manifest, copy;
};

static int look(void *arg, const char *name)
{
    struct folder *f = arg;
    f->manifest |= strcmp(name, STO_MANIFEST_NAME) == 0;
    f->copy |= strcmp(name, STO_MANIFEST_NAME ".copy") == 0;
    bool of_store = strncmp(name, "catalog.log", 11) == 0 || strncmp(name, "cells.log", 9) == 0 ||
                    strcmp(name, "wal") == 0 || strcmp(name, "files") == 0;
    f->of_store |= of_store;
    f->any |= !of_store && strcmp(name, "LOCK") != 0 && strcmp(name, "lost+found") != 0 &&
              strncmp(name, "MANIFEST", 8) != 0;
    return 0;
}

/* Sync the parent folder, so that the name of a new folder is on disk before any point is acknowledged. A
 * parent that this process may not read belongs to another user, who has created the data folder. */
static int sync_parent(struct sto_engine *e, struct ts_error *err)
{
    char *parent = ts_xstrdup(e->dir);
    size_t n = strlen(parent);
    while (n > 1 && parent[n - 1] == '/')
        n--;
    while (n > 0 && parent[n - 1] != '/')
        n--;
    while (n > 1 && parent[n - 1] == '/')
        n--;
    parent[n] = 0;
    struct ts_error why = {0};
    int rc = e->fs->sync_dir(e->fs, n ? parent : ".", &why);
    ts_free(parent);
    if (rc < 0 && (why.sys_errno == EACCES || why.sys_errno == EPERM))
        return 0;
    if (rc < 0 && err)
        *err = why;
    return rc;
}

static int folder_check(struct sto_engine *e, bool *out_is_store, struct ts_error *err)
{
    struct folder f = {0};
    struct ts_error why = {0};
    int rc = e->fs->list(e->fs, e->dir, look, &f, &why);
    if (rc == TS_ENOTFOUND && e->opts.create && !e->opts.read_only) {
        TS_TRY(e->fs->mkdir(e->fs, e->dir, err));
    } else if (rc == TS_ENOTFOUND) {
        return ts_error_set(err, TS_ENOTFOUND, "there is no folder %s", e->dir);
    } else if (rc < 0) {
        if (err)
            *err = why;
        return rc;
    }
    *out_is_store = f.manifest;
    if (!f.manifest && f.copy)
        return ts_error_set(
            err, TS_ECORRUPT,
            "%s/" STO_MANIFEST_NAME " is missing, but its copy is there; run tsd fsck --repair", e->dir);
    /* with a new manifest, all files would count as left over and be removed */
    if (!f.manifest && f.of_store)
        return ts_error_set(err, TS_ECORRUPT,
                            "%s/" STO_MANIFEST_NAME
                            " and its copy are missing, but a store is there; run tsd "
                            "fsck --repair, which rebuilds it from the files and the log",
                            e->dir);
    if (!f.manifest && f.any)
        return ts_error_set(
            err, TS_EINVAL,
            "%s is not a tsd store: it holds files, but no MANIFEST; give an empty or new folder", e->dir);
    if (!f.manifest && (!e->opts.create || e->opts.read_only))
        return ts_error_set(err, TS_ENOTFOUND, "%s is not a tsd store: it has no MANIFEST", e->dir);
    /* An earlier start may have created the folder without syncing its parent. */
    return f.manifest ? 0 : sync_parent(e, err);
}

static int folder_lock(struct sto_engine *e, struct ts_error *err)
{
    char *path = ts_fs_join(e->dir, "LOCK");
    struct ts_error why = {0};
    int rc = e->fs->open(e->fs, path, e->opts.read_only ? TS_OPEN_READ : TS_OPEN_APPEND, &e->lock_file, &why);
    if (rc == TS_ENOTFOUND && e->opts.read_only)
        rc = 0; /* the medium is not writable, so that no other process can write there either */
    else if (rc == 0 && (rc = e->fs->lock(e->lock_file, &why)) == TS_EBUSY)
        ts_error_set(
            &why, TS_EBUSY,
            "%s is in use by another tsd process; stop it, or send the request to it (--host, --port)",
            e->dir);
    if (rc < 0 && err)
        *err = why;
    ts_free(path);
    return rc;
}

/* --- files --- */

/* The text of an error with what to do about it; err is changed. */
static const char *advice(struct ts_error *err)
{
    size_t n = strlen(err->text);
    (void)snprintf(err->text + n, sizeof(err->text) - n, "; run tsd fsck");
    return err->text;
}

static int open_files(struct sto_engine *e, struct ts_error *err)
{
    const struct sto_manifest_state *state = sto_manifest_state(e->manifest);
    struct sto_version *v = sto_version__new(state->n_files, 0);
    sto_version__first(e, v);
    v->cutoff_ms = e->cutoff_ms = state->cutoff_ms;
    v->cutoff_gen = e->cutoff_gen = state->cutoff_gen;
    e->marks = state->marks.n ? sto_marks_new(&state->marks) : NULL;
    v->marks = sto_marks_ref(e->marks);
    v->complete_from_ms = e->complete_from_ms = INT64_MAX; /* until the log was read */
    for (size_t i = 0; i < state->n_files; i++) {
        struct ts_error why = {0};
        int rc = sto_sst_open(e->fs, e->files_dir, &e->caches, &state->files[i], &v->ssts[v->n_ssts], &why);
        if (rc == TS_ECORRUPT || rc == TS_ENOTFOUND) {
            if (e->opts.read_only) /* queries that do not need the file are still answered */
                ts_log(TS_LOG_WARN, "a damaged file is left out: %s", why.text);
            v->ssts[v->n_ssts] = sto_sst_new_broken(e->fs, e->files_dir, &state->files[i],
                                                    e->opts.read_only ? advice(&why) : why.text);
            rc = 0;
        }
        if (rc < 0) {
            if (err)
                *err = why;
            return rc;
        }
        if (!sto_sst_broken(v->ssts[v->n_ssts]))
            (void)sto_sst_open_days(v->ssts[v->n_ssts]);
        v->n_ssts++;
    }
    bool broken;
    return e->opts.read_only ? 0 : sto_remake__all(e, &broken, err);
}

static int open_manifest(struct sto_engine *e, struct ts_error *err)
{
    bool data = sto_lost__all(e->fs, e->dir, NULL), create = e->opts.create && !e->opts.read_only && !data;
    struct ts_error why = {0};
    int rc =
        sto_manifest_open(e->fs, e->dir, create, e->opts.read_only, e->opts.n_shards, &e->manifest, &why);
    if (data && (rc == TS_ENOTFOUND || (rc == 0 && sto_manifest_state(e->manifest)->run == 0)))
        rc =
            ts_error_set(&why, TS_ECORRUPT,
                         "%s/" STO_MANIFEST_NAME " has lost its records, but files of a store are there; run "
                         "tsd fsck --repair, which rebuilds it from the files and the log",
                         e->dir);
    if (rc < 0) {
        if (err)
            *err = why;
        return rc;
    }
    if (e->opts.log_grow_bytes)
        sto_manifest_set_rewrite_bytes(e->manifest, e->opts.log_grow_bytes);
    const struct sto_manifest_state *state = sto_manifest_state(e->manifest);
    e->n_shards = e->n_groups = state->n_shards;
    sto_shards__open(e);
    e->next_file_no = state->next_file_no;
    if (!e->opts.read_only) {
        TS_TRY(e->fs->mkdir(e->fs, e->wal_dir, err));
        TS_TRY(e->fs->mkdir(e->fs, e->files_dir, err));
        TS_TRY(e->fs->sync_dir(e->fs, e->dir, err));
    }
    TS_TRY(rc = sto_lost__edits(e->fs, e->dir, state, err));
    if (rc)
        return ts_error_set(err, TS_ECORRUPT,
                            "%s/" STO_MANIFEST_NAME
                            " and its copy have lost their last records: %s/ has sorted files "
                            "that they do not list and that were complete; run tsd fsck --repair, which "
                            "rebuilds the manifest from the sorted files and the write-ahead log",
                            e->dir, e->files_dir);
    return open_files(e, err);
}

/* --- threads --- */

static int start_thread(pthread_t *t, void *(*fn)(void *), void *arg, bool *out_runs, struct ts_error *err)
{
    int rc = ts_thread_start(t, &(struct ts_thread_opts){.fn = fn, .arg = arg});
    if (rc)
        return ts_error_sys(err, TS_ENOMEM, rc, "no more threads can be started");
    if (out_runs)
        *out_runs = true;
    return 0;
}

struct sto_mem *sto_engine__mem_new(struct sto_engine *e, uint64_t gen, uint16_t owner, unsigned n_owners)
{
    struct sto_shard_spread spread = {e->n_groups, sto_engine__n_shards(e), n_owners};
    struct sto_mem *mem = sto_mem_new(gen, owner, spread);
    sto_mem_count_in(mem, &e->mems_budget);
    return mem;
}

static int first_mems(struct sto_engine *e)
{
    uint64_t gen = atomic_load_explicit(&e->gen, memory_order_relaxed);
    struct sto_mem **mems = ts_xcalloc(e->n_owners, sizeof *mems);
    for (unsigned i = 0; i < e->n_owners; i++)
        e->owners[i].mem = mems[i] = sto_engine__mem_new(e, gen, (uint16_t)i, e->n_owners);
    sto_version__edit(e, NULL, 0, NULL, 0, 0, mems, e->n_owners);
    for (unsigned i = 0; i < e->n_owners; i++)
        sto_mem_unref(mems[i]);
    ts_free(mems);
    return 0;
}

static int start_threads(struct sto_engine *e, struct ts_error *err)
{
    if (e->opts.read_only || e->opts.pumped)
        return 0;
    e->threads_run = true; /* set before any thread reads it */
    if (e->n_owners > 1)
        e->sync_pool = ts_pool_new((e->n_owners < SYNCS_MAX ? e->n_owners : SYNCS_MAX) - 1, "tsd-sync-logs");
    TS_TRY(start_thread(&e->sync_thread, sto_sync__thread, e, &e->sync_runs, err));
    for (unsigned i = 0; e->opts.own_threads && i < e->n_owners; i++)
        TS_TRY(start_thread(&e->owners[i].thread, sto_owner__thread, &e->owners[i], &e->owners[i].runs, err));
    if (e->opts.no_background)
        return 0;
    atomic_store_explicit(&e->n_bg, 2, memory_order_relaxed);
    int rc = start_thread(&e->flush_thread, sto_flush__thread, e, &e->flush_runs, err);
    if (rc == 0)
        rc = start_thread(&e->compact_thread, sto_compact__thread, e, &e->compact_runs, err);
    if (rc < 0)
        atomic_fetch_sub_explicit(&e->n_bg, e->flush_runs ? 1 : 2, memory_order_relaxed);
    return rc;
}

static void stop_message(struct ts_queue *q)
{
    struct ts_msg *stop = ts_xcalloc(1, sizeof *stop);
    stop->kind = STO_MSG_STOP;
    ts_queue_push(q, stop);
}

static void stop_owners(struct sto_engine *e)
{
    for (unsigned i = 0; e->owners && i < e->n_owners; i++)
        if (e->owners[i].runs) {
            stop_message(e->owners[i].in);
            pthread_join(e->owners[i].thread, NULL);
            e->owners[i].runs = false;
        }
    e->threads_run = false;
}

static void stop_background(struct sto_engine *e)
{
    atomic_store_explicit(&e->stop_compact, true, memory_order_relaxed);
    sto_ship__stop(e);
    pthread_mutex_lock(&e->bg_mu);
    e->bg_stop = true;
    pthread_cond_broadcast(&e->flush_cond);
    pthread_cond_broadcast(&e->compact_cond);
    pthread_mutex_unlock(&e->bg_mu);
    /* A flush may be waiting for owners whose workers have ended: this thread runs them now. */
    while (!e->opts.own_threads && atomic_load_explicit(&e->n_bg, memory_order_acquire)) {
        sto_engine__pump(e);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    if (e->flush_runs)
        pthread_join(e->flush_thread, NULL);
    if (e->compact_runs)
        pthread_join(e->compact_thread, NULL);
    e->flush_runs = e->compact_runs = false;
    atomic_store_explicit(&e->flush_releases, false, memory_order_release); /* pairs with sto_engine_unpin */
}

/* --- open and close --- */

/* Highest number of a series in the files, plus 1. */
static uint64_t series_end(const struct sto_version *v)
{
    uint64_t end = 0;
    for (size_t i = 0; i < v->n_ssts; i++) {
        const struct sto_sst_series *set = sto_sst_series(v->ssts[i]);
        if (set->count && set->max + 1ull > end)
            end = set->max + 1ull;
    }
    return end;
}

static int open_all(struct sto_engine *e, struct ts_error *err)
{
    bool is_store = false, torn = false;
    TS_TRY(folder_check(e, &is_store, err));
    TS_TRY(folder_lock(e, err));
    TS_TRY(open_manifest(e, err));
    struct sto_engine_found found = {.n_shards = e->n_shards,
                                     .series_end = series_end(e->version),
                                     .used = sto_manifest_state(e->manifest)->run > 0};
    TS_TRY(e->owner.ready(e->owner.arg, &found, err));
    sto_total_files__open(e);
    TS_TRY(sto_expire__open(e, err));
    sto_retention__begin(e);
    TS_TRY(sto_once__open(e, err));
    TS_TRY(sto_recover__wal(e, &torn, err));
    sto_complete__begin(e, torn);
    if (!e->opts.read_only) {
        (void)sto_handles_leave_free(e->caches.handles, 0);
        TS_TRY(sto_orphans__drop(e, err));
        TS_TRY(sto_handover__settle(e, err));
        sto_reserve__open(e);
        TS_TRY(sto_reserve__save_run(e, err));
    }
    TS_TRY(sto_writers__init(e, err));
    first_mems(e);
    TS_TRY(start_threads(e, err));
    return sto_ship__start(e, err);
}

static void engine_free(struct sto_engine *e)
{
    if (e->owners)
        for (unsigned i = 0; i < e->n_owners; i++)
            sto_wal_close(e->owners[i].wal, NULL);
    sto_writers__release(e);
    sto_once_all_free(e->once, e->n_shards);
    ts_free(e->once_frozen);
    ts_pool_free(e->sync_pool);
    if (e->sync_q)
        ts_queue_free(e->sync_q);
    sto_version__release_unused(e);
    if (e->version)
        sto_version__drop(e, e->version);
    sto_marks_unref(e->marks);
    sto_expire__close(e);
    sto_ship__free(e);
    sto_pages_free(e->caches.pages);
    sto_handles_free(e->caches.handles);
    sto_manifest_close(e->manifest);
    if (e->owner.closed)
        e->owner.closed(e->owner.arg);
    if (e->lock_file)
        e->fs->close(e->lock_file, NULL); /* last, because another process may open the store from now on */
    sto_refusals_release(&e->refusals);
    pthread_mutex_destroy(&e->edit_mu);
    pthread_mutex_destroy(&e->version_mu);
    pthread_mutex_destroy(&e->files_mu);
    pthread_mutex_destroy(&e->flush_mu);
    pthread_mutex_destroy(&e->refuse_mu);
    pthread_mutex_destroy(&e->bg_mu);
    pthread_mutex_destroy(&e->compact_mu);
    pthread_mutex_destroy(&e->remove_mu);
    sto_stop__release(&e->stop);
    pthread_cond_destroy(&e->flush_cond);
    pthread_cond_destroy(&e->compact_cond);
    if (e->unfinished)
        sto_unfinished_release(e->unfinished);
    ts_free(e->unfinished);
    ts_free(e->kept_files);
    ts_free(e->rests);
    ts_free(e->dir);
    ts_free(e->wal_dir);
    ts_free(e->files_dir);
    ts_free(e);
}

int sto_engine_open(const struct sto_opts *opts, const struct sto_engine_owner *owner,
                    struct sto_engine **out_e, struct ts_error *err)
{
    *out_e = NULL;
    struct sto_engine *e = ts_xcalloc(1, sizeof *e);
    e->opts = sto_opts_filled(opts);
    e->owner = *owner;
    e->fs = e->opts.fs;
    e->dir = ts_xstrdup(opts->dir);
    e->opts.dir = e->dir;
    e->wal_dir = ts_fs_join(opts->dir, "wal");
    e->files_dir = ts_fs_join(opts->dir, "files");
    e->caches.pages = sto_pages_new(&(struct sto_pages_opts){.limit_bytes = opts->index_cache_bytes,
                                                             .page_blocks = opts->index_page_blocks,
                                                             .late = opts->index_late});
    e->caches.handles = sto_handles_new(opts->open_files);
    ts_budget_init(&e->merge_budget, "merging files", "compaction_memory_bytes", NULL,
                   e->opts.merge_memory_bytes);
    ts_budget_init(&e->once_budget, "ids of clients", "counter_ids_bytes", NULL, e->opts.ids_bytes);
    e->n_owners = e->opts.n_writers;
    if (!e->opts.big_day_points)
        e->opts.big_day_points = STO_BIG_DAY_POINTS;
    if (!e->opts.output_bytes)
        e->opts.output_bytes = STO_OUTPUT_BYTES;
    if (!e->opts.checkpoint_bytes)
        e->opts.checkpoint_bytes = /* a checkpoint ends all files */
            e->opts.output_bytes > STO_CHECKPOINT_BYTES ? e->opts.output_bytes : STO_CHECKPOINT_BYTES;
    sto_refusals_init(&e->refusals);
    pthread_mutex_init(&e->edit_mu, NULL);
    pthread_mutex_init(&e->version_mu, NULL);
    pthread_mutex_init(&e->files_mu, NULL);
    pthread_mutex_init(&e->flush_mu, NULL);
    pthread_mutex_init(&e->refuse_mu, NULL);
    pthread_mutex_init(&e->bg_mu, NULL);
    pthread_mutex_init(&e->compact_mu, NULL);
    pthread_mutex_init(&e->remove_mu, NULL);
    pthread_condattr_t steady;
    pthread_condattr_init(&steady);
    pthread_condattr_setclock(&steady, CLOCK_MONOTONIC); /* a step of the wall clock delays neither thread */
    pthread_cond_init(&e->flush_cond, &steady);
    pthread_cond_init(&e->compact_cond, &steady);
    pthread_condattr_destroy(&steady);
    e->sync_q = ts_queue_new(1u << 20);
    sto_stop__init(&e->stop);
    sto_ship__init(e);
    *out_e = e; /* before threads are started, whose callbacks the owner answers with it */
    int rc = open_all(e, err);
    if (rc < 0) {
        stop_background(e);
        stop_owners(e);
        if (e->sync_runs) {
            stop_message(e->sync_q);
            pthread_join(e->sync_thread, NULL);
        }
        engine_free(e);
        *out_e = NULL;
        return rc;
    }
    atomic_store_explicit(&e->flush_releases, e->flush_runs,
                          memory_order_release); /* pairs with sto_engine_unpin */
    return 0;
}

int sto_engine_close(struct sto_engine *e, struct ts_error *err)
{
    if (!e)
        return 0;
    int rc = 0;
    e->closing = true;
    stop_background(e);
    stop_owners(e);
    if (!e->opts.read_only) {
        for (unsigned i = 0; i < e->n_owners; i++)
            sto_writer_turn(&e->writers[i]); /* send batches that are still open; no other thread runs now */
        sto_engine__pump(e);
        rc = sto_engine_wait(e, true, err);
        if (e->sync_runs) {
            stop_message(e->sync_q);
            pthread_join(e->sync_thread, NULL);
            e->sync_runs = false;
        }
        /* if this fails, the points are still in the log */
        int flushed = sto_flush__all(e, rc < 0 ? NULL : err);
        if (rc == 0)
            rc = flushed;
        sto_retention__end(e);
        if (rc == 0)
            rc = sto_shards__close(e, err);
        if (rc == 0)
            sto_complete__closed(e);
    }
    engine_free(e);
    return rc;
}
