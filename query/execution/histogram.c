/*
 * histogram.c - names of buckets; percentiles from their counts.
 *
 * Not here   storing (tsd/ingest/histogram.c), reading and adding (query.c, run.c)
 */
#include "query/execution/histogram.h"

#include "query/aggregators/agg.h"
#include "query/execution/internal_metric.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* --- names --- */

void qry_float_print(float f, struct ts_buf *out)
{
    char text[TS_NUM_TEXT_BYTES], shortest[32];
    double d = (double)f;
    for (int digits = 1; digits <= 9; digits++) { /* 9 digits distinguish any two float32 */
        (void)snprintf(shortest, sizeof shortest, "%.*e", digits - 1, (double)f);
        struct ts_num v;
        if (ts_num_parse(ts_slice_str(shortest), &v, NULL) < 0)
            continue;
        d = ts_num_double(v);
        if ((float)d == f)
            break;
    }
    (void)ts_buf_append(out, text, ts_num_print_java(d, text));
}

void qry_bucket_print(const struct qry_bucket *b, struct ts_buf *out)
{
    if (b->kind != QRY_BUCKET_RANGE) {
        ts_buf_char(out, b->kind == QRY_BUCKET_UNDER ? 'u' : 'o');
        return;
    }
    qry_float_print(b->lower, out);
    ts_buf_char(out, ',');
    qry_float_print(b->upper, out);
}

static bool bound_parse(struct ts_slice s, float *out)
{
    struct ts_num v;
    if (!s.n || ts_num_parse(s, &v, NULL) < 0)
        return false;
    *out = (float)ts_num_double(v);
    return isfinite(*out);
}

bool qry_bucket_parse(struct ts_slice s, struct qry_bucket *out)
{
    *out = (struct qry_bucket){.kind = QRY_BUCKET_RANGE};
    if (s.n == 1 && ((s.p[0] | 0x20) == 'u' || (s.p[0] | 0x20) == 'o')) {
        out->kind = (s.p[0] | 0x20) == 'u' ? QRY_BUCKET_UNDER : QRY_BUCKET_OVER;
        return true;
    }
    const char *comma = s.n ? memchr(s.p, ',', s.n) : NULL;
    if (!comma)
        return false;
    struct ts_slice lower = {s.p, (size_t)(comma - s.p)},
                    upper = {comma + 1, s.n - (size_t)(comma - s.p) - 1};
    return bound_parse(lower, &out->lower) && bound_parse(upper, &out->upper);
}

int qry_bucket_cmp(const struct qry_bucket *a, const struct qry_bucket *b)
{
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->lower != b->lower)
        return a->lower < b->lower ? -1 : 1;
    return (a->upper > b->upper) - (a->upper < b->upper);
}

/* --- buckets of a metric --- */

struct finder {
    struct ts_arena *arena;
    struct found {
        struct qry_bucket b;
        struct ts_slice metric;
    } * found;
    size_t n, cap;
};

static void find_one(void *arg, uint32_t id, struct ts_slice name)
{
    struct finder *f = arg;
    struct qry_internal h;
    struct found one = {.metric = name};
    (void)id;
    if (!qry_internal_parse(name, &h) || h.kind != QRY_INTERNAL_HISTOGRAM ||
        !qry_bucket_parse(h.detail, &one.b))
        return;
    if (f->n == f->cap) {
        f->cap = f->cap ? f->cap * 2 : 32;
        f->found = ts_xrealloc(f->found, f->cap * sizeof *f->found);
    }
    f->found[f->n++] = one;
}

static int cmp_found(const void *a, const void *b)
{
    return qry_bucket_cmp(&((const struct found *)a)->b, &((const struct found *)b)->b);
}

void qry_buckets_find(struct sto_catalog *cat, struct ts_slice metric, struct ts_arena *arena,
                      struct qry_buckets *out)
{
    struct finder f = {.arena = arena};
    struct ts_buf prefix;
    ts_buf_init(&prefix, 0);
    qry_internal_buckets(metric, &prefix);
    sto_uid_suggest(cat, STO_UID_METRIC, ts_buf_get(&prefix), SIZE_MAX, find_one, &f);
    ts_buf_release(&prefix);
    if (f.n)
        qsort(f.found, f.n, sizeof *f.found, cmp_found);
    *out = (struct qry_buckets){.b = ts_arena_alloc(arena, f.n * sizeof *out->b + 1),
                                .metrics = ts_arena_alloc(arena, f.n * sizeof *out->metrics + 1),
                                .n = f.n};
    for (size_t i = 0; i < f.n; i++) {
        out->b[i] = f.found[i].b;
        out->metrics[i] = f.found[i].metric;
    }
    ts_free(f.found);
}

/* --- answers --- */

int qry_histogram_check(const struct qry_sub *sub, struct ts_error *err)
{
    if (!sub->none && strcmp(sub->agg->name, "sum") != 0)
        return ts_error_set(err, TS_EINVAL,
                            "Only NONE or SUM aggregation function supported for histogram query");
    if (sub->downsample.on && strcmp(sub->downsample.fn->name, "sum") != 0)
        return ts_error_set(err, TS_EINVAL,
                            "Only SUM downsampling aggregation supported for histogram query");
    if (sub->rate.on)
        return ts_error_set(err, TS_EINVAL, "Rate is not supported for histogram query");
    return 0;
}

double qry_histogram_percentile(const struct qry_bucket *b, const double *counts, size_t n, double p)
{
    double total = 0, sum = 0;
    if (p < 1 || p > 100)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (b[i].kind == QRY_BUCKET_RANGE)
            total += counts[i];
    for (size_t i = 0; i < n && total > 0; i++) {
        if (b[i].kind != QRY_BUCKET_RANGE)
            continue;
        sum += counts[i];
        if (sum * 100 >= p * total) {
            float middle = (b[i].lower + b[i].upper) / 2;
            return (double)middle;
        }
    }
    return (double)NAN;
}
