/*
 * rename.c - renames names, several of one kind as one change: a metric and the internal metrics (storage/internal.h) that have its name in theirs.
 *
 * Threads    any
 */
#include "storage/catalog/catalog_int.h"
#include "storage/catalog/catalog_log.h"
#include "storage/readonly.h"

/* Is the name `to` free, and does `from` exist? Sets the id. */
static int check_one(struct sto_catalog *cat, enum sto_uid_kind kind, struct sto_uid_change *r,
                     struct ts_error *err)
{
    struct sto_uidtab *t = &cat->uids[kind];
    r->id = sto_uidtab__find(t, r->from, sto_uidtab__hash(r->from));
    if (!r->id)
        return ts_error_set(err, TS_ENOTFOUND, "no such %s: %.*s", sto_uid__kind_name(kind), (int)r->from.n,
                            r->from.p);
    TS_TRY(sto_catalog__touch_name(cat, kind, r->id, err)); /* a rename must not follow its being forgotten */
    if (sto_uidtab__find(t, r->to, sto_uidtab__hash(r->to)))
        return ts_error_set(err, TS_EEXIST, "%s exists already: %.*s", sto_uid__kind_name(kind), (int)r->to.n,
                            r->to.p);
    return 0;
}

static int check_all(struct sto_catalog *cat, enum sto_uid_kind kind, struct sto_uid_change *v, size_t n,
                     struct ts_error *err)
{
    for (size_t i = 0; i < n; i++)
        TS_TRY(check_one(cat, kind, &v[i], err));
    return 0;
}

/* Change them in memory, unless another thread has created one of the names meanwhile. */
static int apply(struct sto_catalog *cat, enum sto_uid_kind kind, struct sto_uid_change *v, size_t n,
                 struct ts_error *err)
{
    pthread_mutex_lock(&cat->lock);
    int rc = check_all(cat, kind, v, n, err);
    for (size_t i = 0; rc == 0 && i < n; i++)
        sto_uidtab__rename(&cat->uids[kind], v[i].id, v[i].to);
    if (rc == 0)
        sto_catalog__renamed(cat);
    pthread_mutex_unlock(&cat->lock);
    return rc;
}

/* Write the log first and memory second. log_lock is held, so that no other record is written between, and so
 * is rewrite_lock, so that no running checkpoint already has one of the two names. */
static int rename_logged(struct sto_catalog *cat, enum sto_uid_kind kind, struct sto_uid_change *v, size_t n,
                         struct ts_error *err)
{
    pthread_mutex_lock(&cat->lock);
    int rc = check_all(cat, kind, v, n, err);
    pthread_mutex_unlock(&cat->lock);
    TS_TRY(rc);
    TS_TRY(sto_catalog__write(cat, false, false, err)); /* the log must have the ids before their renames */
    TS_TRY(sto_catalog_log__rename(cat->log, kind, v, n, false, err));
    rc = sto_reclog_flush(cat->log, true, err);
    if (rc == 0)
        rc = apply(cat, kind, v, n, err);
    if (rc < 0) { /* the record is in the log or in its buffer: revert it by another one */
        (void)sto_catalog_log__rename(cat->log, kind, v, n, true, NULL);
        (void)sto_reclog_flush(cat->log, true, NULL);
    }
    return rc;
}

int sto_uid_rename_all(struct sto_catalog *cat, enum sto_uid_kind kind, struct sto_uid_change *v, size_t n,
                       struct ts_error *err)
{
    for (size_t i = 0; i < n; i++)
        TS_TRY(sto_uid__check(kind, v[i].to, err));
    if (cat->read_only)
        return sto_read_only_refuse(cat->read_only_why, err);
    pthread_mutex_lock(&cat->rewrite_lock);
    pthread_mutex_lock(&cat->log_lock);
    int rc = rename_logged(cat, kind, v, n, err);
    pthread_mutex_unlock(&cat->log_lock);
    pthread_mutex_unlock(&cat->rewrite_lock);
    return rc;
}
