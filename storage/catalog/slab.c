/*
 * slab.c - an arena with lists of free pieces by size.
 *
 * Threads    see slab.h
 */
#include "storage/catalog/slab.h"

#include <string.h>

/* Bytes that small pieces take from the arena at a time; a block of the arena holds its header and 16 of
 * them. */
#define ROOM_BYTES ((64u << 10) - 16)
#define ARENA_UNIT 8u /* the arena aligns its pieces to it */

void sto_slab__init(struct sto_slab *s, size_t unit)
{
    *s = (struct sto_slab){.unit = unit};
    ts_arena_init(&s->arena, 0);
}

/* Free list for a size, and the bytes of the pieces in it. */
static size_t list_of(const struct sto_slab *s, size_t n, size_t *out_bytes)
{
    n = n < sizeof(void *) ? sizeof(void *) : n; /* a free piece links to the next one */
    size_t units = (n + s->unit - 1) / s->unit;
    *out_bytes = units * s->unit;
    if (units < STO_SLAB_LISTS)
        return units;
    size_t log = 63 - (size_t)__builtin_clzll(n - 1) + 1;
    *out_bytes = (size_t)1 << log;
    return STO_SLAB_LISTS + (log < STO_SLAB_LARGE ? log : STO_SLAB_LARGE - 1);
}

static void *arena_take(struct sto_slab *s, size_t n)
{
    if (s->unit == ARENA_UNIT || n > ROOM_BYTES / 4)
        return ts_arena_alloc(&s->arena, n);
    if ((size_t)(s->room_end - s->room) < n) {
        s->room = ts_arena_alloc(&s->arena, ROOM_BYTES);
        s->room_end = s->room + ROOM_BYTES;
    }
    char *p = s->room;
    s->room += n;
    return p;
}

void *sto_slab__alloc(struct sto_slab *s, size_t n)
{
    size_t n_bytes, list = list_of(s, n, &n_bytes);
    void *p = s->lists ? s->lists[list] : NULL;
    if (!p)
        return arena_take(s, n_bytes);
    memcpy(&s->lists[list], p, sizeof(void *));
    s->free_bytes -= n_bytes;
    return p;
}

void sto_slab__give(struct sto_slab *s, void *p, size_t n)
{
    size_t n_bytes, list = list_of(s, n, &n_bytes);
    if (!s->lists)
        s->lists = ts_xcalloc(STO_SLAB_LISTS + STO_SLAB_LARGE, sizeof(*s->lists));
    memcpy(p, &s->lists[list], sizeof(void *));
    s->lists[list] = p;
    s->free_bytes += n_bytes;
}

size_t sto_slab__bytes(const struct sto_slab *s)
{
    return s->arena.used_bytes - s->free_bytes;
}

void sto_slab__release(struct sto_slab *s)
{
    ts_arena_release(&s->arena);
    ts_free(s->lists);
    s->lists = NULL;
    s->room = s->room_end = NULL;
    s->free_bytes = 0;
}
