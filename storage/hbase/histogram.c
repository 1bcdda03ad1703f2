/*
 * histogram.c - cells of histograms.
 */
#include "storage/hbase/histogram.h"

#include <math.h>

#include "base/bytes.h"
#include "storage/hbase/bigendian.h"

size_t sto_hbase_histogram_qualifier(uint32_t off_ms, bool ms, uint8_t *out)
{
    out[0] = 6;
    if (ms || off_ms % 1000)
        return (size_t)(sto_hbase_put(out + 1, off_ms, 4) - out);
    return (size_t)(sto_hbase_put(out + 1, off_ms / 1000, 2) - out);
}

/* --- writing --- */

static uint8_t *put_float(uint8_t *p, float f)
{
    uint32_t bits;
    memcpy(&bits, &f, 4);
    return sto_hbase_put(p, bits, 4);
}

static int check(const struct sto_hbase_histogram *h, const struct sto_hbase_bucket *buckets,
                 struct ts_error *err)
{
    bool large = h->under > STO_HBASE_MAX_COUNT || h->over > STO_HBASE_MAX_COUNT;
    for (unsigned i = 0; i < h->n_buckets; i++) {
        if (isnan(buckets[i].low) || isnan(buckets[i].high))
            return ts_error_set(err, TS_EINVAL,
                                "a histogram with a bound that is not a number cannot be stored in HBase");
        large = large || buckets[i].count > STO_HBASE_MAX_COUNT;
    }
    return large ? ts_error_set(err, TS_EINVAL,
                                "a count of a histogram exceeds %llu, which HBase's format cannot hold",
                                (unsigned long long)STO_HBASE_MAX_COUNT)
                 : 0;
}

int sto_hbase_histogram_write(const struct sto_hbase_histogram *h, const struct sto_hbase_bucket *buckets,
                              struct ts_buf *out, struct ts_error *err)
{
    TS_TRY(check(h, buckets, err));
    size_t most = 3 + (size_t)h->n_buckets * (8 + TS_VARINT_MAX_BYTES) + 2 * TS_VARINT_MAX_BYTES;
    uint8_t *begin = (uint8_t *)ts_buf_reserve(out, most), *p = begin;
    if (!begin)
        return ts_error_set(err, TS_ELIMIT, "a histogram of %u buckets is too large for its buffer",
                            h->n_buckets);
    *p++ = h->codec;
    p = sto_hbase_put(p, h->n_buckets, 2);
    for (unsigned i = 0; i < h->n_buckets; i++) {
        p = put_float(p, buckets[i].low);
        p = put_float(p, buckets[i].high);
        p = ts_put_varint(p, buckets[i].count);
    }
    p = ts_put_varint(p, h->under);
    p = ts_put_varint(p, h->over);
    out->n += (size_t)(p - begin);
    return 0;
}

/* --- parsing --- */

static float get_float(const uint8_t *p)
{
    uint32_t bits = (uint32_t)sto_hbase_get(p, 4);
    float f;
    memcpy(&f, &bits, 4);
    return f;
}

/* Read a bucket at p; returns the byte after it, NULL if it is cut off or a bound is not a number. */
static const uint8_t *get_bucket(const uint8_t *p, const uint8_t *end, struct sto_hbase_bucket *out)
{
    if (end - p < 8)
        return NULL;
    out->low = get_float(p);
    out->high = get_float(p + 4);
    return isnan(out->low) || isnan(out->high) ? NULL : ts_get_varint(p + 8, end, &out->count);
}

int sto_hbase_histogram_parse(struct ts_slice value, struct sto_hbase_histogram *out,
                              void (*each)(void *arg, const struct sto_hbase_bucket *bucket), void *arg,
                              struct ts_error *err)
{
    const uint8_t *p = (const uint8_t *)value.p, *end = p + value.n;
    if (value.n < 3)
        return ts_error_set(err, TS_ECORRUPT, "a histogram has %zu bytes, but at least 5 are expected",
                            value.n);
    out->codec = p[0];
    out->n_buckets = (uint16_t)sto_hbase_get(p + 1, 2);
    p += 3;
    for (unsigned i = 0; i < out->n_buckets; i++) {
        struct sto_hbase_bucket bucket;
        p = get_bucket(p, end, &bucket);
        if (!p)
            return ts_error_set(err, TS_ECORRUPT, "bucket %u of %u of a histogram cannot be read", i + 1,
                                out->n_buckets);
        if (each)
            each(arg, &bucket);
    }
    p = ts_get_varint(p, end, &out->under);
    p = p ? ts_get_varint(p, end, &out->over) : NULL;
    if (p != end)
        return ts_error_set(err, TS_ECORRUPT, "the end of a histogram with %u buckets cannot be read",
                            out->n_buckets);
    return 0;
}
