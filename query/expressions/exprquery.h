/*
 * exprquery.h - /api/query/exp: queries of metrics, formulas over them, columns of results.
 *
 *   body > qry_exp_parse > struct qry_exp > qry_exp_run > one struct qry_exp_result an output
 *
 * A formula is computed once, even if several others use it. Its rows are the times of all columns that it joins.
 * Missing values of a column and NaN are replaced by the fill value of its metric (0 if none is given) or formula
 * (NaN).
 *
 * Threads    a parsed request is constant; a run belongs to one thread and spreads over the pool
 * Not here   the language of formulas (expr.h), the reply (tsd/format/exp.c)
 * Source     docs/OPENTSDB.md, sections 8.2, 8.3
 */
#ifndef QUERY_EXPRESSIONS_EXPRQUERY_H
#define QUERY_EXPRESSIONS_EXPRQUERY_H

#include "query/expressions/expr.h"
#include "query/expressions/exprcols.h"
#include "query/filters/filter.h"

#define QRY_EXP_MAX_ITEMS      250   /* metrics, formulas, filters, outputs, of each kind */
#define QRY_EXP_MAX_TEXT_BYTES 65536 /* of all formulas together */

enum qry_exp_policy {
    QRY_EXP_FILL_DEFAULT, /* not given */
    QRY_EXP_FILL_ZERO,
    QRY_EXP_FILL_NAN,
    QRY_EXP_FILL_NULL,
    QRY_EXP_FILL_SCALAR,
    QRY_EXP_FILL_PREVIOUS, /* only for downsamplers; not in OpenTSDB */
};
/** As clients write it; "" for DEFAULT. */
const char *qry_exp_policy_name(enum qry_exp_policy policy);

struct qry_exp_fill {
    enum qry_exp_policy policy;
    double value; /* what is put in; of DEFAULT: 0 for metrics, NaN for formulas */
};
struct qry_exp_filter {
    struct ts_slice id;
    const struct qry_filter *filters; /* ANDed */
    size_t n_filters;
    bool explicit_tags; /* only series with exactly these keys */
};
/* A metric is a sub query of the spec, of the same number. */
struct qry_exp_metric {
    struct ts_slice id, metric;
    struct ts_slice filter;      /* id; p == NULL: none */
    struct ts_slice aggregator;  /* p == NULL: that of time */
    struct ts_slice time_offset; /* echoed */
    struct qry_exp_fill fill;
    const struct ts_slice *keys; /* tag keys that its filters name */
    size_t n_keys;
};
/* What an id stands for. */
struct qry_exp_ref {
    bool is_formula; /* else a metric */
    size_t index;    /* among its kind */
};
struct qry_exp_formula {
    struct ts_slice id, text;
    bool intersection, use_query_tags, with_agg_tags; /* join.h */
    struct qry_exp_fill fill;
    struct qry_expr program;
    struct qry_exp_ref *vars; /* [program.n_vars] */
    bool needs_fill;          /* compat: uses a formula without a fill policy, which OpenTSDB refuses */
};
struct qry_exp_output {
    struct ts_slice id, alias; /* alias.p == NULL: none */
    struct qry_exp_ref ref;
};
/* Texts of the member time, for the echo. */
struct qry_exp_time {
    struct ts_slice start, end, timezone, aggregator; /* p == NULL: not given */
    bool rate, downsampled;
    struct ts_slice interval, function; /* of the downsampler */
    struct qry_exp_fill fill;
};
/* A request. Memory lives in the parser's arena. */
struct qry_exp {
    struct ts_slice name; /* echoed */
    struct qry_spec spec; /* times; a sub query a metric */
    struct qry_exp_time time;
    struct qry_exp_filter *filters;
    struct qry_exp_metric *metrics;
    struct qry_exp_formula *formulas;
    struct qry_exp_output *outputs; /* what is printed, also if not requested by name */
    size_t n_filters, n_metrics, n_formulas, n_outputs;
    size_t *order; /* [n_formulas] numbers of formulas, each after those it uses */
    bool has_filters, has_formulas, has_outputs; /* the members were there */
};

/** From the body of POST /api/query/exp. TS_EINVAL and TS_EPARSE say what is wrong with which id; TS_ELIMIT. */
int qry_exp_parse(struct ts_slice body, int64_t now_ms, bool compat, struct ts_arena *arena,
                  struct qry_exp *out, struct ts_error *err);
/** Second half of qry_exp_parse: checks ids, variables, cycles and outputs, and fills programs, refs and
 * order. */
int qry_exp__check(struct qry_exp *q, struct ts_arena *arena, struct ts_error *err);

/* One output. Borrowed during the callback. */
struct qry_exp_result {
    const struct qry_exp_output *output;
    size_t n_rows;
    const int64_t *ts_ms; /* [n_rows] */
    size_t n_cols;
    const double *const *v;       /* [n_cols][n_rows] */
    const struct qry_col *labels; /* [n_cols]; only the labels count */
    bool nan_is_null;             /* print NaN as null */
};
typedef int (*qry_exp_fn)(void *arg, const struct qry_exp_result *r, struct ts_error *err);
/** Run the queries and compute the formulas: emit is called for each output in order. Errors of qry_run;
 * TS_EINVAL "No intersections found: ...", a formula that gives a constant (compat). */
int qry_exp_run(struct sto_store *st, struct ts_pool *pool, const struct qry_exp *q, struct qry_limit *limit,
                qry_exp_fn emit, void *arg, struct ts_error *err);

#endif
