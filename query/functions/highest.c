/*
 * highest.c - highestMax(q, n) and highestCurrent(q, n): some of the series, highest first.
 */
#include "query/functions/function.h"

#include <math.h>
#include <stdlib.h>

/* op: what series are ordered by. */
enum { BY_MAX, BY_CURRENT };

/* A column and what it is ordered by. */
struct entry {
    double by;
    size_t at;
};

static int highest_check(const struct qry_function *f, const struct qry_fn_args *args, bool compat,
                         int64_t *out_shift_ms, struct ts_error *err)
{
    int64_t n;
    (void)compat, (void)out_shift_ms;
    return qry_function__count(f, args->words[0], &n, err);
}

static double highest(const struct qry_col *c)
{
    double max = -INFINITY;
    for (size_t k = 0; k < c->n; k++) {
        double d = qry_col_double(c, k);
        max = d > max ? d : max;
    }
    return max;
}

/* Series without a value come last. */
static double current(const struct qry_col *c)
{
    for (size_t k = c->n; k-- > 0;) {
        double d = qry_col_double(c, k);
        if (!isnan(d))
            return d;
    }
    return -INFINITY;
}

static int cmp_entries(const void *pa, const void *pb)
{
    const struct entry *a = pa, *b = pb;
    if (a->by != b->by)
        return a->by > b->by ? -1 : 1;
    return (a->at > b->at) - (a->at < b->at);
}

static int highest_apply(const struct qry_function *f, struct qry_work *w, const struct qry_fn_args *args,
                         struct qry_cols *out, struct ts_error *err)
{
    const struct qry_cols *set = args->sets[0];
    struct entry *e;
    int64_t n;
    TS_TRY(qry_function__count(f, args->words[0], &n, err));
    TS_TRY(qry_function__copy(w, set, out, err));
    TS_TRY(qry_work_take(w, set->n, sizeof *e, &e, err));
    for (size_t i = 0; i < set->n; i++)
        e[i] = (struct entry){f->op == BY_MAX ? highest(&set->col[i]) : current(&set->col[i]), i};
    qsort(e, set->n, sizeof *e, cmp_entries);
    if ((uint64_t)n < out->n)
        out->n = (size_t)n;
    for (size_t i = 0; i < out->n; i++)
        out->col[i] = set->col[e[i].at];
    return 0;
}

#define HIGHEST(FN_NAME, OP, HELP)                                                                           \
    {                                                                                                        \
        .name = FN_NAME, .min_sets = 1, .max_sets = 1, .n_words = 1, .op = OP, .check = highest_check,       \
        .apply = highest_apply, .usage = FN_NAME "(query, n)", .help = HELP                                  \
    }

const struct qry_function qry_function_highestCurrent =
    HIGHEST("highestCurrent", BY_CURRENT, "The n series whose last value is highest, highest first.");
const struct qry_function qry_function_highestMax =
    HIGHEST("highestMax", BY_MAX, "The n series with the highest value, highest first.");
