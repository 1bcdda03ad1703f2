/*
 * budget.h - memory accounts: they limit how much memory each use of the process may take.
 *
 * Accounts form a tree: the process at the root, below it one account for each kind of use (bodies, replies, queries ...),
 * below "queries" one for each query. Bytes taken from an account count in it and in all of its parents, so a limit
 * holds for everything below it. Whatever grows with what a client sends is taken here before it is allocated, and given
 * back when it is freed.
 *
 *   limit reached    the request fails with TS_ELIMIT and a text that names the configuration key of the full account; nothing was
 *                    counted. A caller that holds nothing yet may wait and try again; one that holds something must
 *                    give up, or callers would wait for each other.
 *   reserve          the parent counts the reserved bytes of an account from the start, used or not, so that no other account can take them
 *   shares           the accounts of clients below a common account. The limit of a client depends on what is left,
 *                    weight * (limit - spare - used): one client never takes everything, and clients that hold much
 *                    never take the last bytes. A client that holds less than small_bytes may use the spare part too
 *
 * Source     shares: A. K. Choudhury, E. L. Hahne, Dynamic Queue Length Thresholds for Shared-Memory Packet Switches,
 *            IEEE/ACM Transactions on Networking 6(2), 1998; spare and small_bytes are additions of tsd
 * Threads    every function from any thread, except init; counts are relaxed atomics, nothing is ordered by them
 * Invariant  used_bytes of an account >= the sum of max(used_bytes, reserved_bytes) of its children, while no call is in progress
 * Cost       one atomic addition for each level; callers take pages or blocks (some KiB), never single points
 * Not here   which accounts exist and their shares (tsd/daemon/memory.c)
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
    uint64_t limit_bytes;        /* limit; 0 = as much as the parents allow */
    uint64_t reserved_bytes;     /* the parent counts them even while they are not used */
    uint64_t spare_bytes;        /* part of the limit that only shares below small_bytes may use */
    uint64_t small_bytes;        /* what a share may have in any case, as long as the limit allows */
    unsigned weight;             /* of shares: 1 = as much as is left for the others, 2 = twice as much */
    bool is_share;               /* limited by what is left of the parent */
    _Atomic bool let_in;         /* the shares above it do not limit it (ts_budget_let_in) */
    _Atomic uint64_t used_bytes; /* taken and not given back */
    _Atomic uint64_t peak_bytes; /* the most that was ever taken at once */
    _Atomic uint64_t n_refused;  /* takes that were refused because this account was full */
    _Atomic uint64_t n_share_refused; /* takes that were refused because a share of this account was full */
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
/** Reserve n_bytes of the parent for b. Call it once, after ts_budget_init of b and before threads share it;
 * it does not check the parent's limit. */
void ts_budget_reserve(struct ts_budget *b, uint64_t n_bytes);
/** Set what the shares of an account may take (weight, spare_bytes, small_bytes: see struct ts_budget). Before threads share it. */
void ts_budget_divide(struct ts_budget *b, unsigned weight, uint64_t spare_bytes, uint64_t small_bytes);
/** Make the account of one client below an account that ts_budget_divide was called for. It has the key of its parent; name as for
 * ts_budget_init. */
void ts_budget_init_share(struct ts_budget *b, const char *name, struct ts_budget *parent);
/** From now on the shares above b count its bytes but do not limit them, so that work which has begun does
 * not fail because other clients arrive. Other limits still apply. Any thread. */
void ts_budget_let_in(struct ts_budget *b);
/**
 * Take n_bytes before allocating them.
 *
 * @param b    account; NULL = nothing is counted, always 0
 * @param err  text of a refusal, may be NULL
 * @return 0
 *         TS_ELIMIT  this account or one of its parents is full; nothing was taken, and the full one counts a refusal (for a share
 *                    its parent does, in n_share_refused)
 */
int ts_budget_take(struct ts_budget *b, uint64_t n_bytes, struct ts_error *err);
/** Take n_bytes regardless of all limits: for memory that exists already and is only reported (memstores, the
 * catalog). NULL is harmless. */
void ts_budget_force(struct ts_budget *b, uint64_t n_bytes);
/** Give n_bytes back that were taken from b. NULL is harmless. */
void ts_budget_give(struct ts_budget *b, uint64_t n_bytes);
/** Give back all that b still holds, at the end of a request or query. No other thread may use b at the same
 * time. */
void ts_budget_give_all(struct ts_budget *b);
/** Set what b holds to n_bytes, for uses that are measured from time to time instead of counted. Only one thread may
 * call it per account. */
void ts_budget_report(struct ts_budget *b, uint64_t n_bytes);
/** The most that b can ever hold: its limit, or the limit of a share while no other share holds anything.
 * UINT64_MAX: no limit of its own. */
uint64_t ts_budget_most(const struct ts_budget *b);
/** Bytes that b and its parents can still take; UINT64_MAX without any limit. NULL: UINT64_MAX. A moment later it may be less. */
uint64_t ts_budget_room(const struct ts_budget *b);

/*
 * What one piece of work holds of an account. It takes and gives many small amounts, and calls the account once for
 * TS_TALLY_STEP bytes of them. {.budget = b} is an empty one. Belongs to one thread at a time.
 */
struct ts_tally {
    struct ts_budget *budget; /* NULL: nothing is counted */
    uint64_t used_bytes;      /* taken by the work */
    uint64_t held_bytes;      /* taken from the account; not less than used_bytes */
    bool forced;              /* the account refuses nothing, whatever its limits say */
};
#define TS_TALLY_STEP ((uint64_t)32 << 10) /* bytes */
/** Take n_bytes before allocating them; t NULL: nothing is counted. Errors as ts_budget_take. */
int ts_tally_take(struct ts_tally *t, uint64_t n_bytes, struct ts_error *err);
/** Take n_bytes regardless of all limits: for amounts that are small beside the rest. t NULL is harmless. */
void ts_tally_force(struct ts_tally *t, uint64_t n_bytes);
/** Give n_bytes back that were taken. t NULL is harmless. */
void ts_tally_give(struct ts_tally *t, uint64_t n_bytes);
/** Give back all that is held; t is empty then. */
void ts_tally_release(struct ts_tally *t);

/** ts_try_malloc of n_bytes counted in b; NULL: refused (err says why, TS_ELIMIT) or no memory (TS_ENOMEM). */
void *ts_budget_alloc(struct ts_budget *b, size_t n_bytes, struct ts_error *err);
/** The same, cleared, for n items of n_bytes each. */
void *ts_budget_calloc(struct ts_budget *b, size_t n, size_t n_bytes, struct ts_error *err);
/**
 * Grow an array of items.
 *
 * @param b       account, NULL = uncounted
 * @param items   [in, out] the array (NULL while empty); moved by growth, unchanged by an error
 * @param cap     [in, out] allocated items; at least doubled by growth
 * @param n       items that must fit; nothing happens when n <= *cap
 * @param n_bytes size of one item
 * @return 0, TS_ELIMIT or TS_ENOMEM with err filled
 */
int ts_budget_grow(struct ts_budget *b, void *items, size_t *cap, size_t n, size_t n_bytes,
                   struct ts_error *err);
/** Free what alloc, calloc or grow gave (grow: cap * n_bytes) and give n_bytes back. p NULL is harmless when
 * n_bytes is 0. */
void ts_budget_free(struct ts_budget *b, void *p, size_t n_bytes);

#endif
