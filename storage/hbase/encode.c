/*
 * encode.c - points as cells of the data table.
 */
#include "storage/hbase/encode.h"

#include <float.h>
#include <string.h>

#include "base/double.h"
#include "base/err.h"
#include "storage/hbase/bigendian.h"
#include "storage/hbase/qualifier.h"

#define MAX_POINT_BYTES 12 /* of qualifier and value */

/* A value, its length and its flags. */
struct encoded {
    uint64_t raw; /* in its lowest bytes */
    unsigned n, flags;
};

static struct encoded encode_int(int64_t v)
{
    unsigned n = v == (int8_t)v ? 1 : v == (int16_t)v ? 2 : v == (int32_t)v ? 4 : 8;
    return (struct encoded){(uint64_t)v, n, n - 1};
}

static struct encoded encode_double(double d)
{
    if (d >= -(double)FLT_MAX && d <= (double)FLT_MAX && (double)(float)d == d) {
        float f = (float)d;
        uint32_t bits;
        memcpy(&bits, &f, 4);
        return (struct encoded){bits, 4, STO_HBASE_FLOAT | 3};
    }
    return (struct encoded){ts_double_bits(d), 8, STO_HBASE_FLOAT | 7};
}

static struct encoded encode_value(uint32_t meta, int64_t m)
{
    struct ts_num v = sto_cell_num(meta, m);
    return v.kind == TS_NUM_INT ? encode_int(m) : encode_double(ts_num_double(v));
}

/* Write a value in a place of 8 bytes; returns the byte after it. */
static uint8_t *put_value(uint8_t *p, struct encoded e)
{
    uint64_t first = __builtin_bswap64(e.raw << (64 - 8 * e.n));
    memcpy(p, &first, 8);
    return p + e.n;
}

/* Write the qualifier of a point; returns the byte after it. */
static uint8_t *put_qualifier(uint8_t *p, uint32_t meta, unsigned flags)
{
    uint32_t off = sto_meta_off(meta);
    if (meta & STO_META_MS || off % 1000) {
        uint32_t word = (uint32_t)STO_HBASE_MS_BYTE << 24 | off << 6 | flags;
        return sto_hbase_put(p, word, 4);
    }
    return sto_hbase_put(p, off / 1000 << 4 | flags, 2);
}

void sto_hbase_encode_point(uint32_t meta, int64_t m, struct sto_hbase_point *out)
{
    struct encoded e = encode_value(meta, m);
    out->n_qualifier = (uint8_t)(put_qualifier(out->qualifier, meta, e.flags) - out->qualifier);
    put_value(out->value, e);
    out->n_value = (uint8_t)e.n;
}

/* Write qualifiers and values of all points; returns false if they have different resolutions. */
static bool put_points(const struct sto_cells *c, uint8_t **qualifier, uint8_t **value)
{
    size_t n_ms = 0;
    for (uint32_t i = 0; i < c->n; i++) {
        struct encoded e = encode_value(c->meta[i], c->m[i]);
        const uint8_t *begin = *qualifier;
        *qualifier = put_qualifier(*qualifier, c->meta[i], e.flags);
        *value = put_value(*value, e);
        n_ms += *qualifier - begin == 4;
    }
    return n_ms == 0 || n_ms == c->n;
}

/* Space for n more bytes; fails as ts_buf_append does. */
static int reserve(struct ts_buf *b, size_t n, uint8_t **out)
{
    *out = (uint8_t *)ts_buf_reserve(b, n);
    return *out ? 0 : TS_ELIMIT;
}

int sto_hbase_encode_compacted(const struct sto_cells *c, struct ts_buf *qualifier, struct ts_buf *value)
{
    if (c->n > STO_HBASE_MAX_COMPACTED_BYTES / 3) /* the smallest point has 3 bytes */
        return TS_ELIMIT;
    uint8_t *q_begin, *v_begin;
    TS_TRY(reserve(qualifier, (size_t)c->n * 4, &q_begin));
    TS_TRY(reserve(value, (size_t)c->n * 8 + 1, &v_begin));
    uint8_t *q = q_begin, *v = v_begin;
    bool one_resolution = put_points(c, &q, &v);
    if (c->n > 1)
        *v++ = one_resolution ? 0 : 1;
    size_t n_qualifier = (size_t)(q - q_begin), n_value = (size_t)(v - v_begin);
    if (n_qualifier + n_value > STO_HBASE_MAX_COMPACTED_BYTES)
        return TS_ELIMIT;
    qualifier->n += n_qualifier;
    value->n += n_value;
    return 0;
}

int sto_hbase_encode_appends(const struct sto_cells *c, struct ts_buf *value)
{
    uint8_t *begin;
    TS_TRY(reserve(value, (size_t)c->n * MAX_POINT_BYTES, &begin));
    uint8_t *at = begin;
    for (uint32_t i = 0; i < c->n; i++) {
        struct encoded e = encode_value(c->meta[i], c->m[i]);
        at = put_qualifier(at, c->meta[i], e.flags);
        at = put_value(at, e);
    }
    value->n += (size_t)(at - begin);
    return 0;
}
