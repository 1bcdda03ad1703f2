/*
 * exprmach.c - the machine of the expression language: steps over blocks of rows.
 */
#include "query/expressions/exprint.h"

#include <math.h>
#include <string.h>

#define BLOCK_ROWS 512 /* rows that pass all steps together: operands stay in the first-level cache */

/* JEXL's order: NaN is below everything and equal to itself. */
static int jexl_cmp(double a, double b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) ? isnan(b) ? 0 : -1 : 1;
    return (a > b) - (a < b);
}

static bool truth(double d)
{
    return !isnan(d) && d != 0;
}

static double cmp_compat(enum qry_expr_code code, double a, double b)
{
    int c = jexl_cmp(a, b);
    switch (code) {
    case QRY_EXPR_LT:
        return c < 0;
    case QRY_EXPR_LE:
        return c <= 0;
    case QRY_EXPR_GT:
        return c > 0;
    case QRY_EXPR_GE:
        return c >= 0;
    case QRY_EXPR_EQ:
        return c == 0;
    default:
        return c != 0;
    }
}

static double cmp_plain(enum qry_expr_code code, double a, double b)
{
    if (isnan(a) || isnan(b))
        return (double)NAN;
    return cmp_compat(code, a, b);
}

static double logic(enum qry_expr_code code, bool compat, double a, double b)
{
    bool nan = isnan(a) || isnan(b);
    if (code == QRY_EXPR_AND)
        return truth(a) && truth(b) ? 1 : nan && !compat && a != 0 && b != 0 ? (double)NAN : 0;
    return truth(a) || truth(b) ? 1 : nan && !compat ? (double)NAN : 0;
}

/* Arithmetic, a loop each so that compilers make vectors of them. */
static void arithmetic(enum qry_expr_code code, const double *a, const double *b, size_t n, double *out)
{
    switch (code) {
    case QRY_EXPR_ADD:
        for (size_t i = 0; i < n; i++)
            out[i] = a[i] + b[i];
        break;
    case QRY_EXPR_SUB:
        for (size_t i = 0; i < n; i++)
            out[i] = a[i] - b[i];
        break;
    case QRY_EXPR_MUL:
        for (size_t i = 0; i < n; i++)
            out[i] = a[i] * b[i];
        break;
    case QRY_EXPR_DIV:
        for (size_t i = 0; i < n; i++)
            out[i] = b[i] == 0 ? 0 : a[i] / b[i];
        break;
    default:
        for (size_t i = 0; i < n; i++)
            out[i] = b[i] == 0 ? 0 : fmod(a[i], b[i]);
        break;
    }
}

static void compare(enum qry_expr_code code, bool compat, const double *a, const double *b, size_t n,
                    double *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = compat ? cmp_compat(code, a[i], b[i]) : cmp_plain(code, a[i], b[i]);
}

void qry_expr_step(enum qry_expr_code code, bool compat, const double *a, const double *b, const double *c,
                   size_t n, double *out)
{
    switch (code) {
    case QRY_EXPR_NEG:
        for (size_t i = 0; i < n; i++)
            out[i] = -a[i];
        break;
    case QRY_EXPR_NOT:
        for (size_t i = 0; i < n; i++)
            out[i] = !compat && isnan(a[i]) ? a[i] : !truth(a[i]);
        break;
    case QRY_EXPR_LT:
    case QRY_EXPR_LE:
    case QRY_EXPR_GT:
    case QRY_EXPR_GE:
    case QRY_EXPR_EQ:
    case QRY_EXPR_NE:
        compare(code, compat, a, b, n, out);
        break;
    case QRY_EXPR_AND:
    case QRY_EXPR_OR:
        for (size_t i = 0; i < n; i++)
            out[i] = logic(code, compat, a[i], b[i]);
        break;
    case QRY_EXPR_SELECT:
        for (size_t i = 0; i < n; i++)
            out[i] = !compat && isnan(a[i]) ? a[i] : truth(a[i]) ? b[i] : c[i];
        break;
    default:
        arithmetic(code, a, b, n, out);
        break;
    }
}

size_t qry_expr_scratch_bytes(const struct qry_expr *e)
{
    return e->n_stack * (BLOCK_ROWS * sizeof(double) + sizeof(double *));
}

/* All steps over one block; the result lies in *where. */
static void run_block(const struct qry_expr *e, const struct qry_expr_op *ops, size_t n_ops,
                      const double *const *vars, size_t from, size_t n, const double **where, double *regs)
{
    size_t sp = 0;
    for (size_t i = 0; i < n_ops; i++) {
        const struct qry_expr_op *op = &ops[i];
        sp -= qry_expr_arity(op->code);
        double *reg = regs + sp * BLOCK_ROWS;
        if (op->code == QRY_EXPR_VAR) {
            where[sp++] = vars[op->var] + from;
            continue;
        }
        if (op->code == QRY_EXPR_CONST)
            for (size_t k = 0; k < n; k++)
                reg[k] = op->d;
        else
            qry_expr_step(op->code, e->compat, where[sp], qry_expr_arity(op->code) > 1 ? where[sp + 1] : NULL,
                          qry_expr_arity(op->code) > 2 ? where[sp + 2] : NULL, n, reg);
        where[sp++] = reg;
    }
}

int qry_expr_run(const struct qry_expr *e, const double *const *vars, size_t n, void *scratch, double *out,
                 struct ts_error *err)
{
    double *regs = scratch;
    const double **where = (const double **)(void *)(regs + e->n_stack * BLOCK_ROWS);
    for (size_t from = 0; from < n; from += BLOCK_ROWS) {
        size_t k = n - from < BLOCK_ROWS ? n - from : BLOCK_ROWS;
        if (e->n_bad) {
            run_block(e, e->bad, e->n_bad, vars, from, k, where, regs);
            for (size_t i = 0; i < k; i++)
                if (where[0][i] != 0)
                    return ts_error_set(
                        err, TS_EINVAL,
                        "The expression's result is a constant, not a double: write it so that it "
                        "is computed from a variable");
        }
        run_block(e, e->ops, e->n_ops, vars, from, k, where, regs);
        memmove(out + from, where[0], k * sizeof *out);
    }
    return 0;
}
