/*
 * rollups.c - configuration of rollups, checks of a point, its internal series.
 *
 * Threads    see rollups.h
 * Not here   words of lines (line/rollup.c), JSON (http/ep_put.c), queries (query/execution/rollup.c)
 */
#include "tsd/ingest/rollups.h"

#include "base/cut.h"
#include "base/json.h"
#include "base/text.h"
#include "query/aggregators/agg.h"
#include "query/execution/internal_metric.h"
#include "tsd/ingest/args.h"

#include <stdlib.h>

#define ROLLUPS_FILE_BYTES ((size_t)1 << 20) /* a configuration is a page of text */

const struct qry_rollups tsd_rollups_any = {
    .on = true, .any = true, .tag_key = "_aggregate", .raw_value = "RAW"};

/* --- configuration --- */

/* An interval and the text that names it in the store: what was given, but "1h" for "1 hour". */
static bool rollups_interval(struct ts_slice text, struct qry_rollup_step *out)
{
    static const char letters[] = "?smhdwny"; /* enum ts_unit */
    int64_t n;
    enum ts_unit unit;
    *out = (struct qry_rollup_step){.ms = 0};
    if (ts_duration_exact(text, &n, &unit, &out->ms, NULL) < 0 || out->ms < 1000)
        return false;
    size_t digits = 0;
    while (digits < text.n && text.p[digits] >= '0' && text.p[digits] <= '9')
        digits++;
    if (text.n - digits == (unit == TS_UNIT_MS ? 2 : 1))
        return snprintf(out->text, sizeof(out->text), "%.*s", (int)text.n, text.p) < (int)sizeof(out->text);
    int len = unit == TS_UNIT_MS
                  ? snprintf(out->text, sizeof(out->text), "%lldms", (long long)n)
                  : snprintf(out->text, sizeof(out->text), "%lld%c", (long long)n, letters[unit]);
    return len < (int)sizeof(out->text);
}

static int rollups_step(struct qry_rollups *r, struct ts_slice text, struct ts_error *err)
{
    struct qry_rollup_step step;
    if (!rollups_interval(text, &step))
        return ts_error_set(err, TS_EINVAL, "rollups_config: not an interval: %.*s", TS_SHOWN(text, 64));
    if (r->n_steps == QRY_ROLLUP_STEPS)
        return ts_error_set(err, TS_EINVAL, "rollups_config: at most %d intervals", QRY_ROLLUP_STEPS);
    size_t at = r->n_steps++;
    for (; at > 0 && r->steps[at - 1].ms > step.ms; at--)
        r->steps[at] = r->steps[at - 1];
    r->steps[at] = step;
    return 0;
}

/* "1m,1h,1d". */
static int rollups_list(struct qry_rollups *r, struct ts_slice s, struct ts_error *err)
{
    while (s.n) {
        struct ts_slice one = ts_slice_cut(&s, ',');
        while (one.n && one.p[0] == ' ')
            one = (struct ts_slice){one.p + 1, one.n - 1};
        while (one.n && one.p[one.n - 1] == ' ')
            one.n--;
        TS_TRY(rollups_step(r, one, err));
    }
    return 0;
}

/* {"aggregationIds":{"sum":0,..},"intervals":[{"interval":"1h",..},..]}; the default interval is the points
 * themselves. */
static int rollups_json(struct qry_rollups *r, struct ts_slice text, struct ts_error *err)
{
    json_t *root, *ids, *interval;
    size_t i, n = 0;
    const char *key;
    TS_TRY(ts_json_load(text, &root, err));
    int rc = 0;
    json_array_foreach(json_object_get(root, "intervals"), i, interval)
    {
        const char *s = json_string_value(json_object_get(interval, "interval"));
        if (rc == 0 && !json_is_true(json_object_get(interval, "defaultInterval")))
            rc = rollups_step(r, ts_slice_str(s ? s : ""), err);
    }
    ids = json_object_get(root, "aggregationIds");
    if (json_object_size(ids)) {
        r->aggs = ts_xcalloc(json_object_size(ids) + 1, sizeof(*r->aggs));
        json_object_foreach(ids, key, interval) r->aggs[n++] = ts_xstrdup(key);
    }
    json_decref(root);
    return rc;
}

int tsd_rollups_text(const struct ts_conf *conf, char **out_file, struct ts_slice *out, bool *out_is_json,
                     struct ts_error *err)
{
    struct ts_slice text = ts_slice_str(ts_conf_str(conf, "rollups_config"));
    *out_file = NULL;
    if (text.n > 5 && !memcmp(text.p + text.n - 5, ".json", 5)) {
        TS_TRY(ts_fs_read_any(text.p, ROLLUPS_FILE_BYTES, out_file, &text.n, err));
        text.p = *out_file;
    }
    *out = text;
    *out_is_json = text.n && text.p[strspn(text.p, " \t\r\n")] == '{';
    return 0;
}

int tsd_rollups_load(const struct ts_conf *conf, struct qry_rollups *out, struct ts_error *err)
{
    *out = (struct qry_rollups){.on = ts_conf_bool(conf, "rollups"),
                                .tag_raw = ts_conf_bool(conf, "rollups_tag_raw"),
                                .block_derived = ts_conf_bool(conf, "rollups_block_derived"),
                                .tag_key = ts_conf_str(conf, "rollups_agg_tag_key"),
                                .raw_value = ts_conf_str(conf, "rollups_raw_agg_tag_value")};
    struct ts_slice text;
    char *file;
    bool is_json;
    if (!out->on)
        return 0;
    TS_TRY(tsd_rollups_text(conf, &file, &text, &is_json, err));
    int rc = (is_json ? rollups_json : rollups_list)(out, text, err);
    ts_free(file);
    if (rc < 0) {
        tsd_rollups_release(out);
        return ts_error_wrap(err, "rollups_config");
    }
    return 0;
}

void tsd_rollups_release(struct qry_rollups *r)
{
    for (char **a = r->aggs; a && *a; a++)
        ts_free(*a);
    ts_free(r->aggs);
    r->aggs = NULL;
}

/* --- points --- */

static int rollups_say(struct tsd_ingest *in, const char *text, struct ts_slice what)
{
    return tsd_args_say(in, TS_EINVAL, text, ts_utf8_cut(what, 64));
}

/* An aggregator in small letters that is configured, or a refusal. */
static int rollups_agg(struct tsd_ingest *in, const struct qry_rollups *conf, struct ts_slice name, char *out,
                       size_t room)
{
    size_t n = name.n < room - 1 ? name.n : room - 1;
    for (size_t i = 0; i < n; i++)
        out[i] = (char)(name.p[i] >= 'A' && name.p[i] <= 'Z' ? name.p[i] + 32 : name.p[i]);
    out[n] = 0;
    if (conf->block_derived && (!strcmp(out, "avg") || !strcmp(out, "dev")))
        return rollups_say(in, "Derived rollup aggregations are not allowed (rollups_block_derived): ", name);
    if (!strcasecmp(out, "squaresum"))
        memcpy(out, "squareSum", 9);
    const struct qry_agg *agg = qry_agg_find(ts_slice_str(out), false);
    bool known = agg && !qry_agg_is_none(agg) && n == name.n;
    for (char **a = conf->aggs; known && a; a++) {
        if (!*a)
            known = false;
        else if (!strcasecmp(*a, out))
            break;
    }
    return known ? 0 : rollups_say(in, "No such rollup: aggregator ", name);
}

static bool rollups_find(const struct qry_rollups *conf, struct ts_slice interval,
                         struct qry_rollup_step *out)
{
    struct qry_rollup_step step;
    size_t at = 0;
    while (at < conf->n_steps && !ts_slice_is(interval, conf->steps[at].text))
        at++;
    if (at < conf->n_steps) /* as nearly all write it: no need to read it */
        step = conf->steps[at];
    else if (!rollups_interval(interval, &step))
        return false;
    for (size_t i = 0; i < conf->n_steps; i++)
        if (conf->steps[i].ms == step.ms) {
            *out = conf->steps[i];
            return true;
        }
    *out = step;
    return conf->any;
}

/* The name of the internal metric in in->internal, the interval, the value of the tag ("" = no tag). */
static int rollups_target(struct tsd_ingest *in, const struct qry_rollups *conf,
                          const struct tsd_rollup_words *w, struct ts_slice metric, int64_t *out_ms,
                          char *tag, size_t tag_room)
{
    char agg[32] = "", spec[64] = "";
    struct qry_rollup_step step = {.ms = 0};
    if (!conf || !conf->on)
        return rollups_say(in, "No rollup or aggregations were configured", (struct ts_slice){NULL, 0});
    if (w->interval.n) {
        if (!rollups_find(conf, w->interval, &step))
            return rollups_say(in, "No such rollup: ", w->interval);
        TS_TRY(rollups_agg(in, conf, w->aggregator, agg, sizeof(agg)));
    }
    *tag = 0;
    if (w->group_by.n) {
        TS_TRY(rollups_agg(in, conf, w->group_by, tag, tag_room));
        for (char *p = tag; *p; p++)
            *p = (char)(*p >= 'a' && *p <= 'z' ? *p - 32 : *p);
    } else if (conf->tag_raw && !w->tagged) {
        (void)snprintf(tag, tag_room, "%s", conf->raw_value);
    }
    (void)snprintf(spec, sizeof(spec), "%s%s%s%s", step.text, step.ms ? "-" : "", agg,
                   w->group_by.n || w->tagged ? ":" : "");
    *out_ms = step.ms;
    ts_buf_clear(&in->internal);
    sto_internal_name(&(struct sto_internal){STO_INTERNAL_ROLLUP, metric, ts_slice_str(spec)}, &in->internal);
    return 0;
}

/* "_aggregate=SUM" goes in the place of what the sender may have given for that key. */
static size_t rollups_tag(const struct qry_rollups *conf, const char *value, struct sto_tag_text *tags,
                          size_t n)
{
    size_t i = 0;
    if (!*value)
        return n;
    while (i < n && !ts_slice_is(tags[i].k, conf->tag_key))
        i++;
    tags[i] = (struct sto_tag_text){ts_slice_str(conf->tag_key), ts_slice_str(value)};
    return i < n ? n : n + 1;
}

static bool rollups_has_tag(const struct qry_rollups *conf, const struct sto_tag_text *tags, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (ts_slice_is(tags[i].k, conf->tag_key))
            return true;
    return false;
}

int tsd_rollup_take(struct tsd_ingest *in, const struct qry_rollups *conf,
                    const struct tsd_rollup_words *words, struct ts_slice metric, struct sto_tag_text *tags,
                    size_t n_tags, const struct tsd_time *time, struct ts_slice value_word,
                    struct ts_num value)
{
    char tag[64];
    int64_t step_ms = 0;
    const struct sto_series *series;
    TS_TRY(rollups_target(in, conf, words, metric, &step_ms, tag, sizeof(tag)));
    if (words->tagged && !conf->any && !rollups_has_tag(conf, tags, n_tags))
        return rollups_say(in, "Missing interval or aggregator", (struct ts_slice){NULL, 0});
    if (time->bad || time->ms)
        return tsd_args_bad_time(in, time->raw, value_word, metric, tags, n_tags);
    n_tags = rollups_tag(conf, tag, tags, n_tags);
    TS_TRY(tsd_ingest_internal(in, ts_buf_get(&in->internal), metric, tags, n_tags, &series));
    int64_t ts_ms = step_ms ? time->ts_ms - ts_floor_mod(time->ts_ms, step_ms) : time->ts_ms;
    TS_TRY(tsd_ingest_point(in, series, ts_ms, value.m,
                            sto_meta_flags(STO_OP_PUT, value.kind, value.exp, false)));
    in->n_points++;
    return 0;
}
