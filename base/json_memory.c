/*
 * json_memory.c - counts the memory of JSON trees in an account.
 *
 * jansson's lexer ignores that memory is refused while it saves a string: text is missing in the value, or is read and written beyond the end of its
 * buffer (jansson 2.14, lex_save and lex_scan_string of src/load.c). So what a text can need at most is taken from the account before it is loaded,
 * and nothing is refused meanwhile; what was not needed is given back afterwards. What is made of a tree later, which is no larger than the tree, is counted
 * and not refused either, or a member would be missing in it.
 *
 * Threads    one text at a time per thread
 */
#include "base/json_memory.h"

#include "base/budget.h"
#include "base/json.h"
#include "base/mem.h"

#include <malloc.h>

#define SMALL_PART 4 /* 1 / 4 of the account is for small bodies */

static struct ts_budget *account; /* set before threads start */
static _Thread_local bool is_large;
static _Thread_local bool loads;
static _Thread_local uint64_t n_left; /* bytes that were taken for the text and are not used */

void ts_json_small(bool small)
{
    is_large = !small;
}

static int take(uint64_t n_bytes)
{
    if (!is_large || ts_budget_room(account) >= account->limit_bytes / SMALL_PART + n_bytes)
        return ts_budget_take(account, n_bytes, NULL);
    atomic_fetch_add_explicit(&account->n_refused, 1, memory_order_relaxed);
    return TS_ELIMIT;
}

int ts_json__begin(uint64_t n_bytes, uint64_t *out_most)
{
    *out_most = UINT64_MAX;
    if (!account)
        return 0;
    if (account->limit_bytes)
        *out_most = account->limit_bytes - (is_large ? account->limit_bytes / SMALL_PART : 0);
    if (take(n_bytes) < 0)
        return n_bytes > *out_most ? TS_ELIMIT : TS_ENOMEM;
    n_left = n_bytes;
    loads = true;
    return 0;
}

void ts_json__end(void)
{
    if (loads)
        ts_budget_give(account, n_left);
    n_left = 0;
    loads = false;
}

/* A part of what was taken for a text is used; more than that is counted, but not refused. */
static void use(uint64_t n_bytes)
{
    uint64_t n_more = n_bytes > n_left ? n_bytes - n_left : 0;
    n_left -= n_bytes - n_more;
    ts_budget_force(account, n_more);
}

static void *json_alloc(size_t n)
{
    void *p = ts_xmalloc(n);
    use(malloc_usable_size(p));
    return p;
}

static void json_free(void *p)
{
    size_t real = p ? malloc_usable_size(p) : 0;
    if (loads)
        n_left += real;
    else if (p)
        ts_budget_give(account, real);
    ts_free(p);
}

void ts_json_count_in(struct ts_budget *b)
{
    account = b;
    if (b)
        json_set_alloc_funcs(json_alloc, json_free);
    else
        json_set_alloc_funcs(ts_try_malloc, ts_free);
}
