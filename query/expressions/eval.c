/*
 * eval.c - joined columns through a program.
 */
#include "query/expressions/eval.h"

#include "base/text.h"

/* An evaluation at work. */
struct run {
    const struct qry_eval *e;
    struct qry_join join;
    const int64_t *ts_ms; /* [n] times of all columns */
    size_t n;
    double **vars; /* [program->n_vars][n] */
    void *scratch; /* of the program */
};

static int take_rows(struct run *r, struct qry_work *w, struct ts_error *err)
{
    const struct qry_join_in *in = &r->e->in;
    const struct qry_col **all;
    size_t n = 0;
    TS_TRY(qry_work_take(w, r->join.n * in->n_sets, sizeof(*all), &all, err));
    for (size_t row = 0; row < r->join.n; row++)
        for (size_t s = 0; s < in->n_sets; s++)
            if ((all[n] = qry_join_col(in, &r->join, row, s)) != NULL)
                n++;
    return qry_cols_rows(w, all, n, &r->ts_ms, &r->n, err);
}

static int make_column(struct run *r, struct qry_work *w, size_t row, struct qry_col *out,
                       struct ts_error *err)
{
    static const struct qry_col none;
    const struct qry_eval *e = r->e;
    double *v;
    TS_TRY(qry_work_take(w, r->n, sizeof *v, &v, err));
    for (size_t i = 0; i < e->program->n_vars; i++) {
        const struct qry_col *c = qry_join_col(&e->in, &r->join, row, e->set_of ? e->set_of[i] : i);
        double fill = e->fill && (c || !e->zero_missing) ? e->fill[i] : 0;
        qry_col_align(c ? c : &none, r->ts_ms, r->n, fill, r->vars[i]);
    }
    int rc = qry_expr_run(e->program, (const double *const *)r->vars, r->n, r->scratch, v, err);
    if (rc < 0)
        return ts_error_wrap(err, "expression '%.*s'", TS_SHOWN(e->id, 60));
    *out = (struct qry_col){
        .n = r->n, .ts_ms = r->ts_ms, .v = (const uint64_t *)(const void *)v, .joined = true};
    return qry_join_label(w, &e->in, &r->join, row, &out->label, err);
}

int qry_eval(struct qry_work *w, const struct qry_eval *e, struct qry_cols *out, struct ts_error *err)
{
    struct run r = {.e = e};
    size_t n_vars = e->program->n_vars;
    TS_TRY(qry_join_make(w, &e->in, &r.join, err));
    if (e->in.intersection && !r.join.n)
        return ts_error_set(err, TS_EINVAL, "No intersections found: expression '%.*s'", TS_SHOWN(e->id, 60));
    TS_TRY(take_rows(&r, w, err));
    TS_TRY(qry_work_take(w, n_vars, sizeof(*r.vars), &r.vars, err));
    for (size_t i = 0; i < n_vars; i++)
        TS_TRY(qry_work_take(w, r.n, sizeof(**r.vars), &r.vars[i], err));
    TS_TRY(qry_work_take(w, 1, qry_expr_scratch_bytes(e->program), &r.scratch, err));
    for (size_t row = 0; row < r.join.n; row++) {
        struct qry_col *col;
        TS_TRY(qry_cols_add(w, out, &col, err));
        TS_TRY(make_column(&r, w, row, col, err));
    }
    return 0;
}
