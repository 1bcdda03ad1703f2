/*
 * spare.h - a pool of up to 16 objects that are expensive to create and not in use at present, for the next thread that needs one.
 *
 * A slot is taken and filled by one exchange, so whoever holds a pointer owns it.
 *
 * Threads    any
 * Cost       a read of each slot, one exchange
 */
#ifndef BASE_SPARE_H
#define BASE_SPARE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#define TS_SPARE_SLOTS 16u

/* {0} is empty. */
struct ts_spare {
    _Atomic(void *) slots[TS_SPARE_SLOTS]; /* NULL: free */
};

/** Take an object; NULL: the pool is empty. Everything that its last owner wrote to it is visible. */
static inline void *ts_spare_take(struct ts_spare *s)
{
    for (unsigned i = 0; i < TS_SPARE_SLOTS; i++) {
        if (!atomic_load_explicit(&s->slots[i], memory_order_relaxed))
            continue;
        void *p =
            atomic_exchange_explicit(&s->slots[i], NULL, memory_order_acquire); /* pairs with ts_spare_give */
        if (p)
            return p;
    }
    return NULL;
}

/** Keep p (not NULL) for others, which own it then. False: all slots are in use, p still belongs to the caller. */
static inline bool ts_spare_give(struct ts_spare *s, void *p)
{
    for (unsigned i = 0; i < TS_SPARE_SLOTS; i++) {
        void *none = NULL;
        if (!atomic_load_explicit(&s->slots[i], memory_order_relaxed) &&
            atomic_compare_exchange_strong_explicit(&s->slots[i], &none, p, memory_order_release,
                                                    memory_order_relaxed)) /* release: our last use of p */
            return true;
    }
    return false;
}

#endif
