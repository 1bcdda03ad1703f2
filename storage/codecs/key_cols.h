/*
 * key_cols.h - checks of the columns of keys in a block of one metric, as vectors.
 *
 * The columns hold the differences of a row's series and hour from those of the row before it. A key has a series of 32 bits and an hour
 * of 32 bits with a sign, so valid differences are less than STO_KEY_FAR apart from 0, and sums of a block of those do not overflow.
 *
 * Format     docs/FORMAT.md "Block", "Summaries"
 * Cost       two passes of additions and shifts, which a compiler turns into vectors
 */
#ifndef STORAGE_CODECS_KEY_COLS_H
#define STORAGE_CODECS_KEY_COLS_H

#include <stdbool.h>
#include <stdint.h>

#define STO_KEY_FAR_BITS 33u

/**
 * May the keys of a block be computed from these columns, and do they ascend?
 *
 * @param series differences of rows 1 to n - 1; that of row 0 is not used
 * @param hours  as series
 * @param n      rows
 * @param least  least difference of the hours of rows of one series: 0 if a row may have the key of the one before it, else 1
 */
static inline bool sto_key_cols__ascend(const int64_t *series, const int64_t *hours, uint32_t n,
                                        uint64_t least)
{
    uint64_t far = 0, down = 0;
    for (uint32_t i = 1; i < n; i++) {
        uint64_t s = (uint64_t)series[i], h = (uint64_t)hours[i];
        far |= s >> STO_KEY_FAR_BITS | (h + (1ull << STO_KEY_FAR_BITS)) >> (STO_KEY_FAR_BITS + 1);
        down |= (s - 1) &
                (h - least); /* both are negative: the series is the same, and its hour does not ascend */
    }
    return !(far | down >> 63);
}

/** Bits that are set if an hour is out of the range of a key; bits of several hours may be joined by |. */
static inline uint64_t sto_key_cols__bad_hour(uint64_t hour)
{
    return (hour + (1ull << 31)) >> 32;
}

#endif
