/*
 * hash_int.h - the implementations of CRC-32C, so that tests can compare them.
 *
 * Not here   the function everyone calls (hash.h)
 */
#ifndef BASE_HASH_INT_H
#define BASE_HASH_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** CRC-32C with tables; any machine. */
uint32_t ts_hash__crc32c_table(uint32_t crc, const void *p, size_t n);
/** May ts_hash__crc32c_hw be called on this machine? */
bool ts_hash__crc32c_has_hw(void);
/** CRC-32C with the machine's instruction; TS_BUG where there is none. */
uint32_t ts_hash__crc32c_hw(uint32_t crc, const void *p, size_t n);

#endif
