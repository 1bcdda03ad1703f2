/*
 * mem.h - allocation: abort for small fixed sizes, try for sizes from outside; arenas.
 *
 * Threads    ts_x* and ts_try_* from any thread; an arena belongs to one thread at a time, except that
 *            memory already handed out may be read by others
 * Invariant  raw malloc is called nowhere else
 */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stddef.h>
#include <stdint.h>

struct ts_budget;

/** malloc that ends the process with a message when memory is short: for sizes that the program chooses. */
void *ts_xmalloc(size_t n_bytes) __attribute__((malloc, returns_nonnull));
/** n items of n_bytes, zeroed; ends the process when memory is short or n * n_bytes overflows. */
void *ts_xcalloc(size_t n, size_t n_bytes) __attribute__((malloc, returns_nonnull));
/** realloc that ends the process when memory is short. */
void *ts_xrealloc(void *p, size_t n_bytes) __attribute__((returns_nonnull));
/** Copy of a C string; ends the process when memory is short. */
char *ts_xstrdup(const char *s) __attribute__((malloc, returns_nonnull));
/** Copy of n bytes and a zero behind them; s may be NULL if n is 0. Ends the process when memory is short. */
char *ts_xstrndup(const char *s, size_t n) __attribute__((malloc, returns_nonnull));
/** malloc for sizes that come from outside: NULL when memory is short or a test requests it. */
void *ts_try_malloc(size_t n_bytes) __attribute__((malloc));
/** n items of n_bytes, zeroed; NULL when memory is short or n * n_bytes overflows. */
void *ts_try_calloc(size_t n, size_t n_bytes) __attribute__((malloc));
/** realloc for sizes that come from outside: NULL when memory is short, p stays as it was. */
void *ts_try_realloc(void *p, size_t n_bytes);
/** The same for a large block whose places are used in no order: in huge pages where the machine has them. */
void *ts_try_pages(size_t n_bytes) __attribute__((malloc));
/** 64-byte aligned block (cache lines), freed by ts_free; ends the process when memory is short. */
void *ts_xaligned(size_t n_bytes) __attribute__((malloc, returns_nonnull));
/** free; NULL is harmless. */
void ts_free(void *p);

/** Test hook: the n-th following ts_try_* call returns NULL once (0 = off). Process-wide. */
void ts_mem_fail_after(uint64_t n);
/** Number of ts_try_* calls up to and including the one that will return NULL; 0 = it has returned NULL, or none was requested. */
uint64_t ts_mem_fail_left(void);

/* Memory of many allocations that is freed at once. Blocks double from first_bytes up to 1 MiB; a larger request gets
 * its own block. */
struct ts_arena {
    struct ts_arena_block *head; /* newest block; private */
    char *p, *end;               /* free part of the newest block; private */
    size_t
        used_bytes; /* bytes taken from the system, blocks and headers; others read it with __atomic_load_n */
    size_t next_bytes;  /* size of the next block; private */
    size_t first_bytes; /* size of the first block, for release; private */
    struct ts_budget *
        budget; /* account of used_bytes (base/budget.h); set it while the arena is empty; NULL = uncounted */
};
/** Empty arena; first_bytes 0 = 4 KiB. Takes no memory yet. {0} is an empty arena too. */
void ts_arena_init(struct ts_arena *a, size_t first_bytes);
/** n_bytes aligned to 8, not cleared. Aborts when memory is short; counted in the arena's budget, never refused by it. O(1). */
void *ts_arena_alloc(struct ts_arena *a, size_t n_bytes) __attribute__((returns_nonnull));
/** The same for sizes that come from outside: NULL when the arena's budget refuses or memory is short. */
void *ts_arena_try(struct ts_arena *a, size_t n_bytes);
/** As ts_arena_alloc, cleared. */
void *ts_arena_zalloc(struct ts_arena *a, size_t n_bytes) __attribute__((returns_nonnull));
/** Copy of n bytes plus a terminating zero. */
char *ts_arena_strndup(struct ts_arena *a, const char *s, size_t n) __attribute__((returns_nonnull));
/** Give everything back; the arena is empty and usable again. Idempotent. */
void ts_arena_release(struct ts_arena *a);

#endif
