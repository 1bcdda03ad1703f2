/*
 * echo.c - a sub query back as JSON: what showQuery and /api/stats/query print.
 *
 * Threads    any
 * Source     protocols-and-queries 2.5 (showQuery), 3.2.3, 3.5; members as the recorded answers have them
 */
#include "query/query.h"

#include "query/aggs/agg.h"
#include "query/filters/filter.h"

static void echo_text(struct ts_json *j, const char *key, struct ts_slice text)
{
    ts_json_key(j, key);
    if (text.n)
        ts_json_slice(j, text);
    else
        ts_json_null(j);
}

static void echo_null(struct ts_json *j, const char *key)
{
    ts_json_key(j, key);
    ts_json_null(j);
}

static void echo_bool(struct ts_json *j, const char *key, bool v)
{
    ts_json_key(j, key);
    ts_json_bool(j, v);
}

static void echo_int(struct ts_json *j, const char *key, int64_t v)
{
    ts_json_key(j, key);
    ts_json_int(j, v);
}

/* A star without a type is reported as wildcard, though it matches in any case. */
static const char *filter_type(const struct qry_filter *f)
{
    return f->shorthand && f->type == &qry_filter_iwildcard ? "wildcard" : f->type->name;
}

static void echo_filters(struct ts_json *j, const struct qry_sub *sub)
{
    ts_json_key(j, "filters");
    ts_json_arr(j);
    for (size_t i = 0; i < sub->n_filters; i++) {
        const struct qry_filter *f = &sub->filters[i];
        ts_json_obj(j);
        ts_json_key(j, "tagk");
        ts_json_slice(j, f->tagk);
        ts_json_key(j, "filter");
        ts_json_slice(j, f->text);
        echo_bool(j, "group_by", f->group_by);
        ts_json_key(j, "type");
        ts_json_str(j, filter_type(f));
        ts_json_obj_end(j);
    }
    ts_json_arr_end(j);
}

/* The old form of filters that group. */
static void echo_tags(struct ts_json *j, const struct qry_sub *sub)
{
    struct ts_buf b;
    ts_buf_init(&b, 0);
    ts_json_key(j, "tags");
    ts_json_obj(j);
    for (size_t i = 0; i < sub->n_filters; i++) {
        const struct qry_filter *f = &sub->filters[i];
        if (!f->group_by)
            continue;
        ts_buf_clear(&b);
        ts_buf_printf(&b, "%s(", filter_type(f));
        ts_buf_slice(&b, f->text);
        ts_buf_char(&b, ')');
        ts_json_key_slice(j, f->tagk);
        ts_json_slice(j, ts_buf_get(&b));
    }
    ts_json_obj_end(j);
    ts_buf_release(&b);
}

/* Three bytes of an id in base64 are four letters without padding. */
static void echo_id(struct ts_json *j, uint32_t id)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char text[5] = {digits[id >> 18 & 63], digits[id >> 12 & 63], digits[id >> 6 & 63], digits[id & 63], 0};
    ts_json_str(j, text);
}

static void echo_keys(struct ts_json *j, const struct qry_sub *sub, struct sto_catalog *cat)
{
    uint32_t id;
    ts_json_key(j, "filterTagKs");
    if (!sub->n_filters || !cat) {
        ts_json_null(j);
        return;
    }
    ts_json_arr(j);
    for (size_t i = 0; i < sub->n_filters; i++) {
        size_t k = 0;
        while (k < i && !ts_slice_eq(sub->filters[k].tagk, sub->filters[i].tagk))
            k++;
        if (k == i && sto_uid_find(cat, STO_UID_TAGK, sub->filters[i].tagk, &id) == 0)
            echo_id(j, id);
    }
    ts_json_arr_end(j);
}

static void echo_rate(struct ts_json *j, const struct qry_sub *sub)
{
    if (!sub->rate_options) {
        echo_null(j, "rateOptions");
        return;
    }
    ts_json_key(j, "rateOptions");
    ts_json_obj(j);
    echo_bool(j, "counter", sub->rate.counter);
    echo_int(j, "counterMax", sub->rate.counter_max);
    echo_int(j, "resetValue", sub->rate.reset_value);
    echo_bool(j, "dropResets", sub->rate.drop_resets);
    ts_json_obj_end(j);
}

static void echo_tsuids(struct ts_json *j, const struct qry_sub *sub)
{
    if (!sub->n_tsuids) {
        echo_null(j, "tsuids");
        return;
    }
    ts_json_key(j, "tsuids");
    ts_json_arr(j);
    for (size_t i = 0; i < sub->n_tsuids; i++)
        ts_json_slice(j, sub->tsuids[i]);
    ts_json_arr_end(j);
}

void qry_echo_sub(const struct qry_sub *sub, size_t index, struct sto_catalog *cat, struct ts_json *j)
{
    ts_json_obj(j);
    ts_json_key(j, "aggregator");
    ts_json_str(j, sub->agg ? sub->agg->name : "none");
    echo_text(j, "metric", sub->metric);
    echo_tsuids(j, sub);
    echo_text(j, "downsample", sub->downsample_text);
    echo_bool(j, "rate", sub->rate.on);
    echo_filters(j, sub);
    echo_null(j, "percentiles");
    echo_int(j, "index", (int64_t)index);
    echo_rate(j, sub);
    echo_keys(j, sub, cat);
    echo_bool(j, "explicitTags", sub->explicit_tags);
    echo_bool(j, "useFuzzyFilter", true); /* hints for a storage that is not ours: their defaults */
    echo_bool(j, "preAggregate", false);
    echo_null(j, "rollupUsage");
    ts_json_key(j, "rollupTable");
    ts_json_str(j, "raw");
    echo_bool(j, "showHistogramBuckets", false);
    echo_bool(j, "useMultiGets", true);
    echo_tags(j, sub);
    echo_bool(j, "histogramQuery", false);
    ts_json_obj_end(j);
}

void qry_echo(const struct qry_spec *spec, struct sto_catalog *cat, struct ts_json *j)
{
    ts_json_obj(j);
    echo_text(j, "start", spec->start_text);
    echo_text(j, "end", spec->end_text);
    echo_int(j, "startTime", spec->start_ms);
    echo_int(j, "endTime", spec->end_ms);
    ts_json_key(j, "queries");
    ts_json_arr(j);
    for (size_t i = 0; i < spec->n_subs; i++)
        qry_echo_sub(&spec->subs[i], i, cat, j);
    ts_json_arr_end(j);
    echo_bool(j, "msResolution", spec->ms);
    echo_bool(j, "noAnnotations", spec->no_annotations);
    echo_bool(j, "globalAnnotations", spec->global_annotations);
    echo_bool(j, "showTSUIDs", spec->show_tsuids);
    echo_bool(j, "showQuery", spec->show_query);
    echo_bool(j, "showStats", spec->show_stats);
    echo_bool(j, "showSummary", spec->show_summary);
    echo_bool(j, "delete", spec->del);
    ts_json_obj_end(j);
}
