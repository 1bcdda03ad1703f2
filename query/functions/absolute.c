/*
 * absolute.c - absolute(q): values without their sign, their kind kept.
 */
#include "query/functions/function.h"

#define SIGN_BIT (1ull << 63)

static void absolute(void *arg, struct qry_col *c, uint64_t *out)
{
    (void)arg;
    for (size_t k = 0; k < c->n; k++) {
        if (!qry_col_int(c, k))
            out[k] = c->v[k] & ~SIGN_BIT;
        else
            out[k] = (int64_t)c->v[k] < 0 ? 0 - c->v[k] : c->v[k];
    }
}

static int absolute_apply(const struct qry_function *f, struct qry_work *w, const struct qry_fn_args *args,
                          struct qry_cols *out, struct ts_error *err)
{
    (void)f;
    return qry_function__map(w, args->sets[0], absolute, NULL, out, err);
}

const struct qry_function qry_function_absolute = {.name = "absolute",
                                                   .min_sets = 1,
                                                   .max_sets = 1,
                                                   .apply = absolute_apply,
                                                   .usage = "absolute(query)",
                                                   .help = "Values without their sign."};
