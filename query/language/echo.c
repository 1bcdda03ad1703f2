/*
 * echo.c - a sub query back as JSON: what showQuery and /api/stats/query print.
 *
 * Threads    any
 * Source     docs/OPENTSDB.md, section 2.5 (showQuery), 3.2.3, 3.5; members as the recorded answers have them
 */
#include "query/query.h"

#include "query/aggregators/agg.h"
#include "query/filters/filter.h"

/* A star without a type is reported as wildcard, though it matches in any case. */
static const char *filter_type(const struct qry_filter *f)
{
    return f->shorthand && strcmp(f->type->name, "iwildcard") == 0 ? "wildcard" : f->type->name;
}

static void echo_filters(struct ts_json *j, const struct qry_sub *sub)
{
    ts_json_member_arr(j, "filters");
    for (size_t i = 0; i < sub->n_filters; i++) {
        const struct qry_filter *f = &sub->filters[i];
        ts_json_obj(j);
        ts_json_member_slice(j, "tagk", f->tagk);
        ts_json_member_slice(j, "filter", f->text);
        ts_json_member_bool(j, "group_by", f->group_by);
        ts_json_member_str(j, "type", filter_type(f));
        ts_json_obj_end(j);
    }
    ts_json_arr_end(j);
}

/* The old form of filters that group. */
static void echo_tags(struct ts_json *j, const struct qry_sub *sub)
{
    struct ts_buf b;
    ts_buf_init(&b, 0);
    ts_json_member_obj(j, "tags");
    for (size_t i = 0; i < sub->n_filters; i++) {
        const struct qry_filter *f = &sub->filters[i];
        if (!f->group_by)
            continue;
        ts_buf_clear(&b);
        ts_buf_printf(&b, "%s(", filter_type(f));
        ts_buf_slice(&b, f->text);
        ts_buf_char(&b, ')');
        ts_json_member_slices(j, f->tagk, ts_buf_get(&b));
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
        ts_json_member_null(j, "rateOptions");
        return;
    }
    ts_json_member_obj(j, "rateOptions");
    ts_json_member_bool(j, "counter", sub->rate.counter);
    ts_json_member_int(j, "counterMax", sub->rate.counter_max);
    ts_json_member_int(j, "resetValue", sub->rate.reset_value);
    ts_json_member_bool(j, "dropResets", sub->rate.drop_resets);
    ts_json_obj_end(j);
}

static void echo_tsuids(struct ts_json *j, const struct qry_sub *sub)
{
    if (!sub->n_tsuids) {
        ts_json_member_null(j, "tsuids");
        return;
    }
    ts_json_member_arr(j, "tsuids");
    for (size_t i = 0; i < sub->n_tsuids; i++)
        ts_json_slice(j, sub->tsuids[i]);
    ts_json_arr_end(j);
}

static void echo_percentiles(struct ts_json *j, const struct qry_sub *sub)
{
    if (!sub->n_percentiles) {
        ts_json_member_null(j, "percentiles");
        return;
    }
    ts_json_member_arr(j, "percentiles");
    for (size_t i = 0; i < sub->n_percentiles; i++)
        ts_json_double(j, sub->percentiles[i]);
    ts_json_arr_end(j);
}

void qry_echo_sub(const struct qry_sub *sub, size_t index, struct sto_catalog *cat, struct ts_json *j)
{
    ts_json_obj(j);
    ts_json_member_str(j, "aggregator", sub->agg ? sub->agg->name : "none");
    ts_json_member_filled(j, "metric", sub->metric);
    echo_tsuids(j, sub);
    ts_json_member_filled(j, "downsample", sub->downsample_text);
    ts_json_member_bool(j, "rate", sub->rate.on);
    echo_filters(j, sub);
    echo_percentiles(j, sub);
    ts_json_member_count(j, "index", index);
    echo_rate(j, sub);
    echo_keys(j, sub, cat);
    ts_json_member_bool(j, "explicitTags", sub->explicit_tags);
    ts_json_member_bool(j, "useFuzzyFilter", true); /* hints for a storage that is not ours: their defaults */
    ts_json_member_bool(j, "preAggregate", sub->pre_aggregate);
    ts_json_member_null(j, "rollupUsage");
    ts_json_member_str(j, "rollupTable", "raw");
    ts_json_member_bool(j, "showHistogramBuckets", sub->histogram_buckets);
    ts_json_member_bool(j, "useMultiGets", true);
    echo_tags(j, sub);
    ts_json_member_bool(j, "histogramQuery", qry_sub_is_histogram(sub));
    ts_json_obj_end(j);
}

void qry_echo(const struct qry_spec *spec, struct sto_catalog *cat, struct ts_json *j)
{
    ts_json_obj(j);
    ts_json_member_filled(j, "start", spec->start_text);
    ts_json_member_filled(j, "end", spec->end_text);
    ts_json_member_int(j, "startTime", spec->start_ms);
    ts_json_member_int(j, "endTime", spec->end_ms);
    ts_json_member_arr(j, "queries");
    for (size_t i = 0; i < spec->n_subs; i++)
        qry_echo_sub(&spec->subs[i], i, cat, j);
    ts_json_arr_end(j);
    ts_json_member_bool(j, "msResolution", spec->ms);
    ts_json_member_bool(j, "noAnnotations", spec->no_annotations);
    ts_json_member_bool(j, "globalAnnotations", spec->global_annotations);
    ts_json_member_bool(j, "showTSUIDs", spec->show_tsuids);
    ts_json_member_bool(j, "showQuery", spec->show_query);
    ts_json_member_bool(j, "showStats", spec->show_stats);
    ts_json_member_bool(j, "showSummary", spec->show_summary);
    ts_json_member_bool(j, "delete", spec->del);
    ts_json_obj_end(j);
}
