/*
 * double.h - converts a double to its 64 bits and back.
 *
 * Source     IEEE 754 binary64
 */
#ifndef BASE_DOUBLE_H
#define BASE_DOUBLE_H

#include <stdint.h>
#include <string.h>

/** The bits of a double; those of a NaN are returned unchanged. */
static inline uint64_t ts_double_bits(double d)
{
    uint64_t bits;
    memcpy(&bits, &d, 8);
    return bits;
}
/** The double with these bits. */
static inline double ts_double_of(uint64_t bits)
{
    double d;
    memcpy(&d, &bits, 8);
    return d;
}

#endif
