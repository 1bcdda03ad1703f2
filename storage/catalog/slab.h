/*
 * slab.h - memory for things of the catalog that come and go: an arena whose pieces are used again.
 *
 * A piece that is given back goes to a list of pieces of its size, and the next piece of that size is taken from
 * there. Names and series that live for a day have the same few lengths, so what one day left behind serves the next.
 *
 * Threads    plain data: the catalog's lock
 * Not here   when nobody looks at a piece any more (forget.h)
 */
#ifndef STORAGE_CATALOG_SLAB_H
#define STORAGE_CATALOG_SLAB_H

#include "base/mem.h"

#define STO_SLAB_LISTS 1024u /* sizes with a list of their own, in units */
#define STO_SLAB_LARGE 32u   /* lists of larger ones, by powers of two */

struct sto_slab {
    struct ts_arena arena; /* of all pieces */
    char *room, *room_end; /* unit 1: part of the arena that is free */
    size_t unit;           /* sizes are multiples of it: 1 (packed, unaligned) or 8 */
    void **lists;          /* owned, NULL until something is given back: first free piece by size */
    size_t free_bytes;     /* in the lists */
};

/** Empty slab; unit 1 or 8 bytes. */
void sto_slab__init(struct sto_slab *s, size_t unit);
/** n >= 1 bytes, aligned to 8 if the unit is 8. Aborts when memory is gone. O(1). */
void *sto_slab__alloc(struct sto_slab *s, size_t n);
/** Give a piece of n bytes back; less than 8 bytes are not used again. O(1). */
void sto_slab__give(struct sto_slab *s, void *p, size_t n);
/** Bytes taken and not given back. */
size_t sto_slab__bytes(const struct sto_slab *s);
/** Everything is freed; usable again after init. */
void sto_slab__release(struct sto_slab *s);

#endif
