/*
 * array.h - room for one more element of a growing array.
 *
 * Threads    the caller's
 */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include "base/mem.h"

/* Make room for one more element of P, which has N elements and room for CAP: FIRST at first, then twice as many. P, N and
 * CAP are evaluated more than once. Aborts when memory is short, as ts_xrealloc does. */
#define TS_ARRAY_GROW(P, N, CAP, FIRST)                                                                      \
    do {                                                                                                     \
        if ((N) == (CAP)) {                                                                                  \
            (CAP) = (CAP) ? (CAP)*2 : (FIRST);                                                               \
            (P) = ts_xrealloc((P), (CAP) * sizeof(*(P)));                                                    \
        }                                                                                                    \
    } while (0)

#endif
