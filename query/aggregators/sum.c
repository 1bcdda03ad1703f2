/*
 * sum.c - sum, avg, count: what adds up. Exact, so that the order of addition never shows.
 *
 * Source     base/xsum.h; integers in group accumulators wrap at 64 bits as OpenTSDB's do, bucket accumulators keep 128 bits
 */
#include "query/aggregators/agg.h"

#include <math.h>

/* Integers and doubles are summed apart and meet at the end. */
struct sum_state {
    struct ts_xsum x; /* doubles */
    __int128 i;       /* integers; 2^64 of them fit */
    uint64_t n;       /* values */
    bool dbl;         /* a double was among them */
};

static void sum_add_f64(void *p, const double *v, size_t n, int64_t t0, int64_t t1)
{
    struct sum_state *st = p;
    (void)t0, (void)t1;
    ts_xsum_add_n(&st->x, v, n);
    st->n += n;
    st->dbl = true;
}

static void sum_add_i64(void *p, const int64_t *v, size_t n, int64_t t0, int64_t t1)
{
    struct sum_state *st = p;
    (void)t0, (void)t1;
    /* low halves as unsigned 32 bits and high halves apart: each sum fits 64 bits for 2^32 values a piece */
    uint64_t lo = 0;
    int64_t hi = 0;
    for (size_t k = 0; k < n; k++) {
        lo += (uint32_t)v[k];
        hi += v[k] >> 32;
    }
    st->i += ((__int128)hi * ((__int128)1 << 32)) + lo;
    st->n += n;
}

static void sum_add_hour(void *p, const struct qry_hour *h)
{
    struct sum_state *st = p;
    st->n += h->n;
    if (h->is_int) {
        st->i += h->sum;
        return;
    }
    struct ts_xsum x;
    ts_xsum_init(&x);
    x.fix = h->sum;
    ts_xsum_merge(&st->x, &x);
    st->dbl = true;
}

static void sum_add_sums(void *p, const int64_t *counts, const __int128 *sums, size_t n, bool is_int)
{
    struct sum_state *st = p;
    for (size_t k = 0; k < n; k++)
        st->n += (uint64_t)counts[k];
    for (size_t k = 0; k < n && is_int; k++)
        st->i += sums[k];
    for (size_t k = 0; k < n && !is_int; k++) {
        struct ts_xsum x = {.fix = sums[k]};
        ts_xsum_merge(&st->x, &x);
        st->dbl = true;
    }
}

static void sum_add_each(void *p, const int64_t *counts, const __int128 *sums, size_t n, bool is_int)
{
    struct sum_state *st = p;
    for (size_t k = 0; k < n && is_int; k++) {
        st[k].n += (uint64_t)counts[k];
        st[k].i += sums[k];
    }
    for (size_t k = 0; k < n && !is_int; k++)
        sum_add_sums(&st[k], counts + k, sums + k, 1, false);
}

static void sum_merge(void *p, const void *q)
{
    struct sum_state *st = p;
    const struct sum_state *from = q;
    if (from->dbl)
        ts_xsum_merge(&st->x, &from->x);
    st->i += from->i;
    st->n += from->n;
    st->dbl |= from->dbl;
}

void qry_acc__sum_done(const struct ts_xsum *x, __int128 i, bool dbl, uint64_t n, struct qry_value *out)
{
    *out = (struct qry_value){.is_int = n && !dbl, .i = i, .d = (double)NAN};
    if (!dbl)
        return;
    struct ts_xsum all;
    ts_xsum_init(&all);
    ts_xsum_merge(&all, x);
    ts_xsum_add_i128(&all, i);
    out->d = ts_xsum_get(&all);
    ts_xsum_release(&all);
}

static void sum_done(const void *p, const struct qry_agg *agg, struct qry_value *out)
{
    const struct sum_state *st = p;
    (void)agg;
    qry_acc__sum_done(&st->x, st->i, st->dbl, st->n, out);
}

static void avg_done(const void *p, const struct qry_agg *agg, struct qry_value *out)
{
    const struct sum_state *st = p;
    (void)agg;
    out->is_int = false;
    out->i = 0;
    out->d = NAN;
    if (!st->n)
        return;
    struct ts_xsum x;
    ts_xsum_init(&x);
    ts_xsum_merge(&x, &st->x);
    ts_xsum_add_i128(&x, st->i);
    out->d = ts_xsum_mean(&x, st->n);
    ts_xsum_release(&x);
}

static void sum_reset(void *p)
{
    struct sum_state *st = p;
    ts_xsum_release(&st->x);
    *st = (struct sum_state){0};
}

#define SUM_ACC(done_fn)                                                                                     \
    {                                                                                                        \
        .state_bytes = sizeof(struct sum_state), .add_f64 = sum_add_f64, .add_i64 = sum_add_i64,             \
        .add_hour = sum_add_hour, .needs_sum = true, .add_sums = sum_add_sums, .add_each = sum_add_each,     \
        .of_groups = true, .merge = sum_merge, .done = done_fn, .reset = sum_reset                           \
    }
const struct qry_acc_ops qry_acc_sum = SUM_ACC(sum_done);
const struct qry_acc_ops qry_acc_avg = SUM_ACC(avg_done);

/* --- count --- */
struct count_state {
    uint64_t n;
    uint64_t pad; /* states are multiples of 16 bytes */
};

static void count_add_f64(void *p, const double *v, size_t n, int64_t t0, int64_t t1)
{
    struct count_state *st = p;
    (void)t0, (void)t1;
    uint64_t c = 0;
    for (size_t k = 0; k < n; k++)
        c += v[k] == v[k];
    st->n += c;
}

static void count_add_i64(void *p, const int64_t *v, size_t n, int64_t t0, int64_t t1)
{
    (void)v, (void)t0, (void)t1;
    ((struct count_state *)p)->n += n;
}

static void count_add_dec(void *p, const int64_t *m, size_t n, uint8_t exp, int64_t t0, int64_t t1)
{
    (void)m, (void)exp, (void)t0, (void)t1;
    ((struct count_state *)p)->n += n;
}

static void count_add_hour(void *p, const struct qry_hour *h)
{
    ((struct count_state *)p)->n += h->n;
}

static void count_merge(void *p, const void *q)
{
    ((struct count_state *)p)->n += ((const struct count_state *)q)->n;
}

static void count_done(const void *p, const struct qry_agg *agg, struct qry_value *out)
{
    (void)agg;
    *out = (struct qry_value){.is_int = true, .i = ((const struct count_state *)p)->n};
}

const struct qry_acc_ops qry_acc_count = {.state_bytes = sizeof(struct count_state),
                                          .add_f64 = count_add_f64,
                                          .add_i64 = count_add_i64,
                                          .add_dec = count_add_dec,
                                          .add_hour = count_add_hour,
                                          .of_groups = true,
                                          .merge = count_merge,
                                          .done = count_done};

/* --- group accumulators --- */
void qry_group_acc__sum_open(struct qry_group_acc *l)
{
    if (l->is_int)
        l->i = qry_group_acc__array(l, sizeof *l->i);
    else
        l->xs = qry_group_acc__array(l, sizeof *l->xs);
    l->cnt = qry_group_acc__array(l, sizeof *l->cnt);
}

void qry_group_acc__sum_f64(struct qry_group_acc *l, size_t at, const double *v, size_t n, uint32_t rank)
{
    (void)rank;
    struct ts_xsum *xs = l->xs + at;
    uint32_t *cnt = l->cnt + at;
    for (size_t k = 0; k < n; k++) {
        if (v[k] != v[k])
            continue;
        ts_xsum_add(&xs[k], v[k]);
        cnt[k]++;
    }
}

void qry_group_acc__sum_i64(struct qry_group_acc *l, size_t at, const int64_t *v, size_t n, uint32_t rank)
{
    (void)rank;
    int64_t *i = l->i + at;
    uint32_t *cnt = l->cnt + at;
    for (size_t k = 0; k < n; k++)
        i[k] = (int64_t)((uint64_t)i[k] + (uint64_t)v[k]);
    for (size_t k = 0; k < n; k++)
        cnt[k]++;
}

void qry_group_acc__sum_merge(struct qry_group_acc *l, struct qry_group_acc *from)
{
    for (size_t k = 0; k < l->n; k++) {
        if (l->is_int)
            l->i[k] = (int64_t)((uint64_t)l->i[k] + (uint64_t)from->i[k]);
        else
            ts_xsum_merge(&l->xs[k], &from->xs[k]);
        l->cnt[k] += from->cnt[k];
    }
}

void qry_group_acc__sum_done_f64(struct qry_group_acc *l, double *out)
{
    for (size_t k = 0; k < l->n; k++)
        out[k] = l->cnt[k] ? ts_xsum_get(&l->xs[k]) : (double)NAN;
}

void qry_group_acc__sum_done_i64(struct qry_group_acc *l, int64_t *out)
{
    for (size_t k = 0; k < l->n; k++)
        out[k] = l->i[k];
}

static void qry_group_acc__avg_done_f64(struct qry_group_acc *l, double *out)
{
    for (size_t k = 0; k < l->n; k++)
        out[k] = l->cnt[k] ? ts_xsum_mean(&l->xs[k], l->cnt[k]) : (double)NAN;
}

void qry_group_acc__avg_done_i64(struct qry_group_acc *l, int64_t *out)
{
    for (size_t k = 0; k < l->n; k++)
        out[k] = l->cnt[k] ? l->i[k] / (int64_t)l->cnt[k] : 0;
}

static void count_open(struct qry_group_acc *l)
{
    l->cnt = qry_group_acc__array(l, sizeof *l->cnt);
}

static void group_acc_count_f64(struct qry_group_acc *l, size_t at, const double *v, size_t n, uint32_t rank)
{
    (void)rank;
    uint32_t *cnt = l->cnt + at;
    for (size_t k = 0; k < n; k++)
        cnt[k] += v[k] == v[k];
}

static void group_acc_count_i64(struct qry_group_acc *l, size_t at, const int64_t *v, size_t n, uint32_t rank)
{
    (void)rank, (void)v;
    uint32_t *cnt = l->cnt + at;
    for (size_t k = 0; k < n; k++)
        cnt[k]++;
}

static void group_acc_count_merge(struct qry_group_acc *l, struct qry_group_acc *from)
{
    for (size_t k = 0; k < l->n; k++)
        l->cnt[k] += from->cnt[k];
}

static void group_acc_count_done_f64(struct qry_group_acc *l, double *out)
{
    for (size_t k = 0; k < l->n; k++)
        out[k] = l->cnt[k];
}

static void group_acc_count_done_i64(struct qry_group_acc *l, int64_t *out)
{
    for (size_t k = 0; k < l->n; k++)
        out[k] = l->cnt[k];
}

QRY_GROUP_ACC(sum, qry_group_acc__sum_open, qry_group_acc__sum, qry_group_acc__sum_merge,
              qry_group_acc__sum_done);
QRY_GROUP_ACC(avg, qry_group_acc__sum_open, qry_group_acc__sum, qry_group_acc__sum_merge,
              qry_group_acc__avg_done);
QRY_GROUP_ACC(count, count_open, group_acc_count, group_acc_count_merge, group_acc_count_done);
