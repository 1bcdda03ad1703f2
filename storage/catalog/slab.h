/*
 * slab.h - memory for names and series of the catalog: an arena whose pieces are reused.
 *
 * A freed piece goes to a free list for its size, from which the next piece of that size is taken. Names and
 * series that live for a day have the same few lengths, so that the pieces of one day serve the next.
 *
 * Threads    plain data: the catalog's lock
 * Not here   when no reader holds a piece any more (forget.h)
 */
#ifndef STORAGE_CATALOG_SLAB_H
#define STORAGE_CATALOG_SLAB_H

#include "base/mem.h"

#define STO_SLAB_LISTS 1024u /* sizes with a list of their own, in units */
#define STO_SLAB_LARGE 32u   /* lists of larger ones, by powers of two */

struct sto_slab {
    struct ts_arena arena; /* of all pieces */
    char *room, *room_end; /* unit below 8: part of the arena that is free */
    size_t unit;           /* sizes are multiples of it: 1 (packed, unaligned) to 8 */
    void **lists;          /* owned, NULL until a piece is freed: first free piece by size */
    size_t free_bytes;     /* bytes of the pieces in the lists */
};

/** Initialise an empty slab; the unit is 1, 2, 4 or 8 bytes. */
void sto_slab__init(struct sto_slab *s, size_t unit);
/** n >= 1 bytes, aligned to the unit. Aborts when memory is exhausted. O(1). */
void *sto_slab__alloc(struct sto_slab *s, size_t n);
/** Free a piece of n bytes; pieces of less than 8 bytes are not reused. O(1). */
void sto_slab__give(struct sto_slab *s, void *p, size_t n);
/** Bytes of the pieces in use. */
size_t sto_slab__bytes(const struct sto_slab *s);
/** Release; usable again after init. */
void sto_slab__release(struct sto_slab *s);

#endif
