/*
 * dev.c - dev: the population standard deviation (divisor n).
 *
 * A piece is measured in two passes, pieces are joined. Pieces are cut by hours and buckets, never by files,
 * so the digits do not depend on how points are stored.
 * Source     B. P. Welford, "Note on a Method for Calculating Corrected Sums of Squares and Products" (1962);
 *            T. F. Chan, G. H. Golub, R. J. LeVeque, "Updating Formulae ..." (1979) for joining
 */
#include "query/aggregators/agg.h"

#include <math.h>

struct dev_state {
    uint64_t n;  /* values */
    double mean; /* of them */
    double m2;   /* sum of squared distances from the mean */
    uint64_t pad;
};

static void dev_join(struct dev_state *st, uint64_t n, double mean, double m2)
{
    if (!n)
        return;
    if (!st->n) {
        *st = (struct dev_state){n, mean, m2, 0};
        return;
    }
    double total = (double)(st->n + n), delta = mean - st->mean;
    st->m2 += m2 + delta * delta * ((double)st->n * (double)n / total);
    st->mean += delta * ((double)n / total);
    st->n += n;
}

static void dev_add_f64(void *p, const double *v, size_t n, int64_t t0, int64_t t1)
{
    (void)t0, (void)t1;
    uint64_t c = 0;
    size_t first = 0;
    double sum = 0, m2 = 0;
    while (first < n && v[first] != v[first])
        first++;
    if (first == n)
        return;
    /* sums of differences from the first value, so that the mean of equal values is exact */
    for (size_t k = first; k < n; k++) {
        c += v[k] == v[k];
        sum += v[k] == v[k] ? v[k] - v[first] : 0;
    }
    double mean = v[first] + sum / (double)c;
    for (size_t k = 0; k < n; k++)
        m2 += v[k] == v[k] ? (v[k] - mean) * (v[k] - mean) : 0;
    dev_join(p, c, mean, m2);
}

static void dev_add_i64(void *p, const int64_t *v, size_t n, int64_t t0, int64_t t1)
{
    (void)t0, (void)t1;
    double sum = 0, m2 = 0;
    for (size_t k = 0; k < n; k++)
        sum += (double)v[k];
    double mean = sum / (double)n;
    for (size_t k = 0; k < n; k++)
        m2 += ((double)v[k] - mean) * ((double)v[k] - mean);
    dev_join(p, n, mean, m2);
}

static void dev_merge(void *p, const void *q)
{
    const struct dev_state *from = q;
    dev_join(p, from->n, from->mean, from->m2);
}

static void dev_done(const void *p, const struct qry_agg *agg, struct qry_value *out)
{
    const struct dev_state *st = p;
    (void)agg;
    *out = (struct qry_value){.d = st->n ? sqrt(st->m2 / (double)st->n) : (double)NAN};
}

const struct qry_acc_ops qry_acc_dev = {.state_bytes = sizeof(struct dev_state),
                                        .add_f64 = dev_add_f64,
                                        .add_i64 = dev_add_i64,
                                        .merge = dev_merge,
                                        .done = dev_done};

static void dev_open(struct qry_group_acc *l)
{
    l->cnt = qry_group_acc__array(l, sizeof *l->cnt);
    l->d = qry_group_acc__array(l, sizeof *l->d);
    l->d2 = qry_group_acc__array(l, sizeof *l->d2);
}

static inline void welford(struct qry_group_acc *l, size_t k, double x)
{
    double delta = x - l->d[k];
    l->cnt[k]++;
    l->d[k] += delta / l->cnt[k];
    l->d2[k] += delta * (x - l->d[k]);
}

static void group_acc_dev_f64(struct qry_group_acc *l, size_t at, const double *v, size_t n, uint32_t rank)
{
    (void)rank;
    for (size_t k = 0; k < n; k++)
        if (v[k] == v[k])
            welford(l, at + k, v[k]);
}

static void group_acc_dev_i64(struct qry_group_acc *l, size_t at, const int64_t *v, size_t n, uint32_t rank)
{
    (void)rank;
    for (size_t k = 0; k < n; k++)
        welford(l, at + k, (double)v[k]);
}

static void group_acc_dev_merge(struct qry_group_acc *l, struct qry_group_acc *from)
{
    for (size_t k = 0; k < l->n; k++) {
        struct dev_state st = {l->cnt[k], l->d[k], l->d2[k], 0};
        dev_join(&st, from->cnt[k], from->d[k], from->d2[k]);
        l->cnt[k] = (uint32_t)st.n;
        l->d[k] = st.mean;
        l->d2[k] = st.m2;
    }
}

static void group_acc_dev_done_f64(struct qry_group_acc *l, double *out)
{
    for (size_t k = 0; k < l->n; k++)
        out[k] = l->cnt[k] ? sqrt(l->d2[k] / l->cnt[k]) : (double)NAN;
}

static void group_acc_dev_done_i64(struct qry_group_acc *l, int64_t *out)
{
    for (size_t k = 0; k < l->n; k++)
        out[k] = l->cnt[k] ? (int64_t)sqrt(l->d2[k] / l->cnt[k]) : 0;
}

QRY_GROUP_ACC(dev, dev_open, group_acc_dev, group_acc_dev_merge, group_acc_dev_done);
