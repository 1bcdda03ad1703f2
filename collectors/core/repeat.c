/*
 * repeat.c - leaves out points that repeat the last value of their series, which a hash table stores.
 *
 * Series not seen for EVICT_MS are forgotten when the table would grow.
 * Threads    see repeat.h
 */
#include "collectors/core/repeat.h"

#include "base/hash.h"
#include "base/mem.h"

#include <stdbool.h>

#define EVICT_MS    6000000ll /* docs/OPENTSDB.md, section 12.3: --evict-interval */
#define FIRST_SLOTS 256u

/* One series. */
struct entry {
    uint64_t hash;       /* of key */
    char *key;           /* metric and tags, owned; NULL = empty slot */
    size_t n_key;        /* bytes */
    struct ts_buf value; /* text of the value last sent */
    struct ts_buf held;  /* last line kept back; empty = none */
    int64_t sent_ms;     /* time of the first point with that value that was sent */
    int64_t seen_ms;     /* time of the last point */
};

struct col_repeat {
    struct entry *slots; /* open addressing, linear */
    uint32_t n_slots;    /* power of two */
    uint32_t n_used;     /* entries */
    int64_t interval_ms; /* of repetitions */
    int64_t now_ms;      /* newest time seen */
};

struct col_repeat *col_repeat_new(int64_t interval_s)
{
    struct col_repeat *r = ts_xcalloc(1, sizeof(*r));
    r->n_slots = FIRST_SLOTS;
    r->slots = ts_xcalloc(r->n_slots, sizeof(*r->slots));
    r->interval_ms = interval_s * 1000;
    return r;
}

static void entry_release(struct entry *e)
{
    ts_free(e->key);
    ts_buf_release(&e->value);
    ts_buf_release(&e->held);
}

void col_repeat_free(struct col_repeat *r)
{
    if (!r)
        return;
    for (uint32_t i = 0; i < r->n_slots; i++)
        if (r->slots[i].key)
            entry_release(&r->slots[i]);
    ts_free(r->slots);
    ts_free(r);
}

static struct entry *repeat_slot(struct entry *slots, uint32_t n_slots, uint64_t hash, struct ts_slice key)
{
    for (uint32_t i = (uint32_t)hash & (n_slots - 1);; i = (i + 1) & (n_slots - 1)) {
        struct entry *e = &slots[i];
        if (!e->key || (e->hash == hash && e->n_key == key.n && memcmp(e->key, key.p, key.n) == 0))
            return e;
    }
}

/* Make space for one more entry: remove old ones, and double the table if it is still fairly full. */
static void repeat_grow(struct col_repeat *r)
{
    uint32_t n_kept = 0;
    for (uint32_t i = 0; i < r->n_slots; i++)
        n_kept += r->slots[i].key && r->now_ms - r->slots[i].seen_ms <= EVICT_MS;
    uint32_t n_slots = n_kept * 2 >= r->n_slots ? r->n_slots * 2 : r->n_slots;
    struct entry *slots = ts_xcalloc(n_slots, sizeof(*slots));
    for (uint32_t i = 0; i < r->n_slots; i++) {
        struct entry *e = &r->slots[i];
        if (e->key && r->now_ms - e->seen_ms <= EVICT_MS)
            *repeat_slot(slots, n_slots, e->hash, (struct ts_slice){e->key, e->n_key}) = *e;
        else if (e->key)
            entry_release(e);
    }
    ts_free(r->slots);
    r->slots = slots;
    r->n_slots = n_slots;
    r->n_used = n_kept;
}

static struct entry *repeat_entry(struct col_repeat *r, struct ts_slice key, bool *out_new)
{
    uint64_t hash = ts_hash(key.p, key.n);
    struct entry *e = repeat_slot(r->slots, r->n_slots, hash, key);
    *out_new = !e->key;
    if (e->key)
        return e;
    if (r->n_used * 4 >= r->n_slots * 3) {
        repeat_grow(r);
        e = repeat_slot(r->slots, r->n_slots, hash, key);
    }
    e->hash = hash;
    e->key = ts_xstrndup(key.p, key.n);
    e->n_key = key.n;
    ts_buf_init(&e->value, 0);
    ts_buf_init(&e->held, 0);
    r->n_used++;
    return e;
}

unsigned col_repeat_take(struct col_repeat *r, struct ts_slice key, struct ts_slice value, int64_t ts_ms,
                         struct ts_slice line, struct ts_buf *out)
{
    bool fresh;
    unsigned n = 1;
    if (ts_ms > r->now_ms)
        r->now_ms = ts_ms;
    struct entry *e = repeat_entry(r, key, &fresh);
    if (!fresh && ts_ms <= e->seen_ms) {
        ts_buf_slice(out, line);
        return 1;
    }
    bool same = !fresh && ts_slice_eq(ts_buf_get(&e->value), value);
    e->seen_ms = ts_ms;
    if (same && ts_ms - e->sent_ms < r->interval_ms) {
        ts_buf_clear(&e->held);
        ts_buf_slice(&e->held, line);
        return 0;
    }
    if (!same && e->held.n) {
        ts_buf_slice(out, ts_buf_get(&e->held));
        n = 2;
    }
    ts_buf_slice(out, line);
    ts_buf_clear(&e->held);
    if (!same) {
        ts_buf_clear(&e->value);
        ts_buf_slice(&e->value, value);
    }
    e->sent_ms = ts_ms;
    return n;
}
