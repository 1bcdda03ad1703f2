/*
 * array.h - room for one more element of a growing array, and the numbers in one.
 *
 * Threads    the caller's
 */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include "base/mem.h"

#include <stdbool.h>
#include <stdint.h>

/* Make room for one more element of P, which has N elements and room for CAP: FIRST at first, then twice as many. P, N and
 * CAP are evaluated more than once. Aborts when memory is short, as ts_xrealloc does. */
#define TS_ARRAY_GROW(P, N, CAP, FIRST)                                                                      \
    do {                                                                                                     \
        if ((N) == (CAP)) {                                                                                  \
            (CAP) = (CAP) ? (CAP)*2 : (FIRST);                                                               \
            (P) = ts_xrealloc((P), (CAP) * sizeof(*(P)));                                                    \
        }                                                                                                    \
    } while (0)

/** For qsort and bsearch of uint32_t, ascending. */
static inline int ts_cmp_u32(const void *pa, const void *pb)
{
    uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;
    return a < b ? -1 : a > b;
}
/** Is x one of the n numbers of v? */
static inline bool ts_has_u64(const uint64_t *v, size_t n, uint64_t x)
{
    for (size_t i = 0; i < n; i++)
        if (v[i] == x)
            return true;
    return false;
}

#endif
