/*
 * spec.c - what all forms of a query have in common: zone, times, totals; checks of the whole.
 */
#include "query/language/parse.h"

#include "base/cut.h"
#include "base/text.h"
#include "query/aggregators/agg.h"
#include "query/breakdowns/breakdown.h"
#include "query/breakdowns/compare.h"

#include <string.h>

/* Times that arithmetic on buckets and padding can't overflow. */
#define MAX_TIME_MS (STO_MAX_TS_MS / 4)

static int parse_by(const struct qry_spec_text *text, struct ts_arena *arena, struct qry_spec *out,
                    struct ts_error *err)
{
    out->by_on = true;
    struct ts_slice rest = text->by, key;
    out->by_tags = ts_arena_alloc(arena, (ts_slice_count(rest, ',') + 1) * sizeof *out->by_tags);
    while (ts_slice_next(&rest, ',', &key)) {
        if (!key.n && text->by.n)
            return ts_error_set(err, TS_EINVAL, "Invalid breakdown, an empty key: %.*s",
                                TS_SHOWN(text->by, 120));
        if (key.n)
            TS_TRY(qry_breakdown_add(key, out, err));
    }
    out->fill_null = ts_slice_is_nocase(text->fill, "null");
    out->fill_zero = out->fill_null || ts_slice_is_nocase(text->fill, "zero");
    if (text->fill.p && !out->fill_zero && !ts_slice_is_nocase(text->fill, "none"))
        return ts_error_set(err, TS_EINVAL, "Unrecognized fill policy: %.*s", TS_SHOWN(text->fill, 120));
    for (size_t i = 0; i < out->n_subs; i++) {
        const struct qry_sub *sub = &out->subs[i];
        if (qry_agg_is_none(sub->agg))
            return ts_error_set(err, TS_EINVAL, "The aggregator none has no totals");
        if (sub->n_percentiles || sub->histogram_buckets)
            return ts_error_set(err, TS_EINVAL, "Totals are of points, not of histograms");
        if (sub->downsample.on || sub->rate.on)
            return ts_error_set(err, TS_EINVAL,
                                "Totals are of the points themselves: leave out downsample and rate");
    }
    return 0;
}

/* Options that only totals have. */
static int check_totals(const struct qry_spec *spec, struct ts_error *err)
{
    if (!spec->by_on && (spec->sort || spec->others || spec->compare_n || spec->columns.n || spec->partial))
        return ts_error_set(
            err, TS_EINVAL,
            "sort, others, compare, columns and partial are for totals: say by what (by=day,host)");
    if (spec->others && !spec->top.n)
        return ts_error_set(err, TS_EINVAL, "others is the rest of top or bottom: give one of them");
    if (!spec->by_on)
        return 0;
    if (spec->thin || spec->figures || spec->max_series)
        return ts_error_set(
            err, TS_EINVAL,
            "thin, figures and max_series are for series of points, not for totals: leave them out "
            "or leave out by (top limits the rows of totals)");
    if (spec->top.n && !spec->n_by_tags)
        return ts_error_set(err, TS_EINVAL,
                            "top and bottom choose among values of tags: give a tag key in by");
    if (spec->top.rank_given)
        return ts_error_set(err, TS_EINVAL, "rank is for series: totals are ranked by their first value");
    if (spec->compare_n)
        TS_TRY(qry_compare_check(spec, err));
    if (!spec->columns.n || (spec->by_time.weekday && ts_slice_is(spec->columns, "weekday")) ||
        (spec->by_time.hour_of_day && ts_slice_is(spec->columns, "hourofday")))
        return 0;
    for (size_t i = 0; i < spec->n_by_tags; i++)
        if (ts_slice_eq(spec->columns, spec->by_tags[i]))
            return 0;
    if (ts_slice_is(spec->columns, "weekday") || ts_slice_is(spec->columns, "hourofday"))
        return ts_error_set(err, TS_EINVAL, "columns: %.*s is not in by", TS_SHOWN(spec->columns, 120));
    struct qry_spec key = {.by_tags = (struct ts_slice[1]){{NULL, 0}}};
    if (qry_breakdown_add(spec->columns, &key, NULL) == 0 && key.by_time.n)
        return ts_error_set(err, TS_EINVAL,
                            "columns=%.*s: an interval makes rows. Columns are a tag key of by, weekday "
                            "(by=week,weekday) or hourofday (by=day,hourofday)",
                            TS_SHOWN(spec->columns, 120));
    return ts_error_set(err, TS_EINVAL, "columns names a tag key of by, weekday or hourofday, not %.*s",
                        TS_SHOWN(spec->columns, 120));
}

/* Versions are listed as they were written. */
static int check_versions(const struct qry_spec *spec, struct ts_error *err)
{
    bool raw =
        !spec->by_on && !spec->top.n && !spec->where.n && !spec->thin && !spec->figures && !spec->max_series;
    for (size_t i = 0; i < spec->n_subs; i++)
        raw &= spec->subs[i].none && !spec->subs[i].downsample.on && !spec->subs[i].rate.on;
    if (spec->versions && spec->as_of_text.p)
        return ts_error_set(err, TS_EINVAL, "Give versions or as_of, not both");
    return raw || !spec->versions
               ? 0
               : ts_error_set(err, TS_EINVAL,
                              "versions are listed as they were written: use the aggregator none, without "
                              "downsampling, rate, by and other choices");
}

int qry_spec_check_choice(const struct qry_spec *spec, struct ts_error *err)
{
    TS_TRY(check_totals(spec, err));
    TS_TRY(check_versions(spec, err));
    for (size_t i = 0; i < spec->n_subs; i++) {
        if (!spec->subs[i].n_percentiles && !spec->subs[i].histogram_buckets)
            continue;
        if (spec->top.n)
            return ts_error_set(
                err, TS_EINVAL,
                "top and bottom choose among series of points: leave them out of a histogram query");
        if (spec->where.n)
            return ts_error_set(
                err, TS_EINVAL,
                "where is about values of points: a histogram query has counts of buckets, leave it out");
        if (spec->as_of_text.p)
            return ts_error_set(
                err, TS_EINVAL,
                "as_of is about versions of points, which histograms do not have: leave it out");
    }
    return 0;
}

static int parse_zone(const struct qry_spec_text *text, struct qry_spec *out, struct ts_error *err)
{
    out->tz = ts_tz_default();
    if (!text->tz.p && !out->compat)
        return 0;
    /* without a zone OpenTSDB's calendar is UTC, whatever zone its dates have */
    int rc = ts_tz_open(text->tz, &out->tz, err);
    if (rc == TS_EPARSE && out->compat && text->json)
        return ts_error_set(err, TS_EINVAL, "The timezone specification could not be found");
    if (rc == TS_EPARSE && out->compat) /* without the zone that was meant */
        return ts_error_set(err, rc, "Invalid timezone name: %.*s", TS_SHOWN(text->tz, 120));
    return rc;
}

static int64_t clamp(int64_t t)
{
    return t > MAX_TIME_MS ? MAX_TIME_MS : t < -MAX_TIME_MS ? -MAX_TIME_MS : t;
}

static int wrong_order(const struct qry_spec_text *text, const struct qry_spec *spec, struct ts_error *err)
{
    struct ts_buf from, to;
    if (spec->compat)
        return ts_error_set(err, TS_EINVAL, "End time [%lld] must be greater than the start time [%lld]",
                            (long long)spec->end_ms, (long long)spec->start_ms);
    ts_buf_init(&from, 0);
    ts_buf_init(&to, 0);
    ts_time_print(spec->tz, spec->start_ms, false, &from);
    ts_time_print(spec->tz, spec->end_ms, false, &to);
    int rc = ts_error_set(err, TS_EINVAL, "The end, %.*s, is %s the start, %.*s (%.*s)%s",
                          TS_SHOWN(ts_buf_get(&to), 120), text->end.n ? "earlier than" : "not later than",
                          TS_SHOWN(ts_buf_get(&from), 120), TS_SHOWN(text->start, 120),
                          text->end.n ? ": are they the wrong way round?" : ": without an end it is now");
    ts_buf_release(&from);
    ts_buf_release(&to);
    return rc;
}

int qry_spec_finish(const struct qry_spec_text *text, int64_t now_ms, struct ts_arena *arena,
                    struct qry_spec *out, struct ts_error *err)
{
    if (!text->start.n)
        return ts_error_set(err, TS_EINVAL, "Missing start time");
    if (!out->n_subs)
        return ts_error_set(err, TS_EINVAL, text->json ? "Missing queries" : "Missing sub queries");
    out->start_text = (struct ts_slice){ts_arena_strndup(arena, text->start.p, text->start.n), text->start.n};
    if (text->end.n)
        out->end_text = (struct ts_slice){ts_arena_strndup(arena, text->end.p, text->end.n), text->end.n};
    TS_TRY(parse_zone(text, out, err));
    const struct ts_tz *dates = text->tz.p ? out->tz : NULL;
    out->end_ms = out->now_ms = now_ms;
    if (text->end.n || out->compat)
        TS_TRY(ts_time_parse(text->start, dates, now_ms, out->compat, &out->start_ms, NULL, err));
    else
        TS_TRY(ts_time_parse_alone(text->start, dates, now_ms, &out->start_ms, &out->end_ms, err));
    /* a day named as the end belongs to the range; OpenTSDB's ends with its first moment */
    bool whole = text->by.p || !out->compat;
    if (text->end.n && whole)
        TS_TRY(ts_time_parse_end(text->end, dates, now_ms, out->compat, &out->end_ms, err));
    else if (text->end.n)
        TS_TRY(ts_time_parse(text->end, dates, now_ms, true, &out->end_ms, NULL, err));
    out->start_ms = clamp(out->start_ms);
    out->end_ms = clamp(out->end_ms);
    for (size_t i = 0; out->compat && i < out->n_subs; i++)
        if (out->subs[i].downsample.on && !qry_sub_is_histogram(&out->subs[i]) &&
            (out->subs[i].rate.on ||
             (!out->subs[i].downsample.all && out->subs[i].downsample.interval_ms < TS_HOUR_MS)))
            out->subs[i].downsample.fn = qry_agg_plain(out->subs[i].downsample.fn);
    if (text->by.p)
        TS_TRY(parse_by(text, arena, out, err));
    TS_TRY(qry_spec_as_of(out, err));
    TS_TRY(qry_spec_check_choice(out, err));
    if (out->by_on && ts_floor_mod(out->end_ms, 1000) == 0)
        out->end_ms += 999; /* a second named as the end belongs to the range whole */
    bool instant =
        !out->compat && text->end.n && out->end_ms == out->start_ms; /* both ends belong to the range */
    return out->end_ms > out->start_ms || instant ? 0 : wrong_order(text, out, err);
}
