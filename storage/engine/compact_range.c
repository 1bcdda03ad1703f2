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
#include "storage/codecs/codec.h"
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

/* What of the range stays as it is. */
static void count_rest(struct sto_engine *e, const struct sto_compact_spec *spec,
                       struct sto_compact_result *out)
{
    struct sto_version *v = sto_engine_pin(e);
    int64_t now_ms = ts_clock_ms();
    for (size_t i = 0; i < v->n_ssts; i++) {
        const struct sto_sst_info *f = sto_sst_info(v->ssts[i]);
        if (!f->n_points || f->min_ms > spec->to_ms || f->max_ms < spec->from_ms)
            continue;
        bool same = sto_sst_level(v->ssts[i]) == spec->level;
        out->n_same += same;
        out->n_same_bytes += same ? f->t_bytes + f->s_bytes : 0;
        out->n_recent += !same && !sto_pick_is_over(f->max_ms, now_ms);
    }
    sto_engine_unpin(e, v);
}

/* One merge that is due by the rules, and one of the range: 1 there may be more of the range, 0, < 0. */
static int step(struct sto_engine *e, const struct sto_compact__how *how, struct ts_error *failed,
                struct ts_error *err)
{
    const struct sto_compact__how due = {.spec = how->spec};
    if (sto_compact__is_stopped(how) || atomic_load_explicit(&e->stop_compact, memory_order_relaxed))
        return TS_ECANCELLED;
    pthread_mutex_lock(&e->compact_mu);
    int rc = sto_retention__drop_again(e, err);
    rc = rc ? rc : sto_compact__one(e, &due, failed, err);
    rc = rc < 0 ? rc : sto_compact__one(e, how, failed, err);
    pthread_mutex_unlock(&e->compact_mu);
    return rc;
}

int sto_engine_compact_range(struct sto_engine *e, const struct sto_compact_spec *spec,
                             struct sto_compact_result *out, struct ts_error *err)
{
    const struct sto_pick_range range = {spec->from_ms, spec->to_ms, spec->level};
    const struct sto_compact__how how = {.range = &range, .spec = spec, .result = out};
    struct ts_error failed = {0};
    *out = (struct sto_compact_result){0};
    TS_TRY(check(e, spec, err));
    TS_TRY(sto_engine_flush(e, err));
    pthread_mutex_lock(&e->compact_mu);
    sto_rests__end(e); /* windows that are left alone are tried too */
    pthread_mutex_unlock(&e->compact_mu);
    count_rest(e, spec, out);
    int rc;
    while ((rc = step(e, &how, &failed, err)) == 1)
        ;
    sto_compact__wake(e, false); /* day summaries and kept totals of the new files */
    if (rc == TS_ECANCELLED)
        return ts_error_set(err, rc,
                            "compressing was interrupted; files that were replaced stay as they are");
    if (rc == 0 && failed.code) {
        rc = failed.code;
        if (err)
            *err = failed;
    }
    return rc;
}
