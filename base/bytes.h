/*
 * bytes.h - little-endian integers, varints, zigzag. All inline: hot paths use them.
 *
 * Source     LEB128 varints as in Protocol Buffers "Encoding"; zigzag idem
 * Invariant  every ts_get_* that reads untrusted bytes takes an end pointer and never reads past it
 */
#ifndef BASE_BYTES_H
#define BASE_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "tsd keeps little-endian files and is built for little-endian machines only"
#endif

static inline uint16_t ts_ld16(const void *p)
{
    uint16_t v;
    memcpy(&v, p, 2);
    return v;
}
/** 4 bytes. */
static inline uint32_t ts_ld32(const void *p)
{
    uint32_t v;
    memcpy(&v, p, 4);
    return v;
}
/** 8 bytes. */
static inline uint64_t ts_ld64(const void *p)
{
    uint64_t v;
    memcpy(&v, p, 8);
    return v;
}
/** Store 2 bytes, little-endian, anywhere. */
static inline void ts_st16(void *p, uint16_t v)
{
    memcpy(p, &v, 2);
}
/** 4 bytes. */
static inline void ts_st32(void *p, uint32_t v)
{
    memcpy(p, &v, 4);
}
/** 8 bytes. */
static inline void ts_st64(void *p, uint64_t v)
{
    memcpy(p, &v, 8);
}

/** Map signed to unsigned so that small magnitudes stay small, and back. */
static inline uint64_t ts_zigzag(int64_t v)
{
    return ((uint64_t)v << 1) ^ (uint64_t)(v >> 63);
}
/** Back again. */
static inline int64_t ts_unzigzag(uint64_t v)
{
    return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

#define TS_VARINT_MAX_BYTES 10
/** Write v at p (at most 10 bytes); returns the byte after it. */
static inline uint8_t *ts_put_varint(uint8_t *p, uint64_t v)
{
    while (v >= 0x80) {
        *p++ = (uint8_t)(v | 0x80);
        v >>= 7;
    }
    *p++ = (uint8_t)v;
    return p;
}
/** Read a varint from [p, end); returns the byte after it, NULL when it is cut or longer than 64 bits. */
static inline const uint8_t *ts_get_varint(const uint8_t *p, const uint8_t *end, uint64_t *out)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64 && p < end; shift += 7) {
        uint64_t b = *p++;
        if (shift == 63 && b > 1)
            return NULL;
        v |= (b & 0x7f) << shift;
        if (b < 0x80) {
            *out = v;
            return p;
        }
    }
    return NULL;
}
/** Bits of v up to the highest one that is set; 0 of 0. No branch. */
static inline unsigned ts_bit_len(uint64_t v)
{
    return 63u - (unsigned)__builtin_clzll(v | 1) + (v != 0);
}
/** Bytes that ts_put_varint writes for v. */
static inline unsigned ts_varint_bytes(uint64_t v)
{
    return v ? (unsigned)(70 - __builtin_clzll(v)) / 7 : 1;
}

#endif
