/*
 * span.c - cells of hours into arrays of points.
 */
#include "query/span.h"

#include "base/double.h"
#include "base/mem.h"

#include <string.h>

#define FIRST_POINTS 64 /* initial capacity of a span */

void qry_span_release(struct qry_span *s)
{
    ts_budget_free(s->memory, s->ts, s->cap * sizeof *s->ts);
    ts_budget_free(s->memory, s->v, s->cap_v * sizeof *s->v);
    ts_budget_free(s->memory, s->is_int, s->cap_int);
    *s = (struct qry_span){.memory = s->memory};
}

void qry_span_clear(struct qry_span *s)
{
    s->n = 0;
    s->any_int = s->any_dbl = s->phantom = false;
}

int qry_span_reserve(struct qry_span *s, size_t more, struct ts_error *err)
{
    size_t n = s->n + more < FIRST_POINTS ? FIRST_POINTS : s->n + more;
    if (n <= s->cap)
        return 0;
    if (s->is_int)
        TS_TRY(ts_budget_grow(s->memory, &s->is_int, &s->cap_int, n, 1, err));
    TS_TRY(ts_budget_grow(s->memory, &s->v, &s->cap_v, n, sizeof *s->v, err));
    return ts_budget_grow(s->memory, &s->ts, &s->cap, n, sizeof *s->ts, err);
}

/* *cap becomes n; memory that realloc does not take back stays as it is. */
static void trim(struct qry_span *s, void *array_p, size_t *cap, size_t size)
{
    void **array = array_p;
    void *p = *cap > s->n ? ts_try_realloc(*array, s->n * size) : NULL;
    if (!p)
        return;
    *array = p;
    ts_budget_give(s->memory, (*cap - s->n) * size);
    *cap = s->n;
}

void qry_span_trim(struct qry_span *s)
{
    if (!s->n || s->cap - s->n <= s->n / 8)
        return;
    trim(s, &s->ts, &s->cap, sizeof *s->ts);
    trim(s, &s->v, &s->cap_v, sizeof *s->v);
    trim(s, &s->is_int, &s->cap_int, 1);
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
static int begin_flags(struct qry_span *s, struct ts_error *err)
{
    TS_TRY(ts_budget_grow(s->memory, &s->is_int, &s->cap_int, s->cap, 1, err));
    memset(s->is_int, s->any_int, s->n);
    return 0;
}

int qry_span_append(struct qry_span *s, int32_t hour, const struct sto_cells *c, struct ts_error *err)
{
    size_t n = c->n, at = s->n;
    TS_TRY(qry_span_reserve(s, n, err));
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
            TS_TRY(begin_flags(s, err));
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
