/*
 * ship_drop.c - removes files whose points were all shipped.
 *
 * A file stays if older points, which it overwrites, would reappear, or if it has tombstones, which merges
 * drop when they delete nothing more. Inputs of a running merge stay too, since removing files does not wait
 * for it.
 *
 * Threads    a caller that waits (remove_mu)
 */
#include "storage/engine/output.h"

/* Was everything in the file shipped? */
static bool is_shipped(const struct sto_version *v, struct sto_sst *sst, int64_t before_ms)
{
    const struct sto_sst_info *f = sto_sst_info(sst);
    return f->n_points && !f->n_tombs && f->max_ms < before_ms && !sto_sst_broken(sst) &&
           f->gen_hi <= sto_mark_lowest(sto_marks_list(v->marks), sto_hour(f->min_ms), sto_hour(f->max_ms));
}

/* May the file overwrite points of a file that stays? The two overlap in time, and the other one may be
 * older. */
static bool hides(const struct sto_version *v, const bool *goes, size_t at)
{
    const struct sto_sst_info *f = sto_sst_info(v->ssts[at]);
    for (size_t i = 0; i < v->n_ssts; i++) {
        const struct sto_sst_info *other = sto_sst_info(v->ssts[i]);
        if (!goes[i] && other->n_points && other->gen_lo <= f->gen_hi && other->min_ms <= f->max_ms &&
            other->max_ms >= f->min_ms)
            return true;
    }
    return false;
}

int sto_engine_drop_shipped(struct sto_engine *e, int64_t before_ms, struct ts_error *err)
{
    struct sto_output none = {.e = e};
    size_t n = 0;
    int rc = 0;
    if (e->opts.read_only)
        return ts_error_set(err, TS_EINVAL, "%s is opened for reading only", e->dir);
    pthread_mutex_lock(&e->remove_mu);
    struct sto_version *v = sto_engine_pin(e);
    bool *goes = ts_xcalloc(v->n_ssts + 1, sizeof *goes), changed = true;
    uint64_t *gone = ts_xcalloc(v->n_ssts + 1, sizeof *gone);
    for (size_t i = 0; i < v->n_ssts; i++)
        goes[i] = is_shipped(v, v->ssts[i], before_ms) &&
                  !sto_output__is_taken(e, sto_sst_info(v->ssts[i])->file_no);
    while (changed) {
        changed = false;
        for (size_t i = 0; i < v->n_ssts; i++)
            if (goes[i] && hides(v, goes, i)) {
                goes[i] = false;
                changed = true;
            }
    }
    for (size_t i = 0; i < v->n_ssts; i++)
        if (goes[i])
            gone[n++] = sto_sst_info(v->ssts[i])->file_no;
    if (n)
        rc = sto_output__commit(&none, gone, n, 0, err);
    pthread_mutex_unlock(&e->remove_mu);
    ts_free(goes);
    ts_free(gone);
    sto_engine_unpin(e, v);
    return rc;
}
