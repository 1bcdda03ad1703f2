/*
 * memstore_read.c - cells of a row of a memstore as one consistent, sorted prefix.
 *
 * Threads    any, concurrently with the writer
 * Invariant  a cell is read only if the state loaded first counts it
 */
#include "storage/engine/memory/memstore.h"

#include "storage/engine/memory/fold.h"
#include "storage/engine/memory/memstore_int.h"

#define STACK_CELLS      256 /* unsorted rows up to this need no heap */
#define CACHE_LINE_BYTES 64

/* Copy n cells in order of arrival. The chunks of a row are not adjacent in memory: the next one is
 * prefetched before this one is copied. */
static void copy_cells(const struct sto_mem_row *row, uint32_t n, uint32_t *meta, int64_t *m)
{
    const struct sto_mem_cell *chunk = row->first, *next = NULL;
    for (uint32_t cap = STO_MEM_FIRST_CELLS;; cap = sto_mem__next_cap(cap)) {
        uint32_t k = n < cap ? n : cap;
        /* the link was written before the state that counts the next chunk's first cell was published */
        if (n > cap) {
            next = *sto_mem__link((struct sto_mem_cell *)(uintptr_t)chunk, cap);
            __builtin_prefetch(next);
            __builtin_prefetch((const char *)next + CACHE_LINE_BYTES);
            __builtin_prefetch(next + sto_mem__next_cap(cap)); /* its link */
        }
        for (uint32_t i = 0; i < k; i++) {
            meta[i] = chunk[i].meta;
            m[i] = chunk[i].m;
        }
        n -= k;
        if (n == 0)
            return;
        meta += k;
        m += k;
        chunk = next;
    }
}

void sto_mem_row_read(const struct sto_mem_row *row, struct sto_cells *out)
{
    /* one load for count and order: partner is append */
    uint32_t state = atomic_load_explicit(&row->state, memory_order_acquire);
    uint32_t n = state >> 1;
    if ((state & 1) == 0) {
        sto_cells_reserve(out, n);
        if (n > 0)
            copy_cells(row, n, out->meta, out->m);
        out->n = n;
        sto_fold_uniform(out);
        return;
    }
    uint32_t stack_meta[STACK_CELLS], *meta = stack_meta;
    int64_t stack_m[STACK_CELLS], *m = stack_m;
    if (n > STACK_CELLS) {
        m = ts_xmalloc((size_t)n * (sizeof(*m) + sizeof(*meta)));
        meta = (uint32_t *)(m + n);
    }
    copy_cells(row, n, meta, m);
    sto_fold(meta, m, n, out);
    if (m != stack_m)
        ts_free(m);
}

uint32_t sto_mem_row_n(const struct sto_mem_row *row)
{
    return atomic_load_explicit(&row->state, memory_order_relaxed) >> 1;
}
