/*
 * bigendian.h - numbers of 0 to 8 bytes, the most significant byte first.
 *
 * Threads    pure functions
 */
#ifndef STORAGE_HBASE_BIGENDIAN_H
#define STORAGE_HBASE_BIGENDIAN_H

#include <stdint.h>
#include <string.h>

/** Read n bytes at p, 0 to 8. */
static inline uint64_t sto_hbase_get(const void *p, unsigned n)
{
    const uint8_t *bytes = (const uint8_t *)p;
    uint64_t v = 0;
    for (unsigned i = 0; i < n; i++)
        v = v << 8 | bytes[i];
    return v;
}
/** Write the n lowest bytes of v, 0 to 8; returns the byte after them. */
static inline uint8_t *sto_hbase_put(uint8_t *p, uint64_t v, unsigned n)
{
    for (unsigned i = n; i; i--, v >>= 8)
        p[i - 1] = (uint8_t)v;
    return p + n;
}

#endif
