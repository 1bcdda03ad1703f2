/*
 * map64.h - a hash table from 64-bit numbers to 32-bit ones, with a limit of memory. Entries are never removed.
 *
 * Threads    one thread at a time
 */
#ifndef BASE_MAP64_H
#define BASE_MAP64_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ts_map64 {
    uint64_t *keys;    /* owned: cap of them */
    uint32_t *values;  /* owned: the same; UINT32_MAX = free */
    size_t n, cap;     /* entries; places, a power of two */
    size_t max_bytes;  /* of both arrays; 0 = no limit */
    size_t used_bytes; /* now */
};
/** Initialise an empty table; allocates nothing. */
void ts_map64_init(struct ts_map64 *m, size_t max_bytes);
/** Free it; usable again. */
void ts_map64_release(struct ts_map64 *m);
/** Value of a key; false if it is not there. O(1). */
bool ts_map64_get(const struct ts_map64 *m, uint64_t key, uint32_t *out);
/** Add a key that is not there; value below UINT32_MAX. TS_ELIMIT (over max_bytes), TS_ENOMEM, both without text. */
int ts_map64_add(struct ts_map64 *m, uint64_t key, uint32_t value);

#endif
