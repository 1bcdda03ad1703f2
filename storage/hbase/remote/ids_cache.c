/*
 * ids_cache.c - names and numbers in two hash tables of chains, and a list by use.
 */
#include "storage/hbase/remote/ids_cache.h"

#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

#define FIRST_HEADS  64
#define MALLOC_BYTES 16 /* what the allocator needs for a record, about */
#define MAX_REMOVED  8  /* records that make room for one, when the account is full */

static uint32_t hash_name(uint8_t kind, struct ts_slice name)
{
    return (uint32_t)(ts_hash(name.p, name.n) >> 8) + kind;
}

static uint32_t hash_number(uint8_t kind, uint64_t number)
{
    return (uint32_t)ts_hash_u64(number * 4 + kind);
}

static uint64_t bytes_of(size_t n_name)
{
    return sizeof(struct sto_hbase__record) + n_name + MALLOC_BYTES;
}

/* --- the list by use --- */

static void unlist(struct sto_hbase__records *t, struct sto_hbase__record *r)
{
    *(r->newer ? &r->newer->older : &t->newest) = r->older;
    *(r->older ? &r->older->newer : &t->oldest) = r->newer;
}

static void list_newest(struct sto_hbase__records *t, struct sto_hbase__record *r)
{
    r->newer = NULL;
    r->older = t->newest;
    *(t->newest ? &t->newest->newer : &t->oldest) = r;
    t->newest = r;
}

static struct sto_hbase__record *use(struct sto_hbase__records *t, struct sto_hbase__record *r)
{
    if (r && t->newest != r) {
        unlist(t, r);
        list_newest(t, r);
    }
    return r;
}

/* --- chains --- */

static void link_record(struct sto_hbase__records *t, struct sto_hbase__record *r,
                        enum sto_hbase__direction d)
{
    struct sto_hbase__record **head = &t->heads[d][r->hash[d] & (t->n_heads - 1)];
    r->next[d] = *head;
    *head = r;
    r->is_linked[d] = true;
}

static void unlink_record(struct sto_hbase__records *t, struct sto_hbase__record *r,
                          enum sto_hbase__direction d)
{
    struct sto_hbase__record **p = &t->heads[d][r->hash[d] & (t->n_heads - 1)];
    while (*p != r)
        p = &(*p)->next[d];
    *p = r->next[d];
    r->is_linked[d] = false;
}

/* More heads when there are as many records. Without memory the chains become longer. */
static void grow(struct sto_hbase__records *t)
{
    if (t->n < t->n_heads)
        return;
    size_t n = t->n_heads ? t->n_heads * 2 : FIRST_HEADS, n_bytes = n * 2 * sizeof(t->heads[0][0]);
    struct sto_hbase__record **heads = NULL;
    if (ts_tally_take(t->memory, n_bytes, NULL) < 0)
        return;
    heads = ts_try_calloc(n * 2, sizeof(struct sto_hbase__record *));
    if (!heads) {
        ts_tally_give(t->memory, n_bytes);
        return;
    }
    ts_tally_give(t->memory, t->n_heads * 2 * sizeof(t->heads[0][0]));
    ts_free(t->heads[0]);
    t->heads[0] = heads;
    t->heads[1] = heads + n;
    t->n_heads = n;
    for (struct sto_hbase__record *r = t->oldest; r; r = r->newer)
        for (enum sto_hbase__direction d = 0; d < STO_HBASE__DIRECTIONS; d++)
            if (r->is_linked[d])
                link_record(t, r, d);
}

static void remove_record(struct sto_hbase__records *t, struct sto_hbase__record *r)
{
    for (enum sto_hbase__direction d = 0; d < STO_HBASE__DIRECTIONS; d++)
        if (r->is_linked[d])
            unlink_record(t, r, d);
    unlist(t, r);
    t->n--;
    ts_tally_give(t->memory, bytes_of(r->n));
    ts_free(r);
}

void sto_hbase__records_release(struct sto_hbase__records *t)
{
    while (t->oldest)
        remove_record(t, t->oldest);
    ts_tally_give(t->memory, t->n_heads * 2 * sizeof(t->heads[0][0]));
    ts_free(t->heads[0]);
    t->heads[0] = t->heads[1] = NULL;
    t->n_heads = 0;
}

/* --- lookups --- */

struct sto_hbase__record *sto_hbase__records_by_name(struct sto_hbase__records *t, uint8_t kind,
                                                     struct ts_slice name)
{
    uint32_t hash = hash_name(kind, name);
    struct sto_hbase__record *r = t->n_heads ? t->heads[STO_HBASE__BY_NAME][hash & (t->n_heads - 1)] : NULL;
    while (r && (r->hash[STO_HBASE__BY_NAME] != hash || r->kind != kind ||
                 !ts_slice_eq(name, (struct ts_slice){r->bytes, r->n})))
        r = r->next[STO_HBASE__BY_NAME];
    return use(t, r);
}

struct sto_hbase__record *sto_hbase__records_by_number(struct sto_hbase__records *t, uint8_t kind,
                                                       uint64_t number)
{
    uint32_t hash = hash_number(kind, number);
    struct sto_hbase__record *r = t->n_heads ? t->heads[STO_HBASE__BY_NUMBER][hash & (t->n_heads - 1)] : NULL;
    while (r && (r->number != number || r->kind != kind))
        r = r->next[STO_HBASE__BY_NUMBER];
    return use(t, r);
}

void sto_hbase__records_forget(struct sto_hbase__records *t, struct sto_hbase__record *r,
                               enum sto_hbase__direction d)
{
    if (!r || !r->is_linked[d])
        return;
    unlink_record(t, r, d);
    if (!r->is_linked[!d])
        remove_record(t, r);
}

/* --- additions --- */

/* Take memory for a record, if the tables then hold no more than they leave to others who use the same account. */
static bool take(struct sto_hbase__records *t, uint64_t n_bytes)
{
    const struct ts_tally *m = t->memory;
    return (!m->budget || m->used_bytes + n_bytes <= ts_budget_room(m->budget)) &&
           ts_tally_take(t->memory, n_bytes, NULL) == 0;
}

/* Memory for a record, for which older ones are removed; NULL: there is none. */
static struct sto_hbase__record *new_record(struct sto_hbase__records *t, size_t n_name)
{
    while (t->n && t->n >= t->max)
        remove_record(t, t->oldest);
    bool taken = take(t, bytes_of(n_name));
    for (int i = 0; !taken && i < MAX_REMOVED && t->oldest; i++) {
        remove_record(t, t->oldest);
        taken = take(t, bytes_of(n_name));
    }
    if (!taken)
        return NULL;
    struct sto_hbase__record *r = ts_try_malloc(sizeof(*r) + n_name);
    if (!r)
        ts_tally_give(t->memory, bytes_of(n_name));
    return r;
}

static struct sto_hbase__record *add_record(struct sto_hbase__records *t, uint8_t kind, struct ts_slice name,
                                            uint64_t number)
{
    grow(t);
    struct sto_hbase__record *r = t->n_heads ? new_record(t, name.n) : NULL;
    if (!r)
        return NULL;
    *r = (struct sto_hbase__record){.number = number,
                                    .n = (uint32_t)name.n,
                                    .kind = kind,
                                    .hash = {hash_name(kind, name), hash_number(kind, number)}};
    memcpy(r->bytes, name.p, name.n);
    list_newest(t, r);
    t->n++;
    return r;
}

bool sto_hbase__records_put(struct sto_hbase__records *t, enum sto_hbase__direction d, uint8_t kind,
                            struct ts_slice name, uint64_t number, int64_t seen_ms)
{
    struct sto_hbase__record *by_name = sto_hbase__records_by_name(t, kind, name);
    struct sto_hbase__record *by_number = sto_hbase__records_by_number(t, kind, number);
    struct sto_hbase__record *r = by_name && by_name->number == number ? by_name : NULL;
    if (!r && by_number && ts_slice_eq(name, (struct ts_slice){by_number->bytes, by_number->n}))
        r = by_number;
    struct sto_hbase__record *old = d == STO_HBASE__BY_NAME ? by_name : by_number;
    bool changes = old && old != r;
    if (changes)
        sto_hbase__records_forget(t, old, d);
    if (!r)
        r = add_record(t, kind, name, number);
    if (!r)
        return changes;
    if (!r->is_linked[d])
        link_record(t, r, d);
    r->seen_ms[d] = seen_ms;
    r->generation = t->generation;
    return changes;
}
