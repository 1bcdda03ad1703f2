/*
 * exprint.h - the steps of an expression program, shared by the parser and the interpreter.
 */
#ifndef QUERY_EXPRESSIONS_EXPRINT_H
#define QUERY_EXPRESSIONS_EXPRINT_H

#include "query/expressions/expr.h"

enum qry_expr_code {
    QRY_EXPR_VAR,   /* push a variable */
    QRY_EXPR_CONST, /* push a number */
    QRY_EXPR_NEG,
    QRY_EXPR_NOT,
    QRY_EXPR_ADD,
    QRY_EXPR_SUB,
    QRY_EXPR_MUL,
    QRY_EXPR_DIV,
    QRY_EXPR_MOD,
    QRY_EXPR_LT,
    QRY_EXPR_LE,
    QRY_EXPR_GT,
    QRY_EXPR_GE,
    QRY_EXPR_EQ,
    QRY_EXPR_NE,
    QRY_EXPR_AND,
    QRY_EXPR_OR,
    QRY_EXPR_SELECT, /* condition, then, else */
};

/* The type that JEXL gives to a number in the text. */
enum qry_expr_kind {
    QRY_EXPR_DOUBLE,  /* or no constant at all */
    QRY_EXPR_BOOL,    /* a truth value: printed as 1.0 and 0.0 */
    QRY_EXPR_INTEGER, /* 1: no result, and 1 / 2 is 0 */
    QRY_EXPR_FLOAT,   /* 0.5: no result */
};

struct qry_expr_op {
    enum qry_expr_code code; /* what to do */
    enum qry_expr_kind kind; /* of the value it makes; always DOUBLE or BOOL without compat */
    uint32_t var;            /* VAR: which */
    uint32_t start;          /* first step of the operands this one works on */
    double d;                /* CONST: the number */
};

/** Operands a step takes: 0, 1, 2 or 3. */
static inline unsigned qry_expr_arity(enum qry_expr_code code)
{
    return code <= QRY_EXPR_CONST ? 0 : code <= QRY_EXPR_NOT ? 1 : code < QRY_EXPR_SELECT ? 2 : 3;
}
/** One step over n rows: a, b, c are operands, unused ones NULL. out may be a. */
void qry_expr_step(enum qry_expr_code code, bool compat, const double *a, const double *b, const double *c,
                   size_t n, double *out);

#endif
