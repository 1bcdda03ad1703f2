/*
 * ship_drop.c - removes files whose points were all shipped.
 *
 * What was shipped stays here for some time, since the remote store may lose what it has just acknowledged. So a file goes only if its
 * points are old enough and the marks of an earlier time (mark_history.h) cover it: points filled in for old times stay as long as others.
 *
 * While the wall clock is not trusted, because it has jumped (retention.h), nothing is removed.
 *
 * Versions (storage/versions.h), which are never shipped, go with the points of their hours.
 *
 * A file stays if older points, which it overwrites, would reappear, or if it has tombstones, which merges
 * drop when they delete nothing more. Inputs of a running merge stay too, since removing files does not wait
 * for it.
 *
 * Threads    a caller that waits, the compact thread (remove_mu)
 */
#include "base/time.h"
#include "storage/engine/output.h"
#include "storage/engine/retention.h"
#include "storage/engine/ship.h"

/* Was everything in the file shipped long enough ago, and are its points old enough? */
static bool is_shipped(const struct sto_mark_list *shipped, struct sto_sst *sst, int64_t before_ms)
{
    const struct sto_sst_info *f = sto_sst_info(sst);
    return f->n_points && !f->n_tombs && f->max_ms < before_ms && !sto_sst_broken(sst) &&
           sto_mark_covers(shipped, f->gen_hi, f->min_ms, f->max_ms);
}

/* The present marks, without hours that are to be shipped again. */
static struct sto_mark_list present_marks(const struct sto_manifest_state *state)
{
    struct sto_mark_list out = sto_mark_list_without(&state->marks, 1, 0), next;
    for (size_t i = 0; i < state->again.n; i++) {
        next = sto_mark_list_without(&out, state->again.marks[i].hour_lo, state->again.marks[i].hour_hi);
        ts_free(out.marks);
        out = next;
    }
    return out;
}

/* Find the marks of a time, which the caller frees, and note the present ones for later calls. */
static int marks_before(struct sto_engine *e, int64_t before_ms, struct sto_mark_list *out,
                        struct ts_error *err)
{
    struct sto_mark_history past;
    int64_t now_ms = ts_clock_ms();
    int rc = 0;
    pthread_mutex_lock(&e->files_mu);
    const struct sto_manifest_state *state = sto_manifest_state(e->manifest);
    *out = present_marks(state);
    bool copied = sto_mark_history_copy(&state->past, &past);
    if (!copied)
        rc = ts_error_set(err, TS_ENOMEM, "no memory for earlier ship marks");
    else if (sto_mark_history_note(&past, out, now_ms, before_ms))
        rc = sto_manifest_apply(e->manifest, &(struct sto_manifest_edit){.past = &past}, err);
    pthread_mutex_unlock(&e->files_mu);
    sto_engine__fatal(e, copied ? rc : 0, err);
    if (rc == 0 && before_ms < now_ms) {
        const struct sto_mark_list *then = sto_mark_history_at(&past, before_ms);
        ts_free(out->marks);
        *out = sto_mark_list_without(then ? then : &(struct sto_mark_list){0}, 1, 0);
    }
    sto_mark_history_release(&past);
    if (rc < 0) {
        ts_free(out->marks);
        *out = (struct sto_mark_list){0};
    }
    return rc;
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

/* Remove the files whose points are before a time and are covered by these marks. remove_mu held. */
static int drop(struct sto_engine *e, const struct sto_mark_list *shipped, int64_t before_ms,
                struct ts_error *err)
{
    struct sto_output none = {.e = e};
    size_t n = 0;
    int rc = 0;
    struct sto_version *v = sto_engine_pin(e);
    bool *goes = ts_xcalloc(v->n_ssts + 1, sizeof *goes), changed = true;
    uint64_t *gone = ts_xcalloc(v->n_ssts + 1, sizeof *gone);
    for (size_t i = 0; i < v->n_ssts; i++)
        goes[i] = is_shipped(shipped, v->ssts[i], before_ms) &&
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
        if (goes[i]) {
            const struct sto_sst_info *f = sto_sst_info(v->ssts[i]);
            gone[n++] = f->file_no;
            none.dropped_ms = f->max_ms >= none.dropped_ms ? f->max_ms + 1 : none.dropped_ms;
        }
    if (n)
        rc = sto_output__commit(&none, gone, n, 0, err);
    ts_free(goes);
    ts_free(gone);
    sto_engine_unpin(e, v);
    return rc;
}

int sto_engine_drop_shipped(struct sto_engine *e, int64_t before_ms, struct ts_error *err)
{
    struct sto_mark_list shipped;
    if (e->opts.read_only)
        return ts_error_set(err, TS_EINVAL, "%s is opened for reading only", e->dir);
    pthread_mutex_lock(&e->remove_mu);
    if (before_ms < ts_clock_ms() && !sto_retention__trusts_clock(e)) {
        pthread_mutex_unlock(&e->remove_mu);
        return 0;
    }
    int rc = marks_before(e, before_ms, &shipped, err);
    if (rc == 0) {
        rc = drop(e, &shipped, before_ms, err);
        ts_free(shipped.marks);
    }
    pthread_mutex_unlock(&e->remove_mu);
    return rc;
}

int sto_ship__drop_before(struct sto_engine *e, int64_t before_ms, struct ts_error *err)
{
    pthread_mutex_lock(&e->remove_mu);
    pthread_mutex_lock(&e->files_mu);
    struct sto_mark_list shipped = present_marks(sto_manifest_state(e->manifest));
    pthread_mutex_unlock(&e->files_mu);
    int rc = drop(e, &shipped, before_ms, err);
    ts_free(shipped.marks);
    pthread_mutex_unlock(&e->remove_mu);
    return rc;
}
