/*
 * merge_heap.h - the heap of a merge: the next row of each source, in the order of struct sto_merge__item.
 *
 * Threads    one
 */
#ifndef STORAGE_ENGINE_MERGE_MERGE_HEAP_H
#define STORAGE_ENGINE_MERGE_MERGE_HEAP_H

#include "base/mem.h"
#include "storage/engine/merge/merge_int.h"

#define STO_MERGE__HOUR_SIGN 0x80000000u /* turned, hours compare as unsigned numbers */

/** The key of a row of source number src. */
static inline unsigned __int128 sto_merge__heap_key(uint32_t metric, uint32_t series, int32_t hour,
                                                    size_t src)
{
    return (unsigned __int128)((uint64_t)metric << 32 | series) << 64 |
           (uint64_t)((uint32_t)hour ^ STO_MERGE__HOUR_SIGN) << 32 | STO_MERGE__ROW | src;
}

/** Add an item; its memory is counted, and never refused. */
static inline void sto_merge__heap_push(struct sto_merge *m, unsigned __int128 key,
                                        const struct sto_mem_row *row)
{
    if (m->n_heap == m->cap_heap) {
        size_t had = m->cap_heap;
        m->cap_heap = had ? had * 2 : 16;
        ts_tally_force(&m->share.tally, (m->cap_heap - had) * sizeof(*m->heap));
        m->heap = ts_xrealloc(m->heap, m->cap_heap * sizeof(*m->heap));
    }
    size_t i = m->n_heap++;
    for (; i > 0 && m->heap[(i - 1) / 2].key > key; i = (i - 1) / 2)
        m->heap[i] = m->heap[(i - 1) / 2];
    m->heap[i] = (struct sto_merge__item){key, row};
}

/** Remove the smallest item; there is one. */
static inline struct sto_merge__item sto_merge__heap_pop(struct sto_merge *m)
{
    struct sto_merge__item top = m->heap[0], last = m->heap[--m->n_heap];
    size_t i = 0;
    for (;;) {
        size_t child = i * 2 + 1;
        if (child >= m->n_heap)
            break;
        if (child + 1 < m->n_heap && m->heap[child + 1].key < m->heap[child].key)
            child++;
        if (m->heap[child].key >= last.key)
            break;
        m->heap[i] = m->heap[child];
        i = child;
    }
    m->heap[i] = last;
    return top;
}

/** Add the present row of a file. */
static inline void sto_merge__heap_push_file(struct sto_merge *m, struct sto_merge__src *src)
{
    const struct sto_key *key = sto_merge__key(src);
    sto_merge__heap_push(m, sto_merge__heap_key(key->metric, key->series, key->hour, (size_t)(src - m->srcs)),
                         NULL);
}

#endif
