/*
 * forget.c - forgetting series: finding candidates, logging, removing them from the tables, and freeing them.
 *
 * Threads    see forget.h; locks in catalog_int.h
 * Not here   names (forget_names.c)
 * Invariant  a number is on disk as forgotten before another number for the same tags can be created;
 *            otherwise the log of the catalog and the write-ahead log would have two numbers for one series
 *            after a crash
 */
#include "storage/catalog/forget.h"

#include "base/mem.h"
#include "storage/catalog/catalog_int.h"
#include "storage/catalog/catalog_log.h"

#define AT_ONCE 256u /* series for which the mutex is held */

void sto_catalog__forget_init(struct sto_catalog *cat)
{
    pthread_mutex_init(&cat->forget.mu, NULL);
    cat->forget.gone = roaring_bitmap_create();
}

void sto_catalog__forget_release(struct sto_catalog *cat)
{
    struct sto_forgetting *f = &cat->forget;
    if (f->leaving)
        roaring_bitmap_free(f->leaving);
    if (f->going)
        roaring_bitmap_free(f->going);
    roaring_bitmap_free(f->gone);
    for (int kind = 0; kind < STO_UID_KINDS; kind++) {
        if (f->names_leaving[kind])
            roaring_bitmap_free(f->names_leaving[kind]);
        if (f->names_going[kind])
            roaring_bitmap_free(f->names_going[kind]);
    }
    ts_free(f->fresh.series);
    ts_free(f->waiting.series);
    ts_free(f->fresh.names);
    ts_free(f->waiting.names);
    pthread_mutex_destroy(&f->mu);
}

/* --- lookups and readers --- */

int sto_catalog__touch(struct sto_catalog *cat, uint32_t id, struct ts_error *err)
{
    struct sto_forgetting *f = &cat->forget;
    if (f->going && roaring_bitmap_contains(f->going, id))
        return ts_error_set(err, TS_EBUSY, "the series is being forgotten, try again in a moment");
    if (f->leaving)
        roaring_bitmap_remove(f->leaving, id);
    return 0;
}

bool sto_catalog__is_gone(const struct sto_catalog *cat, uint32_t id)
{
    return roaring_bitmap_contains(cat->forget.gone, id);
}

unsigned sto_catalog_read_begin(struct sto_catalog *cat)
{
    struct sto_forgetting *f = &cat->forget;
    pthread_mutex_lock(&f->mu);
    unsigned token = f->now;
    f->n_readers[token]++;
    pthread_mutex_unlock(&f->mu);
    return token;
}

void sto_catalog_read_end(struct sto_catalog *cat, unsigned token)
{
    struct sto_forgetting *f = &cat->forget;
    pthread_mutex_lock(&f->mu);
    f->n_readers[token]--;
    pthread_mutex_unlock(&f->mu);
}

/* --- a pass --- */

void sto_catalog_forget_on_step(struct sto_catalog *cat, void (*step)(void *arg, enum sto_forget_step where),
                                void *arg)
{
    cat->forget.step = step;
    cat->forget.step_arg = arg;
}

static void reached(struct sto_catalog *cat, enum sto_forget_step where)
{
    if (cat->forget.step)
        cat->forget.step(cat->forget.step_arg, where);
}

/* What the rows of a metric summarise. */
static enum sto_aged_level level_of(const struct sto_catalog *cat, uint32_t metric)
{
    return sto_internal_aged(sto_uid_name(cat, STO_UID_METRIC, metric), NULL);
}

/* Set of the ids of internal metrics; the caller frees it. */
static roaring_bitmap_t *internal_metrics(const struct sto_catalog *cat, bool days)
{
    roaring_bitmap_t *set = roaring_bitmap_create();
    for (uint32_t id = 1, max = sto_uid_max(cat, STO_UID_METRIC); id <= max; id++)
        if (days ? level_of(cat, id) == STO_AGED_DAYS
                 : sto_name_internal(sto_uid_name(cat, STO_UID_METRIC, id)))
            roaring_bitmap_add(set, id);
    return set;
}

static uint32_t tags_hash(const struct sto_series *s)
{
    return (uint32_t)(sto_seriestab__hash(0, s->tags, s->n_tags) >> 32);
}

/* Hashes of the tags of series of internal metrics; days: of those that have summaries of days. A lookup of a series finds these series by its tags, so a
 * series with such tags stays as long as they do. NULL: there are none. */
static roaring_bitmap_t *internal_tags(const struct sto_catalog *cat, bool days)
{
    roaring_bitmap_t *metrics = internal_metrics(cat, days), *tags = NULL;
    for (uint32_t id = 0, end = sto_series_count(cat); !roaring_bitmap_is_empty(metrics) && id < end; id++) {
        const struct sto_series *s = sto_series_get(cat, id);
        if (!s || !roaring_bitmap_contains(metrics, s->metric))
            continue;
        tags = tags ? tags : roaring_bitmap_create();
        roaring_bitmap_add(tags, tags_hash(s));
    }
    roaring_bitmap_free(metrics);
    return tags;
}

/* Does a series lead to series of internal metrics, by its tags? A visible one does, and one of hours, which leads to days. */
static bool leads(const struct sto_catalog *cat, const struct sto_series *s, const roaring_bitmap_t *tags,
                  const roaring_bitmap_t *days)
{
    if (!sto_name_internal(sto_uid_name(cat, STO_UID_METRIC, s->metric)))
        return roaring_bitmap_contains(tags, tags_hash(s));
    return days && roaring_bitmap_contains(days, tags_hash(s)) && level_of(cat, s->metric) == STO_AGED_HOURS;
}

/* Those of these series by whose tags others are found; NULL: none. */
static roaring_bitmap_t *owners_of_internal(const struct sto_catalog *cat, const roaring_bitmap_t *of)
{
    roaring_bitmap_t *tags = internal_tags(cat, false), *owners = NULL;
    roaring_uint32_iterator_t it;
    if (!tags)
        return NULL;
    roaring_bitmap_t *days = internal_tags(cat, true);
    owners = roaring_bitmap_create();
    for (roaring_init_iterator(of, &it); it.has_value; roaring_advance_uint32_iterator(&it)) {
        const struct sto_series *s = sto_series_get(cat, it.current_value);
        if (leads(cat, s, tags, days))
            roaring_bitmap_add(owners, s->id);
    }
    roaring_bitmap_free(tags);
    if (days)
        roaring_bitmap_free(days);
    return owners;
}

uint64_t sto_catalog_forget_begin(struct sto_catalog *cat, const roaring_bitmap_t *used,
                                  sto_catalog_keep_fn keep, void *arg)
{
    struct sto_forgetting *f = &cat->forget;
    if (cat->read_only)
        return 0;
    sto_catalog__names_begin(cat); /* before the series are visited: forget.h */
    uint64_t n_names = sto_catalog__names_unused(cat);
    roaring_bitmap_t *idle = roaring_bitmap_create();
    /* only this thread removes series, so no lock is needed */
    for (uint32_t id = 0, end = sto_series_count(cat); id < end; id++) {
        const struct sto_series *s = sto_series_get(cat, id);
        if (s && !roaring_bitmap_contains(used, id) && !(keep && keep(arg, s)))
            roaring_bitmap_add(idle, id);
    }
    roaring_bitmap_t *owners = owners_of_internal(cat, idle);
    if (owners) {
        roaring_bitmap_andnot_inplace(idle, owners);
        roaring_bitmap_free(owners);
    }
    uint64_t n = roaring_bitmap_get_cardinality(idle);
    if (n + n_names == 0) {
        roaring_bitmap_free(idle);
        sto_catalog__names_cancel(cat);
        return 0;
    }
    pthread_mutex_lock(&cat->lock);
    f->leaving = idle;
    atomic_store_explicit(&f->on, true, memory_order_release); /* partner: guessed() in series.c */
    atomic_fetch_add_explicit(&cat->generation, 1,
                              memory_order_release); /* partner: sto_catalog_generation */
    pthread_mutex_unlock(&cat->lock);
    reached(cat, STO_FORGET_BEGUN);
    return n + n_names;
}

/* Those of these series to which something outside of the engine refers; the caller frees them. */
static roaring_bitmap_t *kept(const struct sto_catalog *cat, const roaring_bitmap_t *of,
                              sto_catalog_keep_fn keep, void *arg)
{
    roaring_bitmap_t *set = roaring_bitmap_create();
    roaring_uint32_iterator_t it;
    for (roaring_init_iterator(of, &it); keep && it.has_value; roaring_advance_uint32_iterator(&it))
        if (keep(arg, sto_series_get(cat, it.current_value)))
            roaring_bitmap_add(set, it.current_value);
    return set;
}

void sto_catalog_forget_spare(struct sto_catalog *cat, const roaring_bitmap_t *used, sto_catalog_keep_fn keep,
                              void *arg)
{
    pthread_mutex_lock(&cat->lock);
    roaring_bitmap_t *leaving = cat->forget.leaving ? roaring_bitmap_copy(cat->forget.leaving) : NULL;
    pthread_mutex_unlock(&cat->lock);
    if (!leaving)
        return;
    /* a series of an internal metric may have been created meanwhile */
    roaring_bitmap_andnot_inplace(leaving, used);
    roaring_bitmap_t *owners = owners_of_internal(cat, leaving), *keeps = kept(cat, leaving, keep, arg);
    pthread_mutex_lock(&cat->lock);
    roaring_bitmap_andnot_inplace(cat->forget.leaving, used);
    roaring_bitmap_andnot_inplace(cat->forget.leaving, keeps);
    if (owners)
        roaring_bitmap_andnot_inplace(cat->forget.leaving, owners);
    pthread_mutex_unlock(&cat->lock);
    roaring_bitmap_free(leaving);
    roaring_bitmap_free(keeps);
    if (owners)
        roaring_bitmap_free(owners);
    sto_catalog__names_spare(cat);
    reached(cat, STO_FORGET_SPARED);
}

void sto_catalog_forget_cancel(struct sto_catalog *cat)
{
    struct sto_forgetting *f = &cat->forget;
    pthread_mutex_lock(&cat->lock);
    if (f->leaving)
        roaring_bitmap_free(f->leaving);
    f->leaving = NULL;
    if (!f->going)
        atomic_store_explicit(&f->on, false, memory_order_release); /* partner: guessed() in series.c */
    pthread_mutex_unlock(&cat->lock);
    sto_catalog__names_cancel(cat);
}

static void retire(struct sto_retired *r, const struct sto_series *s)
{
    if (r->n == r->cap)
        r->series =
            ts_xrealloc(r->series, (r->cap = r->cap ? r->cap * 2 : 256) * sizeof(struct sto_series *));
    r->series[r->n++] = s;
}

/* Remove the next few forgotten series from the tables. Returns false if none is left. */
static bool take_some_out(struct sto_catalog *cat, uint64_t *n)
{
    struct sto_forgetting *f = &cat->forget;
    uint32_t ids[AT_ONCE], n_ids = 0;
    roaring_uint32_iterator_t it;
    pthread_mutex_lock(&cat->lock);
    for (roaring_init_iterator(f->going, &it); it.has_value && n_ids < AT_ONCE;
         roaring_advance_uint32_iterator(&it))
        ids[n_ids++] = it.current_value;
    for (uint32_t i = 0; i < n_ids; i++) {
        const struct sto_series *s = sto_seriestab__get(&cat->series, ids[i]);
        roaring_bitmap_remove(f->going, ids[i]);
        roaring_bitmap_add(f->gone, ids[i]);
        sto_tagindex__remove(&cat->index, s);
        sto_seriestab__take_out(&cat->series, s);
        retire(&f->fresh, s);
    }
    f->n_forgotten += n_ids;
    *n += n_ids;
    if (n_ids == 0) {
        roaring_bitmap_free(f->going);
        f->going = NULL;
        roaring_bitmap_run_optimize(f->gone);
        sto_seriestab__trim(&cat->series);
        atomic_store_explicit(&f->on, false, memory_order_release); /* partner: guessed() in series.c */
    }
    pthread_mutex_unlock(&cat->lock);
    return n_ids > 0;
}

/* Write all that is new and then the forgotten series and names to the log, and sync it. log_lock held. */
static int write_gone(struct sto_catalog *cat, struct ts_error *err)
{
    struct sto_forgetting *f = &cat->forget;
    TS_TRY(sto_catalog__write(cat, false, false,
                              err)); /* otherwise a series could follow the record of its being forgotten */
    pthread_mutex_lock(&cat->lock);
    if (!f->going)
        f->going = f->leaving;
    f->leaving = NULL;
    pthread_mutex_unlock(&cat->lock);
    /* no other thread changes it from here on */
    TS_TRY(sto_catalog_log__gone(cat->log, STO_CATALOG_LOG_GONE_SERIES, f->going, err));
    TS_TRY(sto_catalog__names_write(cat, err));
    TS_TRY(sto_reclog_flush(cat->log, true, err));
    f->n_dead += roaring_bitmap_get_cardinality(f->going);
    return 0;
}

static bool is_nothing_left(struct sto_catalog *cat)
{
    const struct sto_forgetting *f = &cat->forget;
    pthread_mutex_lock(&cat->lock);
    bool nothing =
        !f->going && (!f->leaving || roaring_bitmap_is_empty(f->leaving)) && !sto_catalog__names_left(cat);
    pthread_mutex_unlock(&cat->lock);
    return nothing;
}

int sto_catalog_forget_finish(struct sto_catalog *cat, uint64_t *out_n, struct ts_error *err)
{
    *out_n = 0;
    if (is_nothing_left(cat)) {
        sto_catalog_forget_cancel(cat);
        return 0;
    }
    pthread_mutex_lock(&cat->rewrite_lock); /* a running checkpoint would restore them */
    pthread_mutex_lock(&cat->log_lock);
    int rc = write_gone(cat, err);
    if (rc == 0)
        reached(cat, STO_FORGET_WRITTEN);
    while (rc == 0 && take_some_out(cat, out_n))
        ;
    if (rc == 0)
        sto_catalog__names_take(cat);
    pthread_mutex_unlock(&cat->log_lock);
    pthread_mutex_unlock(&cat->rewrite_lock);
    if (rc < 0 && !cat->forget.going)
        sto_catalog_forget_cancel(cat);
    if (rc == 0)
        reached(cat, STO_FORGET_TAKEN);
    return rc;
}

bool sto_catalog_forget_unfinished(const struct sto_catalog *cat)
{
    return cat->forget.going != NULL;
}

bool sto_catalog_has_retired(const struct sto_catalog *cat)
{
    const struct sto_forgetting *f = &cat->forget;
    return f->fresh.n || f->waiting.n || f->fresh.n_names || f->waiting.n_names;
}

void sto_catalog_reclaim(struct sto_catalog *cat)
{
    struct sto_forgetting *f = &cat->forget;
    pthread_mutex_lock(&f->mu);
    /* every reader that began before the last call but one has ended */
    bool may = f->n_readers[!f->now] == 0;
    f->now = may ? !f->now : f->now;
    pthread_mutex_unlock(&f->mu);
    if (!may)
        return;
    while (f->waiting.n) {
        pthread_mutex_lock(&cat->lock);
        for (uint32_t i = 0; i < AT_ONCE && f->waiting.n; i++)
            sto_seriestab__free(&cat->series, f->waiting.series[--f->waiting.n]);
        pthread_mutex_unlock(&cat->lock);
    }
    ts_free(f->waiting.series);
    sto_catalog__names_free(cat, &f->waiting);
    f->waiting = f->fresh;
    f->fresh = (struct sto_retired){0};
}

/* --- when the log is read --- */

void sto_catalog__replay_gone(struct sto_catalog *cat, uint32_t id)
{
    struct sto_seriestab *t = &cat->series;
    const struct sto_series *s = sto_seriestab__get(t, id);
    roaring_bitmap_add(cat->forget.gone, id);
    if (s) {
        sto_tagindex__remove(&cat->index, s);
        sto_seriestab__take_out(t, s);
        sto_seriestab__free(t, s);
        cat->forget.n_dead++;
    }
    if (id >= atomic_load_explicit(&t->end, memory_order_relaxed)) /* no other thread runs yet */
        atomic_store_explicit(&t->end, id + 1, memory_order_relaxed);
}
