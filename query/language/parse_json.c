/*
 * parse_json.c - the body of POST /api/query into a spec.
 */
#include "query/language/parse.h"

#include "base/json.h"
#include "query/aggregators/agg.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* What the parts of the body share. */
struct body {
    bool compat;
    bool calendar;                   /* useCalendar: all intervals are the zone's */
    struct ts_json_unknown *unknown; /* members that nobody knows */
    struct ts_arena *arena;
    struct ts_error *err;
};

/* Members that OpenTSDB documents, those that it prints with showQuery, and ours; ms, timezone, ... beside those of qry_choice_names. */
static const char root_members[] =
    "start end queries timezone useCalendar noAnnotations globalAnnotations msResolution ms showTSUIDs "
    "showQuery showStats showSummary delete padding options overrideByteLimit overrideDataPointLimit "
    "startTime endTime by tz fill";
static const char sub_members[] =
    "aggregator metric tsuids downsample rate rateOptions tags filters explicitTags percentiles "
    "showHistogramBuckets preAggregate rollupUsage rollupTable useFuzzyFilter useMultiGets index filterTagKs "
    "histogramQuery";
static const char filter_members[] = "type tagk filter groupBy group_by";

static int bad_json(struct body *b)
{
    return ts_error_set(b->err, TS_EINVAL, "Unable to parse the given JSON");
}

int qry_json_broken(bool compat, struct ts_error *err)
{
    struct ts_error why = *err;
    return ts_error_set(err, TS_EINVAL, "Unable to parse the given JSON%s%s", compat ? "" : ": ",
                        compat ? "" : why.text);
}

struct ts_slice qry_json_text(const json_t *v, struct ts_arena *arena)
{
    char num[64];
    int n;
    if (json_is_string(v))
        return (struct ts_slice){ts_arena_strndup(arena, json_string_value(v), json_string_length(v)),
                                 json_string_length(v)};
    if (json_is_integer(v))
        n = snprintf(num, sizeof num, "%" JSON_INTEGER_FORMAT, json_integer_value(v));
    else if (json_is_real(v))
        n = snprintf(num, sizeof num, "%.3f", json_real_value(v));
    else
        return (struct ts_slice){NULL, 0};
    return (struct ts_slice){ts_arena_strndup(arena, num, (size_t)n), (size_t)n};
}

static struct ts_slice text_of(struct body *b, const json_t *v)
{
    return qry_json_text(v, b->arena);
}

bool qry_json_true(const json_t *v)
{
    return json_is_true(v) || (json_is_string(v) && strcasecmp(json_string_value(v), "true") == 0);
}

int qry_json_known(const json_t *object, const char *known, bool compat, struct ts_json_unknown *unknown,
                   struct ts_error *err)
{
    return compat ? 0 : ts_json_known(object, known, unknown, err);
}

/* 1: an object, 0: null, < 0: an error. */
static int object_or_null(struct body *b, const json_t *o)
{
    return json_is_object(o) ? 1 : json_is_null(o) ? 0 : bad_json(b);
}

static int parse_rate_options(struct body *b, const json_t *o, struct qry_rate *out, bool *given)
{
    const char *key;
    json_t *v;
    int rc = object_or_null(b, o);
    if (rc <= 0)
        return rc;
    *given = true;
    json_object_foreach((json_t *)(uintptr_t)o, key, v)
    {
        struct ts_slice t = text_of(b, v);
        if (strcmp(key, "counter") == 0)
            out->counter = qry_json_true(v);
        else if (strcmp(key, "dropResets") == 0)
            out->drop_resets = qry_json_true(v);
        else if (strcmp(key, "counterMax") != 0 && strcmp(key, "resetValue") != 0)
            return bad_json(b);
        else if (ts_num_parse_int(t, key[0] == 'c' ? &out->counter_max : &out->reset_value, NULL) < 0)
            return bad_json(b);
    }
    return 0;
}

/* {"host":"web*"}: as the first braces of a URI. */
static int parse_tags(struct body *b, const json_t *o, struct qry_sub *out)
{
    const char *key;
    json_t *v;
    int rc = object_or_null(b, o);
    if (rc <= 0)
        return rc;
    struct qry_filter *f = ts_arena_zalloc(b->arena, (json_object_size(o) + 1) * sizeof *f);
    out->n_filters = 0;
    json_object_foreach((json_t *)(uintptr_t)o, key, v)
    {
        struct ts_slice k = {ts_arena_strndup(b->arena, key, strlen(key)), strlen(key)};
        TS_TRY(qry_filter_parse(k, text_of(b, v), true, b->compat, b->arena, &f[out->n_filters], b->err));
        out->n_filters++;
    }
    out->filters = f;
    return 0;
}

int qry_json_filters(const json_t *a, bool compat, struct ts_json_unknown *unknown, struct ts_arena *arena,
                     const struct qry_filter **out, size_t *out_n, struct ts_error *err)
{
    struct body b = {.compat = compat, .unknown = unknown, .arena = arena, .err = err};
    size_t i;
    json_t *v;
    *out = NULL;
    *out_n = 0;
    if (!a || json_is_null(a))
        return 0;
    if (!json_is_array(a))
        return bad_json(&b);
    struct qry_filter *f = ts_arena_zalloc(arena, (json_array_size(a) + 1) * sizeof *f);
    json_array_foreach(a, i, v)
    {
        if (!json_is_object(v))
            return bad_json(&b);
        TS_TRY(qry_json_known(v, filter_members, compat, unknown, err));
        bool group_by =
            qry_json_true(json_object_get(v, "groupBy")) || qry_json_true(json_object_get(v, "group_by"));
        struct ts_slice type = text_of(&b, json_object_get(v, "type"));
        int rc =
            qry_filter_make(text_of(&b, json_object_get(v, "tagk")), type.p ? type : TS_SLICE_LIT(""),
                            text_of(&b, json_object_get(v, "filter")), group_by, compat, arena, &f[i], err);
        if (rc < 0)
            return compat ? bad_json(&b) : rc; /* OpenTSDB makes filters while it reads */
        ++*out_n;
    }
    *out = f;
    return 0;
}

static int parse_tsuids(struct body *b, const json_t *a, struct qry_sub *out)
{
    size_t i;
    json_t *v;
    if (!json_is_array(a))
        return json_is_null(a) ? 0 : bad_json(b);
    out->tsuids = ts_arena_alloc(b->arena, (json_array_size(a) + 1) * sizeof *out->tsuids);
    json_array_foreach(a, i, v)
    {
        out->tsuids[i] = text_of(b, v);
        if (!out->tsuids[i].n)
            return bad_json(b);
    }
    out->n_tsuids = json_array_size(a);
    return 0;
}

static int parse_percentiles(struct body *b, const json_t *a, struct qry_sub *out)
{
    size_t i;
    json_t *v;
    double *p = ts_arena_alloc(b->arena, (json_array_size(a) + 1) * sizeof *p);
    if (!json_is_array(a))
        return json_is_null(a) ? 0 : bad_json(b);
    json_array_foreach(a, i, v)
    {
        if (!json_is_number(v))
            return bad_json(b);
        p[i] = json_number_value(v);
    }
    return qry_parse_percentiles(p, json_array_size(a), out, b->err);
}

static int parse_one(struct body *b, const char *key, json_t *v, struct qry_sub *out,
                     struct ts_slice *downsample)
{
    if (strcmp(key, "metric") == 0)
        out->metric = text_of(b, v);
    else if (strcmp(key, "tsuids") == 0)
        return parse_tsuids(b, v, out);
    else if (strcmp(key, "downsample") == 0)
        *downsample = text_of(b, v);
    else if (strcmp(key, "rate") == 0)
        out->rate.on = qry_json_true(v);
    else if (strcmp(key, "rateOptions") == 0)
        return parse_rate_options(b, v, &out->rate, &out->rate_options);
    else if (strcmp(key, "tags") == 0)
        return parse_tags(b, v, out); /* of tags and filters the later one counts */
    else if (strcmp(key, "filters") == 0)
        return json_is_null(v) ? 0
                               : qry_json_filters(v, b->compat, b->unknown, b->arena, &out->filters,
                                                  &out->n_filters, b->err);
    else if (strcmp(key, "explicitTags") == 0)
        out->explicit_tags = qry_json_true(v);
    else if (strcmp(key, "percentiles") == 0)
        return parse_percentiles(b, v, out);
    else if (strcmp(key, "showHistogramBuckets") == 0)
        out->histogram_buckets = qry_json_true(v);
    else if (strcmp(key, "preAggregate") == 0)
        out->pre_aggregate = qry_json_true(v);
    else if (strcmp(key, "rollupUsage") == 0 && json_is_string(v))
        out->rollup_usage = qry_parse_rollup_usage(text_of(b, v));
    return 0;
}

static int parse_sub(struct body *b, json_t *o, struct qry_sub *out)
{
    const char *key;
    json_t *v;
    struct ts_slice downsample = {0};
    *out = (struct qry_sub){.rate = {.counter_max = INT64_MAX}};
    if (!json_is_object(o))
        return bad_json(b);
    TS_TRY(qry_json_known(o, sub_members, b->compat, b->unknown, b->err));
    json_object_foreach(o, key, v) TS_TRY(parse_one(b, key, v, out, &downsample));
    struct ts_slice agg = text_of(b, json_object_get(o, "aggregator"));
    if (!agg.n)
        return ts_error_set(b->err, TS_EINVAL, "Missing the aggregation function");
    TS_TRY(qry_parse_agg(agg, b->compat, &out->agg, b->err));
    out->none = qry_agg_is_none(out->agg);
    if (!out->metric.n && !out->n_tsuids)
        return ts_error_set(b->err, TS_EINVAL, "Missing the metric or tsuids, provide at least one");
    out->downsample_text = downsample;
    if (downsample.n)
        TS_TRY(qry_parse_downsample(downsample, b->compat, &out->downsample, b->err));
    if (b->calendar && out->downsample.on && !out->downsample.all)
        out->downsample.calendar = true;
    return 0;
}

static int parse_queries(struct body *b, json_t *a, struct qry_spec *out)
{
    size_t i;
    json_t *v;
    if (!json_is_array(a))
        return a && !json_is_null(a) ? bad_json(b) : ts_error_set(b->err, TS_EINVAL, "Missing queries");
    if (json_array_size(a) > QRY_MAX_SUBS)
        return ts_error_set(b->err, TS_EINVAL, "Too many sub queries, at most %d", QRY_MAX_SUBS);
    out->subs = ts_arena_zalloc(b->arena, (json_array_size(a) + 1) * sizeof *out->subs);
    json_array_foreach(a, i, v)
    {
        size_t k = 0;
        while (k < i && !json_equal(json_array_get(a, k), v))
            k++;
        if (k < i)
            continue; /* a repetition */
        TS_TRY(parse_sub(b, v, &out->subs[out->n_subs]));
        out->n_subs++;
    }
    return 0;
}

/* "by":"day,domain" or ["day","domain"]. */
static struct ts_slice by_of(struct body *b, const json_t *v)
{
    if (!json_is_array(v))
        return text_of(b, v);
    struct ts_buf buf;
    size_t i;
    json_t *key;
    ts_buf_init(&buf, 0);
    json_array_foreach(v, i, key)
    {
        if (i)
            ts_buf_char(&buf, ',');
        ts_buf_slice(&buf, text_of(b, key));
    }
    struct ts_slice by = {ts_arena_strndup(b->arena, buf.n ? buf.p : "", buf.n), buf.n};
    ts_buf_release(&buf);
    return by;
}

static int parse_choice(struct body *b, const json_t *root, struct qry_spec *out)
{
    struct qry_param params[QRY_MAX_CHOICES];
    size_t n = 0;
    for (size_t i = 0; qry_choice_names[i]; i++) {
        const char *name = qry_choice_names[i];
        const json_t *v = json_object_get(root, name);
        params[n].name = ts_slice_str(name);
        if (v)
            TS_TRY(qry_choice_json(name, v, b->arena, &params[n].value, b->err));
        n += v && params[n].value.p;
    }
    return qry_parse_choice(params, n, b->arena, out, NULL, b->err);
}

/* Names of choices stand in a table of their own. */
static int known_root(struct body *b, const json_t *root)
{
    struct ts_buf known;
    ts_buf_init(&known, 0);
    ts_buf_str(&known, root_members);
    for (size_t i = 0; qry_choice_names[i]; i++)
        ts_buf_printf(&known, " %s", qry_choice_names[i]);
    ts_buf_char(&known, 0);
    int rc = known.failed ? ts_error_set(b->err, TS_ENOMEM, "no memory for reading the request")
                          : qry_json_known(root, known.p, b->compat, b->unknown, b->err);
    ts_buf_release(&known);
    return rc;
}

static int parse_root(struct body *b, json_t *root, int64_t now_ms, struct qry_spec *out)
{
    if (!json_is_object(root))
        return bad_json(b);
    TS_TRY(known_root(b, root));
    struct qry_spec_text text = {.start = text_of(b, json_object_get(root, "start")),
                                 .end = text_of(b, json_object_get(root, "end")),
                                 .tz = text_of(b, json_object_get(root, "timezone")),
                                 .by = by_of(b, json_object_get(root, "by")),
                                 .fill = text_of(b, json_object_get(root, "fill")),
                                 .json = true};
    if (text.by.p && !text.tz.p)
        text.tz = text_of(b, json_object_get(root, "tz"));
    out->ms = qry_json_true(json_object_get(root, "msResolution")) ||
              (!b->compat && qry_json_true(json_object_get(root, "ms")));
    out->show_tsuids = qry_json_true(json_object_get(root, "showTSUIDs"));
    out->show_query = qry_json_true(json_object_get(root, "showQuery"));
    out->show_stats = qry_json_true(json_object_get(root, "showStats"));
    out->show_summary = qry_json_true(json_object_get(root, "showSummary"));
    out->no_annotations = qry_json_true(json_object_get(root, "noAnnotations"));
    out->global_annotations = qry_json_true(json_object_get(root, "globalAnnotations"));
    out->del = qry_json_true(json_object_get(root, "delete"));
    b->calendar = qry_json_true(json_object_get(root, "useCalendar"));
    if (!text.start.n)
        return ts_error_set(b->err, TS_EINVAL, "Missing start time");
    TS_TRY(parse_queries(b, json_object_get(root, "queries"), out));
    TS_TRY(parse_choice(b, root, out));
    return qry_spec_finish(&text, now_ms, b->arena, out, b->err);
}

int qry_parse_json(struct ts_slice body, int64_t now_ms, bool compat, struct ts_arena *arena,
                   struct qry_spec *out, struct ts_error *err)
{
    struct body b = {.compat = compat, .unknown = &out->unknown, .arena = arena, .err = err};
    json_t *root;
    *out = (struct qry_spec){.compat = compat, .values_must_exist = compat};
    if (!body.n)
        return ts_error_set(err, TS_EINVAL, "Missing message content");
    int rc = ts_json_load(body, &root, err);
    if (rc < 0)
        return rc == TS_EPARSE ? qry_json_broken(compat, err) : rc;
    rc = parse_root(&b, root, now_ms, out);
    json_decref(root);
    return rc;
}
