/*
 * expr.c - parser of the expression language: text into steps, constants worked out on the way.
 *
 * Steps are appended as they are recognised, operands first, so the list of steps is the program. Precedence
 * climbing; depth is counted, not trusted.
 */
#include "query/expressions/expr.h"

#include "base/text.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "query/expressions/exprint.h"

enum token {
    TOK_END,
    TOK_NUMBER,
    TOK_NAME,
    TOK_OP,
    TOK_NOT,
    TOK_OPEN,
    TOK_CLOSE,
    TOK_ASK,
    TOK_ELSE,
    TOK_BAD
};

/* A binary operator. */
struct infix {
    const char *text; /* as written */
    const char *word; /* the same as a word; NULL: none */
    enum qry_expr_code code;
    int level; /* binds tighter the higher it is */
};
static const struct infix infixes[] = {
    /* longer texts first */
    {"&&", "and", QRY_EXPR_AND, 2}, {"||", "or", QRY_EXPR_OR, 1}, {"==", "eq", QRY_EXPR_EQ, 3},
    {"!=", "ne", QRY_EXPR_NE, 3},   {"<=", "le", QRY_EXPR_LE, 4}, {">=", "ge", QRY_EXPR_GE, 4},
    {"<", "lt", QRY_EXPR_LT, 4},    {">", "gt", QRY_EXPR_GT, 4},  {"+", NULL, QRY_EXPR_ADD, 5},
    {"-", NULL, QRY_EXPR_SUB, 5},   {"*", NULL, QRY_EXPR_MUL, 6}, {"/", "div", QRY_EXPR_DIV, 6},
    {"%", "mod", QRY_EXPR_MOD, 6},
};
#define N_INFIXES (sizeof infixes / sizeof infixes[0])

struct parser {
    struct ts_slice text;
    size_t at;      /* next byte */
    size_t tok_at;  /* where the token began */
    enum token tok; /* the current token */
    struct ts_slice tok_text;
    const struct infix *op; /* TOK_OP */
    int depth;
    bool compat;
    struct ts_arena *arena;
    struct qry_expr *e;
    struct qry_expr_op *ops; /* owned, allocated twice for each byte of text */
    size_t n;
    struct ts_error *err;
};

/* --- tokens --- */
static bool is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$';
}

static size_t run_of(const struct parser *p, size_t from, int (*is)(int))
{
    size_t n = 0;
    while (from + n < p->text.n && is((unsigned char)p->text.p[from + n]))
        n++;
    return n;
}

/* Bytes of the number that begins here: 12, 1.5, 1e6, 1.5E-3, with d, f or l behind it. */
static size_t number_bytes(const struct parser *p)
{
    size_t n = run_of(p, p->at, isdigit), k;
    const char *t = p->text.p + p->at;
    size_t left = p->text.n - p->at;
    if (n + 1 < left && t[n] == '.' && (k = run_of(p, p->at + n + 1, isdigit)) > 0)
        n += 1 + k;
    if (n < left && (t[n] | 0x20) == 'e') {
        size_t sign = n + 1 < left && (t[n + 1] == '-' || t[n + 1] == '+');
        if ((k = run_of(p, p->at + n + 1 + sign, isdigit)) > 0)
            n += 1 + sign + k;
    }
    if (n < left && strchr("dDfFlL", t[n]))
        n++;
    return n;
}

static void take(struct parser *p, enum token tok, size_t n)
{
    p->tok = tok;
    p->tok_text = (struct ts_slice){p->text.p + p->at, n};
    p->at += n;
}

static void take_word(struct parser *p)
{
    size_t n = 0;
    while (p->at + n < p->text.n && is_name(p->text.p[p->at + n]))
        n++;
    take(p, TOK_NAME, n);
    for (size_t i = 0; i < N_INFIXES; i++)
        if (infixes[i].word && ts_slice_is(p->tok_text, infixes[i].word)) {
            p->op = &infixes[i];
            p->tok = TOK_OP;
        }
    if (ts_slice_is(p->tok_text, "not"))
        p->tok = TOK_NOT;
}

static void next(struct parser *p)
{
    p->at += run_of(p, p->at, isspace);
    p->tok_at = p->at;
    struct ts_slice rest = {p->text.p + p->at, p->text.n - p->at};
    if (!rest.n) {
        take(p, TOK_END, 0);
        return;
    }
    for (size_t i = 0; i < N_INFIXES; i++) {
        size_t n = strlen(infixes[i].text);
        if (rest.n >= n && memcmp(rest.p, infixes[i].text, n) == 0) {
            p->op = &infixes[i];
            take(p, TOK_OP, n);
            return;
        }
    }
    char c = rest.p[0];
    if (isdigit((unsigned char)c))
        take(p, TOK_NUMBER, number_bytes(p));
    else if (is_name(c))
        take_word(p);
    else
        take(p,
             c == '('   ? TOK_OPEN
             : c == ')' ? TOK_CLOSE
             : c == '?' ? TOK_ASK
             : c == ':' ? TOK_ELSE
             : c == '!' ? TOK_NOT
                        : TOK_BAD,
             1);
}

static int unexpected(struct parser *p, const char *wanted)
{
    if (p->tok == TOK_END)
        return ts_error_set(p->err, TS_EPARSE,
                            "Failed to parse expression '%.*s': it ends at position %zu where %s is wanted",
                            TS_SHOWN(p->text, 120), p->tok_at + 1, wanted);
    return ts_error_set(p->err, TS_EPARSE,
                        "Failed to parse expression '%.*s': unexpected '%.*s' at position %zu, %s is wanted",
                        TS_SHOWN(p->text, 120), TS_SHOWN(p->tok_text, 120), p->tok_at + 1, wanted);
}

/* --- steps --- */
static struct qry_expr_op *last(struct parser *p)
{
    return &p->ops[p->n - 1];
}

static void emit(struct parser *p, struct qry_expr_op op)
{
    p->ops[p->n++] = op;
}

/* Whole numbers as JEXL reckons them: false if doubles do the work. */
static bool fold_integers(enum qry_expr_code code, struct qry_expr_op *a, const struct qry_expr_op *b)
{
    int64_t x = (int64_t)a->d, y = (int64_t)b->d;
    if ((code != QRY_EXPR_DIV && code != QRY_EXPR_MOD) || y == 0 || fabs(a->d) > 0x1p53 ||
        fabs(b->d) > 0x1p53)
        return false;
    a->d = (double)(code == QRY_EXPR_DIV ? x / y : x % y);
    return true;
}

/* The kind of what an operator makes. */
static enum qry_expr_kind kind_of(enum qry_expr_code code, enum qry_expr_kind a, enum qry_expr_kind b,
                                  double divisor)
{
    if (code == QRY_EXPR_NOT || (code >= QRY_EXPR_LT && code <= QRY_EXPR_OR))
        return QRY_EXPR_BOOL;
    if (code == QRY_EXPR_NEG)
        return a;
    bool by_zero = (code == QRY_EXPR_DIV || code == QRY_EXPR_MOD) && divisor == 0;
    return a == QRY_EXPR_INTEGER && b == QRY_EXPR_INTEGER && !by_zero ? QRY_EXPR_INTEGER : QRY_EXPR_DOUBLE;
}

/* An operator over the steps from start on; constants are worked out at once. */
static void emit_op(struct parser *p, enum qry_expr_code code, size_t start)
{
    unsigned arity = qry_expr_arity(code);
    bool constant = true;
    struct qry_expr_op *a = arity == 2 && p->n >= 2 ? last(p) - 1 : last(p), *b = last(p);
    for (unsigned i = 0; i < arity && i < p->n; i++)
        constant = constant && p->ops[p->n - 1 - i].code == QRY_EXPR_CONST;
    constant = constant && p->n - start == arity && arity < 3;
    if (!constant) {
        bool truth = code == QRY_EXPR_NOT || (code >= QRY_EXPR_LT && code <= QRY_EXPR_OR);
        emit(p, (struct qry_expr_op){
                    .code = code, .kind = truth ? QRY_EXPR_BOOL : QRY_EXPR_DOUBLE, .start = (uint32_t)start});
        return;
    }
    enum qry_expr_kind kind = kind_of(code, a->kind, b->kind, b->d);
    if (!(kind == QRY_EXPR_INTEGER && arity == 2 && fold_integers(code, a, b)))
        qry_expr_step(code, p->compat, &a->d, arity == 2 ? &b->d : NULL, NULL, 1, &a->d);
    p->n = start + 1;
    a->kind = kind;
}

/* JEXL keeps 0.1 as a 32-bit float and continues with the shortest decimal that gives the same float. */
static double shortest_float(double d)
{
    char text[40];
    struct ts_num v;
    float f = (float)d;
    for (int digits = 6; digits <= 9; digits++) {
        int n = snprintf(text, sizeof text, "%.*e", digits - 1, (double)f);
        if (ts_num_parse((struct ts_slice){text, (size_t)n}, &v, NULL) == 0 && (float)ts_num_double(v) == f)
            return ts_num_double(v);
    }
    return (double)f;
}

static int emit_number(struct parser *p)
{
    struct ts_slice s = p->tok_text;
    struct ts_num v;
    struct ts_error why = {0};
    char suffix = (char)(s.p[s.n - 1] | 0x20);
    bool whole = !memchr(s.p, '.', s.n) && !memchr(s.p, 'e', s.n) && !memchr(s.p, 'E', s.n);
    if (suffix == 'd' || suffix == 'f' || suffix == 'l')
        s.n--;
    if (ts_num_parse(s, &v, &why) < 0)
        return ts_error_set(p->err, TS_EPARSE,
                            "Failed to parse expression '%.*s': number '%.*s' at position %zu: %s",
                            TS_SHOWN(p->text, 120), TS_SHOWN(p->tok_text, 120), p->tok_at + 1, why.text);
    struct qry_expr_op op = {.code = QRY_EXPR_CONST, .d = ts_num_double(v), .start = (uint32_t)p->n};
    if (p->compat && suffix != 'd') {
        op.kind = whole && suffix != 'f' ? QRY_EXPR_INTEGER : QRY_EXPR_FLOAT;
        if (op.kind == QRY_EXPR_FLOAT && isfinite((float)op.d))
            op.d = shortest_float(op.d);
    }
    emit(p, op);
    return 0;
}

static int emit_name(struct parser *p)
{
    struct ts_slice s = p->tok_text;
    struct qry_expr *e = p->e;
    struct qry_expr_op op = {.code = QRY_EXPR_VAR, .start = (uint32_t)p->n};
    if (ts_slice_is(s, "true") || ts_slice_is(s, "false")) {
        emit(p, (struct qry_expr_op){
                    .code = QRY_EXPR_CONST, .kind = QRY_EXPR_BOOL, .d = s.n == 4, .start = op.start});
        return 0;
    }
    while (op.var < e->n_vars && !ts_slice_eq(e->vars[op.var], s))
        op.var++;
    if (op.var == QRY_EXPR_MAX_VARS)
        return ts_error_set(p->err, TS_ELIMIT, "The expression has more than %d variables",
                            QRY_EXPR_MAX_VARS);
    if (op.var == e->n_vars)
        e->vars[e->n_vars++] = (struct ts_slice){ts_arena_strndup(p->arena, s.p, s.n), s.n};
    emit(p, op);
    return 0;
}

/* --- grammar --- */
static int parse_choice(struct parser *p);

static int deeper(struct parser *p)
{
    if (++p->depth <= QRY_EXPR_MAX_DEPTH)
        return 0;
    return ts_error_set(p->err, TS_ELIMIT,
                        "The expression is nested more than %d levels deep at position %zu",
                        QRY_EXPR_MAX_DEPTH, p->tok_at + 1);
}

static int parse_unary(struct parser *p)
{
    size_t start = p->n;
    int rc;
    if (p->tok == TOK_NOT || (p->tok == TOK_OP && p->op->code == QRY_EXPR_SUB)) {
        enum qry_expr_code code = p->tok == TOK_NOT ? QRY_EXPR_NOT : QRY_EXPR_NEG;
        TS_TRY(deeper(p));
        next(p);
        TS_TRY(parse_unary(p));
        emit_op(p, code, start);
        p->depth--;
        return 0;
    }
    if (p->tok == TOK_OPEN) {
        TS_TRY(deeper(p));
        next(p);
        TS_TRY(parse_choice(p));
        if (p->tok != TOK_CLOSE)
            return unexpected(p, "')'");
        p->depth--;
    } else {
        if (p->tok != TOK_NUMBER && p->tok != TOK_NAME)
            return unexpected(p, "a variable, a number or '('");
        rc = p->tok == TOK_NUMBER ? emit_number(p) : emit_name(p);
        if (rc < 0)
            return rc;
    }
    next(p);
    return 0;
}

/* Operators of this level or higher, the left one first. */
static int parse_infix(struct parser *p, int level)
{
    size_t start = p->n;
    TS_TRY(parse_unary(p));
    while (p->tok == TOK_OP && p->op->level >= level) {
        const struct infix *op = p->op;
        next(p);
        TS_TRY(parse_infix(p, op->level + 1));
        emit_op(p, op->code, start);
    }
    return 0;
}

static int parse_choice(struct parser *p)
{
    size_t start = p->n;
    TS_TRY(parse_infix(p, 1));
    if (p->tok != TOK_ASK)
        return 0;
    TS_TRY(deeper(p));
    next(p);
    TS_TRY(parse_choice(p));
    if (p->tok != TOK_ELSE)
        return unexpected(p, "':'");
    next(p);
    TS_TRY(parse_choice(p));
    emit_op(p, QRY_EXPR_SELECT, start);
    p->depth--;
    return 0;
}

/* --- the whole --- */
static size_t stack_of(const struct qry_expr_op *ops, size_t n)
{
    size_t sp = 0, most = 0;
    for (size_t i = 0; i < n; i++) {
        sp = sp - qry_expr_arity(ops[i].code) + 1;
        most = sp > most ? sp : most;
    }
    return most;
}

/* Append to bad[] the check whether step i, whose value is the result, is a plain constant. */
static void emit_bad(struct parser *p, size_t i, struct qry_expr_op *bad, size_t *n)
{
    const struct qry_expr_op *op = &p->ops[i];
    if (op->code != QRY_EXPR_SELECT) {
        bool plain = op->kind == QRY_EXPR_INTEGER || op->kind == QRY_EXPR_FLOAT;
        bad[(*n)++] = (struct qry_expr_op){.code = QRY_EXPR_CONST, .d = plain};
        return;
    }
    size_t last_b = i - 1, last_a = p->ops[last_b].start - 1, last_c = p->ops[last_a].start - 1;
    for (size_t k = op->start; k <= last_c; k++)
        bad[(*n)++] = p->ops[k];
    emit_bad(p, last_a, bad, n);
    emit_bad(p, last_b, bad, n);
    bad[(*n)++] = (struct qry_expr_op){.code = QRY_EXPR_SELECT};
}

static size_t find_bad(struct parser *p)
{
    struct qry_expr_op *bad = p->ops + p->n;
    size_t n = 0;
    bool any = false;
    emit_bad(p, p->n - 1, bad, &n);
    for (size_t i = 0; i < n; i++)
        any = any || (bad[i].code == QRY_EXPR_CONST && bad[i].d != 0);
    return any ? n : 0;
}

/* The steps into the arena, no larger than they are. */
static void keep(struct parser *p)
{
    struct qry_expr *e = p->e;
    e->n_ops = p->n;
    e->n_bad = p->compat ? find_bad(p) : 0;
    struct qry_expr_op *ops = ts_arena_alloc(p->arena, (e->n_ops + e->n_bad) * sizeof *ops);
    memcpy(ops, p->ops, (e->n_ops + e->n_bad) * sizeof *ops);
    e->ops = ops;
    e->bad = ops + e->n_ops;
    size_t n = stack_of(e->ops, e->n_ops), n_bad = stack_of(e->bad, e->n_bad);
    e->n_stack = n > n_bad ? n : n_bad;
}

int qry_expr_parse(struct ts_slice text, bool compat, struct ts_arena *arena, struct qry_expr *out,
                   struct ts_error *err)
{
    struct parser p = {.text = text, .compat = compat, .arena = arena, .e = out, .err = err};
    *out = (struct qry_expr){.compat = compat};
    if (text.n > QRY_EXPR_MAX_BYTES)
        return ts_error_set(err, TS_ELIMIT, "The expression has %zu bytes, more than %d", text.n,
                            QRY_EXPR_MAX_BYTES);
    /* a token makes one step at most, and a copy of it for bad; a choice one more */
    p.ops = ts_xmalloc((2 * text.n + 2) * sizeof *p.ops);
    out->vars = ts_arena_alloc(arena, (text.n < QRY_EXPR_MAX_VARS ? text.n + 1 : QRY_EXPR_MAX_VARS) *
                                          sizeof *out->vars);
    next(&p);
    int rc = parse_choice(&p);
    if (rc == 0 && p.tok != TOK_END)
        rc = unexpected(&p, "an operator");
    if (rc == 0)
        keep(&p);
    ts_free(p.ops);
    return rc;
}
