/*
 * gexprun.c - runs the sub queries of functions, and applies functions from the inside out.
 */
#include "query/functions/gexp.h"

#include <string.h>

/* A request at work. */
struct run {
    struct sto_store *st;
    struct ts_pool *pool;
    const struct qry_gexp *g;
    struct qry_limit *limit;
    struct qry_work work;
    struct qry_cols *sets; /* [n_leaves] */
};

/* Run all sub queries that have the same time shift. */
static int run_shifted(struct run *r, int64_t shift_ms, struct ts_error *err)
{
    const struct qry_gexp *g = r->g;
    struct ts_arena *arena = &r->work.arena;
    struct qry_spec spec = g->spec;
    struct qry_cols *sets = ts_arena_zalloc(arena, g->n_leaves * sizeof *sets);
    struct qry_collect collect = {.work = &r->work, .sets = sets};
    spec.view = &r->work.view;
    spec.start_ms -= shift_ms;
    spec.end_ms -= shift_ms;
    spec.subs = ts_arena_alloc(arena, g->n_leaves * sizeof *spec.subs);
    spec.n_subs = 0;
    for (size_t i = 0; i < g->n_leaves; i++)
        if (g->leaves[i].shift_ms == shift_ms)
            spec.subs[spec.n_subs++] = g->spec.subs[g->leaves[i].sub];
    collect.n_sets = spec.n_subs;
    TS_TRY(qry_run(r->st, r->pool, &spec, r->limit, qry_collect_series, &collect, err));
    for (size_t i = 0, k = 0; i < g->n_leaves; i++)
        if (g->leaves[i].shift_ms == shift_ms)
            r->sets[i] = sets[k++];
    return 0;
}

static int run_leaves(struct run *r, struct ts_error *err)
{
    const struct qry_gexp *g = r->g;
    r->sets = ts_arena_zalloc(&r->work.arena, (g->n_leaves + 1) * sizeof *r->sets);
    for (size_t i = 0; i < g->n_leaves; i++) {
        size_t first = 0;
        while (g->leaves[first].shift_ms != g->leaves[i].shift_ms)
            first++;
        if (first == i)
            TS_TRY(run_shifted(r, g->leaves[i].shift_ms, err));
    }
    return 0;
}

static int apply(struct run *r, const struct qry_gexp_node *node, struct qry_cols *out, struct ts_error *err)
{
    const struct qry_cols *sets[QRY_FN_MAX_SETS];
    if (!node->fn) {
        *out = r->sets[node->leaf];
        return 0;
    }
    struct qry_cols *in = ts_arena_alloc(&r->work.arena, node->n_args * sizeof *in);
    for (size_t i = 0; i < node->n_args; i++) {
        TS_TRY(apply(r, node->args[i], &in[i], err));
        sets[i] = &in[i];
    }
    struct qry_fn_args args = {
        .sets = sets, .n_sets = node->n_args, .words = node->words, .n_words = node->n_words};
    return node->fn->apply(node->fn, &r->work, &args, out, err);
}

/* The sub query that stands first in a call, for showQuery. */
static size_t first_sub(const struct run *r, const struct qry_gexp_node *node)
{
    while (node->fn)
        node = node->args[0];
    return r->g->leaves[node->leaf].sub;
}

static int run_all(struct run *r, qry_series_fn emit, void *arg, struct ts_error *err)
{
    TS_TRY(run_leaves(r, err));
    for (size_t i = 0; i < r->g->n_exps; i++) {
        struct qry_cols cols;
        TS_TRY(apply(r, r->g->exps[i], &cols, err));
        for (size_t k = 0; k < cols.n; k++) {
            struct qry_series s;
            TS_TRY(qry_col_series(&r->work, &cols.col[k], first_sub(r, r->g->exps[i]), &s, err));
            TS_TRY(emit(arg, &s, err));
        }
    }
    return 0;
}

int qry_gexp_run(struct sto_store *st, struct ts_pool *pool, const struct qry_gexp *g,
                 struct qry_limit *limit, qry_series_fn emit, void *arg, struct ts_error *err)
{
    struct run r = {.st = st, .pool = pool, .g = g, .limit = limit};
    qry_work_open(&r.work, st, limit, g->spec.compat);
    int rc = run_all(&r, emit, arg, err);
    qry_work_close(&r.work);
    return rc;
}
