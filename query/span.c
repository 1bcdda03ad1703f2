/*
 * span.c - cells of hours into arrays of points.
 */
#include "query/span.h"

#include "base/double.h"
#include "base/mem.h"

#include <string.h>

void qry_span_release(struct qry_span *s)
{
    ts_free(s->ts);
    ts_free(s->v);
    ts_free(s->is_int);
    *s = (struct qry_span){0};
}

void qry_span_clear(struct qry_span *s)
{
    s->n = 0;
    s->any_int = s->any_dbl = s->phantom = false;
}

int qry_span_reserve(struct qry_span *s, size_t more)
{
    if (s->n + more <= s->cap)
        return 0;
    size_t cap = s->cap ? s->cap * 2 : 64;
    while (cap < s->n + more)
        cap *= 2;
    int64_t *ts = ts_try_realloc(s->ts, cap * sizeof *ts);
    if (!ts)
        return TS_ENOMEM;
    s->ts = ts;
    uint64_t *v = ts_try_realloc(s->v, cap * sizeof *v);
    if (!v)
        return TS_ENOMEM;
    s->v = v;
    if (s->is_int) {
        uint8_t *is_int = ts_try_realloc(s->is_int, cap);
        if (!is_int)
            return TS_ENOMEM;
        s->is_int = is_int;
    }
    s->cap = cap;
    return 0;
}

static inline uint64_t cell_bits(uint32_t meta, int64_t m)
{
    if (sto_meta_kind(meta) != TS_NUM_DEC)
        return (uint64_t)m; /* integer, or bits of a double already */
    return ts_double_bits((double)m / ts_pow10[sto_meta_exp(meta)]);
}

void qry_cells_doubles(const struct sto_cells *c, size_t i, size_t n, double *out)
{
    const int64_t *m = c->m + i;
    if (c->uniform && sto_meta_kind(c->common) == TS_NUM_DEC) {
        double scale = ts_pow10[sto_meta_exp(c->common)];
        for (size_t k = 0; k < n; k++)
            out[k] = (double)m[k] / scale;
    } else if (c->uniform) {
        memcpy(out, m, n * sizeof *out);
    } else {
        for (size_t k = 0; k < n; k++) {
            uint64_t u = cell_bits(c->meta[i + k], m[k]);
            memcpy(&out[k], &u, 8);
        }
    }
}

/* Flags for what is there so far, when the second kind turns up. */
static int begin_flags(struct qry_span *s)
{
    if (!s->is_int) {
        s->is_int = ts_try_malloc(s->cap);
        if (!s->is_int)
            return TS_ENOMEM;
    }
    memset(s->is_int, s->any_int, s->n);
    return 0;
}

int qry_span_append(struct qry_span *s, int32_t hour, const struct sto_cells *c)
{
    size_t n = c->n, at = s->n;
    TS_TRY(qry_span_reserve(s, n));
    int64_t base = hour * TS_HOUR_MS;
    for (size_t k = 0; k < n; k++)
        s->ts[at + k] = base + (c->meta[k] & STO_META_OFF_MASK);

    bool ints = false, dbls = false;
    if (c->uniform) {
        ints = sto_meta_kind(c->common) == TS_NUM_INT;
        dbls = !ints;
    } else {
        for (size_t k = 0; k < n; k++) {
            ints |= sto_meta_kind(c->meta[k]) == TS_NUM_INT;
            dbls |= sto_meta_kind(c->meta[k]) != TS_NUM_INT;
        }
    }
    if ((ints || s->any_int) && (dbls || s->any_dbl)) {
        if (!(s->any_int && s->any_dbl))
            TS_TRY(begin_flags(s));
        for (size_t k = 0; k < n; k++)
            s->is_int[at + k] = sto_meta_kind(c->uniform ? c->common : c->meta[k]) == TS_NUM_INT;
    }
    if (c->uniform && ints)
        memcpy(s->v + at, c->m, n * sizeof *s->v);
    else if (c->uniform)
        qry_cells_doubles(c, 0, n, (double *)(void *)(s->v + at));
    else
        for (size_t k = 0; k < n; k++)
            s->v[at + k] = cell_bits(c->meta[k], c->m[k]);
    s->any_int |= ints;
    s->any_dbl |= dbls;
    s->n += n;
    return 0;
}
