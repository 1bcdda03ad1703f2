/*
 * clones.h - functions that are compiled once more for newer processors.
 *
 * TS_CLONES before a function definition makes the compiler emit it twice: for the processors that the build is for, and for those of
 * x86-64-v3 (AVX2, BMI, LZCNT: Intel since 2013, AMD since 2015). The loader chooses once, so a call costs what a call through a pointer
 * costs. Functions that it calls are cloned only where they are inlined. For loops over columns of integers, whose results cannot depend on the
 * choice; not for sums of doubles, which a fused multiplication would change.
 *
 * Elsewhere, and under sanitizers, whose run time is not ready when the loader chooses, it does nothing.
 */
#ifndef BASE_CLONES_H
#define BASE_CLONES_H

#include <features.h>

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) &&                 \
    __GNUC__ >= 12 && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define TS_CLONES __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define TS_CLONES
#endif

#endif
