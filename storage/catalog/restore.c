/*
 * restore.c - restore series that are in the write-ahead log but not in the log of the catalog.
 *
 * The write-ahead log has the number, the ids and the text of a series. If the catalog knows the number,
 * nothing needs to be done. Otherwise the names of the ids are taken from the text; "Text" in series.c explains why
 * their order can be determined.
 *
 * Threads    the catalog's lock inside; called while a store is opened
 * Invariant  names that the catalog has are kept, so that a rename takes precedence over the text of an older
 *            series
 */
#include "base/err.h"
#include "storage/catalog/catalog_int.h"

/* A series to restore. */
struct restored {
    uint32_t id, metric;                            /* number, id */
    size_t n;                                       /* tags */
    struct ts_slice metric_name;                    /* from the text */
    struct sto_tag_text texts[STO_SERIES_MAX_TAGS]; /* from the text, in its order */
    struct sto_tag tags[STO_SERIES_MAX_TAGS];       /* as given, then in the order of the text */
};

/* Split the text: names have no spaces, keys no '='. */
static int split(struct restored *r, struct ts_slice text, uint32_t metric_len, struct ts_error *err)
{
    const char *p = text.p + metric_len, *end = text.p + text.n;
    r->metric_name = (struct ts_slice){text.p, metric_len};
    for (size_t i = 0; i < r->n; i++) {
        const char *next = p < end && *p == ' ' ? memchr(p + 1, ' ', (size_t)(end - p - 1)) : NULL;
        if (!next)
            next = end;
        const char *eq = p < end && *p == ' ' ? memchr(p + 1, '=', (size_t)(next - p - 1)) : NULL;
        if (!eq || eq == p + 1 || eq + 1 == next)
            return ts_error_set(err, TS_ECORRUPT, "series %u: its text has no tag %zu", r->id, i + 1);
        r->texts[i].k = (struct ts_slice){p + 1, (size_t)(eq - p - 1)};
        r->texts[i].v = (struct ts_slice){eq + 1, (size_t)(next - eq - 1)};
        p = next;
    }
    return p == end
               ? 0
               : ts_error_set(err, TS_ECORRUPT, "series %u: its text has more than %zu tags", r->id, r->n);
}

/* Bring tags into the order of the texts. Keys that the catalog knows are placed by name, and a single other
 * one takes the remaining place; if there are more, the text was written in the given order. Lock held. */
static int match_tags(const struct sto_catalog *cat, struct restored *r, struct ts_error *err)
{
    const struct sto_uidtab *keys = &cat->uids[STO_UID_TAGK];
    struct sto_tag by_text[STO_SERIES_MAX_TAGS];
    bool taken[STO_SERIES_MAX_TAGS] = {false};
    size_t n_open = 0, open = 0;
    for (size_t i = 0; i < r->n; i++) {
        uint32_t k = sto_uidtab__find(keys, r->texts[i].k, sto_uidtab__hash(r->texts[i].k));
        size_t j = 0;
        while (j < r->n && (taken[j] || r->tags[j].k != k))
            j++;
        if (k && j < r->n) {
            by_text[i] = r->tags[j];
            taken[j] = true;
        } else {
            n_open++;
            open = i;
        }
    }
    if (n_open > 1) {
        for (size_t i = 0; i < r->n; i++)
            if (taken[i] && !ts_slice_eq(sto_uidtab__name(keys, r->tags[i].k), r->texts[i].k))
                return ts_error_set(err, TS_ECORRUPT, "series %u: its text and its ids do not agree", r->id);
        return 0;
    }
    for (size_t j = 0; n_open && j < r->n; j++)
        if (!taken[j])
            by_text[open] = r->tags[j];
    memcpy(r->tags, by_text, r->n * sizeof(*by_text));
    return 0;
}

/* Add the name of an id that the catalog does not know. Lock held. */
static int restore_name(struct sto_catalog *cat, enum sto_uid_kind kind, uint32_t id, struct ts_slice name,
                        struct ts_error *err)
{
    struct sto_uidtab *t = &cat->uids[kind];
    struct ts_slice present = sto_uidtab__name(t, id);
    if (present.p) {
        if (!ts_slice_eq(present, name)) /* the series will have a text with an old name, as after a rename */
            sto_catalog__renamed(cat);
        return 0;
    }
    uint32_t hash = sto_uidtab__hash(name), other = sto_uidtab__find(t, name, hash);
    if (id == 0 || id > STO_UID_MAX_ID || other)
        return ts_error_set(err, TS_ECORRUPT,
                            "%s \"%.*s\" has id %u in the write-ahead log and %u in the catalog",
                            sto_uid__kind_name(kind), (int)(name.n < 100 ? name.n : 100), name.p, id, other);
    TS_TRY(sto_uid__check(kind, name, err));
    if (!sto_dense__reserve(&t->names, id))
        return ts_error_set(err, TS_ENOMEM, "no memory for id %u of the write-ahead log", id);
    sto_uidtab__put(t, id, sto_uidtab__intern(t, name), hash);
    sto_idruns__add(&t->pending, id);
    return 0;
}

/* Restore a series whose number is unknown. Lock held. */
static int restore_new(struct sto_catalog *cat, struct restored *r, const struct sto_series **out,
                       struct ts_error *err)
{
    struct sto_tag sorted[STO_SERIES_MAX_TAGS];
    memcpy(sorted, r->tags, r->n * sizeof(*sorted));
    sto_seriestab__sort(sorted, r->n);
    uint64_t hash = sto_seriestab__hash(r->metric, sorted, r->n);
    const struct sto_series *same = sto_seriestab__find(&cat->series, hash, r->metric, sorted, r->n);
    if (same)
        return ts_error_set(err, TS_ECORRUPT, "series %u of the write-ahead log is number %u in the catalog",
                            r->id, same->id);
    TS_TRY(match_tags(cat, r, err));
    TS_TRY(restore_name(cat, STO_UID_METRIC, r->metric, r->metric_name, err));
    for (size_t i = 0; i < r->n; i++) {
        TS_TRY(restore_name(cat, STO_UID_TAGK, r->tags[i].k, r->texts[i].k, err));
        TS_TRY(restore_name(cat, STO_UID_TAGV, r->tags[i].v, r->texts[i].v, err));
    }
    if (!sto_dense__reserve(&cat->series.by_id, r->id))
        return ts_error_set(err, TS_ENOMEM, "no memory for series %u of the write-ahead log", r->id);
    struct sto_series_draft draft = {.id = r->id,
                                     .metric = r->metric,
                                     .tags = r->tags,
                                     .n_tags = r->n,
                                     .metric_name = r->metric_name,
                                     .texts = r->texts};
    struct sto_series *s = sto_seriestab__make(&cat->series, &draft);
    sto_seriestab__put(&cat->series, s, hash);
    sto_idruns__add(&cat->series.pending, s->id);
    sto_tagindex__add(&cat->index, s);
    *out = s;
    return 0;
}

static int restore_locked(struct sto_catalog *cat, struct restored *r, struct ts_slice text,
                          uint32_t metric_len, const struct sto_series **out, struct ts_error *err)
{
    const struct sto_series *s = sto_seriestab__get(&cat->series, r->id);
    if (s) {
        sto_seriestab__sort(r->tags, r->n);
        if (!sto_seriestab__same(s, r->metric, r->tags, r->n))
            return ts_error_set(err, TS_ECORRUPT,
                                "series %u of the write-ahead log has other tags in the catalog", r->id);
        *out = s;
        return 0;
    }
    /* the log has the series, but its points were deleted, have expired or were refused */
    if (sto_catalog__is_gone(cat, r->id))
        return 0;
    TS_TRY(split(r, text, metric_len, err));
    return restore_new(cat, r, out, err);
}

int sto_series_restore(struct sto_catalog *cat, uint32_t id, uint32_t metric, const struct sto_tag *tags,
                       size_t n_tags, struct ts_slice text, uint32_t metric_len,
                       const struct sto_series **out_series, struct ts_error *err)
{
    *out_series = NULL;
    if (n_tags == 0 || n_tags > STO_SERIES_MAX_TAGS || metric_len == 0 || metric_len > text.n ||
        id >= STO_FOREIGN)
        return ts_error_set(err, TS_ECORRUPT, "series %u: %zu tags, metric of %u bytes in a text of %zu", id,
                            n_tags, metric_len, text.n);
    struct restored r;
    r.id = id;
    r.metric = metric;
    r.n = n_tags;
    memcpy(r.tags, tags, n_tags * sizeof(*tags));
    pthread_mutex_lock(&cat->lock);
    int rc = restore_locked(cat, &r, text, metric_len, out_series, err);
    pthread_mutex_unlock(&cat->lock);
    return rc;
}
