/*
 * memstore_int.h - the memory layout of a memstore; for memstore.c and memstore_read.c only.
 *
 *   row (96 bytes)  | header 40 | 4 cells | link | -> | 8 cells | link | -> ... -> | 128 cells | link | ->
 *
 * Threads    only the writing thread accesses members marked "owner"
 */
#ifndef STORAGE_ENGINE_MEMORY_MEMSTORE_INT_H
#define STORAGE_ENGINE_MEMORY_MEMSTORE_INT_H

#include <stdatomic.h>

#include "base/mem.h"
#include "storage/engine/memory/memstore.h"

#define STO_MEM_LEAF_BITS   3  /* heads in a leaf: 8, a cache line */
#define STO_MEM_BRANCH_BITS 7  /* leaves of a branch: 128, 1 KiB */
#define STO_MEM_FIRST_CELLS 4u /* cells inside a row; each further chunk has twice as many */
/* Chunks do not grow beyond this. A row of 360 points then takes 14 bytes a point, with 512 it takes 19
 * (bench_memstore). */
#define STO_MEM_CHUNK_CELLS 128u
#define STO_MEM_DEPTH_MAX   15u
#define STO_MEM_SENT_MAX    0xffffffu

/* One operation. */
struct sto_mem_cell {
    uint32_t meta; /* offset and flags; DEL: first offset */
    int64_t m;     /* value; DEL: last offset, inclusive */
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct sto_mem_cell) == 12, "cells are packed");

/* The operations on a series in one hour. Never moves. */
struct sto_mem_row {
    const struct sto_series *series; /* its series; fixed before the row is published */
    struct sto_mem_row *next;        /* row linked before this one; fixed before the row is published */
    struct sto_mem_cell *tail;       /* owner: position of the next cell; the chunk's link if left is 0 */
    int32_t hour;                    /* hours since the epoch; fixed before the row is published */
    /* Number of cells << 1 | out of order, or with deletes or versions. It is one word, so that a reader that sees n cells also sees
     * whether exactly these n are in order: the writer stores it with release after the cell (and after
     * the link to the cell's chunk), readers load it once with acquire. */
    _Atomic uint32_t state;
    uint32_t min_off : 22;  /* owner: an offset below this is out of order (last offset + 1) */
    uint32_t chunk_log : 3; /* owner: log2 of the cells of the chunk at tail */
    uint32_t depth : 4;     /* owner: rows of the series linked before, at most STO_MEM_DEPTH_MAX */
    uint8_t left;           /* owner: free cells at tail */
    uint8_t sent_high;      /* shipping pass: cells that were sent, bits 16 to 23 */
    uint16_t sent_low;      /* the same, bits 0 to 15 */
    struct sto_mem_cell first[STO_MEM_FIRST_CELLS]; /* first chunk; cell i is readable if i < n */
    struct sto_mem_cell *link;                      /* chunk after the first; readable if n > 4 */
};
_Static_assert(sizeof(struct sto_mem_row) == 96, "a row with its first chunk");
_Static_assert(offsetof(struct sto_mem_row, link) ==
                   offsetof(struct sto_mem_row, first) + STO_MEM_FIRST_CELLS * sizeof(struct sto_mem_cell),
               "the link stands behind the cells in every chunk");

/* Tombstones in order of arrival; for each series they are linked from the last one back to the first. The
 * owner adds, any thread reads. Everything is in the memstore's arena and never changes once it is
 * published. */
struct sto_mem__tombs {
    _Atomic(struct sto_mem__tomb_list *) list; /* NULL = none yet; stored with release, before n */
    _Atomic size_t n;                          /* release: this many are readable in any list loaded later */
    _Atomic(struct sto_mem__tomb_hash *) hash; /* last tombstone of each series; stored with release */
};
/** Add a tombstone; owner only. */
void sto_mem__tombs_add(struct sto_mem__tombs *t, struct ts_arena *arena, const struct sto_tomb *tomb);
/** All tombstones; *out_n is loaded with acquire. */
const struct sto_tomb *sto_mem__tombs_all(const struct sto_mem__tombs *t, size_t *out_n);
/** Position + 1 of the last tombstone of a series; 0 = none. */
size_t sto_mem__tombs_last(const struct sto_mem__tombs *t, uint32_t series);
/** The tombstone at place - 1. *out_before gets the position + 1 of the previous one of the same series; 0
 * = none. */
const struct sto_tomb *sto_mem__tombs_at(const struct sto_mem__tombs *t, size_t place, size_t *out_before);

/** Capacity of the chunk that follows a chunk of n cells. */
static inline uint32_t sto_mem__next_cap(uint32_t n)
{
    return n < STO_MEM_CHUNK_CELLS ? n * 2 : n;
}

/** The link after the cells of a chunk of cap cells. */
static inline struct sto_mem_cell **sto_mem__link(struct sto_mem_cell *chunk, uint32_t cap)
{
    return (struct sto_mem_cell **)(void *)(chunk + cap);
}

#endif
