/*
 * parse_m.c - the small language of m and tsuid: aggregator, options, metric and filters between colons.
 *
 * Colons and commas inside braces and parentheses do not separate, so that regular expressions may hold them.
 */
#include "query/language/parse.h"

#include "base/text.h"
#include "base/near.h"
#include "query/aggregators/agg.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PARTS       5                 /* aggregator, three options, metric */
#define MAX_INTERVAL_MS 315576000000000ll /* ten thousand years */

/* Parts of s between separators that stand outside of (), {} and []; at most max + 1 are found. */
static size_t split(struct ts_slice s, char sep, struct ts_slice *parts, size_t max)
{
    size_t n = 0, from = 0;
    int depth = 0;
    for (size_t i = 0; i <= s.n; i++) {
        char c = i < s.n ? s.p[i] : sep;
        if (c == '(' || c == '{' || c == '[')
            depth++;
        else if ((c == ')' || c == '}' || c == ']') && depth > 0)
            depth--;
        if (i < s.n && (c != sep || depth > 0))
            continue;
        if (n < max)
            parts[n] = (struct ts_slice){s.p + from, i - from};
        n++;
        from = i + 1;
    }
    return n;
}

/* A function of aggregators or of buckets; what says which in the message. Names that other programs use are understood, as hints. */
static int find_function(struct ts_slice name, const char *what, bool compat, const struct qry_agg **out,
                         struct ts_error *err)
{
    static const struct {
        const char *name, *ours;
    } elsewhere[] = {{"mean", "avg"},    {"average", "avg"},  {"total", "sum"},   {"maximum", "max"},
                     {"minimum", "min"}, {"stddev", "dev"},   {"stdev", "dev"},   {"newest", "last"},
                     {"latest", "last"}, {"oldest", "first"}, {"number", "count"}};
    struct ts_near near;
    *out = qry_agg_find(name, compat);
    if (*out)
        return 0;
    int rc = ts_error_set(err, TS_EINVAL, "No such %s function: %.*s", what, TS_SHOWN(name, 120));
    ts_near_init(&near, name);
    for (size_t i = 0; !compat && i < sizeof elsewhere / sizeof elsewhere[0]; i++)
        if (ts_slice_is(name, elsewhere[i].name)) {
            near.wanted = ts_slice_str(elsewhere[i].ours);
            ts_near_see(&near, near.wanted);
        }
    for (const struct qry_agg *a = qry_agg_table(); !compat && a->name && !near.n; a++)
        ts_near_see(&near, ts_slice_str(a->name));
    ts_near_hint(&near, err);
    return rc;
}

int qry_parse_agg(struct ts_slice name, bool compat, const struct qry_agg **out, struct ts_error *err)
{
    return find_function(name, "aggregation", compat, out, err);
}

static int parse_fill(struct ts_slice s, enum qry_fill *out, struct ts_error *err)
{
    if (ts_slice_is_nocase(s, "none"))
        *out = QRY_FILL_NONE;
    else if (ts_slice_is_nocase(s, "nan"))
        *out = QRY_FILL_NAN;
    else if (ts_slice_is_nocase(s, "null"))
        *out = QRY_FILL_NULL;
    else if (ts_slice_is_nocase(s, "zero"))
        *out = QRY_FILL_ZERO;
    else if (ts_slice_is_nocase(s, "previous"))
        *out = QRY_FILL_PREVIOUS;
    else if (ts_slice_is_nocase(s, "scalar"))
        return ts_error_set(err, TS_EINVAL, "unhandled fill policy");
    else
        return ts_error_set(err, TS_EINVAL, "Unrecognized fill policy: %.*s", TS_SHOWN(s, 120));
    return 0;
}

int qry_parse_downsample(struct ts_slice s, bool compat, struct qry_downsample *out, struct ts_error *err)
{
    struct ts_slice part[3];
    size_t n = split(s, '-', part, 3);
    *out = (struct qry_downsample){.on = true};
    if (n < 2)
        return ts_error_set(
            err, TS_EINVAL,
            "Invalid downsampling specification '%.*s': must provide at least interval and function",
            TS_SHOWN(s, 120));
    if (n > 3)
        return ts_error_set(
            err, TS_EINVAL,
            "Invalid downsampling specification '%.*s': must consist of interval, function, and "
            "optional fill policy",
            TS_SHOWN(s, 120));
    if (part[0].n >= 3 && memmem(part[0].p, part[0].n, "all", 3)) {
        out->all = true;
    } else {
        struct ts_slice len = part[0];
        if (len.n && (len.p[len.n - 1] | 0x20) == 'c') {
            out->calendar = true;
            len.n--;
        }
        TS_TRY((compat ? ts_duration_parse : ts_duration_exact)(len, &out->n, &out->unit, &out->interval_ms,
                                                                err));
        if (out->interval_ms <= 0 || out->interval_ms > MAX_INTERVAL_MS)
            return ts_error_set(err, TS_EINVAL, "Invalid duration, too long: %.*s", TS_SHOWN(len, 120));
    }
    TS_TRY(find_function(part[1], "downsampling", compat, &out->fn, err));
    if (qry_agg_is_none(out->fn))
        return ts_error_set(err, TS_EINVAL, "cannot use the NONE aggregator for downsampling");
    return n == 3 ? parse_fill(part[2], &out->fill, err) : 0;
}

static int rate_number(struct ts_slice s, const char *what, int64_t *out, struct ts_error *err)
{
    if (!s.n || ts_num_parse_int(s, out, NULL) == 0)
        return 0;
    return ts_error_set(err, TS_EINVAL, "%s value of counter was not a number, received '%.*s'", what,
                        TS_SHOWN(s, 120));
}

int qry_parse_rate(struct ts_slice s, struct qry_rate *out, struct ts_error *err)
{
    *out = (struct qry_rate){.on = true, .counter_max = INT64_MAX};
    if (s.n <= 4)
        return 0;
    if (s.p[4] != '{' || s.p[s.n - 1] != '}')
        return ts_error_set(err, TS_EINVAL, "Invalid rate options specification: %.*s", TS_SHOWN(s, 120));
    struct ts_slice in = {s.p + 5, s.n - 6}, part[3] = {{0}};
    size_t n = split(in, ',', part, 3);
    if (n > 3)
        return ts_error_set(
            err, TS_EINVAL,
            "Incorrect number of values in rate options specification, must be counter[,counter max "
            "value,reset value], recieved: %zu parts",
            n);
    out->counter = ts_slice_ends_nocase(part[0], "counter");
    out->drop_resets = ts_slice_is_nocase(part[0], "dropcounter");
    TS_TRY(rate_number(part[1], "Max", &out->counter_max, err));
    return rate_number(part[2], "Reset", &out->reset_value, err);
}

enum qry_rollup_usage qry_parse_rollup_usage(struct ts_slice s)
{
    if (ts_slice_is_nocase(s, "rollup_raw"))
        return QRY_ROLLUP_RAW;
    if (ts_slice_is_nocase(s, "rollup_fallback"))
        return QRY_ROLLUP_FALLBACK;
    return ts_slice_is_nocase(s, "rollup_fallback_raw") ? QRY_ROLLUP_FALLBACK_RAW : QRY_ROLLUP_NOFALLBACK;
}

static int cmp_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int qry_parse_percentiles(double *p, size_t n, struct qry_sub *out, struct ts_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (!(p[i] >= 0 && p[i] <= 100))
            return ts_error_set(err, TS_EINVAL, "Invalid percentile parameters: %g", p[i]);
    if (n)
        qsort(p, n, sizeof *p, cmp_doubles);
    out->percentiles = p;
    out->n_percentiles = n;
    return 0;
}

/* "percentiles[99.9,50]". */
static int parse_percentiles(struct ts_slice s, struct ts_arena *arena, struct qry_sub *out,
                             struct ts_error *err)
{
    const char *open = memchr(s.p, '[', s.n);
    if (!open || s.p[s.n - 1] != ']')
        return ts_error_set(err, TS_EINVAL, "Invalid percentile parameters: %.*s", TS_SHOWN(s, 120));
    struct ts_slice in = {open + 1, (size_t)(s.p + s.n - open) - 2};
    size_t n = split(in, ',', NULL, 0);
    struct ts_slice *item = ts_arena_alloc(arena, n * sizeof *item);
    double *p = ts_arena_alloc(arena, n * sizeof *p);
    split(in, ',', item, n);
    for (size_t i = 0; i < n; i++) {
        struct ts_num v;
        while (item[i].n && item[i].p[0] == ' ')
            item[i] = (struct ts_slice){item[i].p + 1, item[i].n - 1};
        if (ts_num_parse(item[i], &v, NULL) < 0)
            return ts_error_set(err, TS_EINVAL, "Invalid percentile parameters: %.*s", TS_SHOWN(s, 120));
        p[i] = ts_num_double(v);
    }
    return qry_parse_percentiles(p, n, out, err);
}

/* Refuse an unknown option. OpenTSDB ignores it, and so does compat: the answer is then that of another query than was meant. */
static int unknown_option(struct ts_slice s, bool compat, struct ts_error *err)
{
    struct ts_near near;
    if (compat)
        return 0;
    ts_near_init(&near, s);
    (void)ts_near_list(&near, "rate explicit_tags pre-agg rollup_raw rollup_fallback rollup_nofallback "
                              "rollup_fallback_raw percentiles[99] show-histogram-buckets");
    int rc =
        ts_error_set(err, TS_EINVAL, "Unknown option between aggregator and metric: %.*s", TS_SHOWN(s, 120));
    ts_near_hint(&near, err);
    return rc;
}

/* One option between aggregator and metric. */
static int parse_option(struct ts_slice s, bool compat, struct ts_arena *arena, struct qry_sub *out,
                        struct ts_error *err)
{
    if (!s.n)
        return ts_error_set(err, TS_EINVAL, "Invalid parameter, an empty part between colons");
    if (s.p[0] >= '0' && s.p[0] <= '9') {
        out->downsample_text = s;
        return qry_parse_downsample(s, compat, &out->downsample, err);
    }
    out->rate_options = out->rate_options || (ts_slice_begins_nocase(s, "rate") && memchr(s.p, '{', s.n));
    if (ts_slice_begins_nocase(s, "rate"))
        return qry_parse_rate(s, &out->rate, err);
    if (ts_slice_begins_nocase(s, "explicit_tags"))
        out->explicit_tags = true;
    else if (ts_slice_is_nocase(s, "pre-agg"))
        out->pre_aggregate = true;
    else if (ts_slice_begins_nocase(s, "rollup_"))
        out->rollup_usage = qry_parse_rollup_usage(s);
    else if (ts_slice_begins_nocase(s, "percentiles"))
        return parse_percentiles(s, arena, out, err);
    else if (ts_slice_begins_nocase(s, "show-histogram-buckets"))
        out->histogram_buckets = true;
    else
        return unknown_option(s, compat, err);
    return 0;
}

/* Items of one pair of braces. */
static int parse_braces(struct ts_slice in, bool group_by, bool compat, struct ts_arena *arena,
                        struct qry_filter *filters, size_t *n_filters, struct ts_error *err)
{
    size_t n = in.n ? split(in, ',', NULL, 0) : 0;
    struct ts_slice *item = ts_arena_alloc(arena, (n + 1) * sizeof *item);
    if (n)
        split(in, ',', item, n);
    const char *what = group_by ? "tag" : "filter";
    for (size_t i = 0; i < n; i++) {
        struct ts_slice kv[2];
        if (split(item[i], '=', kv, 2) != 2 || !kv[0].n || !kv[1].n)
            return ts_error_set(err, TS_EINVAL, "When parsing %s '%.*s': invalid tag: %.*s", what,
                                TS_SHOWN(item[i], 120), TS_SHOWN(item[i], 120));
        TS_TRY(qry_filter_parse(kv[0], kv[1], group_by, compat, arena, &filters[*n_filters], err));
        ++*n_filters;
    }
    return 0;
}

/* The '}' that ends the braces opened at s[0], outside of parentheses; s.n if there is none. */
static size_t closing(struct ts_slice s)
{
    int depth = 0;
    for (size_t i = 1; i < s.n; i++) {
        if (s.p[i] == '(')
            depth++;
        else if (s.p[i] == ')' && depth > 0)
            depth--;
        else if (s.p[i] == '}' && depth == 0)
            return i;
    }
    return s.n;
}

static int parse_metric(struct ts_slice s, bool compat, struct ts_arena *arena, struct qry_sub *out,
                        struct ts_error *err)
{
    const char *open = s.n ? memchr(s.p, '{', s.n) : NULL;
    out->metric = (struct ts_slice){s.p, open ? (size_t)(open - s.p) : s.n};
    if (!out->metric.n)
        return ts_error_set(err, TS_EINVAL, "Missing the metric or tsuids, provide at least one");
    if (!open)
        return 0;
    struct ts_slice rest = {open, s.n - out->metric.n};
    if (s.p[s.n - 1] != '}')
        return ts_error_set(err, TS_EINVAL, "Missing '}' at the end of: %.*s", TS_SHOWN(s, 120));
    struct qry_filter *filters = ts_arena_zalloc(arena, (rest.n + 1) / 2 * sizeof *filters);
    for (int round = 0; rest.n; round++) {
        size_t end = closing(rest);
        if (round == 2 || rest.p[0] != '{' || end == rest.n)
            return ts_error_set(err, TS_EINVAL, "Missing '}' at the end of: %.*s", TS_SHOWN(s, 120));
        TS_TRY(parse_braces((struct ts_slice){rest.p + 1, end - 1}, round == 0, compat, arena, filters,
                            &out->n_filters, err));
        rest = (struct ts_slice){rest.p + end + 1, rest.n - end - 1};
    }
    out->filters = filters;
    return 0;
}

/* What m and tsuid share: the parts, the aggregator, the options; the last part is left to the caller. */
static int parse_parts(struct ts_slice m, const char *param, bool compat, struct ts_arena *arena,
                       struct qry_sub *out, struct ts_slice *last, struct ts_error *err)
{
    struct ts_slice part[MAX_PARTS];
    size_t n = split(m, ':', part, MAX_PARTS);
    *out = (struct qry_sub){.rate = {.counter_max = INT64_MAX}};
    if (n < 2 || n > MAX_PARTS)
        return ts_error_set(err, TS_EINVAL, "Invalid parameter %s=%.*s (%s :-separated parts)", param,
                            TS_SHOWN(m, 120), n < 2 ? "not enough" : "too many");
    TS_TRY(qry_parse_agg(part[0], compat, &out->agg, err));
    out->none = qry_agg_is_none(out->agg);
    for (size_t i = 1; i + 1 < n; i++)
        TS_TRY(parse_option(part[i], compat, arena, out, err));
    *last = part[n - 1];
    return 0;
}

int qry_parse_m(struct ts_slice m, bool compat, struct ts_arena *arena, struct qry_sub *out,
                struct ts_error *err)
{
    struct ts_slice last;
    TS_TRY(parse_parts(m, "m", compat, arena, out, &last, err));
    return parse_metric(last, compat, arena, out, err);
}

int qry_parse_tsuid(struct ts_slice m, bool compat, struct ts_arena *arena, struct qry_sub *out,
                    struct ts_error *err)
{
    struct ts_slice last;
    TS_TRY(parse_parts(m, "tsuid", compat, arena, out, &last, err));
    if (!last.n)
        return ts_error_set(err, TS_EINVAL, "Missing the metric or tsuids, provide at least one");
    out->n_tsuids = split(last, ',', NULL, 0);
    out->tsuids = ts_arena_alloc(arena, out->n_tsuids * sizeof *out->tsuids);
    split(last, ',', out->tsuids, out->n_tsuids);
    return 0;
}
