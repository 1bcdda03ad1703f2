/*
 * thin.c - M4 thinning of result series, and figures of all their points.
 */
#include "query/thin.h"

#include "base/double.h"
#include "base/xsum.h"

#include <math.h>

#define THIN_LOOK_POINTS 65536 /* between two checks of the limits; about 0.3 ms */

/* Columns of equal width; the times of a column are known before its points are read. */
struct columns {
    int64_t start_ms; /* first time of the range */
    uint64_t span_ms; /* its length */
    uint64_t n;       /* columns */
};

/* Indexes of the points of a column that stay. */
struct kept {
    size_t first, last; /* points with or without a value */
    size_t min, max;    /* points with a value; valid if any */
    bool any;
};

/* Sums of a series while it is read. */
struct sums {
    struct ts_xsum dbls; /* of the doubles */
    __int128 ints;       /* of the integers: 2^64 points of 64 bits do not overflow it */
    bool any_dbl;        /* a point with a value is no integer */
};

static bool point_is_int(const struct qry_series *s, size_t i)
{
    return s->all_int || (s->is_int && s->is_int[i]);
}

static bool point_empty(const struct qry_series *s, size_t i)
{
    double d = ts_double_of(s->v[i]);
    return d != d && !point_is_int(s, i);
}

/* Is the value of point a lower than that of point b? Exact, also between integers and doubles: a long double has 64 bits
 * or more of mantissa. */
static bool point_below(const struct qry_series *s, size_t a, size_t b)
{
    bool a_int = point_is_int(s, a), b_int = point_is_int(s, b);
    if (a_int && b_int)
        return (int64_t)s->v[a] < (int64_t)s->v[b];
    if (!a_int && !b_int)
        return ts_double_of(s->v[a]) < ts_double_of(s->v[b]);
    long double x = a_int ? (long double)(int64_t)s->v[a] : (long double)ts_double_of(s->v[a]);
    long double y = b_int ? (long double)(int64_t)s->v[b] : (long double)ts_double_of(s->v[b]);
    return x < y;
}

static struct qry_total_value point_value(const struct qry_series *s, size_t i)
{
    bool is_int = point_is_int(s, i);
    return (struct qry_total_value){
        .is_int = is_int, .i = is_int ? (int64_t)s->v[i] : 0, .d = is_int ? 0 : ts_double_of(s->v[i])};
}

/* --- columns --- */

/* The column of a time. Without columns all times are in one. */
static uint64_t column_of(const struct columns *c, int64_t ts_ms)
{
    if (!c->n || ts_ms <= c->start_ms)
        return 0;
    uint64_t since_ms = (uint64_t)ts_ms - (uint64_t)c->start_ms;
    if (since_ms >= c->span_ms)
        return c->n - 1;
    return (uint64_t)((unsigned __int128)since_ms * c->n / c->span_ms);
}

/* First time behind a column; INT64_MAX behind the last one, where later points belong too. */
static int64_t column_end(const struct columns *c, uint64_t column)
{
    if (column + 1 >= c->n)
        return INT64_MAX;
    unsigned __int128 edge = (unsigned __int128)(column + 1) * c->span_ms;
    return c->start_ms + (int64_t)(uint64_t)((edge + c->n - 1) / c->n);
}

static void kept_begin(struct kept *k, size_t i)
{
    *k = (struct kept){.first = i, .last = i};
}

static void kept_add(struct kept *k, const struct qry_series *s, size_t i)
{
    if (!k->any) {
        k->min = k->max = i;
        k->any = true;
        return;
    }
    if (point_below(s, i, k->min))
        k->min = i;
    if (point_below(s, k->max, i))
        k->max = i;
}

/* Copy the points of a column that stay, each once and in the order of time; n is where they go. Returns the new n. */
static size_t kept_copy(const struct kept *k, const struct qry_series *s, struct qry_thin *t, size_t n)
{
    size_t low = k->any && k->max < k->min ? k->max : k->min,
           high = k->any && k->max < k->min ? k->min : k->max;
    size_t at[QRY_THIN_POINTS] = {k->first, k->any ? low : k->first, k->any ? high : k->first, k->last};
    for (size_t i = 0; i < QRY_THIN_POINTS; i++) {
        if (i && at[i] == at[i - 1])
            continue;
        t->ts[n] = s->ts_ms[at[i]];
        t->v[n] = s->v[at[i]];
        t->is_int[n++] = point_is_int(s, at[i]);
    }
    return n;
}

/* --- figures --- */

static void sums_add(struct sums *sums, const struct qry_series *s, size_t i)
{
    if (point_is_int(s, i)) {
        sums->ints += (int64_t)s->v[i];
        return;
    }
    sums->any_dbl = true;
    ts_xsum_add(&sums->dbls, ts_double_of(s->v[i]));
}

static void figures_done(struct qry_figures *f, const struct qry_series *s, const struct kept *all,
                         struct sums *sums)
{
    if (!f->n) {
        f->min = f->max = f->first = f->last = f->sum = f->avg = (struct qry_total_value){.null = true};
        return;
    }
    f->min = point_value(s, all->min);
    f->max = point_value(s, all->max);
    f->first = point_value(s, all->first);
    f->last = point_value(s, all->last);
    ts_xsum_add_i128(&sums->dbls, sums->ints);
    f->sum = (struct qry_total_value){.is_int = !sums->any_dbl, .i = sums->any_dbl ? 0 : sums->ints};
    f->sum.d = sums->any_dbl ? ts_xsum_get(&sums->dbls) : 0;
    f->avg = (struct qry_total_value){.d = ts_xsum_mean(&sums->dbls, f->n)};
}

/* --- a series --- */

static int thin_room(struct qry_thin *t, size_t n, struct ts_error *err)
{
    TS_TRY(ts_budget_grow(t->memory, &t->ts, &t->cap_ts, n, sizeof *t->ts, err));
    TS_TRY(ts_budget_grow(t->memory, &t->v, &t->cap_v, n, sizeof *t->v, err));
    return ts_budget_grow(t->memory, &t->is_int, &t->cap_int, n, 1, err);
}

void qry_thin_release(struct qry_thin *t)
{
    ts_budget_free(t->memory, t->ts, t->cap_ts * sizeof *t->ts);
    ts_budget_free(t->memory, t->v, t->cap_v * sizeof *t->v);
    ts_budget_free(t->memory, t->is_int, t->cap_int);
    *t = (struct qry_thin){.memory = t->memory};
}

/* Visit all points; *out_n: how many stay. */
static int thin_points(struct qry_thin *t, const struct columns *c, const struct qry_series *s,
                       struct sums *sums, struct qry_budget *budget, size_t *out_n, struct ts_error *err)
{
    struct kept all = {0}, column = {0};
    size_t n = 0;
    int64_t end_ms = INT64_MIN;
    for (size_t i = 0; i < s->n; i++) {
        if (i % THIN_LOOK_POINTS == THIN_LOOK_POINTS - 1)
            TS_TRY(qry_budget_look(budget, err));
        if (c->n && s->ts_ms[i] >= end_ms) {
            n = i ? kept_copy(&column, s, t, n) : 0;
            kept_begin(&column, i);
            end_ms = column_end(c, column_of(c, s->ts_ms[i]));
        }
        column.last = i;
        if (point_empty(s, i))
            continue;
        kept_add(&column, s, i);
        if (!all.any)
            kept_begin(&all, i);
        all.last = i;
        kept_add(&all, s, i);
        sums_add(sums, s, i);
        t->figures.n++;
    }
    *out_n = c->n && s->n ? kept_copy(&column, s, t, n) : 0;
    figures_done(&t->figures, s, &all, sums);
    return 0;
}

int qry_thin_series(struct qry_thin *t, const struct qry_spec *spec, struct qry_budget *budget,
                    struct qry_series *s, struct ts_error *err)
{
    struct columns c = {.start_ms = spec->start_ms,
                        .span_ms = (uint64_t)spec->end_ms - (uint64_t)spec->start_ms + 1,
                        .n = spec->thin};
    struct sums sums = {.ints = 0};
    size_t n = 0, most = QRY_THIN_POINTS * spec->thin;
    t->memory = budget->memory;
    t->figures = (struct qry_figures){.n = 0};
    if (c.n)
        TS_TRY(thin_room(t, s->n < most ? s->n : most, err));
    ts_xsum_init(&sums.dbls);
    struct ts_budget *before = ts_xsum_account(budget->memory);
    int rc = thin_points(t, &c, s, &sums, budget, &n, err);
    ts_xsum_release(&sums.dbls);
    (void)ts_xsum_account(before);
    if (rc < 0 || !c.n)
        return rc;
    s->n = n;
    s->ts_ms = t->ts;
    s->v = t->v;
    s->is_int = t->is_int;
    s->all_int = false;
    return 0;
}
