/*
 * exprjson.c - the body of POST /api/query/exp into a request.
 */
#include "query/expressions/exprquery.h"

#include "base/text.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "query/aggregators/agg.h"
#include "query/language/parse.h"

/* What the parts share. */
struct body {
    struct qry_exp *q;
    bool compat;
    struct ts_arena *arena;
    struct ts_error *err;
};

static int bad(struct body *b, const char *what)
{
    return ts_error_set(b->err, TS_EINVAL, "%s", what);
}

static struct ts_slice text_at(struct body *b, const json_t *o, const char *key)
{
    return qry_json_text(json_object_get(o, key), b->arena);
}

static int known(struct body *b, const json_t *o, const char *members)
{
    return qry_json_known(o, members, b->compat, &b->q->spec.unknown, b->err);
}

/* --- fill policies --- */
static double value_of(const json_t *v)
{
    if (json_is_number(v))
        return json_number_value(v);
    return (double)NAN;
}

const char *qry_exp_policy_name(enum qry_exp_policy policy)
{
    static const char *const names[] = {"", "zero", "nan", "null", "scalar", "previous"};
    return names[policy];
}

static int parse_policy(struct body *b, struct ts_slice name, bool has_value, double v,
                        struct qry_exp_fill *out)
{
    for (int p = QRY_EXP_FILL_ZERO; p <= QRY_EXP_FILL_PREVIOUS; p++) {
        const char *known = qry_exp_policy_name((enum qry_exp_policy)p);
        if (ts_slice_is_nocase(name, known))
            out->policy = (enum qry_exp_policy)p;
    }
    if (name.n && out->policy == QRY_EXP_FILL_DEFAULT)
        return ts_error_set(b->err, TS_EINVAL, "Unrecognized fill policy: %.*s", TS_SHOWN(name, 60));
    if (!name.n) /* the value says it */
        out->policy = !has_value || v == 0 ? QRY_EXP_FILL_ZERO
                      : isnan(v)           ? QRY_EXP_FILL_NAN
                                           : QRY_EXP_FILL_SCALAR;
    bool nan = out->policy == QRY_EXP_FILL_NAN || out->policy == QRY_EXP_FILL_NULL ||
               out->policy == QRY_EXP_FILL_PREVIOUS;
    if (has_value && ((nan && !isnan(v)) || (out->policy == QRY_EXP_FILL_ZERO && v != 0)))
        return ts_error_set(b->err, TS_EINVAL, "Fill policy %.*s contradicts its value %g",
                            TS_SHOWN(name, 60), v);
    out->value = nan ? (double)NAN : has_value ? v : 0;
    return 0;
}

/* {"policy":"nan"}, {"policy":"scalar","value":1}; also the bare name of a policy. */
static int parse_fill(struct body *b, const json_t *o, double by_default, struct qry_exp_fill *out)
{
    *out = (struct qry_exp_fill){QRY_EXP_FILL_DEFAULT, by_default};
    if (!o || json_is_null(o))
        return 0;
    if (json_is_string(o))
        return parse_policy(b, qry_json_text(o, b->arena), false, 0, out);
    if (!json_is_object(o))
        return bad(b, "A fillPolicy is an object with policy and value");
    const json_t *v = json_object_get(o, "value");
    return parse_policy(b, text_at(b, o, "policy"), v && !json_is_null(v), value_of(v), out);
}

/* The same where there is no bucket before. */
static int parse_value_fill(struct body *b, const json_t *o, double by_default, struct qry_exp_fill *out)
{
    TS_TRY(parse_fill(b, o, by_default, out));
    if (out->policy == QRY_EXP_FILL_PREVIOUS)
        return bad(
            b,
            "Only a downsampler fills with previous; metrics and expressions with nan, null, zero or scalar");
    return 0;
}

/* --- time --- */
/* Interval, function and fill as one text, as m has it. */
static int parse_downsampler(struct body *b, const json_t *o, struct qry_downsample *out)
{
    struct qry_exp_time *t = &b->q->time;
    if (!o || json_is_null(o))
        return 0;
    if (!json_is_object(o))
        return bad(b, "downsampler is an object with interval and aggregator");
    TS_TRY(known(b, o, "interval aggregator fillPolicy"));
    t->downsampled = true;
    t->interval = text_at(b, o, "interval");
    t->function = text_at(b, o, "aggregator");
    TS_TRY(parse_fill(b, json_object_get(o, "fillPolicy"), (double)NAN, &t->fill));
    if (!t->interval.n || !t->function.n)
        return bad(b, "The downsampler wants an interval and an aggregator");
    if (t->fill.policy == QRY_EXP_FILL_SCALAR && !b->compat)
        return bad(b, "A downsampler fills with nan, null, zero or previous");
    struct ts_buf text;
    ts_buf_init(&text, 0);
    ts_buf_slice(&text, t->interval);
    ts_buf_char(&text, '-');
    ts_buf_slice(&text, t->function);
    if (t->fill.policy != QRY_EXP_FILL_DEFAULT && !b->compat)
        ts_buf_printf(&text, "-%s", qry_exp_policy_name(t->fill.policy)); /* OpenTSDB does not look at it */
    int rc = qry_parse_downsample(ts_buf_get(&text), b->compat, out, b->err);
    ts_buf_release(&text);
    return rc;
}

static int parse_time(struct body *b, const json_t *o, struct qry_downsample *downsample)
{
    struct qry_exp_time *t = &b->q->time;
    if (!json_is_object(o))
        return bad(b, "Missing time");
    TS_TRY(known(b, o, "start end timezone aggregator rate downsampler"));
    t->start = text_at(b, o, "start");
    t->end = text_at(b, o, "end");
    t->timezone = text_at(b, o, "timezone");
    t->aggregator = text_at(b, o, "aggregator");
    t->rate = qry_json_true(json_object_get(o, "rate"));
    if (!t->start.n)
        return bad(b, "Missing start time");
    if (!t->aggregator.n)
        return bad(b, "Missing the aggregation function of time");
    return parse_downsampler(b, json_object_get(o, "downsampler"), downsample);
}

/* --- lists --- */
/* Elements of a list; 0 and *out_given false if it is not there. */
static int list_of(struct body *b, const json_t *root, const char *key, size_t *out_n, bool *out_given)
{
    const json_t *a = json_object_get(root, key);
    *out_n = 0;
    if (out_given)
        *out_given = a && !json_is_null(a);
    if (!a || json_is_null(a))
        return 0;
    if (!json_is_array(a))
        return ts_error_set(b->err, TS_EINVAL, "%s is a list", key);
    if (json_array_size(a) > QRY_EXP_MAX_ITEMS)
        return ts_error_set(b->err, TS_ELIMIT, "More than %d %s", QRY_EXP_MAX_ITEMS, key);
    for (size_t i = 0; i < json_array_size(a); i++)
        if (!json_is_object(json_array_get(a, i)))
            return ts_error_set(b->err, TS_EINVAL, "%s is a list of objects", key);
    *out_n = json_array_size(a);
    return 0;
}

static int parse_filter(struct body *b, const json_t *o, struct qry_exp_filter *out)
{
    TS_TRY(known(b, o, "id tags explicitTags"));
    out->id = text_at(b, o, "id");
    out->explicit_tags = qry_json_true(json_object_get(o, "explicitTags"));
    return qry_json_filters(json_object_get(o, "tags"), b->compat, &b->q->spec.unknown, b->arena,
                            &out->filters, &out->n_filters, b->err);
}

static int parse_metric(struct body *b, const json_t *o, struct qry_exp_metric *out)
{
    TS_TRY(known(b, o, "id metric filter aggregator fillPolicy timeOffset"));
    out->id = text_at(b, o, "id");
    out->metric = text_at(b, o, "metric");
    out->filter = text_at(b, o, "filter");
    out->aggregator = text_at(b, o, "aggregator");
    out->time_offset = text_at(b, o, "timeOffset");
    if (!out->metric.n)
        return ts_error_set(b->err, TS_EINVAL, "Missing the metric of '%.*s'", TS_SHOWN(out->id, 60));
    return parse_value_fill(b, json_object_get(o, "fillPolicy"), 0, &out->fill);
}

static int parse_formula(struct body *b, const json_t *o, struct qry_exp_formula *out)
{
    const json_t *join = json_object_get(o, "join");
    struct ts_slice op = {NULL, 0};
    TS_TRY(known(b, o, "id expr join fillPolicy"));
    if (json_is_object(join))
        TS_TRY(known(b, join, "operator useQueryTags includeAggTags"));
    out->id = text_at(b, o, "id");
    out->text = text_at(b, o, "expr");
    out->with_agg_tags = true;
    if (json_is_object(join)) {
        const json_t *agg = json_object_get(join, "includeAggTags");
        op = text_at(b, join, "operator");
        out->use_query_tags = qry_json_true(json_object_get(join, "useQueryTags"));
        out->with_agg_tags = !agg || json_is_null(agg) || qry_json_true(agg);
    }
    out->intersection = ts_slice_is_nocase(op, "intersection");
    if (op.n && !out->intersection && !ts_slice_is_nocase(op, "union"))
        return ts_error_set(b->err, TS_EINVAL, "Unrecognized join operator: %.*s (union, intersection)",
                            TS_SHOWN(op, 60));
    if (!out->text.n)
        return ts_error_set(b->err, TS_EINVAL, "Missing the expr of '%.*s'", TS_SHOWN(out->id, 60));
    return parse_value_fill(b, json_object_get(o, "fillPolicy"), (double)NAN, &out->fill);
}

static int parse_lists(struct body *b, const json_t *root)
{
    struct qry_exp *q = b->q;
    TS_TRY(list_of(b, root, "filters", &q->n_filters, &q->has_filters));
    TS_TRY(list_of(b, root, "metrics", &q->n_metrics, NULL));
    TS_TRY(list_of(b, root, "expressions", &q->n_formulas, &q->has_formulas));
    TS_TRY(list_of(b, root, "outputs", &q->n_outputs, &q->has_outputs));
    if (!q->n_metrics)
        return bad(b, "Missing metrics");
    q->filters = ts_arena_zalloc(b->arena, (q->n_filters + 1) * sizeof *q->filters);
    q->metrics = ts_arena_zalloc(b->arena, q->n_metrics * sizeof *q->metrics);
    q->formulas = ts_arena_zalloc(b->arena, (q->n_formulas + 1) * sizeof *q->formulas);
    /* allocated for all if none is named */
    q->outputs =
        ts_arena_zalloc(b->arena, (q->n_outputs + q->n_metrics + q->n_formulas) * sizeof *q->outputs);
    for (size_t i = 0; i < q->n_filters; i++)
        TS_TRY(parse_filter(b, json_array_get(json_object_get(root, "filters"), i), &q->filters[i]));
    for (size_t i = 0; i < q->n_metrics; i++)
        TS_TRY(parse_metric(b, json_array_get(json_object_get(root, "metrics"), i), &q->metrics[i]));
    for (size_t i = 0; i < q->n_formulas; i++)
        TS_TRY(parse_formula(b, json_array_get(json_object_get(root, "expressions"), i), &q->formulas[i]));
    for (size_t i = 0; i < q->n_outputs; i++) {
        const json_t *o = json_array_get(json_object_get(root, "outputs"), i);
        TS_TRY(known(b, o, "id alias"));
        q->outputs[i] = (struct qry_exp_output){.id = text_at(b, o, "id"), .alias = text_at(b, o, "alias")};
    }
    return 0;
}

/* --- sub queries --- */
/* OpenTSDB looks the name up in lower case and then uses it as written. */
static int find_agg(struct body *b, struct ts_slice name, const struct qry_agg **out)
{
    struct ts_slice low = name;
    qry_filter__lower(&low, 1, b->arena);
    if (b->compat)
        TS_TRY(qry_parse_agg(low, true, out, b->err));
    return qry_parse_agg(name, b->compat, out, b->err);
}

static int make_sub(struct body *b, struct qry_exp_metric *m, const struct qry_downsample *downsample,
                    struct qry_sub *out)
{
    const struct qry_exp_time *t = &b->q->time;
    const struct qry_exp_filter *f = NULL;
    *out = (struct qry_sub){
        .metric = m->metric, .downsample = *downsample, .rate = {.on = t->rate, .counter_max = INT64_MAX}};
    TS_TRY(find_agg(b, m->aggregator.n ? m->aggregator : t->aggregator, &out->agg));
    out->none = qry_agg_is_none(out->agg);
    for (size_t i = 0; i < b->q->n_filters; i++)
        if (ts_slice_eq(b->q->filters[i].id, m->filter))
            f = &b->q->filters[i];
    if (m->filter.n && !f)
        return ts_error_set(b->err, TS_EINVAL, "There is no filter '%.*s' for '%.*s'",
                            TS_SHOWN(m->filter, 60), TS_SHOWN(m->id, 60));
    if (!f)
        return 0;
    struct ts_slice *keys = ts_arena_alloc(b->arena, f->n_filters * sizeof *keys + 1);
    for (size_t i = 0; i < f->n_filters; i++)
        keys[i] = f->filters[i].tagk;
    m->keys = keys;
    m->n_keys = f->n_filters;
    out->filters = f->filters;
    out->n_filters = f->n_filters;
    out->explicit_tags = f->explicit_tags;
    return 0;
}

static int parse_root(struct body *b, const json_t *root, int64_t now_ms)
{
    struct qry_exp *q = b->q;
    struct qry_downsample downsample = {0};
    if (!json_is_object(root))
        return bad(b, "Unable to parse the given JSON");
    for (size_t i = 0; !b->compat && qry_choice_names[i]; i++)
        if (json_object_get(root, qry_choice_names[i]))
            return ts_error_set(b->err, TS_EINVAL,
                                "/api/query/exp does not know %s: leave it out, or ask /api/query or "
                                "/api/query/gexp",
                                qry_choice_names[i]);
    TS_TRY(known(b, root, "name time filters metrics expressions outputs"));
    q->name = text_at(b, root, "name");
    TS_TRY(parse_time(b, json_object_get(root, "time"), &downsample));
    TS_TRY(parse_lists(b, root));
    q->spec.subs = ts_arena_alloc(b->arena, q->n_metrics * sizeof *q->spec.subs);
    q->spec.n_subs = q->n_metrics;
    for (size_t i = 0; i < q->n_metrics; i++)
        TS_TRY(make_sub(b, &q->metrics[i], &downsample, &q->spec.subs[i]));
    struct qry_spec_text text = {
        .start = q->time.start, .end = q->time.end, .tz = q->time.timezone, .json = true};
    TS_TRY(qry_spec_finish(&text, now_ms, b->arena, &q->spec, b->err));
    return qry_exp__check(q, b->arena, b->err);
}

int qry_exp_parse(struct ts_slice body, int64_t now_ms, bool compat, struct ts_arena *arena,
                  struct qry_exp *out, struct ts_error *err)
{
    struct body b = {.q = out, .compat = compat, .arena = arena, .err = err};
    json_t *root;
    *out = (struct qry_exp){
        .spec = {.compat = compat, .values_must_exist = compat, .ms = true, .no_annotations = true}};
    if (!body.n)
        return bad(&b, "Missing message content");
    TS_TRY(ts_json_load(body, &root, err));
    int rc = parse_root(&b, root, now_ms);
    json_decref(root);
    return rc;
}
