/*
 * exprcheck.c - does a request for formulas hold together: ids, variables, circles, outputs.
 */
#include "query/expressions/exprquery.h"

#include "base/text.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

struct checker {
    struct qry_exp *q;
    bool compat;
    struct ts_error *err;
    uint8_t *seen; /* [n_formulas] 1: on the way, 2: in order[] */
    size_t n_order;
};

/* --- ids --- */
static int check_id(struct checker *c, struct ts_slice id)
{
    bool good = id.n > 0;
    for (size_t i = 0; i < id.n; i++)
        good = good && (isalnum((unsigned char)id.p[i]) || (!c->compat && id.p[i] == '_'));
    if (good && !(c->compat ? id.n == 1 && isdigit((unsigned char)id.p[0]) : isdigit((unsigned char)id.p[0])))
        return 0;
    return ts_error_set(c->err, TS_EINVAL, "Invalid id '%.*s': letters and digits, a letter first",
                        TS_SHOWN(id, 60));
}

static bool same_id(struct ts_slice a, struct ts_slice b, bool any_case)
{
    return a.n == b.n && (any_case ? strncasecmp(a.p, b.p, a.n) == 0 : memcmp(a.p, b.p, a.n) == 0);
}

static bool find_id(const struct checker *c, struct ts_slice id, bool any_case, struct qry_exp_ref *out)
{
    const struct qry_exp *q = c->q;
    for (size_t i = 0; i < q->n_metrics + q->n_formulas; i++) {
        *out = (struct qry_exp_ref){i >= q->n_metrics, i < q->n_metrics ? i : i - q->n_metrics};
        if (same_id(out->is_formula ? q->formulas[out->index].id : q->metrics[out->index].id, id, any_case))
            return true;
    }
    return false;
}

/* The first thing with an id must be the thing itself. */
static int check_ids(struct checker *c)
{
    const struct qry_exp *q = c->q;
    struct qry_exp_ref ref;
    for (size_t i = 0; i < q->n_filters; i++) {
        TS_TRY(check_id(c, q->filters[i].id));
        for (size_t k = 0; k < i; k++)
            if (ts_slice_eq(q->filters[k].id, q->filters[i].id))
                return ts_error_set(c->err, TS_EINVAL, "Two filters have the id '%.*s'",
                                    TS_SHOWN(q->filters[i].id, 60));
    }
    for (size_t i = 0; i < q->n_metrics + q->n_formulas; i++) {
        struct ts_slice id = i < q->n_metrics ? q->metrics[i].id : q->formulas[i - q->n_metrics].id;
        TS_TRY(check_id(c, id));
        (void)find_id(c, id, false, &ref);
        if (ref.index + (ref.is_formula ? q->n_metrics : 0) != i)
            return ts_error_set(c->err, TS_EINVAL, "Two metrics or expressions have the id '%.*s'",
                                TS_SHOWN(id, 60));
    }
    return 0;
}

/* --- variables --- */
/* OpenTSDB looks a variable up in lower case; we look it up as written, then ignoring case. */
static bool find_var(const struct checker *c, struct ts_slice name, struct ts_arena *arena,
                     struct qry_exp_ref *out)
{
    if (!c->compat)
        return find_id(c, name, false, out) || find_id(c, name, true, out);
    char *lower = ts_arena_strndup(arena, name.p, name.n);
    for (size_t i = 0; i < name.n; i++)
        lower[i] = (char)tolower((unsigned char)lower[i]);
    return find_id(c, (struct ts_slice){lower, name.n}, false, out);
}

static int check_vars(struct checker *c, size_t index, struct ts_arena *arena)
{
    struct qry_exp_formula *f = &c->q->formulas[index];
    TS_TRY(qry_expr_parse(f->text, c->compat, arena, &f->program, c->err));
    if (!f->program.n_vars)
        return ts_error_set(c->err, TS_EINVAL, "Expression '%.*s' has no variable", TS_SHOWN(f->id, 60));
    f->vars = ts_arena_alloc(arena, f->program.n_vars * sizeof *f->vars);
    for (size_t v = 0; v < f->program.n_vars; v++) {
        struct ts_slice name = f->program.vars[v];
        if (!find_var(c, name, arena, &f->vars[v]))
            return ts_error_set(c->err, TS_EINVAL,
                                "Variable '%.*s' of expression '%.*s' is no metric and no expression",
                                TS_SHOWN(name, 60), TS_SHOWN(f->id, 60));
        if (f->vars[v].is_formula && f->vars[v].index == index)
            return ts_error_set(c->err, TS_EINVAL, "Expression '%.*s' refers to itself", TS_SHOWN(f->id, 60));
        if (f->vars[v].is_formula && c->compat &&
            c->q->formulas[f->vars[v].index].fill.policy == QRY_EXP_FILL_DEFAULT)
            f->needs_fill = true;
    }
    return 0;
}

/* Formulas that this one uses, then itself. */
static int put_in_order(struct checker *c, size_t index)
{
    const struct qry_exp_formula *f = &c->q->formulas[index];
    if (c->seen[index] == 2)
        return 0;
    if (c->seen[index])
        return ts_error_set(c->err, TS_EINVAL, "Expression '%.*s' needs its own result: a circle",
                            TS_SHOWN(f->id, 60));
    c->seen[index] = 1;
    for (size_t v = 0; v < f->program.n_vars; v++)
        if (f->vars[v].is_formula)
            TS_TRY(put_in_order(c, f->vars[v].index));
    c->seen[index] = 2;
    c->q->order[c->n_order++] = index;
    return 0;
}

/* --- outputs --- */
static int check_outputs(struct checker *c)
{
    struct qry_exp *q = c->q;
    for (size_t i = 0; i < q->n_outputs; i++)
        if (!find_id(c, q->outputs[i].id, false, &q->outputs[i].ref))
            return ts_error_set(c->err, TS_EINVAL, "Output '%.*s' is no metric and no expression",
                                TS_SHOWN(q->outputs[i].id, 60));
    if (q->n_outputs)
        return 0;
    q->n_outputs = q->n_formulas ? q->n_formulas : q->n_metrics;
    for (size_t i = 0; i < q->n_outputs; i++)
        q->outputs[i] = (struct qry_exp_output){.id = q->n_formulas ? q->formulas[i].id : q->metrics[i].id,
                                                .ref = {q->n_formulas > 0, i}};
    return 0;
}

int qry_exp__check(struct qry_exp *q, struct ts_arena *arena, struct ts_error *err)
{
    struct checker c = {.q = q, .compat = q->spec.compat, .err = err};
    size_t bytes = 0;
    for (size_t i = 0; i < q->n_formulas; i++)
        bytes += q->formulas[i].text.n;
    if (bytes > QRY_EXP_MAX_TEXT_BYTES)
        return ts_error_set(err, TS_ELIMIT, "The expressions have %zu bytes together, more than %d", bytes,
                            QRY_EXP_MAX_TEXT_BYTES);
    TS_TRY(check_ids(&c));
    c.seen = ts_arena_zalloc(arena, q->n_formulas + 1);
    q->order = ts_arena_alloc(arena, (q->n_formulas + 1) * sizeof *q->order);
    for (size_t i = 0; i < q->n_formulas; i++)
        TS_TRY(check_vars(&c, i, arena));
    for (size_t i = 0; i < q->n_formulas; i++)
        TS_TRY(put_in_order(&c, i));
    return check_outputs(&c);
}
