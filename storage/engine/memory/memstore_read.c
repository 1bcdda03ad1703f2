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

/* Copy n cells in order of arrival, but for the first skip ones. The chunks of a row are not adjacent in memory: the next one is
 * prefetched before this one is copied. */
static inline void copy_cells(const struct sto_mem_row *row, uint32_t skip, uint32_t n, uint32_t *meta,
                              int64_t *m)
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
        uint32_t from = skip < k ? skip : k;
        for (uint32_t i = from; i < k; i++) {
            meta[i - from] = chunk[i].meta;
            m[i - from] = chunk[i].m;
        }
        n -= k;
        if (n == 0)
            return;
        skip -= from;
        meta += k - from;
        m += k - from;
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
            copy_cells(row, 0, n, out->meta, out->m);
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
    copy_cells(row, 0, n, meta, m);
    sto_fold(meta, m, n, out);
    if (m != stack_m)
        ts_free(m);
}

bool sto_mem_row_read_from(const struct sto_mem_row *row, uint32_t from, struct sto_cells *out,
                           uint32_t *out_n, bool *out_mixed)
{
    uint32_t state = atomic_load_explicit(&row->state, memory_order_acquire); /* partner is append */
    uint32_t n = state >> 1, k = n > from ? n - from : 0;
    *out_n = n;
    out->n = 0;
    if (k == 0)
        return (state & 1) == 0;
    int64_t *m = ts_xmalloc((size_t)k * (sizeof(*m) + sizeof(uint32_t)));
    uint32_t *meta = (uint32_t *)(m + k);
    copy_cells(row, from, n, meta, m);
    for (uint32_t i = 0; i < k; i++)
        *out_mixed |= sto_meta_op(meta[i]) == STO_OP_ADD || sto_meta_op(meta[i]) == STO_OP_DEL;
    sto_fold(meta, m, k, out);
    ts_free(m);
    return (state & 1) == 0;
}

uint32_t sto_mem_row_sent(const struct sto_mem_row *row)
{
    return (uint32_t)row->sent_high << 16 | row->sent_low;
}

void sto_mem_row_set_sent(const struct sto_mem_row *row, uint32_t n)
{
    struct sto_mem_row *mine = (struct sto_mem_row *)(uintptr_t)row; /* these members belong to the caller */
    n = n < STO_MEM_SENT_MAX ? n : STO_MEM_SENT_MAX;
    mine->sent_high = (uint8_t)(n >> 16);
    mine->sent_low = (uint16_t)n;
}

uint32_t sto_mem_row_n(const struct sto_mem_row *row)
{
    return atomic_load_explicit(&row->state, memory_order_relaxed) >> 1;
}
