/*
 * hash.h - hashes: XXH3 (tables) and CRC-32C (files, logs).
 *
 * Source     xxHash 0.8 (library); CRC-32C polynomial 0x1EDC6F41 (RFC 3720 B.4), SSE4.2 where there
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/** 64-bit hash of bytes; not stable across versions of the library: never stored. */
uint64_t ts_hash(const void *p, size_t n);
/** Mixes one 64-bit number (murmur finaliser); stable: may decide what is stored (shard of a series). */
static inline uint64_t ts_hash_u64(uint64_t x)
{
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdull;
    x ^= x >> 33;
    x *= 0xc4ceb9fe1a85ec53ull;
    x ^= x >> 33;
    return x;
}
/** CRC-32C of bytes, continuing from crc (0 to begin). */
uint32_t ts_crc32c(uint32_t crc, const void *p, size_t n);

#endif
