/*
 * expecho.c - the request of /api/query/exp as it was understood: what was not given is null, or the default.
 */
#include "tsd/format/answers.h"

#include "base/json.h"

static void echo_fill(struct ts_json *j, const struct qry_exp_fill *fill)
{
    ts_json_key(j, "fillPolicy");
    if (fill->policy == QRY_EXP_FILL_DEFAULT) {
        ts_json_null(j);
        return;
    }
    ts_json_obj(j);
    ts_json_member_str(j, "policy", qry_exp_policy_name(fill->policy));
    ts_json_member_double(j, "value", fill->value);
    ts_json_obj_end(j);
}

static void echo_time(struct ts_json *j, const struct qry_exp_time *t)
{
    ts_json_member_obj(j, "time");
    ts_json_member_given(j, "start", t->start);
    ts_json_member_given(j, "end", t->end);
    ts_json_member_given(j, "timezone", t->timezone);
    ts_json_key(j, "downsampler");
    if (t->downsampled) {
        ts_json_obj(j);
        ts_json_member_given(j, "interval", t->interval);
        ts_json_member_given(j, "aggregator", t->function);
        echo_fill(j, &t->fill);
        ts_json_obj_end(j);
    } else {
        ts_json_null(j);
    }
    ts_json_member_given(j, "aggregator", t->aggregator);
    ts_json_member_bool(j, "rate", t->rate);
    ts_json_obj_end(j);
}

static void echo_filter(struct ts_json *j, const struct qry_exp_filter *f)
{
    ts_json_obj(j);
    ts_json_member_given(j, "id", f->id);
    ts_json_member_arr(j, "tags");
    for (size_t i = 0; i < f->n_filters; i++) {
        ts_json_obj(j);
        ts_json_member_given(j, "tagk", f->filters[i].tagk);
        ts_json_member_given(j, "filter", f->filters[i].text);
        ts_json_member_bool(j, "group_by", f->filters[i].group_by);
        ts_json_member_str(j, "type", f->filters[i].type->name);
        ts_json_obj_end(j);
    }
    ts_json_arr_end(j);
    ts_json_member_bool(j, "explicitTags", f->explicit_tags);
    ts_json_obj_end(j);
}

static void echo_metric(struct ts_json *j, const struct qry_exp_metric *m)
{
    ts_json_obj(j);
    ts_json_member_given(j, "metric", m->metric);
    ts_json_member_given(j, "id", m->id);
    ts_json_member_given(j, "filter", m->filter);
    ts_json_member_given(j, "aggregator", m->aggregator);
    ts_json_member_given(j, "timeOffset", m->time_offset);
    echo_fill(j, &m->fill);
    ts_json_obj_end(j);
}

static void echo_formula(struct ts_json *j, const struct qry_exp_formula *f)
{
    ts_json_obj(j);
    ts_json_member_given(j, "id", f->id);
    ts_json_member_given(j, "expr", f->text);
    ts_json_member_obj(j, "join");
    ts_json_member_str(j, "operator", f->intersection ? "intersection" : "union");
    ts_json_member_bool(j, "useQueryTags", f->use_query_tags);
    ts_json_member_bool(j, "includeAggTags", f->with_agg_tags);
    ts_json_obj_end(j);
    echo_fill(j, &f->fill);
    ts_json_obj_end(j);
}

static void echo_output(struct ts_json *j, const struct qry_exp_output *o)
{
    ts_json_obj(j);
    ts_json_member_given(j, "id", o->id);
    ts_json_member_given(j, "alias", o->alias);
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
    ts_json_member_given(j, "name", q->name);
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
