/*
 * table.c - the table of functions, and what several of them need.
 */
#include "query/functions/function.h"

#include "base/text.h"
#include "query/expressions/exprint.h"

#include <ctype.h>
#include <string.h>

static const struct qry_function functions[] = {
    {"absolute", 1, 1, 0, 0, NULL, qry_fn_absolute, "absolute(query)", "Values without their sign."},
    {"alias", 1, 1, 1, 0, NULL, qry_fn_alias, "alias(query, name)", "Another name for the metric."},
    {"diffSeries", 2, QRY_FN_MAX_SETS, 0, QRY_EXPR_SUB, NULL, qry_fn_combine, "diffSeries(query, query, ...)",
     "The first one without the others, series with the same tags; 0 where one has no value."},
    {"difference", 2, QRY_FN_MAX_SETS, 0, QRY_EXPR_SUB, NULL, qry_fn_combine, "difference(query, query, ...)",
     "As diffSeries."},
    {"divide", 2, QRY_FN_MAX_SETS, 0, QRY_EXPR_DIV, NULL, qry_fn_combine, "divide(query, query, ...)",
     "As divideSeries."},
    {"divideSeries", 2, QRY_FN_MAX_SETS, 0, QRY_EXPR_DIV, NULL, qry_fn_combine,
     "divideSeries(query, query, ...)", "The first one divided by the others; x / 0 is 0."},
    {"highestCurrent", 1, 1, 1, QRY_FN_HIGHEST_CURRENT, qry_fn_highest_check, qry_fn_highest,
     "highestCurrent(query, n)", "The n series whose last value is highest, highest first."},
    {"highestMax", 1, 1, 1, QRY_FN_HIGHEST_MAX, qry_fn_highest_check, qry_fn_highest, "highestMax(query, n)",
     "The n series with the highest value, highest first."},
    {"movingAverage", 1, 1, 1, 0, qry_fn_moving_check, qry_fn_moving, "movingAverage(query, n | '10min')",
     "Mean of the last n points, or of a window of time; 0 until there are enough."},
    {"multiply", 2, QRY_FN_MAX_SETS, 0, QRY_EXPR_MUL, NULL, qry_fn_combine, "multiply(query, query, ...)",
     "As multiplySeries."},
    {"multiplySeries", 2, QRY_FN_MAX_SETS, 0, QRY_EXPR_MUL, NULL, qry_fn_combine,
     "multiplySeries(query, query, ...)", "Product of series with the same tags."},
    {"scale", 1, 1, 1, 0, qry_fn_scale_check, qry_fn_scale, "scale(query, factor)", "Values times a number."},
    {"shift", 1, 1, 1, 0, qry_fn_shift_check, qry_fn_shift, "shift(query, '1h')", "As timeShift."},
    {"sum", 2, QRY_FN_MAX_SETS, 0, QRY_EXPR_ADD, NULL, qry_fn_combine, "sum(query, query, ...)",
     "As sumSeries."},
    {"sumSeries", 2, QRY_FN_MAX_SETS, 0, QRY_EXPR_ADD, NULL, qry_fn_combine, "sumSeries(query, query, ...)",
     "Sum of series with the same tags."},
    {"timeShift", 1, 1, 1, 0, qry_fn_shift_check, qry_fn_shift, "timeShift(query, '1h')",
     "The values of that much earlier, shown at the times asked for."},
    {NULL, 0, 0, 0, 0, NULL, NULL, NULL, NULL},
};

const struct qry_function *qry_function_find(struct ts_slice name)
{
    for (const struct qry_function *f = functions; f->name; f++)
        if (ts_slice_is(name, f->name))
            return f;
    return NULL;
}

int qry_function__window(struct ts_slice word, int64_t *out_ms, struct ts_error *err)
{
    if (ts_duration_exact(word, NULL, NULL, out_ms, NULL) == 0 && *out_ms < (1ll << 31) * TS_DAY_MS)
        return 0;
    return ts_error_set(err, TS_EINVAL,
                        "Invalid window '%.*s': it is a duration as 30s, 10min, 1h, 2 days or 1week",
                        TS_SHOWN(word, 120));
}

int qry_function__count(const struct qry_function *f, struct ts_slice word, int64_t *out,
                        struct ts_error *err)
{
    if (ts_num_parse_int(word, out, NULL) == 0 && *out > 0)
        return 0;
    return ts_error_set(err, TS_EINVAL, "%s: '%.*s' is no number from 1 on", f->name, TS_SHOWN(word, 120));
}

int qry_function__copy(struct qry_work *w, const struct qry_cols *from, struct qry_cols *out,
                       struct ts_error *err)
{
    *out = *from;
    TS_TRY(qry_work_take(w, from->n, sizeof *out->col, &out->col, err));
    if (from->n)
        memcpy(out->col, from->col, from->n * sizeof *out->col);
    out->cap = from->n;
    return 0;
}

int qry_function__map(struct qry_work *w, const struct qry_cols *from, qry_fn_values_fn make, void *arg,
                      struct qry_cols *out, struct ts_error *err)
{
    TS_TRY(qry_function__copy(w, from, out, err));
    for (size_t i = 0; i < out->n; i++) {
        uint64_t *v;
        TS_TRY(qry_work_take(w, out->col[i].n, sizeof *v, &v, err));
        make(arg, &out->col[i], v);
        out->col[i].v = v;
    }
    return 0;
}
