/*
 * split.c - divides units of merging by key, so that a window with many points is merged by several threads.
 *
 * The keys from which borders are chosen come from the indexes of the runs' files, so nothing but these is read. Blocks have about as many points
 * each; those of a file that has other windows too count as well, so units are not quite of one size.
 *
 * Threads    one
 * Not here   merging (merge.c)
 */
#include <stdlib.h>

#include "base/array.h"
#include "base/mem.h"
#include "storage/engine/bulk/merge.h"
#include "storage/engine/files/sample.h"

/* Keys of blocks of the files of a unit. */
struct keys {
    struct sto_key *v; /* owned */
    size_t n, cap;
};

static void add_key(void *arg, const struct sto_key *key, uint32_t n_points)
{
    struct keys *k = arg;
    (void)n_points;
    TS_ARRAY_GROW(k->v, k->n, k->cap, 1024);
    k->v[k->n++] = *key;
}

static int by_key(const void *a, const void *b)
{
    return sto_key_cmp(a, b);
}

static int collect(const struct sto_bulk_plan *p, const struct sto_bulk_unit *u,
                   const struct sto_bulk_file *files, size_t n_files, struct keys *out, struct ts_error *err)
{
    uint64_t n_blocks = 0;
    for (size_t i = 0; i < n_files; i++)
        if (files[i].sst && sto_bulk_unit_meets(p, u, &files[i].info))
            n_blocks += sto_sample_blocks(files[i].sst);
    uint32_t step = (uint32_t)(n_blocks / STO_BULK_SPLIT_KEYS) + 1;
    for (size_t i = 0; i < n_files; i++)
        if (files[i].sst && sto_bulk_unit_meets(p, u, &files[i].info))
            TS_TRY(sto_sample_keys(files[i].sst, step, add_key, out, err));
    if (out->n)
        qsort(out->v, out->n, sizeof *out->v, by_key);
    return 0;
}

/* Units of a plan that is made anew. */
struct units {
    struct sto_bulk_unit *v; /* owned */
    size_t n, cap;
};

static void add_unit(struct units *us, const struct sto_bulk_unit *u)
{
    TS_ARRAY_GROW(us->v, us->n, us->cap, 16);
    us->v[us->n++] = *u;
}

/* Add a unit as up to n_parts ones. Keys that are equal, of long rows, give fewer. */
static void divide(struct units *us, const struct sto_bulk_unit *u, const struct keys *k, size_t n_parts)
{
    struct sto_bulk_unit part = *u;
    for (size_t i = 1; i < n_parts && k->n; i++) {
        const struct sto_key *border = &k->v[k->n * i / n_parts];
        if ((part.has_after && sto_key_cmp(border, &part.after) <= 0) ||
            sto_key_cmp(border, &k->v[k->n - 1]) >= 0)
            continue;
        part.has_upto = true;
        part.upto = *border;
        add_unit(us, &part);
        part.has_upto = false;
        part.has_after = true;
        part.after = *border;
    }
    add_unit(us, &part);
}

int sto_bulk_plan_split(struct sto_bulk_plan *p, const struct sto_day_counts *days, uint64_t unit_points,
                        const struct sto_bulk_file *files, size_t n_files, struct ts_error *err)
{
    struct units us = {0};
    struct keys k = {0};
    int rc = 0;
    for (size_t i = 0; i < p->n_units && rc == 0; i++) {
        const struct sto_bulk_unit *u = &p->units[i];
        uint64_t n_points = u->move ? 0 : sto_bulk_unit_points(p, u, days);
        uint64_t n = n_points / unit_points;
        n += n > 1 && n % 2; /* even, since two processors are the least that share the units */
        k.n = 0;
        if (n >= 2)
            rc = collect(p, u, files, n_files, &k, err);
        divide(&us, u, &k, n < STO_BULK_SPLIT_MAX ? (size_t)n : STO_BULK_SPLIT_MAX);
    }
    ts_free(k.v);
    if (rc < 0) {
        ts_free(us.v);
        return rc;
    }
    ts_free(p->units);
    p->units = us.v;
    p->n_units = us.n;
    p->cap_units = us.cap;
    return 0;
}
