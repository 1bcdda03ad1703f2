/*
 * budget.h - accounts of memory: who may have how much of the process.
 *
 * Accounts form a tree: the process at the root, below it one account for each kind of use (bodies, replies, queries ...),
 * below "queries" one for each query. Bytes taken from an account count in it and in all of its parents, so a limit
 * holds for everything below it. Whatever grows with what a client sends is taken here before it is allocated, and given
 * back when it is freed.
 *
 *   limit reached    the taker is refused with TS_ELIMIT and a sentence that names the configuration key of the account
 *                    that is full; nothing was counted. Whoever holds nothing yet may wait and try again; whoever holds
 *                    something must give up, or holders would wait for each other.
 *
 * Threads    every function from any thread, except init; counts are relaxed atomics, nothing is ordered by them
 * Invariant  used_bytes of an account >= the sum of used_bytes of its children, once nobody is inside a call
 * Cost       one atomic addition for each level; callers take pages or blocks (some KiB), never single points
 * Not here   which accounts exist and their shares (tsd/memory.c)
 */
#ifndef BASE_BUDGET_H
#define BASE_BUDGET_H

#include "base/err.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An account. Callers read name, key and the counts; they write nothing. */
struct ts_budget {
    const char *name;            /* as /api/stats shows it, "queries"; static text */
    const char *key;             /* configuration key of the limit, named by refusals; static text */
    struct ts_budget *parent;    /* NULL: the root */
    uint64_t limit_bytes;        /* most; 0 = as much as the parents allow */
    _Atomic uint64_t used_bytes; /* taken and not given back */
    _Atomic uint64_t peak_bytes; /* the most that was ever taken at once */
    _Atomic uint64_t n_refused;  /* takes that were refused because this account was full */
};

/**
 * Make an account. Before threads share it.
 *
 * @param b            filled here
 * @param name         for people and /api/stats; borrowed for the life of b
 * @param key          configuration key that sets limit_bytes; borrowed for the life of b
 * @param parent       account that the bytes count in as well, outlives b; NULL = none
 * @param limit_bytes  most; 0 = no limit of its own
 */
void ts_budget_init(struct ts_budget *b, const char *name, const char *key, struct ts_budget *parent,
                    uint64_t limit_bytes);
/**
 * Take n_bytes before allocating them.
 *
 * @param b    account; NULL = nothing is counted, always 0
 * @param err  text of a refusal, may be NULL
 * @return 0
 *         TS_ELIMIT  this account or one of its parents is full; nothing was taken, and the full one counts a refusal
 */
int ts_budget_take(struct ts_budget *b, uint64_t n_bytes, struct ts_error *err);
/** Take n_bytes whatever the limits say: for what exists already and is only reported (memstores, the catalog). NULL is harmless. */
void ts_budget_force(struct ts_budget *b, uint64_t n_bytes);
/** Give n_bytes back that were taken from b. NULL is harmless. */
void ts_budget_give(struct ts_budget *b, uint64_t n_bytes);
/** Give back all that b still holds: the end of a request or query. Nobody else may use b at the same time. */
void ts_budget_give_all(struct ts_budget *b);
/** Set what b holds to n_bytes, for uses that are measured from time to time instead of counted. One thread an account. */
void ts_budget_report(struct ts_budget *b, uint64_t n_bytes);
/** Bytes that b and its parents can still take; UINT64_MAX without any limit. NULL: UINT64_MAX. A moment later it may be less. */
uint64_t ts_budget_room(const struct ts_budget *b);

/** ts_try_malloc of n_bytes counted in b; NULL: refused (err says why, TS_ELIMIT) or no memory (TS_ENOMEM). */
void *ts_budget_alloc(struct ts_budget *b, size_t n_bytes, struct ts_error *err);
/** The same, cleared, for n items of n_bytes each. */
void *ts_budget_calloc(struct ts_budget *b, size_t n, size_t n_bytes, struct ts_error *err);
/**
 * Grow an array of items.
 *
 * @param b       account, NULL = uncounted
 * @param items   [in, out] the array (NULL while empty); moved by growth, unchanged by an error
 * @param cap     [in, out] items that have room; at least doubled by growth
 * @param n       items that must have room; nothing happens when n <= *cap
 * @param n_bytes size of one item
 * @return 0, TS_ELIMIT or TS_ENOMEM with err filled
 */
int ts_budget_grow(struct ts_budget *b, void *items, size_t *cap, size_t n, size_t n_bytes,
                   struct ts_error *err);
/** Free what alloc, calloc or grow gave (grow: cap * n_bytes) and give n_bytes back. p NULL is harmless when n_bytes is 0. */
void ts_budget_free(struct ts_budget *b, void *p, size_t n_bytes);

#endif
