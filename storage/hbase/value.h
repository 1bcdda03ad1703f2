/*
 * value.h - values of points: integers of 1, 2, 4 or 8 bytes, floats of 4 or 8.
 *
 * Format     docs/OPENTSDB.md, section 10.2
 * Threads    pure functions
 * Not here   which length a qualifier says (qualifier.h), writing (encode.h)
 */
#ifndef STORAGE_HBASE_VALUE_H
#define STORAGE_HBASE_VALUE_H

#include "base/double.h"
#include "base/num.h"
#include "storage/hbase/bigendian.h"

/** Read a value of length bytes, 1, 2, 4 or 8: an integer with its sign, or the bits of a float of that length. */
static inline uint64_t sto_hbase_value_load(const uint8_t *p, unsigned length, bool is_float)
{
    switch (length) {
    case 1:
        return (uint64_t)(int64_t)(int8_t)p[0];
    case 2:
        return (uint64_t)(int64_t)(int16_t)sto_hbase_get(p, 2);
    case 4: {
        uint32_t v = (uint32_t)sto_hbase_get(p, 4);
        return is_float ? v : (uint64_t)(int64_t)(int32_t)v;
    }
    default:
        return sto_hbase_get(p, 8);
    }
}
/** Are these the bits of a finite float of 4 or 8 bytes? */
static inline bool sto_hbase_value_is_finite(uint64_t raw, unsigned length)
{
    uint64_t exponent = length == 4 ? 0x7f800000u : 0x7ff0000000000000u;
    return (raw & exponent) != exponent;
}
/** The number; floats are TS_NUM_RAW. */
static inline struct ts_num sto_hbase_value_num(uint64_t raw, unsigned length, bool is_float)
{
    if (is_float && length == 4) {
        float f;
        uint32_t bits = (uint32_t)raw;
        memcpy(&f, &bits, 4);
        raw = ts_double_bits((double)f);
    }
    return (struct ts_num){(int64_t)raw, is_float ? TS_NUM_RAW : TS_NUM_INT, 0};
}

#endif
