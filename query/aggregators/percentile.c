/*
 * percentile.c - median (the upper one), p50..p999, ep50r3..ep999r7: what needs all the values.
 *
 * Source     C. A. R. Hoare, "Algorithm 65: Find" (1961); R. J. Hyndman, Y. Fan, "Sample Quantiles in
 * Statistical Packages" (1996) for
 */
#include "query/aggregators/agg.h"

#include "base/double.h"
#include "query/limit.h"

#include <math.h>
#include <string.h>

#define STEPS_PER_LOOK 65536 /* values looked at, some ns each */

/* Put the k-th smallest (from 0) at its place, smaller ones before it, larger ones after it. */
#define DEFINE_SELECT(name, type)                                                                            \
    static void name(type *v, size_t n, size_t k)                                                            \
    {                                                                                                        \
        size_t lo = 0, hi = n - 1;                                                                           \
        while (lo < hi) {                                                                                    \
            size_t mid = lo + (hi - lo) / 2;                                                                 \
            type a = v[lo], b = v[mid], c = v[hi];                                                           \
            type pivot = a < b ? (b < c ? b : a < c ? c : a) : (a < c ? a : b < c ? c : b);                  \
            size_t i = lo, j = hi;                                                                           \
            for (;;) {                                                                                       \
                while (v[i] < pivot)                                                                         \
                    i++;                                                                                     \
                while (pivot < v[j])                                                                         \
                    j--;                                                                                     \
                if (i >= j)                                                                                  \
                    break;                                                                                   \
                type t = v[i];                                                                               \
                v[i++] = v[j];                                                                               \
                v[j--] = t;                                                                                  \
            }                                                                                                \
            /* v[lo..j] <= pivot <= v[j+1..hi] */                                                            \
            if (i > j + 1 && k > j && k < i)                                                                 \
                return;                                                                                      \
            if (k <= j)                                                                                      \
                hi = j;                                                                                      \
            else                                                                                             \
                lo = j + 1;                                                                                  \
        }                                                                                                    \
    }
DEFINE_SELECT(select_f64, double)
DEFINE_SELECT(select_i64, int64_t)

/* Value at rank h (from 1, between two ranks by a straight line) of n values, which are reordered. */
#define DEFINE_AT_RANK(name, type, select)                                                                   \
    static double name(type *v, size_t n, double h)                                                          \
    {                                                                                                        \
        if (h < 1)                                                                                           \
            h = 1;                                                                                           \
        if (h >= (double)n) {                                                                                \
            select(v, n, n - 1);                                                                             \
            return (double)v[n - 1];                                                                         \
        }                                                                                                    \
        size_t k = (size_t)h; /* from 1, < n */                                                              \
        double frac = h - (double)k;                                                                         \
        select(v, n, k - 1);                                                                                 \
        double lower = (double)v[k - 1];                                                                     \
        if (frac == 0)                                                                                       \
            return lower;                                                                                    \
        type upper = v[k];                                                                                   \
        for (size_t j = k + 1; j < n; j++)                                                                   \
            upper = v[j] < upper ? v[j] : upper;                                                             \
        return lower + frac * ((double)upper - lower);                                                       \
    }
DEFINE_AT_RANK(at_rank_f64, double, select_f64)
DEFINE_AT_RANK(at_rank_i64, int64_t, select_i64)

static double rank_of(size_t n, double p, enum qry_rank rule)
{
    double count = (double)n;
    if (rule == QRY_RANK_R3)
        return rint(p * count);
    if (rule == QRY_RANK_R7)
        return p * (count - 1) + 1;
    return p * (count + 1);
}

double qry_percentile(double *v, size_t n, double p, enum qry_rank rule)
{
    return at_rank_f64(v, n, rank_of(n, p, rule));
}

/* --- bucket accumulators: all values; integers until the first double comes, then doubles --- */
struct pct_state {
    uint64_t *v; /* [cap] owned: int64_t, or bits of doubles if dbl */
    size_t n, cap;
    struct ts_budget *memory; /* account of v */
    bool dbl;
};
#define PCT_STATE_BYTES ((sizeof(struct pct_state) + 15) / 16 * 16) /* states are multiples of 16 bytes */

static int pct_reserve(void *p, size_t n, const void *from, struct ts_budget *memory, struct ts_error *err)
{
    struct pct_state *st = p;
    n += from ? ((const struct pct_state *)from)->n : 0;
    st->memory = memory;
    return ts_budget_grow(memory, &st->v, &st->cap, st->n + n, sizeof *st->v, err);
}

static double *as_f64(const struct pct_state *st)
{
    return (double *)(void *)st->v;
}

static int64_t *as_i64(const struct pct_state *st)
{
    return (int64_t *)st->v;
}

static void become_doubles(struct pct_state *st)
{
    for (size_t k = 0; k < st->n; k++)
        as_f64(st)[k] = (double)as_i64(st)[k];
    st->dbl = true;
}

static void pct_add_f64(void *p, const double *v, size_t n, int64_t t0, int64_t t1)
{
    struct pct_state *st = p;
    (void)t0, (void)t1;
    for (size_t k = 0; k < n; k++) {
        if (v[k] != v[k])
            continue;
        if (!st->dbl)
            become_doubles(st);
        as_f64(st)[st->n++] = v[k];
    }
}

static void pct_add_i64(void *p, const int64_t *v, size_t n, int64_t t0, int64_t t1)
{
    struct pct_state *st = p;
    (void)t0, (void)t1;
    for (size_t k = 0; st->dbl && k < n; k++)
        as_f64(st)[st->n + k] = (double)v[k];
    if (!st->dbl)
        memcpy(st->v + st->n, v, n * sizeof *v);
    st->n += n;
}

static void pct_merge(void *p, const void *q)
{
    const struct pct_state *from = q;
    if (from->n && from->dbl)
        pct_add_f64(p, as_f64(from), from->n, 0, 0);
    else if (from->n)
        pct_add_i64(p, as_i64(from), from->n, 0, 0);
}

/* The rule where a double is involved, or a bucket. */
static enum qry_rank rule_of(const struct qry_agg *agg)
{
    return agg->legacy_doubles ? QRY_RANK_LEGACY : agg->rank;
}

static void pct_done(const void *p, const struct qry_agg *agg, struct qry_value *out)
{
    const struct pct_state *st = p;
    *out = (struct qry_value){.d = (double)NAN};
    if (!st->n)
        return;
    double h = rank_of(st->n, agg->p, rule_of(agg));
    out->d = st->dbl ? at_rank_f64(as_f64(st), st->n, h) : at_rank_i64(as_i64(st), st->n, h);
}

static void median_done(const void *p, const struct qry_agg *agg, struct qry_value *out)
{
    const struct pct_state *st = p;
    (void)agg;
    *out = (struct qry_value){.d = (double)NAN};
    if (!st->n)
        return;
    if (st->dbl) {
        select_f64(as_f64(st), st->n, st->n / 2);
        out->d = as_f64(st)[st->n / 2];
    } else {
        select_i64(as_i64(st), st->n, st->n / 2);
        out->is_int = true;
        out->i = as_i64(st)[st->n / 2];
    }
}

static void pct_reset(void *p)
{
    struct pct_state *st = p;
    ts_budget_free(st->memory, st->v, st->cap * sizeof *st->v);
    *st = (struct pct_state){0};
}

#define PCT_FOLD(done_fn)                                                                                    \
    {                                                                                                        \
        .state_bytes = PCT_STATE_BYTES, .add_f64 = pct_add_f64, .add_i64 = pct_add_i64,                      \
        .reserve = pct_reserve, .merge = pct_merge, .done = done_fn, .reset = pct_reset                      \
    }
const struct qry_acc_ops qry_acc_median = PCT_FOLD(median_done);
const struct qry_acc_ops qry_acc_pct = PCT_FOLD(pct_done);

/* --- group accumulators: the rows of all series, gathered point by point at the end --- */
static void pct_open(struct qry_group_acc *l)
{
    (void)l;
}

static void group_acc_pct_f64(struct qry_group_acc *l, size_t at, const double *v, size_t n, uint32_t rank)
{
    qry_group_acc__keep(l, at, v, n, rank);
}

static void group_acc_pct_i64(struct qry_group_acc *l, size_t at, const int64_t *v, size_t n, uint32_t rank)
{
    qry_group_acc__keep(l, at, v, n, rank);
}

/* Values at point x that are there; returns how many. */
static size_t gather_f64(const struct qry_group_acc *l, size_t x, double *out)
{
    size_t n = 0;
    for (size_t r = 0; r < l->n_rows; r++) {
        const struct qry_group_acc_row *row = &l->rows[r];
        if (x < row->at || x >= row->at + row->n)
            continue;
        uint64_t v = row->v[x - row->at];
        double d = l->is_int ? (double)(int64_t)v : ts_double_of(v);
        if (d == d)
            out[n++] = d;
    }
    return n;
}

static size_t gather_i64(const struct qry_group_acc *l, size_t x, int64_t *out)
{
    size_t n = 0;
    for (size_t r = 0; r < l->n_rows; r++) {
        const struct qry_group_acc_row *row = &l->rows[r];
        if (x >= row->at && x < row->at + row->n)
            out[n++] = (int64_t)row->v[x - row->at];
    }
    return n;
}

/* Looks at the limits while points are gathered from rows. */
static bool go_on(struct qry_group_acc *l, size_t *n_steps)
{
    *n_steps += l->n_rows + 1;
    if (l->rc == 0 && *n_steps > STEPS_PER_LOOK) {
        *n_steps = 0;
        l->rc = qry_budget_look(l->budget, NULL);
    }
    return l->rc == 0;
}

static void group_acc_pct_each(struct qry_group_acc *l, enum qry_rank rule, double *out)
{
    double *v = qry_group_acc__scratch(l, l->n_rows * sizeof *v);
    for (size_t x = 0, steps = 0; x < l->n && go_on(l, &steps); x++) {
        size_t n = gather_f64(l, x, v);
        out[x] = n ? qry_percentile(v, n, l->agg->p, rule) : (double)NAN;
    }
    if (v)
        ts_budget_free(l->budget->memory, v, l->n_rows * sizeof *v);
}

static void group_acc_pct_done_f64(struct qry_group_acc *l, double *out)
{
    group_acc_pct_each(l, rule_of(l->agg), out);
}

static void group_acc_pct_done_i64(struct qry_group_acc *l, int64_t *out)
{
    double *d = qry_group_acc__scratch(l, l->n * sizeof *d);
    if (!d)
        return;
    group_acc_pct_each(l, l->agg->rank, d);
    for (size_t x = 0; x < l->n && l->rc == 0; x++) {
        /* a double that rounded up to 2^63 has no integer: the largest one stands for it */
        if (d[x] != d[x])
            out[x] = 0;
        else
            out[x] = d[x] >= 0x1p63 ? INT64_MAX : (int64_t)d[x];
    }
    ts_budget_free(l->budget->memory, d, l->n * sizeof *d);
}

static void group_acc_median_done_f64(struct qry_group_acc *l, double *out)
{
    double *v = qry_group_acc__scratch(l, l->n_rows * sizeof *v);
    for (size_t x = 0, steps = 0; x < l->n && go_on(l, &steps); x++) {
        size_t n = gather_f64(l, x, v);
        if (n)
            select_f64(v, n, n / 2);
        out[x] = n ? v[n / 2] : (double)NAN;
    }
    if (v)
        ts_budget_free(l->budget->memory, v, l->n_rows * sizeof *v);
}

static void group_acc_median_done_i64(struct qry_group_acc *l, int64_t *out)
{
    int64_t *v = qry_group_acc__scratch(l, l->n_rows * sizeof *v);
    for (size_t x = 0, steps = 0; x < l->n && go_on(l, &steps); x++) {
        size_t n = gather_i64(l, x, v);
        if (n)
            select_i64(v, n, n / 2);
        out[x] = n ? v[n / 2] : 0;
    }
    if (v)
        ts_budget_free(l->budget->memory, v, l->n_rows * sizeof *v);
}

QRY_GROUP_ACC(median, pct_open, group_acc_pct, qry_group_acc__keep_all, group_acc_median_done, .keeps = true);
QRY_GROUP_ACC(pct, pct_open, group_acc_pct, qry_group_acc__keep_all, group_acc_pct_done, .keeps = true);
