/*
 * idruns.h - list of ids as runs of consecutive ids, for ids that are in use but not in the log yet.
 *
 * Threads    plain data: the catalog's lock
 */
#ifndef STORAGE_CATALOG_IDRUNS_H
#define STORAGE_CATALOG_IDRUNS_H

#include <stddef.h>
#include <stdint.h>

/* The ids first to first + n - 1. */
struct sto_idrun {
    uint32_t first; /* lowest id */
    uint32_t n;     /* ids, at least 1 */
};

struct sto_idruns {
    struct sto_idrun *runs; /* owned */
    size_t n, cap;          /* runs in use, capacity */
};

/** Add an id that is not in the list. An id that follows the last one only extends its run. */
void sto_idruns__add(struct sto_idruns *r, uint32_t id);
/** Add all ids of another list. */
void sto_idruns__add_all(struct sto_idruns *r, const struct sto_idruns *other);
/** Sort by id and join adjacent runs; duplicates are removed. */
void sto_idruns__sort(struct sto_idruns *r);
/** Release; the list is empty and usable again. */
void sto_idruns__release(struct sto_idruns *r);

#endif
