/*
 * mem.c - allocation that ends the process when memory is short, allocation that returns NULL then, and arenas.
 *
 * Threads    see mem.h; the fault counter is one atomic word
 * Invariant  only ts_try_* and ts_arena_try return NULL
 * Not here   limits of buffers (buf.c), counting per subsystem (its owner)
 */
#include "base/mem.h"

#include "base/budget.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CACHE_LINE_BYTES  64
#define HUGE_PAGE_BYTES   ((size_t)2 << 20)
#define ARENA_ALIGN_BYTES 8
#define ARENA_FIRST_BYTES 4096
#define ARENA_MIN_BYTES   64
#define ARENA_MAX_BYTES   (1u << 20)

/* Calls of ts_try_* until one returns NULL; 0 = off. Relaxed everywhere: a test arms it before it starts
 * threads. */
static _Atomic uint64_t fail_after;

/* ts_bug is not used, since this is no error of the program; nor are streams of stdio, whose buffers may need memory. */
static void die_no_memory(size_t n_bytes) __attribute__((noreturn, cold));
static void die_no_memory(size_t n_bytes)
{
    char text[80];
    int n = snprintf(text, sizeof(text), "tsd: out of memory (%zu bytes wanted)\n", n_bytes);
    ssize_t ignored = write(STDERR_FILENO, text, (size_t)n);
    (void)ignored;
    abort();
}

static bool must_fail(void)
{
    uint64_t left = atomic_load_explicit(&fail_after, memory_order_relaxed);
    while (left != 0) {
        if (atomic_compare_exchange_weak_explicit(&fail_after, &left, left - 1, memory_order_relaxed,
                                                  memory_order_relaxed))
            return left == 1;
    }
    return false;
}

void ts_mem_fail_after(uint64_t n)
{
    atomic_store_explicit(&fail_after, n, memory_order_relaxed);
}

uint64_t ts_mem_fail_left(void)
{
    return atomic_load_explicit(&fail_after, memory_order_relaxed);
}

/* 0 bytes may legally give NULL, and realloc to 0 frees: allocate one byte instead. */
static size_t at_least_one(size_t n_bytes)
{
    return n_bytes ? n_bytes : 1;
}

void *ts_xmalloc(size_t n_bytes)
{
    void *p = malloc(at_least_one(n_bytes));
    if (!p)
        die_no_memory(n_bytes);
    return p;
}

void *ts_xcalloc(size_t n, size_t n_bytes)
{
    void *p = n && n_bytes ? calloc(n, n_bytes) : calloc(1, 1);
    if (!p)
        die_no_memory(n_bytes && n > SIZE_MAX / n_bytes ? SIZE_MAX : n * n_bytes);
    return p;
}

void *ts_xrealloc(void *p, size_t n_bytes)
{
    void *q = realloc(p, at_least_one(n_bytes));
    if (!q)
        die_no_memory(n_bytes);
    return q;
}

char *ts_xstrdup(const char *s)
{
    return ts_xstrndup(s, strlen(s));
}

char *ts_xstrndup(const char *s, size_t n)
{
    char *p = ts_xmalloc(n + 1);
    if (n)
        memcpy(p, s, n);
    p[n] = '\0';
    return p;
}

void *ts_try_malloc(size_t n_bytes)
{
    return must_fail() ? NULL : malloc(at_least_one(n_bytes));
}

void *ts_try_pages(size_t n_bytes)
{
    if (must_fail() || n_bytes > SIZE_MAX - HUGE_PAGE_BYTES)
        return NULL;
    size_t n = (n_bytes + HUGE_PAGE_BYTES - 1) / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES;
    void *p = aligned_alloc(HUGE_PAGE_BYTES, at_least_one(n));
    if (p)
        (void)madvise(p, n, MADV_HUGEPAGE);
    return p;
}

void *ts_try_calloc(size_t n, size_t n_bytes)
{
    return must_fail() ? NULL : n && n_bytes ? calloc(n, n_bytes) : calloc(1, 1);
}

void *ts_try_realloc(void *p, size_t n_bytes)
{
    return must_fail() ? NULL : realloc(p, at_least_one(n_bytes));
}

void *ts_xaligned(size_t n_bytes)
{
    if (n_bytes > SIZE_MAX - CACHE_LINE_BYTES)
        die_no_memory(n_bytes);
    size_t rounded = (at_least_one(n_bytes) + CACHE_LINE_BYTES - 1) & ~(size_t)(CACHE_LINE_BYTES - 1);
    void *p = aligned_alloc(CACHE_LINE_BYTES, rounded);
    if (!p)
        die_no_memory(n_bytes);
    return p;
}

void ts_free(void *p)
{
    free(p);
}

/* --- arenas --- */

/* In front of each block; a multiple of 8, so what follows is aligned. */
struct ts_arena_block {
    struct ts_arena_block *older; /* next one to free, NULL = last */
    size_t n_bytes;               /* header and payload */
};
_Static_assert(sizeof(struct ts_arena_block) % ARENA_ALIGN_BYTES == 0, "payload must be aligned");

void ts_arena_init(struct ts_arena *a, size_t first_bytes)
{
    if (first_bytes == 0)
        first_bytes = ARENA_FIRST_BYTES;
    if (first_bytes < ARENA_MIN_BYTES)
        first_bytes = ARENA_MIN_BYTES;
    if (first_bytes > ARENA_MAX_BYTES)
        first_bytes = ARENA_MAX_BYTES;
    *a = (struct ts_arena){.next_bytes = first_bytes, .first_bytes = first_bytes};
}

/* used_bytes is a plain member, and readers of other threads look at it for statistics: atomic, but no order
 * needed. */
static void set_used(struct ts_arena *a, size_t used_bytes)
{
    __atomic_store_n(&a->used_bytes, used_bytes, __ATOMIC_RELAXED);
}

/* must: abort instead of returning NULL, and count the bytes in the budget even above its limit. */
static struct ts_arena_block *add_block(struct ts_arena *a, size_t n_bytes, bool must)
{
    if (must)
        ts_budget_force(a->budget, n_bytes);
    else if (ts_budget_take(a->budget, n_bytes, NULL) < 0)
        return NULL;
    struct ts_arena_block *b = must ? ts_xmalloc(n_bytes) : ts_try_malloc(n_bytes);
    if (!b) {
        ts_budget_give(a->budget, n_bytes);
        return NULL;
    }
    b->n_bytes = n_bytes;
    set_used(a, a->used_bytes + n_bytes);
    return b;
}

/* The free part is too small for n_bytes (a multiple of 8). */
static void *alloc_slow(struct ts_arena *a, size_t n_bytes, bool must)
{
    if (a->next_bytes == 0) /* a zeroed struct is an empty arena too */
        a->next_bytes = a->first_bytes = ARENA_FIRST_BYTES;
    if (n_bytes > a->next_bytes - sizeof(struct ts_arena_block)) {
        struct ts_arena_block *own = add_block(a, sizeof(*own) + n_bytes, must);
        if (!own)
            return NULL;
        if (a->head) { /* inserted behind the newest block, whose free part stays in use */
            own->older = a->head->older;
            a->head->older = own;
        } else {
            own->older = NULL;
            a->head = own;
        }
        return own + 1;
    }
    struct ts_arena_block *b = add_block(a, a->next_bytes, must);
    if (!b)
        return NULL;
    b->older = a->head;
    a->head = b;
    a->p = (char *)(b + 1) + n_bytes;
    a->end = (char *)b + b->n_bytes;
    a->next_bytes = a->next_bytes * 2 < ARENA_MAX_BYTES ? a->next_bytes * 2 : ARENA_MAX_BYTES;
    return b + 1;
}

static inline void *arena_take(struct ts_arena *a, size_t n_bytes, bool must)
{
    n_bytes = (at_least_one(n_bytes) + ARENA_ALIGN_BYTES - 1) & ~(size_t)(ARENA_ALIGN_BYTES - 1);
    if (n_bytes > (size_t)(a->end - a->p))
        return alloc_slow(a, n_bytes, must);
    char *p = a->p;
    a->p += n_bytes;
    return p;
}

void *ts_arena_alloc(struct ts_arena *a, size_t n_bytes)
{
    if (n_bytes > SIZE_MAX / 2)
        die_no_memory(n_bytes);
    return arena_take(a, n_bytes, true);
}

void *ts_arena_try(struct ts_arena *a, size_t n_bytes)
{
    return n_bytes > SIZE_MAX / 2 ? NULL : arena_take(a, n_bytes, false);
}

void *ts_arena_zalloc(struct ts_arena *a, size_t n_bytes)
{
    void *p = ts_arena_alloc(a, n_bytes);
    memset(p, 0, n_bytes);
    return p;
}

char *ts_arena_strndup(struct ts_arena *a, const char *s, size_t n)
{
    if (n > SIZE_MAX / 2)
        die_no_memory(n);
    char *p = ts_arena_alloc(a, n + 1);
    if (n)
        memcpy(p, s, n);
    p[n] = '\0';
    return p;
}

void ts_arena_release(struct ts_arena *a)
{
    for (struct ts_arena_block *b = a->head, *older; b; b = older) {
        older = b->older;
        free(b);
    }
    ts_budget_give(a->budget, a->used_bytes);
    a->head = NULL;
    a->p = a->end = NULL;
    a->next_bytes = a->first_bytes;
    set_used(a, 0);
}
