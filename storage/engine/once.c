/*
 * once.c - table of the ids of clients and the last sequence of each: open addressing, at most three quarters full.
 *
 * Threads    the owner
 * Invariant  refused is 0 or above last
 */
#include "storage/engine/once.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "base/mem.h"

#define FIRST_SLOTS 16u /* a power of two */

/* One id; made_s 0: the slot is free. */
struct entry {
    struct sto_once_id id;
    uint64_t last;    /* highest sequence that was added; 0 = none */
    uint64_t refused; /* lowest sequence that was refused and not added since; 0 = none */
    uint64_t stream;  /* newest stream that has sent something */
};
struct sto_once {
    struct sto_once_limits limits; /* as given */
    struct entry *slots;           /* owned; NULL while n_slots is 0 */
    size_t n_slots;                /* a power of two, or 0 */
    size_t n;                      /* used slots */
    uint64_t forgotten_s;          /* ids made up to this second are forgotten; never moves back */
    uint64_t purged_s;             /* forgotten_s when the table was last rebuilt */
    uint64_t barred_stream;        /* streams up to this one may not bring new ids: one of them was refused */
};

int sto_once_new(const struct sto_once_limits *limits, struct sto_once **out)
{
    *out = ts_try_malloc(sizeof(**out));
    if (!*out)
        return TS_ENOMEM;
    **out = (struct sto_once){.limits = *limits};
    return 0;
}

void sto_once_free(struct sto_once *t)
{
    if (!t)
        return;
    ts_budget_free(t->limits.budget, t->slots, t->n_slots * sizeof(*t->slots));
    ts_free(t);
}

/* The slot of an id, or the free one where it belongs. There is a free one. */
static struct entry *probe(struct entry *slots, size_t n_slots, const struct sto_once_id *id)
{
    size_t i = ts_hash_u64(id->random ^ ts_hash_u64(id->made_s)) & (n_slots - 1);
    while (slots[i].id.made_s && (slots[i].id.made_s != id->made_s || slots[i].id.random != id->random))
        i = (i + 1) & (n_slots - 1);
    return &slots[i];
}

static struct entry *find(struct sto_once *t, const struct sto_once_id *id)
{
    struct entry *e = t->n_slots ? probe(t->slots, t->n_slots, id) : NULL;
    return e && e->id.made_s ? e : NULL;
}

/* Move what is not forgotten to a table with room for one more id. */
static int rebuild(struct sto_once *t, bool forced)
{
    size_t n = 0, n_slots = FIRST_SLOTS;
    for (size_t i = 0; i < t->n_slots; i++)
        n += t->slots[i].id.made_s > t->forgotten_s;
    while (n_slots / 2 <= n)
        n_slots *= 2;
    uint64_t n_bytes = n_slots * sizeof(*t->slots);
    if (forced)
        ts_budget_force(t->limits.budget, n_bytes);
    else
        TS_TRY(ts_budget_take(t->limits.budget, n_bytes, NULL));
    struct entry *slots = ts_try_malloc(n_bytes);
    if (!slots) {
        ts_budget_give(t->limits.budget, n_bytes);
        return TS_ENOMEM;
    }
    for (size_t i = 0; i < n_slots; i++)
        slots[i] = (struct entry){0};
    for (size_t i = 0; i < t->n_slots; i++)
        if (t->slots[i].id.made_s > t->forgotten_s)
            *probe(slots, n_slots, &t->slots[i].id) = t->slots[i];
    ts_budget_free(t->limits.budget, t->slots, t->n_slots * sizeof(*t->slots));
    t->slots = slots;
    t->n_slots = n_slots;
    t->n = n;
    t->purged_s = t->forgotten_s;
    return 0;
}

/* A slot for an id that has none. forced: limits do not apply. NULL: there is no room. */
static struct entry *insert(struct sto_once *t, const struct sto_once_id *id, bool forced)
{
    if (t->n >= t->limits.max_ids && !forced &&
        (t->purged_s == t->forgotten_s || rebuild(t, false) < 0 || t->n >= t->limits.max_ids))
        return NULL;
    if ((t->n + 1) * 4 > t->n_slots * 3 && rebuild(t, forced) < 0)
        return NULL;
    struct entry *e = probe(t->slots, t->n_slots, id);
    *e = (struct entry){.id = *id};
    t->n++;
    return e;
}

/* Refuse a new id. Its stream may bring none later, or a later sequence of this id could be added before this one. */
static enum sto_once_answer bar(struct sto_once *t, uint64_t stream, enum sto_once_answer why)
{
    if (stream > t->barred_stream)
        t->barred_stream = stream;
    return why;
}

enum sto_once_answer sto_once_look(struct sto_once *t, const struct sto_once_id *id, uint64_t seq,
                                   uint64_t stream, uint64_t now_s)
{
    if (now_s > t->limits.kept_s && now_s - t->limits.kept_s > t->forgotten_s)
        t->forgotten_s = now_s - t->limits.kept_s;
    if (id->made_s <= t->forgotten_s)
        return STO_ONCE_FORGOTTEN;
    struct entry *e = find(t, id);
    if (!e && id->made_s > now_s && id->made_s - now_s > STO_ONCE_AHEAD_S)
        return bar(t, stream, STO_ONCE_AHEAD);
    if (!e && (stream <= t->barred_stream || !(e = insert(t, id, false))))
        return bar(t, stream, STO_ONCE_FULL);
    if (seq <= e->last)
        return STO_ONCE_REPEAT;
    if (stream < e->stream)
        return STO_ONCE_STALE;
    e->stream = stream;
    return e->refused && seq > e->refused ? STO_ONCE_WAIT : STO_ONCE_NEW;
}

int sto_once_added(struct sto_once *t, const struct sto_once_id *id, uint64_t seq)
{
    if (id->made_s <= t->forgotten_s)
        return 0;
    struct entry *e = find(t, id);
    if (!e && !(e = insert(t, id, true)))
        return TS_ENOMEM;
    if (seq > e->last)
        e->last = seq;
    if (e->refused <= e->last)
        e->refused = 0;
    return 0;
}

void sto_once_refused(struct sto_once *t, const struct sto_once_id *id, uint64_t seq)
{
    struct entry *e = find(t, id);
    if (e && seq > e->last && (!e->refused || seq < e->refused))
        e->refused = seq;
}

size_t sto_once_n(const struct sto_once *t)
{
    return t->n;
}

static int put(struct ts_buf *out, uint64_t v)
{
    uint8_t bytes[10];
    return ts_buf_append(out, bytes, (size_t)(ts_put_varint(bytes, v) - bytes));
}

int sto_once_encode(const struct sto_once *t, struct ts_buf *out)
{
    size_t n = 0;
    for (size_t i = 0; i < t->n_slots; i++)
        n += t->slots[i].id.made_s > t->forgotten_s && t->slots[i].last;
    TS_TRY(put(out, t->forgotten_s));
    TS_TRY(put(out, n));
    for (size_t i = 0; i < t->n_slots; i++) {
        const struct entry *e = &t->slots[i];
        if (e->id.made_s <= t->forgotten_s || !e->last)
            continue;
        TS_TRY(put(out, e->id.made_s));
        TS_TRY(put(out, e->id.random));
        TS_TRY(put(out, e->last));
    }
    return 0;
}

int sto_once_decode(struct sto_once *t, struct ts_slice bytes, struct ts_error *err)
{
    const uint8_t *p = (const uint8_t *)bytes.p, *end = bytes.n ? p + bytes.n : p;
    uint64_t n = 0, seq = 0;
    struct sto_once_id id = {0};
    p = bytes.n ? ts_get_varint(p, end, &t->forgotten_s) : NULL;
    p = p ? ts_get_varint(p, end, &n) : NULL;
    for (; p && n; n--) {
        p = ts_get_varint(p, end, &id.made_s);
        p = p ? ts_get_varint(p, end, &id.random) : NULL;
        p = p ? ts_get_varint(p, end, &seq) : NULL;
        if (!p || id.made_s <= t->forgotten_s || !seq || find(t, &id))
            return ts_error_set(err, TS_ECORRUPT, "table of ids of clients: invalid entry");
        TS_TRY(sto_once_added(t, &id, seq));
    }
    if (!p || p != end)
        return ts_error_set(err, TS_ECORRUPT, "table of ids of clients: wrong length");
    return 0;
}
