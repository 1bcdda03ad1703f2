/*
 * json.c - OpenTSDB's JSON of series; totals as an array of objects; the same one a line (ndjson).
 *
 * Threads    see out.h
 * Source     docs/OPENTSDB.md, section 2.5 (members and their order), 4.12 (numbers)
 */
#include "tsd/format/out.h"

#include "base/json.h"
#include "tsd/meta/annotation.h"

#include <math.h>

#define JSON_POINT_BYTES 96 /* most that one point takes */

/* --- numbers --- */

static const char json_pairs[] =
    "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
    "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
    "8081828384858687888990919293949596979899";

/* A time: seconds of ten digits share their first six with the point before. */
static char *json_time(struct tsd_out *o, char *p, int64_t ts_ms)
{
    if (o->spec->ms)
        return p + ts_num_print_int(ts_ms, p);
    int64_t s = ts_ms / 1000; /* towards zero, as OpenTSDB */
    if (s < 1000000000 || s > 9999999999)
        return p + ts_num_print_int(s, p);
    int64_t hi = s / 10000;
    unsigned lo = (unsigned)(s - hi * 10000);
    if (hi != o->time_hi) {
        (void)ts_num_print_int(hi, o->time_text);
        o->time_hi = hi;
    }
    memcpy(p, o->time_text, 6);
    memcpy(p + 6, json_pairs + lo / 100 * 2, 2);
    memcpy(p + 8, json_pairs + lo % 100 * 2, 2);
    return p + 10;
}

/* Doubles that are whole numbers or have one or two decimals are most of what is stored: digits without a
 * search. A decimal of at most 15 digits that gives the double back is its shortest text. */
static char *json_short_double(char *p, double d)
{
    double a = fabs(d), t = a * 100;
    if (!(a >= 1e-2 && a < 1e7))
        return NULL;
    uint64_t m = (uint64_t)(t + 0.5);
    if ((double)m / 100 != a)
        return NULL;
    unsigned cents = (unsigned)(m % 100);
    if (d < 0)
        *p++ = '-';
    p += ts_num_print_int((int64_t)(m / 100), p);
    *p++ = '.';
    memcpy(p, json_pairs + cents * 2, 2);
    return p + (cents % 10 ? 2 : 1);
}

char *tsd_out_json_double(char *p, double d, bool nan_is_null)
{
    char *end = json_short_double(p, d);
    if (end)
        return end;
    if (isnan(d) && nan_is_null) {
        memcpy(p, "null", 4);
        return p + 4;
    }
    if (!isfinite(d)) { /* bare words are no JSON */
        const char *text = isnan(d) ? "\"NaN\"" : d > 0 ? "\"Infinity\"" : "\"-Infinity\"";
        size_t n = strlen(text);
        memcpy(p, text, n);
        return p + n;
    }
    return p + ts_num_print_java(d, p);
}

static char *json_value(const struct qry_series *s, size_t i, char *p)
{
    if (tsd_out_is_int(s, i))
        return p + ts_num_print_int((int64_t)s->v[i], p);
    double d;
    memcpy(&d, &s->v[i], 8);
    return tsd_out_json_double(p, d, s->nan_is_null);
}

/* --- series --- */

/* Points of one second have one key: the last one counts. OpenTSDB prints the key again. */
static bool json_shadowed(const struct tsd_out *o, const struct qry_series *s, size_t i)
{
    return !o->spec->ms && !o->spec->compat && i + 1 < s->n && s->ts_ms[i + 1] / 1000 == s->ts_ms[i] / 1000;
}

static int json_points(struct tsd_out *o, const struct qry_series *s, struct ts_error *err)
{
    struct ts_sink *k = o->sink;
    bool arrays = o->spec->arrays, first = true;
    for (size_t i = 0; i < s->n; i++) {
        if (json_shadowed(o, s, i))
            continue;
        TS_TRY(ts_sink_room(k, JSON_POINT_BYTES, err));
        char *p = k->p;
        if (!first)
            *p++ = ',';
        first = false;
        *p++ = arrays ? '[' : '"';
        p = json_time(o, p, s->ts_ms[i]);
        if (!arrays)
            *p++ = '"';
        *p++ = arrays ? ',' : ':';
        p = json_value(s, i, p);
        if (arrays)
            *p++ = ']';
        k->p = p;
    }
    return 0;
}

static void json_names(struct ts_json *j, const char *key, const struct ts_slice *names, size_t n)
{
    ts_json_member_arr(j, key);
    for (size_t i = 0; i < n; i++)
        ts_json_slice(j, names[i]);
    ts_json_arr_end(j);
}

/* All members before the points. */
static int json_head(struct tsd_out *o, const struct qry_series *s, struct ts_error *err)
{
    struct ts_json j;
    ts_buf_clear(&o->scratch);
    ts_json_init(&j, &o->scratch);
    ts_json_obj(&j);
    ts_json_member_slice(&j, "metric", s->metric);
    ts_json_member_obj(&j, "tags");
    for (size_t i = 0; i < s->n_tags; i++)
        ts_json_member_slices(&j, s->tags[i].k, s->tags[i].v);
    ts_json_obj_end(&j);
    json_names(&j, "aggregateTags", s->agg_tags, s->n_agg_tags);
    if (o->spec->show_query && s->sub < o->spec->n_subs) {
        ts_json_key(&j, "query");
        qry_echo_sub(&o->spec->subs[s->sub], s->sub, o->cat, &j);
    }
    if (o->spec->show_tsuids)
        json_names(&j, "tsuids", s->tsuids, s->n_tsuids);
    if (s->joined && o->spec->compat && !o->spec->no_annotations)
        json_names(&j, "annotations", NULL, 0);
    else if (o->notes)
        TS_TRY(tsd_notes_of_series(o->notes, o->fetched, s, o->spec->start_ms, o->spec->end_ms, o->limit, &j,
                                   err));
    if (o->globals.n)
        ts_json_member_raw(&j, "globalAnnotations", ts_buf_get(&o->globals));
    ts_json_key(&j, "dps");
    ts_buf_char(&o->scratch, o->spec->arrays ? '[' : '{');
    return ts_sink_write(o->sink, ts_buf_get(&o->scratch), err);
}

static void json_figure(struct ts_json *j, const char *name, const struct qry_total_value *v)
{
    char text[64];
    double d = v->is_int ? (double)v->i : v->d;
    bool fits =
        v->is_int && v->i >= INT64_MIN && v->i <= INT64_MAX; /* beyond 64 bits other programs read doubles */
    if (v->null)
        ts_json_member_null(j, name);
    else if (fits)
        ts_json_member_int(j, name, (int64_t)v->i);
    else
        ts_json_member_raw(j, name,
                           (struct ts_slice){text, (size_t)(tsd_out_json_double(text, d, false) - text)});
}

static int json_figures(struct tsd_out *o, const struct qry_figures *f, struct ts_error *err)
{
    struct ts_json j;
    ts_buf_clear(&o->scratch);
    ts_buf_str(&o->scratch, ",\"figures\":");
    ts_json_init(&j, &o->scratch);
    ts_json_obj(&j);
    ts_json_member_count(&j, "count", f->n);
    json_figure(&j, "min", &f->min);
    json_figure(&j, "max", &f->max);
    json_figure(&j, "avg", &f->avg);
    json_figure(&j, "sum", &f->sum);
    json_figure(&j, "first", &f->first);
    json_figure(&j, "last", &f->last);
    ts_json_obj_end(&j);
    return ts_sink_write(o->sink, ts_buf_get(&o->scratch), err);
}

static int json_series(struct tsd_out *o, const struct qry_series *s, struct ts_error *err)
{
    TS_TRY(json_head(o, s, err));
    TS_TRY(json_points(o, s, err));
    TS_TRY(ts_sink_str(o->sink, o->spec->arrays ? "]" : "}", err));
    if (s->figures)
        TS_TRY(json_figures(o, s->figures, err));
    if (o->spec->show_stats && o->stats && s->sub < o->stats->n_subs) {
        struct ts_json j;
        ts_buf_clear(&o->scratch);
        ts_buf_str(&o->scratch, ",\"stats\":");
        ts_json_init(&j, &o->scratch);
        tsd_querystats_sub(&j, o->stats, s->sub);
        TS_TRY(ts_sink_write(o->sink, ts_buf_get(&o->scratch), err));
    }
    return ts_sink_str(o->sink, "}", err);
}

static int json_array_series(struct tsd_out *o, const struct qry_series *s, struct ts_error *err)
{
    if (o->n)
        TS_TRY(ts_sink_str(o->sink, ",", err));
    return json_series(o, s, err);
}

static int json_begin(struct tsd_out *o, struct ts_error *err)
{
    return ts_sink_str(o->sink, "[", err);
}

static int json_end(struct tsd_out *o, struct ts_error *err)
{
    if (o->spec->show_summary && !o->spec->by_on) {
        struct ts_json j;
        ts_buf_clear(&o->scratch);
        ts_buf_str(&o->scratch, o->n ? ",{\"statsSummary\":" : "{\"statsSummary\":");
        ts_json_init(&j, &o->scratch);
        if (o->stats)
            tsd_querystats_all(&j, o->stats, o->limit && qry_limit_incomplete(o->limit), -1);
        else
            ts_json_raw(&j, TS_SLICE_LIT("{}"));
        if (o->spec->max_series)
            ts_buf_printf(&o->scratch, ",\"of\":%zu", o->n + o->n_left_out);
        ts_buf_char(&o->scratch, '}');
        TS_TRY(ts_sink_write(o->sink, ts_buf_get(&o->scratch), err));
    }
    return ts_sink_str(o->sink, "]", err);
}

/* --- totals --- */

static void json_total_value(struct ts_json *j, const struct qry_total_value *v)
{
    char text[64];
    size_t n;
    if (v->null)
        n = (size_t)((char *)memcpy(text, "null", 4) + 4 - text);
    else
        n = !v->is_int && !isfinite(v->d) ? (size_t)(tsd_out_json_double(text, v->d, false) - text)
                                          : tsd_out_total_value(v, text);
    ts_json_raw(j, (struct ts_slice){text, n});
}

/* {"metric":"web.hits","timestamp":1793577600,"date":"2026-11-02","hour":"03","tags":{"domain":"a.org"},"value":5};
 * with several columns of values "values":{"web.hits":5,"before":4} instead of metric and value */
static int json_total(struct tsd_out *o, const struct qry_total *t, struct ts_error *err)
{
    const struct qry_head *head = o->head;
    struct ts_json j;
    char text[64];
    bool one = head->n_values == 1 && !o->spec->columns.n;
    ts_buf_clear(&o->scratch);
    ts_json_init(&j, &o->scratch);
    ts_json_obj(&j);
    if (one)
        ts_json_member_slice(&j, "metric", head->values[0]);
    if (o->spec->by_time.n)
        ts_json_member_int(&j, "timestamp", o->spec->ms ? t->ts_ms : ts_floor_div(t->ts_ms, 1000));
    for (size_t i = 0; i < head->n_times; i++)
        ts_json_member_slice(&j, qry_time_column_name(head->times[i]),
                             (struct ts_slice){text, qry_time_column_print(head->times[i], t, text)});
    if (head->n_tags) {
        ts_json_member_obj(&j, "tags");
        for (size_t i = 0; i < head->n_tags; i++)
            ts_json_member_slices(&j, head->tags[i], t->tags[i]);
        ts_json_obj_end(&j);
    }
    if (one)
        ts_json_key(&j, "value");
    else
        ts_json_member_obj(&j, "values");
    for (size_t i = 0; i < head->n_values; i++) {
        struct qry_total_value v = tsd_out_total_nth(t, i);
        if (!one)
            ts_json_key_slice(&j, head->values[i]);
        json_total_value(&j, &v);
    }
    if (!one)
        ts_json_obj_end(&j);
    if (t->partial)
        ts_json_member_bool(&j, "partial", true);
    ts_json_obj_end(&j);
    return ts_sink_write(o->sink, ts_buf_get(&o->scratch), err);
}

static int json_array_total(struct tsd_out *o, const struct qry_total *t, struct ts_error *err)
{
    if (o->n)
        TS_TRY(ts_sink_str(o->sink, ",\n", err));
    return json_total(o, t, err);
}

const struct tsd_out_format tsd_out_json = {.name = "json",
                                            .content_type = "application/json; charset=UTF-8",
                                            .accept = "application/json application/* text/* */*",
                                            .begin = json_begin,
                                            .series = json_array_series,
                                            .total = json_array_total,
                                            .end = json_end,
                                            .has_figures = true,
                                            .help = "OpenTSDB's array of series, or an array of totals."};

/* --- one object a line --- */

static int ndjson_series(struct tsd_out *o, const struct qry_series *s, struct ts_error *err)
{
    TS_TRY(json_series(o, s, err));
    return ts_sink_str(o->sink, "\n", err);
}

static int ndjson_total(struct tsd_out *o, const struct qry_total *t, struct ts_error *err)
{
    TS_TRY(json_total(o, t, err));
    return ts_sink_str(o->sink, "\n", err);
}

const struct tsd_out_format tsd_out_ndjson = {.name = "ndjson",
                                              .content_type = "application/x-ndjson; charset=UTF-8",
                                              .accept =
                                                  "application/x-ndjson application/ndjson application/jsonl",
                                              .begin = tsd_out_nothing,
                                              .series = ndjson_series,
                                              .total = ndjson_total,
                                              .end = tsd_out_nothing,
                                              .has_figures = true,
                                              .help = "The objects of json, one a line."};
