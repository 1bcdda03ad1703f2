/*
 * rollup.c - rows and qualifiers of rollups.
 */
#include "storage/hbase/rollup.h"

#include <string.h>

#include "base/text.h"
#include "base/time.h"
#include "storage/hbase/bigendian.h"
#include "storage/hbase/encode.h"
#include "storage/hbase/qualifier.h"
#include "storage/hbase/value.h"

#define HOUR_S      3600u
#define MAX_HOURS   8784 /* of a span: a year */
#define SHOWN_BYTES 40   /* of a duration in a text */

/* --- spans --- */

/* Seconds of the longest span. */
static uint64_t span_s(const struct sto_hbase_rollup *r)
{
    static const uint64_t seconds[] = {HOUR_S, 24 * HOUR_S, 31 * 24 * HOUR_S, 366 * 24 * HOUR_S};
    return seconds[r->unit] * r->n_hours;
}

static int parse_span(struct ts_slice span, struct sto_hbase_rollup *out, struct ts_error *err)
{
    int64_t n, ms;
    enum ts_unit unit;
    TS_TRY(ts_duration_parse(span, &n, &unit, &ms, err));
    bool hours = unit == TS_UNIT_H,
         known = hours || unit == TS_UNIT_D || unit == TS_UNIT_N || unit == TS_UNIT_Y;
    if (!known || (n != 1 && (!hours || n < 1 || n % 2 || n > MAX_HOURS)))
        return ts_error_set(err, TS_EINVAL,
                            "rows of rollups cannot span %.*s, but 1h, an even number of hours, 1d, 1n or 1y",
                            TS_SHOWN(span, SHOWN_BYTES));
    out->unit = hours               ? STO_HBASE_HOURS
                : unit == TS_UNIT_D ? STO_HBASE_DAY
                : unit == TS_UNIT_N ? STO_HBASE_MONTH
                                    : STO_HBASE_YEAR;
    out->n_hours = (uint32_t)n;
    return 0;
}

int sto_hbase_rollup_parse(struct ts_slice interval, struct ts_slice span, struct sto_hbase_rollup *out,
                           struct ts_error *err)
{
    int64_t n, ms;
    enum ts_unit unit;
    struct ts_error why = {0};
    if (ts_duration_parse(interval, &n, &unit, &ms, &why) < 0 || parse_span(span, out, &why) < 0)
        return ts_error_set(err, TS_EINVAL, "%s", why.text);
    uint64_t span_ms = span_s(out) * 1000;
    if (ms < 1000 || ms % 1000 || (uint64_t)ms >= span_ms)
        return ts_error_set(
            err, TS_EINVAL,
            "the interval %.*s of rollups is not a number of seconds below the span %.*s of their rows",
            TS_SHOWN(interval, SHOWN_BYTES), TS_SHOWN(span, SHOWN_BYTES));
    uint64_t intervals = (span_ms + (uint64_t)ms - 1) / (uint64_t)ms;
    if (intervals < STO_HBASE_MIN_INTERVALS || intervals > STO_HBASE_MAX_INTERVALS)
        return ts_error_set(
            err, TS_EINVAL, "a row of %.*s would have %llu intervals of %.*s, but %d to %d are possible",
            TS_SHOWN(span, SHOWN_BYTES), (unsigned long long)intervals, TS_SHOWN(interval, SHOWN_BYTES),
            STO_HBASE_MIN_INTERVALS, STO_HBASE_MAX_INTERVALS);
    out->interval_s = (uint32_t)(ms / 1000);
    return 0;
}

uint32_t sto_hbase_rollup_base(const struct sto_hbase_rollup *r, uint32_t time_s)
{
    struct ts_civil day = ts_civil_from_ms(NULL, (int64_t)time_s * 1000);
    switch (r->unit) {
    case STO_HBASE_HOURS:
        return time_s - time_s % (r->n_hours * HOUR_S);
    case STO_HBASE_DAY:
        return time_s - time_s % (24 * HOUR_S);
    case STO_HBASE_MONTH:
        break;
    case STO_HBASE_YEAR:
        day.month = 1;
    }
    return (uint32_t)(ts_civil_to_ms(day.year, day.month, 1, 0, 0, 0) / 1000);
}

uint64_t sto_hbase_rollup_next(const struct sto_hbase_rollup *r, uint32_t base_s)
{
    uint64_t next = base_s + span_s(r);
    bool even =
        r->unit == STO_HBASE_HOURS || r->unit == STO_HBASE_DAY; /* others are as long as that or shorter */
    return even || next > UINT32_MAX ? next : sto_hbase_rollup_base(r, (uint32_t)next);
}

/* --- cells --- */

size_t sto_hbase_rollup_encode(const struct sto_hbase_rollup *r, unsigned function, uint32_t base_s,
                               uint32_t time_s, struct ts_num value, uint8_t *qualifier, uint8_t *bytes)
{
    struct sto_hbase_point p; /* of second 0, so that only the flags are set */
    sto_hbase_encode_point(sto_meta_flags(STO_OP_PUT, value.kind, value.exp, false), value.m, &p);
    uint32_t index = (time_s - base_s) / r->interval_s;
    qualifier[0] = (uint8_t)function;
    sto_hbase_put(qualifier + 1, index << 4 | (p.qualifier[1] & 15), 2);
    memcpy(bytes, p.value, p.n_value);
    return p.n_value;
}

int sto_hbase_rollup_parse_qualifier(struct ts_slice qualifier, struct sto_hbase_rollup_cell *out,
                                     struct ts_error *err)
{
    const uint8_t *p = (const uint8_t *)qualifier.p;
    bool has_id = qualifier.n == STO_HBASE_ROLLUP_BYTES && p[0] <= STO_HBASE_MAX_FUNCTION;
    bool has_name = qualifier.n > 3 && p[qualifier.n - 3] == ':';
    if (!has_id && !has_name)
        return ts_error_set(err, TS_ECORRUPT, "a qualifier of %zu bytes is not that of a rollup",
                            qualifier.n);
    unsigned word = (unsigned)sto_hbase_get(p + qualifier.n - 2, 2);
    out->function = has_id ? p[0] : -1;
    out->name = has_id ? (struct ts_slice){NULL, 0} : (struct ts_slice){qualifier.p, qualifier.n - 3};
    out->index = word >> 4;
    out->flags = word & 15;
    return 0;
}

int sto_hbase_rollup_value(const struct sto_hbase_rollup_cell *cell, struct ts_slice bytes,
                           struct ts_num *out, struct ts_error *err)
{
    bool is_float = cell->flags & STO_HBASE_FLOAT;
    if (bytes.n == 0 || bytes.n != sto_hbase_flags_length(cell->flags))
        return ts_error_set(err, TS_ECORRUPT,
                            "the value of a rollup has %zu bytes, which its qualifier does not permit",
                            bytes.n);
    uint64_t raw = sto_hbase_value_load((const uint8_t *)bytes.p, (unsigned)bytes.n, is_float);
    if (is_float && !sto_hbase_value_is_finite(raw, (unsigned)bytes.n))
        return ts_error_set(err, TS_ECORRUPT, "the value of a rollup is not a finite number");
    *out = sto_hbase_value_num(raw, (unsigned)bytes.n, is_float);
    return 0;
}
