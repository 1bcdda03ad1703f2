/*
 * aged_files.c - see aged_files.h.
 */
#include "storage/engine/aged_files.h"

#include "storage/engine/engine_int.h"
#include "storage/engine/output.h"
#include "storage/engine/reserve.h"

struct sto_aged_files {
    struct sto_engine *e;
    uint64_t gen;        /* of the rows */
    struct sto_mem *mem; /* rows that are not written yet; owned */
};

/* rows are written when they take a quarter of the account, within these bounds */
#define WRITE_MIN_BYTES ((uint64_t)1 << 20)
#define WRITE_MAX_BYTES ((uint64_t)16 << 20)

static struct sto_mem *new_mem(struct sto_engine *e, uint64_t gen)
{
    struct sto_mem *mem = sto_mem_new(gen, 0, (struct sto_shard_spread){e->n_groups, 1, 1});
    sto_mem_count_in(mem, &e->merge_budget);
    return mem;
}

/* Let the next generation be flushed without ever having been written to. flush_mu held. */
static int reserve(struct sto_engine *e, uint64_t *out_gen, struct ts_error *err)
{
    uint64_t gen = atomic_load_explicit(&e->gen, memory_order_relaxed) + 1;
    if (e->reserved_gen && gen + 1 >= e->reserved_gen)
        return ts_error_set(err, TS_EBUSY, "a hand-over of bulk files leaves no generation at present");
    TS_TRY(sto_flush__below(e, gen, err));
    struct sto_output none = {.e = e};
    TS_TRY(
        sto_output__commit(&none, NULL, 0, gen,
                           err)); /* a start takes files of it that no manifest names for rests of a crash */
    *out_gen = gen;
    return 0;
}

/* Wait until batches that were open have come. What waits for space on the disk, or for memory, was not acknowledged and stays behind: removing points makes room for it. */
static int settle(struct sto_engine *e, struct ts_error *err)
{
    struct ts_error why = {0};
    int rc = sto_engine_turned(e, &why);
    if (rc == 0 || sto_engine__may_wait(rc))
        return 0;
    if (err)
        *err = why;
    return rc;
}

int sto_aged_files_begin(struct sto_engine *e, struct sto_aged_files **out, struct ts_error *err)
{
    uint64_t gen = 0;
    *out = NULL;
    TS_TRY(settle(e, err));
    TS_TRY(sto_flush__all(e, err)); /* what failed to be flushed before comes first */
    pthread_mutex_lock(&e->flush_mu);
    int rc = reserve(e, &gen, err);
    pthread_mutex_unlock(&e->flush_mu);
    if (rc < 0)
        return rc;
    struct sto_aged_files *a = ts_xcalloc(1, sizeof *a);
    *a = (struct sto_aged_files){.e = e, .gen = gen, .mem = new_mem(e, gen)};
    *out = a;
    return 0;
}

void sto_aged_files_put(struct sto_aged_files *a, const struct sto_point *points, size_t n)
{
    sto_mem_apply(a->mem, points, n);
}

struct ts_budget *sto_aged_files_memory(struct sto_engine *e)
{
    return &e->merge_budget;
}

bool sto_aged_files_full(const struct sto_aged_files *a)
{
    uint64_t most = ts_budget_most(&a->e->merge_budget) / 4;
    most = most < WRITE_MIN_BYTES ? WRITE_MIN_BYTES : most > WRITE_MAX_BYTES ? WRITE_MAX_BYTES : most;
    return sto_mem_bytes(a->mem) >= most;
}

/* --- writing --- */

static int write_cuts(const struct sto_aged_files *a, const struct sto_cut *cuts, size_t n,
                      struct sto_output *out, struct ts_error *err)
{
    struct sto_mem *mems[] = {a->mem};
    struct sto_scan_spec spec = {.from_ms = STO_MIN_TS_MS,
                                 .to_ms = STO_MAX_TS_MS,
                                 .memory = &a->e->merge_budget,
                                 .must_go_on = true,
                                 .cut_hour_lo = cuts[0].hour_lo,
                                 .cut_hour_hi = cuts[n - 1].hour_hi};
    struct sto_merge *merge = NULL;
    TS_TRY(sto_merge_new(&spec, NULL, 0, mems, 1, &merge, err));
    return sto_output__rows(out, merge, cuts, n, err);
}

static int write_files(const struct sto_aged_files *a, struct sto_output *out, struct ts_error *err)
{
    struct sto_day_counts days = {0};
    struct sto_cut *cuts;
    uint64_t pos = 0;
    int rc = 0;
    for (const struct sto_mem_row *r; (r = sto_mem_walk(a->mem, &pos));)
        for (; r; r = sto_mem_row_next(r))
            sto_day_counts_add(&days, sto_mem_row_hour(r), sto_mem_row_n(r));
    size_t n_cuts = sto_day_counts_cut(&days, a->e->opts.big_day_points, &cuts);
    for (size_t i = 0, n; rc == 0 && i < n_cuts; i += n) {
        n = n_cuts - i < STO_OUTPUT_CUTS ? n_cuts - i : STO_OUTPUT_CUTS;
        rc = write_cuts(a, cuts + i, n, out, err);
    }
    ts_free(days.days);
    ts_free(cuts);
    return rc;
}

static int write_all(const struct sto_aged_files *a, struct ts_error *err)
{
    struct sto_engine *e = a->e;
    struct sto_output out = {.e = e, .gen_lo = a->gen, .gen_hi = a->gen, .cancel = &e->stop_compact};
    int rc = e->owner.sync_names ? e->owner.sync_names(e->owner.arg, err) : 0;
    sto_engine__fatal(e, rc, err);
    if (rc == 0)
        rc = write_files(a, &out, err);
    if (rc == 0)
        rc = sto_output__commit(&out, NULL, 0, 0, err);
    sto_output__release(&out, rc == 0);
    return rc;
}

int sto_aged_files_write(struct sto_aged_files *a, struct ts_error *err)
{
    if (!sto_mem_points(a->mem))
        return 0;
    int rc = write_all(a, err);
    if (rc == TS_ENOSPC && sto_reserve__use(a->e, err)) /* points that are removed afterwards free more */
        rc = write_all(a, err);
    if (rc == 0) {
        sto_mem_unref(a->mem);
        a->mem = new_mem(a->e, a->gen);
    }
    return rc;
}

/* --- deletes --- */

void sto_aged_files_deletes(const struct sto_aged_files *a, void (*each)(void *arg, const struct sto_tomb *t),
                            void *arg)
{
    struct sto_version *v = sto_engine_pin(a->e);
    for (size_t i = 0, n; i < v->n_mems; i++) {
        const struct sto_tomb *tombs = sto_mem_tombs(v->mems[i], &n);
        for (size_t k = 0; k < n && sto_mem_gen(v->mems[i]) > a->gen; k++)
            each(arg, &tombs[k]);
    }
    for (size_t i = 0, n; i < v->n_ssts; i++) {
        const struct sto_tomb *tombs = sto_sst_tombs(v->ssts[i], &n);
        for (size_t k = 0; k < n; k++)
            if (tombs[k].gen > a->gen)
                each(arg, &tombs[k]);
    }
    sto_engine_unpin(a->e, v);
}

static bool has_file(const struct sto_version *v, const struct sto_sst *sst)
{
    for (size_t i = 0; i < v->n_ssts; i++)
        if (v->ssts[i] == sst)
            return true;
    return false;
}

int sto_aged_files_newer(const struct sto_aged_files *a, const struct sto_version *v,
                         const roaring_bitmap_t *series, int64_t before_ms, roaring_bitmap_t *out,
                         struct ts_error *err)
{
    struct sto_version *now = sto_engine_pin(a->e);
    int rc = 0;
    for (size_t i = 0; i < now->n_ssts && rc == 0; i++) {
        const struct sto_sst_info *f = sto_sst_info(now->ssts[i]);
        if (f->n_points && !sto_sst_broken(now->ssts[i]) && f->min_ms < before_ms && f->gen_hi != a->gen &&
            !has_file(v, now->ssts[i]))
            rc = sto_sst_series_common(sto_sst_series(now->ssts[i]), series, out, err);
    }
    sto_engine_unpin(a->e, now);
    return rc;
}

bool sto_aged_files_stopped(const struct sto_aged_files *a)
{
    return atomic_load_explicit(&a->e->stop_compact, memory_order_relaxed);
}

void sto_aged_files_end(struct sto_aged_files *a)
{
    if (!a)
        return;
    sto_mem_unref(a->mem);
    ts_free(a);
}
