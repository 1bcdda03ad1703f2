/*
 * catalog.c - public functions of the catalog: open, close, sync, checkpoints, counters.
 *
 * What is new stays in the tables and in lists of ids ("pending") until sto_catalog_sync encodes it as
 * blocks; larger blocks compress better. A checkpoint writes everything as if it were new.
 *
 * Threads    see catalog.h; locks in catalog_int.h
 * Invariant  an id leaves the pending lists only when its block is in the log's buffer, which a full disk
 *            does not discard
 */
#include "storage/catalog/catalog.h"

#include <stdio.h>

#include "base/log.h"
#include "storage/catalog/catalog_int.h"
#include "storage/catalog/catalog_log.h"

#define LOG_NAME     "catalog.log"
#define LOG_KIND     "CATA"
#define GROW_BYTES   (1u << 20)  /* default of sto_catalog_opts.grow_bytes */
#define GROW_CLOSING (16u << 10) /* a closing one when it has grown by a fourth and this */
#define MAX_SHARDS   65536u

/* The tables are locked for about a microsecond, once for each new series. When workers make series side by side, waking a thread that
 * sleeps costs more than that: a waiting thread tries again for a while before it sleeps (bench w3 with 10 M series and two connections). */
static void lock_init(pthread_mutex_t *lock)
{
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ADAPTIVE_NP);
    pthread_mutex_init(lock, &attr);
    pthread_mutexattr_destroy(&attr);
}

static void cat_free(struct sto_catalog *cat)
{
    for (int kind = 0; kind < STO_UID_KINDS; kind++)
        sto_uidtab__release(&cat->uids[kind]);
    sto_seriestab__release(&cat->series);
    sto_tagindex__release(&cat->index);
    sto_catalog__forget_release(cat);
    pthread_mutex_destroy(&cat->lock);
    pthread_mutex_destroy(&cat->log_lock);
    pthread_mutex_destroy(&cat->rewrite_lock);
    ts_free(cat);
}

/* Apply one record of the log. Records that a lenient catalog ignores refer to names that are lost. */
static int replay(void *arg, struct ts_slice body, struct ts_error *err)
{
    struct sto_catalog *cat = arg;
    struct ts_error why = {0};
    int rc = sto_catalog_log__replay(cat, body, &why);
    if (rc == TS_ECORRUPT && cat->lenient) {
        cat->n_left_out++;
        return 0;
    }
    if (rc < 0 && err)
        *err = why;
    return rc;
}

uint64_t sto_catalog_left_out(const struct sto_catalog *cat)
{
    return cat->n_left_out;
}

int sto_catalog_open(const struct ts_fs *fs, const struct sto_catalog_opts *opts,
                     struct sto_catalog **out_cat, struct ts_error *err)
{
    *out_cat = NULL;
    if (opts->n_shards == 0 || opts->n_shards > MAX_SHARDS || (opts->n_shards & (opts->n_shards - 1)))
        return ts_error_set(err, TS_EINVAL, "%u shards: a power of two up to %u is needed", opts->n_shards,
                            MAX_SHARDS);
    struct sto_catalog *cat = ts_xcalloc(1, sizeof(*cat));
    lock_init(&cat->lock);
    pthread_mutex_init(&cat->log_lock, NULL);
    pthread_mutex_init(&cat->rewrite_lock, NULL);
    for (int kind = 0; kind < STO_UID_KINDS; kind++)
        sto_uidtab__init(&cat->uids[kind]);
    sto_seriestab__init(&cat->series, opts->n_shards);
    sto_catalog__forget_init(cat);
    cat->read_only = opts->read_only;
    cat->read_only_why = opts->read_only_why;
    cat->grow_bytes = opts->grow_bytes ? opts->grow_bytes : GROW_BYTES;
    cat->lenient = opts->lenient;
    cat->tidied = opts->tidied;
    cat->max_series = opts->max_series && opts->max_series < STO_FOREIGN ? opts->max_series : STO_FOREIGN;
    cat->max_bytes = opts->max_bytes ? opts->max_bytes : UINT64_MAX;

    char *path = ts_fs_join(opts->dir, LOG_NAME);
    int rc = sto_reclog_open(fs, path, LOG_KIND, opts->read_only, replay, cat, &cat->log, err);
    ts_free(path);
    if (rc == 0)
        rc = sto_catalog__names_opened(cat, err);
    if (rc == 0)
        rc = sto_reclog_keep_copy(cat->log, err);
    if (rc < 0) {
        sto_reclog_abandon(cat->log);
        cat_free(cat);
        return rc;
    }
    cat->checkpoint_bytes = sto_reclog_bytes(cat->log);
    atomic_store_explicit(&cat->log_bytes, cat->checkpoint_bytes,
                          memory_order_relaxed);     /* a number on its own */
    cat->safe_tagk = sto_uid_max(cat, STO_UID_TAGK); /* the log has synced what it read */
    atomic_store_explicit(&cat->n_on_disk, sto_series_count(cat), memory_order_release);
    *out_cat = cat;
    return 0;
}

/* Move a pending list out of its table. Lock held. */
static void steal(struct sto_idruns *from, struct sto_idruns *to)
{
    *to = *from;
    *from = (struct sto_idruns){0};
    sto_idruns__sort(to);
}

static bool any(const struct sto_catalog_log_items *items)
{
    bool some = items->series.n > 0;
    for (int kind = 0; kind < STO_UID_KINDS; kind++)
        some |= items->names[kind].n || items->assigned[kind].n;
    return some;
}

/* Add blocks of everything new to the buffer of the log. *out_tagk: highest tag key id in it; *out_n_series:
 * all series below it are in it. */
static int add_pending(struct sto_catalog *cat, uint32_t *out_tagk, uint32_t *out_n_series,
                       struct ts_error *err)
{
    struct sto_catalog_log_items items = {.mark_assigned = !cat->knows_assigned};
    pthread_mutex_lock(&cat->lock);
    for (int kind = 0; kind < STO_UID_KINDS; kind++) {
        steal(&cat->uids[kind].pending, &items.names[kind]);
        steal(&cat->uids[kind].assigned_pending, &items.assigned[kind]);
    }
    steal(&cat->series.pending, &items.series);
    *out_tagk = sto_uid_max(cat, STO_UID_TAGK);
    *out_n_series = sto_series_count(cat);
    pthread_mutex_unlock(&cat->lock);
    int rc =
        any(&items) ? sto_catalog_log__items(cat, &items, STO_CATALOG_LOG_LEVEL_APPEND, cat->log, err) : 0;
    cat->knows_assigned |= rc == 0 && any(&items);
    if (rc < 0) { /* some blocks may be in the buffer; replaying them twice has no effect */
        pthread_mutex_lock(&cat->lock);
        for (int kind = 0; kind < STO_UID_KINDS; kind++) {
            sto_idruns__add_all(&cat->uids[kind].pending, &items.names[kind]);
            sto_idruns__add_all(&cat->uids[kind].assigned_pending, &items.assigned[kind]);
        }
        sto_idruns__add_all(&cat->series.pending, &items.series);
        pthread_mutex_unlock(&cat->lock);
    }
    sto_catalog_log__release_items(&items);
    return rc;
}

/* Collect the ids below end that exist. */
static void all_up_to(struct sto_idruns *runs, const struct sto_dense *table, uint32_t end)
{
    for (uint32_t id = 0; id < end; id++)
        if (sto_dense__get(table, id))
            sto_idruns__add(runs, id);
}

static void all_of(struct sto_idruns *runs, const roaring_bitmap_t *set)
{
    roaring_uint32_iterator_t it;
    if (!set)
        return;
    for (roaring_init_iterator(set, &it); it.has_value; roaring_advance_uint32_iterator(&it))
        sto_idruns__add(runs, it.current_value);
}

/* Write what is forgotten: all series, and of the names the highest id of each kind if it has none, so that no
 * id is used again. end: highest id + 1. */
static int emit_gone(const struct sto_catalog *cat, const roaring_bitmap_t *series, const uint32_t *end,
                     struct sto_reclog *fresh, struct ts_error *err)
{
    int rc = sto_catalog_log__gone(fresh, STO_CATALOG_LOG_GONE_SERIES, series, err);
    for (unsigned kind = 0; kind < STO_UID_KINDS && rc == 0; kind++) {
        uint32_t last = end[kind] - 1;
        if (last == 0 || sto_uidtab__name(&cat->uids[kind], last).p)
            continue;
        roaring_bitmap_t *highest = roaring_bitmap_create();
        roaring_bitmap_add(highest, last);
        rc = sto_catalog_log__gone(fresh, kind, highest, err);
        roaring_bitmap_free(highest);
    }
    return rc;
}

/* Write everything as the contents of a new log. */
static int emit_checkpoint(void *arg, struct sto_reclog *fresh, struct ts_error *err)
{
    struct sto_catalog *cat = arg;
    struct sto_catalog_log_items items = {.mark_assigned = true};
    /* read all four limits under one lock: a series must not be written without its names */
    pthread_mutex_lock(&cat->lock);
    uint32_t end[STO_UID_KINDS], n_series = sto_series_count(cat);
    for (int kind = 0; kind < STO_UID_KINDS; kind++) {
        end[kind] = sto_uid_max(cat, (enum sto_uid_kind)kind) + 1;
        all_of(&items.assigned[kind], cat->uids[kind].assigned);
    }
    roaring_bitmap_t *gone = roaring_bitmap_copy(cat->forget.gone);
    pthread_mutex_unlock(&cat->lock);
    for (int kind = 0; kind < STO_UID_KINDS; kind++)
        all_up_to(&items.names[kind], &cat->uids[kind].names, end[kind]);
    all_up_to(&items.series, &cat->series.by_id, n_series);
    int rc = sto_catalog_log__sizes(&items, fresh, err);
    if (rc == 0)
        rc = sto_catalog_log__items(cat, &items, STO_CATALOG_LOG_LEVEL_CHECKPOINT, fresh, err);
    if (rc == 0)
        rc = emit_gone(cat, gone, end, fresh, err);
    sto_catalog_log__release_items(&items);
    roaring_bitmap_free(gone);
    return rc;
}

/* Is a third of the log about series and names that are forgotten? */
static bool is_dead(struct sto_catalog *cat)
{
    pthread_mutex_lock(&cat->lock);
    uint64_t n_living = cat->series.n;
    for (int kind = 0; kind < STO_UID_KINDS; kind++)
        n_living += cat->uids[kind].n_names;
    pthread_mutex_unlock(&cat->lock);
    return cat->forget.n_dead > n_living / 2;
}

/* Has the log grown so much that it should be rewritten? log_lock held. */
static bool has_grown(struct sto_catalog *cat, bool closing)
{
    uint64_t now = sto_reclog_bytes(cat->log), base = cat->checkpoint_bytes;
    bool grown = closing ? now > base + base / 4 + GROW_CLOSING : now > base * 2 + cat->grow_bytes;
    grown |= now > (closing ? GROW_CLOSING : cat->grow_bytes) && is_dead(cat);
    return (closing && cat->n_left_out) || (grown && now >= cat->retry_bytes);
}

/* Finish a checkpoint that returned rc and *why. A failed one only costs disk space, unless it broke the
 * log. */
static int checkpoint_done(struct sto_catalog *cat, int rc, const struct ts_error *why, struct ts_error *err)
{
    uint64_t now = sto_reclog_bytes(cat->log);
    if (rc < 0 && sto_reclog_broken(cat->log)) {
        if (err)
            *err = *why;
        return rc;
    }
    if (rc < 0) {
        ts_log(TS_LOG_WARN, "catalog checkpoint put off error=\"%s\"", why->text);
        cat->retry_bytes = now + cat->grow_bytes;
        return 0;
    }
    cat->checkpoint_bytes = now;
    cat->forget.n_dead = 0;
    atomic_store_explicit(&cat->log_bytes, now, memory_order_relaxed); /* a number on its own */
    return 0;
}

static int maybe_checkpoint(struct sto_catalog *cat, bool closing, struct ts_error *err)
{
    struct ts_error why = {0};
    if ((cat->tidied && !closing) || !has_grown(cat, closing))
        return 0;
    int rc = sto_reclog_rewrite(cat->log, emit_checkpoint, cat, &why);
    return checkpoint_done(cat, rc, &why, err);
}

int sto_catalog_tidy(struct sto_catalog *cat, struct ts_error *err)
{
    struct sto_reclog_rewrite *rw = NULL;
    struct ts_error why = {0};
    if (cat->read_only)
        return 0;
    pthread_mutex_lock(
        &cat->rewrite_lock); /* a name that changes meanwhile would be written twice or not at all */
    pthread_mutex_lock(&cat->log_lock);
    bool wanted = has_grown(cat, false);
    int rc = wanted ? sto_reclog_rewrite_begin(cat->log, &rw, &why) : 0;
    pthread_mutex_unlock(&cat->log_lock);
    if (rw)
        rc = sto_reclog_rewrite_write(rw, emit_checkpoint, cat, &why);
    pthread_mutex_lock(&cat->log_lock);
    if (rw && rc == 0)
        rc = sto_reclog_rewrite_finish(cat->log, rw, &why);
    else if (rw)
        sto_reclog_rewrite_abort(rw);
    if (wanted)
        rc = checkpoint_done(cat, rc, &why, err);
    pthread_mutex_unlock(&cat->log_lock);
    pthread_mutex_unlock(&cat->rewrite_lock);
    return rc;
}

int sto_catalog__write(struct sto_catalog *cat, bool sync, bool closing, struct ts_error *err)
{
    uint32_t tagk, n_series;
    TS_TRY(add_pending(cat, &tagk, &n_series, err));
    TS_TRY(sto_reclog_flush(cat->log, sync, err));
    TS_TRY(maybe_checkpoint(cat, closing, err));
    atomic_store_explicit(&cat->log_bytes, sto_reclog_bytes(cat->log),
                          memory_order_relaxed); /* a number on its own */
    if (sync) {
        pthread_mutex_lock(&cat->lock);
        cat->safe_tagk = tagk;
        pthread_mutex_unlock(&cat->lock);
        atomic_store_explicit(&cat->n_on_disk, n_series, memory_order_release); /* pairs with n_on_disk() */
    }
    return 0;
}

int sto_catalog_sync(struct sto_catalog *cat, bool sync, struct ts_error *err)
{
    if (cat->read_only)
        return 0;
    pthread_mutex_lock(&cat->log_lock);
    int rc = sto_catalog__write(cat, sync, false, err);
    pthread_mutex_unlock(&cat->log_lock);
    return rc;
}

uint32_t sto_series_n_on_disk(const struct sto_catalog *cat)
{
    return atomic_load_explicit(&cat->n_on_disk, memory_order_acquire); /* partner: sto_catalog__write */
}

const struct sto_series *sto_series_known(const struct sto_catalog *cat, uint32_t id, struct ts_error *err)
{
    const struct sto_series *s = sto_series_get(cat, id);
    if (!s && !sto_catalog__is_gone(cat, id))
        ts_error_set(err, TS_ECORRUPT,
                     "the write-ahead log has points of series %u, which the catalog has lost", id);
    return s;
}

int sto_catalog_close(struct sto_catalog *cat, struct ts_error *err)
{
    if (!cat)
        return 0;
    int rc = cat->read_only ? 0 : sto_catalog__write(cat, true, true, err);
    int rc_close = sto_reclog_close(cat->log, rc < 0 ? NULL : err);
    cat_free(cat);
    return rc < 0 ? rc : rc_close;
}

void sto_catalog_discard(struct sto_catalog *cat)
{
    if (cat)
        cat->read_only = true;
    (void)sto_catalog_close(cat, NULL);
}

uint64_t sto_catalog_generation(const struct sto_catalog *cat)
{
    return atomic_load_explicit(&cat->generation, memory_order_acquire); /* partner: sto_catalog__renamed */
}

void sto_catalog__renamed(struct sto_catalog *cat)
{
    atomic_fetch_add_explicit(&cat->n_renames, 1, memory_order_release); /* partner: guessed() in series.c */
    atomic_fetch_add_explicit(&cat->generation, 1,
                              memory_order_release); /* partner: sto_catalog_generation */
}

/* --- memory; lock held --- */

static uint64_t name_bytes_of(const struct sto_catalog *cat)
{
    uint64_t n_bytes = 0;
    for (int kind = 0; kind < STO_UID_KINDS; kind++) {
        const struct sto_uidtab *t = &cat->uids[kind];
        n_bytes += sto_slab__bytes(&t->slab) + sto_dense__bytes(&t->names) + sto_idtab__bytes(&t->by_name);
    }
    return n_bytes;
}

static uint64_t series_bytes_of(const struct sto_catalog *cat)
{
    return sto_slab__bytes(&cat->series.slab) + sto_dense__bytes(&cat->series.by_id) +
           sto_idtab__bytes(&cat->series.by_ids);
}

static uint64_t bytes_of(const struct sto_catalog *cat)
{
    return name_bytes_of(cat) + series_bytes_of(cat) + sto_tagindex__bytes(&cat->index);
}

int sto_catalog__has_memory(const struct sto_catalog *cat, struct ts_error *err)
{
    uint64_t n_bytes = bytes_of(cat);
    if (n_bytes < cat->max_bytes)
        return 0;
    return ts_error_set(
        err, TS_ELIMIT,
        "the names of %llu series take %llu bytes of memory, and memory_limit leaves %llu for them; "
        "raise memory_limit (max_series)",
        (unsigned long long)cat->series.n, (unsigned long long)n_bytes, (unsigned long long)cat->max_bytes);
}

void sto_catalog_stats(const struct sto_catalog *cat,
                       void (*each)(void *arg, const char *name, uint64_t value), void *arg)
{
    static const char *const names[STO_UID_KINDS][2] = {{"catalog.metrics", "catalog.metric_ids_left"},
                                                        {"catalog.tag_keys", "catalog.tag_key_ids_left"},
                                                        {"catalog.tag_values", "catalog.tag_value_ids_left"}};
    pthread_mutex_t *lock =
        (pthread_mutex_t *)(uintptr_t)&cat->lock; /* counting changes nothing that callers see */
    uint64_t n_names[STO_UID_KINDS];
    pthread_mutex_lock(lock);
    for (int kind = 0; kind < STO_UID_KINDS; kind++)
        n_names[kind] = cat->uids[kind].n_names;
    uint64_t n_series = cat->series.n, n_counted = sto_seriestab__counted(&cat->series);
    uint64_t n_pairs = cat->index.n_pairs, n_bitmaps = cat->index.pool.n_bitmaps;
    uint64_t n_forgotten = cat->forget.n_forgotten, n_names_forgotten = cat->forget.n_names_forgotten;
    uint64_t name_bytes = name_bytes_of(cat), series_bytes = series_bytes_of(cat);
    uint64_t index_bytes = sto_tagindex__bytes(&cat->index), n_bytes = bytes_of(cat);
    pthread_mutex_unlock(lock);
    for (int kind = 0; kind < STO_UID_KINDS; kind++) {
        each(arg, names[kind][0], n_names[kind]);
        each(arg, names[kind][1], STO_UID_MAX_ID - sto_uid_max(cat, (enum sto_uid_kind)kind));
    }
    each(arg, "catalog.series", n_series);
    each(arg, "catalog.series_left", cat->max_series > n_counted ? cat->max_series - n_counted : 0);
    each(arg, "catalog.series_forgotten", n_forgotten);
    each(arg, "catalog.names_forgotten", n_names_forgotten);
    each(arg, "catalog.series_numbers_left", STO_FOREIGN - sto_series_count(cat));
    each(arg, "catalog.tag_pairs", n_pairs);
    each(arg, "catalog.bitmaps", n_bitmaps);
    each(arg, "catalog.names_bytes", name_bytes);
    each(arg, "catalog.series_bytes", series_bytes);
    each(arg, "catalog.index_bytes", index_bytes);
    each(arg, "catalog.bytes_left", cat->max_bytes > n_bytes ? cat->max_bytes - n_bytes : 0);
    each(arg, "catalog.log_bytes", atomic_load_explicit(&cat->log_bytes, memory_order_relaxed));
    each(arg, "catalog.generation", sto_catalog_generation(cat));
}
