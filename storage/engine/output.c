/*
 * output.c - writes sorted files and adds them to a store.
 *
 * Threads    output.h
 */
#include "storage/engine/output.h"

#include "base/time.h"

#include <time.h>

#define PAUSE_NS 50000000ll /* longest pause, so that a cancellation is soon seen while the rate is limited */

/* A flush and a merge that run at the same time, each with its file of tombstones, leave some of the spare
 * descriptors free. */
_Static_assert(2 * 2 * (STO_OUTPUT_CUTS + 1) < TS_FS_SPARE, "output files may use all spare descriptors");

uint64_t sto_engine__file_no(struct sto_engine *e)
{
    pthread_mutex_lock(&e->files_mu);
    uint64_t no = e->next_file_no++;
    pthread_mutex_unlock(&e->files_mu);
    return no;
}

static int finish(struct sto_output *o, struct sto_sst_writer *w, struct ts_error *err)
{
    if (o->n == o->cap)
        o->infos = ts_xrealloc(o->infos, (o->cap = o->cap ? o->cap * 2 : 8) * sizeof *o->infos);
    TS_TRY(sto_sst_writer_finish(w, o->gen_lo, o->gen_hi, &o->infos[o->n], err));
    o->n++;
    return 0;
}

static int new_file(struct sto_output *o, struct sto_sst_writer **out, struct ts_error *err)
{
    TS_TRY(sto_sst_writer_new(o->e->fs, o->e->files_dir, sto_engine__file_no(o->e), out, err));
    sto_sst_writer_note(*out, o->made_ms ? o->made_ms : ts_clock_ms(), o->carried_gen);
    int rc = o->level ? sto_sst_writer_set_level(*out, o->level, err) : 0;
    if (rc < 0) {
        sto_sst_writer_abort(*out);
        *out = NULL;
    }
    return rc;
}

/* Which cut an hour lies in; it is usually that of the previous row. */
static size_t cut_of(const struct sto_cut *cuts, size_t n, size_t last, int32_t hour)
{
    size_t i = hour >= cuts[last].hour_lo ? last : 0;
    while (i + 1 < n && hour >= cuts[i + 1].hour_lo)
        i++;
    return i;
}

static int write_row(struct sto_output *o, struct sto_sst_writer **w, const struct sto_row *row,
                     struct ts_error *err)
{
    if (!*w)
        TS_TRY(new_file(o, w, err));
    uint64_t before = sto_sst_writer_bytes(*w), weight = sto_sst_writer_weight(*w);
    TS_TRY(sto_sst_write_row(*w, &row->key, row->cells, err));
    o->weight += sto_sst_writer_weight(*w) - weight;
    o->n_points += row->cells->n;
    o->n_bytes += sto_sst_writer_bytes(*w) - before;
    if (o->max_bytes && o->n_bytes > o->max_bytes)
        return ts_error_set(
            err, TS_ENOSPC,
            "the remaining points of the files need more space than the %llu bytes that are free",
            (unsigned long long)o->max_bytes);
    if (sto_sst_writer_bytes(*w) < o->e->opts.output_bytes)
        return 0;
    struct sto_sst_writer *full = *w;
    *w = NULL;
    return finish(o, full, err);
}

static bool cancelled(const struct sto_output *o)
{
    return o->cancel && atomic_load_explicit(o->cancel, memory_order_relaxed);
}

static void meanwhile(const struct sto_output *o)
{
    if (o->meanwhile)
        o->meanwhile(o->arg);
}

/* Wait until the bytes written are within bytes_per_s; at most for PAUSE_NS, so that a cancellation is seen. */
static void keep_pace(struct sto_output *o)
{
    int64_t now = ts_clock_mono_ns();
    o->began_ns = o->began_ns ? o->began_ns : now;
    double due = (double)o->n_bytes / (double)o->bytes_per_s * 1e9; /* perhaps more than an int64_t holds */
    int64_t past = now - o->began_ns > o->paused_ns ? now - o->began_ns : o->paused_ns;
    for (double left = due - (double)past; left >= 1 && !cancelled(o); left -= (double)PAUSE_NS) {
        int64_t ns = left < (double)PAUSE_NS ? (int64_t)left : PAUSE_NS;
        nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
        o->paused_ns += ns;
        meanwhile(o);
    }
}

/* Finish all files if enough was written since the last checkpoint, and call checkpoint. */
static int checkpoint(struct sto_output *o, struct sto_sst_writer **w, size_t n, const struct sto_key *last,
                      struct ts_error *err)
{
    if (!o->checkpoint_bytes || o->weight - o->marked_weight < o->checkpoint_bytes)
        return 0;
    for (size_t i = 0; i < n; i++) {
        struct sto_sst_writer *full = w[i];
        w[i] = NULL;
        if (full)
            TS_TRY(finish(o, full, err));
    }
    o->marked_weight = o->weight;
    return o->checkpoint(o->arg, last, err);
}

int sto_output__rows(struct sto_output *o, struct sto_merge *merge, const struct sto_cut *cuts, size_t n_cuts,
                     struct ts_error *err)
{
    struct sto_sst_writer *w[STO_OUTPUT_CUTS] = {NULL};
    struct sto_row row;
    uint64_t n_rows = 0;
    size_t at = 0;
    int rc = 1;
    while (rc >= 0 && (rc = sto_merge_next(merge, &row, err)) == 1) {
        at = cut_of(cuts, n_cuts, at, row.key.hour);
        rc = write_row(o, &w[at], &row, err);
        if (rc == 0)
            rc = checkpoint(o, w, n_cuts, &row.key, err);
        if ((++n_rows & 255) != 0 || rc < 0)
            continue;
        meanwhile(o);
        if (o->bytes_per_s)
            keep_pace(o);
        if (cancelled(o))
            rc = ts_error_set(err, TS_ECANCELLED, "the store is closing");
    }
    sto_merge_free(merge);
    for (size_t i = 0; i < n_cuts; i++)
        if (w[i] && rc == 0)
            rc = finish(o, w[i], err);
        else
            sto_sst_writer_abort(w[i]);
    return rc;
}

int sto_output__tombs(struct sto_output *o, const struct sto_tomb *tombs, size_t n, struct ts_error *err)
{
    if (n && !o->tombs)
        TS_TRY(new_file(o, &o->tombs, err));
    for (size_t i = 0; i < n; i++)
        TS_TRY(sto_sst_write_tomb(o->tombs, &tombs[i], err));
    return 0;
}

bool sto_output__has_room(struct sto_engine *e, uint64_t n_bytes, uint64_t *out_room)
{
    *out_room = 0;
    return e->fs->free_bytes(e->fs, e->files_dir, out_room, NULL) < 0 ||
           *out_room >= n_bytes + n_bytes / 8 + e->opts.reserve_bytes;
}

/* List the files in the manifest first, and show them to readers second. */
static int name_files(struct sto_output *o, struct sto_sst *const *ssts, const uint64_t *gone, size_t n_gone,
                      uint64_t flushed_gen, struct ts_error *err)
{
    struct sto_engine *e = o->e;
    int64_t before_ms = o->dropped_ms ? o->dropped_ms : INT64_MIN;
    if (o->cutoff_gen && o->cutoff_ms > before_ms)
        before_ms = o->cutoff_ms;
    pthread_mutex_lock(&e->files_mu);
    const struct sto_complete *was = &sto_manifest_state(e->manifest)->complete;
    struct sto_complete complete = sto_complete__removed(was, before_ms);
    bool changed = complete.from_ms != was->from_ms;
    struct sto_manifest_edit edit = {.add = o->infos,
                                     .n_add = o->n,
                                     .remove = gone,
                                     .n_remove = n_gone,
                                     .flushed_gen = flushed_gen,
                                     .cutoff_ms = o->cutoff_ms,
                                     .cutoff_gen = o->cutoff_gen,
                                     .once = o->once,
                                     .complete = changed ? &complete : NULL,
                                     .next_file_no = e->next_file_no};
    int rc = sto_manifest_apply(e->manifest, &edit, err);
    if (rc == 0 && changed)
        sto_version__complete(e, complete.from_ms);
    pthread_mutex_unlock(&e->files_mu);
    o->perhaps_named = rc == TS_EIO;
    sto_engine__fatal(e, rc, err);
    if (rc == 0 && o->cutoff_gen)
        sto_version__cut_off(e, o->cutoff_ms, o->cutoff_gen);
    if (rc == 0)
        rc = sto_version__edit(e, ssts, o->n, gone, n_gone, flushed_gen, NULL, 0);
    return rc;
}

int sto_output__commit(struct sto_output *o, const uint64_t *gone, size_t n_gone, uint64_t flushed_gen,
                       struct ts_error *err)
{
    struct sto_engine *e = o->e;
    if (o->tombs) {
        struct sto_sst_writer *w = o->tombs;
        o->tombs = NULL;
        TS_TRY(finish(o, w, err));
    }
    if (o->n)
        TS_TRY(e->fs->sync_dir(e->fs, e->files_dir, err));
    struct sto_sst **ssts = ts_xcalloc(o->n + 1, sizeof *ssts);
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < o->n; i++) {
        rc = sto_sst_open(e->fs, e->files_dir, &e->caches, &o->infos[i], &ssts[i], err);
        if (rc == 0)
            rc = sto_sst_check_index(ssts[i], err); /* no query waits for it here */
    }
    o->unreadable = rc < 0 && rc != TS_ENOMEM && rc != TS_EMFILE;
    if (rc == 0)
        rc = name_files(o, ssts, gone, n_gone, flushed_gen, err);
    for (size_t i = 0; i < o->n; i++)
        sto_sst_unref(ssts[i]);
    ts_free(ssts);
    return rc;
}

void sto_output__release(struct sto_output *o, bool committed)
{
    sto_sst_writer_abort(o->tombs);
    for (size_t i = o->n_kept; !committed && !o->perhaps_named && i < o->n; i++)
        sto_sst_remove(o->e->fs, o->e->files_dir, &o->infos[i]);
    ts_free(o->infos);
    o->infos = NULL;
    o->tombs = NULL;
    o->n = o->cap = 0;
}

/* --- files that must not be removed --- */

static bool is_listed(const struct sto_version *v, const struct sto_sst *sst)
{
    for (size_t i = 0; i < v->n_ssts; i++)
        if (v->ssts[i] == sst)
            return true;
    return false;
}

bool sto_output__take(struct sto_engine *e, struct sto_sst *const *ssts, size_t n)
{
    bool all = true;
    pthread_mutex_lock(&e->remove_mu);
    struct sto_version *v = sto_engine_pin(e);
    for (size_t i = 0; i < n && all; i++)
        all = is_listed(v, ssts[i]);
    if (all) {
        e->taken = ssts;
        e->n_taken = n;
    }
    pthread_mutex_unlock(&e->remove_mu);
    sto_engine_unpin(e, v);
    return all;
}

void sto_output__give_back(struct sto_engine *e)
{
    pthread_mutex_lock(&e->remove_mu);
    e->taken = NULL;
    e->n_taken = 0;
    pthread_mutex_unlock(&e->remove_mu);
}

bool sto_output__is_taken(const struct sto_engine *e, uint64_t file_no)
{
    for (size_t i = 0; i < e->n_taken; i++)
        if (sto_sst_info(e->taken[i])->file_no == file_no)
            return true;
    return false;
}
