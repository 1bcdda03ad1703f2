/*
 * posting.c - one set of series numbers, from nothing to a bitmap.
 *
 * Threads    see posting.h
 */
#include "storage/catalog/posting.h"

#include <string.h>

enum kind { EMPTY = 0, ONE = 1, ARRAY = 2, BITMAP = 3 };

static enum kind kind_of(sto_posting set)
{
    return (enum kind)(set & 3);
}
static uint32_t *array_of(sto_posting set)
{
    return (uint32_t *)(uintptr_t)(set & ~(sto_posting)3);
}
static roaring_bitmap_t *bitmap_of(sto_posting set)
{
    return (roaring_bitmap_t *)(uintptr_t)(set & ~(sto_posting)3);
}
static uint32_t room_of(unsigned class)
{
    return (16u << class) / 4 - 2;
}

static uint32_t *array_new(struct sto_posting_pool *pool, unsigned class)
{
    uint32_t *a = pool->free_arrays[class];
    if (a)
        memcpy(&pool->free_arrays[class], a, sizeof(void *));
    else
        a = ts_arena_alloc(&pool->arena, (size_t)16 << class);
    a[0] = 0;
    a[1] = room_of(class);
    return a;
}

static void array_give_back(struct sto_posting_pool *pool, uint32_t *a)
{
    unsigned class = 0;
    while (room_of(class) != a[1])
        class ++;
    memcpy(a, &pool->free_arrays[class], sizeof(void *));
    pool->free_arrays[class] = a;
}

/* Insert into a sorted array with free space; most numbers belong at its end. */
static void array_insert(uint32_t *a, uint32_t id)
{
    uint32_t *ids = a + 2, i = a[0];
    while (i > 0 && ids[i - 1] > id)
        i--;
    if (i > 0 && ids[i - 1] == id)
        return;
    memmove(ids + i + 1, ids + i, (a[0] - i) * sizeof(*ids));
    ids[i] = id;
    a[0]++;
}

static sto_posting bitmap_from(struct sto_posting_pool *pool, size_t n, const uint32_t *ids)
{
    pool->n_bitmaps++;
    return (sto_posting)(uintptr_t)roaring_bitmap_of_ptr(n, ids) | BITMAP;
}

static void array_add(sto_posting *set, struct sto_posting_pool *pool, uint32_t id)
{
    uint32_t *a = array_of(*set);
    if (a[0] == a[1]) {
        for (uint32_t i = a[0]; i > 0 && a[1 + i] >= id; i--)
            if (a[1 + i] == id)
                return;
        if (a[0] == STO_POSTING_MAX_ARRAY) {
            *set = bitmap_from(pool, a[0], a + 2);
            roaring_bitmap_add(bitmap_of(*set), id);
            array_give_back(pool, a);
            return;
        }
        unsigned class = a[1] == room_of(0) ? 1 : 2;
        uint32_t *b = array_new(pool, class);
        memcpy(b + 2, a + 2, a[0] * sizeof(*a));
        b[0] = a[0];
        array_give_back(pool, a);
        *set = (sto_posting)(uintptr_t)b | ARRAY;
        a = b;
    }
    array_insert(a, id);
}

void sto_posting__add(sto_posting *set, struct sto_posting_pool *pool, uint32_t id)
{
    switch (kind_of(*set)) {
    case EMPTY:
        *set = (sto_posting)id << 2 | ONE;
        return;
    case ONE: {
        uint32_t first = (uint32_t)(*set >> 2);
        if (first == id)
            return;
        uint32_t *a = array_new(pool, 0);
        array_insert(a, first);
        array_insert(a, id);
        *set = (sto_posting)(uintptr_t)a | ARRAY;
        return;
    }
    case ARRAY:
        array_add(set, pool, id);
        return;
    case BITMAP:
        roaring_bitmap_add(bitmap_of(*set), id);
        return;
    }
}

void sto_posting__add_many(sto_posting *set, struct sto_posting_pool *pool, const uint32_t *ids, size_t n)
{
    if (kind_of(*set) == EMPTY && n > STO_POSTING_MAX_ARRAY) {
        *set = bitmap_from(pool, n, ids);
        return;
    }
    while (n && kind_of(*set) != BITMAP) {
        sto_posting__add(set, pool, *ids++);
        n--;
    }
    if (n)
        roaring_bitmap_add_many(bitmap_of(*set), n, ids);
}

static void array_remove(sto_posting *set, struct sto_posting_pool *pool, uint32_t id)
{
    uint32_t *a = array_of(*set), *ids = a + 2, i = 0;
    while (i < a[0] && ids[i] != id)
        i++;
    if (i == a[0])
        return;
    memmove(ids + i, ids + i + 1, (a[0] - i - 1) * sizeof(*ids));
    if (--a[0] > 1)
        return;
    *set = a[0] ? (sto_posting)ids[0] << 2 | ONE : 0;
    array_give_back(pool, a);
}

static void bitmap_remove(sto_posting *set, struct sto_posting_pool *pool, uint32_t id)
{
    roaring_bitmap_t *b = bitmap_of(*set);
    roaring_bitmap_remove(b, id);
    if (!roaring_bitmap_is_empty(b))
        return;
    roaring_bitmap_free(b);
    pool->n_bitmaps--;
    *set = 0;
}

void sto_posting__remove(sto_posting *set, struct sto_posting_pool *pool, uint32_t id)
{
    switch (kind_of(*set)) {
    case EMPTY:
        return;
    case ONE:
        if ((uint32_t)(*set >> 2) == id)
            *set = 0;
        return;
    case ARRAY:
        array_remove(set, pool, id);
        return;
    case BITMAP:
        bitmap_remove(set, pool, id);
        return;
    }
}

uint64_t sto_posting__count(sto_posting set)
{
    switch (kind_of(set)) {
    case EMPTY:
        return 0;
    case ONE:
        return 1;
    case ARRAY:
        return array_of(set)[0];
    case BITMAP:
        break;
    }
    return roaring_bitmap_get_cardinality(bitmap_of(set));
}

void sto_posting__or_into(sto_posting set, roaring_bitmap_t *out)
{
    switch (kind_of(set)) {
    case EMPTY:
        return;
    case ONE:
        roaring_bitmap_add(out, (uint32_t)(set >> 2));
        return;
    case ARRAY:
        roaring_bitmap_add_many(out, array_of(set)[0], array_of(set) + 2);
        return;
    case BITMAP:
        roaring_bitmap_or_inplace(out, bitmap_of(set));
        return;
    }
}

roaring_bitmap_t *sto_posting__copy(sto_posting set)
{
    if (kind_of(set) == BITMAP)
        return roaring_bitmap_copy(bitmap_of(set));
    roaring_bitmap_t *b = roaring_bitmap_create();
    sto_posting__or_into(set, b);
    return b;
}

void sto_posting__and_into(sto_posting set, roaring_bitmap_t *b)
{
    if (kind_of(set) == BITMAP) {
        roaring_bitmap_and_inplace(b, bitmap_of(set));
        return;
    }
    roaring_bitmap_t *few = sto_posting__copy(set);
    roaring_bitmap_and_inplace(b, few);
    roaring_bitmap_free(few);
}

void sto_posting__free(sto_posting set)
{
    if (kind_of(set) == BITMAP)
        roaring_bitmap_free(bitmap_of(set));
}
