/*
 * combine.c - sumSeries, diffSeries, multiplySeries, divideSeries: columns with the same tags, from left to right, as doubles,
 * by a program as formulas have. What is missing counts as 0.
 */
#include "query/functions/function.h"

#include "query/expressions/eval.h"
#include "query/expressions/exprint.h"

int qry_fn_combine(const struct qry_function *f, struct qry_work *w, const struct qry_fn_args *args,
                   struct qry_cols *out, struct ts_error *err)
{
    struct qry_expr_op ops[2 * QRY_FN_MAX_SETS]; /* a, b, op, c, op, ... */
    struct qry_expr program = {.n_vars = args->n_sets, .ops = ops, .n_stack = 2, .compat = w->compat};
    struct qry_eval e = {.program = &program, .in = {.sets = args->sets, .n_sets = args->n_sets}};
    for (uint32_t i = 0; i < args->n_sets; i++) {
        ops[program.n_ops++] = (struct qry_expr_op){.code = QRY_EXPR_VAR, .var = i};
        if (i)
            ops[program.n_ops++] = (struct qry_expr_op){.code = (enum qry_expr_code)f->op};
    }
    *out = (struct qry_cols){0};
    return qry_eval(w, &e, out, err);
}
