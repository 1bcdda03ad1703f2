/*
 * alias.c - alias(q, name): another name for the metric. OpenTSDB takes absolute values on the way, so compat
 * does.
 */
#include "query/functions/function.h"

static int alias_apply(const struct qry_function *f, struct qry_work *w, const struct qry_fn_args *args,
                       struct qry_cols *out, struct ts_error *err)
{
    struct qry_name *name;
    TS_TRY(w->compat ? qry_function_absolute.apply(f, w, args, out, err)
                     : qry_function__copy(w, args->sets[0], out, err));
    TS_TRY(qry_work_take(w, 1, sizeof *name, &name, err));
    *name = (struct qry_name){.text = args->words[0]};
    for (size_t i = 0; i < out->n; i++) {
        out->col[i].label.metrics = name;
        out->col[i].label.n_metrics = 1;
    }
    return 0;
}

const struct qry_function qry_function_alias = {.name = "alias",
                                                .min_sets = 1,
                                                .max_sets = 1,
                                                .n_words = 1,
                                                .apply = alias_apply,
                                                .usage = "alias(query, name)",
                                                .help = "Another name for the metric."};
