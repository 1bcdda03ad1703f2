/*
 * total_files.c - see total_files.h.
 */
#include "storage/engine/total_files.h"

#include "base/log.h"
#include "storage/engine/day_files.h"
#include "storage/engine/files/sst_format.h"
#include "storage/engine/files/total.h"
#include "storage/engine/output.h"

#include <inttypes.h>

#define BYTES_MIN (1u << 20) /* free space for a file of a total, beside what the reserve needs */

size_t sto_engine_declared(struct sto_engine *e, struct sto_total_ids *out)
{
    return e->owner.totals ? e->owner.totals(e->owner.arg, out) : 0;
}

void sto_total_files__open(struct sto_engine *e)
{
    struct sto_total_ids ids[STO_TOTALS_MAX];
    size_t n = sto_engine_declared(e, ids);
    for (size_t i = 0; i < e->version->n_ssts; i++)
        for (size_t k = 0; k < n && !sto_sst_broken(e->version->ssts[i]); k++)
            (void)sto_sst_open_total(e->version->ssts[i], &ids[k]);
}

bool sto_total_files__is_declared(const struct sto_total_ids *ids, size_t n, const char *name)
{
    size_t i = 0;
    while (i < n && ids[i].no != sto_sst__total_of(name))
        i++;
    return i < n;
}

/* Has the file rows, and should it have totals now? */
static bool is_due(const struct sto_engine *e, const struct sto_sst *sst, int64_t now_ms)
{
    const struct sto_sst_info *info = sto_sst_info(sst);
    return info->n_points && sto_day_files__is_old(e, info, now_ms) && !sto_sst_broken(sst) &&
           !sto_sst_has_lost_index(sst);
}

/* Make a total of a file, or open the one that is there: 1; 0 = not before there is space; TS_ECANCELLED. */
static int make(struct sto_engine *e, struct sto_sst *sst, const struct sto_total_ids *ids,
                struct ts_error *err)
{
    static struct ts_log_limit limit;
    struct ts_error why = {0};
    uint64_t room, no = sto_sst_info(sst)->file_no;
    if (sto_sst_open_total(sst, ids))
        return 1;
    int rc = sto_output__has_room(e, BYTES_MIN, &room) ? 0 : TS_ENOSPC;
    if (rc == 0)
        rc = sto_total_make(sst, ids, e->owner.tags, e->owner.arg, &e->merge_budget, &e->stop_compact, &why);
    if (rc == TS_ENOSPC) {
        ts_log_limited(&limit, TS_LOG_WARN,
                       "kept total %" PRIu32 " of file %08" PRIx64 " waits for space free_bytes=%" PRIu64,
                       ids->no, no, room);
        return 0;
    }
    if (rc == TS_ECANCELLED) {
        if (err)
            *err = why;
        return rc;
    }
    if (rc < 0) {
        ts_log(TS_LOG_WARN, "kept total %" PRIu32 " of file %08" PRIx64 " is left out: %s", ids->no, no,
               why.text);
        sto_sst_total_failed(sst, ids);
    }
    return 1;
}

int sto_total_files__make_one(struct sto_engine *e, struct ts_error *err)
{
    struct sto_total_ids ids[STO_TOTALS_MAX];
    size_t n = sto_engine_declared(e, ids);
    struct sto_version *v = sto_engine_pin(e);
    int64_t now_ms = ts_clock_ms();
    int rc = 0;
    for (size_t i = 0; i < v->n_ssts; i++)
        sto_sst_drop_totals(v->ssts[i], ids, n);
    for (size_t i = 0; rc == 0 && i < v->n_ssts; i++) {
        if (!is_due(e, v->ssts[i], now_ms))
            continue;
        size_t k = 0;
        while (k < n && sto_sst_total_is_known(v->ssts[i], &ids[k]))
            k++;
        if (k < n)
            rc = make(e, v->ssts[i], &ids[k], err);
    }
    sto_engine_unpin(e, v);
    return rc;
}

static void add_state(const struct sto_engine *e, struct sto_sst *sst, const struct sto_total_ids *ids,
                      int64_t now_ms, struct sto_total_state *out)
{
    const struct sto_total_file *t = sto_sst_total(sst, ids);
    if (!t) {
        out->n_waiting += is_due(e, sst, now_ms) && !sto_sst_total_is_known(sst, ids);
        return;
    }
    if (t->none)
        return;
    out->n_files += !t->left_out;
    out->n_without += t->left_out;
    out->n_groups = t->n_groups > out->n_groups ? t->n_groups : out->n_groups;
    out->n_bytes += t->bytes;
}

void sto_engine_totals(struct sto_engine *e, const struct sto_total_ids *ids, size_t n,
                       struct sto_total_state *out)
{
    struct sto_version *v = sto_engine_pin(e);
    int64_t now_ms = ts_clock_ms();
    for (size_t k = 0; k < n; k++) {
        out[k] = (struct sto_total_state){0};
        for (size_t i = 0; i < v->n_ssts; i++)
            add_state(e, v->ssts[i], &ids[k], now_ms, &out[k]);
    }
    sto_engine_unpin(e, v);
}
