/*
 * idtab.c - hash table of ids that grows a little with each insertion.
 *
 * Threads    see idtab.h
 * Invariant  while old exists, all of its slots from old_next on are in slots only if inserted after the
 * growth
 */
#include "storage/catalog/idtab.h"

#include "base/mem.h"

#define FIRST_SLOTS 64u
#define REMOVED     ((uint64_t)1 << 32) /* no id, as its lower half is 0; not 0, so that walks continue */
#define MOVE_PER_STEP                                                                                        \
    8u /* slots of the old table moved by an insertion: done long before the new table is full */

static void put(uint64_t *slots, uint64_t cap, uint64_t slot)
{
    uint64_t at = sto_idtab__home((uint32_t)(slot >> 32), cap);
    while (slots[at])
        at = at + 1 == cap ? 0 : at + 1;
    slots[at] = slot;
}

/* Marks of removed entries do not move; since the growth n no longer counts them. */
static void move_some(struct sto_idtab *t, uint64_t n)
{
    uint64_t end = t->old_cap - t->old_next < n ? t->old_cap : t->old_next + n;
    for (uint64_t i = t->old_next; i < end; i++)
        if ((uint32_t)t->old[i])
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
    t->n -= t->n_removed;
    t->n_removed = 0;
}

/* Slots of the next table. Removed entries are not counted, so that a table whose entries come and go keeps
 * its size. */
static uint64_t next_cap(const struct sto_idtab *t)
{
    if (!t->cap)
        return FIRST_SLOTS;
    uint64_t live = t->n - t->n_removed;
    return live > t->cap / 2                           ? t->cap + t->cap / 2
           : live < t->cap / 8 && t->cap > FIRST_SLOTS ? t->cap / 2
                                                       : t->cap;
}

void sto_idtab__insert(struct sto_idtab *t, uint32_t hash, uint32_t id)
{
    if (t->n + 1 > t->cap / 4 * 3)
        grow(t, next_cap(t));
    if (t->old)
        move_some(t, MOVE_PER_STEP);
    put(t->slots, t->cap, (uint64_t)hash << 32 | (uint64_t)(id + 1));
    t->n++;
}

/* Mark the slot of an id as removed. False: it is not in this table. */
static bool mark_removed(uint64_t *slots, uint64_t cap, uint64_t slot)
{
    if (!cap)
        return false;
    uint64_t at = sto_idtab__home((uint32_t)(slot >> 32), cap);
    while (slots[at] && slots[at] != slot)
        at = at + 1 == cap ? 0 : at + 1;
    if (!slots[at])
        return false;
    slots[at] = REMOVED;
    return true;
}

void sto_idtab__remove(struct sto_idtab *t, uint32_t hash, uint32_t id)
{
    uint64_t slot = (uint64_t)hash << 32 | (uint64_t)(id + 1);
    bool in_old = mark_removed(t->old, t->old_cap, slot);
    if (mark_removed(t->slots, t->cap, slot))
        t->n_removed++;
    else
        t->n -= in_old; /* it will not move */
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
