/*
 * series.c - the table of series, and the public functions that create and find them.
 *
 * Text       A series keeps the order of tags of its first sender, so that the next line of the sender is
 *            found by its bytes. The write-ahead log stores ids (sorted) and text, and after a crash the text
 *            must show which name belongs to which id. That is possible if all but one of its keys are in the
 *            catalog's log. So a series with two
 * or more keys that are not yet on disk gets its text in the order of key ids instead.
 * Threads    see catalog.h and series.h
 * Not here   restoring from the write-ahead log (restore.c), the log (catalog_log.h)
 */
#include "storage/catalog/series.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/hash.h"
#include "storage/catalog/catalog_int.h"
#include "storage/readonly.h"
#include "storage/slots.h"

uint64_t sto_seriestab__hash(uint32_t metric, const struct sto_tag *tags, size_t n_tags)
{
    uint64_t h = ts_hash_u64(metric);
    for (size_t i = 0; i < n_tags; i++)
        h = ts_hash_u64(h ^ ((uint64_t)tags[i].k << 32 | tags[i].v));
    return h;
}

/* The shard takes the lower bits; the table takes the upper ones. */
static uint32_t table_hash(uint64_t hash)
{
    return (uint32_t)(hash >> 32);
}

bool sto_seriestab__same(const struct sto_series *s, uint32_t metric, const struct sto_tag *tags,
                         size_t n_tags)
{
    return s->metric == metric && s->n_tags == n_tags && memcmp(s->tags, tags, n_tags * sizeof(*tags)) == 0;
}

const struct sto_series *sto_seriestab__find(const struct sto_seriestab *t, uint64_t hash, uint32_t metric,
                                             const struct sto_tag *tags, size_t n_tags)
{
    uint32_t id;
    for (struct sto_idtab_walk w = sto_idtab__walk(&t->by_ids, table_hash(hash)); sto_idtab__next(&w, &id);) {
        const struct sto_series *s = sto_seriestab__get(t, id);
        if (sto_seriestab__same(s, metric, tags, n_tags))
            return s;
    }
    return NULL;
}

void sto_seriestab__sort(struct sto_tag *tags, size_t n_tags)
{
    for (size_t i = 1; i < n_tags; i++) { /* few tags, mostly in order */
        struct sto_tag tag = tags[i];
        size_t j = i;
        for (; j > 0 && tags[j - 1].k > tag.k; j--)
            tags[j] = tags[j - 1];
        tags[j] = tag;
    }
}

static char *put_slice(char *p, struct ts_slice s)
{
    memcpy(p, s.p, s.n);
    return p + s.n;
}

struct sto_series *sto_seriestab__make(struct sto_seriestab *t, const struct sto_series_draft *draft)
{
    size_t n = draft->n_tags, text_len = draft->metric_name.n;
    bool ordered = false;
    for (size_t i = 0; i < n; i++) {
        text_len += 2 + draft->texts[i].k.n + draft->texts[i].v.n;
        ordered |= i > 0 && draft->tags[i].k < draft->tags[i - 1].k;
    }
    size_t head = sizeof(struct sto_series) + n * sizeof(struct sto_tag);
    struct sto_series *s = sto_slab__alloc(&t->slab, head + text_len + (ordered ? n : 0));
    char *p = put_slice((char *)s + head, draft->metric_name);
    *s = (struct sto_series){.id = draft->id,
                             .metric = draft->metric,
                             .n_tags = (uint8_t)n,
                             .reserved = ordered ? STO_SERIES_ORDERED : 0,
                             .metric_len = (uint32_t)draft->metric_name.n,
                             .text_len = (uint32_t)text_len};
    for (size_t i = 0; i < n; i++) {
        *p++ = ' ';
        p = put_slice(p, draft->texts[i].k);
        *p++ = '=';
        p = put_slice(p, draft->texts[i].v);
    }
    memcpy(s->tags, draft->tags, n * sizeof(*s->tags));
    if (!ordered)
        return s;
    sto_seriestab__sort(s->tags, n);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            if (s->tags[j].k == draft->tags[i].k)
                p[i] = (char)(uint8_t)j;
    return s;
}

void sto_seriestab__put(struct sto_seriestab *t, struct sto_series *s, uint64_t hash)
{
    s->shard = (uint16_t)hash;
    struct sto_series_locals *l = &t->locals[sto_shard_of(s, t->n_shards)];
    s->local = l->n_free ? l->free_numbers[--l->n_free] : l->n++;
    sto_dense__set(&t->by_id, s->id, s);
    sto_idtab__insert(&t->by_ids, table_hash(hash), s->id);
    t->n++;
    if (s->id >= atomic_load_explicit(&t->end, memory_order_relaxed))    /* our own store */
        atomic_store_explicit(&t->end, s->id + 1, memory_order_release); /* partner: sto_series_count */
}

void sto_seriestab__take_out(struct sto_seriestab *t, const struct sto_series *s)
{
    sto_dense__clear(&t->by_id, s->id);
    sto_idtab__remove(&t->by_ids, table_hash(sto_seriestab__hash(s->metric, s->tags, s->n_tags)), s->id);
    t->n--;
    if (t->own)
        roaring_bitmap_remove(t->own, s->id);
    if (t->n_gone == t->cap_gone)
        t->gone = ts_xrealloc(t->gone, (t->cap_gone = t->cap_gone ? t->cap_gone * 2 : 64) * sizeof(*t->gone));
    t->gone[t->n_gone++] = s->id;
}

void sto_seriestab__free(struct sto_seriestab *t, const struct sto_series *s)
{
    struct sto_series_locals *l = &t->locals[sto_shard_of(s, t->n_shards)];
    if (l->n_free == l->cap)
        l->free_numbers =
            ts_xrealloc(l->free_numbers, (l->cap = l->cap ? l->cap * 2 : 16) * sizeof(*l->free_numbers));
    l->free_numbers[l->n_free++] = s->local;
    size_t order = s->reserved & STO_SERIES_ORDERED ? s->n_tags : 0;
    sto_slab__give(&t->slab, (void *)(uintptr_t)s,
                   sizeof(*s) + s->n_tags * sizeof(struct sto_tag) + s->text_len + order);
}

void sto_seriestab__trim(struct sto_seriestab *t)
{
    if (t->n_gone)
        qsort(t->gone, t->n_gone, sizeof(*t->gone), ts_cmp_u32);
    sto_dense__trim(&t->by_id, t->gone, t->n_gone);
    ts_free(t->gone);
    t->gone = NULL;
    t->n_gone = t->cap_gone = 0;
}

void sto_seriestab__init(struct sto_seriestab *t, uint32_t n_shards)
{
    sto_slab__init(&t->slab, _Alignof(struct sto_series));
    t->n_shards = n_shards;
    t->locals = ts_xcalloc(n_shards, sizeof(*t->locals));
}

void sto_seriestab__release(struct sto_seriestab *t)
{
    sto_dense__release(&t->by_id);
    sto_idtab__release(&t->by_ids);
    sto_slab__release(&t->slab);
    sto_idruns__release(&t->pending);
    for (uint32_t i = 0; t->locals && i < t->n_shards; i++)
        ts_free(t->locals[i].free_numbers);
    ts_free(t->locals);
    ts_free(t->gone);
    if (t->own)
        roaring_bitmap_free(t->own);
}

uint64_t sto_seriestab__counted(const struct sto_seriestab *t)
{
    return t->n - (t->own ? roaring_bitmap_get_cardinality(t->own) : 0);
}

/* --- public functions --- */

const struct sto_series *sto_series_get(const struct sto_catalog *cat, uint32_t id)
{
    return sto_seriestab__get(&cat->series, id);
}

uint32_t sto_series_count(const struct sto_catalog *cat)
{
    return atomic_load_explicit(&cat->series.end, memory_order_acquire); /* partner: sto_seriestab__put */
}

int sto_series_find_ids(struct sto_catalog *cat, uint32_t metric, const struct sto_tag *tags, size_t n_tags,
                        const struct sto_series **out_series)
{
    uint64_t hash = sto_seriestab__hash(metric, tags, n_tags);
    pthread_mutex_lock(&cat->lock);
    *out_series = sto_seriestab__find(&cat->series, hash, metric, tags, n_tags);
    if (*out_series && sto_catalog__touch(cat, (*out_series)->id, NULL) < 0)
        *out_series = NULL;
    pthread_mutex_unlock(&cat->lock);
    return *out_series ? 0 : TS_ENOTFOUND;
}

/* One call of resolve: names, their hashes, and their ids as far as known (0 = not). */
struct wanted {
    struct ts_slice metric_name;
    uint32_t metric_hash, metric;
    const struct sto_tag_text *texts; /* in the order of the text */
    size_t n;                         /* tags */
    bool own;                         /* it is not to count against max_series */
    uint32_t k_hash[STO_SERIES_MAX_TAGS], v_hash[STO_SERIES_MAX_TAGS];
    struct sto_tag tags[STO_SERIES_MAX_TAGS]; /* in the order of the text */
};

/* Look up all names. Lock held. Returns false if one is missing. */
static bool find_names(const struct sto_catalog *cat, struct wanted *w)
{
    const struct sto_uidtab *keys = &cat->uids[STO_UID_TAGK], *values = &cat->uids[STO_UID_TAGV];
    for (size_t i = 0; i < w->n; i++)
        sto_idtab__prefetch(&values->by_name, w->v_hash[i]);
    w->metric = sto_uidtab__find(&cat->uids[STO_UID_METRIC], w->metric_name, w->metric_hash);
    bool all = w->metric != 0;
    for (size_t i = 0; i < w->n; i++) {
        w->tags[i].k = sto_uidtab__find(keys, w->texts[i].k, w->k_hash[i]);
        w->tags[i].v = sto_uidtab__find(values, w->texts[i].v, w->v_hash[i]);
        all &= w->tags[i].k && w->tags[i].v;
    }
    return all;
}

/* Keep the names that exist: the series to be created will use them. Lock held. */
static int touch_names(struct sto_catalog *cat, const struct wanted *w, struct ts_error *err)
{
    TS_TRY(w->metric ? sto_catalog__touch_name(cat, STO_UID_METRIC, w->metric, err) : 0);
    for (size_t i = 0; i < w->n; i++) {
        TS_TRY(w->tags[i].k ? sto_catalog__touch_name(cat, STO_UID_TAGK, w->tags[i].k, err) : 0);
        TS_TRY(w->tags[i].v ? sto_catalog__touch_name(cat, STO_UID_TAGV, w->tags[i].v, err) : 0);
    }
    return 0;
}

/* May the series be one that does not count against max_series? Lock held. */
static bool may_own(const struct sto_catalog *cat, const struct wanted *w)
{
    return w->own &&
           (!cat->series.own || roaring_bitmap_get_cardinality(cat->series.own) < STO_OWN_SERIES_MAX);
}

/* Check everything before anything is created, so that a refused series leaves no names behind. Lock held. */
static int check_wanted(struct sto_catalog *cat, const struct wanted *w, struct ts_error *err)
{
    if (cat->read_only)
        return sto_read_only_refuse(cat->read_only_why, err);
    uint64_t end =
        atomic_load_explicit(&cat->series.end, memory_order_relaxed); /* written under the lock we hold */
    bool full = sto_seriestab__counted(&cat->series) >= cat->max_series && !may_own(cat, w);
    if (full || end >= STO_FOREIGN)
        return ts_error_set(err, TS_ELIMIT, "no more than %llu series (max_series)",
                            (unsigned long long)(full ? cat->max_series : STO_FOREIGN));
    TS_TRY(sto_catalog__has_memory(cat, err));
    TS_TRY(w->metric ? 0 : sto_uid__check(STO_UID_METRIC, w->metric_name, err));
    uint64_t text_len = w->metric_name.n;
    for (size_t i = 0; i < w->n; i++) {
        TS_TRY(w->tags[i].k ? 0 : sto_uid__check(STO_UID_TAGK, w->texts[i].k, err));
        TS_TRY(w->tags[i].v ? 0 : sto_uid__check(STO_UID_TAGV, w->texts[i].v, err));
        text_len += 2 + w->texts[i].k.n + w->texts[i].v.n;
        for (size_t j = 0; j < i; j++)
            if (ts_slice_eq(w->texts[i].k, w->texts[j].k))
                return ts_error_set(err, TS_EINVAL, "tag key given twice: %.*s", (int)w->texts[i].k.n,
                                    w->texts[i].k.p);
    }
    if (text_len > UINT32_MAX)
        return ts_error_set(err, TS_ELIMIT, "text of a series is too long");
    return touch_names(cat, w, err);
}

/* Create ids for missing names, in the order of the text. Lock held. */
static int make_names(struct sto_catalog *cat, struct wanted *w, struct ts_error *err)
{
    TS_TRY(sto_uid__make_locked(cat, STO_UID_METRIC, w->metric_name, w->metric_hash, &w->metric, err));
    for (size_t i = 0; i < w->n; i++)
        TS_TRY(sto_uid__make_locked(cat, STO_UID_TAGK, w->texts[i].k, w->k_hash[i], &w->tags[i].k, err));
    for (size_t i = 0; i < w->n; i++)
        TS_TRY(sto_uid__make_locked(cat, STO_UID_TAGV, w->texts[i].v, w->v_hash[i], &w->tags[i].v, err));
    return 0;
}

/* Put ids and texts into the order of key ids. */
static void order_by_key(struct sto_tag *tags, struct sto_tag_text *texts, size_t n)
{
    for (size_t i = 1; i < n; i++)
        for (size_t j = i; j > 0 && tags[j - 1].k > tags[j].k; j--) {
            struct sto_tag tag = tags[j];
            struct sto_tag_text text = texts[j];
            tags[j] = tags[j - 1];
            texts[j] = texts[j - 1];
            tags[j - 1] = tag;
            texts[j - 1] = text;
        }
}

/* Create the series of names that all have ids. Lock held. */
static const struct sto_series *make_series(struct sto_catalog *cat, struct wanted *w, uint64_t hash)
{
    struct sto_tag_text sorted[STO_SERIES_MAX_TAGS];
    struct sto_series_draft draft = {
        .id =
            atomic_load_explicit(&cat->series.end, memory_order_relaxed), /* written under the lock we hold */
        .metric = w->metric,
        .tags = w->tags,
        .n_tags = w->n,
        .metric_name = w->metric_name,
        .texts = w->texts};
    /* prefetch the memory that is written last */
    sto_idtab__prefetch(&cat->series.by_ids, table_hash(hash));
    sto_tagindex__prefetch(&cat->index, w->tags, w->n);
    size_t n_unsafe = 0;
    for (size_t i = 0; i < w->n; i++)
        n_unsafe += w->tags[i].k > cat->safe_tagk;
    if (n_unsafe > 1) { /* see "Text" at the top */
        memcpy(sorted, w->texts, w->n * sizeof(*sorted));
        order_by_key(w->tags, sorted, w->n);
        draft.texts = sorted;
    }
    struct sto_series *s = sto_seriestab__make(&cat->series, &draft);
    sto_seriestab__put(&cat->series, s, hash);
    sto_idruns__add(&cat->series.pending, s->id);
    sto_tagindex__add(&cat->index, s);
    return s;
}

/* Lock held. */
static int resolve_locked(struct sto_catalog *cat, struct wanted *w, bool create,
                          const struct sto_series **out, struct ts_error *err)
{
    bool known = find_names(cat, w);
    if (!known) {
        if (!create)
            return TS_ENOTFOUND;
        TS_TRY(check_wanted(cat, w, err));
        TS_TRY(make_names(cat, w, err));
    }
    struct sto_tag sorted[STO_SERIES_MAX_TAGS];
    memcpy(sorted, w->tags, w->n * sizeof(*sorted));
    sto_seriestab__sort(sorted, w->n);
    uint64_t hash = sto_seriestab__hash(w->metric, sorted, w->n);
    /* a name that was just created is in no series */
    *out = known ? sto_seriestab__find(&cat->series, hash, w->metric, sorted, w->n) : NULL;
    if (*out)
        return sto_catalog__touch(cat, (*out)->id, err);
    if (!create)
        return TS_ENOTFOUND;
    if (known)
        TS_TRY(check_wanted(cat, w, err));
    *out = make_series(cat, w, hash);
    return 0;
}

/* Senders repeat their order, so that the next series looked up is often the one with the next number: no
 * hash, no lock, no cache miss. When several threads made series at the same time, each made only some of
 * consecutive numbers, so the next few are tried, too; but only one as long as guesses are wrong. Each thread
 * has its own guess, which is always checked; a wrong one costs nanoseconds. */
#define GUESSES 8u
static _Thread_local uint32_t guess;
static _Thread_local uint32_t n_guesses = 1;

/* Is one of the guesses right? After a rename texts may have old names, and only ids are trusted. While series
 * are being forgotten the tables are used, so that a series looked up stays. */
static const struct sto_series *guessed(const struct sto_catalog *cat, struct ts_slice text,
                                        uint32_t metric_len)
{
    if (atomic_load_explicit(&cat->forget.on, memory_order_acquire) || /* partner: sto_catalog_forget_begin */
        atomic_load_explicit(&cat->n_renames, memory_order_acquire) != 0) /* partner: sto_catalog__renamed */
        return NULL;
    for (uint32_t i = 0; i < n_guesses; i++) {
        const struct sto_series *s = sto_seriestab__get(&cat->series, guess + i);
        if (!s || s->metric_len != metric_len || !ts_slice_eq(sto_series_text(s), text))
            continue;
        guess += i + 1;
        n_guesses = GUESSES;
        return s;
    }
    n_guesses = 1;
    return NULL;
}

/* sto_series_resolve, and sto_series_resolve_own if own is set. */
static int resolve(struct sto_catalog *cat, struct ts_slice text, uint32_t metric_len,
                   const struct sto_tag_text *tags, size_t n_tags, bool create, bool own,
                   const struct sto_series **out_series, struct ts_error *err)
{
    *out_series = NULL;
    if (n_tags == 0 || metric_len > text.n)
        return ts_error_set(err, TS_EINVAL,
                            n_tags ? "metric is longer than its text" : "a series needs a tag");
    if (n_tags > STO_SERIES_MAX_TAGS)
        return ts_error_set(err, TS_ELIMIT, "%zu tags, at most %u", n_tags, STO_SERIES_MAX_TAGS);
    *out_series = own ? NULL : guessed(cat, text, metric_len);
    if (*out_series)
        return 0;
    struct wanted w;
    w.metric_name = (struct ts_slice){text.p, metric_len};
    w.metric_hash = sto_uidtab__hash(w.metric_name);
    w.texts = tags;
    w.n = n_tags;
    w.own = own;
    for (size_t i = 0; i < n_tags; i++) {
        w.k_hash[i] = sto_uidtab__hash(tags[i].k);
        w.v_hash[i] = sto_uidtab__hash(tags[i].v);
    }
    pthread_mutex_lock(&cat->lock);
    int rc = resolve_locked(cat, &w, create, out_series, err);
    if (rc == 0 && may_own(cat, &w)) {
        cat->series.own = cat->series.own ? cat->series.own : roaring_bitmap_create();
        roaring_bitmap_add(cat->series.own, (*out_series)->id);
    }
    pthread_mutex_unlock(&cat->lock);
    if (rc < 0)
        *out_series = NULL;
    if (rc == 0)
        guess = (*out_series)->id + 1;
    else if (rc == TS_ENOTFOUND)
        (void)ts_error_set(err, rc, "no such series: %.*s", (int)(text.n < 200 ? text.n : 200), text.p);
    return rc;
}

int sto_series_resolve(struct sto_catalog *cat, struct ts_slice text, uint32_t metric_len,
                       const struct sto_tag_text *tags, size_t n_tags, bool create,
                       const struct sto_series **out_series, struct ts_error *err)
{
    return resolve(cat, text, metric_len, tags, n_tags, create, false, out_series, err);
}

int sto_series_resolve_like(struct sto_catalog *cat, struct ts_slice metric, const struct sto_series *like,
                            struct ts_buf *scratch, const struct sto_series **out_series,
                            struct ts_error *err)
{
    struct sto_tag_text tags[UINT8_MAX]; /* n_tags is a byte */
    ts_buf_clear(scratch);
    ts_buf_slice(scratch, metric);
    for (unsigned i = 0; i < like->n_tags; i++) {
        tags[i] = (struct sto_tag_text){sto_uid_name(cat, STO_UID_TAGK, like->tags[i].k),
                                        sto_uid_name(cat, STO_UID_TAGV, like->tags[i].v)};
        ts_buf_char(scratch, ' ');
        ts_buf_slice(scratch, tags[i].k);
        ts_buf_char(scratch, '=');
        ts_buf_slice(scratch, tags[i].v);
    }
    return sto_series_resolve(cat, ts_buf_get(scratch), (uint32_t)metric.n, tags, like->n_tags, true,
                              out_series, err);
}

int sto_series_resolve_own(struct sto_catalog *cat, struct ts_slice text, uint32_t metric_len,
                           const struct sto_tag_text *tags, size_t n_tags,
                           const struct sto_series **out_series, struct ts_error *err)
{
    return resolve(cat, text, metric_len, tags, n_tags, true, true, out_series, err);
}
