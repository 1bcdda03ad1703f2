/*
 * sizes.c - sizes of windows and owners, and which series have rows in a range of time.
 *
 * Threads    any; everything is read from a pinned version
 */
#include "storage/engine/engine_int.h"

#include "storage/engine/merge/partition.h"

#include <stdlib.h>

/* A file and its window. */
struct placed {
    struct sto_window window;
    const struct sto_sst_info *info;
    uint64_t n_bytes; /* on the disk */
};

static int placed_cmp(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;
    if (x->window.level != y->window.level)
        return x->window.level < y->window.level ? -1 : 1;
    return x->window.index < y->window.index ? -1 : x->window.index > y->window.index;
}

static bool same_window(const struct placed *x, const struct placed *y)
{
    return x->window.level == y->window.level && x->window.index == y->window.index;
}

static struct placed place(const struct sto_sst *sst)
{
    const struct sto_sst_info *f = sto_sst_info(sst);
    int64_t lo = f->min_ms, hi = f->max_ms;
    if (f->tomb_min_ms <= f->tomb_max_ms) {
        lo = f->tomb_min_ms < lo ? f->tomb_min_ms : lo;
        hi = f->tomb_max_ms > hi ? f->tomb_max_ms : hi;
    }
    return (struct placed){sto_window_of(lo, hi), f, sto_sst_disk_bytes(sst)};
}

size_t sto_version_windows(const struct sto_version *v, struct sto_window_size *out, size_t max)
{
    struct placed *files = ts_xcalloc(v->n_ssts + 1, sizeof *files);
    size_t n = 0;
    for (size_t i = 0; i < v->n_ssts; i++)
        files[i] = place(v->ssts[i]);
    qsort(files, v->n_ssts, sizeof *files, placed_cmp);
    for (size_t i = 0; i < v->n_ssts; i++) {
        const struct sto_sst_info *f = files[i].info;
        n += !i || !same_window(&files[i - 1], &files[i]);
        if (n > max)
            continue;
        struct sto_window_size *w = &out[n - 1];
        if (!i || !same_window(&files[i - 1], &files[i])) {
            *w = (struct sto_window_size){.start_ms = INT64_MAX, .end_ms = INT64_MIN};
            if (files[i].window.level != STO_WINDOW_ALL)
                sto_window_span(files[i].window, &w->start_ms, &w->end_ms);
        }
        if (files[i].window.level == STO_WINDOW_ALL && f->n_points) {
            w->start_ms = f->min_ms < w->start_ms ? f->min_ms : w->start_ms;
            w->end_ms = f->max_ms + 1 > w->end_ms ? f->max_ms + 1 : w->end_ms;
        }
        w->n_files++;
        w->n_bytes += files[i].n_bytes;
        w->n_points += f->n_points;
    }
    ts_free(files);
    return n;
}

size_t sto_version_owners(const struct sto_version *v, struct sto_owner_size *out, size_t max)
{
    size_t n = 0;
    memset(out, 0, max * sizeof *out);
    for (size_t i = 0; i < v->n_mems; i++) {
        size_t owner = sto_mem_owner(v->mems[i]);
        if (owner >= max)
            continue;
        n = owner + 1 > n ? owner + 1 : n;
        out[owner].n_points += sto_mem_points(v->mems[i]);
        out[owner].n_bytes += sto_mem_bytes(v->mems[i]);
    }
    return n;
}

/* Has a memstore a row of the series in these hours? */
static bool in_memory(const struct sto_version *v, const struct sto_series *s, int32_t lo, int32_t hi)
{
    for (size_t i = 0; i < v->n_mems; i++)
        for (const struct sto_mem_row *r = sto_mem_rows(v->mems[i], s); r; r = sto_mem_row_next(r))
            if (sto_mem_row_hour(r) >= lo && sto_mem_row_hour(r) <= hi)
                return true;
    return false;
}

int sto_version_keep_used(const struct sto_version *v, int64_t from_ms, int64_t to_ms,
                          const struct sto_series *(*series)(void *arg, uint32_t id), void *arg,
                          roaring_bitmap_t *set, struct ts_error *err)
{
    roaring_bitmap_t *used = roaring_bitmap_create();
    int rc = 0;
    for (size_t i = 0; i < v->n_ssts && rc >= 0; i++) {
        const struct sto_sst_info *f = sto_sst_info(v->ssts[i]);
        if (!f->n_points || f->min_ms > to_ms || f->max_ms < from_ms)
            continue;
        rc = sto_sst_broken(v->ssts[i])
                 ? ts_error_set(err, TS_ECORRUPT, "file %llu cannot be read: %s",
                                (unsigned long long)f->file_no, sto_sst_broken(v->ssts[i]))
                 : sto_sst_series_common(sto_sst_series(v->ssts[i]), set, used, err);
    }
    if (rc >= 0) {
        roaring_bitmap_t *left = roaring_bitmap_andnot(set, used);
        roaring_uint32_iterator_t it;
        roaring_init_iterator(left, &it);
        for (; it.has_value; roaring_advance_uint32_iterator(&it)) {
            const struct sto_series *s = series(arg, it.current_value);
            if (s && in_memory(v, s, sto_hour(from_ms), sto_hour(to_ms)))
                roaring_bitmap_add(used, it.current_value);
        }
        roaring_bitmap_free(left);
        roaring_bitmap_and_inplace(set, used);
    }
    roaring_bitmap_free(used);
    return rc < 0 ? rc : 0;
}
