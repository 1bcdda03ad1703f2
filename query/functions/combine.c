/*
 * combine.c - sumSeries, diffSeries, multiplySeries, divideSeries: columns with the same tags, from left to
 * right, as doubles. What is missing counts as 0.
 */
#include "query/functions/function.h"

#include "query/expressions/exprint.h"
#include "query/expressions/join.h"

#include <string.h>

static int combine_row(const struct qry_function *f, struct qry_work *w, const struct qry_join_in *in,
                       const struct qry_join *j, size_t row, const int64_t *ts_ms, size_t n, double *next,
                       struct qry_col *out, struct ts_error *err)
{
    double *v;
    TS_TRY(qry_work_take(w, n, sizeof *v, &v, err));
    for (size_t s = 0; s < in->n_sets; s++) {
        const struct qry_col *c = qry_join_col(in, j, row, s);
        double *to = s ? next : v;
        if (c)
            qry_col_align(c, ts_ms, n, 0, to);
        else
            memset(to, 0, n * sizeof *to); /* all bytes 0 is 0.0 */
        if (s)
            qry_expr_step((enum qry_expr_code)f->op, w->compat, v, next, NULL, n, v);
    }
    *out = (struct qry_col){.n = n, .ts_ms = ts_ms, .v = (const uint64_t *)(const void *)v, .joined = true};
    return qry_join_label(w, in, j, row, &out->label, err);
}

int qry_fn_combine(const struct qry_function *f, struct qry_work *w, const struct qry_fn_args *args,
                   struct qry_cols *out, struct ts_error *err)
{
    struct qry_join_in in = {.sets = args->sets, .n_sets = args->n_sets};
    struct qry_join j;
    const struct qry_col **all;
    const int64_t *ts_ms;
    double *next;
    size_t n_all = 0, n;
    *out = (struct qry_cols){0};
    TS_TRY(qry_join_make(w, &in, &j, err));
    TS_TRY(qry_work_take(w, j.n * in.n_sets, sizeof *all, &all, err));
    for (size_t row = 0; row < j.n; row++)
        for (size_t s = 0; s < in.n_sets; s++) {
            all[n_all] = qry_join_col(&in, &j, row, s);
            n_all += all[n_all] != NULL;
        }
    TS_TRY(qry_cols_rows(w, all, n_all, &ts_ms, &n, err));
    TS_TRY(qry_work_take(w, n, sizeof *next, &next, err));
    for (size_t row = 0; row < j.n; row++) {
        struct qry_col *col;
        TS_TRY(qry_cols_add(w, out, &col, err));
        TS_TRY(combine_row(f, w, &in, &j, row, ts_ms, n, next, col, err));
    }
    return 0;
}
