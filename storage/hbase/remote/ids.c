/*
 * ids.c - ids of names and series, names of ids: from the cache, and what it lacks from HBase in one batch.
 */
#include "storage/hbase/remote/ids.h"

#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/text.h"
#include "base/time.h"
#include "storage/hbase/limits.h"
#include "storage/hbase/remote/ids_int.h"

#define DEFAULT_CACHED 1000000

static int64_t monotonic_ms(void)
{
    return ts_clock_mono_ns() / 1000000;
}

struct sto_hbase_id_cache *sto_hbase_ids_new(const struct sto_hbase_schema *schema, const char *table,
                                             size_t max_cached, struct ts_budget *memory)
{
    struct sto_hbase_id_cache *c = ts_xcalloc(1, sizeof(*c));
    pthread_condattr_t attr;
    c->schema = *schema;
    c->table = ts_xstrdup(table);
    c->memory = c->tally.budget = memory;
    c->now_ms = monotonic_ms;
    c->distrusted_ms = INT64_MIN;
    c->names.max = c->series.max = max_cached ? max_cached : DEFAULT_CACHED;
    c->names.memory = c->series.memory = &c->tally;
    for (size_t i = 0; i < STO_HBASE__N_KINDS; i++)
        c->full_ms[i] = INT64_MIN;
    pthread_mutex_init(&c->mu, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&c->released, &attr);
    pthread_condattr_destroy(&attr);
    return c;
}

void sto_hbase_ids_clock(struct sto_hbase_id_cache *c, int64_t (*now_ms)(void))
{
    c->now_ms = now_ms ? now_ms : monotonic_ms;
}

void sto_hbase_ids_distrust(struct sto_hbase_id_cache *c)
{
    pthread_mutex_lock(&c->mu);
    c->distrusted_ms = c->now_ms();
    pthread_mutex_unlock(&c->mu);
}

void sto_hbase_ids_free(struct sto_hbase_id_cache *c)
{
    if (!c)
        return;
    sto_hbase__records_release(&c->names);
    sto_hbase__records_release(&c->series);
    ts_tally_release(&c->tally);
    pthread_cond_destroy(&c->released);
    pthread_mutex_destroy(&c->mu);
    ts_free(c->table);
    ts_free(c);
}

void sto_hbase_ids_status(struct sto_hbase_id_cache *c,
                          void (*each)(void *arg, const char *name, uint64_t value), void *arg)
{
    pthread_mutex_lock(&c->mu);
    uint64_t n_names = c->names.n, n_series = c->series.n, n_bytes = c->tally.used_bytes;
    pthread_mutex_unlock(&c->mu);
    each(arg, "id_cache_names", n_names);
    each(arg, "id_cache_series", n_series);
    each(arg, "id_cache_bytes", n_bytes);
    each(arg, "id_lookups", atomic_load_explicit(&c->n_lookups, memory_order_relaxed));
    each(arg, "ids_assigned", atomic_load_explicit(&c->n_assigned, memory_order_relaxed));
    each(arg, "ids_unused", atomic_load_explicit(&c->n_unused, memory_order_relaxed));
}

/* --- names --- */

/* Find what the batch needs; MAKE: give ids to the rest. */
static int resolve(struct sto_hbase__batch *b, enum sto_remote_lookup what, struct ts_error *err)
{
    TS_TRY(sto_hbase__batch_read(b, err));
    return what == STO_REMOTE_MAKE ? sto_hbase__batch_assign(b, err) : 0;
}

/* The result of an item; TS_ELIMIT for all of them if it needs an id and there are none. */
static int result(const struct sto_hbase__batch *b, const struct sto_hbase__want *w,
                  struct sto_remote_name *out, struct ts_error *err)
{
    if (w->state == STO_HBASE__FULL)
        return sto_hbase__ids_full(b->c, out->kind, err);
    if (w->state == STO_HBASE__STUCK)
        return ts_error_set(err, TS_EBACKEND, "%s", b->stuck[w->kind].text);
    out->rc = w->state == STO_HBASE__KNOWN     ? 0
              : w->state == STO_HBASE__ABSENT  ? TS_ENOTFOUND
              : w->state == STO_HBASE__DAMAGED ? TS_ECORRUPT
                                               : TS_EINVAL;
    if (b->names)
        out->name =
            out->rc == 0 ? (struct ts_slice){b->names->p + w->off, w->name.n} : (struct ts_slice){NULL, 0};
    else
        out->id = out->rc == 0 ? w->id : 0;
    return 0;
}

int sto_hbase_ids_names(struct sto_hbase_id_cache *c, struct sto_hbase_session *s,
                        enum sto_remote_lookup what, struct sto_remote_name *list, size_t n,
                        struct ts_buf *names, struct ts_error *err)
{
    struct sto_hbase__batch b;
    bool by_id = what == STO_REMOTE_BY_ID;
    TS_TRY(sto_hbase__batch_init(&b, c, s, n, by_id ? names : NULL, err));
    b.spares = what == STO_REMOTE_FIND_EACH;
    pthread_mutex_lock(&c->mu);
    for (size_t i = 0; i < n; i++)
        b.refs[i] = by_id ? sto_hbase__batch_id(&b, list[i].kind, list[i].id)
                          : sto_hbase__batch_name(&b, list[i].kind, list[i].name);
    pthread_mutex_unlock(&c->mu);
    int rc = resolve(&b, what, err);
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = result(&b, &b.list[b.refs[i]], &list[i], err);
    sto_hbase__batch_release(&b);
    return rc;
}

/* --- series --- */

/* Take the TSUID of a series from the cache; false if it is missing or was read too long ago. The mutex must be held. */
static bool cached_series(struct sto_hbase_id_cache *c, uint64_t key, int64_t now_ms,
                          struct sto_hbase_series_id *out)
{
    const struct sto_hbase__record *r =
        key == STO_REMOTE_NO_KEY ? NULL : sto_hbase__records_by_number(&c->series, 0, key);
    if (!r || r->generation != c->series.generation ||
        !sto_hbase__is_fresh(c, r->seen_ms[STO_HBASE__BY_NUMBER], now_ms))
        return false;
    memcpy(out->tsuid, r->bytes, r->n);
    out->n = (uint8_t)r->n;
    out->rc = 0;
    return true;
}

/* Find series in the cache and check the others, whose rc becomes 1. Returns how many names these have. */
static size_t find_series(struct sto_hbase_id_cache *c, const struct sto_remote_series *const *series,
                          size_t n, struct sto_hbase_series_id *out)
{
    size_t n_names = 0;
    int64_t now_ms = c->now_ms();
    pthread_mutex_lock(&c->mu);
    for (size_t i = 0; i < n; i++) {
        out[i].n = 0;
        out[i].why.code = 0;
        out[i].rc = cached_series(c, series[i]->key, now_ms, &out[i]) ? 0 : 1;
    }
    pthread_mutex_unlock(&c->mu);
    for (size_t i = 0; i < n; i++) {
        if (out[i].rc == 1 && sto_hbase_check_series(series[i], &out[i].why) < 0)
            out[i].rc = TS_EINVAL;
        n_names += out[i].rc == 1 ? 1 + 2 * series[i]->n_tags : 0;
    }
    return n_names;
}

/* Add the names of the series to the batch; refs has them in order. Returns the generation of the cache. */
static uint32_t add_names(struct sto_hbase__batch *b, const struct sto_remote_series *const *series, size_t n,
                          const struct sto_hbase_series_id *out)
{
    uint32_t *ref = b->refs;
    pthread_mutex_lock(&b->c->mu);
    uint32_t generation = b->c->series.generation;
    for (size_t i = 0; i < n; i++) {
        if (out[i].rc != 1)
            continue;
        *ref++ = sto_hbase__batch_name(b, STO_REMOTE_METRIC, series[i]->metric);
        for (size_t t = 0; t < series[i]->n_tags; t++) {
            *ref++ = sto_hbase__batch_name(b, STO_REMOTE_TAGK, series[i]->tags[t].k);
            *ref++ = sto_hbase__batch_name(b, STO_REMOTE_TAGV, series[i]->tags[t].v);
        }
    }
    pthread_mutex_unlock(&b->c->mu);
    return generation;
}

/* Make the TSUID of a series, whose names are refs. Returns when the first of them was read. */
static int64_t make_series(const struct sto_hbase__batch *b, const uint32_t *refs, size_t n_tags,
                           struct sto_hbase_series_id *out)
{
    struct sto_hbase_ids ids = {.n_tags = (uint8_t)n_tags};
    int64_t seen_ms = INT64_MAX;
    out->rc = 0;
    for (size_t i = 0; i < 1 + 2 * n_tags; i++) {
        const struct sto_hbase__want *w = &b->list[refs[i]];
        uint64_t *id = i == 0 ? &ids.metric : i % 2 ? &ids.tag[i / 2].k : &ids.tag[i / 2 - 1].v;
        *id = w->id;
        seen_ms = w->seen_ms < seen_ms ? w->seen_ms : seen_ms;
        if (w->state == STO_HBASE__FULL)
            out->rc = sto_hbase__ids_full(b->c, (enum sto_remote_kind)w->kind, &out->why);
        else if (w->state == STO_HBASE__STUCK)
            out->rc = ts_error_set(&out->why, TS_EINVAL, "%s", b->stuck[w->kind].text);
        else if (w->state == STO_HBASE__DAMAGED)
            out->rc =
                ts_error_set(&out->why, TS_EINVAL,
                             "what table %s has of the name \"%.*s\" is no id; see tsd uid fsck --hbase",
                             b->c->table, TS_SHOWN(w->name, 80));
        else if (w->state != STO_HBASE__KNOWN && out->rc == 0)
            out->rc = TS_ENOTFOUND;
    }
    if (out->rc == 0)
        out->rc = sto_hbase_ids_check(&b->c->schema, &ids, &out->why);
    if (out->rc == 0)
        out->n = (uint8_t)sto_hbase_tsuid_make(&b->c->schema, &ids, out->tsuid);
    return seen_ms;
}

/* The names of the batch are resolved: make the TSUIDs and remember them. */
static void make_all(struct sto_hbase__batch *b, const struct sto_remote_series *const *series, size_t n,
                     uint32_t generation, struct sto_hbase_series_id *out)
{
    const uint32_t *refs = b->refs;
    struct sto_hbase_id_cache *c = b->c;
    pthread_mutex_lock(&c->mu);
    /* A mapping that has changed since then may be one of these series: they are made again when they are used. */
    bool may_keep = c->series.generation == generation;
    for (size_t i = 0; i < n; i++) {
        if (out[i].rc != 1)
            continue;
        int64_t seen_ms = make_series(b, refs, series[i]->n_tags, &out[i]);
        refs += 1 + 2 * series[i]->n_tags;
        if (out[i].rc == 0 && may_keep && series[i]->key != STO_REMOTE_NO_KEY)
            (void)sto_hbase__records_put(&c->series, STO_HBASE__BY_NUMBER, 0,
                                         (struct ts_slice){(const char *)out[i].tsuid, out[i].n},
                                         series[i]->key, seen_ms);
    }
    pthread_mutex_unlock(&c->mu);
}

int sto_hbase_ids_series(struct sto_hbase_id_cache *c, struct sto_hbase_session *s,
                         enum sto_remote_lookup what, const struct sto_remote_series *const *series, size_t n,
                         struct sto_hbase_series_id *out, struct ts_error *err)
{
    if (n > STO_HBASE_IDS_MAX_BATCH)
        return ts_error_set(err, TS_EINVAL, "ids of %zu series are requested at once; %d are possible", n,
                            STO_HBASE_IDS_MAX_BATCH);
    struct sto_hbase__batch b;
    size_t n_names = find_series(c, series, n, out);
    if (n_names == 0)
        return 0;
    TS_TRY(sto_hbase__batch_init(&b, c, s, n_names, NULL, err));
    b.spares = what != STO_REMOTE_FIND; /* points of others are stored; a query must not overlook any */
    uint32_t generation = add_names(&b, series, n, out);
    int rc = resolve(&b, what, err);
    if (rc == 0)
        make_all(&b, series, n, generation, out);
    sto_hbase__batch_release(&b);
    return rc;
}

/* --- names of TSUIDs --- */

/* Add the ids of TSUIDs to the batch; refs has them in order. */
static void add_ids(struct sto_hbase__batch *b, const struct ts_slice *tsuids, size_t n,
                    struct sto_remote_series *out, int *rcs)
{
    uint32_t *ref = b->refs;
    pthread_mutex_lock(&b->c->mu);
    for (size_t i = 0; i < n; i++) {
        struct sto_hbase_ids ids;
        out[i] = (struct sto_remote_series){.key = STO_REMOTE_NO_KEY};
        rcs[i] = sto_hbase_tsuid_parse(&b->c->schema, tsuids[i], &ids, NULL) < 0 ? TS_ECORRUPT : 0;
        if (rcs[i] < 0)
            continue;
        out[i].n_tags = ids.n_tags;
        *ref++ = sto_hbase__batch_id(b, STO_REMOTE_METRIC, ids.metric);
        for (unsigned t = 0; t < ids.n_tags; t++) {
            *ref++ = sto_hbase__batch_id(b, STO_REMOTE_TAGK, ids.tag[t].k);
            *ref++ = sto_hbase__batch_id(b, STO_REMOTE_TAGV, ids.tag[t].v);
        }
    }
    pthread_mutex_unlock(&b->c->mu);
}

/* The name of an id of the batch; *rc becomes TS_ENOTFOUND if it has none. */
static struct ts_slice name_of(const struct sto_hbase__batch *b, uint32_t ref, int *rc)
{
    const struct sto_hbase__want *w = &b->list[ref];
    if (w->state == STO_HBASE__KNOWN)
        return (struct ts_slice){b->names->p + w->off, w->name.n};
    *rc = TS_ENOTFOUND;
    return (struct ts_slice){NULL, 0};
}

/* Fill in the names of a series, whose ids are refs. */
static int fill_series(const struct sto_hbase__batch *b, const uint32_t *refs, struct sto_remote_tag *tags,
                       struct sto_remote_series *out)
{
    int rc = 0;
    out->metric = name_of(b, refs[0], &rc);
    for (size_t i = 0; i < out->n_tags; i++) {
        struct sto_remote_tag tag = {name_of(b, refs[1 + 2 * i], &rc), name_of(b, refs[2 + 2 * i], &rc)};
        size_t at = i;
        for (; at && ts_slice_cmp(tag.k, tags[at - 1].k) < 0; at--)
            tags[at] = tags[at - 1];
        tags[at] = tag;
    }
    out->tags = tags;
    return rc;
}

/* Ids of TSUIDs, at most. */
static size_t count_ids(const struct sto_hbase_schema *schema, const struct ts_slice *tsuids, size_t n)
{
    size_t n_ids = 0;
    for (size_t i = 0; i < n; i++)
        n_ids += tsuids[i].n <= STO_HBASE_MAX_TSUID_BYTES
                     ? 1 + 2 * (tsuids[i].n / ((size_t)schema->tagk_width + schema->tagv_width))
                     : 0;
    return n_ids;
}

int sto_hbase_ids_of_tsuids(struct sto_hbase_id_cache *c, struct sto_hbase_session *s,
                            const struct ts_slice *tsuids, size_t n, struct ts_buf *names,
                            struct sto_remote_tag *tags, struct sto_remote_series *out, int *rcs,
                            struct ts_error *err)
{
    if (n > STO_HBASE_IDS_MAX_BATCH)
        return ts_error_set(err, TS_EINVAL, "names of %zu series are requested at once; %d are possible", n,
                            STO_HBASE_IDS_MAX_BATCH);
    struct sto_hbase__batch b;
    TS_TRY(sto_hbase__batch_init(&b, c, s, count_ids(&c->schema, tsuids, n), names, err));
    add_ids(&b, tsuids, n, out, rcs);
    int rc = sto_hbase__batch_read(&b, err);
    const uint32_t *refs = b.refs;
    for (size_t i = 0; i < n && rc == 0; i++) {
        if (rcs[i] < 0)
            continue;
        rcs[i] = fill_series(&b, refs, tags + i * STO_HBASE_MAX_TAGS, &out[i]);
        refs += 1 + 2 * out[i].n_tags;
    }
    sto_hbase__batch_release(&b);
    return rc;
}

int sto_hbase_ids_of_tsuid(struct sto_hbase_id_cache *c, struct sto_hbase_session *s, struct ts_slice tsuid,
                           struct ts_buf *names, struct sto_remote_tag *tags, struct sto_remote_series *out,
                           struct ts_error *err)
{
    struct sto_hbase_ids ids;
    int rc = 0;
    if (sto_hbase_tsuid_parse(&c->schema, tsuid, &ids, err) < 0) {
        if (err)
            err->code = TS_ECORRUPT;
        return TS_ECORRUPT;
    }
    TS_TRY(sto_hbase_ids_of_tsuids(c, s, &tsuid, 1, names, tags, out, &rc, err));
    return rc < 0 ? ts_error_set(err, rc, "an id of a series has no name in table %s", c->table) : 0;
}
