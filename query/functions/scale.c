/*
 * scale.c - scale(q, factor): integers stay integers when the factor is whole.
 */
#include "query/functions/function.h"

#include "base/text.h"
#include "base/double.h"

#include <math.h>
#include <string.h>

static int factor_of(const struct qry_function *f, struct ts_slice word, bool compat, double *out,
                     struct ts_error *err)
{
    struct ts_num v;
    bool plain = true;
    for (size_t i = 0; i < word.n; i++)
        plain = plain && strchr("0123456789-.", word.p[i]);
    if ((plain || !compat) && ts_num_parse(word, &v, NULL) == 0) {
        *out = ts_num_double(v);
        return 0;
    }
    return ts_error_set(err, TS_EINVAL, "%s: '%.*s' is no number", f->name, TS_SHOWN(word, 60));
}

static int scale_check(const struct qry_function *f, const struct qry_fn_args *args, bool compat,
                       int64_t *out_shift_ms, struct ts_error *err)
{
    double factor;
    (void)out_shift_ms;
    return factor_of(f, args->words[0], compat, &factor, err);
}

static void scale(void *arg, struct qry_col *c, uint64_t *out)
{
    double factor = *(const double *)arg;
    bool whole = floor(factor) == factor && fabs(factor) < 0x1p62;
    uint64_t times = whole ? (uint64_t)(int64_t)factor : 0;
    for (size_t k = 0; k < c->n; k++) {
        if (whole && qry_col_int(c, k)) {
            out[k] = c->v[k] * times;
            continue;
        }
        out[k] = ts_double_bits(qry_col_double(c, k) * factor);
    }
    if (!whole) {
        c->is_int = NULL;
        c->all_int = false;
    }
}

static int scale_apply(const struct qry_function *f, struct qry_work *w, const struct qry_fn_args *args,
                       struct qry_cols *out, struct ts_error *err)
{
    double factor;
    TS_TRY(factor_of(f, args->words[0], w->compat, &factor, err));
    return qry_function__map(w, args->sets[0], scale, &factor, out, err);
}

const struct qry_function qry_function_scale = {.name = "scale",
                                                .min_sets = 1,
                                                .max_sets = 1,
                                                .n_words = 1,
                                                .check = scale_check,
                                                .apply = scale_apply,
                                                .usage = "scale(query, factor)",
                                                .help = "Values times a number."};
