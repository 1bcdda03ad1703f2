/*
 * parse_uri.c - parameters of GET /api/query into a spec.
 */
#include "query/language/parse.h"

#include "base/near.h"

#include <string.h>

/* Parameters that are true by being there. */
struct flag {
    const char *name;
    size_t offset; /* of the bool in struct qry_spec */
};
static const struct flag flags[] = {
    {"ms", offsetof(struct qry_spec, ms)},
    {"arrays", offsetof(struct qry_spec, arrays)},
    {"show_tsuids", offsetof(struct qry_spec, show_tsuids)},
    {"show_query", offsetof(struct qry_spec, show_query)},
    {"show_stats", offsetof(struct qry_spec, show_stats)},
    {"show_summary", offsetof(struct qry_spec, show_summary)},
    {"no_annotations", offsetof(struct qry_spec, no_annotations)},
    {"global_annotations", offsetof(struct qry_spec, global_annotations)},
};

/* Parameters with a value that are not choices; padding has no effect, as in OpenTSDB, and allow_partial becomes a
 * member of struct qry_limit. */
static const char texts[] =
    "start end m tsuid tsuids tz timezone by fill useCalendar use_calendar padding allow_partial";

bool qry_param_known(struct ts_near *near)
{
    bool known = ts_near_list(near, texts);
    for (size_t i = 0; i < sizeof flags / sizeof flags[0] && !known; i++)
        known = ts_near_list(near, flags[i].name);
    for (size_t i = 0; qry_choice_names[i] && !known; i++)
        known = ts_near_list(near, qry_choice_names[i]);
    return known;
}

/* An empty text is a text: the pointer says that it was given. */
static struct ts_slice given(struct ts_slice s)
{
    return s.p ? s : (struct ts_slice){"", 0};
}

/* Sub queries of one kind, exact repetitions left out. */
static int parse_subs(const struct qry_param *params, size_t n, const char *name, const char *other,
                      struct ts_arena *arena, struct qry_spec *out, struct ts_error *err)
{
    for (size_t i = 0; i < n; i++) {
        if (!ts_slice_is(params[i].name, name) && !(other && ts_slice_is(params[i].name, other)))
            continue;
        size_t k = 0;
        while (k < i && !(ts_slice_eq(params[k].name, params[i].name) &&
                          ts_slice_eq(params[k].value, params[i].value)))
            k++;
        if (k < i)
            continue;
        if (out->n_subs == QRY_MAX_SUBS)
            return ts_error_set(err, TS_EINVAL, "Too many sub queries, at most %d", QRY_MAX_SUBS);
        struct qry_sub *sub = &out->subs[out->n_subs];
        struct ts_slice text = {
            ts_arena_strndup(arena, params[i].value.n ? params[i].value.p : "", params[i].value.n),
            params[i].value.n};
        if (name[0] == 'm')
            TS_TRY(qry_parse_m(text, out->compat, arena, sub, err));
        else
            TS_TRY(qry_parse_tsuid(text, out->compat, arena, sub, err));
        out->n_subs++;
    }
    return 0;
}

static void parse_flags(const struct qry_param *params, size_t n, struct qry_spec *out)
{
    for (size_t i = 0; i < n; i++)
        for (size_t f = 0; f < sizeof flags / sizeof flags[0]; f++)
            if (ts_slice_is(params[i].name, flags[f].name))
                *(bool *)((char *)out + flags[f].offset) = true;
}

/* useCalendar, which OpenTSDB documents and does not know: all intervals are the zone's. */
static void parse_calendar(const struct qry_param *params, size_t n, struct qry_spec *out)
{
    bool on = false;
    for (size_t i = 0; i < n; i++)
        if (ts_slice_is(params[i].name, "useCalendar") || ts_slice_is(params[i].name, "use_calendar"))
            on = !ts_slice_is(params[i].value, "false");
    for (size_t i = 0; i < out->n_subs && on; i++)
        out->subs[i].downsample.calendar |= out->subs[i].downsample.on && !out->subs[i].downsample.all;
}

int qry_parse_params(const struct qry_param *params, size_t n, int64_t now_ms, bool compat,
                     struct ts_arena *arena, struct qry_spec *out, struct ts_error *err)
{
    struct qry_spec_text text = {0};
    struct ts_slice tz = {0};
    size_t n_subs = 0;
    *out = (struct qry_spec){.compat = compat, .values_must_exist = compat};
    for (size_t i = 0; i < n; i++) {
        struct ts_slice name = params[i].name, value = given(params[i].value);
        if (ts_slice_is(name, "start"))
            text.start = value;
        else if (ts_slice_is(name, "end"))
            text.end = value;
        else if (ts_slice_is(name, "timezone") && !compat)
            text.tz = value;
        else if (ts_slice_is(name, "tz"))
            tz = value;
        else if (ts_slice_is(name, "by"))
            text.by = value;
        else if (ts_slice_is(name, "fill"))
            text.fill = value;
        else if (ts_slice_is(name, "m") || ts_slice_is(name, "tsuid") || ts_slice_is(name, "tsuids"))
            n_subs++;
    }
    if (!text.start.n)
        return ts_error_set(err, TS_EINVAL, "Missing parameter <code>start</code>");
    /* OpenTSDB's /api/query does not know tz, and clients send it in vain: it counts for totals only */
    if (text.by.p && tz.p)
        text.tz = tz;
    out->subs = ts_arena_zalloc(arena, (n_subs + 1) * sizeof *out->subs);
    TS_TRY(parse_subs(params, n, "tsuid", "tsuids", arena, out, err));
    TS_TRY(parse_subs(params, n, "m", NULL, arena, out, err));
    parse_flags(params, n, out);
    if (!compat)
        parse_calendar(params, n, out);
    TS_TRY(qry_parse_choice(params, n, arena, out, NULL, err));
    if (text.by.n)
        text.by = (struct ts_slice){ts_arena_strndup(arena, text.by.p, text.by.n), text.by.n};
    return qry_spec_finish(&text, now_ms, arena, out, err);
}
