/*
 * dense.h - table of pointers by dense number that grows without moving: readers need no lock.
 *
 * Segments of 256, 512, 1024, ... pointers; a segment is never moved or freed while the table lives, but
 * pages in which all pointers were cleared are returned to the system, so that numbers of the past cost only
 * address space.
 * Threads    one writer at a time (the catalog's lock); any number of readers. Two pairs order what they see:
 *            segment pointer store(release) - load(acquire), slot store(release) - load(acquire). A reader
 *            that sees a pointer sees everything written to its target before sto_dense__set.
 */
#ifndef STORAGE_CATALOG_DENSE_H
#define STORAGE_CATALOG_DENSE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STO_DENSE_FIRST    256u /* slots of the first segment; power of two */
#define STO_DENSE_SEGMENTS 25   /* enough for 2^32 numbers */

typedef _Atomic(const void *) sto_dense_slot; /* one pointer; NULL = no such number */

struct sto_dense {
    _Atomic(sto_dense_slot *) seg[STO_DENSE_SEGMENTS]; /* owned; NULL until needed */
    size_t n_bytes; /* bytes of the slots that were ever used, without returned pages; writer only */
};

/** Segment of a number, and its place in the segment. */
static inline unsigned sto_dense__segment(uint32_t id, uint64_t *out_place)
{
    uint64_t n = (uint64_t)id + STO_DENSE_FIRST;
    unsigned bits = 63 - (unsigned)__builtin_clzll(n);
    *out_place = n - ((uint64_t)1 << bits);
    return bits - 8;
}
/** Pointer of a number, NULL if there is none. Any thread. O(1). */
static inline const void *sto_dense__get(const struct sto_dense *d, uint32_t id)
{
    uint64_t place;
    unsigned s = sto_dense__segment(id, &place);
    sto_dense_slot *seg =
        atomic_load_explicit(&d->seg[s], memory_order_acquire);                  /* partner: sto_dense__set */
    return seg ? atomic_load_explicit(&seg[place], memory_order_acquire) : NULL; /* partner: sto_dense__set */
}
/** Allocate the slot of a number that comes from a file, which may be very high. Returns false if memory is
 * exhausted. Writer only. */
bool sto_dense__reserve(struct sto_dense *d, uint32_t id);
/** Publish a pointer. Writer only. O(1), but for the allocation of a new segment (untouched zero pages). */
void sto_dense__set(struct sto_dense *d, uint32_t id, const void *p);
/** Clear the pointer of a number; from now on readers find none. Writer only. O(1). */
void sto_dense__clear(struct sto_dense *d, uint32_t id);
/** Return pages in which all slots are empty to the system. The numbers ids[0..n) are ascending, were cleared
 * since the last call, and are never set again. Writer only. */
void sto_dense__trim(struct sto_dense *d, const uint32_t *ids, size_t n);
/** Free the segments, but not what they point to. No reader may be left. */
void sto_dense__release(struct sto_dense *d);
/** Bytes of all slots that were ever used, without the pages that were returned to the system. Writer only. */
size_t sto_dense__bytes(const struct sto_dense *d);

#endif
