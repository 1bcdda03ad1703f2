/*
 * compact.c - merges several sorted files into fewer.
 *
 * A merge references its inputs, writes new files under new numbers, and replaces the inputs with one manifest edit. Readers
 * of an old version keep reading the old files, which are unlinked when the last reader releases them.
 *
 * Threads    the compact thread, or a caller that waits; one at a time (compact_mu). Runs at low priority
 *            (nice 10). Retention runs between the rows of a merge, which may take hours.
 * Not here   choice of files (pick_rules.c, pick_deleted.c), expired files (retention.c), damaged ones (remake.c), merging of
 *            a row (merge_cells.c), naming files (output.c), the record of an interrupted merge
 *    XX */
#include "base/log.h"
#include "base/time.h"
#include "storage/engine/compact_range.h"
#include "storage/engine/day_files.h"
#include "storage/engine/expire.h"
#include "storage/engine/files/handles.h"
#include "storage/engine/output.h"
#include "storage/engine/remake.h"
#include "storage/engine/rests.h"
#include "storage/engine/retention.h"
#include "storage/engine/ship.h"
#include "storage/engine/total_files.h"
#include "storage/engine/wear.h"

#include <string.h>

/* A running merge. */
struct job {
    struct sto_engine *e;
    const struct sto_pick *pick;
    struct sto_sst **in;      /* inputs, one reference each */
    struct sto_sst **deletes; /* files whose tombstones are applied too, one reference each */
    size_t n_deletes;
    int64_t cutoff_ms;                  /* of the version that the merge was picked from */
    uint64_t cutoff_gen;                /* the same */
    struct sto_floors *floors;          /* when it was picked; a reference */
    struct sto_key after;               /* of a resumed merge: rows up to this one are already written */
    uint64_t counted_points;            /* points of out that are already in the statistics, */
    uint64_t counted_bytes;             /* and bytes of the inputs */
    struct sto_output out;              /* files written */
    const struct sto_compact__how *how; /* what was asked for */
    _Atomic bool cancel;                /* give up */
    uint64_t level_bytes;               /* taken from merge_budget for compressing */
};

static bool is_resumed(const struct job *job)
{
    return job->pick->why == STO_PICK_UNFINISHED;
}

static bool is_input(const struct job *job, const struct sto_sst *sst)
{
    for (size_t i = 0; i < job->pick->n; i++)
        if (job->in[i] == sst)
            return true;
    return false;
}

static int write_rows(struct job *job, struct ts_error *err)
{
    struct sto_scan_spec spec = {.from_ms = STO_MIN_TS_MS,
                                 .to_ms = STO_MAX_TS_MS,
                                 .final = job->pick->final,
                                 .memory = &job->e->merge_budget,
                                 .must_go_on = true,
                                 .most_bytes = sto_merge_most_bytes(&job->e->merge_budget),
                                 .after = is_resumed(job) ? &job->after : NULL,
                                 .deletes = job->deletes,
                                 .n_deletes = job->n_deletes,
                                 .cutoff_ms = job->cutoff_ms,
                                 .cutoff_gen = job->cutoff_gen,
                                 .floors = job->floors};
    struct sto_merge *merge = NULL;
    if (job->pick->why == STO_PICK_TOMBS)
        return 0;
    TS_TRY(sto_merge_new(&spec, job->in, job->pick->n, NULL, 0, &merge, err));
    return sto_output__rows(&job->out, merge, job->pick->cuts, job->pick->n_cuts, err);
}

/* May an older file that is not rewritten by this merge have points that t deletes? */
static bool is_needed(const struct job *job, const struct sto_version *v, const struct sto_tomb *t)
{
    for (size_t i = 0; i < v->n_ssts; i++)
        if (sto_wear_concerns(v->ssts[i], t) && !is_input(job, v->ssts[i]))
            return true;
    return false;
}

/* Write the tombstones of the inputs that are still needed. */
static int write_needed(struct job *job, const struct sto_version *v, struct ts_error *err)
{
    for (size_t i = 0; i < job->pick->n; i++) {
        size_t n;
        const struct sto_tomb *tombs = sto_sst_tombs(job->in[i], &n);
        for (size_t k = 0; k < n; k++) {
            if (job->pick->keep_tombs || is_needed(job, v, &tombs[k]))
                TS_TRY(sto_output__tombs(&job->out, &tombs[k], 1, err));
            if ((k & 255) == 0 && atomic_load_explicit(&job->e->stop_compact, memory_order_relaxed))
                return ts_error_set(err, TS_ECANCELLED, "the store is closing");
        }
    }
    return 0;
}

static int write_tombs(struct job *job, struct ts_error *err)
{
    struct sto_version *v = sto_engine_pin(job->e); /* files may have been removed since the merge began */
    int rc = write_needed(job, v, err);
    sto_engine_unpin(job->e, v);
    return rc;
}

/* Remove expired files while a merge runs, which may take hours, and see whether it is to end. The next pass repeats what
 * fails. */
static void meanwhile(void *arg)
{
    struct job *job = arg;
    (void)sto_retention__drop_again(job->e, NULL);
    if (atomic_load_explicit(&job->e->stop_compact, memory_order_relaxed) ||
        sto_compact__is_stopped(job->how))
        atomic_store_explicit(&job->cancel, true, memory_order_relaxed); /* this thread reads it */
}

/* May the merge leave out rows of its inputs? */
static bool may_delete(const struct job *job)
{
    bool may = job->n_deletes > 0 || job->pick->why == STO_PICK_TOMBS;
    for (size_t i = 0; i < job->pick->n && !may; i++) {
        const struct sto_sst_info *f = sto_sst_info(job->in[i]);
        may = f->n_tombs || (f->gen_hi < job->cutoff_gen && f->min_ms < job->cutoff_ms) ||
              sto_expire__concerns(job->floors, f);
    }
    return may;
}

/* A merge must not fill the disk. Its output is at most as large as its input, so that much free space
 * suffices. Where points were deleted, the size of the output is known only when it is written: such a merge
 * gives up when it has used half of the free space, since the log needs some, and removes what it has
 * written. For a resumed merge pick_unfinished has checked the space. */
static int look_at_room(struct job *job, struct ts_error *err)
{
    const struct sto_pick *pick = job->pick;
    uint64_t room, keep = job->e->opts.reserve_bytes;
    if (is_resumed(job) || sto_unfinished__make_room(job->e, pick->bytes, &room))
        return 0;
    job->out.max_bytes = room > keep + 1 ? (room - keep) / 2 : 1;
    job->out.checkpoint_bytes = 0;
    return may_delete(job)
               ? 0
               : ts_error_set(
                     err, TS_ENOSPC,
                     "merging %zu files of %llu bytes needs more space than the %llu bytes that are free",
                     pick->n, (unsigned long long)pick->bytes, (unsigned long long)room);
}

/* --- checkpoints --- */

/* The files written so far stay if the merge is interrupted: add their points and bytes to the statistics,
 * once. */
static void count_kept(struct job *job)
{
    struct sto_engine *e = job->e;
    uint64_t n_bytes = 0;
    for (size_t i = job->out.n_kept; i < job->out.n; i++)
        n_bytes += job->out.infos[i].t_bytes + job->out.infos[i].s_bytes;
    job->out.n_kept = job->out.n;
    job->counted_bytes += n_bytes;
    atomic_fetch_add_explicit(&e->n_compacted_bytes, n_bytes, memory_order_relaxed);
    atomic_fetch_add_explicit(&e->n_compacted_points, job->out.n_points - job->counted_points,
                              memory_order_relaxed);
    job->counted_points = job->out.n_points;
}

/* All files written so far are complete, with rows up to `last`. If the record can't be written the merge continues without
 * this checkpoint. */
static int checkpoint(void *arg, const struct sto_key *last, struct ts_error *err)
{
    static struct ts_log_limit limit;
    struct job *job = arg;
    const struct sto_pick *pick = job->pick;
    struct ts_error why = {0};
    TS_TRY(job->e->fs->sync_dir(job->e->fs, job->e->files_dir, err));
    struct sto_unfinished u = {.inputs = ts_xcalloc(pick->n, sizeof *u.inputs),
                               .n_inputs = pick->n,
                               .gen_lo = pick->gen_lo,
                               .gen_hi = pick->gen_hi,
                               .carried_gen = job->out.carried_gen,
                               .level = job->out.level,
                               .cutoff_ms = job->cutoff_ms,
                               .cutoff_gen = job->cutoff_gen,
                               .final = pick->final,
                               .window = pick->window,
                               .n_cuts = pick->n_cuts,
                               .outputs = ts_xcalloc(job->out.n, sizeof *u.outputs),
                               .n_outputs = job->out.n,
                               .last = *last};
    if (is_resumed(job)) { /* the cutoff that was applied to its first files */
        u.cutoff_ms = job->e->unfinished->cutoff_ms;
        u.cutoff_gen = job->e->unfinished->cutoff_gen;
    }
    memcpy(u.cuts, pick->cuts, sizeof u.cuts);
    memcpy(u.outputs, job->out.infos, job->out.n * sizeof *u.outputs);
    for (size_t i = 0; i < pick->n; i++)
        u.inputs[i] = sto_sst_info(job->in[i])->file_no;
    if (sto_unfinished__save(job->e, &u, &why) == 0)
        count_kept(job);
    else
        ts_log_limited(&limit, TS_LOG_WARN, "a merge continues without a checkpoint: %s", why.text);
    return 0;
}

/* Begin with the finished files of the interrupted merge. */
static void resume(struct job *job)
{
    const struct sto_unfinished *u = job->e->unfinished;
    job->after = u->last;
    job->out.carried_gen = u->carried_gen;
    job->out.level = u->level;
    job->out.infos = ts_xcalloc(u->n_outputs + 1, sizeof *job->out.infos);
    memcpy(job->out.infos, u->outputs, u->n_outputs * sizeof *job->out.infos);
    job->out.n = job->out.n_kept = u->n_outputs;
    job->out.cap = u->n_outputs + 1;
    job->counted_bytes = sto_unfinished_bytes(u);
    atomic_fetch_add_explicit(&job->e->n_resumed, 1, memory_order_relaxed);
}

/* Pick the interrupted merge if it is to continue now. If it can't continue, drop it. */
static bool pick_unfinished(struct sto_engine *e, const struct sto_version *v,
                            const struct sto_sst_info *infos, const struct sto_pick_opts *opts,
                            struct sto_pick *out)
{
    const struct sto_unfinished *u = e->unfinished;
    uint64_t room;
    if (!u)
        return false;
    const char *why = sto_unfinished_misfit(u, infos, v->n_ssts, v->cutoff_ms, v->cutoff_gen);
    for (size_t i = 0; !why && i < opts->n_skip; i++)
        if (opts->skip[i].level == u->window.level && opts->skip[i].index == u->window.index)
            return false;
    if (!why) {
        sto_unfinished_pick(u, infos, v->n_ssts, out);
        why = sto_ship__misfit(e, infos, out);
        uint64_t done = sto_unfinished_bytes(u); /* their rows take at least as many bytes in the inputs */
        if (!why && sto_output__has_room(e, out->bytes > done ? out->bytes - done : 0, &room))
            return true;
        why = why ? why : "its remaining part needs more space than is free";
        ts_free(out->files);
    }
    sto_unfinished__drop(e, why);
    return false;
}

/* Must an interrupted merge release its space, because points are refused or the reserve is spent? */
static bool is_disk_full(const struct sto_engine *e)
{
    return atomic_load_explicit(&e->refuse_code, memory_order_relaxed) == TS_ENOSPC ||
           atomic_load_explicit(&e->reserve_spent, memory_order_relaxed);
}

/* --- one merge --- */

/* A merge has ended: keep or remove its record. After most errors it stays, and the merge continues later. */
static void end_record(struct job *job, int rc, const struct ts_error *err)
{
    /* there is no record, or it belongs to another merge */
    if (!job->e->unfinished || !job->out.checkpoint_bytes)
        return;
    if (rc == 0)
        sto_unfinished__done(job->e);
    else if (job->out.perhaps_named)
        sto_unfinished__leave(job->e);
    else if (rc == TS_ECORRUPT)
        sto_unfinished__drop(job->e, err->text);
    else if (job->out.unreadable)
        sto_unfinished__unreadable(job->e, err->text);
}

/* The level of what a merge writes: a merge that was not asked for one keeps the highest level of its inputs, since
 * somebody has paid for it, unless their days are still written to. */
static unsigned level_of(const struct job *job)
{
    unsigned level = 0;
    int64_t newest_ms = INT64_MIN;
    if (job->pick->why == STO_PICK_LEVEL)
        return job->how->range->level;
    for (size_t i = 0; i < job->pick->n; i++) {
        const struct sto_sst_info *f = sto_sst_info(job->in[i]);
        unsigned of_file = sto_sst_level(job->in[i]);
        level = f->n_points && of_file > level ? of_file : level;
        newest_ms = f->n_points && f->max_ms > newest_ms ? f->max_ms : newest_ms;
    }
    return level && sto_pick_is_over(newest_ms, ts_clock_ms()) ? level : 0;
}

/* Compressing needs memory for each file that is written at the same time. Without it the files get the usual level. */
static void take_memory(struct job *job)
{
    uint64_t n = sto_sst_writer_level_bytes(job->out.level) * job->pick->n_cuts;
    if (ts_budget_take(&job->e->merge_budget, n, NULL) == 0)
        job->level_bytes = n;
    else
        job->out.level = 0;
}

/* Reference only those files of a version that a merge needs, so that it does not keep the others from being
 * removed while it runs. */
static void job_init(struct job *job, struct sto_engine *e, const struct sto_version *v,
                     const struct sto_compact__how *how, const struct sto_pick *pick)
{
    *job = (struct job){.e = e,
                        .pick = pick,
                        .how = how,
                        .in = ts_xcalloc(pick->n, sizeof(struct sto_sst *)),
                        .deletes = ts_xcalloc(v->n_ssts + 1, sizeof(struct sto_sst *)),
                        .cutoff_ms = v->cutoff_ms,
                        .cutoff_gen = v->cutoff_gen,
                        .floors = sto_engine_floors(e),
                        .out = {.e = e,
                                .gen_lo = pick->gen_lo,
                                .gen_hi = pick->gen_hi,
                                .cancel = &job->cancel,
                                .meanwhile = meanwhile,
                                .checkpoint = checkpoint,
                                .arg = job,
                                .bytes_per_s = e->opts.merge_bytes_per_s,
                                .carried_gen = sto_wear_tomb_gen(v)}};
    if (is_resumed(job) ||
        (!e->unfinished && pick->why != STO_PICK_JOIN)) /* joined windows are small and make one run */
        job->out.checkpoint_bytes = e->opts.checkpoint_bytes;
    for (size_t i = 0; i < pick->n; i++) {
        job->in[i] = sto_sst_ref(v->ssts[pick->files[i]]);
        int64_t made_ms = sto_sst_wear(job->in[i])->made_ms;
        if (pick->why == STO_PICK_TOMBS && (i == 0 || made_ms < job->out.made_ms))
            job->out.made_ms = made_ms > 0 ? made_ms : 1;
    }
    job->out.level = level_of(job);
    if (is_resumed(job))
        resume(job);
    take_memory(job);
    for (size_t i = 0; i < v->n_ssts; i++)
        if (sto_sst_info(v->ssts[i])->n_tombs && sto_sst_info(v->ssts[i])->gen_hi > pick->gen_lo &&
            !is_input(job, v->ssts[i]))
            job->deletes[job->n_deletes++] = sto_sst_ref(v->ssts[i]);
}

static void job_release(struct job *job)
{
    sto_output__give_back(job->e);
    ts_budget_give(&job->e->merge_budget, job->level_bytes);
    for (size_t i = 0; i < job->pick->n; i++)
        sto_sst_unref(job->in[i]);
    for (size_t i = 0; i < job->n_deletes; i++)
        sto_sst_unref(job->deletes[i]);
    sto_floors_unref(job->floors);
    ts_free(job->in);
    ts_free(job->deletes);
}

/* *out_broken: the manifest accepts no more edits; any other error concerns these files or the disk. */
static int run(struct job *job, bool *out_broken, struct ts_error *err)
{
    struct sto_engine *e = job->e;
    const struct sto_pick *pick = job->pick;
    uint64_t *gone = ts_xcalloc(pick->n, sizeof *gone);
    int64_t began = ts_clock_mono_ns();
    for (size_t i = 0; i < pick->n; i++)
        gone[i] = sto_sst_info(job->in[i])->file_no;
    int rc = look_at_room(job, err);
    if (rc == 0 && pick->n_cuts > 1 && !sto_handles_leave_free(e->caches.handles, 2 * (pick->n_cuts + 1)))
        rc = ts_error_set(err, TS_EMFILE, "too few descriptors are left to write %zu files", pick->n_cuts);
    if (rc == 0)
        rc = write_rows(job, err);
    if (rc == 0)
        rc = write_tombs(job, err);
    if (rc == 0)
        rc = sto_output__commit(&job->out, gone, pick->n, 0, err);
    if (rc == 0) {
        atomic_fetch_add_explicit(&e->n_compactions, 1, memory_order_relaxed);
        uint64_t n_bytes = pick->bytes > job->counted_bytes ? pick->bytes - job->counted_bytes : 0;
        atomic_fetch_add_explicit(&e->n_compacted_bytes, n_bytes, memory_order_relaxed);
        atomic_fetch_add_explicit(&e->n_compacted_points, job->out.n_points - job->counted_points,
                                  memory_order_relaxed);
        ts_log(TS_LOG_DEBUG, "merged files=%zu into=%zu bytes=%llu ms=%lld", pick->n, job->out.n,
               (unsigned long long)pick->bytes, (long long)((ts_clock_mono_ns() - began) / 1000000));
        sto_compact__count(job->how, pick, &job->out);
    }
    atomic_fetch_add_explicit(&e->n_merge_paused_ms, (uint64_t)(job->out.paused_ns / 1000000),
                              memory_order_relaxed);
    *out_broken = job->out.perhaps_named;
    end_record(job, rc, err);
    sto_output__release(&job->out, rc == 0);
    ts_free(gone);
    return rc;
}

/* --- choosing and running merges --- */

int sto_compact__one(struct sto_engine *e, const struct sto_compact__how *how, struct ts_error *failed,
                     struct ts_error *err)
{
    struct sto_version *v = sto_engine_pin(e);
    struct sto_sst_info *infos = ts_xcalloc(v->n_ssts + 1, sizeof *infos);
    struct sto_pick_wear *wear = ts_xcalloc(v->n_ssts + 1, sizeof *wear);
    struct sto_pick_opts opts = {.now_ms = ts_clock_ms(),
                                 .full = how->full,
                                 .range = how->range,
                                 .wear = wear,
                                 .disk_full = is_disk_full(e)};
    struct sto_window *skip = sto_rests__now(e, &opts.n_skip);
    struct sto_pick pick;
    struct ts_error why = {0};
    struct job job;
    bool broken = false, taken = false;
    int rc = 0;
    opts.skip = skip;
    for (size_t i = 0; i < v->n_ssts; i++)
        infos[i] = *sto_sst_info(v->ssts[i]);
    sto_wear_look(v, wear);
    sto_expire__look(e, v, wear);
    if (opts.disk_full)
        sto_unfinished__drop(e, "the disk is full");
    if (!pick_unfinished(e, v, infos, &opts, &pick))
        sto_ship__pick(e, v, infos, &opts, &pick);
    if (pick.why != STO_PICK_NONE)
        job_init(&job, e, v, how, &pick);
    sto_engine_unpin(e, v);
    if (pick.why != STO_PICK_NONE) {
        taken = sto_output__take(e, job.in, pick.n);
        if (taken)
            rc = run(&job, &broken, &why);
        job_release(&job);
    }
    if (rc < 0 && rc != TS_ECANCELLED && pick.why != STO_PICK_TOMBS && !broken) {
        sto_rests__leave(e, &pick, &why);
        if (!failed->code)
            *failed = why;
        rc = 0;
    } else if (rc < 0 && err) {
        *err = why;
    }
    if (rc == 0 && pick.why != STO_PICK_NONE)
        rc = 1;
    if (rc == 1 && taken && !why.code && pick.why != STO_PICK_TOMBS)
        sto_rests__forgive(e, pick.window);
    ts_free(pick.files);
    ts_free(wear);
    ts_free(skip);
    ts_free(infos);
    return rc;
}

/* Read long indexes that nothing has used yet, so that damage is found, and repaired below, before a query
 * needs them. */
static void check_indexes(struct sto_engine *e)
{
    struct sto_version *v = sto_engine_pin(e);
    for (size_t i = 0; i < v->n_ssts && !atomic_load_explicit(&e->stop_compact, memory_order_relaxed); i++)
        if (!sto_sst_broken(v->ssts[i]) && !sto_sst_has_lost_index(v->ssts[i]))
            (void)sto_sst_check_index(v->ssts[i],
                                      NULL); /* an error is reported again when the index is used */
    sto_engine_unpin(e, v);
}

/* Rewrite damaged files. One that can't be rewritten, because rows are lost or space is missing, takes part
 * in no merge; everything else continues. *failed gets an error that the next pass may not meet. < 0: the
 * manifest accepts no more edits. */
static int remake_all(struct sto_engine *e, struct ts_error *failed, struct ts_error *err)
{
    struct ts_error why = {0};
    bool broken;
    int rc = sto_remake__all(e, &broken, &why);
    if (rc == TS_ECORRUPT)
        ts_log(TS_LOG_ERROR, "a damaged file can't be rewritten, run tsd fsck: %s", why.text);
    else if (rc < 0 && !broken)
        *failed = why;
    if (broken && err)
        *err = why;
    return broken ? rc : 0;
}

int sto_compact__all(struct sto_engine *e, bool full, struct ts_error *err)
{
    const struct sto_compact__how how = {.full = full};
    struct ts_error failed = {0};
    pthread_mutex_lock(&e->compact_mu);
    if (full)
        sto_rests__end(e);                /* a full compaction tries these windows too */
    int rc = sto_retention__drop(e, err); /* first, because merges may take long and may need the space */
    if (rc == 0)
        check_indexes(e);
    rc = rc ? rc : remake_all(e, &failed, err);
    while (rc == 0 && !atomic_load_explicit(&e->stop_compact, memory_order_relaxed)) {
        rc = sto_compact__one(e, &how, &failed, err);
        rc = rc ? rc : sto_day_files__make_one(e, err);
        rc = rc ? rc : sto_total_files__make_one(e, err);
        if (rc != 1)
            break;
        rc = sto_retention__drop_again(e, err);
    }
    pthread_mutex_unlock(&e->compact_mu);
    if (rc == 0 && failed.code) {
        rc = failed.code;
        if (err)
            *err = failed;
    }
    return rc;
}

int sto_engine_pump_merges(struct sto_engine *e, struct ts_error *err)
{
    if (e->owner.tidy)
        e->owner.tidy(e->owner.arg);
    return sto_compact__all(e, false, err);
}

int sto_engine_compact(struct sto_engine *e, struct ts_error *err)
{
    TS_TRY(sto_engine_flush(e, err));
    return sto_compact__all(e, true, err);
}
