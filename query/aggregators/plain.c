/*
 * plain.c - sum and avg as OpenTSDB adds them: doubles one after the other, rounded at each step.
 *
 * Only for compat = opentsdb, where the rounding shows: below a rate of large counters, and wherever what is added
 * comes to nothing: 0.1 + 0.2 - 0.3 is 5.5e-17 there. Never from summaries.
 */
#include "query/aggregators/agg.h"

#include "base/double.h"
#include "query/limit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct plain_state {
    double sum;
    uint64_t n; /* values */
};

static void plain_add_f64(void *p, const double *v, size_t n, int64_t t0, int64_t t1)
{
    struct plain_state *st = p;
    (void)t0, (void)t1;
    for (size_t k = 0; k < n; k++)
        st->sum += v[k];
    st->n += n;
}

static void plain_add_i64(void *p, const int64_t *v, size_t n, int64_t t0, int64_t t1)
{
    struct plain_state *st = p;
    (void)t0, (void)t1;
    for (size_t k = 0; k < n; k++)
        st->sum += (double)v[k];
    st->n += n;
}

static void plain_merge(void *p, const void *q)
{
    struct plain_state *st = p;
    const struct plain_state *from = q;
    st->sum += from->sum;
    st->n += from->n;
}

static void plain_sum_done(const void *p, const struct qry_agg *agg, struct qry_value *out)
{
    const struct plain_state *st = p;
    (void)agg;
    *out = (struct qry_value){.d = st->n ? st->sum : (double)NAN};
}

static void plain_avg_done(const void *p, const struct qry_agg *agg, struct qry_value *out)
{
    const struct plain_state *st = p;
    (void)agg;
    *out = (struct qry_value){.d = st->n ? st->sum / (double)st->n : (double)NAN};
}

#define PLAIN_ACC(done_fn)                                                                                   \
    {                                                                                                        \
        .state_bytes = sizeof(struct plain_state), .add_f64 = plain_add_f64, .add_i64 = plain_add_i64,       \
        .merge = plain_merge, .done = done_fn                                                                \
    }
static const struct qry_acc_ops plain_sum = PLAIN_ACC(plain_sum_done);
static const struct qry_acc_ops plain_avg = PLAIN_ACC(plain_avg_done);

/* --- group accumulators: integers as ever, doubles by the rank of their series --- */
static void plain_open(struct qry_group_acc *l)
{
    if (l->is_int)
        qry_group_acc__sum_open(l);
}

static void plain_acc_f64(struct qry_group_acc *l, size_t at, const double *v, size_t n, uint32_t rank)
{
    qry_group_acc__keep(l, at, v, n, rank);
}

static void plain_acc_merge(struct qry_group_acc *l, struct qry_group_acc *from)
{
    if (l->is_int)
        qry_group_acc__sum_merge(l, from);
    else
        qry_group_acc__keep_all(l, from);
}

static int cmp_rank(const void *a, const void *b)
{
    const struct qry_group_acc_row *x = a, *y = b;
    /* one series may come in several pieces, of different places */
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static void plain_acc_done(struct qry_group_acc *l, bool mean, double *out)
{
    uint32_t *cnt = qry_group_acc__array(l, sizeof *cnt);
    if (!cnt)
        return;
    for (size_t k = 0; k < l->n; k++)
        out[k] = 0;
    if (l->n_rows)
        qsort(l->rows, l->n_rows, sizeof *l->rows, cmp_rank);
    for (size_t r = 0; r < l->n_rows; r++) {
        const struct qry_group_acc_row *row = &l->rows[r];
        for (size_t k = 0; k < row->n; k++) {
            double d = ts_double_of(row->v[k]);
            if (d != d)
                continue;
            out[row->at + k] += d;
            cnt[row->at + k]++;
        }
    }
    for (size_t k = 0; k < l->n; k++)
        out[k] = !cnt[k] ? (double)NAN : mean ? out[k] / cnt[k] : out[k];
    ts_budget_free(l->budget->memory, cnt, l->n * sizeof *cnt);
}

static void plain_acc_sum_f64(struct qry_group_acc *l, double *out)
{
    plain_acc_done(l, false, out);
}

static void plain_acc_avg_f64(struct qry_group_acc *l, double *out)
{
    plain_acc_done(l, true, out);
}

static const struct qry_group_acc_ops group_acc_plain_sum = {
    plain_open,      plain_acc_f64,     qry_group_acc__sum_i64,
    plain_acc_merge, plain_acc_sum_f64, qry_group_acc__sum_done_i64,
    .keeps = true,   .by_rank = true};
static const struct qry_group_acc_ops group_acc_plain_avg = {
    plain_open,      plain_acc_f64,     qry_group_acc__sum_i64,
    plain_acc_merge, plain_acc_avg_f64, qry_group_acc__avg_done_i64,
    .keeps = true,   .by_rank = true};

static const struct qry_agg row_sum = {.name = "sum",
                                       .bucket_acc = &plain_sum,
                                       .group_acc = &group_acc_plain_sum,
                                       .help = "Sum, rounded at each step."};
static const struct qry_agg row_avg = {.name = "avg",
                                       .bucket_acc = &plain_avg,
                                       .group_acc = &group_acc_plain_avg,
                                       .help = "Average of a sum rounded at each step."};

const struct qry_agg *qry_agg_plain(const struct qry_agg *agg)
{
    if (agg->bucket_acc == &qry_acc_sum)
        return &row_sum;
    return agg->bucket_acc == &qry_acc_avg ? &row_avg : agg;
}
