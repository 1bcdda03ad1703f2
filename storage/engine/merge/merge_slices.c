/*
 * merge_slices.c - merges the pieces of a long row slice by slice, so that scratch is not as long as the row.
 *
 * Threads    one
 * Not here   the merging of a slice (merge_cells.c), the account of memory (merge.c)
 */
#include "storage/engine/merge/merge_int.h"

#include <string.h>

#include "base/mem.h"
#include "storage/engine/memory/fold.h"

/* The offset at which the next slice of all pieces ends: it has about STO_MERGE__SLICE_CELLS cells, and all versions of a time. */
static int64_t slice_end(const struct sto_cells *rest, size_t n)
{
    uint32_t each = (uint32_t)(STO_MERGE__SLICE_CELLS / n);
    int64_t first = INT64_MAX, end = INT64_MAX, off;
    for (size_t i = 0; i < n; i++) {
        if (rest[i].n && (off = sto_meta_off(rest[i].meta[0])) < first)
            first = off;
        if (rest[i].n > each && (off = sto_meta_off(rest[i].meta[each])) < end)
            end = off;
    }
    return end > first ? end : first + 1;
}

uint32_t sto_merge__most_cells(const struct sto_merge *m, uint64_t all)
{
    uint64_t most = TS_HOUR_MS;
    for (size_t i = 0; i < m->n_group; i++)
        most = sto_cells_are_kept(&m->pieces[i]) ? UINT32_MAX : most;
    return (uint32_t)(all < most ? all : most);
}

void sto_merge__slices(struct sto_merge *m, int32_t hour, size_t n, uint64_t all)
{
    struct sto_cells *rest = ts_xmalloc(m->n_group * sizeof *rest), slice = {0}, *out = &m->out;
    memcpy(rest, m->pieces, m->n_group * sizeof *rest);
    out->n = 0;
    sto_cells_reserve(out, sto_merge__most_cells(m, all));
    while (all) {
        int64_t end = slice_end(rest, m->n_group);
        for (size_t i = 0; i < m->n_group; i++) {
            uint32_t k = sto_cells_find(&rest[i], end);
            m->pieces[i] = rest[i];
            m->pieces[i].n = k;
            rest[i].n -= k;
            rest[i].meta = rest[i].n ? rest[i].meta + k : NULL;
            rest[i].m = rest[i].n ? rest[i].m + k : NULL;
            all -= k;
        }
        sto_merge_cells(hour, m->parts, n, m->spec.final, &slice);
        /* only pieces of a damaged file, whose first cell is no version, have more than was reserved */
        sto_cells_reserve(out, out->n + slice.n);
        for (uint32_t i = 0; i < slice.n; i++, out->n++) {
            out->meta[out->n] = slice.meta[i];
            out->m[out->n] = slice.m[i];
        }
    }
    sto_fold_uniform(out);
    sto_cells_release(&slice);
    ts_free(rest);
}
