/*
 * idtab.c - hash table of ids that grows a little with each insertion.
 *
 * Threads    see idtab.h
 * Invariant  while old is there, all of its slots from old_next on are in slots only if inserted after the
 * growth
 */
#include "storage/catalog/idtab.h"

#include "base/mem.h"

#define FIRST_SLOTS 64u
#define MOVE_PER_STEP                                                                                        \
    8u /* slots of the old table moved by an insertion: done long before the new table is full */

static void put(uint64_t *slots, uint64_t cap, uint64_t slot)
{
    uint64_t at = sto_idtab__home((uint32_t)(slot >> 32), cap);
    while (slots[at])
        at = at + 1 == cap ? 0 : at + 1;
    slots[at] = slot;
}

static void move_some(struct sto_idtab *t, uint64_t n)
{
    uint64_t end = t->old_cap - t->old_next < n ? t->old_cap : t->old_next + n;
    for (uint64_t i = t->old_next; i < end; i++)
        if (t->old[i])
            put(t->slots, t->cap, t->old[i]);
    t->old_next = end;
    if (end == t->old_cap) {
        ts_free(t->old);
        t->old = NULL;
        t->old_cap = t->old_next = 0;
    }
}

static void grow(struct sto_idtab *t, uint64_t cap)
{
    if (t->old)
        move_some(t, t->old_cap);
    if (t->cap) {
        t->old = t->slots;
        t->old_cap = t->cap;
        t->old_next = 0;
    }
    t->slots = ts_xcalloc(cap, sizeof(*t->slots));
    t->cap = cap;
}

void sto_idtab__insert(struct sto_idtab *t, uint32_t hash, uint32_t id)
{
    if (t->n + 1 > t->cap / 4 * 3)
        grow(t, t->cap ? t->cap + t->cap / 2 : FIRST_SLOTS);
    if (t->old)
        move_some(t, MOVE_PER_STEP);
    put(t->slots, t->cap, (uint64_t)hash << 32 | (uint64_t)(id + 1));
    t->n++;
}

void sto_idtab__reserve(struct sto_idtab *t, uint64_t n)
{
    uint64_t cap = n + n / 2 + FIRST_SLOTS;
    if (cap <= t->cap)
        return;
    grow(t, cap);
    if (t->old)
        move_some(t, t->old_cap);
}

void sto_idtab__release(struct sto_idtab *t)
{
    ts_free(t->slots);
    ts_free(t->old);
    *t = (struct sto_idtab){0};
}

size_t sto_idtab__bytes(const struct sto_idtab *t)
{
    return (t->cap + t->old_cap) * sizeof(*t->slots);
}
