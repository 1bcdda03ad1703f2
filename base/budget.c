/*
 * budget.c - accounts of memory in a tree.
 *
 * Threads    see budget.h
 * Invariant  a take that is refused leaves every count as it was
 */
#include "base/budget.h"

#include "base/mem.h"

#include <string.h>

/* All counts are statistics and limits that order nothing else: relaxed. */
#define RELAXED memory_order_relaxed

void ts_budget_init(struct ts_budget *b, const char *name, const char *key, struct ts_budget *parent,
                    uint64_t limit_bytes)
{
    memset(b, 0, sizeof(*b));
    b->name = name;
    b->key = key;
    b->parent = parent;
    b->limit_bytes = limit_bytes;
}

static void note_peak(struct ts_budget *b, uint64_t used)
{
    uint64_t peak = atomic_load_explicit(&b->peak_bytes, RELAXED);
    while (used > peak &&
           !atomic_compare_exchange_weak_explicit(&b->peak_bytes, &peak, used, RELAXED, RELAXED))
        ;
}

/* Count n_bytes in b alone; false: it is full. */
static bool take_one(struct ts_budget *b, uint64_t n_bytes)
{
    uint64_t used = atomic_load_explicit(&b->used_bytes, RELAXED), sum;
    do {
        uint64_t most = b->limit_bytes ? b->limit_bytes : UINT64_MAX;
        if (used > most || n_bytes > most - used)
            return false;
        sum = used + n_bytes;
    } while (!atomic_compare_exchange_weak_explicit(&b->used_bytes, &used, sum, RELAXED, RELAXED));
    note_peak(b, sum);
    return true;
}

static void give_one(struct ts_budget *b, uint64_t n_bytes)
{
    atomic_fetch_sub_explicit(&b->used_bytes, n_bytes, RELAXED);
}

int ts_budget_take(struct ts_budget *b, uint64_t n_bytes, struct ts_error *err)
{
    struct ts_budget *full = b;
    while (full && take_one(full, n_bytes))
        full = full->parent;
    if (!full)
        return 0;
    for (struct ts_budget *t = b; t != full; t = t->parent)
        give_one(t, n_bytes);
    atomic_fetch_add_explicit(&full->n_refused, 1, RELAXED);
    return ts_error_set(
        err, TS_ELIMIT,
        "Not enough memory for %s: %llu of %llu bytes are in use and %llu more are needed. Ask for "
        "less, try again later, or raise %s",
        full->name, (unsigned long long)atomic_load_explicit(&full->used_bytes, RELAXED),
        (unsigned long long)full->limit_bytes, (unsigned long long)n_bytes, full->key);
}

void ts_budget_force(struct ts_budget *b, uint64_t n_bytes)
{
    for (; b; b = b->parent)
        note_peak(b, atomic_fetch_add_explicit(&b->used_bytes, n_bytes, RELAXED) + n_bytes);
}

void ts_budget_give(struct ts_budget *b, uint64_t n_bytes)
{
    for (; b; b = b->parent)
        give_one(b, n_bytes);
}

void ts_budget_give_all(struct ts_budget *b)
{
    ts_budget_give(b, atomic_load_explicit(&b->used_bytes, RELAXED));
}

void ts_budget_report(struct ts_budget *b, uint64_t n_bytes)
{
    uint64_t used = atomic_load_explicit(&b->used_bytes, RELAXED);
    if (n_bytes > used)
        ts_budget_force(b, n_bytes - used);
    else
        ts_budget_give(b, used - n_bytes);
}

uint64_t ts_budget_room(const struct ts_budget *b)
{
    uint64_t room = UINT64_MAX;
    for (; b; b = b->parent) {
        uint64_t used = atomic_load_explicit(&b->used_bytes, RELAXED);
        uint64_t most = b->limit_bytes ? b->limit_bytes : UINT64_MAX;
        uint64_t here = used < most ? most - used : 0;
        room = here < room ? here : room;
    }
    return room;
}

/* --- memory --- */

static int no_memory(struct ts_budget *b, uint64_t n_bytes, struct ts_error *err)
{
    ts_budget_give(b, n_bytes);
    return ts_error_set(err, TS_ENOMEM, "The system has no %llu bytes of memory left for %s",
                        (unsigned long long)n_bytes, b ? b->name : "this");
}

void *ts_budget_alloc(struct ts_budget *b, size_t n_bytes, struct ts_error *err)
{
    if (ts_budget_take(b, n_bytes, err) < 0)
        return NULL;
    void *p = ts_try_malloc(n_bytes);
    if (!p)
        (void)no_memory(b, n_bytes, err);
    return p;
}

void *ts_budget_calloc(struct ts_budget *b, size_t n, size_t n_bytes, struct ts_error *err)
{
    size_t sum;
    if (__builtin_mul_overflow(n, n_bytes, &sum))
        sum = SIZE_MAX / 2;
    if (ts_budget_take(b, sum, err) < 0)
        return NULL;
    void *p = ts_try_calloc(n, n_bytes);
    if (!p)
        (void)no_memory(b, sum, err);
    return p;
}

int ts_budget_grow(struct ts_budget *b, void *items, size_t *cap, size_t n, size_t n_bytes,
                   struct ts_error *err)
{
    void **array = items;
    if (n <= *cap)
        return 0;
    size_t want = *cap < SIZE_MAX / 4 && 2 * *cap > n ? 2 * *cap : n;
    size_t sum;
    if (__builtin_mul_overflow(want, n_bytes, &sum) || sum > SIZE_MAX / 2)
        return ts_error_set(err, TS_ELIMIT, "%zu items of %zu bytes do not fit into memory", n, n_bytes);
    uint64_t more = sum - *cap * n_bytes;
    TS_TRY(ts_budget_take(b, more, err));
    void *p = ts_try_realloc(*array, sum);
    if (!p)
        return no_memory(b, more, err);
    *array = p;
    *cap = want;
    return 0;
}

void ts_budget_free(struct ts_budget *b, void *p, size_t n_bytes)
{
    ts_free(p);
    ts_budget_give(b, n_bytes);
}
