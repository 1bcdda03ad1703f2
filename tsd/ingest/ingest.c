/*
 * ingest.c - series on a miss, batches, refusals.
 *
 * Threads    see ingest.h
 * Not here   reading text (line/put.c, http/put_json.c), queues (storage)
 */
#include "tsd/ingest/ingest.h"

#include "base/array.h"
#include "base/time.h"
#include "tsd/ingest/histogram.h"

#include <stdlib.h>

#define INGEST_MSG_BYTES  4096               /* longest text of a refusal */
#define INGEST_TEXT_BYTES ((size_t)64 << 20) /* a line is bounded long before */

/* From now on the store has so many shards. No batch is open. */
static void on_shards(void *arg, uint32_t n_shards)
{
    struct tsd_ingest *in = arg;
    in->shard_mask = n_shards - 1;
    ts_free(in->slot_of);
    in->slot_of = ts_xcalloc(n_shards, sizeof(*in->slot_of));
}

static void ingest_begin(struct tsd_ingest *in, size_t cache_bytes)
{
    tsd_icache_init(&in->cache, in->cat, cache_bytes);
    ts_buf_init(&in->msg, INGEST_MSG_BYTES);
    ts_buf_init(&in->text, INGEST_TEXT_BYTES);
    ts_buf_init(&in->recoded, INGEST_TEXT_BYTES);
    ts_buf_init(&in->internal, INGEST_TEXT_BYTES);
    ts_buf_init(&in->tags_text, INGEST_TEXT_BYTES);
}

void tsd_ingest_init(struct tsd_ingest *in, const struct tsd_rules *rules, struct sto_store *store,
                     struct sto_writer *writer, size_t cache_bytes)
{
    *in = (struct tsd_ingest){.rules = rules, .store = store, .writer = writer, .declared = store};
    in->cat = sto_store_catalog(store);
    ingest_begin(in, cache_bytes);
    on_shards(in, sto_shards(store).n_now);
    sto_writer_on_shards(writer, on_shards, in);
}

void tsd_ingest_init_apart(struct tsd_ingest *in, const struct tsd_rules *rules, struct sto_catalog *cat,
                           const struct tsd_ingest_sink *sink, size_t cache_bytes)
{
    *in = (struct tsd_ingest){.rules = rules, .cat = cat, .sink = sink};
    ingest_begin(in, cache_bytes);
    on_shards(in, 1);
}

void tsd_ingest_release(struct tsd_ingest *in)
{
    tsd_icache_release(&in->cache);
    sto_keep_unref(in->keep);
    in->keep = NULL;
    ts_free(in->slot_of);
    ts_free(in->open);
    ts_free(in->tags);
    ts_buf_release(&in->msg);
    ts_buf_release(&in->text);
    ts_buf_release(&in->recoded);
    ts_buf_release(&in->internal);
    ts_buf_release(&in->tags_text);
    tsd_versions_free(in->versions);
    in->versions = NULL;
    tsd_hist_families_free(in->families);
    in->families = NULL;
    in->slot_of = NULL;
    in->open = NULL;
    in->tags = NULL;
}

/* Take the rules of retention if they have changed, and the time at which they are looked at. */
static void ingest_look_at_rules(struct tsd_ingest *in)
{
    uint64_t epoch = sto_retain_epoch(in->store) + 1; /* 0 = never looked */
    if (epoch != in->keep_epoch) {
        struct sto_keep *keep = sto_retain_keep(in->store);
        sto_keep_unref(in->keep);
        in->keep = keep;
        if (!sto_keep_expires(keep) && !sto_keep_ages(keep) &&
            sto_keep_least_points_ms(keep) == STO_MIN_TS_MS) {
            sto_keep_unref(keep);
            in->keep = NULL;
        }
        in->keep_epoch = epoch;
    }
    if (!in->keep)
        return;
    in->now_ms = sto_retain_now_ms(in->store);
    in->kept_ms = sto_keep_all_ms(in->keep, in->now_ms);
}

int tsd_ingest_expired(struct tsd_ingest *in, const struct sto_series *series)
{
    int rule = sto_keep_rule(in->keep, series->id);
    int64_t hours = rule < 0 ? 0 : sto_keep_rule_ms(in->keep, (size_t)rule) / TS_HOUR_MS;
    int64_t least_ms = sto_keep_least_points_ms(in->keep);
    ts_buf_clear(&in->msg);
    in->is_expired = true;
    if (least_ms > STO_MIN_TS_MS && sto_keep_from_ms(in->keep, series->id, in->now_ms) == least_ms) {
        ts_buf_printf(&in->msg, "the point has expired: max_bytes leaves room for points from %lld on",
                      (long long)(least_ms / 1000));
        return TS_EINVAL;
    }
    ts_buf_printf(&in->msg, "the point has expired: points of this series are kept for %lld%s",
                  (long long)(hours % 24 ? hours : hours / 24), hours % 24 ? "h" : "d");
    return TS_EINVAL;
}

void tsd_ingest_count_refused(struct tsd_ingest *in, int code)
{
    bool expired = code == TS_EINVAL && in->is_expired;
    in->n_refused[expired ? TSD_REF_EXPIRED : tsd_refusal_of(code)]++;
    in->is_expired = false;
}

void tsd_ingest_begin(struct tsd_ingest *in)
{
    if (in->store)
        ingest_look_at_rules(in);
    tsd_versions_begin(in);
    if (sto_catalog_generation(in->cat) != in->cache.generation) {
        tsd_icache_reset(&in->cache);
        tsd_versions_forget(in);
        memset(in->counters, 0, sizeof in->counters);
    }
}

int64_t tsd_ingest_resolution(struct tsd_ingest *in, uint32_t metric)
{
    int64_t ms = tsd_counters_resolution(&in->rules->counters, sto_uid_name(in->cat, STO_UID_METRIC, metric));
    in->counters[metric % TSD_COUNTERS_KNOWN] =
        (struct tsd_counter_known){.metric_end = metric + 1, .ms = (uint32_t)ms};
    return ms;
}

void tsd_ingest_barrier(struct tsd_ingest *in, enum sto_level level, uint32_t asker, sto_done_fn done,
                        void *arg)
{
    for (unsigned i = 0; i < in->n_slots; i++)
        in->open[i] = NULL;
    sto_writer_barrier(in->writer, level, asker, done, arg);
}

void tsd_ingest_turn(struct tsd_ingest *in)
{
    for (unsigned i = 0; i < in->n_slots; i++)
        in->open[i] = NULL;
    sto_writer_turn(in->writer);
}

/* The series of in->text, made if the rate of new series allows. Most texts that the cache does not know are new
 * series, so a token is taken first and given back if it was not needed: the catalog is searched once. */
static int ingest_resolve(struct tsd_ingest *in, size_t metric_len, const struct sto_tag_text *tags,
                          size_t n_tags, const struct sto_series **out_series)
{
    struct ts_slice text = ts_buf_get(&in->text);
    struct ts_error err = {0};
    bool limited = in->new_series && tsd_series_limited(in->new_series_per_min, in->new_series_total);
    int64_t now_ms = limited ? ts_clock_mono_ns() / 1000000 : 0;
    bool create =
        !limited || tsd_series_try(in->new_series, in->new_series_per_min, in->new_series_total, now_ms);
    uint32_t end = sto_series_count(in->cat);
    int rc =
        in->own_series
            ? sto_series_resolve_own(in->cat, text, (uint32_t)metric_len, tags, n_tags, out_series, &err)
            : sto_series_resolve(in->cat, text, (uint32_t)metric_len, tags, n_tags, create, out_series, &err);
    if (limited && create && (rc < 0 || (*out_series)->id < end))
        tsd_series_give(in->new_series, in->new_series_total);
    if (rc == TS_ENOTFOUND && !create) {
        int taken = tsd_series_take(in->new_series, in->new_series_per_min, in->new_series_total,
                                    in->may_wait, now_ms, &in->msg);
        in->waits_for_series |= taken == TS_EBUSY;
        TS_TRY(taken);
        rc = sto_series_resolve(in->cat, text, (uint32_t)metric_len, tags, n_tags, true, out_series, &err);
    }
    if (rc < 0)
        ts_buf_str(&in->msg, err.text);
    return rc;
}

/* Names are good: the series from the catalog, its spelling into the cache. */
static int ingest_make(struct tsd_ingest *in, struct ts_slice metric, const struct sto_tag_text *tags,
                       size_t n_tags, struct ts_slice raw_metric, struct ts_slice raw_tags,
                       const struct sto_series **out_series, uintptr_t *out_ref)
{
    ts_buf_clear(&in->text);
    ts_buf_slice(&in->text, metric);
    for (size_t i = 0; i < n_tags; i++) {
        ts_buf_char(&in->text, ' ');
        ts_buf_slice(&in->text, tags[i].k);
        ts_buf_char(&in->text, '=');
        ts_buf_slice(&in->text, tags[i].v);
    }
    TS_TRY(ingest_resolve(in, metric.n, tags, n_tags, out_series));
    in->n_missed++;
    if (raw_tags.n == 0)
        return 0;
    uintptr_t ref =
        tsd_icache_add(&in->cache, tsd_icache_hash(raw_metric, raw_tags), raw_metric, raw_tags, *out_series);
    if (out_ref)
        *out_ref = ref;
    return 0;
}

int tsd_ingest_series(struct tsd_ingest *in, struct ts_slice metric, const struct sto_tag_text *tags,
                      size_t n_tags, struct ts_slice raw_metric, struct ts_slice raw_tags,
                      const struct sto_series **out_series, uintptr_t *out_ref)
{
    *out_series = NULL;
    if (out_ref)
        *out_ref = 0;
    ts_buf_clear(&in->msg);
    TS_TRY(tsd_names_check(in->rules, metric, tags, n_tags, &in->msg));
    uint32_t uid;
    if (!in->rules->make_metrics && sto_uid_find(in->cat, STO_UID_METRIC, metric, &uid) < 0) {
        ts_buf_str(&in->msg, "No such name for 'metrics': '");
        ts_buf_slice(&in->msg, metric);
        ts_buf_char(&in->msg, '\'');
        return TS_ENOTFOUND;
    }
    return ingest_make(in, metric, tags, n_tags, raw_metric, raw_tags, out_series, out_ref);
}

/* "k=v k=v" in a scratch buffer; {NULL, 0} if there are no tags, or no memory for the text. */
static struct ts_slice ingest_tags_text(struct ts_buf *out, const struct sto_tag_text *tags, size_t n_tags)
{
    size_t n = 0;
    for (size_t i = 0; i < n_tags; i++)
        n += tags[i].k.n + tags[i].v.n + 2;
    ts_buf_clear(out);
    char *from = n ? ts_buf_reserve(out, n) : NULL, *p = from;
    if (!from)
        return (struct ts_slice){NULL, 0};
    for (size_t i = 0; i < n_tags; i++) {
        memcpy(p, tags[i].k.p, tags[i].k.n);
        p += tags[i].k.n;
        *p++ = '=';
        memcpy(p, tags[i].v.p, tags[i].v.n);
        p += tags[i].v.n;
        *p++ = ' ';
    }
    return (struct ts_slice){from, n - 1};
}

int tsd_ingest_text(struct tsd_ingest *in, struct ts_slice metric, const struct sto_tag_text *tags,
                    size_t n_tags, const struct sto_series **out_series)
{
    struct ts_slice text = ingest_tags_text(&in->recoded, tags, n_tags);
    if (!text.n)
        return tsd_ingest_series(in, metric, tags, n_tags, metric, text, out_series, NULL);
    uintptr_t ref = tsd_icache_find(&in->cache, tsd_icache_hash(metric, text), metric, text);
    if (ref) {
        in->n_found++;
        *out_series = tsd_ref_series(ref);
        return 0;
    }
    return tsd_ingest_series(in, metric, tags, n_tags, metric, text, out_series, NULL);
}

int tsd_ingest_internal(struct tsd_ingest *in, struct ts_slice internal, struct ts_slice metric,
                        const struct sto_tag_text *tags, size_t n_tags, const struct sto_series **out_series)
{
    struct ts_slice text = ingest_tags_text(&in->tags_text, tags, n_tags);
    uintptr_t ref = text.n ? tsd_icache_find(&in->cache, tsd_icache_hash(internal, text), internal, text) : 0;
    if (ref) {
        in->n_found++;
        *out_series = tsd_ref_series(ref);
        return 0;
    }
    TS_TRY(tsd_ingest_series(in, metric, tags, n_tags, metric, (struct ts_slice){NULL, 0}, out_series, NULL));
    return ingest_make(in, internal, tags, n_tags, internal, text, out_series, NULL);
}

void tsd_ingest_add_tag(struct tsd_ingest *in, struct sto_tag_text tag)
{
    TS_ARRAY_GROW(in->tags, in->n_tags, in->max_tags, 16);
    in->tags[in->n_tags++] = tag;
}

/* The slot of a series, which gets a place for its batch. */
static unsigned ingest_slot(struct tsd_ingest *in, const struct sto_series *series)
{
    unsigned slot = in->sink ? 0 : sto_writer_slot(in->writer, series);
    if (slot >= in->n_slots) {
        in->open = ts_xrealloc(in->open, (slot + 1) * sizeof(struct sto_batch *));
        for (unsigned i = in->n_slots; i <= slot; i++)
            in->open[i] = NULL;
        in->n_slots = (uint16_t)(slot + 1);
    }
    in->slot_of[series->shard & in->shard_mask] = (uint16_t)(slot + 1);
    return slot;
}

struct sto_batch *tsd_ingest_open(struct tsd_ingest *in, const struct sto_series *series)
{
    unsigned slot = ingest_slot(in, series);
    return in->open[slot] = in->sink ? in->sink->next(in->sink->arg) : sto_writer_batch(in->writer, series);
}

struct sto_batch *tsd_ingest_open_room(struct tsd_ingest *in, const struct sto_series *series, uint32_t n)
{
    unsigned slot = ingest_slot(in, series);
    return in->open[slot] =
               in->sink ? in->sink->next(in->sink->arg) : sto_writer_batch_part(in->writer, series, NULL, n);
}

struct sto_batch *tsd_ingest_open_part(struct tsd_ingest *in, const struct sto_series *series,
                                       const struct sto_stream *stream, uint32_t n)
{
    unsigned slot = ingest_slot(in, series);
    return in->open[slot] = sto_writer_batch_part(in->writer, series, stream, n);
}

/* The bits of a shard, the lowest one first: all numbers of shards, which are powers of two, have their series beside each other in this order. */
static uint32_t shard_order(const struct sto_series *series)
{
    uint32_t v = series->shard;
    v = (v & 0x5555) << 1 | (v >> 1 & 0x5555);
    v = (v & 0x3333) << 2 | (v >> 2 & 0x3333);
    v = (v & 0x0f0f) << 4 | (v >> 4 & 0x0f0f);
    return (v & 0xff) << 8 | v >> 8;
}

static int by_shard(const void *a, const void *b)
{
    uint32_t x = shard_order(((const struct sto_point *)a)->series);
    uint32_t y = shard_order(((const struct sto_point *)b)->series);
    return (x > y) - (x < y);
}

static bool same_shard(const struct tsd_ingest *in, const struct sto_series *x, const struct sto_series *y)
{
    return ((x->shard ^ y->shard) & in->shard_mask) == 0;
}

int tsd_ingest_sequence(struct tsd_ingest *in, const struct sto_stream *stream, uint64_t seq,
                        struct sto_point *points, size_t n)
{
    qsort(points, n, sizeof(*points), by_shard);
    for (size_t at = 0, k; at < n; at += k) {
        for (k = 1; at + k < n && same_shard(in, points[at + k].series, points[at].series); k++)
            ;
        struct sto_batch *b = tsd_ingest_open_part(in, points[at].series, stream, (uint32_t)k);
        if (!b)
            return tsd_ingest_refusal(in);
        if (!sto_batch_part(b, stream, seq, (uint32_t)k))
            TS_BUG("a batch has no room for a part");
        memcpy(b->points + b->n, points + at, k * sizeof(*points));
        b->n += (uint32_t)k;
    }
    in->n_points += n;
    return 0;
}

int tsd_ingest_delete(struct tsd_ingest *in, const struct sto_series *series, int64_t from_ms, int64_t to_ms)
{
    const struct sto_series *now;
    if (sto_series_find_ids(in->cat, series->metric, series->tags, series->n_tags, &now) < 0 || now != series)
        return 0;
    if (in->versions) {
        int rc = tsd_versions_delete(in, series, from_ms, to_ms);
        if (rc)
            return rc < 0 ? rc : 0;
    }
    return tsd_ingest_append(in, series, from_ms, to_ms, sto_meta_flags(STO_OP_DEL, TS_NUM_INT, 0, false));
}

int tsd_ingest_refusal(struct tsd_ingest *in)
{
    struct ts_error err = {0};
    int rc = sto_writer_error(in->writer, &err);
    ts_buf_clear(&in->msg);
    if (rc == 0 || rc == TS_EBUSY)
        return TS_EBUSY;
    ts_buf_str(&in->msg, err.text[0] ? err.text : ts_err_text(rc));
    return rc;
}

const char *tsd_refusal_text(enum tsd_refusal kind, bool compat)
{
    static const char *const texts[TSD_REF_KINDS] = {[TSD_REF_ILLEGAL] = "illegal argument: ",
                                                     [TSD_REF_VALUE] = "invalid value: ",
                                                     [TSD_REF_UNKNOWN] = "unknown metric: ",
                                                     [TSD_REF_STORAGE] = "storage error: ",
                                                     [TSD_REF_DISK] = "storage error: ",
                                                     [TSD_REF_SERIES] = "too many series: ",
                                                     [TSD_REF_NEW_SERIES] = "too many new series: ",
                                                     [TSD_REF_READ_ONLY] = "read-only: ",
                                                     [TSD_REF_HBASE] = "illegal argument: ",
                                                     [TSD_REF_EXPIRED] = "illegal argument: "};
    return compat && tsd_refusal_is_stores(kind) ? "HBase error: " : texts[kind];
}

enum tsd_refusal tsd_refusal_of(int code)
{
    switch (code) {
    case TS_EPARSE:
        return TSD_REF_VALUE;
    case TS_EINVAL:
        return TSD_REF_ILLEGAL;
    case TS_ENOTFOUND:
        return TSD_REF_UNKNOWN;
    case TS_ELIMIT:
        return TSD_REF_SERIES;
    case TS_ETIMEOUT:
        return TSD_REF_NEW_SERIES;
    case TS_EBACKEND:
        return TSD_REF_HBASE;
    case TS_ENOSPC:
        return TSD_REF_DISK;
    default:
        return TSD_REF_STORAGE;
    }
}
