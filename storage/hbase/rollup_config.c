/*
 * rollup_config.c - parses OpenTSDB's configuration of rollups.
 */
#include "storage/hbase/rollup_config.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/time.h"

#include <string.h>
#include <strings.h>

#define SHOWN_BYTES 64 /* of a text in an error */

/* --- functions --- */

static int add_function(struct sto_hbase_rollups *r, const char *name, const json_t *id, struct ts_error *err)
{
    json_int_t n = json_integer_value(id);
    if (!json_is_integer(id) || n < 0 || n > STO_HBASE_MAX_FUNCTION)
        return ts_error_set(err, TS_EINVAL, "the id of the function \"%.64s\" is not a number from 0 to %d",
                            name, STO_HBASE_MAX_FUNCTION);
    if (!*name || strchr(name, ':') || strlen(name) > SHOWN_BYTES)
        return ts_error_set(err, TS_EINVAL, "\"%.64s\" in aggregationIds is not the name of a function",
                            name);
    if (r->functions[n])
        return ts_error_set(err, TS_EINVAL, "the functions \"%.64s\" and \"%.64s\" have the same id %d",
                            r->functions[n], name, (int)n);
    for (size_t i = 0; i <= STO_HBASE_MAX_FUNCTION; i++)
        if (r->functions[i] && strcasecmp(r->functions[i], name) == 0)
            return ts_error_set(err, TS_EINVAL, "the function \"%.64s\" occurs twice in aggregationIds",
                                name);
    char *copy = r->functions[n] = ts_xstrdup(name);
    for (; *copy; copy++)
        *copy = (char)(*copy >= 'A' && *copy <= 'Z' ? *copy + 32 : *copy);
    return 0;
}

static int take_functions(struct sto_hbase_rollups *r, json_t *ids, struct ts_error *err)
{
    const char *name;
    json_t *id;
    if (!json_object_size(ids))
        return ts_error_set(err, TS_EINVAL, "aggregationIds is missing: it gives each function its id");
    json_object_foreach(ids, name, id) TS_TRY(add_function(r, name, id, err));
    return 0;
}

/* --- intervals --- */

static int take_text(const json_t *interval, const char *member, const char **out, struct ts_error *err)
{
    *out = json_string_value(json_object_get(interval, member));
    if (*out && **out)
        return 0;
    return ts_error_set(err, TS_EINVAL, "an interval has no text \"%s\"", member);
}

/* Rows begin at a multiple of the interval, so that its times are the same for every program. */
static int check_begin(const struct sto_hbase_rollup_interval *i, const char *span, struct ts_error *err)
{
    uint32_t step_s = i->shape.unit == STO_HBASE_HOURS ? i->shape.n_hours * 3600u : 86400u;
    if (step_s % i->shape.interval_s == 0)
        return 0;
    return ts_error_set(
        err, TS_EINVAL,
        "rows of %.40s do not always begin with an interval of %s, so that its times would not be "
        "the same in OpenTSDB and here",
        span, i->text);
}

static int add_interval(struct sto_hbase_rollups *r, const char *text, const char *span, const char *table,
                        const char *pre_table, struct ts_error *err)
{
    struct sto_hbase_rollup_interval *i = &r->intervals[r->n];
    if (r->n == STO_HBASE_ROLLUP_INTERVALS)
        return ts_error_set(err, TS_EINVAL, "there are more than %d intervals besides the default one",
                            STO_HBASE_ROLLUP_INTERVALS);
    TS_TRY(sto_hbase_rollup_parse(ts_slice_str(text), ts_slice_str(span), &i->shape, err));
    if ((size_t)snprintf(i->text, sizeof i->text, "%s", text) >= sizeof i->text)
        return ts_error_set(err, TS_EINVAL, "the interval \"%.64s\" is written too long", text);
    TS_TRY(check_begin(i, span, err));
    for (size_t k = 0; k < r->n; k++) {
        const struct sto_hbase_rollup_interval *o = &r->intervals[k];
        if (o->shape.interval_s == i->shape.interval_s)
            return ts_error_set(err, TS_EINVAL, "the interval %s occurs twice", text);
        if (!strcmp(o->table, table) || !strcmp(o->table, pre_table) || !strcmp(o->pre_table, table) ||
            !strcmp(o->pre_table, pre_table))
            return ts_error_set(
                err, TS_EINVAL,
                "the intervals %s and %s have a table in common, in which their cells would have "
                "the same qualifiers",
                o->text, text);
    }
    i->table = ts_xstrdup(table);
    i->pre_table = ts_xstrdup(pre_table);
    r->n++;
    return 0;
}

static int take_interval(struct sto_hbase_rollups *r, const json_t *interval, struct ts_error *err)
{
    const char *text, *span, *table, *pre_table;
    const json_t *usual = json_object_get(interval, "defaultInterval");
    if (!json_is_object(interval))
        return ts_error_set(err, TS_EINVAL, "intervals has something that is not an object");
    TS_TRY(take_text(interval, "interval", &text, err));
    TS_TRY(take_text(interval, "rowSpan", &span, err));
    TS_TRY(take_text(interval, "table", &table, err));
    TS_TRY(take_text(interval, "preAggregationTable", &pre_table, err));
    if (usual && !json_is_boolean(usual) && !json_is_null(usual))
        return ts_error_set(err, TS_EINVAL, "defaultInterval of the interval \"%.64s\" is not true or false",
                            text);
    if (!json_is_true(usual))
        return add_interval(r, text, span, table, pre_table, err);
    if (r->pre_table)
        return ts_error_set(err, TS_EINVAL, "more than one interval has \"defaultInterval\": true");
    r->pre_table = ts_xstrdup(pre_table);
    return 0;
}

static int take_intervals(struct sto_hbase_rollups *r, const json_t *intervals, struct ts_error *err)
{
    size_t at;
    const json_t *interval;
    if (json_array_size(intervals) == 0)
        return ts_error_set(err, TS_EINVAL,
                            "intervals is missing: it is the list of the intervals and their tables");
    json_array_foreach(intervals, at, interval) TS_TRY(take_interval(r, interval, err));
    if (!r->pre_table)
        return ts_error_set(err, TS_EINVAL,
                            "no interval has \"defaultInterval\": true; it is that of the points themselves");
    for (size_t i = 0; i < r->n; i++)
        if (!strcmp(r->pre_table, r->intervals[i].table) || !strcmp(r->pre_table, r->intervals[i].pre_table))
            return ts_error_set(err, TS_EINVAL,
                                "the table %s has pre-aggregates of the default interval and rollups of %s",
                                r->pre_table, r->intervals[i].text);
    return 0;
}

int sto_hbase_rollups_parse(struct ts_slice json, const char *tag_key, const char *raw_value,
                            struct sto_hbase_rollups *out, struct ts_error *err)
{
    json_t *root;
    *out = (struct sto_hbase_rollups){.tag_key = ts_xstrdup(tag_key), .raw_value = ts_xstrdup(raw_value)};
    TS_TRY(ts_json_load(json, &root, err));
    int rc = json_is_object(root) ? take_functions(out, json_object_get(root, "aggregationIds"), err)
                                  : ts_error_set(err, TS_EINVAL, "it is not an object");
    if (rc == 0)
        rc = take_intervals(out, json_object_get(root, "intervals"), err);
    json_decref(root);
    return rc;
}

void sto_hbase_rollups_release(struct sto_hbase_rollups *r)
{
    for (size_t i = 0; i < r->n; i++) {
        ts_free(r->intervals[i].table);
        ts_free(r->intervals[i].pre_table);
    }
    for (size_t i = 0; i <= STO_HBASE_MAX_FUNCTION; i++)
        ts_free(r->functions[i]);
    ts_free(r->pre_table);
    ts_free(r->tag_key);
    ts_free(r->raw_value);
    *r = (struct sto_hbase_rollups){.n = 0};
}

/* --- places --- */

static const struct sto_hbase_rollup_interval *find_interval(const struct sto_hbase_rollups *r,
                                                             struct ts_slice text)
{
    int64_t n, ms;
    enum ts_unit unit;
    if (ts_duration_exact(text, &n, &unit, &ms, NULL) < 0)
        return NULL;
    for (size_t i = 0; i < r->n; i++)
        if ((int64_t)r->intervals[i].shape.interval_s * 1000 == ms)
            return &r->intervals[i];
    return NULL;
}

int sto_hbase_rollups_find(const struct sto_hbase_rollups *r, struct ts_slice detail,
                           struct sto_hbase_rollup_place *out, struct ts_error *err)
{
    bool pre = detail.n && detail.p[detail.n - 1] == ':';
    struct ts_slice spec = {detail.p, detail.n - pre};
    const char *minus = spec.n ? memchr(spec.p, '-', spec.n) : NULL;
    *out = (struct sto_hbase_rollup_place){.pre = pre};
    if (!r)
        return ts_error_set(
            err, TS_EINVAL,
            "rollups cannot be stored in HBase without their tables; set rollups and rollups_config");
    if (pre && spec.n == 0) {
        out->table = r->pre_table;
        return 0;
    }
    struct ts_slice text = {spec.p, minus ? (size_t)(minus - spec.p) : 0},
                    name = {minus ? minus + 1 : "", minus ? spec.n - text.n - 1 : 0};
    const struct sto_hbase_rollup_interval *i = find_interval(r, text);
    if (!i)
        return ts_error_set(err, TS_EINVAL, "rollups_config has no table for rollups of %.*s",
                            TS_SHOWN(detail, SHOWN_BYTES));
    out->table = pre ? i->pre_table : i->table;
    out->shape = &i->shape;
    out->shared = !strcmp(i->table, i->pre_table);
    for (unsigned id = 0; id <= STO_HBASE_MAX_FUNCTION; id++)
        if (r->functions[id] && ts_slice_is_nocase(name, r->functions[id])) {
            out->function = (uint8_t)id;
            out->function_name = r->functions[id];
            return 0;
        }
    return ts_error_set(err, TS_EINVAL, "rollups_config has no id for the function \"%.*s\"",
                        TS_SHOWN(name, SHOWN_BYTES));
}

bool sto_hbase_rollups_is_pre(const struct sto_hbase_rollups *r, struct ts_slice value)
{
    return value.n && !ts_slice_is(value, r->raw_value);
}
