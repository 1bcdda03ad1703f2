/*
 * idruns.h - a list of ids as runs of consecutive ones: what was given out and is not in the log yet.
 *
 * Threads    plain data: the catalog's lock
 */
#ifndef STORAGE_CATALOG_IDRUNS_H
#define STORAGE_CATALOG_IDRUNS_H

#include <stddef.h>
#include <stdint.h>

/* n ids from first on. */
struct sto_idrun {
    uint32_t first; /* lowest id */
    uint32_t n;     /* ids, at least 1 */
};

struct sto_idruns {
    struct sto_idrun *runs; /* owned */
    size_t n, cap;          /* runs used, room */
};

/** Add an id that is not in the list. Ids that follow each other cost nothing. */
void sto_idruns__add(struct sto_idruns *r, uint32_t id);
/** Add all ids of another list. */
void sto_idruns__add_all(struct sto_idruns *r, const struct sto_idruns *other);
/** Sort by id and join neighbours; ids that came twice stay once. */
void sto_idruns__sort(struct sto_idruns *r);
/** Free; usable again. */
void sto_idruns__release(struct sto_idruns *r);

#endif
