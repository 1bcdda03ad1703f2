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

#include <string.h>

#define FIRST_SLOTS 16u /* a power of two */
#define BAR_CLIENTS 32u /* a power of two */
#define BAR_IDS     8u  /* of each; a power of two */

/* One id; made_s 0: the slot is free. */
struct entry {
    struct sto_once_id id;
    uint64_t last;    /* highest sequence that was added; 0 = none */
    uint64_t refused; /* lowest sequence that was refused and not added since; 0 = none */
    uint64_t taken;   /* highest sequence that was called new and neither added nor refused since; 0 = none */
    uint64_t stream;  /* newest stream that has sent something */
    uint64_t client;  /* address that counts the id; 0 = none */
    uint64_t seen_s;  /* ran_s when the shard saw it first */
};
/* How many ids an address has. Lies in a table with as many slots as there are for ids. */
struct share {
    uint64_t client; /* 0: the slot is free */
    size_t n;        /* ids */
};
struct sto_once {
    struct sto_once_limits limits; /* as given */
    struct entry *slots;           /* owned; NULL while n_slots is 0 */
    struct share *shares;          /* behind the slots, as many */
    size_t n_slots;                /* a power of two, or 0 */
    size_t n;                      /* used slots */
    struct sto_once_gone gone;     /* ids that are refused if they have no slot */
    uint64_t former_s;             /* as sto_once_former_s reports */
    uint64_t over_s;               /* ran_s from which on the oldest id in the table is over */
    /* streams up to these may not bring new ids: one of them was refused. By address, so that nobody is refused because of others,
     * and by id */
    uint64_t barred[BAR_CLIENTS * BAR_IDS];
    struct entry *recent; /* the slot that was found last; NULL = none */
};

const char *sto_once_why(enum sto_once_answer answer)
{
    switch (answer) {
    case STO_ONCE_WAIT:
        return "it or an earlier sequence was refused: repeat from there on";
    case STO_ONCE_STALE:
        return "a newer connection sends sequences of this id";
    case STO_ONCE_FORGOTTEN:
        return "the id is forgotten (counter_ids_kept_h): make a new one";
    case STO_ONCE_AHEAD:
        return "the id was made in the future: correct the clock, then repeat on a new connection";
    case STO_ONCE_FULL:
        return "no more ids are remembered now (counter_ids_max, counter_ids_bytes): repeat later on a new "
               "connection";
    case STO_ONCE_SHARE:
        return "no more ids of this address are remembered now (counter_ids_max_per_address, "
               "counter_ids_bytes): repeat later on a new connection";
    case STO_ONCE_NEW:
    case STO_ONCE_REPEAT:
        break;
    }
    return "it was not refused";
}

int sto_once_new(const struct sto_once_limits *limits, struct sto_once **out)
{
    *out = ts_try_malloc(sizeof(**out));
    if (!*out)
        return TS_ENOMEM;
    **out = (struct sto_once){.limits = *limits, .over_s = UINT64_MAX};
    return 0;
}

static uint64_t bytes_of(size_t n_slots)
{
    return n_slots * (sizeof(struct entry) + sizeof(struct share));
}

size_t sto_once_fit(uint64_t n_bytes)
{
    size_t n_slots = FIRST_SLOTS;
    /* the old slots are there until the new ones are filled */
    while (bytes_of(n_slots) + bytes_of(2 * n_slots) <= n_bytes)
        n_slots *= 2;
    return n_slots / 4 * 3;
}

void sto_once_free(struct sto_once *t)
{
    if (!t)
        return;
    ts_budget_free(t->limits.budget, t->slots, bytes_of(t->n_slots));
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

/* The slot of an id, NULL if it has none. Most sequences follow another one of the same id. */
static struct entry *find(struct sto_once *t, const struct sto_once_id *id)
{
    struct entry *e = t->recent;
    if (e && e->id.made_s == id->made_s && e->id.random == id->random)
        return e;
    e = t->n_slots ? probe(t->slots, t->n_slots, id) : NULL;
    return e && e->id.made_s ? (t->recent = e) : NULL;
}

/* The slot of an address, or the free one where it belongs. There is a free one, since each address in the table has an id. */
static struct share *share_of(const struct sto_once *t, uint64_t client)
{
    size_t i = ts_hash_u64(client) & (t->n_slots - 1);
    while (t->shares[i].client && t->shares[i].client != client)
        i = (i + 1) & (t->n_slots - 1);
    return &t->shares[i];
}

/* From now on an address counts an id. */
static void own(struct sto_once *t, struct entry *e, uint64_t client)
{
    e->client = client;
    if (!client)
        return;
    struct share *share = share_of(t, client);
    share->client = client;
    share->n++;
}

/* ran_s from which on an id is over. */
static uint64_t end_of(const struct sto_once *t, const struct entry *e)
{
    uint64_t end = e->seen_s + t->limits.kept_s;
    return end < UINT64_MAX - STO_ONCE_LONGER_S ? end + STO_ONCE_LONGER_S : UINT64_MAX;
}

static bool is_over(const struct sto_once *t, const struct entry *e, uint64_t ran_s)
{
    return ran_s >= end_of(t, e);
}

static void forget(struct sto_once *t, const struct entry *e)
{
    sto_once_gone_add(&t->gone, e->id.made_s, t->limits.kept_s);
}

/* Put an id into a table where it has no slot and is room. */
static struct entry *place(struct sto_once *t, const struct entry *from)
{
    struct entry *e = probe(t->slots, t->n_slots, &from->id);
    uint64_t end = end_of(t, from);
    *e = *from;
    own(t, e, from->client);
    t->n++;
    t->over_s = end < t->over_s ? end : t->over_s;
    return e;
}

/* Move what is not over to a table with room for more ids. */
static int rebuild(struct sto_once *t, uint64_t ran_s, bool forced)
{
    struct entry *old = t->slots;
    size_t n = 0, n_slots = FIRST_SLOTS, n_old = t->n_slots;
    for (size_t i = 0; i < n_old; i++)
        n += old[i].id.made_s && !is_over(t, &old[i], ran_s);
    while (n_slots / 8 * 5 <= n)
        n_slots *= 2;
    if (forced)
        ts_budget_force(t->limits.budget, bytes_of(n_slots));
    else
        TS_TRY(ts_budget_take(t->limits.budget, bytes_of(n_slots), NULL));
    struct entry *slots = ts_try_calloc(1, bytes_of(n_slots));
    if (!slots) {
        ts_budget_give(t->limits.budget, bytes_of(n_slots));
        return TS_ENOMEM;
    }
    t->slots = slots;
    t->shares = (struct share *)(void *)(slots + n_slots);
    t->recent = NULL;
    t->n_slots = n_slots;
    t->n = 0;
    t->over_s = UINT64_MAX;
    for (size_t i = 0; i < n_old; i++)
        if (old[i].id.made_s && is_over(t, &old[i], ran_s))
            forget(t, &old[i]);
        else if (old[i].id.made_s)
            (void)place(t, &old[i]);
    ts_budget_free(t->limits.budget, old, bytes_of(n_old));
    return 0;
}

/* A slot for an id that has none. NULL: no memory. */
static struct entry *insert(struct sto_once *t, const struct sto_once_id *id, uint64_t client, uint64_t ran_s,
                            bool forced)
{
    if ((t->n + 1) * 4 > t->n_slots * 3 && rebuild(t, ran_s, forced) < 0)
        return NULL;
    return place(t, &(struct entry){.id = *id, .client = client, .seen_s = ran_s});
}

static enum sto_once_answer room_now(const struct sto_once *t, uint64_t client)
{
    if (client && t->limits.max_client_ids && t->n && share_of(t, client)->n >= t->limits.max_client_ids)
        return STO_ONCE_SHARE;
    return t->n >= t->limits.max_ids ? STO_ONCE_FULL : STO_ONCE_NEW;
}

/* Is there room for another id of an address? Ids that are over make some. */
static enum sto_once_answer room_for(struct sto_once *t, uint64_t client, uint64_t ran_s)
{
    enum sto_once_answer answer = room_now(t, client);
    if (answer != STO_ONCE_NEW && ran_s >= t->over_s && rebuild(t, ran_s, false) == 0)
        answer = room_now(t, client);
    return answer;
}

/* Is an id so old that it may not be used any more? */
static bool is_old(const struct sto_once *t, const struct sto_once_id *id, const struct sto_once_time *now)
{
    return now->earliest_s > t->limits.kept_s && id->made_s <= now->earliest_s - t->limits.kept_s;
}

/* Give a new id its place. */
static enum sto_once_answer admit(struct sto_once *t, const struct sto_stream *s,
                                  const struct sto_once_time *now, struct entry **out)
{
    uint64_t made_s = s->id.made_s;
    size_t at = (ts_hash_u64(s->client) & (BAR_CLIENTS - 1)) * BAR_IDS +
                (ts_hash_u64(s->id.random ^ made_s) & (BAR_IDS - 1));
    if (sto_once_gone_has(&t->gone, made_s))
        return STO_ONCE_FORGOTTEN;
    enum sto_once_answer answer = room_for(t, s->client, now->ran_s);
    if (is_old(t, &s->id, now))
        answer = STO_ONCE_FORGOTTEN;
    else if (made_s > now->latest_s && made_s - now->latest_s > STO_ONCE_AHEAD_S)
        answer = STO_ONCE_AHEAD;
    else if (answer == STO_ONCE_NEW && s->number <= t->barred[at])
        answer = STO_ONCE_FULL;
    if (answer == STO_ONCE_NEW && !(*out = insert(t, &s->id, s->client, now->ran_s, false)))
        answer = STO_ONCE_FULL;
    if (answer != STO_ONCE_NEW && s->number > t->barred[at])
        t->barred[at] = s->number; /* or a later sequence of this id could be added before this one */
    return answer;
}

enum sto_once_answer sto_once_look(struct sto_once *t, const struct sto_stream *stream, uint64_t seq,
                                   const struct sto_once_time *now)
{
    struct entry *e = find(t, &stream->id);
    if (!e) {
        enum sto_once_answer answer = admit(t, stream, now, &e);
        if (answer != STO_ONCE_NEW)
            return answer;
    } else if (is_over(t, e, now->ran_s)) {
        return STO_ONCE_FORGOTTEN;
    } else if (!e->client) {
        own(t, e, stream->client);
    }
    if (seq <= e->last || seq <= e->taken)
        return STO_ONCE_REPEAT;
    if (stream->number < e->stream)
        return STO_ONCE_STALE;
    e->stream = stream->number;
    if (e->refused && seq > e->refused && e->taken < e->refused)
        return STO_ONCE_WAIT;
    if (is_old(t, &stream->id, now)) {
        e->refused = seq; /* should the clock be corrected, no later sequence passes this one */
        return STO_ONCE_FORGOTTEN;
    }
    e->taken = seq;
    return STO_ONCE_NEW;
}

int sto_once_added(struct sto_once *t, const struct sto_once_id *id, uint64_t seq)
{
    struct entry *e = find(t, id);
    if (!e && sto_once_gone_has(&t->gone, id->made_s))
        return 0;
    if (!e && !(e = insert(t, id, 0, STO_ONCE_RAN_START, true)))
        return TS_ENOMEM;
    if (seq > e->last)
        e->last = seq;
    if (e->refused <= e->last)
        e->refused = 0;
    if (e->taken <= e->last)
        e->taken = 0;
    return 0;
}

void sto_once_undone(struct sto_once *t, const struct sto_once_id *id)
{
    struct entry *e = find(t, id);
    if (e)
        e->taken = 0;
}

void sto_once_refused(struct sto_once *t, const struct sto_once_id *id, uint64_t seq)
{
    struct entry *e = find(t, id);
    if (!e)
        return;
    e->taken = 0;
    if (seq > e->last && (!e->refused || seq < e->refused))
        e->refused = seq;
}

void sto_once_forget_all(struct sto_once *t)
{
    for (size_t i = 0; i < t->n_slots; i++) {
        if (t->slots[i].id.made_s)
            forget(t, &t->slots[i]);
        t->slots[i] = (struct entry){.last = 0};
        t->shares[i] = (struct share){.n = 0};
    }
    t->n = 0;
    t->recent = NULL;
    t->over_s = UINT64_MAX;
}

/* Does b have each id of a that added something, with the same last sequence? */
static bool has_all(const struct sto_once *b, const struct sto_once *a)
{
    for (size_t i = 0; i < a->n_slots; i++) {
        const struct entry *e = &a->slots[i];
        if (e->id.made_s && e->last && (!b->n_slots || probe(b->slots, b->n_slots, &e->id)->last != e->last))
            return false;
    }
    return true;
}

bool sto_once_same(const struct sto_once *a, const struct sto_once *b)
{
    return has_all(a, b) && has_all(b, a);
}

bool sto_once_waits(const struct sto_once *t)
{
    for (size_t i = 0; i < t->n_slots; i++)
        if (t->slots[i].refused)
            return true;
    return false;
}

int sto_once_copy(const struct sto_once *from, const struct sto_once_limits *limits, struct sto_once **out)
{
    TS_TRY(sto_once_new(limits, out));
    struct sto_once *t = *out;
    size_t n_slots = from->n_slots;
    struct entry *slots = n_slots ? ts_try_calloc(1, bytes_of(n_slots)) : NULL;
    if (n_slots && !slots) {
        sto_once_free(t);
        *out = NULL;
        return TS_ENOMEM;
    }
    *t = *from;
    t->limits = *limits;
    t->recent = NULL;
    t->slots = slots;
    t->shares = n_slots ? (struct share *)(void *)(slots + n_slots) : NULL;
    if (n_slots)
        memcpy(slots, from->slots, bytes_of(n_slots));
    ts_budget_force(limits->budget, bytes_of(n_slots));
    return 0;
}

/* What `from` has forgotten is forgotten by `to` as well. */
static void join_forgotten(struct sto_once *to, const struct sto_once *from)
{
    for (unsigned i = 0; i < from->gone.n; i++) {
        const struct sto_once_range *r = &from->gone.at[i];
        sto_once_gone_add(&to->gone, r->from_s, 0);
        sto_once_gone_add(&to->gone, r->to_s, r->to_s - r->from_s); /* and all between */
    }
}

int sto_once_join(struct sto_once *to, const struct sto_once *from)
{
    for (size_t i = 0; i < from->n_slots; i++) {
        const struct entry *f = &from->slots[i];
        if (!f->id.made_s)
            continue;
        struct entry *e = find(to, &f->id);
        if (!e && !(e = insert(to, &f->id, f->client, f->seen_s, true)))
            return TS_ENOMEM;
        if (!e->client)
            own(to, e, f->client);
        e->stream = f->stream > e->stream ? f->stream : e->stream;
        e->seen_s =
            f->seen_s > e->seen_s ? f->seen_s : e->seen_s; /* over_s may be too early, which costs a look */
    }
    for (size_t i = 0; i < sizeof to->barred / sizeof to->barred[0]; i++)
        if (from->barred[i] > to->barred[i])
            to->barred[i] = from->barred[i];
    if (from->former_s > to->former_s)
        to->former_s = from->former_s;
    join_forgotten(to, from);
    return 0;
}

bool sto_once_is_forgotten(const struct sto_once *t, uint64_t made_s)
{
    return sto_once_gone_has(&t->gone, made_s);
}

uint64_t sto_once_former_s(const struct sto_once *t)
{
    return t->former_s;
}

bool sto_once_is_new(const struct sto_once *t)
{
    return t->n == 0 && t->gone.n == 0;
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

/* Ranges, each by its distance to the end of the one before, and its length. */
static int put_gone(struct ts_buf *out, const struct sto_once_gone *gone)
{
    uint64_t end = 0;
    TS_TRY(put(out, gone->n));
    for (unsigned i = 0; i < gone->n; i++) {
        TS_TRY(put(out, gone->at[i].from_s - end));
        TS_TRY(put(out, gone->at[i].to_s - gone->at[i].from_s));
        end = gone->at[i].to_s;
    }
    return 0;
}

int sto_once_encode(const struct sto_once *t, const struct sto_once_time *now, struct ts_buf *out)
{
    struct sto_once_gone gone = t->gone;
    size_t n = 0;
    for (size_t i = 0; i < t->n_slots; i++) {
        const struct entry *e = &t->slots[i];
        if (e->last && is_over(t, e, now->ran_s))
            sto_once_gone_add(&gone, e->id.made_s, t->limits.kept_s);
        else
            n += e->last != 0;
    }
    TS_TRY(put(out, now->steady_s));
    TS_TRY(put_gone(out, &gone));
    TS_TRY(put(out, n));
    for (size_t i = 0; i < t->n_slots; i++) {
        const struct entry *e = &t->slots[i];
        if (!e->last || is_over(t, e, now->ran_s))
            continue;
        TS_TRY(put(out, e->id.made_s));
        TS_TRY(put(out, e->id.random));
        TS_TRY(put(out, e->last));
        TS_TRY(put(out, now->ran_s - e->seen_s));
        TS_TRY(put(out, e->client));
    }
    return 0;
}

/* Varints on their way in; p NULL: the bytes end too early, or hold something invalid. */
struct in {
    const uint8_t *p, *end;
};

static uint64_t get(struct in *in, uint64_t max)
{
    uint64_t v = 0;
    in->p = in->p ? ts_get_varint(in->p, in->end, &v) : NULL;
    if (v > max)
        in->p = NULL;
    return v;
}

static void get_gone(struct in *in, struct sto_once_gone *out)
{
    uint64_t end = 0, n = get(in, STO_ONCE_GONE);
    for (uint64_t i = 0; in->p && i < n; i++) {
        uint64_t from = end + get(in, UINT64_MAX - end);
        uint64_t to = from + get(in, UINT64_MAX - from);
        if (from <= end)
            in->p = NULL;
        out->at[i] = (struct sto_once_range){from, end = to};
    }
    out->n = in->p ? (unsigned)n : 0;
}

int sto_once_decode(struct sto_once *t, struct ts_slice bytes, struct ts_error *err)
{
    struct in in = {(const uint8_t *)bytes.p, bytes.n ? (const uint8_t *)bytes.p + bytes.n : NULL};
    in.p = bytes.n ? in.p : NULL;
    t->former_s = get(&in, UINT64_MAX);
    get_gone(&in, &t->gone);
    for (uint64_t n = get(&in, UINT64_MAX); in.p && n; n--) {
        struct entry e = {.id.made_s = get(&in, UINT64_MAX)};
        e.id.random = get(&in, UINT64_MAX);
        e.last = get(&in, UINT64_MAX);
        e.seen_s = STO_ONCE_RAN_START - get(&in, STO_ONCE_RAN_START);
        e.client = get(&in, UINT64_MAX);
        if (!in.p || !e.id.made_s || !e.last || find(t, &e.id))
            return ts_error_set(err, TS_ECORRUPT, "table of ids of clients: invalid entry");
        if ((t->n + 1) * 4 > t->n_slots * 3)
            TS_TRY(rebuild(t, 0, true)); /* 0: no id is over */
        (void)place(t, &e);
    }
    if (!in.p || in.p != in.end)
        return ts_error_set(err, TS_ECORRUPT, "table of ids of clients: wrong length");
    return 0;
}
