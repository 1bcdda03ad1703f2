/*
 * forget_names.c - the part of names in a pass of forgetting: candidates, records, removal.
 *
 * Threads    see forget.h; locks in catalog_int.h
 * Invariant  a name is on disk as forgotten before the same text can get another id, and after all series that
 *            had it
 */
#include "base/mem.h"
#include "storage/catalog/catalog_int.h"
#include "storage/catalog/catalog_log.h"

#define AT_ONCE      256u  /* names for which the mutex is held */
#define TRIM_AT_ONCE 4096u /* the same while pages are returned */

/* One bit for each id, by kind. */
struct id_bits {
    uint8_t *bits[STO_UID_KINDS]; /* owned */
    uint32_t end[STO_UID_KINDS];  /* highest id + 1 */
};

void sto_catalog_keep_names(struct sto_catalog *cat, const struct sto_name_keeper *keeper)
{
    cat->forget.keeper = *keeper;
}

int sto_catalog__touch_name(struct sto_catalog *cat, enum sto_uid_kind kind, uint32_t id,
                            struct ts_error *err)
{
    struct sto_forgetting *f = &cat->forget;
    if (f->names_going[kind] && roaring_bitmap_contains(f->names_going[kind], id))
        return ts_error_set(err, TS_EBUSY, "the %s is being forgotten, try again in a moment",
                            sto_uid__kind_name(kind));
    if (f->names_leaving[kind])
        roaring_bitmap_remove(f->names_leaving[kind], id);
    return 0;
}

/* --- which names series have --- */

static void bits_init(struct id_bits *b, const struct sto_catalog *cat)
{
    for (int kind = 0; kind < STO_UID_KINDS; kind++) {
        b->end[kind] = sto_uid_max(cat, (enum sto_uid_kind)kind) + 1;
        b->bits[kind] = ts_xcalloc(b->end[kind] / 8 + 1, 1);
    }
}

static void bits_release(struct id_bits *b)
{
    for (int kind = 0; kind < STO_UID_KINDS; kind++)
        ts_free(b->bits[kind]);
}

static void bits_add(struct id_bits *b, enum sto_uid_kind kind, uint32_t id)
{
    if (id < b->end[kind])
        b->bits[kind][id / 8] |= (uint8_t)(1u << id % 8);
}

static bool bits_have(const struct id_bits *b, int kind, uint32_t id)
{
    return b->bits[kind][id / 8] >> id % 8 & 1;
}

static void add_names_of(struct id_bits *b, const struct sto_series *s)
{
    bits_add(b, STO_UID_METRIC, s->metric);
    for (unsigned i = 0; i < s->n_tags; i++) {
        bits_add(b, STO_UID_TAGK, s->tags[i].k);
        bits_add(b, STO_UID_TAGV, s->tags[i].v);
    }
}

/* Names of the series in the table, and of those that readers may still hold. No lock is needed, since only
 * this thread removes series. */
static void find_used(const struct sto_catalog *cat, struct id_bits *b)
{
    const struct sto_retired *retired[] = {&cat->forget.fresh, &cat->forget.waiting};
    bits_init(b, cat);
    for (uint32_t id = 0, end = sto_series_count(cat); id < end; id++) {
        const struct sto_series *s = sto_series_get(cat, id);
        if (s)
            add_names_of(b, s);
    }
    for (size_t r = 0; r < 2; r++)
        for (size_t i = 0; i < retired[r]->n; i++)
            add_names_of(b, retired[r]->series[i]);
}

static roaring_bitmap_t *set_of(const struct id_bits *b, int kind)
{
    roaring_bitmap_t *set = roaring_bitmap_create();
    for (uint32_t id = 1; id < b->end[kind]; id++)
        if (bits_have(b, kind, id))
            roaring_bitmap_add(set, id);
    return set;
}

/* --- a pass --- */

void sto_catalog__names_begin(struct sto_catalog *cat)
{
    struct sto_forgetting *f = &cat->forget;
    for (int kind = 0; kind < STO_UID_KINDS; kind++) {
        if (f->keeper.kinds >> kind & 1)
            continue;
        const struct sto_uidtab *t = &cat->uids[kind];
        roaring_bitmap_t *named = roaring_bitmap_create();
        for (uint32_t id = 1, end = sto_uid_max(cat, (enum sto_uid_kind)kind) + 1; id < end; id++)
            if (sto_dense__get(&t->names, id))
                roaring_bitmap_add(named, id);
        pthread_mutex_lock(&cat->lock);
        if (t->assigned)
            roaring_bitmap_andnot_inplace(named, t->assigned);
        f->names_leaving[kind] = named;
        pthread_mutex_unlock(&cat->lock);
    }
}

/* Remove these ids from the candidates of a kind. */
static void keep_all(struct sto_catalog *cat, int kind, const roaring_bitmap_t *ids)
{
    roaring_bitmap_t **leaving = &cat->forget.names_leaving[kind];
    pthread_mutex_lock(&cat->lock);
    if (*leaving)
        roaring_bitmap_andnot_inplace(*leaving, ids);
    pthread_mutex_unlock(&cat->lock);
}

void sto_catalog__names_spare(struct sto_catalog *cat)
{
    const struct sto_name_keeper *k = &cat->forget.keeper;
    roaring_bitmap_t *ids[STO_UID_KINDS];
    if (!k->mentioned)
        return;
    for (int kind = 0; kind < STO_UID_KINDS; kind++)
        ids[kind] = roaring_bitmap_create();
    k->mentioned(k->arg, ids);
    for (int kind = 0; kind < STO_UID_KINDS; kind++) {
        keep_all(cat, kind, ids[kind]);
        roaring_bitmap_free(ids[kind]);
    }
}

uint64_t sto_catalog__names_unused(struct sto_catalog *cat)
{
    struct sto_forgetting *f = &cat->forget;
    struct id_bits used;
    uint64_t n = 0;
    find_used(cat, &used);
    for (int kind = 0; kind < STO_UID_KINDS; kind++) {
        roaring_bitmap_t *ids = set_of(&used, kind);
        keep_all(cat, kind, ids);
        roaring_bitmap_free(ids);
    }
    bits_release(&used);
    sto_catalog__names_spare(cat);
    pthread_mutex_lock(&cat->lock);
    for (int kind = 0; kind < STO_UID_KINDS; kind++)
        n += f->names_leaving[kind] ? roaring_bitmap_get_cardinality(f->names_leaving[kind]) : 0;
    pthread_mutex_unlock(&cat->lock);
    return n;
}

bool sto_catalog__names_left(const struct sto_catalog *cat)
{
    const struct sto_forgetting *f = &cat->forget;
    bool left = false;
    for (int kind = 0; kind < STO_UID_KINDS; kind++)
        left |= f->names_going[kind] ||
                (f->names_leaving[kind] && !roaring_bitmap_is_empty(f->names_leaving[kind]));
    return left;
}

void sto_catalog__names_cancel(struct sto_catalog *cat)
{
    struct sto_forgetting *f = &cat->forget;
    pthread_mutex_lock(&cat->lock);
    for (int kind = 0; kind < STO_UID_KINDS; kind++) {
        if (f->names_leaving[kind])
            roaring_bitmap_free(f->names_leaving[kind]);
        f->names_leaving[kind] = NULL;
    }
    pthread_mutex_unlock(&cat->lock);
}

int sto_catalog__names_write(struct sto_catalog *cat, struct ts_error *err)
{
    struct sto_forgetting *f = &cat->forget;
    pthread_mutex_lock(&cat->lock);
    for (int kind = 0; kind < STO_UID_KINDS; kind++) {
        if (!f->names_going[kind])
            f->names_going[kind] = f->names_leaving[kind];
        f->names_leaving[kind] = NULL;
    }
    pthread_mutex_unlock(&cat->lock);
    /* no other thread changes them from here on */
    for (unsigned kind = 0; kind < STO_UID_KINDS; kind++) {
        if (!f->names_going[kind])
            continue;
        TS_TRY(sto_catalog_log__gone(cat->log, kind, f->names_going[kind], err));
        f->n_dead += roaring_bitmap_get_cardinality(f->names_going[kind]);
    }
    return 0;
}

static void retire(struct sto_retired *r, enum sto_uid_kind kind, const void *interned)
{
    if (r->n_names == r->cap_names)
        r->names =
            ts_xrealloc(r->names, (r->cap_names = r->cap_names ? r->cap_names * 2 : 256) * sizeof(*r->names));
    r->names[r->n_names++] = (struct sto_retired_name){kind, interned};
}

/* Remove ids[0..n) from the table. */
static void take_out(struct sto_catalog *cat, enum sto_uid_kind kind, const uint32_t *ids, uint32_t n)
{
    struct sto_forgetting *f = &cat->forget;
    struct sto_uidtab *t = &cat->uids[kind];
    for (uint32_t at = 0; at < n;) {
        pthread_mutex_lock(&cat->lock);
        for (uint32_t end = n - at < AT_ONCE ? n : at + AT_ONCE; at < end; at++) {
            const void *interned = sto_uidtab__take_out(t, ids[at]);
            if (interned)
                retire(&f->fresh, kind, interned);
            f->n_names_forgotten += interned != NULL;
        }
        pthread_mutex_unlock(&cat->lock);
    }
    for (uint32_t at = 0; at < n; at += TRIM_AT_ONCE) {
        pthread_mutex_lock(&cat->lock);
        sto_dense__trim(&t->names, ids + at, n - at < TRIM_AT_ONCE ? n - at : TRIM_AT_ONCE);
        pthread_mutex_unlock(&cat->lock);
    }
}

void sto_catalog__names_take(struct sto_catalog *cat)
{
    struct sto_forgetting *f = &cat->forget;
    for (int kind = 0; kind < STO_UID_KINDS; kind++) {
        roaring_bitmap_t *going = f->names_going[kind];
        uint32_t n = going ? (uint32_t)roaring_bitmap_get_cardinality(going) : 0;
        if (n) {
            uint32_t *ids = ts_xmalloc(n * sizeof(*ids));
            roaring_bitmap_to_uint32_array(going, ids);
            sto_suggest__leave(&cat->uids[kind].suggest, going);
            take_out(cat, (enum sto_uid_kind)kind, ids, n);
            sto_suggest__leave(&cat->uids[kind].suggest, NULL);
            ts_free(ids);
        }
        pthread_mutex_lock(&cat->lock);
        f->names_going[kind] = NULL;
        pthread_mutex_unlock(&cat->lock);
        if (going)
            roaring_bitmap_free(going);
    }
}

void sto_catalog__names_free(struct sto_catalog *cat, struct sto_retired *r)
{
    while (r->n_names) {
        pthread_mutex_lock(&cat->lock);
        for (uint32_t i = 0; i < AT_ONCE && r->n_names; i++) {
            const struct sto_retired_name *name = &r->names[--r->n_names];
            sto_uidtab__free(&cat->uids[name->kind], name->interned);
        }
        pthread_mutex_unlock(&cat->lock);
    }
    ts_free(r->names);
    r->names = NULL;
    r->cap_names = 0;
}

/* --- when the log is read --- */

void sto_catalog__replay_gone_names(struct sto_catalog *cat, enum sto_uid_kind kind, const uint32_t *ids,
                                    uint32_t n)
{
    struct sto_uidtab *t = &cat->uids[kind];
    for (uint32_t i = 0; i < n; i++) {
        const void *interned = sto_uidtab__take_out(t, ids[i]);
        if (interned)
            sto_uidtab__free(t, interned);
        cat->forget.n_dead += interned != NULL;
    }
    sto_dense__trim(&t->names, ids, n);
    sto_uidtab__raise(t, ids[n - 1]);
    cat->names_were_gone = true;
}

static bool has_names(const struct sto_catalog *cat, const struct sto_series *s)
{
    bool all = sto_uidtab__name(&cat->uids[STO_UID_METRIC], s->metric).p != NULL;
    for (unsigned i = 0; i < s->n_tags; i++)
        all &= sto_uidtab__name(&cat->uids[STO_UID_TAGK], s->tags[i].k).p &&
               sto_uidtab__name(&cat->uids[STO_UID_TAGV], s->tags[i].v).p;
    return all;
}

/* A damaged log may say that a name is forgotten that a series has. */
static int check_series(struct sto_catalog *cat, struct ts_error *err)
{
    for (uint32_t id = 0, end = sto_series_count(cat); cat->names_were_gone && id < end; id++) {
        const struct sto_series *s = sto_series_get(cat, id);
        if (!s || has_names(cat, s))
            continue;
        if (!cat->lenient)
            return ts_error_set(err, TS_ECORRUPT, "catalog: a name of series %u is forgotten", id);
        sto_tagindex__remove(&cat->index, s);
        sto_seriestab__take_out(&cat->series, s);
        sto_seriestab__free(&cat->series, s);
        cat->n_left_out++;
    }
    return 0;
}

/* Names that no series has may have been assigned by people. */
static void assign_unused(struct sto_catalog *cat)
{
    struct id_bits used;
    find_used(cat, &used);
    for (int kind = 0; kind < STO_UID_KINDS; kind++) {
        struct sto_uidtab *t = &cat->uids[kind];
        for (uint32_t id = 1; id < used.end[kind]; id++) {
            struct ts_slice name = sto_uidtab__name(t, id);
            if (name.p && !bits_have(&used, kind, id) && !sto_uid_deleted(name) && sto_uidtab__assign(t, id))
                sto_idruns__add(&t->assigned_pending, id);
        }
    }
    bits_release(&used);
}

int sto_catalog__names_opened(struct sto_catalog *cat, struct ts_error *err)
{
    TS_TRY(check_series(cat, err));
    if (!cat->knows_assigned && !cat->read_only)
        assign_unused(cat);
    return 0;
}
