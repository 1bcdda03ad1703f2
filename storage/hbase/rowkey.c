/*
 * rowkey.c - keys of rows of the data table, TSUIDs and ranges of keys.
 */
#include "storage/hbase/rowkey.h"

#include <string.h>

#include "base/num.h"
#include "base/time.h"
#include "storage/hbase/bigendian.h"

/* --- ids --- */

static int check_id(const char *what, uint64_t id, unsigned width, struct ts_error *err)
{
    if (id == 0)
        return ts_error_set(err, TS_EINVAL, "the id of a %s is 0, which is never assigned", what);
    if (id > sto_hbase_width_max(width))
        return ts_error_set(err, TS_EINVAL, "the id %llu of a %s does not fit into %u bytes",
                            (unsigned long long)id, what, width);
    return 0;
}

int sto_hbase_ids_check(const struct sto_hbase_schema *s, const struct sto_hbase_ids *ids,
                        struct ts_error *err)
{
    if (ids->n_tags < 1 || ids->n_tags > STO_HBASE_MAX_TAGS)
        return ts_error_set(err, TS_EINVAL, "a series in HBase has 1 to %d tags, not %u", STO_HBASE_MAX_TAGS,
                            ids->n_tags);
    TS_TRY(check_id("metric", ids->metric, s->metric_width, err));
    for (unsigned i = 0; i < ids->n_tags; i++) {
        TS_TRY(check_id("tag key", ids->tag[i].k, s->tagk_width, err));
        TS_TRY(check_id("tag value", ids->tag[i].v, s->tagv_width, err));
        for (unsigned j = 0; j < i; j++)
            if (ids->tag[j].k == ids->tag[i].k)
                return ts_error_set(err, TS_EINVAL, "the tag key with id %llu occurs twice",
                                    (unsigned long long)ids->tag[i].k);
    }
    return 0;
}

static bool pair_before(const struct sto_hbase_pair *a, const struct sto_hbase_pair *b)
{
    return a->k != b->k ? a->k < b->k : a->v < b->v;
}

size_t sto_hbase_tsuid_make(const struct sto_hbase_schema *s, const struct sto_hbase_ids *ids, uint8_t *out)
{
    /* Big-endian numbers of one width sort like their bytes. */
    struct sto_hbase_pair sorted[STO_HBASE_MAX_TAGS];
    for (unsigned i = 0; i < ids->n_tags; i++) {
        unsigned at = i;
        for (; at && pair_before(&ids->tag[i], &sorted[at - 1]); at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = ids->tag[i];
    }
    uint8_t *p = sto_hbase_put(out, ids->metric, s->metric_width);
    for (unsigned i = 0; i < ids->n_tags; i++) {
        p = sto_hbase_put(p, sorted[i].k, s->tagk_width);
        p = sto_hbase_put(p, sorted[i].v, s->tagv_width);
    }
    return (size_t)(p - out);
}

/* --- salt --- */

uint32_t sto_hbase_salt(const struct sto_hbase_schema *s, struct ts_slice tsuid)
{
    const uint8_t *p = (const uint8_t *)tsuid.p;
    if (s->salt_width == 0 || tsuid.n < s->metric_width || sto_hbase_get(p, s->metric_width) == 0)
        return 0;
    uint32_t h = 1; /* wraps like Java's int */
    for (size_t i = 0; i < tsuid.n; i++)
        h = 31 * h + p[i] - (p[i] >> 7) * 256u; /* bytes are signed there */
    /* The remainder has the sign of h, which is then dropped: that is |h| mod buckets. */
    uint32_t magnitude = h >> 31 ? 0u - h : h;
    return magnitude % s->salt_buckets;
}

/* --- keys --- */

size_t sto_hbase_rowkey_make(const struct sto_hbase_schema *s, struct ts_slice tsuid, uint32_t base_s,
                             uint8_t *out)
{
    uint8_t *p = sto_hbase_put(out, sto_hbase_salt(s, tsuid), s->salt_width);
    memcpy(p, tsuid.p, s->metric_width);
    p = sto_hbase_put(p + s->metric_width, base_s, 4);
    memcpy(p, tsuid.p + s->metric_width, tsuid.n - s->metric_width);
    return s->salt_width + 4 + tsuid.n;
}

size_t sto_hbase_rowkey_global(const struct sto_hbase_schema *s, uint32_t base_s, uint8_t *out)
{
    uint8_t *p = sto_hbase_put(out, 0, s->salt_width);
    p = sto_hbase_put(p, 0, s->metric_width);
    p = sto_hbase_put(p, base_s, 4);
    return (size_t)(p - out);
}

/* Read the pairs of n bytes at p; false if an id is 0. */
static bool parse_pairs(const struct sto_hbase_schema *s, const uint8_t *p, size_t n,
                        struct sto_hbase_ids *out)
{
    const uint8_t *end = p + n;
    bool good = true;
    for (out->n_tags = 0; p < end; out->n_tags++) {
        struct sto_hbase_pair *pair = &out->tag[out->n_tags];
        pair->k = sto_hbase_get(p, s->tagk_width);
        pair->v = sto_hbase_get(p + s->tagk_width, s->tagv_width);
        good = good && pair->k && pair->v;
        p += s->tagk_width + s->tagv_width;
    }
    return good;
}

/* Do n bytes hold 1 to 8 pairs? */
static bool are_pairs(const struct sto_hbase_schema *s, size_t n)
{
    size_t pair = (size_t)s->tagk_width + s->tagv_width;
    return n && n % pair == 0 && n / pair <= STO_HBASE_MAX_TAGS;
}

int sto_hbase_rowkey_parse(const struct sto_hbase_schema *s, struct ts_slice key,
                           struct sto_hbase_rowkey *out, struct ts_error *err)
{
    size_t fixed = (size_t)s->salt_width + s->metric_width + 4;
    if (key.n < fixed)
        return ts_error_set(err, TS_ECORRUPT, "a row key has %zu bytes, but at least %zu are expected", key.n,
                            fixed);
    const uint8_t *p = (const uint8_t *)key.p;
    memset(out, 0, sizeof(*out));
    out->salt = sto_hbase_get(p, s->salt_width);
    p += s->salt_width;
    out->ids.metric = sto_hbase_get(p, s->metric_width);
    out->base_s = (uint32_t)sto_hbase_get(p + s->metric_width, 4);
    if (key.n == fixed && out->ids.metric == 0) {
        out->global = true;
        return 0;
    }
    if (!are_pairs(s, key.n - fixed))
        return ts_error_set(err, TS_ECORRUPT,
                            "a row key has %zu bytes, which are not %zu and 1 to %d pairs of %u bytes", key.n,
                            fixed, STO_HBASE_MAX_TAGS, s->tagk_width + s->tagv_width);
    if (!parse_pairs(s, p + s->metric_width + 4, key.n - fixed, &out->ids) || out->ids.metric == 0)
        return ts_error_set(err, TS_ECORRUPT, "a row key contains the id 0, which is never assigned");
    return 0;
}

int sto_hbase_rowkey_check(const struct sto_hbase_schema *s, const struct sto_hbase_rowkey *key,
                           struct ts_error *err)
{
    uint8_t tsuid[STO_HBASE_MAX_TSUID_BYTES];
    if (key->base_s % STO_HBASE_ROW_S)
        return ts_error_set(err, TS_ECORRUPT, "the base time %u of a row is no multiple of 3600 seconds",
                            key->base_s);
    for (unsigned i = 1; i < key->ids.n_tags; i++)
        if (!pair_before(&key->ids.tag[i - 1], &key->ids.tag[i]))
            return ts_error_set(err, TS_ECORRUPT,
                                "the tags of a row key are not in ascending order of their ids");
    size_t n = key->global ? 0 : sto_hbase_tsuid_make(s, &key->ids, tsuid);
    uint32_t salt = sto_hbase_salt(s, (struct ts_slice){(const char *)tsuid, n});
    if (salt != key->salt)
        return ts_error_set(err, TS_ECORRUPT, "a row key has the salt %llu, but its series has %u",
                            (unsigned long long)key->salt, salt);
    return 0;
}

/* --- TSUIDs --- */

int sto_hbase_tsuid_parse(const struct sto_hbase_schema *s, struct ts_slice tsuid, struct sto_hbase_ids *out,
                          struct ts_error *err)
{
    if (tsuid.n < s->metric_width || !are_pairs(s, tsuid.n - s->metric_width))
        return ts_error_set(err, TS_EPARSE,
                            "a TSUID has %zu bytes, which are not %u and 1 to %d pairs of %u bytes", tsuid.n,
                            s->metric_width, STO_HBASE_MAX_TAGS, s->tagk_width + s->tagv_width);
    const uint8_t *p = (const uint8_t *)tsuid.p;
    out->metric = sto_hbase_get(p, s->metric_width);
    if (!parse_pairs(s, p + s->metric_width, tsuid.n - s->metric_width, out) || out->metric == 0)
        return ts_error_set(err, TS_EPARSE, "a TSUID contains the id 0, which is never assigned");
    return 0;
}

void sto_hbase_hex_print(struct ts_slice bytes, char *out)
{
    static const char digits[] = "0123456789ABCDEF";
    for (size_t i = 0; i < bytes.n; i++) {
        uint8_t b = (uint8_t)bytes.p[i];
        *out++ = digits[b >> 4];
        *out++ = digits[b & 15];
    }
}

int sto_hbase_hex_parse(struct ts_slice text, uint8_t *out, size_t cap)
{
    if (text.n % 2 || text.n / 2 > cap || cap > INT32_MAX)
        return -1;
    for (size_t i = 0; i < text.n; i += 2) {
        uint32_t byte;
        if (!ts_num_parse_hex((struct ts_slice){text.p + i, 2}, &byte))
            return -1;
        *out++ = (uint8_t)byte;
    }
    return (int)(text.n / 2);
}

/* --- scans --- */

void sto_hbase_scan_bases(const struct sto_hbase_schema *s, uint64_t metric, uint32_t first_s,
                          uint32_t last_s, uint32_t bucket, struct sto_hbase_scan *out)
{
    uint8_t *p = sto_hbase_put(out->start, bucket, s->salt_width);
    p = sto_hbase_put(p, metric, s->metric_width);
    size_t n = (size_t)(p - out->start);
    memcpy(out->stop, out->start, n);
    sto_hbase_put(out->start + n, first_s, 4);
    out->n_start = out->n_stop = n + 4;
    /* No row begins in the last second of 32 bits. */
    sto_hbase_put(out->stop + n, last_s < UINT32_MAX ? last_s + 1 : last_s, 4);
}

bool sto_hbase_scan_make(const struct sto_hbase_schema *s, uint64_t metric, int64_t from_ms, int64_t to_ms,
                         uint32_t bucket, struct sto_hbase_scan *out)
{
    int64_t last_ms = (int64_t)UINT32_MAX * 1000 + 999;
    if (from_ms > to_ms || to_ms < 0 || from_ms > last_ms)
        return false;
    from_ms = from_ms < 0 ? 0 : from_ms;
    to_ms = to_ms > last_ms ? last_ms : to_ms;
    uint32_t first_s = (uint32_t)(from_ms / TS_HOUR_MS) * STO_HBASE_ROW_S;
    uint32_t last_s = (uint32_t)(to_ms / TS_HOUR_MS) * STO_HBASE_ROW_S;
    /* Stop at the next hour, as OpenTSDB does, or behind the last one. */
    last_s = last_s > UINT32_MAX - STO_HBASE_ROW_S ? UINT32_MAX - 1 : last_s + STO_HBASE_ROW_S - 1;
    sto_hbase_scan_bases(s, metric, first_s, last_s, bucket, out);
    return true;
}
