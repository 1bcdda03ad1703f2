/*
 * compact.c - several sorted files become fewer; old files are dropped by retention.
 *
 * A merge reads its inputs through one pinned version, writes new files under new numbers, and swaps them in
 * with one manifest edit; readers that hold the old version go on with the old files, which are unlinked when
 * the last one lets go.
 *
 * Threads    the compact thread, or a caller that waits; one at a time (compact_mu). Runs at low priority
 *            (nice 10).
 * Not here   which files (partition.c), what the merge of a row is (merge_cells.c), naming files (output.c)
 */
#include "base/log.h"
#include "base/time.h"
#include "storage/engine/output.h"
#include "storage/engine/remake.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

uint64_t sto_engine__file_no(struct sto_engine *e)
{
    pthread_mutex_lock(&e->files_mu);
    uint64_t no = e->next_file_no++;
    pthread_mutex_unlock(&e->files_mu);
    return no;
}

/* One merge at work. */
struct job {
    struct sto_engine *e;
    const struct sto_pick *pick;
    struct sto_sst **in;   /* inputs, borrowed from the version */
    struct sto_output out; /* files written */
};

static struct sto_scan_spec whole(const struct job *job, const struct sto_cut *cut)
{
    return (struct sto_scan_spec){.from_ms = STO_MIN_TS_MS,
                                  .to_ms = STO_MAX_TS_MS,
                                  .final = job->pick->final,
                                  .cut_hour_lo = cut->hour_lo,
                                  .cut_hour_hi = cut->hour_hi};
}

/* Inputs of one day need no counting; others are read once to see which days are big. */
static int plan(struct job *job, struct sto_cut **out_cuts, size_t *out_n, struct ts_error *err)
{
    const struct sto_cut all = {INT32_MIN, INT32_MAX};
    int64_t lo = INT64_MAX, hi = INT64_MIN;
    for (size_t i = 0; i < job->pick->n; i++) {
        const struct sto_sst_info *f = sto_sst_info(job->in[i]);
        if (!f->n_points)
            continue;
        lo = f->min_ms < lo ? f->min_ms : lo;
        hi = f->max_ms > hi ? f->max_ms : hi;
    }
    if (lo > hi || job->pick->one || ts_floor_div(lo, TS_DAY_MS) == ts_floor_div(hi, TS_DAY_MS)) {
        *out_cuts = ts_xcalloc(1, sizeof all);
        (*out_cuts)[0] = all;
        *out_n = 1;
        return 0;
    }
    struct sto_scan_spec spec = whole(job, &all);
    struct sto_merge *merge = NULL;
    struct sto_day_counts days = {0};
    struct sto_row row;
    int rc = sto_merge_new(&spec, job->in, job->pick->n, NULL, 0, &merge, err);
    while (rc >= 0 && (rc = sto_merge_next(merge, &row, err)) == 1) {
        if (atomic_load_explicit(&job->e->stop_compact, memory_order_relaxed))
            rc = ts_error_set(err, TS_ECANCELLED, "the store is closing");
        sto_day_counts_add(&days, row.key.hour, row.cells->n);
    }
    sto_merge_free(merge);
    if (rc == 0)
        *out_n = sto_day_counts_cut(&days, job->e->opts.big_day_points, out_cuts);
    ts_free(days.days);
    return rc;
}

static int write_cut(struct job *job, const struct sto_cut *cut, struct ts_error *err)
{
    struct sto_scan_spec spec = whole(job, cut);
    struct sto_merge *merge = NULL;
    TS_TRY(sto_merge_new(&spec, job->in, job->pick->n, NULL, 0, &merge, err));
    return sto_output__rows(&job->out, merge, err);
}

static int write_files(struct job *job, struct ts_error *err)
{
    struct sto_cut *cuts = NULL;
    size_t n_cuts = 0;
    int rc = plan(job, &cuts, &n_cuts, err);
    for (size_t i = 0; rc == 0 && i < n_cuts; i++)
        rc = write_cut(job, &cuts[i], err);
    /* Tombstones stay while something older may be under them. */
    for (size_t i = 0; !job->pick->final && rc == 0 && i < job->pick->n; i++) {
        size_t n;
        const struct sto_tomb *tombs = sto_sst_tombs(job->in[i], &n);
        rc = sto_output__tombs(&job->out, tombs, n, err);
    }
    ts_free(cuts);
    return rc;
}

static int run(struct sto_engine *e, struct sto_version *v, const struct sto_pick *pick, struct ts_error *err)
{
    struct job job = {.e = e,
                      .pick = pick,
                      .in = ts_xcalloc(pick->n, sizeof(struct sto_sst *)),
                      .out = {.e = e, .gen_lo = UINT64_MAX, .cancel = &e->stop_compact}};
    uint64_t *gone = ts_xcalloc(pick->n, sizeof *gone), bytes_in = 0;
    int64_t began = ts_clock_mono_ns();
    for (size_t i = 0; i < pick->n; i++) {
        job.in[i] = v->ssts[pick->files[i]];
        const struct sto_sst_info *f = sto_sst_info(job.in[i]);
        gone[i] = f->file_no;
        job.out.gen_lo = f->gen_lo < job.out.gen_lo ? f->gen_lo : job.out.gen_lo;
        job.out.gen_hi = f->gen_hi > job.out.gen_hi ? f->gen_hi : job.out.gen_hi;
        bytes_in += f->t_bytes + f->s_bytes;
    }
    int rc = write_files(&job, err);
    if (rc == 0)
        rc = sto_output__commit(&job.out, gone, pick->n, 0, err);
    if (rc == 0) {
        atomic_fetch_add_explicit(&e->n_compactions, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&e->n_compacted_bytes, bytes_in, memory_order_relaxed);
        ts_log(TS_LOG_DEBUG, "merged files=%zu into=%zu bytes=%llu ms=%lld", pick->n, job.out.n,
               (unsigned long long)bytes_in, (long long)((ts_clock_mono_ns() - began) / 1000000));
    }
    sto_output__release(&job.out, rc == 0);
    ts_free(job.in);
    ts_free(gone);
    return rc;
}

/* --- retention --- */

static int drop_old(struct sto_engine *e, struct ts_error *err)
{
    if (!e->opts.retention_ms)
        return 0;
    int64_t before = ts_clock_ms() - e->opts.retention_ms;
    struct sto_version *v = sto_engine_pin(e);
    struct sto_sst_info *infos = ts_xcalloc(v->n_ssts + 1, sizeof *infos);
    bool *expired = ts_xcalloc(v->n_ssts + 1, sizeof *expired);
    uint64_t *gone = ts_xcalloc(v->n_ssts + 1, sizeof *gone);
    size_t n = 0;
    int rc = 0;
    for (size_t i = 0; i < v->n_ssts; i++)
        infos[i] = *sto_sst_info(v->ssts[i]);
    sto_pick_expired(infos, v->n_ssts, before, expired);
    for (size_t i = 0; i < v->n_ssts; i++)
        if (expired[i])
            gone[n++] = infos[i].file_no;
    if (n) {
        struct sto_output none = {.e = e};
        rc = sto_output__commit(&none, gone, n, 0, err);
        if (rc == 0)
            ts_log(TS_LOG_INFO, "retention dropped files=%zu", n);
    }
    ts_free(gone);
    ts_free(expired);
    ts_free(infos);
    sto_engine_unpin(e, v);
    return rc;
}

/* --- one after the other --- */

/* 1 a merge was done, 0 nothing to do, < 0 error. */
static int one_merge(struct sto_engine *e, bool full, struct ts_error *err)
{
    struct sto_version *v = sto_engine_pin(e);
    struct sto_sst_info *infos = ts_xcalloc(v->n_ssts + 1, sizeof *infos);
    struct sto_pick pick;
    for (size_t i = 0; i < v->n_ssts; i++)
        infos[i] = *sto_sst_info(v->ssts[i]);
    sto_pick_next(infos, v->n_ssts, ts_clock_ms(), full, &pick);
    int rc = 0;
    if (pick.why != STO_PICK_NONE) {
        rc = run(e, v, &pick, err);
        rc = rc == 0 ? 1 : rc;
    }
    ts_free(pick.files);
    ts_free(infos);
    sto_engine_unpin(e, v);
    return rc;
}

static int merge_all(struct sto_engine *e, bool full, struct ts_error *err)
{
    pthread_mutex_lock(&e->compact_mu);
    int rc = sto_remake__all(e, err);
    if (rc == 0)
        rc = drop_old(e, err);
    while (rc == 0 && !atomic_load_explicit(&e->stop_compact, memory_order_relaxed)) {
        rc = one_merge(e, full, err);
        if (rc != 1)
            break;
        rc = 0;
    }
    pthread_mutex_unlock(&e->compact_mu);
    return rc;
}

int sto_engine_pump_merges(struct sto_engine *e, struct ts_error *err)
{
    if (e->opts.tidy)
        e->opts.tidy(e->opts.arg);
    return merge_all(e, false, err);
}

int sto_engine_compact(struct sto_engine *e, struct ts_error *err)
{
    TS_TRY(sto_engine_flush(e, err));
    return merge_all(e, true, err);
}

void sto_compact__wake(struct sto_engine *e, bool full)
{
    pthread_mutex_lock(&e->bg_mu);
    e->compact_wanted = true;
    e->full_wanted |= full;
    pthread_cond_signal(&e->compact_cond);
    pthread_mutex_unlock(&e->bg_mu);
}

void sto_engine_compact_soon(struct sto_engine *e)
{
    sto_compact__wake(e, true);
}

void *sto_compact__thread(void *arg)
{
    struct sto_engine *e = arg;
    static struct ts_log_limit limit;
    /* Merging yields to ingest and queries; the flush thread does not, memory depends on it. */
    setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 10);
    pthread_mutex_lock(&e->bg_mu);
    while (!e->bg_stop) {
        if (!e->compact_wanted) {
            struct timespec until;
            clock_gettime(CLOCK_MONOTONIC, &until); /* as the condition does: see sto_engine_open */
            until.tv_sec += 60;                     /* retention and joins look again each minute */
            pthread_cond_timedwait(&e->compact_cond, &e->bg_mu, &until);
        }
        bool full = e->full_wanted;
        e->compact_wanted = e->full_wanted = false;
        if (e->bg_stop)
            break;
        pthread_mutex_unlock(&e->bg_mu);
        struct ts_error err = {0};
        if (e->opts.tidy)
            e->opts.tidy(e->opts.arg);
        int rc = full ? sto_engine_flush(e, &err) : 0;
        if (rc == 0)
            rc = merge_all(e, full, &err);
        if (rc < 0 && rc != TS_ECANCELLED)
            ts_log_limited(&limit, TS_LOG_ERROR, "merging files failed, will be tried again: %s", err.text);
        pthread_mutex_lock(&e->bg_mu);
    }
    pthread_mutex_unlock(&e->bg_mu);
    atomic_fetch_sub_explicit(&e->n_bg, 1, memory_order_release); /* pairs with stop_background */
    return NULL;
}
