/*
 * t_random.h - repeatable random numbers: the same seed, the same test.
 *
 * Source     Marsaglia, "Xorshift RNGs", 64 bits with 13, 7, 17
 */
#ifndef T_RANDOM_H
#define T_RANDOM_H

#include <stdint.h>

/* The number after *x, which is not 0; kept in *x. */
static inline uint64_t t_random(uint64_t *x)
{
    *x ^= *x << 13;
    *x ^= *x >> 7;
    *x ^= *x << 17;
    return *x;
}

#endif
