/*
 * exprrun.c - running formulas: queries each metric once, joins columns, computes and emits outputs.
 */
#include "query/expressions/exprquery.h"

#include "base/text.h"

#include <math.h>
#include <string.h>

#include "query/expressions/eval.h"

/* A request at work. */
struct run {
    const struct qry_exp *q;
    struct qry_work work;
    struct qry_cols *metrics;  /* [n_metrics] */
    struct qry_cols *formulas; /* [n_formulas] those worked out */
};

static const struct qry_cols *cols_of(const struct run *r, struct qry_exp_ref ref)
{
    return ref.is_formula ? &r->formulas[ref.index] : &r->metrics[ref.index];
}

static double fill_of(const struct run *r, struct qry_exp_ref ref)
{
    return ref.is_formula ? r->q->formulas[ref.index].fill.value : r->q->metrics[ref.index].fill.value;
}

static struct ts_slice id_of(const struct run *r, struct qry_exp_ref ref)
{
    return ref.is_formula ? r->q->formulas[ref.index].id : r->q->metrics[ref.index].id;
}

/* --- running the queries --- */
static int ask(struct run *r, struct sto_store *st, struct ts_pool *pool, struct qry_limit *limit,
               struct ts_error *err)
{
    const struct qry_exp *q = r->q;
    struct qry_spec spec = q->spec;
    spec.view = &r->work.view;
    struct qry_collect collect = {.work = &r->work, .sets = r->metrics, .n_sets = q->n_metrics};
    for (size_t i = 0; i < q->n_outputs; i++)
        if (spec.compat && !q->outputs[i].ref.is_formula)
            spec.uncut = true; /* OpenTSDB prints of metrics what it read */
    TS_TRY(qry_run(st, pool, &spec, limit, qry_collect_series, &collect, err));
    for (size_t i = 0; i < q->n_metrics; i++) {
        r->metrics[i].query_keys = q->metrics[i].keys;
        r->metrics[i].n_query_keys = q->metrics[i].n_keys;
    }
    return 0;
}

/* --- a formula --- */
/* Sets in the order in which they name their union: OpenTSDB's is that of the ids. */
static int take_sets(struct run *r, const struct qry_exp_formula *f, struct qry_eval *e, struct ts_error *err)
{
    size_t n = f->program.n_vars, *set_of;
    const struct qry_cols **sets;
    double *fill;
    TS_TRY(qry_work_take(&r->work, n, sizeof(*sets), &sets, err));
    TS_TRY(qry_work_take(&r->work, n, sizeof *set_of, &set_of, err));
    TS_TRY(qry_work_take(&r->work, n, sizeof *fill, &fill, err));
    for (size_t v = 0; v < n; v++) {
        size_t before = 0;
        for (size_t o = 0; o < n; o++) {
            int c = ts_slice_cmp(id_of(r, f->vars[o]), id_of(r, f->vars[v]));
            before += r->work.compat ? c < 0 || (c == 0 && o < v) : o < v;
        }
        sets[before] = cols_of(r, f->vars[v]);
        set_of[v] = before;
        fill[v] = fill_of(r, f->vars[v]);
    }
    *e = (struct qry_eval){.program = &f->program,
                           .in = {.sets = sets,
                                  .n_sets = n,
                                  .intersection = f->intersection,
                                  .use_query_tags = f->use_query_tags,
                                  .with_agg_tags = f->with_agg_tags},
                           .set_of = set_of,
                           .fill = fill,
                           .zero_missing =
                               r->work.compat, /* OpenTSDB has a policy for times, none for series */
                           .id = f->id};
    return 0;
}

/* Tag keys named in the filters of all that a formula uses. */
static int take_keys(struct run *r, const struct qry_join_in *in, struct qry_cols *out, struct ts_error *err)
{
    struct ts_slice *keys;
    size_t n = 0;
    for (size_t s = 0; s < in->n_sets; s++)
        n += in->sets[s]->n_query_keys;
    TS_TRY(qry_work_take(&r->work, n, sizeof *keys, &keys, err));
    n = 0;
    for (size_t s = 0; s < in->n_sets; s++)
        for (size_t i = 0; i < in->sets[s]->n_query_keys; i++) {
            size_t k = 0;
            while (k < n && !ts_slice_eq(keys[k], in->sets[s]->query_keys[i]))
                k++;
            keys[k] = in->sets[s]->query_keys[i];
            n += k == n;
        }
    out->query_keys = keys;
    out->n_query_keys = n;
    return 0;
}

static int work_out(struct run *r, size_t index, struct ts_error *err)
{
    const struct qry_exp_formula *f = &r->q->formulas[index];
    struct qry_eval e;
    if (f->needs_fill)
        return ts_error_set(
            err, TS_EINVAL,
            "Expression '%.*s' uses an expression without a fillPolicy, which OpenTSDB can't do",
            TS_SHOWN(f->id, 60));
    TS_TRY(take_sets(r, f, &e, err));
    TS_TRY(qry_eval(&r->work, &e, &r->formulas[index], err));
    return take_keys(r, &e.in, &r->formulas[index], err);
}

/* --- outputs --- */
/* Columns of a metric on common times. */
static int metric_columns(struct run *r, struct qry_exp_ref ref, struct qry_exp_result *out,
                          struct ts_error *err)
{
    const struct qry_cols *cols = &r->metrics[ref.index];
    const struct qry_col **all;
    double **v;
    TS_TRY(qry_work_take(&r->work, cols->n, sizeof(*all), &all, err));
    TS_TRY(qry_work_take(&r->work, cols->n, sizeof(*v), &v, err));
    for (size_t i = 0; i < cols->n; i++)
        all[i] = &cols->col[i];
    TS_TRY(qry_cols_rows(&r->work, all, cols->n, &out->ts_ms, &out->n_rows, err));
    for (size_t i = 0; i < cols->n; i++) {
        TS_TRY(qry_work_take(&r->work, out->n_rows, sizeof(**v), &v[i], err));
        qry_col_align(all[i], out->ts_ms, out->n_rows, fill_of(r, ref), v[i]);
    }
    out->v = (const double *const *)v;
    return 0;
}

/* Columns of a formula between start and end. */
static int formula_columns(struct run *r, struct qry_exp_ref ref, struct qry_exp_result *out,
                           struct ts_error *err)
{
    const struct qry_cols *cols = &r->formulas[ref.index];
    const struct qry_spec *spec = &r->q->spec;
    const double **v;
    size_t from = 0, to = cols->n ? cols->col[0].n : 0;
    TS_TRY(qry_work_take(&r->work, cols->n, sizeof(*v), &v, err));
    while (from < to && cols->col[0].ts_ms[from] < spec->start_ms)
        from++;
    while (to > from && cols->col[0].ts_ms[to - 1] > spec->end_ms)
        to--;
    for (size_t i = 0; i < cols->n; i++)
        v[i] = from ? (const double *)(const void *)cols->col[i].v + from
                    : (const double *)(const void *)cols->col[i].v; /* without rows it is NULL */
    out->ts_ms = !cols->n ? NULL : from ? cols->col[0].ts_ms + from : cols->col[0].ts_ms;
    out->n_rows = to - from;
    out->v = v;
    return 0;
}

static int emit_all(struct run *r, qry_exp_fn emit, void *arg, struct ts_error *err)
{
    const struct qry_exp *q = r->q;
    for (size_t i = 0; i < q->n_outputs; i++) {
        struct qry_exp_ref ref = q->outputs[i].ref;
        const struct qry_exp_fill *fill =
            ref.is_formula ? &q->formulas[ref.index].fill : &q->metrics[ref.index].fill;
        struct qry_exp_result res = {.output = &q->outputs[i],
                                     .n_cols = cols_of(r, ref)->n,
                                     .labels = cols_of(r, ref)->col,
                                     .nan_is_null = fill->policy == QRY_EXP_FILL_NULL && !q->spec.compat};
        TS_TRY(ref.is_formula ? formula_columns(r, ref, &res, err) : metric_columns(r, ref, &res, err));
        TS_TRY(emit(arg, &res, err));
    }
    return 0;
}

static int run_all(struct run *r, struct sto_store *st, struct ts_pool *pool, struct qry_limit *limit,
                   qry_exp_fn emit, void *arg, struct ts_error *err)
{
    const struct qry_exp *q = r->q;
    r->metrics = ts_arena_zalloc(&r->work.arena, q->n_metrics * sizeof *r->metrics);
    r->formulas = ts_arena_zalloc(&r->work.arena, (q->n_formulas + 1) * sizeof *r->formulas);
    TS_TRY(ask(r, st, pool, limit, err));
    for (size_t i = 0; i < q->n_formulas; i++)
        TS_TRY(work_out(r, q->order[i], err));
    return emit_all(r, emit, arg, err);
}

int qry_exp_run(struct sto_store *st, struct ts_pool *pool, const struct qry_exp *q, struct qry_limit *limit,
                qry_exp_fn emit, void *arg, struct ts_error *err)
{
    struct run r = {.q = q};
    qry_work_open(&r.work, st, limit, q->spec.compat);
    int rc = run_all(&r, st, pool, limit, emit, arg, err);
    qry_work_close(&r.work);
    return rc;
}
