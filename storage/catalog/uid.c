/*
 * uid.c - names <-> ids of the three kinds.
 *
 * Threads    see catalog.h and uid.h
 * Invariant  an id has a name before any thread can see the id
 * Not here   suggestions (suggest.c), series (series.c)
 */
#include "storage/catalog/uid.h"

#include "base/hash.h"
#include "storage/catalog/catalog_int.h"
#include "storage/readonly.h"

uint32_t sto_uidtab__hash(struct ts_slice name)
{
    return (uint32_t)(ts_hash(name.p, name.n) >> 32);
}

uint32_t sto_uidtab__find(const struct sto_uidtab *t, struct ts_slice name, uint32_t hash)
{
    uint32_t id;
    for (struct sto_idtab_walk w = sto_idtab__walk(&t->by_name, hash); sto_idtab__next(&w, &id);)
        if (ts_slice_eq(sto_uidtab__name(t, id), name))
            return id;
    return 0;
}

const void *sto_uidtab__intern(struct sto_uidtab *t, struct ts_slice name)
{
    char *p = sto_slab__alloc(&t->slab, name.n + 2);
    ts_st16(p, (uint16_t)name.n);
    memcpy(p + 2, name.p, name.n);
    return p;
}

void sto_uidtab__put(struct sto_uidtab *t, uint32_t id, const void *interned, uint32_t hash)
{
    sto_dense__set(&t->names, id, interned);
    sto_idtab__insert(&t->by_name, hash, id);
    t->n_names++;
    if (id > atomic_load_explicit(&t->max_id, memory_order_relaxed)) /* our own store */
        atomic_store_explicit(&t->max_id, id, memory_order_release); /* partner: sto_uid_max */
    else
        atomic_fetch_add_explicit(&t->n_changes, 1, memory_order_release); /* partner: suggest.c */
}

bool sto_uidtab__assign(struct sto_uidtab *t, uint32_t id)
{
    if (!t->assigned)
        t->assigned = roaring_bitmap_create();
    return roaring_bitmap_add_checked(t->assigned, id);
}

void sto_uidtab__rename(struct sto_uidtab *t, uint32_t id, struct ts_slice name)
{
    bool was_deleted = sto_uid_deleted(sto_uidtab__name(t, id));
    sto_idtab__remove(&t->by_name, sto_uidtab__hash(sto_uidtab__name(t, id)), id);
    sto_dense__set(&t->names, id, sto_uidtab__intern(t, name));
    sto_idtab__insert(&t->by_name, sto_uidtab__hash(name), id);
    if (t->assigned && sto_uid_deleted(name))
        roaring_bitmap_remove(t->assigned, id);
    else if (was_deleted && !sto_uid_deleted(name))
        (void)sto_uidtab__assign(t, id); /* the record of the rename says so: no other one is needed */
    atomic_fetch_add_explicit(&t->n_changes, 1, memory_order_release); /* partner: suggest.c */
}

const void *sto_uidtab__take_out(struct sto_uidtab *t, uint32_t id)
{
    const void *interned = sto_dense__get(&t->names, id);
    if (!interned)
        return NULL;
    sto_idtab__remove(&t->by_name, sto_uidtab__hash(sto_uidtab__slice(interned)), id);
    sto_dense__clear(&t->names, id);
    t->n_names--;
    if (t->assigned)
        roaring_bitmap_remove(t->assigned, id);
    return interned;
}

void sto_uidtab__free(struct sto_uidtab *t, const void *interned)
{
    sto_slab__give(&t->slab, (void *)(uintptr_t)interned, (size_t)ts_ld16(interned) + 2);
}

void sto_uidtab__raise(struct sto_uidtab *t, uint32_t id)
{
    if (id > atomic_load_explicit(&t->max_id, memory_order_relaxed)) /* our own store */
        atomic_store_explicit(&t->max_id, id, memory_order_release); /* partner: sto_uid_max */
}

void sto_uidtab__init(struct sto_uidtab *t)
{
    sto_slab__init(&t->slab, 1);
    pthread_mutex_init(&t->suggest.lock, NULL);
}

void sto_uidtab__release(struct sto_uidtab *t)
{
    sto_dense__release(&t->names);
    sto_idtab__release(&t->by_name);
    sto_slab__release(&t->slab);
    sto_idruns__release(&t->pending);
    sto_idruns__release(&t->assigned_pending);
    if (t->assigned)
        roaring_bitmap_free(t->assigned);
    ts_free(t->suggest.sorted);
    pthread_mutex_destroy(&t->suggest.lock);
}

const char *sto_uid__kind_name(enum sto_uid_kind kind)
{
    static const char *const names[STO_UID_KINDS] = {"metric", "tag key", "tag value"};
    return names[kind];
}

int sto_uid__check(enum sto_uid_kind kind, struct ts_slice name, struct ts_error *err)
{
    if (name.n == 0)
        return ts_error_set(err, TS_EINVAL, "empty %s", sto_uid__kind_name(kind));
    if (name.n > STO_UID_MAX_NAME_BYTES)
        return ts_error_set(err, TS_ELIMIT, "%s of %zu bytes is longer than %u", sto_uid__kind_name(kind),
                            name.n, STO_UID_MAX_NAME_BYTES);
    /* these two separate the parts of the text of a series */
    if (memchr(name.p, ' ', name.n) || (kind == STO_UID_TAGK && memchr(name.p, '=', name.n)))
        return ts_error_set(err, TS_EINVAL, "%s must not contain a space%s", sto_uid__kind_name(kind),
                            kind == STO_UID_TAGK ? " or =" : "");
    return 0;
}

int sto_uid__make_locked(struct sto_catalog *cat, enum sto_uid_kind kind, struct ts_slice name, uint32_t hash,
                         uint32_t *out_id, struct ts_error *err)
{
    struct sto_uidtab *t = &cat->uids[kind];
    *out_id = sto_uidtab__find(t, name, hash);
    if (*out_id)
        return sto_catalog__touch_name(cat, kind, *out_id, err);
    TS_TRY(sto_uid__check(kind, name, err));
    uint32_t max =
        atomic_load_explicit(&t->max_id, memory_order_relaxed); /* written under the lock we hold */
    if (max >= STO_UID_MAX_ID)
        return ts_error_set(err, TS_ELIMIT, "no id is left for another %s", sto_uid__kind_name(kind));
    *out_id = max + 1;
    sto_uidtab__put(t, *out_id, sto_uidtab__intern(t, name), hash);
    sto_idruns__add(&t->pending, *out_id);
    return 0;
}

int sto_uid_find(struct sto_catalog *cat, enum sto_uid_kind kind, struct ts_slice name, uint32_t *out_id)
{
    uint32_t hash = sto_uidtab__hash(name);
    pthread_mutex_lock(&cat->lock);
    *out_id = sto_uidtab__find(&cat->uids[kind], name, hash);
    if (*out_id)
        (void)sto_catalog__touch_name(cat, kind, *out_id, NULL);
    pthread_mutex_unlock(&cat->lock);
    return *out_id ? 0 : TS_ENOTFOUND;
}

int sto_uid_keep(struct sto_catalog *cat, enum sto_uid_kind kind, uint32_t id, struct ts_error *err)
{
    pthread_mutex_lock(&cat->lock);
    int rc = sto_uidtab__name(&cat->uids[kind], id).p
                 ? sto_catalog__touch_name(cat, kind, id, err)
                 : ts_error_set(err, TS_ENOTFOUND, "no %s has the id %u", sto_uid__kind_name(kind), id);
    pthread_mutex_unlock(&cat->lock);
    return rc;
}

/* Lock held. */
static int make_checked(struct sto_catalog *cat, enum sto_uid_kind kind, struct ts_slice name,
                        uint32_t *out_id, struct ts_error *err)
{
    uint32_t hash = sto_uidtab__hash(name);
    *out_id = sto_uidtab__find(&cat->uids[kind], name, hash);
    if (!*out_id)
        TS_TRY(sto_catalog__has_memory(cat, err));
    return sto_uid__make_locked(cat, kind, name, hash, out_id, err);
}

int sto_uid_make(struct sto_catalog *cat, enum sto_uid_kind kind, struct ts_slice name, uint32_t *out_id,
                 struct ts_error *err)
{
    *out_id = 0;
    if (cat->read_only && sto_uid_find(cat, kind, name, out_id) < 0)
        return sto_read_only_refuse(cat->read_only_why, err);
    pthread_mutex_lock(&cat->lock);
    int rc = make_checked(cat, kind, name, out_id, err);
    pthread_mutex_unlock(&cat->lock);
    return rc;
}

int sto_uid_assign(struct sto_catalog *cat, enum sto_uid_kind kind, struct ts_slice name, uint32_t *out_id,
                   bool *out_created, struct ts_error *err)
{
    struct sto_uidtab *t = &cat->uids[kind];
    *out_id = 0;
    if (cat->read_only)
        return sto_read_only_refuse(cat->read_only_why, err);
    pthread_mutex_lock(&cat->lock);
    uint32_t max = sto_uid_max(cat, kind);
    int rc = make_checked(cat, kind, name, out_id, err);
    *out_created = rc == 0 && *out_id > max;
    if (rc == 0 && sto_uidtab__assign(t, *out_id))
        sto_idruns__add(&t->assigned_pending, *out_id);
    pthread_mutex_unlock(&cat->lock);
    return rc;
}

struct ts_slice sto_uid_name(const struct sto_catalog *cat, enum sto_uid_kind kind, uint32_t id)
{
    return sto_uidtab__name(&cat->uids[kind], id);
}

uint32_t sto_uid_max(const struct sto_catalog *cat, enum sto_uid_kind kind)
{
    return atomic_load_explicit(&cat->uids[kind].max_id, memory_order_acquire); /* partner: sto_uidtab__put */
}

void sto_uid_suggest(struct sto_catalog *cat, enum sto_uid_kind kind, struct ts_slice prefix, size_t max,
                     void (*each)(void *arg, uint32_t id, struct ts_slice name), void *arg)
{
    sto_suggest__names(&cat->uids[kind], prefix, max, each, arg);
}

void sto_uid_containing(struct sto_catalog *cat, enum sto_uid_kind kind, struct ts_slice part, size_t max,
                        void (*each)(void *arg, uint32_t id, struct ts_slice name), void *arg)
{
    sto_suggest__containing(&cat->uids[kind], part, max, each, arg);
}

int sto_uid_rename(struct sto_catalog *cat, enum sto_uid_kind kind, struct ts_slice from, struct ts_slice to,
                   struct ts_error *err)
{
    return sto_uid_rename_all(cat, kind, &(struct sto_uid_change){.from = from, .to = to}, 1, err);
}

int sto_uid_delete(struct sto_catalog *cat, enum sto_uid_kind kind, struct ts_slice name,
                   struct ts_error *err)
{
    uint32_t id;
    struct ts_buf gone;
    if (sto_uid_deleted(name))
        return ts_error_set(err, TS_EINVAL, "this %s is deleted already", sto_uid__kind_name(kind));
    if (sto_uid_find(cat, kind, name, &id) < 0)
        return ts_error_set(err, TS_ENOTFOUND, "no such %s: %.*s", sto_uid__kind_name(kind), (int)name.n,
                            name.p);
    ts_buf_init(&gone, 0);
    ts_buf_printf(&gone, "~%u~", id);
    ts_buf_slice(&gone, name);
    int rc = sto_uid_rename(cat, kind, name, ts_buf_get(&gone), err);
    ts_buf_release(&gone);
    return rc;
}

bool sto_uid_deleted(struct ts_slice name)
{
    size_t i = 1;
    while (i < name.n && name.p[i] >= '0' && name.p[i] <= '9')
        i++;
    return i > 1 && i < name.n && name.p[0] == '~' && name.p[i] == '~';
}
