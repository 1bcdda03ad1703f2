/*
 * square.c - squareSum: the sum of squares.
 */
#include "query/aggregators/agg.h"

#include <math.h>

#define PIECE 128 /* squares made at a time */

struct square_state {
    struct ts_xsum x; /* squares of doubles, and of integers once their sum left 127 bits */
    __int128 i;       /* squares of integers */
    uint64_t n;       /* values */
    bool dbl;         /* the answer is a double */
};

static void sq_add_f64(void *p, const double *v, size_t n, int64_t t0, int64_t t1)
{
    struct square_state *st = p;
    (void)t0, (void)t1;
    double sq[PIECE];
    while (n) {
        size_t k = n < PIECE ? n : PIECE;
        for (size_t j = 0; j < k; j++)
            sq[j] = v[j] * v[j];
        ts_xsum_add_n(&st->x, sq, k);
        st->n += k;
        v += k;
        n -= k;
    }
    st->dbl = true;
}

static void sq_add_int(struct square_state *st, __int128 sq)
{
    __int128 sum;
    if (__builtin_add_overflow(st->i, sq, &sum)) {
        ts_xsum_add_i128(&st->x, st->i);
        st->dbl = true;
        sum = sq;
    }
    st->i = sum;
}

static void sq_add_i64(void *p, const int64_t *v, size_t n, int64_t t0, int64_t t1)
{
    struct square_state *st = p;
    (void)t0, (void)t1;
    for (size_t k = 0; k < n; k++)
        sq_add_int(st, (__int128)v[k] * v[k]);
    st->n += n;
}

static void sq_merge(void *p, const void *q)
{
    struct square_state *st = p;
    const struct square_state *from = q;
    ts_xsum_merge(&st->x, &from->x);
    sq_add_int(st, from->i);
    st->n += from->n;
    st->dbl |= from->dbl;
}

static void sq_done(const void *p, const struct qry_agg *agg, struct qry_value *out)
{
    const struct square_state *st = p;
    (void)agg;
    qry_acc__sum_done(&st->x, st->i, st->dbl, st->n, out);
}

static void sq_reset(void *p)
{
    struct square_state *st = p;
    ts_xsum_release(&st->x);
    *st = (struct square_state){0};
}

const struct qry_acc_ops qry_acc_square = {.state_bytes = sizeof(struct square_state),
                                           .add_f64 = sq_add_f64,
                                           .add_i64 = sq_add_i64,
                                           .merge = sq_merge,
                                           .done = sq_done,
                                           .reset = sq_reset};

/* The group accumulator is that of sum, over squares. */
static void group_acc_sq_f64(struct qry_group_acc *l, size_t at, const double *v, size_t n, uint32_t rank)
{
    double sq[PIECE];
    while (n) {
        size_t k = n < PIECE ? n : PIECE;
        for (size_t j = 0; j < k; j++)
            sq[j] = v[j] * v[j];
        qry_group_acc__sum_f64(l, at, sq, k, rank);
        at += k;
        v += k;
        n -= k;
    }
}

static void group_acc_sq_i64(struct qry_group_acc *l, size_t at, const int64_t *v, size_t n, uint32_t rank)
{
    int64_t sq[PIECE];
    while (n) {
        size_t k = n < PIECE ? n : PIECE;
        for (size_t j = 0; j < k; j++)
            sq[j] = (int64_t)((uint64_t)v[j] * (uint64_t)v[j]);
        qry_group_acc__sum_i64(l, at, sq, k, rank);
        at += k;
        v += k;
        n -= k;
    }
}

QRY_GROUP_ACC(square, qry_group_acc__sum_open, group_acc_sq, qry_group_acc__sum_merge,
              qry_group_acc__sum_done);
