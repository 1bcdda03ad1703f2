/*
 * gexp.h - /api/query/gexp: functions over sub queries, "scale(sum:cpu{host=*}, 10)".
 *
 *   call  = name "(" param { "," param } ")"        param = call | sub query | word
 *
 * A sub query is the value of m (with compat only the simple ones that OpenTSDB reads here), a word may be quoted.
 * Sub queries and calls come before words. The functions are listed in functions/table.c.
 *
 * Threads    a parsed request is constant; a run belongs to one thread and spreads over the pool
 * Source     docs/OPENTSDB.md, sections 8.1, 8.3
 */
#ifndef QUERY_FUNCTIONS_GEXP_H
#define QUERY_FUNCTIONS_GEXP_H

#include "query/functions/function.h"
#include "query/query.h"

#define QRY_GEXP_MAX_BYTES 16384 /* of one exp */
#define QRY_GEXP_MAX_DEPTH 32    /* calls inside each other */
#define QRY_GEXP_MAX_NODES 1000  /* calls and sub queries of one request */

/* A call or a sub query. */
struct qry_gexp_node {
    const struct qry_function *fn; /* NULL: a sub query */
    struct ts_slice sub_text;      /* sub query: as m has it */
    size_t leaf;                   /* sub query: number of what is requested */
    struct qry_gexp_node **args;   /* call: sets, in their order */
    size_t n_args;                 /* how many */
    struct ts_slice *words;        /* call: then words */
    size_t n_words;                /* how many */
};
/* A sub query and the time shift at which it runs. Equal ones run once. */
struct qry_gexp_leaf {
    size_t sub;       /* in spec.subs */
    int64_t shift_ms; /* the query's range is shifted back by this */
};
/* A request. Memory lives in the parser's arena. */
struct qry_gexp {
    struct qry_spec spec; /* times and flags; subs: the different sub queries */
    struct qry_gexp_node **exps;
    size_t n_exps;
    struct qry_gexp_leaf *leaves;
    size_t n_leaves;
};

/** From request parameters: start, end, flags as for /api/query, and exp, once or several times. Parameters m and
 * tsuid are ignored. TS_EPARSE "Failed to parse ..." with the position, TS_EINVAL (unknown function, wrong arguments,
 * errors of sub queries), TS_ELIMIT. */
int qry_gexp_parse(const struct qry_param *params, size_t n, int64_t now_ms, bool compat,
                   struct ts_arena *arena, struct qry_gexp *out, struct ts_error *err);
/** One exp as a tree; spec and leaves are not made yet. For qry_gexp_parse and tests. */
int qry_gexp_tree(struct ts_slice text, bool compat, struct ts_arena *arena, struct qry_gexp_node **out,
                  struct ts_error *err);
/** Run the queries, apply the functions, emit the results of the exps one after the other. Errors of qry_run
 * and of functions. */
int qry_gexp_run(struct sto_store *st, struct ts_pool *pool, const struct qry_gexp *g,
                 struct qry_limit *limit, qry_series_fn emit, void *arg, struct ts_error *err);

#endif
