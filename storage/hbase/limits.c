/*
 * limits.c - checks what OpenTSDB's tables in HBase cannot hold; names in ISO-8859-1.
 */
#include "storage/hbase/limits.h"

#include <math.h>

#include "base/text.h"
#include "base/time.h"
#include "storage/hbase/rowkey.h"

#define SHOWN_BYTES 80 /* of a name in a text */

int sto_hbase_check_time(int64_t ts_ms, struct ts_error *err)
{
    if (ts_ms >= 0 && ts_ms / 1000 <= UINT32_MAX)
        return 0;
    return ts_error_set(err, TS_EINVAL,
                        "the time %lld ms cannot be stored in HBase, whose rows begin between 1970 and 2106",
                        (long long)ts_ms);
}

int sto_hbase_check_value(struct ts_num value, struct ts_error *err)
{
    if (value.kind == TS_NUM_INT || isfinite(ts_num_double(value)))
        return 0;
    return ts_error_set(err, TS_EINVAL, "a value that is not a finite number cannot be stored in HBase");
}

/* --- names --- */

/* The character at *p below U+0100, and *p after it; -1 if it is another one or no UTF-8. */
static int next_character(const uint8_t **p, const uint8_t *end)
{
    uint8_t first = *(*p)++;
    if (first < 0x80)
        return first;
    if ((first != 0xc2 && first != 0xc3) || *p == end || (**p & 0xc0) != 0x80)
        return -1;
    return (first & 3) << 6 | (*(*p)++ & 0x3f);
}

int sto_hbase_check_name(enum sto_remote_kind kind, struct ts_slice name, struct ts_error *err)
{
    static const char *const what[] = {"metric", "tag key", "tag value"};
    const uint8_t *p = (const uint8_t *)name.p, *end = p + name.n;
    size_t n = 0;
    for (; p < end; n++)
        if (next_character(&p, end) < 0)
            return ts_error_set(
                err, TS_EINVAL,
                "the %s \"%.*s\" has characters outside of ISO-8859-1, which HBase's tables cannot hold",
                what[kind], TS_SHOWN(name, SHOWN_BYTES));
    if (n == 0 || n > STO_HBASE_MAX_NAME_BYTES)
        return ts_error_set(err, TS_EINVAL, "a %s has 1 to %d characters in HBase, not %zu", what[kind],
                            STO_HBASE_MAX_NAME_BYTES, n);
    if (n == 1 && name.p[0] == 0)
        return ts_error_set(err, TS_EINVAL,
                            "a %s cannot be the byte 0, which is the row of the counters in HBase",
                            what[kind]);
    return 0;
}

int sto_hbase_check_series(const struct sto_remote_series *series, struct ts_error *err)
{
    if (series->n_tags < 1 || series->n_tags > STO_HBASE_MAX_TAGS)
        return ts_error_set(err, TS_EINVAL, "a series in HBase has 1 to %d tags, not %zu", STO_HBASE_MAX_TAGS,
                            series->n_tags);
    TS_TRY(sto_hbase_check_name(STO_REMOTE_METRIC, series->metric, err));
    for (size_t i = 0; i < series->n_tags; i++) {
        TS_TRY(sto_hbase_check_name(STO_REMOTE_TAGK, series->tags[i].k, err));
        TS_TRY(sto_hbase_check_name(STO_REMOTE_TAGV, series->tags[i].v, err));
    }
    return 0;
}

int sto_hbase_name_encode(struct ts_slice utf8, struct ts_buf *out)
{
    const uint8_t *p = (const uint8_t *)utf8.p, *end = p + utf8.n;
    while (p < end) {
        int c = next_character(&p, end);
        if (c < 0)
            return TS_EINVAL;
        TS_TRY(ts_buf_char(out, (char)c));
    }
    return 0;
}

int sto_hbase_name_decode(struct ts_slice bytes, struct ts_buf *out)
{
    for (size_t i = 0; i < bytes.n; i++) {
        uint8_t c = (uint8_t)bytes.p[i];
        if (c >= 0x80) {
            TS_TRY(ts_buf_char(out, (char)(0xc0 | c >> 6)));
            c = 0x80 | (c & 0x3f);
        }
        TS_TRY(ts_buf_char(out, (char)c));
    }
    return 0;
}

/* --- points --- */

int sto_hbase_check_points(int32_t hour, const struct sto_cells *cells, struct ts_error *err)
{
    int64_t base_ms = hour * TS_HOUR_MS;
    for (uint32_t i = 0; i < cells->n; i++) {
        uint32_t off = sto_meta_off(cells->meta[i]);
        TS_TRY(sto_hbase_check_time(base_ms + off, err));
        TS_TRY(sto_hbase_check_value(sto_cell_num(cells->meta[i], cells->m[i]), err));
        if (sto_meta_op(cells->meta[i]) != STO_OP_PUT)
            return ts_error_set(err, TS_EINVAL,
                                "the change at offset %u ms of a row is no put, and HBase holds only values",
                                off);
        if (off >= TS_HOUR_MS || (i && off <= sto_meta_off(cells->meta[i - 1])))
            return ts_error_set(err, TS_EINVAL, "the point at offset %u ms of a row is out of order", off);
    }
    return 0;
}
