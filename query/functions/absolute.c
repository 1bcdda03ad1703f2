/*
 * absolute.c - absolute(q): values without their sign, their kind kept.
 */
#include "query/functions/function.h"

#define SIGN_BIT (1ull << 63)

int qry_fn_absolute(const struct qry_function *f, struct qry_work *w, const struct qry_fn_args *args,
                    struct qry_cols *out, struct ts_error *err)
{
    (void)f;
    TS_TRY(qry_function__copy(w, args->sets[0], out, err));
    for (size_t i = 0; i < out->n; i++) {
        struct qry_col *c = &out->col[i];
        uint64_t *v;
        TS_TRY(qry_work_take(w, c->n, sizeof *v, &v, err));
        for (size_t k = 0; k < c->n; k++) {
            if (!qry_col_int(c, k))
                v[k] = c->v[k] & ~SIGN_BIT;
            else
                v[k] = (int64_t)c->v[k] < 0 ? 0 - c->v[k] : c->v[k];
        }
        c->v = v;
    }
    return 0;
}
