/*
 * dense.c - growing table of pointers by dense number.
 *
 * Threads    see dense.h
 */
#include "storage/catalog/dense.h"

#include "base/mem.h"

bool sto_dense__reserve(struct sto_dense *d, uint32_t id)
{
    uint64_t place;
    unsigned s = sto_dense__segment(id, &place);
    if (atomic_load_explicit(&d->seg[s], memory_order_relaxed)) /* our own store */
        return true;
    sto_dense_slot *seg = ts_try_calloc((size_t)STO_DENSE_FIRST << s, sizeof(*seg));
    atomic_store_explicit(&d->seg[s], seg, memory_order_release); /* partner: sto_dense__get */
    d->n_bytes += seg ? ((size_t)STO_DENSE_FIRST << s) * sizeof(*seg) : 0;
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
        d->n_bytes += ((size_t)STO_DENSE_FIRST << s) * sizeof(*seg);
    }
    atomic_store_explicit(&seg[place], p, memory_order_release); /* partner: sto_dense__get */
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
