/*
 * hint.c - a line about an empty answer; the key of --by that is wrong.
 *
 * The hint is computed from the newest points of the metric's series, their times and their tags.
 *
 * Threads    the main thread
 */
#include "tsd/commands/answer.h"

#include "base/mem.h"
#include "base/near.h"
#include "query/filters/filter.h"
#include "tsd/commands/cmd.h"
#include "tsd/format/answers.h"

#include <string.h>

#define HINT_MAX_BYTES  ((size_t)4 << 20) /* of newest points: a metric with more series gets no hint */
#define HINT_MAX_VALUES 8                 /* listed */

/* A request to a folder. */
struct hint_query {
    struct tsd_answer *a;
    struct tsd_latest what;
};

static int hint_local(void *arg, struct ts_sink *sink, struct ts_error *err)
{
    struct hint_query *h = arg;
    struct qry_limit limit = {.max_series = 100000};
    return tsd_latest_run(&h->what, h->a->store, h->a->pool, &limit, sink, err);
}

/* Lines "METRIC TIME VALUE {k=v, ...}", one a series. */
static int hint_newest(struct tsd_answer *a, struct ts_slice metric, struct ts_buf *out)
{
    struct ts_error err = {0};
    if (a->store) {
        struct qry_last_request ask = {.now_ms = ts_clock_ms(), .timeseries = metric};
        struct hint_query h = {a, {tsd_out_find(TS_SLICE_LIT("text")), &ask, 1, NULL}};
        return tsd_answer_local(a, hint_local, &h, out, &err);
    }
    struct ts_buf path;
    ts_buf_init(&path, 0);
    ts_buf_str(&path, "/api/query/last?format=text&n=1&timeseries=");
    ts_buf_uri(&path, metric);
    int rc = tsd_answer_remote(a, "GET", ts_buf_get(&path), out, &err);
    ts_buf_release(&path);
    return rc;
}

/* The next line of text; false at its end. */
static bool next_line(struct ts_slice *text, struct ts_slice *out)
{
    const char *nl = text->n ? memchr(text->p, '\n', text->n) : NULL;
    if (!nl)
        return false;
    *out = (struct ts_slice){text->p, (size_t)(nl - text->p)};
    text->n -= out->n + 1;
    text->p = nl + 1;
    return true;
}

/* Time of a line's point. */
static bool line_time(struct ts_slice line, int64_t *out_ms)
{
    const char *a = memchr(line.p, ' ', line.n);
    const char *b = a ? memchr(a + 1, ' ', line.n - (size_t)(a + 1 - line.p)) : NULL;
    return b && ts_time_parse((struct ts_slice){a + 1, (size_t)(b - a - 1)}, NULL, 0, false, out_ms, NULL,
                              NULL) == 0;
}

/* Value of a tag in a line; false: it has none. */
static bool line_tag(struct ts_slice line, struct ts_slice key, struct ts_slice *out)
{
    const char *p = memchr(line.p, '{', line.n), *end = line.p + line.n;
    while (p && ++p < end) {
        const char *stop = memmem(p, (size_t)(end - p), ", ", 2);
        const char *to = stop ? stop : end - 1;
        if ((size_t)(to - p) > key.n && p[key.n] == '=' && memcmp(p, key.p, key.n) == 0) {
            *out = (struct ts_slice){p + key.n + 1, (size_t)(to - p) - key.n - 1};
            return true;
        }
        p = stop ? stop + 1 : NULL;
    }
    return false;
}

/* Values of a key in the lines, some of them, with commas between; returns how many there are. */
static size_t list_values(struct ts_slice lines, struct ts_slice key, struct ts_buf *out)
{
    struct ts_slice line, value, seen[HINT_MAX_VALUES];
    size_t n = 0;
    while (n <= HINT_MAX_VALUES && next_line(&lines, &line)) {
        if (!line_tag(line, key, &value))
            continue;
        size_t i = 0;
        while (i < n && i < HINT_MAX_VALUES && !ts_slice_eq(seen[i], value))
            i++;
        if (i < n && i < HINT_MAX_VALUES)
            continue;
        if (n < HINT_MAX_VALUES)
            seen[n] = value;
        ts_buf_str(out, n == HINT_MAX_VALUES ? ", ..." : n ? ", " : "");
        if (n < HINT_MAX_VALUES)
            ts_buf_slice(out, value);
        n++;
    }
    return n;
}

/* Append the value that was probably meant by one of a filter that no line has. */
static void near_value(const struct qry_filter *f, struct ts_slice lines, struct ts_buf *out)
{
    for (size_t i = 0; f->type->by_values && !f->type->negate && i < f->n_values; i++) {
        struct ts_near near;
        struct ts_slice rest = lines, line, value;
        bool found = false;
        ts_near_init(&near, f->values[i]);
        while (!found && next_line(&rest, &line))
            if (line_tag(line, f->tagk, &value)) {
                found = ts_slice_eq(value, f->values[i]);
                ts_near_see(&near, value);
            }
        if (!found && near.n)
            ts_buf_printf(out, "; did you mean %.*s=%s?", (int)f->tagk.n, f->tagk.p, near.best);
    }
}

static void say_values(const struct qry_sub *sub, struct ts_slice lines)
{
    struct ts_buf text;
    ts_buf_init(&text, 4096);
    ts_buf_printf(&text, "nothing found. %.*s has ", (int)sub->metric.n, sub->metric.p);
    for (size_t i = 0; i < sub->n_filters; i++) {
        struct ts_slice key = sub->filters[i].tagk;
        ts_buf_printf(&text, "%s%.*s = ", i ? "; " : "", (int)key.n, key.p);
        if (!list_values(lines, key, &text))
            ts_buf_str(&text, "(no such tag)");
    }
    for (size_t i = 0; i < sub->n_filters; i++)
        near_value(&sub->filters[i], lines, &text);
    tsd_say("%.*s", (int)text.n, text.p);
    ts_buf_release(&text);
}

static void say_times(const struct qry_spec *spec, struct ts_slice metric, bool tags, int64_t newest_ms)
{
    struct ts_buf from, to, newest;
    ts_buf_init(&from, 0);
    ts_buf_init(&to, 0);
    ts_buf_init(&newest, 0);
    ts_time_print(spec->tz, spec->start_ms, false, &from);
    ts_time_print(spec->tz, spec->end_ms, false, &to);
    ts_time_print(spec->tz, newest_ms, false, &newest);
    tsd_say("nothing from %.*s to %.*s; the newest point of %.*s%s is of %.*s", (int)from.n, from.p,
            (int)to.n, to.p, (int)metric.n, metric.p, tags ? " with these tags" : "", (int)newest.n,
            newest.p);
    ts_buf_release(&from);
    ts_buf_release(&to);
    ts_buf_release(&newest);
}

/* Has the line each tag that a filter names? Filters by patterns are not judged: it has not. */
static bool line_fits(const struct qry_sub *sub, struct ts_slice line)
{
    for (size_t i = 0; i < sub->n_filters; i++) {
        const struct qry_filter *f = &sub->filters[i];
        struct ts_slice value;
        size_t k = 0;
        if (!f->type->by_values || f->type->negate || !line_tag(line, f->tagk, &value))
            return false;
        while (k < f->n_values && !ts_slice_eq(f->values[k], value))
            k++;
        if (k == f->n_values)
            return false;
    }
    return true;
}

void tsd_hint_empty(struct tsd_answer *a, const struct qry_spec *spec)
{
    const struct qry_sub *sub = &spec->subs[0];
    struct ts_buf newest;
    struct ts_slice lines, line;
    int64_t at_ms, newest_ms = INT64_MIN;
    bool fits = false; /* some line does: then only such lines count */
    if (!sub->metric.n)
        return;
    ts_buf_init(&newest, HINT_MAX_BYTES);
    int rc = hint_newest(a, sub->metric, &newest);
    lines = ts_buf_get(&newest);
    while (rc == 0 && next_line(&lines, &line)) {
        if (!line_time(line, &at_ms) || (fits && !line_fits(sub, line)))
            continue;
        if (!fits && sub->n_filters && line_fits(sub, line)) {
            fits = true;
            newest_ms = at_ms;
        }
        if (at_ms > newest_ms)
            newest_ms = at_ms;
    }
    lines = ts_buf_get(&newest);
    if (rc == 0 && newest_ms == INT64_MIN)
        tsd_say("nothing found: %.*s has no points", (int)sub->metric.n, sub->metric.p);
    else if (rc == 0 && newest_ms >= spec->start_ms && sub->n_filters && !fits)
        say_values(sub, lines);
    else if (rc == 0 && newest_ms >= spec->start_ms && newest_ms <= spec->end_ms && spec->where.n)
        tsd_say("nothing found: no point fulfils --where");
    else if (rc == 0)
        say_times(spec, sub->metric, fits, newest_ms);
    ts_buf_release(&newest);
}

/* --- keys of --by --- */

enum hint_name { HINT_UNKNOWN, HINT_KNOWN, HINT_UNSURE };

/* The name itself is the first one of those that begin with it. */
static enum hint_name remote_name(struct tsd_answer *a, const char *type, struct ts_slice name)
{
    struct ts_buf path, text;
    json_t *names = NULL;
    enum hint_name is = HINT_UNKNOWN;
    ts_buf_init(&path, 0);
    ts_buf_init(&text, HINT_MAX_BYTES);
    ts_buf_printf(&path, "/api/suggest?type=%s&max=1&q=", type);
    ts_buf_uri(&path, name);
    if (tsd_answer_remote(a, "GET", ts_buf_get(&path), &text, NULL) < 0 ||
        ts_json_load(ts_buf_get(&text), &names, NULL) < 0)
        is = HINT_UNSURE;
    else if (json_array_size(names) && ts_slice_is(name, json_string_value(json_array_get(names, 0))))
        is = HINT_KNOWN;
    json_decref(names);
    ts_buf_release(&text);
    ts_buf_release(&path);
    return is;
}

static enum hint_name look_for(struct tsd_answer *a, enum sto_uid_kind kind, struct ts_slice name)
{
    uint32_t id;
    if (!a->store)
        return remote_name(a, kind == STO_UID_METRIC ? "metrics" : "tagk", name);
    int rc = sto_uid_find(sto_store_catalog(a->store), kind, name, &id);
    return rc == 0 ? HINT_KNOWN : rc == TS_ENOTFOUND ? HINT_UNKNOWN : HINT_UNSURE;
}

struct ts_slice tsd_hint_by(struct tsd_answer *a, const struct qry_spec *spec)
{
    struct ts_slice unknown = {NULL, 0};
    for (size_t i = 0; i < spec->n_by_tags && !unknown.n; i++)
        if (look_for(a, STO_UID_TAGK, spec->by_tags[i]) == HINT_UNKNOWN)
            unknown = spec->by_tags[i];
    for (size_t i = 0; i < spec->n_subs && unknown.n; i++)
        if (spec->subs[i].metric.n && look_for(a, STO_UID_METRIC, spec->subs[i].metric) != HINT_KNOWN)
            unknown.n = 0;
    return unknown;
}
