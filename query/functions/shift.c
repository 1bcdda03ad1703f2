/*
 * shift.c - timeShift(q, '1h'): what was an hour earlier. The sets were requested that much earlier; here
 * their times move to where they are shown.
 *
 * In OpenTSDB 2.4 the function always fails; with compat it does here.
 */
#include "query/functions/function.h"

static int shift_check(const struct qry_function *f, const struct qry_fn_args *args, bool compat,
                       int64_t *out_shift_ms, struct ts_error *err)
{
    struct ts_slice word = args->words[0];
    size_t digits = 0;
    (void)f;
    while (digits < word.n && word.p[digits] >= '0' && word.p[digits] <= '9')
        digits++;
    if (compat)
        return ts_error_set(err, TS_EINVAL, "unknown time unit=%.*s'",
                            (int)(word.n - digits < 60 ? word.n - digits : 60), word.p + digits);
    return qry_function__window(word, out_shift_ms, err);
}

static int shift_apply(const struct qry_function *f, struct qry_work *w, const struct qry_fn_args *args,
                       struct qry_cols *out, struct ts_error *err)
{
    int64_t shift_ms = 0;
    TS_TRY(shift_check(f, args, w->compat, &shift_ms, err));
    TS_TRY(qry_function__copy(w, args->sets[0], out, err));
    for (size_t i = 0; i < out->n; i++) {
        struct qry_col *c = &out->col[i];
        int64_t *ts_ms;
        TS_TRY(qry_work_take(w, c->n, sizeof *ts_ms, &ts_ms, err));
        for (size_t k = 0; k < c->n; k++)
            ts_ms[k] = c->ts_ms[k] + shift_ms;
        c->ts_ms = ts_ms;
    }
    return 0;
}

#define SHIFT(FN_NAME, HELP)                                                                                 \
    {                                                                                                        \
        .name = FN_NAME, .min_sets = 1, .max_sets = 1, .n_words = 1, .check = shift_check,                   \
        .apply = shift_apply, .usage = FN_NAME "(query, '1h')", .help = HELP                                 \
    }

const struct qry_function qry_function_shift = SHIFT("shift", "As timeShift.");
const struct qry_function qry_function_timeShift =
    SHIFT("timeShift", "The values of that much earlier, shown at the requested times.");
