/*
 * last.c - which series a question about newest points means; the newest point of each.
 *
 * Not here   finding the points (latest.c)
 * Source     protocols-and-queries 5.1
 */
#include "query/execution/latest.h"
#include "query/execution/select.h"

#include "base/mem.h"

#include <string.h>

/* What the error names as near a name that nobody has sent. */
static int nobody_sent(struct sto_catalog *cat, bool compat, enum sto_uid_kind kind, struct ts_slice name,
                       int rc, struct ts_error *err)
{
    if (rc == TS_ENOTFOUND && !compat)
        qry_select_near(cat, kind, name, NULL, err);
    return rc;
}

/* Ids of the values "a|b"; "*" is any value. */
static int parse_values(struct sto_catalog *cat, struct ts_slice in, bool compat, struct ts_arena *arena,
                        struct sto_tag_cond *c, struct ts_error *err)
{
    if (ts_slice_is(in, "*"))
        return 0;
    uint32_t *ids = ts_arena_alloc(arena, (in.n / 2 + 1) * sizeof *ids);
    c->values = ids;
    for (size_t i = 0, from = 0; i <= in.n; i++) {
        if (i < in.n && in.p[i] != '|')
            continue;
        struct ts_slice v = {in.p + from, i - from};
        from = i + 1;
        if (v.n && sto_uid_find(cat, STO_UID_TAGV, v, &ids[c->n_values++]) < 0)
            return nobody_sent(cat, compat, STO_UID_TAGV, v,
                               ts_error_set(err, TS_ENOTFOUND, "No such name for 'tagv': '%.*s'",
                                            (int)(v.n > 150 ? 150 : v.n), v.p),
                               err);
    }
    return 0;
}

/* Conditions from "{k=v,...}". */
static int parse_conds(struct sto_catalog *cat, struct ts_slice in, bool compat, struct ts_arena *arena,
                       struct sto_tag_cond *conds, size_t *out_n, struct ts_error *err)
{
    size_t from = 0;
    *out_n = 0;
    for (size_t i = 0; i <= in.n; i++) {
        if (i < in.n && in.p[i] != ',')
            continue;
        struct ts_slice item = {in.p + from, i - from};
        const char *eq = item.n ? memchr(item.p, '=', item.n) : NULL;
        from = i + 1;
        if (!item.n && !in.n)
            break;
        if (!eq || eq == item.p || eq == item.p + item.n - 1)
            return ts_error_set(err, TS_EINVAL, "When parsing tag '%.*s': invalid tag: %.*s", (int)item.n,
                                item.p, (int)item.n, item.p);
        struct ts_slice k = {item.p, (size_t)(eq - item.p)}, v = {eq + 1, item.n - k.n - 1};
        struct sto_tag_cond *c = &conds[(*out_n)++];
        *c = (struct sto_tag_cond){0};
        TS_TRY(nobody_sent(cat, compat, STO_UID_TAGK, k, qry_select_tagk(cat, k, &c->tagk, err), err));
        TS_TRY(parse_values(cat, v, compat, arena, c, err));
    }
    return 0;
}

static int select_tsuid(struct sto_catalog *cat, struct ts_slice tsuid, struct ts_arena *arena,
                        struct qry_latest_set *out, struct ts_error *err)
{
    out->series = ts_arena_alloc(arena, sizeof(*out->series));
    TS_TRY(qry_select_tsuid(cat, tsuid, &out->series[0], err));
    out->metric = out->series[0]->metric;
    out->n = 1;
    return 0;
}

int qry_latest_select(struct sto_catalog *cat, const struct qry_last_request *ask, struct qry_budget *budget,
                      struct ts_arena *arena, struct qry_latest_set *out, struct ts_error *err)
{
    struct ts_slice text = ask->timeseries;
    const char *open = text.n ? memchr(text.p, '{', text.n) : NULL;
    struct ts_slice metric = {text.p, open ? (size_t)(open - text.p) : text.n};
    struct sto_tag_cond *conds = NULL;
    size_t n_conds = 0;
    roaring_bitmap_t *set;
    struct sto_select_ctl ctl = qry_select_ctl(budget);
    if (ask->tsuid.n)
        return select_tsuid(cat, ask->tsuid, arena, out, err);
    if (!metric.n)
        return ts_error_set(err, TS_EINVAL, "Missing the metric of a timeseries");
    if (open && text.p[text.n - 1] != '}')
        return ts_error_set(err, TS_EINVAL, "Missing '}' at the end of: %.*s", (int)text.n, text.p);
    TS_TRY(nobody_sent(cat, ask->compat, STO_UID_METRIC, metric,
                       qry_select_metric(cat, metric, &out->metric, err), err));
    if (open) {
        struct ts_slice in = {open + 1, text.n - metric.n - 2};
        conds = ts_arena_alloc(arena, (in.n / 2 + 2) * sizeof *conds);
        TS_TRY(parse_conds(cat, in, ask->compat, arena, conds, &n_conds, err));
    }
    TS_TRY(sto_select(cat, out->metric, conds, n_conds, ask->only, &ctl, &set, err));
    return qry_select_series(cat, set, budget, arena, &out->series, &out->n, err);
}

/* The query that one point belongs to. */
struct single {
    qry_last_fn emit;
    void *arg;
};

static int emit_single(void *arg, const struct qry_latest *p, struct ts_error *err)
{
    const struct single *s = arg;
    struct qry_last out = {p->series, p->ts_ms[0], p->v[0]};
    return s->emit(s->arg, &out, err);
}

int qry_run_last(struct sto_store *st, struct ts_pool *pool, const struct qry_last_request *ask,
                 struct qry_limit *limit, qry_last_fn emit, void *arg, struct ts_error *err)
{
    struct qry_last_request one = *ask;
    struct single s = {emit, arg};
    one.n = 1;
    return qry_run_latest(st, pool, &one, limit, emit_single, &s, err);
}
