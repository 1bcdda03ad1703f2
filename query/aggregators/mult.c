/*
 * mult.c - mult: the product. NaN is not skipped.
 */
#include "query/aggregators/agg.h"

#include <math.h>

struct mult_state {
    __int128 i; /* product of the integers while it fits */
    double d;   /* product of the doubles, and of the integers that did not fit */
    uint64_t n; /* values */
    bool dbl;   /* the answer is a double; d is valid */
    bool has_i; /* i is valid */
};

static void mult_d(struct mult_state *st, double d)
{
    st->d = st->dbl ? st->d * d : d;
    st->dbl = true;
}

static void mult_i(struct mult_state *st, __int128 v)
{
    __int128 prod = v;
    if (st->has_i && __builtin_mul_overflow(st->i, v, &prod)) {
        mult_d(st, (double)st->i);
        prod = v;
    }
    st->i = prod;
    st->has_i = true;
}

static void mult_add_f64(void *p, const double *v, size_t n, int64_t t0, int64_t t1)
{
    struct mult_state *st = p;
    (void)t0, (void)t1;
    for (size_t k = 0; k < n; k++)
        mult_d(st, v[k]);
    st->n += n;
}

static void mult_add_i64(void *p, const int64_t *v, size_t n, int64_t t0, int64_t t1)
{
    struct mult_state *st = p;
    (void)t0, (void)t1;
    for (size_t k = 0; k < n; k++)
        mult_i(st, v[k]);
    st->n += n;
}

static void mult_merge(void *p, const void *q)
{
    struct mult_state *st = p;
    const struct mult_state *from = q;
    if (from->dbl)
        mult_d(st, from->d);
    if (from->has_i)
        mult_i(st, from->i);
    st->n += from->n;
}

static void mult_done(const void *p, const struct qry_agg *agg, struct qry_value *out)
{
    const struct mult_state *st = p;
    (void)agg;
    *out = (struct qry_value){.is_int = st->n && !st->dbl, .i = st->i, .d = (double)NAN};
    if (st->dbl)
        out->d = st->has_i ? st->d * (double)st->i : st->d;
}

const struct qry_acc_ops qry_acc_mult = {.state_bytes = sizeof(struct mult_state),
                                         .add_f64 = mult_add_f64,
                                         .add_i64 = mult_add_i64,
                                         .merge = mult_merge,
                                         .done = mult_done};

static void mult_open(struct qry_group_acc *l)
{
    qry_group_acc__open(l, 1, 1);
}

static void group_acc_mult_f64(struct qry_group_acc *l, size_t at, const double *v, size_t n, uint32_t rank)
{
    (void)rank;
    double *d = l->d + at;
    for (size_t k = 0; k < n; k++)
        d[k] *= v[k];
}

static void group_acc_mult_i64(struct qry_group_acc *l, size_t at, const int64_t *v, size_t n, uint32_t rank)
{
    (void)rank;
    int64_t *i = l->i + at;
    for (size_t k = 0; k < n; k++)
        i[k] = (int64_t)((uint64_t)i[k] * (uint64_t)v[k]);
}

static void group_acc_mult_merge(struct qry_group_acc *l, struct qry_group_acc *from)
{
    if (l->is_int)
        group_acc_mult_i64(l, 0, from->i, l->n, 0);
    else
        group_acc_mult_f64(l, 0, from->d, l->n, 0);
}

QRY_GROUP_ACC(mult, mult_open, group_acc_mult, group_acc_mult_merge, qry_group_acc__done);
