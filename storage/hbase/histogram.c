/*
 * histogram.c - cells of histograms.
 */
#include "storage/hbase/histogram.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/array.h"
#include "storage/hbase/bigendian.h"

size_t sto_hbase_histogram_qualifier(uint32_t off_ms, bool ms, uint8_t *out)
{
    out[0] = 6;
    if (ms || off_ms % 1000)
        return (size_t)(sto_hbase_put(out + 1, off_ms, 4) - out);
    return (size_t)(sto_hbase_put(out + 1, off_ms / 1000, 2) - out);
}

bool sto_hbase_histogram_is(struct ts_slice q, uint32_t *out_off_ms, bool *out_ms)
{
    if ((q.n != 3 && q.n != 5) || q.p[0] != 6)
        return false;
    uint64_t off = sto_hbase_get(q.p + 1, (unsigned)q.n - 1) * (q.n == 3 ? 1000 : 1);
    *out_off_ms = (uint32_t)off;
    *out_ms = q.n == 5;
    return true;
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
    *out = (struct sto_hbase_histogram){0};
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

/* --- in memory --- */

void sto_hbase_tally_release(struct sto_hbase_tally *t)
{
    ts_budget_free(t->memory, t->buckets, t->cap * sizeof *t->buckets);
    *t = (struct sto_hbase_tally){.memory = t->memory};
}

void sto_hbase_tally_clear(struct sto_hbase_tally *t, uint8_t codec)
{
    t->head = (struct sto_hbase_histogram){.codec = codec};
}

/* The place of a bucket; *found: it is there. */
static size_t place_of(const struct sto_hbase_tally *t, float low, float high, bool *found)
{
    size_t lo = 0, hi = t->head.n_buckets;
    *found = false;
    if (hi &&
        (t->buckets[hi - 1].low < low || (t->buckets[hi - 1].low == low && t->buckets[hi - 1].high < high)))
        return hi; /* the rule while a cell is read */
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        const struct sto_hbase_bucket *b = &t->buckets[mid];
        if (b->low == low && b->high == high) {
            *found = true;
            return mid;
        }
        if (b->low < low || (b->low == low && b->high < high))
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static int set_range(struct sto_hbase_tally *t, float low, float high, uint64_t count, struct ts_error *err)
{
    bool found;
    size_t at = place_of(t, low, high, &found), n = t->head.n_buckets;
    if (found) {
        bool same = t->buckets[at].count == count;
        t->buckets[at].count = count;
        return !same;
    }
    if (n == UINT16_MAX)
        return ts_error_set(err, TS_ELIMIT, "a histogram in HBase has at most %d buckets", UINT16_MAX);
    TS_TRY(ts_budget_grow(t->memory, &t->buckets, &t->cap, n + 1, sizeof *t->buckets, err));
    memmove(t->buckets + at + 1, t->buckets + at, (n - at) * sizeof *t->buckets);
    t->buckets[at] = (struct sto_hbase_bucket){low, high, count};
    t->head.n_buckets++;
    return 1;
}

/* A cell that is being read into a tally. */
struct reading {
    struct sto_hbase_tally *t;
    int rc;
    struct ts_error *err;
    bool unordered; /* buckets do not ascend, which is the rule */
};

static int cmp_range(const struct sto_hbase_bucket *a, const struct sto_hbase_bucket *b)
{
    if (a->low != b->low)
        return a->low < b->low ? -1 : 1;
    return a->high < b->high ? -1 : a->high > b->high;
}

static int append_range(struct reading *r, const struct sto_hbase_bucket *b)
{
    struct sto_hbase_tally *t = r->t;
    size_t n = t->head.n_buckets;
    if (n == UINT16_MAX)
        return ts_error_set(r->err, TS_ELIMIT, "a histogram in HBase has at most %d buckets", UINT16_MAX);
    TS_TRY(ts_budget_grow(t->memory, &t->buckets, &t->cap, n + 1, sizeof *t->buckets, r->err));
    r->unordered = r->unordered || (n && cmp_range(&t->buckets[n - 1], b) >= 0);
    t->buckets[n] = *b;
    t->head.n_buckets++;
    return 0;
}

static void take_bucket(void *arg, const struct sto_hbase_bucket *b)
{
    struct reading *r = arg;
    if (r->rc < 0)
        return;
    if (!isfinite(b->low) || !isfinite(b->high))
        r->rc = ts_error_set(r->err, TS_ECORRUPT, "a bound of a histogram is not finite");
    else
        r->rc = append_range(r, b);
}

static int cmp_place(const void *pa, const void *pb, void *buckets)
{
    const struct sto_hbase_bucket *all = buckets;
    const uint32_t *a = pa, *b = pb;
    int c = cmp_range(&all[*a], &all[*b]);
    return c ? c : ts_cmp_u32(a, b);
}

/* Sort the buckets, and leave of equal ones the last. */
static int put_in_order(struct sto_hbase_tally *t, struct ts_error *err)
{
    size_t n = t->head.n_buckets, left = 0;
    uint32_t *places = ts_budget_calloc(t->memory, n, sizeof *places, err);
    struct sto_hbase_bucket *copy = places ? ts_budget_calloc(t->memory, n, sizeof *copy, err) : NULL;
    if (copy) {
        memcpy(copy, t->buckets, n * sizeof *copy);
        for (uint32_t i = 0; i < n; i++)
            places[i] = i;
        qsort_r(places, n, sizeof *places, cmp_place, copy);
        for (size_t i = 0; i < n; i++)
            if (i + 1 == n || cmp_range(&copy[places[i]], &copy[places[i + 1]]) != 0)
                t->buckets[left++] = copy[places[i]];
        t->head.n_buckets = (uint16_t)left;
    }
    ts_budget_free(t->memory, copy, copy ? n * sizeof *copy : 0);
    ts_budget_free(t->memory, places, places ? n * sizeof *places : 0);
    return copy ? 0 : TS_ELIMIT;
}

int sto_hbase_tally_read(struct sto_hbase_tally *t, struct ts_slice value, struct ts_error *err)
{
    struct sto_hbase_histogram head;
    struct reading r = {.t = t, .err = err};
    sto_hbase_tally_clear(t, 0);
    int rc = sto_hbase_histogram_parse(value, &head, take_bucket, &r, err);
    rc = r.rc < 0 ? r.rc : rc;
    if (rc >= 0 && r.unordered)
        rc = put_in_order(t, err);
    t->head.codec = head.codec;
    t->head.under = head.under;
    t->head.over = head.over;
    return rc < 0 ? rc : 0;
}

int sto_hbase_tally_set(struct sto_hbase_tally *t, const struct sto_bucket *b, uint64_t count,
                        struct ts_error *err)
{
    if (b->kind == STO_BUCKET_RANGE)
        return set_range(t, b->lower, b->upper, count, err);
    uint64_t *to = b->kind == STO_BUCKET_UNDER ? &t->head.under : &t->head.over;
    bool same = *to == count;
    *to = count;
    return !same;
}

bool sto_hbase_tally_get(const struct sto_hbase_tally *t, const struct sto_bucket *b, uint64_t *out)
{
    bool found = true;
    if (b->kind == STO_BUCKET_RANGE) {
        size_t at = place_of(t, b->lower, b->upper, &found);
        *out = found ? t->buckets[at].count : 0;
    } else {
        *out = b->kind == STO_BUCKET_UNDER ? t->head.under : t->head.over;
    }
    return found;
}
