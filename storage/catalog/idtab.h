/*
 * idtab.h - hash table of ids: an entry is 32 bits of hash and an id in 8 bytes. The objects that the ids
 * denote are stored elsewhere.
 *
 * The caller compares: it walks over the ids with equal hash and checks the object of each. The caller's
 * comparison rejects an id whose object no longer fits the hash. A removed entry leaves a mark in its slot,
 * which disappears when the table is next rebuilt.
 *
 * Growing moves a few slots with each insertion, in ascending order, so that no insertion takes long. The
 * place of an entry grows with its hash in both tables; therefore moving fills the new table from its
 * beginning as it empties the old one, whose pages are returned to the system. An entry whose place in the
 * old table has not been reached is inserted there. So a growing table takes about as much memory as before
 * or after, not both, and such an entry is searched in the old table only: one cache miss, and none of the
 * new table's pages beyond what moving has reached is touched.
 *
 *   slot: hash (upper 32 bits) | id + 1 (lower 32 bits)      0 = free      id + 1 = 0: removed
 *   place: hash * capacity / 2^32, then the following ones
 *
 * Threads    plain data: the catalog's lock
 * Cost       10.7-13.3 bytes an entry (filled to 0.6 - 0.75), also while it grows; an insertion moves 4
 *            others on average
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
    uint64_t old_freed; /* slots of it whose pages were returned, from its beginning */
    /* entries with this place in the old table or a higher one may be in the new table too: there was no free slot
     * between their place and the end */
    uint64_t old_full;
};

/* A walk over the ids of one hash. */
struct sto_idtab_walk {
    const uint64_t *slots; /* table being walked */
    uint64_t cap, at;      /* its size, next place */
    const uint64_t *old;   /* table to walk after it; NULL = none */
    uint64_t old_cap;      /* size of that */
    uint64_t old_next;     /* slots of it that are moved: the walk begins after them */
    uint32_t hash;         /* wanted */
    bool in_old;           /* the old table is walked, in which no entry is before its place */
};

/** Place where the search for a hash begins. */
static inline uint64_t sto_idtab__home(uint32_t hash, uint64_t cap)
{
    return (uint64_t)((unsigned __int128)hash * cap >> 32);
}
/** Place in the old table where the search for a hash begins if `next` slots of it are moved. There is no free
 * slot between the place of an entry and the entry, so the search may as well begin after the moved ones. */
static inline uint64_t sto_idtab__home_old(uint32_t hash, uint64_t cap, uint64_t next)
{
    uint64_t home = sto_idtab__home(hash, cap);
    return home < next ? next : home;
}
/** Are all entries of a hash in the old table? */
static inline bool sto_idtab__only_old(const struct sto_idtab *t, uint32_t hash)
{
    if (!t->old)
        return false;
    uint64_t home = sto_idtab__home(hash, t->old_cap);
    return home >= t->old_next && home < t->old_full;
}
/** Prefetch the memory that a walk will read first. */
static inline void sto_idtab__prefetch(const struct sto_idtab *t, uint32_t hash)
{
    if (sto_idtab__only_old(t, hash))
        __builtin_prefetch(&t->old[sto_idtab__home(hash, t->old_cap)]);
    else if (t->cap)
        __builtin_prefetch(&t->slots[sto_idtab__home(hash, t->cap)]);
}
/** Begin a walk. */
static inline struct sto_idtab_walk sto_idtab__walk(const struct sto_idtab *t, uint32_t hash)
{
    if (sto_idtab__only_old(t, hash))
        return (struct sto_idtab_walk){.slots = t->old,
                                       .cap = t->old_cap,
                                       .at = sto_idtab__home(hash, t->old_cap),
                                       .hash = hash,
                                       .in_old = true};
    return (struct sto_idtab_walk){.slots = t->slots,
                                   .cap = t->cap,
                                   .at = sto_idtab__home(hash, t->cap),
                                   .old = t->old,
                                   .old_cap = t->old_cap,
                                   .old_next = t->old_next,
                                   .hash = hash};
}
/** Next id with equal hash; false at the end. */
static inline bool sto_idtab__next(struct sto_idtab_walk *w, uint32_t *out_id)
{
    if (!w->cap)
        return false;
    for (;;) {
        uint64_t slot = w->at < w->cap ? w->slots[w->at] : 0;
        if (slot == 0) {
            if (!w->old)
                return false;
            w->slots = w->old;
            w->cap = w->old_cap;
            w->at = sto_idtab__home_old(w->hash, w->cap, w->old_next);
            w->old = NULL;
            w->in_old = true;
            continue;
        }
        w->at = w->at + 1 == w->cap && !w->in_old ? 0 : w->at + 1;
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
/** Bytes of memory: of the old table what is not moved, of the new one what moving has reached. */
size_t sto_idtab__bytes(const struct sto_idtab *t);

#endif
