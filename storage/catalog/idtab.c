/*
 * idtab.c - hash table of ids that grows a little with each insertion.
 *
 * Threads    see idtab.h
 * Invariant  while old exists, an entry is in slots or in old from old_next on, never in both; an entry in old
 *            is not before its place, and no free slot is between them except before old_next; an entry in slots
 *            has its place in old before old_next or from old_full on
 */
#include "storage/catalog/idtab.h"

#include <sys/mman.h>

#include "base/hugepage.h"
#include "base/mem.h"

#define FIRST_SLOTS 64u
#define REMOVED     ((uint64_t)1 << 32) /* no id, as its lower half is 0; not 0, so that walks continue */
/* Slots of the old table moved by an insertion: all are moved after a third of the insertions until the next
 * growth, and the old table is filled to 13/16 at most. */
#define MOVE_PER_STEP 16u
#define PAGE_BYTES    4096u
#define FREE_SLOTS    (TS_HUGE_BYTES / 8) /* pages of the old table are returned for so many slots at once */

static void put(uint64_t *slots, uint64_t cap, uint64_t slot)
{
    uint64_t at = sto_idtab__home((uint32_t)(slot >> 32), cap);
    while (slots[at])
        at = at + 1 == cap ? 0 : at + 1;
    slots[at] = slot;
}

/* Return the pages of moved slots to the system. They read as free slots afterwards. */
static void free_moved(struct sto_idtab *t)
{
    if (t->old_next - t->old_freed < FREE_SLOTS)
        return;
    /* whole huge pages, so that none has to be split; the first piece begins at the start of the table */
    uintptr_t from = (uintptr_t)(t->old + t->old_freed), to = (uintptr_t)(t->old + t->old_next);
    from = (from + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    to = to / TS_HUGE_BYTES * TS_HUGE_BYTES;
    if (to <= from)
        return;
    (void)madvise((void *)from, to - from, MADV_DONTNEED); /* if it fails, they are freed with the table */
    t->old_freed = (uint64_t)((uint64_t *)to - t->old);
}

/* Marks of removed entries do not move; since the growth n no longer counts them. */
static void move_some(struct sto_idtab *t, uint64_t n)
{
    uint64_t end = t->old_cap - t->old_next < n ? t->old_cap : t->old_next + n;
    for (uint64_t i = t->old_next; i < end; i++)
        if ((uint32_t)t->old[i])
            put(t->slots, t->cap, t->old[i]);
    t->old_next = end;
    if (end < t->old_cap) {
        free_moved(t);
        return;
    }
    ts_free(t->old);
    t->old = NULL;
    t->old_cap = t->old_next = t->old_freed = t->old_full = 0;
}

/* An entry goes to the new table before moving reaches its place in the old one. */
static void goes_early(struct sto_idtab *t, uint64_t slot)
{
    uint64_t home = sto_idtab__home((uint32_t)(slot >> 32), t->old_cap);
    if (home >= t->old_next && home < t->old_full)
        t->old_full = home;
}

/* Put an entry into the old table if moving has not reached its place and there is a free slot after it. */
static bool put_old(struct sto_idtab *t, uint64_t slot)
{
    uint64_t at = sto_idtab__home((uint32_t)(slot >> 32), t->old_cap);
    if (at < t->old_next)
        return false;
    while (at < t->old_cap && t->old[at])
        at++;
    if (at == t->old_cap) {
        goes_early(t, slot);
        return false;
    }
    t->old[at] = slot;
    return true;
}

static void grow(struct sto_idtab *t, uint64_t cap)
{
    if (t->old)
        move_some(t, t->old_cap);
    if (t->cap) {
        t->old = t->slots;
        t->old_cap = t->cap;
        t->old_next = t->old_freed = 0;
        t->old_full = t->old_cap;
    }
    t->slots = ts_xcalloc(cap, sizeof(*t->slots));
    ts_huge_pages(t->slots, cap * sizeof(*t->slots));
    t->cap = cap;
    t->n -= t->n_removed;
    t->n_removed = 0;
    while (t->old &&
           t->old[t->old_next]) { /* entries that belong to the end of the table and did not fit there */
        uint64_t slot = t->old[t->old_next];
        move_some(t, 1);
        if (t->old)
            goes_early(t, slot);
    }
}

/* Slots of the next table. Removed entries are not counted, so that a table whose entries come and go keeps
 * its size. */
static uint64_t next_cap(const struct sto_idtab *t)
{
    if (!t->cap)
        return FIRST_SLOTS;
    uint64_t live = t->n - t->n_removed;
    return live > t->cap / 2                           ? t->cap + t->cap / 4
           : live < t->cap / 8 && t->cap > FIRST_SLOTS ? t->cap / 2
                                                       : t->cap;
}

void sto_idtab__insert(struct sto_idtab *t, uint32_t hash, uint32_t id)
{
    if (t->n + 1 > t->cap / 4 * 3)
        grow(t, next_cap(t));
    if (t->old)
        move_some(t, MOVE_PER_STEP);
    uint64_t slot = (uint64_t)hash << 32 | (uint64_t)(id + 1);
    if (!t->old || !put_old(t, slot))
        put(t->slots, t->cap, slot);
    t->n++;
}

/* Mark the slot of an id as removed; the search begins at `at`, and continues from the first slot after the last
 * one if it wraps. False: it is not in this table. */
static bool mark_removed(uint64_t *slots, uint64_t cap, uint64_t at, uint64_t slot, bool wraps)
{
    while (at < cap && slots[at] && slots[at] != slot)
        at = at + 1 == cap && wraps ? 0 : at + 1;
    if (at == cap || !slots[at])
        return false;
    slots[at] = REMOVED;
    return true;
}

void sto_idtab__remove(struct sto_idtab *t, uint32_t hash, uint32_t id)
{
    uint64_t slot = (uint64_t)hash << 32 | (uint64_t)(id + 1);
    if (!sto_idtab__only_old(t, hash) && t->cap &&
        mark_removed(t->slots, t->cap, sto_idtab__home(hash, t->cap), slot, true))
        t->n_removed++;
    else if (t->old && mark_removed(t->old, t->old_cap, sto_idtab__home_old(hash, t->old_cap, t->old_next),
                                    slot, false))
        t->n--; /* it will not move */
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
    if (!t->old)
        return t->cap * sizeof(*t->slots);
    uint64_t reached = (uint64_t)((unsigned __int128)t->cap * t->old_next / t->old_cap);
    return (t->old_cap - t->old_next + reached) * sizeof(*t->slots);
}
