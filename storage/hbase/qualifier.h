/*
 * qualifier.h - qualifiers of points: offset, resolution, type and length of the value.
 *
 *   2 bytes   oooooooo oooo ffff                       seconds, the first half byte is not 1111
 *   4 bytes   1111 oooo oooooooo oooooooo oo rr ffff   ms, rr is ignored
 *   ffff      1000 = float; 0111 = bytes of the value - 1
 *
 * Format     docs/OPENTSDB.md, section 10.4
 * Threads    pure functions
 */
#ifndef STORAGE_HBASE_QUALIFIER_H
#define STORAGE_HBASE_QUALIFIER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STO_HBASE_FLOAT   8u    /* flag: the value is a float */
#define STO_HBASE_LENGTH  7u    /* mask of the flags: bytes of the value - 1 */
#define STO_HBASE_MS_BYTE 0xf0u /* the first byte of a qualifier in ms has these bits */

/* A qualifier, parsed. */
struct sto_hbase_qualifier {
    uint32_t off_ms;
    uint8_t n;     /* bytes of the qualifier, 2 or 4 = ms */
    uint8_t flags; /* 4 bits */
};
/** Parse the qualifier that begins at p; false if it does not fit in n bytes. */
static inline bool sto_hbase_qualifier_parse(const uint8_t *p, size_t n, struct sto_hbase_qualifier *out)
{
    if (n < 2)
        return false;
    if ((p[0] & STO_HBASE_MS_BYTE) != STO_HBASE_MS_BYTE) {
        unsigned word = (unsigned)p[0] << 8 | p[1];
        *out = (struct sto_hbase_qualifier){(word >> 4) * 1000, 2, word & 15};
        return true;
    }
    if (n < 4)
        return false;
    uint32_t word = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
    *out = (struct sto_hbase_qualifier){(word & 0x0fffffff) >> 6, 4, word & 15};
    return true;
}
/** Bytes of the value that the flags describe; 0: there is no such type. */
static inline unsigned sto_hbase_flags_length(unsigned flags)
{
    static const uint8_t length[16] = {1, 2, 0, 4, 0, 0, 0, 8, 0, 0, 0, 4, 0, 0, 0, 8};
    return length[flags & 15];
}

#endif
