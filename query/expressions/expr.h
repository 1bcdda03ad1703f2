/*
 * expr.h - the expression language of formulas over series: "a / (a + b) * 100". A formula is parsed once to a program, which runs
 * over arrays with one value per row.
 *
 *   a + b - c * d / e % f    == != < <= > >=    && || !    x ? y : z    ( )    1  2.5  1e6  true  false
 *   words: eq ne lt le gt ge and or not div mod
 *
 * All values are doubles; true is 1.0, false 0.0. Division and remainder by zero give 0.0. Arithmetic propagates NaN.
 * A comparison or condition of NaN is NaN; with compat it is what JEXL makes of it: NaN is less than every number,
 * equal to itself, and false.
 *
 * Threads    a parsed program is constant; each run belongs to one thread
 * Not here   the series of the variables (exprrun.c)
 * Source     docs/OPENTSDB.md, section 8.2 "Expression language"; Apache JEXL 2.1 (precedence, kinds of literals)
 */
#ifndef QUERY_EXPRESSIONS_EXPR_H
#define QUERY_EXPRESSIONS_EXPR_H

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"

#define QRY_EXPR_MAX_BYTES 8192 /* of a text */
#define QRY_EXPR_MAX_DEPTH 64   /* parentheses, signs and conditions inside each other */
#define QRY_EXPR_MAX_VARS  256  /* different variables */

struct qry_expr_op; /* exprint.h: one step */

/* A program. Memory lives in the arena given to the parser. */
struct qry_expr {
    struct ts_slice *vars;         /* distinct names in the order of their first use */
    size_t n_vars;                 /* how many */
    const struct qry_expr_op *ops; /* steps in the order of execution: operands before operators */
    size_t n_ops;                  /* how many */
    const struct qry_expr_op
        *bad;       /* compat: a program that is not 0 for rows whose result is a plain constant, */
    size_t n_bad;   /* which JEXL does not return as a double; 0: none */
    size_t n_stack; /* most values in use at the same time */
    bool compat;    /* OpenTSDB's NaN */
};

/** Parse a formula.
 *
 * @return 0
 *         TS_EPARSE  with the text, what was found and where: "... at position 5" (bytes from 1)
 *         TS_ELIMIT  too long, too deep, too many variables
 *
 * Owns: names and program are the arena's.   Threads: any.   Cost: O(bytes).
 */
int qry_expr_parse(struct ts_slice text, bool compat, struct ts_arena *arena, struct qry_expr *out,
                   struct ts_error *err);

/** Size in bytes of the scratch memory that qry_expr_run needs. */
size_t qry_expr_scratch_bytes(const struct qry_expr *e);
/**
 * Run a program over n rows.
 *
 * @param vars     [n_vars] arrays of n values, in the order of e->vars
 * @param scratch  qry_expr_scratch_bytes, aligned to 8; contents do not matter
 * @param out      [n] results; may be one of vars
 * @return 0; TS_EINVAL (compat): a row's result is a plain constant
 *
 * Cost: O(n_ops) calls for each 512 rows, no allocation.
 */
int qry_expr_run(const struct qry_expr *e, const double *const *vars, size_t n, void *scratch, double *out,
                 struct ts_error *err);

#endif
