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

void ts_budget_reserve(struct ts_budget *b, uint64_t n_bytes)
{
    b->reserved_bytes = n_bytes;
    ts_budget_force(b->parent, n_bytes);
}

void ts_budget_divide(struct ts_budget *b, unsigned weight, uint64_t spare_bytes, uint64_t small_bytes)
{
    b->weight = weight;
    b->spare_bytes = spare_bytes < b->limit_bytes ? spare_bytes : b->limit_bytes;
    b->small_bytes = small_bytes;
}

void ts_budget_init_share(struct ts_budget *b, const char *name, struct ts_budget *parent)
{
    ts_budget_init(b, name, parent->key, parent, 0);
    b->is_share = true;
}

void ts_budget_let_in(struct ts_budget *b)
{
    atomic_store_explicit(&b->let_in, true, RELAXED);
}

static void note_peak(struct ts_budget *b, uint64_t used)
{
    uint64_t peak = atomic_load_explicit(&b->peak_bytes, RELAXED);
    while (used > peak &&
           !atomic_compare_exchange_weak_explicit(&b->peak_bytes, &peak, used, RELAXED, RELAXED))
        ;
}

/* The most that b may hold while others hold so much below its parent. */
static uint64_t limit_beside(const struct ts_budget *b, uint64_t others)
{
    const struct ts_budget *all = b->parent;
    if (!b->is_share || !all->limit_bytes)
        return b->limit_bytes ? b->limit_bytes : UINT64_MAX;
    uint64_t most = all->limit_bytes - all->spare_bytes;
    /* own <= weight * (most - others - own), solved for own */
    uint64_t fair = others < most ? (most - others) / (all->weight + 1) * all->weight : 0;
    return fair > all->small_bytes ? fair : all->small_bytes;
}

/* The most that b may hold now. */
static uint64_t limit_now(const struct ts_budget *b)
{
    if (!b->is_share)
        return limit_beside(b, 0);
    uint64_t used = atomic_load_explicit(&b->parent->used_bytes, RELAXED);
    uint64_t own = atomic_load_explicit(&b->used_bytes, RELAXED);
    return limit_beside(b, used > own ? used - own : 0);
}

/* What the parent counts for b when b holds so much. */
static uint64_t counted_above(const struct ts_budget *b, uint64_t used)
{
    return used > b->reserved_bytes ? used : b->reserved_bytes;
}

/* Count *n_bytes in b alone, and say how many the parent is to count; false: it is full. */
static bool take_one(struct ts_budget *b, bool let_in, uint64_t *n_bytes)
{
    uint64_t used = atomic_load_explicit(&b->used_bytes, RELAXED), sum;
    do {
        uint64_t most = b->is_share && let_in ? UINT64_MAX : limit_now(b);
        if (used > most || *n_bytes > most - used)
            return false;
        sum = used + *n_bytes;
    } while (!atomic_compare_exchange_weak_explicit(&b->used_bytes, &used, sum, RELAXED, RELAXED));
    note_peak(b, sum);
    *n_bytes = counted_above(b, sum) - counted_above(b, used);
    return true;
}

/* Take n_bytes off b alone; how many the parent is to take off. */
static uint64_t give_one(struct ts_budget *b, uint64_t n_bytes)
{
    uint64_t used = atomic_fetch_sub_explicit(&b->used_bytes, n_bytes, RELAXED);
    return counted_above(b, used) - counted_above(b, used - n_bytes);
}

static int refuse(struct ts_budget *full, uint64_t n_bytes, struct ts_error *err)
{
    if (full->is_share)
        atomic_fetch_add_explicit(&full->parent->n_share_refused, 1, RELAXED);
    else
        atomic_fetch_add_explicit(&full->n_refused, 1, RELAXED);
    return ts_error_set(
        err, TS_ELIMIT,
        "Not enough memory for %s: %llu of %llu bytes are in use and %llu more are needed. Ask for "
        "less, try again later, or raise %s",
        full->name, (unsigned long long)atomic_load_explicit(&full->used_bytes, RELAXED),
        (unsigned long long)limit_now(full), (unsigned long long)n_bytes, full->key);
}

int ts_budget_take(struct ts_budget *b, uint64_t n_bytes, struct ts_error *err)
{
    struct ts_budget *full = b;
    uint64_t n = n_bytes;
    bool let_in = false;
    for (; full && n; full = full->parent) { /* n is 0 above an account whose reserve covers it */
        let_in |= atomic_load_explicit(&full->let_in, RELAXED);
        if (!take_one(full, let_in, &n))
            break;
    }
    if (!full || !n)
        return 0;
    for (struct ts_budget *t = b; t != full; t = t->parent)
        n_bytes = give_one(t, n_bytes);
    return refuse(full, n, err);
}

void ts_budget_force(struct ts_budget *b, uint64_t n_bytes)
{
    for (; b; b = b->parent) {
        uint64_t used = atomic_fetch_add_explicit(&b->used_bytes, n_bytes, RELAXED);
        note_peak(b, used + n_bytes);
        n_bytes = counted_above(b, used + n_bytes) - counted_above(b, used);
    }
}

void ts_budget_give(struct ts_budget *b, uint64_t n_bytes)
{
    for (; b; b = b->parent)
        n_bytes = give_one(b, n_bytes);
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

uint64_t ts_budget_most(const struct ts_budget *b)
{
    return limit_beside(b, 0);
}

uint64_t ts_budget_room(const struct ts_budget *b)
{
    uint64_t room = UINT64_MAX, unused = 0; /* of reserves between the first account and the present one */
    for (; b; b = b->parent) {
        uint64_t used = atomic_load_explicit(&b->used_bytes, RELAXED), most = limit_now(b);
        uint64_t here = used < most ? most - used : 0;
        here = here < UINT64_MAX - unused ? here + unused : UINT64_MAX;
        room = here < room ? here : room;
        unused += used < b->reserved_bytes ? b->reserved_bytes - used : 0;
    }
    return room;
}

/* --- tallies --- */

/* More of the account: by steps, unless these do not fit any more. */
static int tally_grow(struct ts_tally *t, uint64_t need_bytes, struct ts_error *err)
{
    uint64_t step = (need_bytes + TS_TALLY_STEP - 1) / TS_TALLY_STEP * TS_TALLY_STEP;
    uint64_t n = step >= need_bytes && ts_budget_room(t->budget) >= step ? step : need_bytes;
    if (t->forced)
        ts_budget_force(t->budget, n);
    else
        TS_TRY(ts_budget_take(t->budget, n, err));
    t->held_bytes += n;
    return 0;
}

int ts_tally_take(struct ts_tally *t, uint64_t n_bytes, struct ts_error *err)
{
    if (!t || !t->budget)
        return 0;
    if (n_bytes > t->held_bytes - t->used_bytes)
        TS_TRY(tally_grow(t, n_bytes - (t->held_bytes - t->used_bytes), err));
    t->used_bytes += n_bytes;
    return 0;
}

void ts_tally_force(struct ts_tally *t, uint64_t n_bytes)
{
    if (!t || !t->budget)
        return;
    bool was = t->forced;
    t->forced = true;
    (void)ts_tally_take(t, n_bytes, NULL);
    t->forced = was;
}

void ts_tally_give(struct ts_tally *t, uint64_t n_bytes)
{
    if (!t || !t->budget)
        return;
    t->used_bytes -= n_bytes;
    uint64_t idle = t->held_bytes - t->used_bytes;
    if (idle < 2 * TS_TALLY_STEP)
        return;
    ts_budget_give(t->budget, idle - TS_TALLY_STEP);
    t->held_bytes -= idle - TS_TALLY_STEP;
}

void ts_tally_release(struct ts_tally *t)
{
    if (t->held_bytes)
        ts_budget_give(t->budget, t->held_bytes);
    t->used_bytes = t->held_bytes = 0;
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
