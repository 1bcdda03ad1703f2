/*
 * compact_range.c - compresses the files of a range of time with another level of zstd.
 *
 * Each run is written by itself, through the same steps as in any other merge, so it survives a crash, and an interrupted one continues.
 * After each of them comes a merge that is due by the rules, and compact_mu is released: compressing a large store takes hours.
 *
 * Threads    a caller that waits
 */
#include "storage/engine/compact_range.h"

#include "base/time.h"
#include "storage/engine/files/sst_format.h"
#include "storage/engine/rests.h"
#include "storage/engine/retention.h"
#include "storage/readonly.h"

_Static_assert(STO_LEVEL_MOST <= STO_SST_LEVEL_MOST, "a footer holds every level that may be set");

bool sto_compact__is_stopped(const struct sto_compact__how *how)
{
    return how->spec && how->spec->stop && how->spec->stop(how->spec->arg);
}

void sto_compact__count(const struct sto_compact__how *how, const struct sto_pick *pick,
                        const struct sto_output *out)
{
    struct sto_compact_result *r = how->result;
    if (!r || pick->why != STO_PICK_LEVEL)
        return;
    r->n_files += pick->n;
    r->n_bytes += pick->bytes;
    atomic_store_explicit(how->done_bytes, r->n_bytes, memory_order_relaxed);
    r->n_files_after += out->n;
    for (size_t i = 0; i < out->n; i++)
        r->n_bytes_after += out->infos[i].t_bytes + out->infos[i].s_bytes;
}

static int check(const struct sto_engine *e, const struct sto_compact_spec *spec, struct ts_error *err)
{
    if (e->opts.read_only)
        return sto_read_only_refuse(&e->owner.read_only_why, err);
    if (spec->level < STO_LEVEL_LEAST || spec->level > STO_LEVEL_MOST)
        return ts_error_set(err, TS_EINVAL, "level %u: levels from %u to %u can be set", spec->level,
                            STO_LEVEL_LEAST, STO_LEVEL_MOST);
    if (spec->from_ms > spec->to_ms)
        return ts_error_set(err, TS_EINVAL, "the range of time ends before it begins");
    uint64_t need = sto_sst_writer_level_bytes(spec->level), most = ts_budget_most(&e->merge_budget);
    return need <= most
               ? 0
               : ts_error_set(
                     err, TS_ELIMIT,
                     "level %u needs %llu bytes of memory and compaction_memory_bytes allows %llu; raise "
                     "it, or choose a lower level",
                     spec->level, (unsigned long long)need, (unsigned long long)most);
}

/* Which files of the range stay as they are; of how many bytes the level could still change. */
static uint64_t count_rest(struct sto_engine *e, const struct sto_compact_spec *spec,
                           struct sto_compact_result *out)
{
    struct sto_version *v = sto_engine_pin(e);
    int64_t now_ms = ts_clock_ms();
    uint64_t n_left = 0;
    *out = (struct sto_compact_result){0};
    for (size_t i = 0; i < v->n_ssts; i++) {
        const struct sto_sst_info *f = sto_sst_info(v->ssts[i]);
        if (!f->n_points || f->min_ms > spec->to_ms || f->max_ms < spec->from_ms)
            continue;
        bool same = sto_sst_level(v->ssts[i]) == spec->level, over = sto_pick_is_over(f->max_ms, now_ms);
        out->n_same += same;
        out->n_same_bytes += same ? f->t_bytes + f->s_bytes : 0;
        out->n_recent += !same && !over;
        n_left += !same && over ? f->t_bytes + f->s_bytes : 0;
    }
    sto_engine_unpin(e, v);
    return n_left;
}

/* One merge that is due by the rules, and one of the range: 1 there may be more of the range, 0, < 0. *due_failed: as *failed, of
 * the former. */
static int step(struct sto_engine *e, const struct sto_compact__how *how, struct ts_error *due_failed,
                struct ts_error *failed, struct ts_error *err)
{
    const struct sto_compact__how due = {.spec = how->spec};
    if (sto_compact__is_stopped(how) || atomic_load_explicit(&e->stop_compact, memory_order_relaxed))
        return TS_ECANCELLED;
    pthread_mutex_lock(&e->compact_mu);
    int rc = sto_retention__drop_again(e, err);
    rc = rc ? rc : sto_compact__one(e, &due, due_failed, err);
    rc = rc < 0 ? rc : sto_compact__one(e, how, failed, err);
    pthread_mutex_unlock(&e->compact_mu);
    return rc;
}

static int run(struct sto_engine *e, const struct sto_compact_spec *spec, struct sto_compact_result *out,
               struct ts_error *err)
{
    const struct sto_pick_range range = {spec->from_ms, spec->to_ms, spec->level};
    const struct sto_compact__how how = {
        .range = &range, .spec = spec, .result = out, .done_bytes = &e->range_done_bytes};
    struct ts_error failed = {0}, due_failed = {0};
    struct sto_compact_result rest;
    TS_TRY(sto_engine_flush(e, err));
    pthread_mutex_lock(&e->compact_mu);
    sto_rests__end(e); /* windows that are left alone are tried too */
    pthread_mutex_unlock(&e->compact_mu);
    atomic_store_explicit(&e->range_all_bytes, count_rest(e, spec, out), memory_order_relaxed);
    int rc;
    while ((rc = step(e, &how, &due_failed, &failed, err)) == 1)
        ;
    sto_compact__wake(e, false); /* day summaries and kept totals of the new files */
    if (rc == TS_ECANCELLED)
        return ts_error_set(err, rc,
                            "compressing was interrupted; files that were replaced stay as they are");
    /* a merge by the rules that failed may have kept files of the range from being compressed, or be of another time */
    if (!failed.code && due_failed.code && count_rest(e, spec, &rest))
        failed = due_failed;
    if (rc == 0 && failed.code) {
        rc = failed.code;
        if (err)
            *err = failed;
    }
    return rc;
}

int sto_engine_compact_range(struct sto_engine *e, const struct sto_compact_spec *spec,
                             struct sto_compact_result *out, struct ts_error *err)
{
    *out = (struct sto_compact_result){0};
    TS_TRY(check(e, spec, err));
    /* two requests for different levels would write the same files again and again */
    if (atomic_exchange_explicit(&e->compacts_range, true, memory_order_acquire)) /* partner: below */
        return ts_error_set(
            err, TS_EBUSY, "another request compresses files (tsd compact --level): wait until it has ended");
    int rc = run(e, spec, out, err);
    atomic_store_explicit(&e->range_all_bytes, 0, memory_order_relaxed);
    atomic_store_explicit(&e->range_done_bytes, 0, memory_order_relaxed);
    atomic_store_explicit(&e->compacts_range, false, memory_order_release); /* partner: above */
    return rc;
}
