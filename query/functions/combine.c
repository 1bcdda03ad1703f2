/*
 * combine.c - sumSeries, diffSeries, multiplySeries, divideSeries: columns with the same tags, from left to right, as doubles,
 * by a program as formulas have. What is missing counts as 0.
 */
#include "query/functions/function.h"

#include "query/expressions/eval.h"
#include "query/expressions/exprint.h"

static int combine_apply(const struct qry_function *f, struct qry_work *w, const struct qry_fn_args *args,
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

/* op: the step between two operands. */
#define COMBINE(FN_NAME, OP, HELP)                                                                           \
    const struct qry_function qry_function_##FN_NAME = {.name = #FN_NAME,                                    \
                                                        .min_sets = 2,                                       \
                                                        .max_sets = QRY_FN_MAX_SETS,                         \
                                                        .op = QRY_EXPR_##OP,                                 \
                                                        .apply = combine_apply,                              \
                                                        .usage = #FN_NAME "(query, query, ...)",             \
                                                        .help = HELP}

COMBINE(diffSeries, SUB,
        "The first one without the others, series with the same tags; 0 where one has no value.");
COMBINE(difference, SUB, "As diffSeries.");
COMBINE(divide, DIV, "As divideSeries.");
COMBINE(divideSeries, DIV, "The first one divided by the others; x / 0 is 0.");
COMBINE(multiply, MUL, "As multiplySeries.");
COMBINE(multiplySeries, MUL, "Product of series with the same tags.");
COMBINE(sum, ADD, "As sumSeries.");
COMBINE(sumSeries, ADD, "Sum of series with the same tags.");
