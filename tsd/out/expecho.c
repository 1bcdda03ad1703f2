/*
 * expecho.c - the request of /api/query/exp as it was understood: what was not given is null, or the default.
 */
#include "tsd/out/exp.h"

#include "base/json.h"

static void echo_text(struct ts_json *j, const char *key, struct ts_slice text)
{
    ts_json_key(j, key);
    if (text.p)
        ts_json_slice(j, text);
    else
        ts_json_null(j);
}

static void echo_flag(struct ts_json *j, const char *key, bool flag)
{
    ts_json_key(j, key);
    ts_json_bool(j, flag);
}

static void echo_fill(struct ts_json *j, const struct qry_exp_fill *fill)
{
    ts_json_key(j, "fillPolicy");
    if (fill->policy == QRY_EXP_FILL_DEFAULT) {
        ts_json_null(j);
        return;
    }
    ts_json_obj(j);
    ts_json_key(j, "policy");
    ts_json_str(j, qry_exp_policy_name(fill->policy));
    ts_json_key(j, "value");
    ts_json_double(j, fill->value);
    ts_json_obj_end(j);
}

static void echo_time(struct ts_json *j, const struct qry_exp_time *t)
{
    ts_json_key(j, "time");
    ts_json_obj(j);
    echo_text(j, "start", t->start);
    echo_text(j, "end", t->end);
    echo_text(j, "timezone", t->timezone);
    ts_json_key(j, "downsampler");
    if (t->downsampled) {
        ts_json_obj(j);
        echo_text(j, "interval", t->interval);
        echo_text(j, "aggregator", t->function);
        echo_fill(j, &t->fill);
        ts_json_obj_end(j);
    } else {
        ts_json_null(j);
    }
    echo_text(j, "aggregator", t->aggregator);
    echo_flag(j, "rate", t->rate);
    ts_json_obj_end(j);
}

static void echo_filter(struct ts_json *j, const struct qry_exp_filter *f)
{
    ts_json_obj(j);
    echo_text(j, "id", f->id);
    ts_json_key(j, "tags");
    ts_json_arr(j);
    for (size_t i = 0; i < f->n_filters; i++) {
        ts_json_obj(j);
        echo_text(j, "tagk", f->filters[i].tagk);
        echo_text(j, "filter", f->filters[i].text);
        echo_flag(j, "group_by", f->filters[i].group_by);
        ts_json_key(j, "type");
        ts_json_str(j, f->filters[i].type->name);
        ts_json_obj_end(j);
    }
    ts_json_arr_end(j);
    echo_flag(j, "explicitTags", f->explicit_tags);
    ts_json_obj_end(j);
}

static void echo_metric(struct ts_json *j, const struct qry_exp_metric *m)
{
    ts_json_obj(j);
    echo_text(j, "metric", m->metric);
    echo_text(j, "id", m->id);
    echo_text(j, "filter", m->filter);
    echo_text(j, "aggregator", m->aggregator);
    echo_text(j, "timeOffset", m->time_offset);
    echo_fill(j, &m->fill);
    ts_json_obj_end(j);
}

static void echo_formula(struct ts_json *j, const struct qry_exp_formula *f)
{
    ts_json_obj(j);
    echo_text(j, "id", f->id);
    echo_text(j, "expr", f->text);
    ts_json_key(j, "join");
    ts_json_obj(j);
    ts_json_key(j, "operator");
    ts_json_str(j, f->intersection ? "intersection" : "union");
    echo_flag(j, "useQueryTags", f->use_query_tags);
    echo_flag(j, "includeAggTags", f->with_agg_tags);
    ts_json_obj_end(j);
    echo_fill(j, &f->fill);
    ts_json_obj_end(j);
}

static void echo_output(struct ts_json *j, const struct qry_exp_output *o)
{
    ts_json_obj(j);
    echo_text(j, "id", o->id);
    echo_text(j, "alias", o->alias);
    ts_json_obj_end(j);
}

/* Key of a list; false: it was not given, and is null. */
static bool echo_list(struct ts_json *j, const char *key, bool given)
{
    ts_json_key(j, key);
    if (given)
        ts_json_arr(j);
    else
        ts_json_null(j);
    return given;
}

void tsd_exp_echo(const struct qry_exp *q, struct ts_json *j)
{
    ts_json_obj(j);
    echo_text(j, "name", q->name);
    echo_time(j, &q->time);
    if (echo_list(j, "filters", q->has_filters)) {
        for (size_t i = 0; i < q->n_filters; i++)
            echo_filter(j, &q->filters[i]);
        ts_json_arr_end(j);
    }
    if (echo_list(j, "metrics", true)) {
        for (size_t i = 0; i < q->n_metrics; i++)
            echo_metric(j, &q->metrics[i]);
        ts_json_arr_end(j);
    }
    if (echo_list(j, "expressions", q->has_formulas)) {
        for (size_t i = 0; i < q->n_formulas; i++)
            echo_formula(j, &q->formulas[i]);
        ts_json_arr_end(j);
    }
    if (echo_list(j, "outputs", q->has_outputs)) {
        for (size_t i = 0; i < q->n_outputs; i++)
            echo_output(j, &q->outputs[i]);
        ts_json_arr_end(j);
    }
    ts_json_obj_end(j);
}
