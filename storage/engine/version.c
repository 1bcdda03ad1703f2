/*
 * version.c - immutable sets of files and memstores, which queries pin.
 *
 * Threads    any; version_mu is held to copy a pointer or count a reference, never across I/O or a pass over
 *            the files. A thread that edits, one at a time (edit_mu), makes the next version without holding
 *            version_mu. If a reader held the last reference of a version, the flush thread releases it:
 *            unlinking a large file takes long
 * Invariant  each point of a generation is in exactly one member of a version: the edit that adds the files
 *            of a generation also removes its memstores
 */
#include "storage/engine/engine_int.h"

#include <stdlib.h>
#include <string.h>

struct sto_version *sto_version__new(size_t n_ssts, size_t n_mems)
{
    struct sto_version *v = ts_xcalloc(1, sizeof *v);
    v->refs = 1;
    v->ssts = ts_xcalloc(n_ssts + 1, sizeof *v->ssts);
    v->mems = ts_xcalloc(n_mems + 1, sizeof *v->mems);
    return v;
}

static void version_free(struct sto_version *v)
{
    for (size_t i = 0; i < v->n_ssts; i++)
        sto_sst_unref(v->ssts[i]);
    for (size_t i = 0; i < v->n_mems; i++)
        sto_mem_unref(v->mems[i]);
    sto_marks_unref(v->marks);
    ts_free(v->ssts);
    ts_free(v->mems);
    ts_free(v);
}

/* version_mu held. */
static void list_add(struct sto_engine *e, struct sto_version *v)
{
    for (size_t i = 0; i < v->n_mems; i++)
        v->newest_gen = sto_mem_gen(v->mems[i]) > v->newest_gen ? sto_mem_gen(v->mems[i]) : v->newest_gen;
    v->older = e->pinned;
    if (v->older)
        v->older->newer = v;
    e->pinned = v;
}

static void list_remove(struct sto_engine *e, struct sto_version *v)
{
    if (v->newer)
        v->newer->older = v->older;
    else
        e->pinned = v->older;
    if (v->older)
        v->older->newer = v->newer;
}

void sto_version__first(struct sto_engine *e, struct sto_version *v)
{
    pthread_mutex_lock(&e->version_mu);
    e->version = v;
    list_add(e, v);
    pthread_mutex_unlock(&e->version_mu);
}

bool sto_version__lacks(struct sto_engine *e, uint64_t gen)
{
    bool lacks = false;
    pthread_mutex_lock(&e->version_mu);
    for (const struct sto_version *v = e->pinned; v && !lacks; v = v->older)
        lacks = v->newest_gen < gen;
    pthread_mutex_unlock(&e->version_mu);
    return lacks;
}

struct sto_version *sto_engine_pin(struct sto_engine *e)
{
    pthread_mutex_lock(&e->version_mu);
    struct sto_version *v = e->version;
    v->refs++;
    pthread_mutex_unlock(&e->version_mu);
    return v;
}

void sto_version__drop(struct sto_engine *e, struct sto_version *v)
{
    if (!v)
        return;
    pthread_mutex_lock(&e->version_mu);
    bool last = --v->refs == 0;
    if (last)
        list_remove(e, v);
    pthread_mutex_unlock(&e->version_mu);
    if (last)
        version_free(v);
}

void sto_engine_unpin(struct sto_engine *e, struct sto_version *v)
{
    if (!v ||
        !atomic_load_explicit(&e->flush_releases, memory_order_acquire)) { /* pairs with sto_engine_open */
        sto_version__drop(e, v);
        return;
    }
    pthread_mutex_lock(&e->version_mu);
    bool last = --v->refs == 0;
    if (last) {
        list_remove(e, v);
        v->next = e->unused;
        e->unused = v;
    }
    pthread_mutex_unlock(&e->version_mu);
    if (!last)
        return;
    pthread_mutex_lock(&e->bg_mu);
    pthread_cond_signal(&e->flush_cond);
    pthread_mutex_unlock(&e->bg_mu);
}

void sto_version__release_unused(struct sto_engine *e)
{
    pthread_mutex_lock(&e->version_mu);
    struct sto_version *v = e->unused;
    e->unused = NULL;
    pthread_mutex_unlock(&e->version_mu);
    for (struct sto_version *next; v; v = next) {
        next = v->next;
        version_free(v);
    }
}

static int cmp_no(const void *pa, const void *pb)
{
    const uint64_t *a = pa, *b = pb;
    return *a < *b ? -1 : *a > *b;
}

int sto_version__edit(struct sto_engine *e, struct sto_sst *const *add, size_t n_add, const uint64_t *remove,
                      size_t n_remove, uint64_t flushed_gen, struct sto_mem *const *add_mems,
                      size_t n_add_mems)
{
    /* Copy and publish under edit_mu: neither of two editors (flush, compaction) may lose the other's
     * change. */
    uint64_t *gone = ts_xcalloc(n_remove + 1, sizeof *gone);
    if (n_remove) {
        memcpy(gone, remove, n_remove * sizeof *gone);
        qsort(gone, n_remove, sizeof *gone, cmp_no);
    }
    pthread_mutex_lock(&e->edit_mu);
    struct sto_version *old = e->version; /* no other thread changes it */
    struct sto_version *v = sto_version__new(old->n_ssts + n_add, old->n_mems + n_add_mems);
    for (size_t i = 0; i < old->n_ssts; i++)
        if (!bsearch(&sto_sst_info(old->ssts[i])->file_no, gone, n_remove, sizeof *gone, cmp_no))
            v->ssts[v->n_ssts++] = sto_sst_ref(old->ssts[i]);
        else
            sto_sst_unlink_later(old->ssts[i], &e->held);
    for (size_t i = 0; i < n_add; i++)
        v->ssts[v->n_ssts++] = sto_sst_ref(add[i]);
    for (size_t i = 0; i < old->n_mems; i++)
        if (sto_mem_gen(old->mems[i]) > flushed_gen)
            v->mems[v->n_mems++] = sto_mem_ref(old->mems[i]);
    for (size_t i = 0; i < n_add_mems; i++)
        v->mems[v->n_mems++] = sto_mem_ref(add_mems[i]);
    pthread_mutex_lock(&e->version_mu);
    v->cutoff_ms = e->cutoff_ms;
    v->cutoff_gen = e->cutoff_gen;
    v->marks = sto_marks_ref(e->marks);
    v->complete_from_ms = e->complete_from_ms;
    e->version = v;
    list_add(e, v);
    pthread_mutex_unlock(&e->version_mu);
    pthread_mutex_unlock(&e->edit_mu);
    ts_free(gone);
    sto_version__drop(e, old);
    return 0;
}

void sto_version__cut_off(struct sto_engine *e, int64_t ms, uint64_t gen)
{
    pthread_mutex_lock(&e->version_mu);
    e->cutoff_ms = ms;
    e->cutoff_gen = gen;
    pthread_mutex_unlock(&e->version_mu);
}

void sto_version__mark(struct sto_engine *e, struct sto_marks *marks)
{
    pthread_mutex_lock(&e->version_mu);
    struct sto_marks *old = e->marks;
    e->marks = marks;
    pthread_mutex_unlock(&e->version_mu);
    sto_marks_unref(old);
}

void sto_version__complete(struct sto_engine *e, int64_t from_ms)
{
    pthread_mutex_lock(&e->version_mu);
    e->complete_from_ms = from_ms;
    pthread_mutex_unlock(&e->version_mu);
}

int sto_version_scan(const struct sto_version *v, const struct sto_scan_spec *spec, struct sto_merge **out,
                     struct ts_error *err)
{
    struct sto_scan_spec s = *spec;
    s.cutoff_ms = v->cutoff_ms;
    s.cutoff_gen = v->cutoff_gen;
    return sto_merge_new(&s, v->ssts, v->n_ssts, v->mems, v->n_mems, out, err);
}

bool sto_version_time_range(const struct sto_version *v, int64_t *out_min_ms, int64_t *out_max_ms)
{
    int64_t lo = INT64_MAX, hi = INT64_MIN;
    for (size_t i = 0; i < v->n_ssts; i++) {
        const struct sto_sst_info *f = sto_sst_info(v->ssts[i]);
        if (f->n_points && f->min_ms < lo)
            lo = f->min_ms;
        if (f->n_points && f->max_ms > hi)
            hi = f->max_ms;
    }
    for (size_t i = v->n_mems; i-- > 0;) { /* newest first, see sto_merge__srcs_init */
        int64_t a, b;
        if (!sto_mem_time_range(v->mems[i], &a, &b))
            continue;
        lo = a < lo ? a : lo;
        hi = b > hi ? b : hi;
    }
    *out_min_ms = lo;
    *out_max_ms = hi;
    return lo <= hi;
}

void sto_version_estimate(const struct sto_version *v, const struct sto_scan_spec *spec, uint64_t *out_points,
                          uint64_t *out_bytes)
{
    double points = 0, bytes = 0;
    for (size_t i = 0; i < v->n_ssts; i++) {
        const struct sto_sst_info *f = sto_sst_info(v->ssts[i]);
        if (!f->n_points || f->max_ms < spec->from_ms || f->min_ms > spec->to_ms ||
            spec->from_ms > spec->to_ms)
            continue;
        double span = (double)(f->max_ms - f->min_ms) + 1;
        int64_t lo = f->min_ms > spec->from_ms ? f->min_ms : spec->from_ms;
        int64_t hi = f->max_ms < spec->to_ms ? f->max_ms : spec->to_ms;
        double share = ((double)(hi - lo) + 1) / span;
        if (spec->series) {
            double all = (double)sto_sst_series(v->ssts[i])->count;
            double part = (double)spec->n_series / (all > 1 ? all : 1);
            share *= part < 1 ? part : 1;
        }
        points += share * (double)f->n_points;
        bytes += share * (double)f->t_bytes;
    }
    for (size_t i = 0; i < v->n_mems; i++)
        points += (double)sto_mem_points(v->mems[i]);
    *out_points = (uint64_t)points;
    *out_bytes = (uint64_t)bytes;
}
