/*
 * plain.c - sum and avg as OpenTSDB adds them: doubles one after the other, rounded at each step.
 *
 * Only for compat = opentsdb, and only below a rate, where the rounding of large counters shows in the first
 * digits of the answer. Never from summaries.
 */
#include "query/aggs/agg.h"

#include <math.h>

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

static const struct qry_fold_ops plain_sum = {.state_bytes = sizeof(struct plain_state),
                                              .add_f64 = plain_add_f64,
                                              .add_i64 = plain_add_i64,
                                              .merge = plain_merge,
                                              .done = plain_sum_done};
static const struct qry_fold_ops plain_avg = {.state_bytes = sizeof(struct plain_state),
                                              .add_f64 = plain_add_f64,
                                              .add_i64 = plain_add_i64,
                                              .merge = plain_merge,
                                              .done = plain_avg_done};
static const struct qry_agg row_sum = {
    .name = "sum", .fold = &plain_sum, .lane = &qry_lane_sum, .help = "Sum, rounded at each step."};
static const struct qry_agg row_avg = {.name = "avg",
                                       .fold = &plain_avg,
                                       .lane = &qry_lane_avg,
                                       .help = "Average of a sum rounded at each step."};

const struct qry_agg *qry_agg_plain(const struct qry_agg *agg)
{
    if (agg->fold == &qry_fold_sum)
        return &row_sum;
    return agg->fold == &qry_fold_avg ? &row_avg : agg;
}
