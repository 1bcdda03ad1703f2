/*
 * idtab.h - hash table of ids: an entry is 32 bits of hash and an id in 8 bytes. The objects that the ids
 * denote are stored elsewhere.
 *
 * The caller compares: it walks over the ids with equal hash and checks the object of each. Growing moves a
 * few slots with each insertion, so that no insertion takes long; until all have moved, both tables are
 * searched. The caller's comparison rejects an id whose object no longer fits the hash. A removed entry
 * leaves a mark in its slot, which disappears when the table is next rebuilt.
 *
 *   slot: hash (upper 32 bits) | id + 1 (lower 32 bits)      0 = free      id + 1 = 0: removed
 *   place: hash * capacity / 2^32, then the following ones
 *
 * Threads    plain data: the catalog's lock
 * Cost       10.7-16 bytes an entry (filled to 1/2 - 3/4)
 */
#ifndef STORAGE_CATALOG_IDTAB_H
#define STORAGE_CATALOG_IDTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sto_idtab {
    uint64_t *slots; /* owned */
    uint64_t cap;    /* slots */
    /* used slots of both tables without those already moved; marks of removed entries in `slots` count */
    uint64_t n;
    uint64_t n_removed; /* marks of removed entries among them */
    uint64_t *old;      /* table from which slots are being moved; NULL = none */
    uint64_t old_cap;   /* slots of it */
    uint64_t old_next;  /* first slot of it not yet moved */
};

/* A walk over the ids of one hash. */
struct sto_idtab_walk {
    const uint64_t *slots; /* table being walked */
    uint64_t cap, at;      /* its size, next place */
    const uint64_t *old;   /* table to walk after it; NULL = none */
    uint64_t old_cap;      /* size of that */
    uint32_t hash;         /* wanted */
};

/** Place where the search for a hash begins. */
static inline uint64_t sto_idtab__home(uint32_t hash, uint64_t cap)
{
    return (uint64_t)((unsigned __int128)hash * cap >> 32);
}
/** Prefetch the memory that a walk will read. */
static inline void sto_idtab__prefetch(const struct sto_idtab *t, uint32_t hash)
{
    if (t->cap)
        __builtin_prefetch(&t->slots[sto_idtab__home(hash, t->cap)]);
}
/** Begin a walk. */
static inline struct sto_idtab_walk sto_idtab__walk(const struct sto_idtab *t, uint32_t hash)
{
    return (struct sto_idtab_walk){.slots = t->slots,
                                   .cap = t->cap,
                                   .at = sto_idtab__home(hash, t->cap),
                                   .old = t->old,
                                   .old_cap = t->old_cap,
                                   .hash = hash};
}
/** Next id with equal hash; false at the end. An id may occur twice while the table grows. */
static inline bool sto_idtab__next(struct sto_idtab_walk *w, uint32_t *out_id)
{
    if (!w->cap)
        return false;
    for (;;) {
        uint64_t slot = w->slots[w->at];
        if (slot == 0) {
            if (!w->old)
                return false;
            w->slots = w->old;
            w->cap = w->old_cap;
            w->at = sto_idtab__home(w->hash, w->cap);
            w->old = NULL;
            continue;
        }
        w->at = w->at + 1 == w->cap ? 0 : w->at + 1;
        if ((uint32_t)(slot >> 32) == w->hash && (uint32_t)slot) {
            *out_id = (uint32_t)slot - 1;
            return true;
        }
    }
}
/** Add an id (at most 2^32 - 2) that is not in the table. */
void sto_idtab__insert(struct sto_idtab *t, uint32_t hash, uint32_t id);
/** Remove an id that was inserted with this hash; nothing happens if it is not there. */
void sto_idtab__remove(struct sto_idtab *t, uint32_t hash, uint32_t id);
/** Grow to n entries at once, before many are loaded. */
void sto_idtab__reserve(struct sto_idtab *t, uint64_t n);
/** Release; the table is empty and usable again. */
void sto_idtab__release(struct sto_idtab *t);
/** Bytes of both tables. */
size_t sto_idtab__bytes(const struct sto_idtab *t);

#endif
