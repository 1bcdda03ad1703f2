/*
 * map64.c - open addressing, at most three quarters full.
 *
 * Threads    see map64.h
 */
#include "base/map64.h"

#include "base/hash.h"
#include "base/mem.h"

#include <string.h>

#define MAP64_FREE  UINT32_MAX
#define MAP64_FIRST 64 /* places of the first table */
#define MAP64_PLACE (sizeof(uint64_t) + sizeof(uint32_t))

void ts_map64_init(struct ts_map64 *m, size_t max_bytes)
{
    *m = (struct ts_map64){.max_bytes = max_bytes};
}

void ts_map64_release(struct ts_map64 *m)
{
    ts_free(m->keys);
    ts_free(m->values);
    ts_map64_init(m, m->max_bytes);
}

/* Where a key is, or would be. */
static size_t map64_place(const struct ts_map64 *m, uint64_t key)
{
    size_t at = (size_t)ts_hash_u64(key) & (m->cap - 1);
    while (m->values[at] != MAP64_FREE && m->keys[at] != key)
        at = (at + 1) & (m->cap - 1);
    return at;
}

bool ts_map64_get(const struct ts_map64 *m, uint64_t key, uint32_t *out)
{
    if (m->cap == 0)
        return false;
    size_t at = map64_place(m, key);
    *out = m->values[at];
    return *out != MAP64_FREE;
}

static int map64_grow(struct ts_map64 *m)
{
    struct ts_map64 to = {.n = m->n, .cap = m->cap ? m->cap * 2 : MAP64_FIRST, .max_bytes = m->max_bytes};
    to.used_bytes = to.cap * MAP64_PLACE;
    if (m->max_bytes && to.used_bytes + m->used_bytes > m->max_bytes)
        return TS_ELIMIT;
    to.keys = ts_try_malloc(to.cap * sizeof(*to.keys));
    to.values = ts_try_malloc(to.cap * sizeof(*to.values));
    if (!to.keys || !to.values) {
        ts_free(to.keys);
        ts_free(to.values);
        return TS_ENOMEM;
    }
    memset(to.values, 0xff, to.cap * sizeof(*to.values));
    for (size_t i = 0; i < m->cap; i++) {
        if (m->values[i] == MAP64_FREE)
            continue;
        size_t at = map64_place(&to, m->keys[i]);
        to.keys[at] = m->keys[i];
        to.values[at] = m->values[i];
    }
    ts_map64_release(m);
    *m = to;
    return 0;
}

int ts_map64_add(struct ts_map64 *m, uint64_t key, uint32_t value)
{
    if (m->n + 1 > m->cap / 4 * 3)
        TS_TRY(map64_grow(m));
    size_t at = map64_place(m, key);
    m->keys[at] = key;
    m->values[at] = value;
    m->n++;
    return 0;
}
