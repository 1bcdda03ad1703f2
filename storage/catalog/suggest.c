/*
 * suggest.c - names in byte order, sorted by the first lookup.
 *
 * Threads    see suggest.h
 */
#include "storage/catalog/suggest.h"

#include <stdlib.h>

#include "base/mem.h"
#include "storage/catalog/catalog.h"
#include "storage/catalog/uid.h"

#define TAIL_MAX 4096u /* newer ids searched one by one; more are merged first */

/* A name to be sorted. Its first 8 bytes usually decide without reading the rest. */
struct item {
    uint64_t head;              /* first 8 bytes, big-endian, zero-filled */
    const struct sto_uidtab *t; /* table with the whole name */
    uint32_t id;                /* of the name */
};

static uint64_t head_of(struct ts_slice s)
{
    char b[8] = {0};
    if (s.n)
        memcpy(b, s.p, s.n < 8 ? s.n : 8);
    return __builtin_bswap64(ts_ld64(b));
}

static int by_name(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    if (x->head != y->head)
        return x->head < y->head ? -1 : 1;
    return ts_slice_cmp(sto_uidtab__name(x->t, x->id), sto_uidtab__name(y->t, y->id));
}

/* Name of an id as lookups see it. */
static struct ts_slice name_of(const struct sto_suggest *s, const struct sto_uidtab *t, uint32_t id)
{
    struct ts_slice name = sto_uidtab__name(t, id);
    return name.p && s->leaving && roaring_bitmap_contains(s->leaving, id) ? (struct ts_slice){NULL, 0}
                                                                           : name;
}

/* Sort the ids from..to that have a name. Returns their number; the caller frees *out. */
static uint32_t sort_range(const struct sto_suggest *s, const struct sto_uidtab *t, uint32_t from,
                           uint32_t to, uint32_t **out)
{
    uint32_t n = 0, max = 0;
    for (uint64_t id = from; id <= to; id++) /* most ids of the past may have no name any more */
        max += name_of(s, t, (uint32_t)id).p != NULL;
    struct item *items = ts_xmalloc((size_t)max * sizeof(*items) + 1);
    for (uint64_t id = from; id <= to && n < max; id++) {
        struct ts_slice name = name_of(s, t, (uint32_t)id);
        if (name.p)
            items[n++] = (struct item){.head = head_of(name), .t = t, .id = (uint32_t)id};
    }
    qsort(items, n, sizeof(*items), by_name);
    *out = ts_xmalloc((size_t)n * sizeof(**out) + 1);
    for (uint32_t i = 0; i < n; i++)
        (*out)[i] = items[i].id;
    ts_free(items);
    return n;
}

static int cmp_ids(const struct sto_uidtab *t, uint32_t a, uint32_t b)
{
    return ts_slice_cmp(sto_uidtab__name(t, a), sto_uidtab__name(t, b));
}

/* Update the sorted array, but for a short tail. */
static void refresh(struct sto_suggest *s, const struct sto_uidtab *t, uint32_t max_id, uint64_t n_changes)
{
    if (s->n_changes != n_changes) {
        s->n = s->covered = 0;
        s->n_changes = n_changes;
    }
    if (max_id - s->covered <= TAIL_MAX)
        return;
    uint32_t *fresh, n_fresh = sort_range(s, t, s->covered + 1, max_id, &fresh);
    uint32_t *all = ts_xmalloc(((size_t)s->n + n_fresh) * sizeof(*all) + 1);
    for (uint32_t i = 0, a = 0, b = 0; i < s->n + n_fresh; i++)
        all[i] = b == n_fresh || (a < s->n && cmp_ids(t, s->sorted[a], fresh[b]) < 0) ? s->sorted[a++]
                                                                                      : fresh[b++];
    ts_free(fresh);
    ts_free(s->sorted);
    s->sorted = all;
    s->n += n_fresh;
    s->covered = max_id;
}

static bool begins_with(struct ts_slice name, struct ts_slice prefix)
{
    if (!name.p || name.n < prefix.n)
        return false;
    return prefix.n == 0 ? !sto_name_internal(name) : memcmp(name.p, prefix.p, prefix.n) == 0;
}

/* Index of the first name in sorted that is not before prefix. */
static uint32_t lower_bound(const struct sto_suggest *s, const struct sto_uidtab *t, struct ts_slice prefix)
{
    uint32_t lo = 0, hi = s->n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (ts_slice_cmp(sto_uidtab__name(t, s->sorted[mid]), prefix) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* Matching ids of the tail, sorted; the caller frees them. */
static uint32_t *tail_matches(const struct sto_suggest *s, const struct sto_uidtab *t, uint32_t max_id,
                              struct ts_slice prefix, uint32_t *out_n)
{
    struct item *items = ts_xmalloc((TAIL_MAX + 1) * sizeof(*items));
    uint32_t n = 0;
    for (uint32_t id = s->covered + 1; id <= max_id; id++) {
        struct ts_slice name = name_of(s, t, id);
        if (begins_with(name, prefix))
            items[n++] = (struct item){.head = head_of(name), .t = t, .id = id};
    }
    qsort(items, n, sizeof(*items), by_name);
    uint32_t *ids = ts_xmalloc((n + 1) * sizeof(*ids));
    for (uint32_t i = 0; i < n; i++)
        ids[i] = items[i].id;
    ts_free(items);
    *out_n = n;
    return ids;
}

void sto_suggest__names(struct sto_uidtab *t, struct ts_slice prefix, size_t max,
                        void (*each)(void *arg, uint32_t id, struct ts_slice name), void *arg)
{
    struct sto_suggest *s = &t->suggest;
    pthread_mutex_lock(&s->lock);
    uint64_t n_changes =
        atomic_load_explicit(&t->n_changes, memory_order_acquire);            /* partner: sto_uidtab__put */
    uint32_t max_id = atomic_load_explicit(&t->max_id, memory_order_acquire); /* partner: sto_uidtab__put */
    refresh(s, t, max_id, n_changes);
    static const char past_internal[] = {STO_INTERNAL_MARK + 1, 0};
    uint32_t n_tail, b = 0, a = lower_bound(s, t, prefix.n ? prefix : ts_slice_str(past_internal));
    uint32_t *tail = tail_matches(s, t, max_id, prefix, &n_tail);
    struct ts_buf found; /* ids; the callback runs outside of the lock */
    ts_buf_init(&found, 0);
    while (found.n / sizeof(uint32_t) < max) {
        bool more = a < s->n && begins_with(sto_uidtab__name(t, s->sorted[a]), prefix);
        if (!more && b == n_tail)
            break;
        bool from_sorted = more && (b == n_tail || cmp_ids(t, s->sorted[a], tail[b]) < 0);
        uint32_t id = from_sorted ? s->sorted[a++] : tail[b++];
        if (sto_uid_deleted(sto_uidtab__name(t, id)))
            continue;
        if (ts_buf_append(&found, &id, sizeof(id)) < 0)
            break;
    }
    pthread_mutex_unlock(&s->lock);
    ts_free(tail);
    for (size_t i = 0; i < found.n; i += sizeof(uint32_t)) {
        uint32_t id = ts_ld32(found.p + i);
        struct ts_slice name = sto_uidtab__name(t, id);
        if (name.p) /* it may have been forgotten since */
            each(arg, id, name);
    }
    ts_buf_release(&found);
}

/* Does the name contain part, but not at its beginning? */
static bool contains(struct ts_slice name, struct ts_slice part)
{
    return name.p && name.n > part.n && !sto_name_internal(name) && memcmp(name.p, part.p, part.n) != 0 &&
           memmem(name.p + 1, name.n - 1, part.p, part.n) && !sto_uid_deleted(name);
}

/* Insert an id into ids[0..n), which are sorted by name; the last one is dropped if there are max. Returns how many there are then. */
static size_t insert(const struct sto_uidtab *t, uint32_t *ids, size_t n, size_t max, uint32_t id)
{
    if (n == max && cmp_ids(t, id, ids[n - 1]) > 0)
        return n;
    size_t at = n < max ? n : n - 1;
    for (; at > 0 && cmp_ids(t, id, ids[at - 1]) < 0; at--)
        ids[at] = ids[at - 1];
    ids[at] = id;
    return n < max ? n + 1 : n;
}

void sto_suggest__containing(struct sto_uidtab *t, struct ts_slice part, size_t max,
                             void (*each)(void *arg, uint32_t id, struct ts_slice name), void *arg)
{
    struct sto_suggest *s = &t->suggest;
    uint32_t *ids = ts_xmalloc((max + 1) * sizeof(*ids));
    size_t n = 0;
    if (!part.n || !max) { /* every name begins with nothing */
        ts_free(ids);
        return;
    }
    uint32_t max_id = atomic_load_explicit(&t->max_id, memory_order_acquire); /* partner: sto_uidtab__put */
    pthread_mutex_lock(&s->lock);                                             /* s->leaving must not change */
    for (uint64_t id = 1; id <= max_id; id++)
        if (contains(name_of(s, t, (uint32_t)id), part))
            n = insert(t, ids, n, max, (uint32_t)id);
    pthread_mutex_unlock(&s->lock);
    for (size_t i = 0; i < n; i++) {
        struct ts_slice name = sto_uidtab__name(t, ids[i]);
        if (name.p) /* it may have been forgotten since */
            each(arg, ids[i], name);
    }
    ts_free(ids);
}

void sto_suggest__leave(struct sto_suggest *s, const roaring_bitmap_t *ids)
{
    uint32_t n = 0;
    pthread_mutex_lock(&s->lock);
    s->leaving = ids;
    for (uint32_t i = 0; ids && i < s->n; i++)
        if (!roaring_bitmap_contains(ids, s->sorted[i]))
            s->sorted[n++] = s->sorted[i];
    s->n = ids ? n : s->n;
    pthread_mutex_unlock(&s->lock);
}
