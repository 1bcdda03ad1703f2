/*
 * dense.c - growing table of pointers by dense number.
 *
 * Threads    see dense.h
 */
#include "storage/catalog/dense.h"

#include <sys/mman.h>

#include "base/mem.h"

#define PAGE_BYTES 4096u

bool sto_dense__reserve(struct sto_dense *d, uint32_t id)
{
    uint64_t place;
    unsigned s = sto_dense__segment(id, &place);
    if (atomic_load_explicit(&d->seg[s], memory_order_relaxed)) /* our own store */
        return true;
    sto_dense_slot *seg = ts_try_calloc((size_t)STO_DENSE_FIRST << s, sizeof(*seg));
    atomic_store_explicit(&d->seg[s], seg, memory_order_release); /* partner: sto_dense__get */
    return seg != NULL;
}

void sto_dense__set(struct sto_dense *d, uint32_t id, const void *p)
{
    uint64_t place;
    unsigned s = sto_dense__segment(id, &place);
    sto_dense_slot *seg = atomic_load_explicit(&d->seg[s], memory_order_relaxed); /* our own store */
    if (!seg) {
        seg = ts_xcalloc((size_t)STO_DENSE_FIRST << s, sizeof(*seg));
        atomic_store_explicit(&d->seg[s], seg, memory_order_release); /* partner: sto_dense__get */
    }
    if (!atomic_load_explicit(&seg[place], memory_order_relaxed)) /* our own store */
        d->n_bytes += sizeof(*seg);
    atomic_store_explicit(&seg[place], p, memory_order_release); /* partner: sto_dense__get */
}

void sto_dense__clear(struct sto_dense *d, uint32_t id)
{
    uint64_t place;
    unsigned s = sto_dense__segment(id, &place);
    sto_dense_slot *seg = atomic_load_explicit(&d->seg[s], memory_order_relaxed); /* our own store */
    if (seg)
        atomic_store_explicit(&seg[place], NULL, memory_order_release); /* partner: sto_dense__get */
}

/* The page that contains a slot, if all of it belongs to the segment and all its slots are empty. */
static char *empty_page(sto_dense_slot *seg, size_t n_slots, uint64_t place)
{
    uintptr_t page = (uintptr_t)&seg[place] / PAGE_BYTES * PAGE_BYTES;
    if (page < (uintptr_t)seg || page + PAGE_BYTES > (uintptr_t)(seg + n_slots))
        return NULL;
    sto_dense_slot *slot = (sto_dense_slot *)page;
    for (size_t i = 0; i < PAGE_BYTES / sizeof(*slot); i++)
        if (atomic_load_explicit(&slot[i], memory_order_relaxed)) /* our own stores */
            return NULL;
    return (char *)page;
}

void sto_dense__trim(struct sto_dense *d, const uint32_t *ids, size_t n)
{
    const char *before = NULL;
    for (size_t i = 0; i < n; i++) {
        uint64_t place;
        unsigned s = sto_dense__segment(ids[i], &place);
        sto_dense_slot *seg = atomic_load_explicit(&d->seg[s], memory_order_relaxed); /* our own store */
        if (!seg || (before && (const char *)&seg[place] >= before &&
                     (const char *)&seg[place] < before + PAGE_BYTES))
            continue;
        char *page = empty_page(seg, (size_t)STO_DENSE_FIRST << s, place);
        before = (const char *)((uintptr_t)&seg[place] / PAGE_BYTES * PAGE_BYTES);
        /* the page reads as zeros afterwards, which are empty slots too: readers see no difference */
        if (page && madvise(page, PAGE_BYTES, MADV_DONTNEED) == 0)
            d->n_bytes -= d->n_bytes < PAGE_BYTES ? d->n_bytes : PAGE_BYTES;
    }
}

void sto_dense__release(struct sto_dense *d)
{
    for (unsigned s = 0; s < STO_DENSE_SEGMENTS; s++) {
        ts_free(atomic_load_explicit(&d->seg[s], memory_order_relaxed)); /* no reader is left */
        atomic_store_explicit(&d->seg[s], NULL, memory_order_relaxed);
    }
    d->n_bytes = 0;
}

size_t sto_dense__bytes(const struct sto_dense *d)
{
    return d->n_bytes;
}
