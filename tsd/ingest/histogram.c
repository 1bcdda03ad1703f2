/*
 * histogram.c - histograms taken apart and stored, a point a bucket.
 *
 * Threads    see histogram.h
 * Not here   words of lines (line/histogram.c), JSON (http/ep_put.c), queries (query/execution/histogram.c)
 */
#include "tsd/ingest/histogram.h"

#include "base/array.h"
#include "base/bytes.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/json.h"
#include "query/execution/internal_metric.h"
#include "tsd/ingest/args.h"

#include <math.h>
#include <string.h>

#define HIST_FILE_BYTES ((size_t)1 << 20) /* a configuration is a line of text */
#define HIST_SIMPLE     "SimpleHistogramDecoder"

const char tsd_histograms_off[] =
    "Histogram storage has not been enabled. Check the 'tsd.core.histograms.config' configuration.";

/* --- configuration --- */

static int hist_codecs(struct ts_slice text, struct tsd_histograms *out, struct ts_error *err)
{
    json_t *root, *id;
    const char *name;
    TS_TRY(ts_json_load(text, &root, err));
    json_object_foreach(root, name, id)
    {
        size_t n = strlen(name), m = strlen(HIST_SIMPLE);
        int64_t v = json_is_integer(id) ? json_integer_value(id) : -1;
        if (json_is_string(id))
            (void)ts_num_parse_int(ts_slice_str(json_string_value(id)), &v, NULL);
        if (n < m || strcmp(name + n - m, HIST_SIMPLE) != 0)
            continue; /* a codec of somebody else: its histograms are refused one by one */
        out->on = v >= 0 && v <= 255;
        out->codec = (int)v;
    }
    json_decref(root);
    return out->on ? 0 : ts_error_set(err, TS_EINVAL, "no id from 0 to 255 for the class " HIST_SIMPLE);
}

int tsd_histograms_load(const struct ts_conf *conf, struct tsd_histograms *out, struct ts_error *err)
{
    struct ts_slice text = ts_slice_str(ts_conf_str(conf, "histograms_config"));
    char *file = NULL;
    *out = (struct tsd_histograms){.max_buckets = (unsigned)ts_conf_int(conf, "histogram_max_buckets")};
    if (!text.n)
        return 0;
    if (text.n > 5 && !memcmp(text.p + text.n - 5, ".json", 5)) {
        TS_TRY(ts_fs_read_any(text.p, HIST_FILE_BYTES, &file, &text.n, err));
        text.p = file;
    }
    int rc = hist_codecs(text, out, err);
    ts_free(file);
    return rc < 0 ? ts_error_wrap(err, "histograms_config") : 0;
}

/* --- the two forms --- */

void tsd_histogram_release(struct tsd_histogram *h)
{
    ts_free(h->buckets);
    *h = (struct tsd_histogram){.max = h->max};
}

/* False: it would be one too many. */
static bool hist_put(struct tsd_histogram *h, const struct sto_bucket *b, int64_t count)
{
    size_t i = 0, end = h->n;
    while (i < end) {
        size_t mid = i + (end - i) / 2;
        int c = sto_bucket_cmp(&h->buckets[mid].b, b);
        if (c == 0) {
            h->buckets[mid].count = count;
            return true;
        }
        if (c < 0)
            i = mid + 1;
        else
            end = mid;
    }
    if (h->max && h->n >= h->max) {
        h->too_many = true;
        return false;
    }
    TS_ARRAY_GROW(h->buckets, h->n, h->cap, 16);
    memmove(h->buckets + i + 1, h->buckets + i, (h->n - i) * sizeof(*h->buckets));
    h->buckets[i] = (struct tsd_bucket_count){*b, count};
    h->n++;
    return true;
}

void tsd_histogram_clear(struct tsd_histogram *h)
{
    h->n = 0;
    h->too_many = false;
    (void)hist_put(h, &(struct sto_bucket){.kind = STO_BUCKET_UNDER}, 0);
    (void)hist_put(h, &(struct sto_bucket){.kind = STO_BUCKET_OVER}, 0);
}

static int hist_too_many(struct ts_buf *msg, size_t max)
{
    ts_buf_clear(msg);
    ts_buf_printf(msg, "More than %zu different buckets of a metric (histogram_max_buckets)", max);
    return TS_EINVAL;
}

static int hist_bad(struct ts_buf *msg, const char *what, struct ts_slice item)
{
    ts_buf_clear(msg);
    ts_buf_str(msg, what);
    ts_buf_slice(msg, ts_utf8_cut(item, 100));
    return TS_EINVAL;
}

int tsd_histogram_set(struct tsd_histogram *h, struct ts_slice key, struct ts_slice count, struct ts_buf *msg)
{
    struct sto_bucket b;
    int64_t n;
    if (!sto_bucket_parse(key, &b) || (b.kind == STO_BUCKET_RANGE && !(b.lower < b.upper)))
        return hist_bad(msg, "Improperly formatted bounds: ", key);
    if (ts_num_parse_int(count, &n, NULL) < 0 || n < 0)
        return hist_bad(msg, "Improperly formatted bucket: ", count);
    return hist_put(h, &b, n) ? 0 : hist_too_many(msg, h->max);
}

int tsd_histogram_text(struct tsd_histogram *h, struct ts_slice s, struct ts_buf *msg)
{
    tsd_histogram_clear(h);
    while (s.n) {
        const char *colon = memchr(s.p, ':', s.n);
        struct ts_slice item = {s.p, colon ? (size_t)(colon - s.p) : s.n};
        s = colon ? (struct ts_slice){colon + 1, s.n - item.n - 1} : (struct ts_slice){s.p, 0};
        const char *eq = item.n ? memchr(item.p, '=', item.n) : NULL;
        if (!eq)
            return hist_bad(msg, "Improperly formatted bucket: ", item);
        struct ts_slice key = {item.p, (size_t)(eq - item.p)};
        if (tsd_histogram_set(h, key, (struct ts_slice){eq + 1, item.n - key.n - 1}, msg) < 0) {
            if (msg->n > 27 && !memcmp(msg->p, "Improperly formatted bucket", 27))
                return hist_bad(msg, "Improperly formatted bucket: ", item);
            return TS_EINVAL;
        }
    }
    return 0;
}

/* Base64 with or without padding, the usual or the URL alphabet; false if it is invalid. */
static bool hist_base64(struct ts_slice s, struct ts_buf *out)
{
    uint32_t bits = 0;
    unsigned n_bits = 0;
    while (s.n && s.p[s.n - 1] == '=')
        s.n--;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        int v = c >= 'A' && c <= 'Z'   ? c - 'A'
                : c >= 'a' && c <= 'z' ? c - 'a' + 26
                : c >= '0' && c <= '9' ? c - '0' + 52
                : c == '+' || c == '-' ? 62
                : c == '/' || c == '_' ? 63
                                       : -1;
        if (v < 0)
            return false;
        bits = bits << 6 | (uint32_t)v;
        n_bits += 6;
        if (n_bits >= 8) {
            n_bits -= 8;
            ts_buf_char(out, (char)(bits >> n_bits & 0xff));
        }
    }
    return s.n > 0 && s.n % 4 != 1;
}

static uint32_t hist_be32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static const uint8_t *hist_count(const uint8_t *p, const uint8_t *end, int64_t *out)
{
    uint64_t v;
    p = p ? ts_get_varint(p, end, &v) : NULL;
    if (!p || v > INT64_MAX)
        return NULL;
    *out = (int64_t)v;
    return p;
}

/* The bytes of the simple codec, all of them. */
static bool hist_decode(struct tsd_histogram *h, const uint8_t *p, const uint8_t *end)
{
    int64_t count = 0, under = 0, over = 0;
    tsd_histogram_clear(h);
    if (end - p < 2)
        return false;
    unsigned n = (unsigned)p[0] << 8 | p[1];
    p += 2;
    for (unsigned i = 0; i < n; i++) {
        struct sto_bucket b = {.kind = STO_BUCKET_RANGE};
        if (!p || end - p < 8)
            return false;
        uint32_t bounds[2] = {hist_be32(p), hist_be32(p + 4)};
        memcpy(&b.lower, &bounds[0], 4);
        memcpy(&b.upper, &bounds[1], 4);
        p = hist_count(p + 8, end, &count);
        if (!p || !isfinite(b.lower) || !isfinite(b.upper) || !(b.lower < b.upper))
            return false;
        if (!hist_put(h, &b, count))
            return false;
    }
    p = hist_count(hist_count(p, end, &under), end, &over);
    if (p != end)
        return false;
    (void)hist_put(h, &(struct sto_bucket){.kind = STO_BUCKET_UNDER}, under);
    (void)hist_put(h, &(struct sto_bucket){.kind = STO_BUCKET_OVER}, over);
    return true;
}

int tsd_histogram_binary(struct tsd_histogram *h, const struct tsd_histograms *conf, int64_t id,
                         struct ts_slice base64, struct ts_buf *msg)
{
    struct ts_buf bytes;
    if (id < 0 || id > 255)
        return hist_bad(msg, "Invalid type. Must be from 0 to 255.", (struct ts_slice){NULL, 0});
    if (id != conf->codec)
        return hist_bad(msg, "No codec is configured for this histogram's id", (struct ts_slice){NULL, 0});
    ts_buf_init(&bytes, 0);
    bool ok = hist_base64(base64, &bytes) && bytes.n > 0;
    const uint8_t *p = (const uint8_t *)bytes.p, *end = ok ? p + bytes.n : p;
    ok = ok && (hist_decode(h, p, end) || (*p == id && hist_decode(h, p + 1, end)));
    ts_buf_release(&bytes);
    if (!ok && h->too_many)
        return hist_too_many(msg, h->max);
    return ok ? 0 : hist_bad(msg, "Not a simple histogram in base64: ", base64);
}

/* --- storing --- */

static int hist_point(struct tsd_ingest *in, const struct sto_series *series, const struct tsd_time *time,
                      int64_t count)
{
    return tsd_ingest_point(in, series, time->ts_ms, count,
                            sto_meta_flags(STO_OP_PUT, TS_NUM_INT, 0, time->ms));
}

/* Buckets that a metric has, as last looked up. */
struct hist_family {
    uint32_t under;        /* id of the internal metric of its u, which identifies the metric; 0 = free */
    uint32_t seen_max;     /* highest metric id then */
    uint64_t generation;   /* renames then */
    struct ts_arena arena; /* of buckets */
    struct qry_buckets buckets;
    uint32_t *metrics; /* their ids; in the arena */
};
#define HIST_FAMILIES 1024 /* metrics of one worker whose buckets are remembered; a power of two */

struct tsd_hist_families {
    struct hist_family slots[HIST_FAMILIES]; /* by id; a newer metric takes the place of an older one */
};

void tsd_hist_families_free(struct tsd_hist_families *f)
{
    for (size_t i = 0; f && i < HIST_FAMILIES; i++)
        ts_arena_release(&f->slots[i].arena);
    ts_free(f);
}

static const struct hist_family *hist_family(struct tsd_ingest *in, uint32_t under, struct ts_slice metric)
{
    if (!in->families)
        in->families = ts_xcalloc(1, sizeof(*in->families));
    struct hist_family *f = &in->families->slots[ts_hash_u64(under) & (HIST_FAMILIES - 1)];
    uint32_t max = sto_uid_max(in->cat, STO_UID_METRIC);
    uint64_t generation = sto_catalog_generation(in->cat);
    if (f->under == under && f->seen_max == max && f->generation == generation)
        return f;
    ts_arena_release(&f->arena);
    *f = (struct hist_family){.under = under, .seen_max = max, .generation = generation};
    struct qry_view view = qry_view_of(in->cat);
    qry_buckets_find(&view, metric, &f->arena, &f->buckets);
    f->metrics = ts_arena_zalloc(&f->arena, f->buckets.n * sizeof(*f->metrics) + 1);
    for (size_t i = 0; i < f->buckets.n; i++)
        (void)sto_uid_find(in->cat, STO_UID_METRIC, f->buckets.metrics[i], &f->metrics[i]);
    return f;
}

/* Buckets that only the histogram has, and points of 0 for those that only the series has. */
static int hist_rest(struct tsd_ingest *in, const struct tsd_histograms *conf, const struct hist_family *f,
                     const struct tsd_histogram *h, const struct sto_series *any, const struct tsd_time *time)
{
    size_t i = 0, n_new = 0;
    for (size_t k = 0; k < h->n; k++) {
        const struct sto_series *s;
        int c = 1;
        for (; i < f->buckets.n && (c = sto_bucket_cmp(&f->buckets.b[i], &h->buckets[k].b)) < 0; i++)
            if (sto_series_find_ids(in->cat, f->metrics[i], any->tags, any->n_tags, &s) == 0)
                TS_TRY(hist_point(in, s, time, 0));
        i += i < f->buckets.n && c == 0;
        n_new += c != 0;
    }
    for (; i < f->buckets.n; i++) {
        const struct sto_series *s;
        if (sto_series_find_ids(in->cat, f->metrics[i], any->tags, any->n_tags, &s) == 0)
            TS_TRY(hist_point(in, s, time, 0));
    }
    if (n_new == 0 || f->buckets.n + n_new <= conf->max_buckets)
        return 0;
    return hist_too_many(&in->msg, conf->max_buckets);
}

static int hist_series(struct tsd_ingest *in, const struct sto_bucket *b, struct ts_slice metric,
                       const struct sto_tag_text *tags, size_t n_tags, const struct sto_series **out)
{
    struct ts_buf detail;
    ts_buf_init(&detail, 0);
    sto_bucket_print(b, &detail);
    ts_buf_clear(&in->internal);
    sto_internal_name(&(struct sto_internal){STO_INTERNAL_HISTOGRAM, metric, ts_buf_get(&detail)},
                      &in->internal);
    ts_buf_release(&detail);
    return tsd_ingest_internal(in, ts_buf_get(&in->internal), metric, tags, n_tags, out);
}

int tsd_histogram_take(struct tsd_ingest *in, const struct tsd_histograms *conf,
                       const struct tsd_histogram *h, struct ts_slice metric, const struct sto_tag_text *tags,
                       size_t n_tags, const struct tsd_time *time)
{
    const struct sto_series *series;
    if (time->bad)
        return tsd_args_bad_time(in, time->raw, TS_SLICE_LIT("a histogram"), metric, tags, n_tags);
    TS_TRY(hist_series(in, &h->buckets[0].b, metric, tags, n_tags, &series));
    const struct hist_family *f = hist_family(in, series->metric, metric);
    TS_TRY(hist_rest(in, conf, f, h, series, time));
    for (size_t i = 0; i < h->n; i++) {
        TS_TRY(hist_series(in, &h->buckets[i].b, metric, tags, n_tags, &series));
        TS_TRY(hist_point(in, series, time, h->buckets[i].count));
    }
    in->n_points++;
    return 0;
}
