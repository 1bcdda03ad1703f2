/*
 * versions_kit.h - series of versions: random histories, and what a naive model says of them.
 *
 * The model goes through the history in order: a version drops those before it that are more than it keeps, a delete drops all of its times.
 */
#ifndef TESTS_UNIT_STORAGE_VERSIONS_KIT_H
#define TESTS_UNIT_STORAGE_VERSIONS_KIT_H

#include "tests/unit/storage/bulk_kit.h"

#include "storage/internal.h"
#include "storage/versions.h"

#define V_SERIES 3
#define V_TIMES  24 /* times in use, over three hours */

/* A version that was put, or a delete. */
struct v_op {
    bool is_delete;
    unsigned series;
    int64_t ts_ms, to_ms; /* time; of a delete the first and the last */
    int64_t written_us;
    unsigned keep;
    struct ts_num value;
    bool ms;
};

struct v_history {
    struct v_op *ops;
    size_t n, cap;
};

/* A version that is to be there. */
struct v_version {
    const struct v_op *op;
    bool marked;
};

static inline void v_add(struct v_history *h, const struct v_op *op)
{
    if (h->n == h->cap)
        h->ops = ts_xrealloc(h->ops, (h->cap = h->cap ? h->cap * 2 : 256) * sizeof *h->ops);
    h->ops[h->n++] = *op;
}

static inline int64_t v_time(unsigned i)
{
    return T0 + (int64_t)(i % 3) * TS_HOUR_MS + (int64_t)(i / 3) * (i % 2 ? 1000 : 997);
}

static inline struct ts_num v_value(uint64_t *seed)
{
    double d = (double)t_random(seed) / 3.0;
    struct ts_num v = {.m = (int64_t)(t_random(seed) % 2001) - 1000};
    switch (t_random(seed) % 5) {
    case 0:
        v.kind = TS_NUM_DEC;
        v.exp = (uint8_t)(t_random(seed) % 4);
        return v;
    case 1:
        v.kind = TS_NUM_RAW;
        memcpy(&v.m, &d, sizeof d);
        return v;
    case 2:
        v.m = t_random(seed) % 2 ? INT64_MAX : INT64_MIN;
        /* fall through */
    default:
        v.kind = TS_NUM_INT;
        return v;
    }
}

/* A random operation. The number of versions kept changes now and then, and stamps are mostly of this century. */
static inline struct v_op v_random(uint64_t *seed, unsigned keep)
{
    struct v_op op = {.series = (unsigned)(t_random(seed) % V_SERIES),
                      .ts_ms = v_time((unsigned)(t_random(seed) % V_TIMES)),
                      .is_delete = t_random(seed) % 30 == 0,
                      .keep = t_random(seed) % 10 ? keep : (unsigned)(t_random(seed) % 31) + 1,
                      .written_us = (int64_t)(t_random(seed) % 1000),
                      .ms = t_random(seed) % 2,
                      .value = v_value(seed)};
    if (t_random(seed) % 8)
        op.written_us += 1790000000000000ll;
    op.to_ms = op.ts_ms + (t_random(seed) % 4 ? (int64_t)(t_random(seed) % 3000) : 2 * TS_HOUR_MS);
    return op;
}

/* Versions of a series and a time after the first n operations, the oldest first; out has room for STO_VERSIONS_MAX + 1. */
static inline unsigned v_expect(const struct v_history *h, size_t n, unsigned series, int64_t ts_ms,
                                struct v_version *out)
{
    unsigned k = 0;
    for (size_t i = 0; i < n; i++) {
        const struct v_op *op = &h->ops[i];
        if (op->series != series ||
            (op->is_delete ? op->ts_ms > ts_ms || op->to_ms < ts_ms : op->ts_ms != ts_ms))
            continue;
        if (op->is_delete) {
            k = 0;
            continue;
        }
        out[k++] = (struct v_version){op, false};
        if (k <= op->keep)
            continue;
        unsigned drop = k - op->keep;
        memmove(out, out + drop, (k - drop) * sizeof *out);
        k -= drop;
        out[0].marked = true;
    }
    return k;
}

/* Are these cells that version? */
static inline bool v_is(const struct sto_cells *c, uint32_t i, const struct v_version *v)
{
    uint32_t value = c->meta[i + 1];
    return sto_is_stamp(c->meta[i]) && sto_meta_exp(c->meta[i]) == v->op->keep &&
           !(c->meta[i] & STO_META_MS) == !v->marked && c->m[i] == v->op->written_us &&
           sto_meta_op(value) == STO_OP_KEEP && !sto_is_stamp(value) &&
           !(value & STO_META_MS) == !v->op->ms && t_ref_same(sto_cell_num(value, c->m[i + 1]), v->op->value);
}

/* Is a row what the history says, as far as it lies in from_ms..to_ms? *out_n: cells that are expected. */
static inline bool v_row_is(const struct v_history *h, size_t n, unsigned series, int64_t from_ms,
                            int64_t to_ms, int32_t hour, const struct sto_cells *c)
{
    uint32_t at = 0;
    for (int64_t t = hour * TS_HOUR_MS; t < (hour + 1) * TS_HOUR_MS && t < hour * TS_HOUR_MS + 10000; t++) {
        int64_t off = t - hour * TS_HOUR_MS;
        if (off % 1000 && off % 997 && off % 700)
            continue; /* no test uses such a time; a cell of it is not expected below */
        struct v_version want[STO_VERSIONS_MAX + 1];
        unsigned k = t >= from_ms && t <= to_ms ? v_expect(h, n, series, t, want) : 0;
        for (unsigned i = 0; i < k; i++, at += 2)
            if (at + 2 > c->n || hour * TS_HOUR_MS + sto_meta_off(c->meta[at]) != t ||
                !v_is(c, at, &want[i]) || sto_meta_off(c->meta[at + 1]) != sto_meta_off(c->meta[at]))
                return false;
    }
    return at == c->n;
}

/* --- a store --- */

static inline const struct sto_series *v_series(struct sto_store *st, unsigned i)
{
    char text[64], host[12];
    struct ts_buf name;
    struct ts_error err = {0};
    const struct sto_series *s = NULL;
    ts_buf_init(&name, 0);
    sto_internal_name(&(struct sto_internal){STO_INTERNAL_VERSIONS, TS_SLICE_LIT("m"), TS_SLICE_LIT("w")},
                      &name);
    snprintf(host, sizeof host, "h%u", i);
    int n = snprintf(text, sizeof text, "%.*s host=%s", (int)name.n, name.p, host);
    struct sto_tag_text tag = {TS_SLICE_LIT("host"), ts_slice_str(host)};
    if (sto_series_resolve(sto_store_catalog(st), (struct ts_slice){text, (size_t)n}, (uint32_t)name.n, &tag,
                           1, true, &s, &err) < 0)
        fail_msg("series: %s", err.text);
    ts_buf_release(&name);
    return s;
}

/* An operation that the store takes. */
static inline void v_op(struct sto_store *st, struct v_history *h, const struct v_op *op)
{
    struct sto_writer *writer = sto_writer(st, 0);
    const struct sto_series *s = v_series(st, op->series);
    int rc = op->is_delete
                 ? sto_delete(writer, s, op->ts_ms, op->to_ms)
                 : sto_put_version(writer, s, op->ts_ms, &(struct sto_stamp){op->written_us, op->keep},
                                   op->value, op->ms);
    assert_int_equal(rc, 0);
    v_add(h, op);
}

/* Has the store of a series what the first n operations say, in a range of times? */
static inline bool v_series_is(struct sto_store *st, const struct v_history *h, size_t n, unsigned series,
                               int64_t from_ms, int64_t to_ms)
{
    const struct sto_series *s = v_series(st, series);
    static const uint8_t whole[64] = {1, 1, 1, 1, 1, 1};
    struct sto_scan_spec spec = {.metric = s->metric,
                                 .series = &s,
                                 .n_series = 1,
                                 .from_ms = from_ms,
                                 .to_ms = to_ms,
                                 .whole_hours = whole,
                                 .final = true};
    struct sto_snap *snap = sto_snap_take(st);
    struct sto_merge *scan = NULL;
    struct sto_row row;
    struct ts_error err = {0};
    int32_t next = sto_hour(from_ms);
    bool same = true;
    int rc = sto_scan(snap, &spec, &scan, &err);
    while (rc >= 0 && (rc = sto_merge_next(scan, &row, &err)) == 1) {
        static const struct sto_cells nothing;
        for (; next < row.key.hour; next++)
            same = same && v_row_is(h, n, series, from_ms, to_ms, next, &nothing);
        same = same && !row.sum && v_row_is(h, n, series, from_ms, to_ms, next++, row.cells);
    }
    if (rc < 0)
        fail_msg("scan: %s", err.text);
    for (; next <= sto_hour(to_ms); next++)
        same = same && v_row_is(h, n, series, from_ms, to_ms, next, &(struct sto_cells){0});
    sto_merge_free(scan);
    sto_snap_release(snap);
    return same;
}

static inline bool v_store_is(struct sto_store *st, const struct v_history *h, size_t n)
{
    bool same = true;
    for (unsigned s = 0; s < V_SERIES && same; s++)
        same = v_series_is(st, h, n, s, T0 - TS_HOUR_MS, T0 + 4 * TS_HOUR_MS - 1) &&
               v_series_is(st, h, n, s, T0 + 2000, T0 + TS_HOUR_MS + 3000);
    return same;
}

#endif
