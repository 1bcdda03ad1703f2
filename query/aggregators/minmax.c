/*
 * minmax.c - min, max, mimmin, mimmax: the smallest and the largest.
 *
 * Decimals are compared as mantissas and divided once a piece: division by a positive number keeps the order.
 * Equal values: the first one stays, so 0.0 and -0.0 come out the same from points and from summaries.
 */
#include "query/aggregators/agg.h"

#include <math.h>

/* Integers and doubles are kept apart: a double cannot distinguish large integers from their neighbours. */
struct mm_state {
    double d;  /* best double; valid if has_d */
    int64_t i; /* best integer; valid if has_i */
    bool has_d, has_i;
    uint8_t pad[14];
};

/* The four loops of min and of max differ in one sign. */
#define MM_OPS(name, OP)                                                                                     \
    static void name##_d(struct mm_state *st, double d)                                                      \
    {                                                                                                        \
        if (!st->has_d || d OP st->d)                                                                        \
            st->d = d;                                                                                       \
        st->has_d = true;                                                                                    \
    }                                                                                                        \
    static void name##_i(struct mm_state *st, int64_t i)                                                     \
    {                                                                                                        \
        if (!st->has_i || i OP st->i)                                                                        \
            st->i = i;                                                                                       \
        st->has_i = true;                                                                                    \
    }                                                                                                        \
    static int64_t name##_best(const int64_t *v, size_t n)                                                   \
    {                                                                                                        \
        int64_t best = v[0];                                                                                 \
        for (size_t k = 1; k < n; k++)                                                                       \
            best = v[k] OP best ? v[k] : best;                                                               \
        return best;                                                                                         \
    }                                                                                                        \
    static void name##_add_f64(void *p, const double *v, size_t n, int64_t t0, int64_t t1)                   \
    {                                                                                                        \
        (void)t0, (void)t1;                                                                                  \
        size_t k = 0;                                                                                        \
        while (k < n && v[k] != v[k])                                                                        \
            k++;                                                                                             \
        if (k == n)                                                                                          \
            return;                                                                                          \
        double best = v[k];                                                                                  \
        for (; k < n; k++)                                                                                   \
            best = v[k] OP best ? v[k] : best;                                                               \
        name##_d(p, best);                                                                                   \
    }                                                                                                        \
    static void name##_add_i64(void *p, const int64_t *v, size_t n, int64_t t0, int64_t t1)                  \
    {                                                                                                        \
        (void)t0, (void)t1;                                                                                  \
        name##_i(p, name##_best(v, n));                                                                      \
    }                                                                                                        \
    static void name##_add_dec(void *p, const int64_t *m, size_t n, uint8_t exp, int64_t t0, int64_t t1)     \
    {                                                                                                        \
        (void)t0, (void)t1;                                                                                  \
        name##_d(p, (double)name##_best(m, n) / ts_pow10[exp]);                                              \
    }                                                                                                        \
    static double name##_one(const int64_t *m, size_t n, uint8_t exp)                                        \
    {                                                                                                        \
        return (double)name##_best(m, n) / ts_pow10[exp];                                                    \
    }                                                                                                        \
    static void name##_merge(void *p, const void *q)                                                         \
    {                                                                                                        \
        const struct mm_state *from = q;                                                                     \
        if (from->has_d)                                                                                     \
            name##_d(p, from->d);                                                                            \
        if (from->has_i)                                                                                     \
            name##_i(p, from->i);                                                                            \
    }                                                                                                        \
    static void name##_done(const void *p, const struct qry_agg *agg, struct qry_value *out)                 \
    {                                                                                                        \
        const struct mm_state *st = p;                                                                       \
        (void)agg;                                                                                           \
        *out = (struct qry_value){.is_int = st->has_i && !st->has_d, .i = st->i, .d = (double)NAN};          \
        if (!st->has_d)                                                                                      \
            return;                                                                                          \
        out->d = st->has_i && (double)st->i OP st->d ? (double)st->i : st->d;                                \
    }                                                                                                        \
    static void group_acc_##name##_f64(struct qry_group_acc *l, size_t at, const double *v, size_t n,        \
                                       uint32_t rank)                                                        \
    {                                                                                                        \
        (void)rank;                                                                                          \
        double *d = l->d + at;                                                                               \
        for (size_t k = 0; k < n; k++) {                                                                     \
            double cur = d[k], x = v[k];                                                                     \
            int take = (x OP cur) | (cur != cur);                                                            \
            d[k] = take ? x : cur;                                                                           \
        }                                                                                                    \
    }                                                                                                        \
    static void group_acc_##name##_i64(struct qry_group_acc *l, size_t at, const int64_t *v, size_t n,       \
                                       uint32_t rank)                                                        \
    {                                                                                                        \
        (void)rank;                                                                                          \
        int64_t *i = l->i + at;                                                                              \
        for (size_t k = 0; k < n; k++)                                                                       \
            i[k] = v[k] OP i[k] ? v[k] : i[k];                                                               \
    }                                                                                                        \
    static void group_acc_##name##_merge(struct qry_group_acc *l, struct qry_group_acc *from)                \
    {                                                                                                        \
        if (l->is_int)                                                                                       \
            group_acc_##name##_i64(l, 0, from->i, l->n, 0);                                                  \
        else                                                                                                 \
            group_acc_##name##_f64(l, 0, from->d, l->n, 0);                                                  \
    }

MM_OPS(min, <)
MM_OPS(max, >)

static void min_add_hour(void *p, const struct qry_hour *h)
{
    if (h->is_int)
        min_i(p, h->min.m);
    else
        min_d(p, ts_num_double(h->min));
}

static void max_add_hour(void *p, const struct qry_hour *h)
{
    if (h->is_int)
        max_i(p, h->max.m);
    else
        max_d(p, ts_num_double(h->max));
}

const struct qry_acc_ops qry_acc_min = {.state_bytes = sizeof(struct mm_state),
                                        .add_f64 = min_add_f64,
                                        .add_i64 = min_add_i64,
                                        .add_dec = min_add_dec,
                                        .add_hour = min_add_hour,
                                        .of_groups = true,
                                        .merge = min_merge,
                                        .done = min_done,
                                        .one = min_one};
const struct qry_acc_ops qry_acc_max = {.state_bytes = sizeof(struct mm_state),
                                        .add_f64 = max_add_f64,
                                        .add_i64 = max_add_i64,
                                        .add_dec = max_add_dec,
                                        .add_hour = max_add_hour,
                                        .of_groups = true,
                                        .merge = max_merge,
                                        .done = max_done,
                                        .one = max_one};

static void min_open(struct qry_group_acc *l)
{
    qry_group_acc__open(l, INT64_MAX, (double)NAN);
}
static void max_open(struct qry_group_acc *l)
{
    qry_group_acc__open(l, INT64_MIN, (double)NAN);
}

QRY_GROUP_ACC(min, min_open, group_acc_min, group_acc_min_merge, qry_group_acc__done);
QRY_GROUP_ACC(max, max_open, group_acc_max, group_acc_max_merge, qry_group_acc__done);
