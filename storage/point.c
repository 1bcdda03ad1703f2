/*
 * point.c - arrays of the points of a row, and their summary.
 */
#include "storage/point.h"

#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/xsum.h"

#define SUM_CHUNK 256u /* doubles made at a time for the exact sum */

#define MUCH_MORE 32768u /* points: the most that is allocated beyond need, unless an eighth is more */

/* Capacity of the arrays for n points; it grows with n. A merge holds a long row several times: half as much again of it would be tens of megabytes. */
static uint32_t cap_for(uint32_t n)
{
    uint32_t most = n / 8 > MUCH_MORE ? n / 8 : MUCH_MORE, more = n / 2 < most ? n / 2 : most;
    return n > UINT32_MAX - more ? UINT32_MAX : n + more;
}

uint64_t sto_cells_bytes(const struct sto_cells *c)
{
    return c->cap * (uint64_t)(sizeof *c->meta + sizeof *c->m);
}

uint64_t sto_cells_growth(const struct sto_cells *c, uint32_t n)
{
    return n <= c->cap ? 0 : (uint64_t)(cap_for(n) - c->cap) * (sizeof *c->meta + sizeof *c->m);
}

void sto_cells_reserve(struct sto_cells *c, uint32_t n)
{
    if (n <= c->cap)
        return;
    uint32_t cap = cap_for(n);
    uint32_t *meta = ts_xmalloc(cap * sizeof *meta);
    int64_t *m = ts_xmalloc(cap * sizeof *m);
    if (c->n) {
        memcpy(meta, c->meta, c->n * sizeof *meta);
        memcpy(m, c->m, c->n * sizeof *m);
    }
    if (c->cap) { /* otherwise they are borrowed */
        ts_free(c->meta);
        ts_free(c->m);
    }
    c->meta = meta;
    c->m = m;
    c->cap = cap;
}

void sto_cells_release(struct sto_cells *c)
{
    if (c->cap) {
        ts_free(c->meta);
        ts_free(c->m);
    }
    memset(c, 0, sizeof *c);
}

uint32_t sto_cells_find(const struct sto_cells *c, int64_t off)
{
    uint32_t lo = 0, hi = c->n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (sto_meta_off(c->meta[mid]) < off)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static struct ts_num num_at(const struct sto_cells *c, uint32_t i)
{
    return sto_cell_num(c->meta[i], c->m[i]);
}

/* Smallest and largest of values that compare like their m: integers, or decimals of one exponent. The first
 * of equal values counts. */
static void extremes_by_m(const struct sto_cells *c, uint32_t *out_min, uint32_t *out_max)
{
    int64_t lo = c->m[0], hi = c->m[0];
    for (uint32_t i = 1; i < c->n; i++) {
        lo = c->m[i] < lo ? c->m[i] : lo;
        hi = c->m[i] > hi ? c->m[i] : hi;
    }
    uint32_t i = 0;
    while (c->m[i] != lo)
        i++;
    *out_min = i;
    for (i = 0; c->m[i] != hi;)
        i++;
    *out_max = i;
}

static bool extremes_by_value(const struct sto_cells *c, uint32_t *out_min, uint32_t *out_max)
{
    double lo = ts_num_double(num_at(c, 0)), hi = lo;
    *out_min = *out_max = 0;
    for (uint32_t i = 0; i < c->n; i++) {
        double d = ts_num_double(num_at(c, i));
        if (d != d)
            return false;
        if (d < lo) {
            lo = d;
            *out_min = i;
        }
        if (d > hi) {
            hi = d;
            *out_max = i;
        }
    }
    return true;
}

static __int128 sum_of_ints(const struct sto_cells *c)
{
    __int128 sum = 0;
    for (uint32_t i = 0; i < c->n; i++)
        sum += c->m[i];
    return sum;
}

static bool sum_of_doubles(const struct sto_cells *c, __int128 *out)
{
    struct ts_xsum sum;
    double chunk[SUM_CHUNK];
    ts_xsum_init(&sum);
    for (uint32_t at = 0; at < c->n;) {
        uint32_t k = c->n - at < SUM_CHUNK ? c->n - at : SUM_CHUNK;
        for (uint32_t i = 0; i < k; i++)
            chunk[i] = ts_num_double(num_at(c, at + i));
        ts_xsum_add_n(&sum, chunk, k);
        at += k;
    }
    bool fits = ts_xsum_is_fixed(&sum);
    *out = fits ? sum.fix : 0;
    ts_xsum_release(&sum);
    return fits;
}

bool sto_summary_make(const struct sto_cells *c, struct sto_summary *out)
{
    uint32_t n_int = 0, other = 0, lo, hi;
    if (sto_cells_are_kept(c))
        return false;
    for (uint32_t i = 0; i < c->n; i++) {
        n_int += sto_meta_kind(c->meta[i]) == TS_NUM_INT;
        other |= (c->meta[i] ^ c->meta[0]) & (STO_META_KIND_MASK | STO_META_EXP_MASK);
    }
    if (c->n == 0 || (n_int && n_int < c->n))
        return false;
    memset(out, 0, sizeof *out);
    out->n = c->n;
    out->is_int = n_int > 0;
    if (out->is_int || (!other && sto_meta_kind(c->meta[0]) == TS_NUM_DEC))
        extremes_by_m(c, &lo, &hi);
    else if (!extremes_by_value(c, &lo, &hi))
        return false;
    out->first_off = sto_meta_off(c->meta[0]);
    out->last_off = sto_meta_off(c->meta[c->n - 1]);
    out->first = num_at(c, 0);
    out->last = num_at(c, c->n - 1);
    out->min = num_at(c, lo);
    out->max = num_at(c, hi);
    out->has_sum = true;
    if (out->is_int)
        out->sum = sum_of_ints(c);
    else
        out->has_sum = sum_of_doubles(c, &out->sum);
    return true;
}

static bool same_num(struct ts_num a, struct ts_num b)
{
    double x = ts_num_double(a), y = ts_num_double(b);
    return a.kind == TS_NUM_INT || b.kind == TS_NUM_INT ? a.kind == b.kind && a.m == b.m
                                                        : memcmp(&x, &y, sizeof x) == 0;
}

bool sto_summary_same(const struct sto_summary *a, const struct sto_summary *b)
{
    return a->n == b->n && a->is_int == b->is_int && a->has_sum == b->has_sum &&
           a->first_off == b->first_off && a->last_off == b->last_off && same_num(a->first, b->first) &&
           same_num(a->last, b->last) && same_num(a->min, b->min) && same_num(a->max, b->max) &&
           (!a->has_sum || a->sum == b->sum);
}
