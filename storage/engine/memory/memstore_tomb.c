/*
 * memstore_tomb.c - tombstones of a memstore: in order of arrival, and by series.
 *
 * Threads    the owner adds; any thread reads
 * Invariant  a slot of the hash is published after the tombstone it refers to
 */
#include <string.h>

#include "base/hash.h"
#include "storage/engine/memory/memstore_int.h"

#define LIST_FIRST 8
#define HASH_FIRST 16 /* slots; a power of two */

/* Two arrays, so that all tombstones can be returned as one array. Grows by replacement. */
struct sto_mem__tomb_list {
    size_t cap;
    struct sto_tomb *tombs;
    size_t *before; /* position + 1 of the previous tombstone of the same series */
};

/* Open addressing. Grows by replacement. */
struct sto_mem__tomb_hash {
    size_t cap, used;          /* used: owner */
    _Atomic(uint64_t) slots[]; /* series << 32 | place + 1; 0 = free */
};

static _Atomic(uint64_t) *slot_of(struct sto_mem__tomb_hash *h, uint32_t series)
{
    size_t i = ts_hash_u64(series) & (h->cap - 1);
    for (;; i = (i + 1) & (h->cap - 1)) {
        uint64_t v =
            atomic_load_explicit(&h->slots[i], memory_order_acquire); /* partner: sto_mem__tombs_add */
        if (v == 0 || v >> 32 == series)
            return &h->slots[i];
    }
}

static struct sto_mem__tomb_list *grown_list(struct sto_mem__tombs *t, struct ts_arena *arena, size_t n)
{
    struct sto_mem__tomb_list *old = atomic_load_explicit(&t->list, memory_order_relaxed);
    if (old && n < old->cap)
        return old;
    struct sto_mem__tomb_list *list = ts_arena_alloc(arena, sizeof *list);
    list->cap = old ? old->cap * 2 : LIST_FIRST;
    list->tombs = ts_arena_alloc(arena, list->cap * sizeof *list->tombs);
    list->before = ts_arena_alloc(arena, list->cap * sizeof *list->before);
    if (old) {
        memcpy(list->tombs, old->tombs, n * sizeof *list->tombs);
        memcpy(list->before, old->before, n * sizeof *list->before);
    }
    atomic_store_explicit(&t->list, list, memory_order_release); /* partner: sto_mem__tombs_all */
    return list;
}

static struct sto_mem__tomb_hash *grown_hash(struct sto_mem__tombs *t, struct ts_arena *arena)
{
    struct sto_mem__tomb_hash *old = atomic_load_explicit(&t->hash, memory_order_relaxed);
    if (old && old->used < old->cap / 2)
        return old;
    size_t cap = old ? old->cap * 2 : HASH_FIRST;
    struct sto_mem__tomb_hash *h = ts_arena_alloc(arena, sizeof *h + cap * sizeof h->slots[0]);
    h->cap = cap;
    h->used = old ? old->used : 0;
    for (size_t i = 0; i < cap; i++)
        atomic_init(&h->slots[i], 0);
    for (size_t i = 0; old && i < old->cap; i++) {
        uint64_t v = atomic_load_explicit(&old->slots[i], memory_order_relaxed);
        if (v)
            atomic_init(slot_of(h, (uint32_t)(v >> 32)), v);
    }
    atomic_store_explicit(&t->hash, h, memory_order_release); /* partner: sto_mem__tombs_last */
    return h;
}

void sto_mem__tombs_add(struct sto_mem__tombs *t, struct ts_arena *arena, const struct sto_tomb *tomb)
{
    size_t n = atomic_load_explicit(&t->n, memory_order_relaxed);
    size_t before = sto_mem__tombs_last(t, tomb->series), ignored;
    const struct sto_tomb *last = before ? sto_mem__tombs_at(t, before, &ignored) : NULL;
    if (last && last->from_ms <= tomb->from_ms && last->to_ms >= tomb->to_ms)
        return; /* the same delete again: it has no effect on older generations */
    if (n >= UINT32_MAX - 1)
        TS_BUG("a memstore holds 2^32 tombstones");
    struct sto_mem__tomb_list *list = grown_list(t, arena, n);
    list->tombs[n] = *tomb;
    list->before[n] = before;
    atomic_store_explicit(&t->n, n + 1, memory_order_release); /* partner: sto_mem__tombs_all */
    struct sto_mem__tomb_hash *h = grown_hash(t, arena);
    _Atomic(uint64_t) *slot = slot_of(h, tomb->series);
    h->used += before == 0;
    atomic_store_explicit(slot, (uint64_t)tomb->series << 32 | (n + 1),
                          memory_order_release); /* partner: slot_of */
}

const struct sto_tomb *sto_mem__tombs_all(const struct sto_mem__tombs *t, size_t *out_n)
{
    /* count first: any list loaded after it holds at least as many */
    *out_n = atomic_load_explicit(&t->n, memory_order_acquire);
    struct sto_mem__tomb_list *list = atomic_load_explicit(&t->list, memory_order_acquire);
    return list ? list->tombs : NULL;
}

size_t sto_mem__tombs_last(const struct sto_mem__tombs *t, uint32_t series)
{
    struct sto_mem__tomb_hash *h = atomic_load_explicit(&t->hash, memory_order_acquire);
    return h ? (uint32_t)atomic_load_explicit(slot_of(h, series), memory_order_acquire) : 0;
}

const struct sto_tomb *sto_mem__tombs_at(const struct sto_mem__tombs *t, size_t place, size_t *out_before)
{
    struct sto_mem__tomb_list *list = atomic_load_explicit(&t->list, memory_order_acquire);
    *out_before = list->before[place - 1];
    return &list->tombs[place - 1];
}
