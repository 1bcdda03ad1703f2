/*
 * first_last.c - first, last, diff (last - first).
 *
 * Folds go by time; values of the same time keep the order in which they came. Group accumulators go by the
 * rank of the series. NaN is not skipped, except leading ones by diff.
 */
#include "query/aggregators/agg.h"

#include "base/double.h"

#include <math.h>

/* Value at one end. */
struct end {
    int64_t ts_ms;
    uint64_t v; /* int64_t or bits of a double */
    bool is_int;
    bool has; /* there is one */
};
struct ends_state {
    struct end first, last;
};

static double end_double(const struct end *e)
{
    return e->is_int ? (double)(int64_t)e->v : ts_double_of(e->v);
}

static void ends_put(struct ends_state *st, const struct end *first, const struct end *last)
{
    if (first->has && (!st->first.has || first->ts_ms < st->first.ts_ms))
        st->first = *first;
    if (last->has && (!st->last.has || last->ts_ms >= st->last.ts_ms))
        st->last = *last;
}

static void ends_add_f64(void *p, const double *v, size_t n, int64_t t0, int64_t t1)
{
    struct end a = {t0, ts_double_bits(v[0]), false, true}, b = {t1, ts_double_bits(v[n - 1]), false, true};
    ends_put(p, &a, &b);
}

static void ends_add_i64(void *p, const int64_t *v, size_t n, int64_t t0, int64_t t1)
{
    struct end a = {t0, (uint64_t)v[0], true, true}, b = {t1, (uint64_t)v[n - 1], true, true};
    ends_put(p, &a, &b);
}

static void ends_add_dec(void *p, const int64_t *m, size_t n, uint8_t exp, int64_t t0, int64_t t1)
{
    struct end a = {t0, ts_double_bits((double)m[0] / ts_pow10[exp]), false, true};
    struct end b = {t1, ts_double_bits((double)m[n - 1] / ts_pow10[exp]), false, true};
    ends_put(p, &a, &b);
}

static struct end end_of(struct ts_num v, int64_t ts_ms)
{
    if (v.kind == TS_NUM_INT)
        return (struct end){ts_ms, (uint64_t)v.m, true, true};
    return (struct end){ts_ms, ts_double_bits(ts_num_double(v)), false, true};
}

static void ends_add_hour(void *p, const struct qry_hour *h)
{
    struct end a = end_of(h->first, h->first_ms), b = end_of(h->last, h->last_ms);
    ends_put(p, &a, &b);
}

static void ends_merge(void *p, const void *q)
{
    const struct ends_state *from = q;
    ends_put(p, &from->first, &from->last);
}

static void end_value(const struct end *e, struct qry_value *out)
{
    *out = (struct qry_value){.is_int = e->has && e->is_int, .i = (int64_t)e->v, .d = (double)NAN};
    if (e->has && !e->is_int)
        out->d = ts_double_of(e->v);
}

static void first_done(const void *p, const struct qry_agg *agg, struct qry_value *out)
{
    (void)agg;
    end_value(&((const struct ends_state *)p)->first, out);
}

static void last_done(const void *p, const struct qry_agg *agg, struct qry_value *out)
{
    (void)agg;
    end_value(&((const struct ends_state *)p)->last, out);
}

static void diff_done(const void *p, const struct qry_agg *agg, struct qry_value *out)
{
    const struct ends_state *st = p;
    (void)agg;
    *out = (struct qry_value){.d = (double)NAN};
    if (!st->first.has)
        return;
    out->is_int = st->first.is_int && st->last.is_int;
    if (out->is_int)
        out->i = (__int128)(int64_t)st->last.v - (int64_t)st->first.v;
    else
        out->d = end_double(&st->last) - end_double(&st->first);
}

#define ENDS_ACC(done_fn)                                                                                    \
    {                                                                                                        \
        .state_bytes = sizeof(struct ends_state), .add_f64 = ends_add_f64, .add_i64 = ends_add_i64,          \
        .add_dec = ends_add_dec, .add_hour = ends_add_hour, .merge = ends_merge, .done = done_fn             \
    }
const struct qry_acc_ops qry_acc_first = ENDS_ACC(first_done);
const struct qry_acc_ops qry_acc_last = ENDS_ACC(last_done);
const struct qry_acc_ops qry_acc_diff = ENDS_ACC(diff_done);
_Static_assert(sizeof(struct ends_state) % 16 == 0, "states are multiples of 16 bytes");

/* --- group accumulators: (i or d) with r1 is the first, (i2 or d2) with r2 the last --- */
static void ends_open(struct qry_group_acc *l)
{
    l->r1 = qry_group_acc__array(l, sizeof *l->r1);
    l->r2 = qry_group_acc__array(l, sizeof *l->r2);
    if (l->is_int) {
        l->i = qry_group_acc__array(l, sizeof *l->i);
        l->i2 = qry_group_acc__array(l, sizeof *l->i2);
    } else {
        l->d = qry_group_acc__array(l, sizeof *l->d);
        l->d2 = qry_group_acc__array(l, sizeof *l->d2);
    }
}

static void group_acc_ends_i64(struct qry_group_acc *l, size_t at, const int64_t *v, size_t n, uint32_t rank)
{
    uint32_t r = rank + 1;
    for (size_t k = at; k < at + n; k++) {
        if (!l->r1[k] || r < l->r1[k]) {
            l->r1[k] = r;
            l->i[k] = v[k - at];
        }
        if (r > l->r2[k]) {
            l->r2[k] = r;
            l->i2[k] = v[k - at];
        }
    }
}

static void put_first_f64(struct qry_group_acc *l, size_t k, double v, uint32_t r)
{
    if (!l->r1[k] || r < l->r1[k]) {
        l->r1[k] = r;
        l->d[k] = v;
    }
}

static void put_last_f64(struct qry_group_acc *l, size_t k, double v, uint32_t r)
{
    if (r > l->r2[k]) {
        l->r2[k] = r;
        l->d2[k] = v;
    }
}

static void group_acc_ends_f64(struct qry_group_acc *l, size_t at, const double *v, size_t n, uint32_t rank)
{
    for (size_t k = 0; k < n; k++) {
        put_first_f64(l, at + k, v[k], rank + 1);
        put_last_f64(l, at + k, v[k], rank + 1);
    }
}

/* diff begins with the first value that is there. */
static void group_acc_diff_f64(struct qry_group_acc *l, size_t at, const double *v, size_t n, uint32_t rank)
{
    for (size_t k = 0; k < n; k++) {
        if (v[k] == v[k])
            put_first_f64(l, at + k, v[k], rank + 1);
        put_last_f64(l, at + k, v[k], rank + 1);
    }
}

static void group_acc_ends_merge(struct qry_group_acc *l, struct qry_group_acc *from)
{
    for (size_t k = 0; k < l->n; k++) {
        if (from->r1[k] && (!l->r1[k] || from->r1[k] < l->r1[k])) {
            l->r1[k] = from->r1[k];
            if (l->is_int)
                l->i[k] = from->i[k];
            else
                l->d[k] = from->d[k];
        }
        if (from->r2[k] > l->r2[k]) {
            l->r2[k] = from->r2[k];
            if (l->is_int)
                l->i2[k] = from->i2[k];
            else
                l->d2[k] = from->d2[k];
        }
    }
}

static void group_acc_first_done_f64(struct qry_group_acc *l, double *out)
{
    for (size_t k = 0; k < l->n; k++)
        out[k] = l->r1[k] ? l->d[k] : (double)NAN;
}
static void group_acc_first_done_i64(struct qry_group_acc *l, int64_t *out)
{
    memcpy(out, l->i, l->n * sizeof *out);
}
static void group_acc_last_done_f64(struct qry_group_acc *l, double *out)
{
    for (size_t k = 0; k < l->n; k++)
        out[k] = l->r2[k] ? l->d2[k] : (double)NAN;
}
static void group_acc_last_done_i64(struct qry_group_acc *l, int64_t *out)
{
    memcpy(out, l->i2, l->n * sizeof *out);
}

static void group_acc_diff_done_f64(struct qry_group_acc *l, double *out)
{
    for (size_t k = 0; k < l->n; k++)
        out[k] = l->r1[k] ? l->d2[k] - l->d[k] : (double)NAN;
}

static void group_acc_diff_done_i64(struct qry_group_acc *l, int64_t *out)
{
    for (size_t k = 0; k < l->n; k++)
        out[k] = (int64_t)((uint64_t)l->i2[k] - (uint64_t)l->i[k]);
}

QRY_GROUP_ACC(first, ends_open, group_acc_ends, group_acc_ends_merge, group_acc_first_done, .by_rank = true);
QRY_GROUP_ACC(last, ends_open, group_acc_ends, group_acc_ends_merge, group_acc_last_done, .by_rank = true);
const struct qry_group_acc_ops qry_group_acc_diff = {.open = ends_open,
                                                     .add_f64 = group_acc_diff_f64,
                                                     .add_i64 = group_acc_ends_i64,
                                                     .merge = group_acc_ends_merge,
                                                     .done_f64 = group_acc_diff_done_f64,
                                                     .done_i64 = group_acc_diff_done_i64,
                                                     .by_rank = true};
