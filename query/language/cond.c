/*
 * cond.c - conditions on values.
 *
 * Integers are compared as integers, anything else as doubles.
 */
#include "query/language/cond.h"

#include "base/cut.h"
#include "base/text.h"

#include <string.h>

static const struct {
    const char *text; /* longer ones first */
    enum qry_cond_op op;
} cond_ops[] = {{">=", QRY_COND_GE}, {"<=", QRY_COND_LE}, {"==", QRY_COND_EQ}, {"!=", QRY_COND_NE},
                {">", QRY_COND_GT},  {"<", QRY_COND_LT},  {"=", QRY_COND_EQ}};

static struct ts_slice trim(struct ts_slice s)
{
    while (s.n && s.p[0] == ' ')
        s.p++, s.n--;
    while (s.n && s.p[s.n - 1] == ' ')
        s.n--;
    return s;
}

static bool begins(struct ts_slice s, const char *with)
{
    size_t n = strlen(with);
    return s.n >= n && memcmp(s.p, with, n) == 0;
}

static int parse_one(struct ts_slice text, struct qry_cond *out, struct ts_error *err)
{
    struct ts_slice s = trim(text);
    if (begins(s, "value")) {
        s = trim((struct ts_slice){s.p + 5, s.n - 5});
        for (size_t i = 0; i < sizeof cond_ops / sizeof cond_ops[0]; i++) {
            size_t n = strlen(cond_ops[i].text);
            if (!begins(s, cond_ops[i].text))
                continue;
            out->op = cond_ops[i].op;
            if (ts_num_parse(trim((struct ts_slice){s.p + n, s.n - n}), &out->than, NULL) == 0)
                return 0;
            break;
        }
    }
    return ts_error_set(err, TS_EINVAL,
                        "Invalid condition: %.*s; say value>10 (> >= < <= == !=), with commas between",
                        TS_SHOWN(text, 80));
}

int qry_where_parse(struct ts_slice text, struct ts_arena *arena, struct qry_where *out, struct ts_error *err)
{
    struct qry_cond *conds = ts_arena_alloc(arena, (ts_slice_count(text, ',') + 1) * sizeof *conds);
    struct ts_slice one;
    *out = (struct qry_where){.conds = conds};
    while (ts_slice_next(&text, ',', &one)) {
        TS_TRY(parse_one(one, &conds[out->n], err));
        out->n++;
    }
    return 0;
}

static bool meets(const struct qry_cond *c, struct ts_num v)
{
    int less, more;
    if (v.kind == TS_NUM_INT && c->than.kind == TS_NUM_INT) {
        less = v.m < c->than.m;
        more = v.m > c->than.m;
    } else {
        double a = ts_num_double(v), b = ts_num_double(c->than);
        less = a < b;
        more = a > b;
    }
    switch (c->op) {
    case QRY_COND_GT:
        return more;
    case QRY_COND_GE:
        return !less;
    case QRY_COND_LT:
        return less;
    case QRY_COND_LE:
        return !more;
    case QRY_COND_EQ:
        return !less && !more;
    case QRY_COND_NE:
        break;
    }
    return less || more;
}

/* One condition over an hour: 1 all, 0 none, -1 look. */
static int hour_meets(const struct qry_cond *c, const struct sto_summary *s)
{
    bool lo = meets(c, s->min), hi = meets(c, s->max);
    struct qry_cond above = {QRY_COND_GT, c->than}, below = {QRY_COND_LT, c->than};
    bool outside = meets(&above, s->min) || meets(&below, s->max); /* all values on one side */
    if (c->op == QRY_COND_EQ)
        return lo && hi ? 1 : outside ? 0 : -1;
    if (c->op == QRY_COND_NE)
        return outside ? 1 : lo || hi ? -1 : 0; /* neither end differs: all values are this one */
    return lo && hi ? 1 : lo || hi ? -1 : 0;
}

int qry_where_hour(const struct qry_where *w, const struct sto_summary *s)
{
    int all = 1;
    for (size_t i = 0; i < w->n; i++) {
        int one = hour_meets(&w->conds[i], s);
        if (one == 0)
            return 0;
        all = one < 0 ? -1 : all;
    }
    return all;
}

void qry_where_cells(const struct qry_where *w, const struct sto_cells *in, struct sto_cells *out)
{
    out->n = 0;
    out->uniform = in->uniform;
    out->common = in->common;
    sto_cells_reserve(out, in->n);
    for (uint32_t k = 0; k < in->n; k++) {
        struct ts_num v = sto_cell_num(in->meta[k], in->m[k]);
        size_t i = 0;
        while (i < w->n && meets(&w->conds[i], v))
            i++;
        if (i < w->n)
            continue;
        out->meta[out->n] = in->meta[k];
        out->m[out->n++] = in->m[k];
    }
}
