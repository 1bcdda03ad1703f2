/*
 * hugepage.h - huge pages for large tables that are read at random places.
 *
 * Threads    any
 */
#ifndef BASE_HUGEPAGE_H
#define BASE_HUGEPAGE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#define TS_HUGE_BYTES ((size_t)2 << 20) /* usual size of a huge page */

/** Ask the system to back the whole huge pages of a block by such pages: fewer misses of address translation, fewer
 * page faults. Memory is still taken when it is touched, but in larger pieces. The contents do not change; nothing
 * happens if the system has no huge pages or the block is small. */
static inline void ts_huge_pages(void *p, size_t n_bytes)
{
    uintptr_t from = ((uintptr_t)p + TS_HUGE_BYTES - 1) / TS_HUGE_BYTES * TS_HUGE_BYTES;
    uintptr_t to = ((uintptr_t)p + n_bytes) / TS_HUGE_BYTES * TS_HUGE_BYTES;
    if (to > from)
        (void)madvise((void *)from, to - from, MADV_HUGEPAGE); /* advice: failing changes nothing */
}

#endif
