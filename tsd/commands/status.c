/*
 * status.c - tsd status: what a daemon says about itself.
 *
 * Threads    the main thread
 * Not here   the requests (status_get.c), the live view (top.c)
 */
#include "tsd/commands/status.h"

#include "base/cut.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/time.h"
#include "tsd/commands/answer.h"
#include "tsd/commands/csvread.h"
#include "tsd/commands/progress.h"
#include "tsd/commands/terminal.h"

#include <stdio.h>
#include <string.h>

#define STATUS_MAX_LINES 40 /* of a table */
#define STATUS_MAX_TEXT  72 /* bytes of a query's text */
#define STATUS_SLOW_MS   10 /* a query that took less is not worth a line */

const struct ts_opt tsd_status_opts[] = {
    {.name = "format",
     .letter = 'f',
     .arg = "text|json",
     .help = "Form of the answer. Default text. JSON has everything that the daemon says."},
    TSD_CLIENT_OPTS,
    {.name = NULL},
};

/* --- reading --- */

json_t *tsd_status_at(const json_t *root, const char *path)
{
    struct ts_slice rest = ts_slice_str(path);
    json_t *at = NULL;
    while (rest.n) {
        struct ts_slice name = ts_slice_cut(&rest, '.');
        char text[64];
        (void)snprintf(text, sizeof(text), "%.*s", (int)name.n, name.p);
        at = json_object_get(at ? at : root, text);
        if (!at)
            return NULL;
    }
    return at;
}

double tsd_status_num(const json_t *root, const char *path, double fallback)
{
    const json_t *v = tsd_status_at(root, path);
    return json_is_number(v) ? json_number_value(v) : fallback;
}

static int status_dump(const char *text, size_t n, void *out)
{
    return ts_buf_append(out, text, n);
}

void tsd_status_json(const json_t *root, struct ts_buf *out)
{
    (void)json_dump_callback(root, status_dump, out, JSON_INDENT(2));
    (void)ts_buf_char(out, '\n');
}

/* --- lines --- */

static void status_label(struct ts_buf *out, const char *label)
{
    char text[32];
    (void)snprintf(text, sizeof(text), "%-13s", label);
    tsd_term_put(out, TSD_STYLE_BOLD, ts_slice_str(text));
}

/* "1,234 points, " for a number that is there. */
static void status_figure(const json_t *root, const char *path, const char *unit, bool *begun,
                          struct ts_buf *out)
{
    char text[TSD_FIGURE_BYTES];
    double n = tsd_status_num(root, path, -1);
    if (n < 0)
        return;
    bool bytes = strcmp(unit, "on disk") == 0;
    size_t n_unit = strlen(unit);
    if (n == 1 && unit[n_unit - 1] == 's' && strcmp(unit, "series") != 0 && !strchr(unit, '/'))
        n_unit--;
    (void)ts_buf_printf(out, "%s%s %.*s", *begun ? ", " : "",
                        bytes ? tsd_bytes_text(n, text) : tsd_number_text(n, text), (int)n_unit, unit);
    *begun = true;
}

/* A line of figures: pairs of path and unit, ended by NULL; nothing if none is there. */
static void status_line(const json_t *root, const char *label, const char *const *pairs, struct ts_buf *out)
{
    struct ts_buf line;
    bool begun = false;
    ts_buf_init(&line, 0);
    for (; pairs[0]; pairs += 2)
        status_figure(root, pairs[0], pairs[1], &begun, &line);
    if (begun) {
        status_label(out, label);
        (void)ts_buf_slice(out, ts_buf_get(&line));
        (void)ts_buf_char(out, '\n');
    }
    ts_buf_release(&line);
}

static void status_health(const json_t *root, struct ts_buf *out)
{
    const json_t *health = json_object_get(root, "health");
    json_t *problem;
    size_t i;
    if (!health)
        return;
    status_label(out, "health");
    if (json_is_true(json_object_get(health, "ok")))
        tsd_term_put(out, TSD_STYLE_GOOD, TS_SLICE_LIT("ok"));
    else
        tsd_term_put(out, TSD_STYLE_BAD, TS_SLICE_LIT("not ok"));
    (void)ts_buf_char(out, '\n');
    json_array_foreach(json_object_get(health, "problems"), i, problem)
    {
        const char *what = json_string_value(json_object_get(problem, "what"));
        const char *action = json_string_value(json_object_get(problem, "action"));
        (void)ts_buf_printf(out, "%-13s", "");
        tsd_term_put(out, TSD_STYLE_BAD, ts_slice_str(what ? what : "?"));
        (void)ts_buf_printf(out, "%s%s\n", action ? ": " : "", action ? action : "");
    }
}

void tsd_status_head(const json_t *root, struct ts_buf *out)
{
    static const char *const rates[] = {
        "rates.points_in", "points/s in", "rates.points_out", "points/s out", "rates.requests",
        "requests/s",      NULL};
    static const char *const totals[] = {"totals.points",
                                         "points",
                                         "totals.series",
                                         "series",
                                         "totals.metrics",
                                         "metrics",
                                         "totals.files",
                                         "files",
                                         "totals.bytes_on_disk",
                                         "on disk",
                                         "totals.bytes_per_point",
                                         "bytes a point",
                                         NULL};
    static const char *const connections[] = {"connections.open", "open", "connections.max", "at most", NULL};
    const char *version = json_string_value(json_object_get(root, "version"));
    char text[TSD_FIGURE_BYTES];
    double now_ms = tsd_status_num(root, "now", (double)ts_clock_ms());
    double started_ms = tsd_status_num(root, "started", -1);
    status_label(out, "version");
    (void)ts_buf_printf(out, "tsd %s", version ? version : "?");
    if (started_ms >= 0)
        (void)ts_buf_printf(out, ", up %s", tsd_span_text((int64_t)((now_ms - started_ms) / 1000), text));
    if (json_is_true(json_object_get(root, "compat")))
        (void)ts_buf_str(out, ", compat = opentsdb");
    (void)ts_buf_char(out, '\n');
    status_health(root, out);
    status_line(root, "rates", rates, out);
    status_line(root, "stored", totals, out);
    status_line(root, "connections", connections, out);
}

/* --- tables --- */

/* Does any object have this member, and not as null? */
static bool list_has(const json_t *list, const char *name)
{
    size_t i;
    json_t *o;
    json_array_foreach(list, i, o)
    {
        const json_t *v = json_object_get(o, name);
        if (v && !json_is_null(v))
            return true;
    }
    return false;
}

/* Is the member a time in ms? */
static bool list_is_time(const char *name)
{
    static const char names[] = "start end first last last_read when";
    struct ts_slice rest = TS_SLICE_LIT(names);
    while (rest.n)
        if (ts_slice_is(ts_slice_cut(&rest, ' '), name))
            return true;
    return false;
}

/* The text of a query, cut where it is long. */
static void list_text(const char *text, struct ts_buf *out)
{
    struct ts_slice all = ts_slice_str(text), shown = ts_utf8_cut(all, STATUS_MAX_TEXT);
    (void)ts_buf_slice(out, shown);
    (void)ts_buf_str(out, shown.n < all.n ? "..." : "");
}

/* Is a figure of an object an estimate? */
static bool list_is_estimate(const json_t *object, const char *name)
{
    return json_is_true(json_object_get(object, "estimated")) && strcmp(name, "series") != 0;
}

/* One field of an object, as CSV; a number that is an estimate begins with ~. */
static void list_field(const json_t *object, const char *name, struct ts_buf *out)
{
    const json_t *v = json_object_get(object, name);
    char text[TSD_FIGURE_BYTES];
    struct ts_buf field;
    ts_buf_init(&field, 0);
    if (json_is_number(v) && list_is_estimate(object, name))
        (void)ts_buf_char(&field, '~');
    if (json_is_number(v) && !strcmp(name, "limit") && json_number_value(v) <= 0)
        (void)ts_buf_str(&field, "-"); /* none */
    else if (json_is_number(v) && list_is_time(name))
        ts_time_print(NULL, (int64_t)json_number_value(v), false, &field);
    else if (json_is_number(v) && (strstr(name, "bytes") || !strcmp(name, "used") || !strcmp(name, "limit")))
        (void)ts_buf_str(&field, tsd_bytes_text(json_number_value(v), text));
    else if (json_is_number(v))
        (void)ts_buf_str(&field, tsd_number_text(json_number_value(v), text));
    else if (json_is_boolean(v))
        (void)ts_buf_str(&field, json_is_true(v) ? "yes" : "no");
    else if (json_is_string(v) && !strcmp(name, "text"))
        list_text(json_string_value(v), &field);
    else if (json_is_string(v))
        (void)ts_buf_str(&field, json_string_value(v));
    (void)ts_buf_char(out, '"');
    for (size_t i = 0; i < field.n; i++)
        (void)ts_buf_str(out, field.p[i] == '"' ? "\"\"" : (char[]){field.p[i], 0});
    (void)ts_buf_char(out, '"');
    ts_buf_release(&field);
}

/* How many of the first n_keys columns are shown. */
static size_t list_keys(const json_t *list, const char *columns, size_t n_keys)
{
    struct ts_slice rest = ts_slice_str(columns);
    size_t n = 0;
    for (size_t i = 0; i < n_keys && rest.n; i++) {
        char name[64];
        struct ts_slice column = ts_slice_cut(&rest, ',');
        (void)snprintf(name, sizeof(name), "%.*s", (int)column.n, column.p);
        n += list_has(list, name);
    }
    return n;
}

void tsd_status_list(const json_t *list, const char *heading, const char *columns, size_t n_keys, size_t max,
                     struct ts_buf *out)
{
    struct ts_buf csv, table;
    if (json_array_size(list) == 0)
        return;
    ts_buf_init(&csv, 0);
    ts_buf_init(&table, 0);
    for (size_t row = 0; row <= max && row <= json_array_size(list); row++) {
        struct ts_slice rest = ts_slice_str(columns);
        bool begun = false;
        while (rest.n) {
            struct ts_slice column = ts_slice_cut(&rest, ',');
            char name[64];
            (void)snprintf(name, sizeof(name), "%.*s", (int)column.n, column.p);
            if (!list_has(list, name))
                continue;
            (void)ts_buf_str(&csv, begun ? "," : "");
            if (row)
                list_field(json_array_get(list, row - 1), name, &csv);
            else
                (void)ts_buf_str(&csv, name);
            begun = true;
        }
        (void)ts_buf_char(&csv, '\n');
    }
    tsd_csv_table(ts_buf_get(&csv), list_keys(list, columns, n_keys), &table);
    if (*heading)
        (void)ts_buf_printf(out, "\n%s\n", heading);
    tsd_term_table(out, ts_buf_get(&table));
    if (json_array_size(list) > max)
        (void)ts_buf_printf(out, "... and %zu more\n", json_array_size(list) - max);
    ts_buf_release(&csv);
    ts_buf_release(&table);
}

/* An object of objects as a list, each with its name as member "what"; the caller owns it. */
static json_t *status_named(const json_t *object)
{
    json_t *list = json_array(), *value;
    const char *name;
    json_object_foreach((json_t *)(uintptr_t)object, name, value)
    {
        json_t *copy = json_copy(value);
        (void)json_object_set_new(copy, "what", json_string(name));
        (void)json_array_append_new(list, copy);
    }
    return list;
}

/* Keys whose values are not their defaults; the caller owns the list. */
static json_t *status_changed(const json_t *config)
{
    json_t *list = json_array(), *key;
    size_t i;
    json_array_foreach(config, i, key) if (json_is_true(json_object_get(key, "changed")))(void)
        json_array_append(list, key);
    return list;
}

/* "sum:1h-avg:web.hits{domain=*}", as addresses have it. */
static void status_sub(const json_t *sub, struct ts_buf *out)
{
    const char *agg = json_string_value(json_object_get(sub, "aggregator"));
    const char *ds = json_string_value(json_object_get(sub, "downsample"));
    const char *metric = json_string_value(json_object_get(sub, "metric"));
    const json_t *filters = json_object_get(sub, "filters"), *filter;
    size_t i;
    ts_buf_printf(out, "%s:%s%s%s%s", agg ? agg : "", ds ? ds : "", ds ? ":" : "",
                  json_is_true(json_object_get(sub, "rate")) ? "rate:" : "", metric ? metric : "tsuids");
    json_array_foreach(filters, i, filter)
    {
        const char *key = json_string_value(json_object_get(filter, "tagk"));
        const char *value = json_string_value(json_object_get(filter, "filter"));
        ts_buf_printf(out, "%s%s=%s", i ? "," : "{", key ? key : "", value ? value : "");
    }
    ts_buf_str(out, i ? "}" : "");
}

/* What a query asks for and its range, in the place of its JSON; another text stays. */
static void status_words(json_t *query)
{
    const char *text = json_string_value(json_object_get(query, "text"));
    json_t *root = text ? json_loads(text, 0, NULL) : NULL;
    const json_t *subs = json_object_get(root, "queries"), *sub;
    const char *start = json_string_value(json_object_get(root, "start"));
    const char *end = json_string_value(json_object_get(root, "end"));
    struct ts_buf words;
    size_t i;
    ts_buf_init(&words, 0);
    json_array_foreach(subs, i, sub)
    {
        ts_buf_str(&words, i ? ", " : "");
        status_sub(sub, &words);
    }
    ts_buf_printf(&words, ", %s to %s", start ? start : "?", end ? end : "now");
    if (i)
        (void)json_object_set_new(query, "text", json_stringn(words.p, words.n));
    ts_buf_release(&words);
    json_decref(root);
}

json_t *tsd_status_queries(const json_t *queries, double least_ms)
{
    json_t *list = json_array(), *query;
    size_t i;
    json_array_foreach(queries, i, query)
    {
        if (tsd_status_num(query, "ms", 0) < least_ms)
            continue;
        json_t *copy = json_copy(query);
        status_words(copy);
        (void)json_array_append_new(list, copy);
    }
    return list;
}

/* Older daemons say only "reachable". */
static const char *status_of_remote(const json_t *remote)
{
    const char *state = json_string_value(json_object_get(remote, "state"));
    if (state && !strcmp(state, "no_ids"))
        return "does not serve the table of ids";
    if (state && !strcmp(state, "unknown"))
        return "was not asked yet";
    return json_is_true(json_object_get(remote, "reachable")) ? "answers" : "does not answer";
}

static void status_remote(const json_t *remote, struct ts_buf *out)
{
    char bytes[TSD_FIGURE_BYTES], text[TSD_FIGURE_BYTES];
    const char *kind = json_string_value(json_object_get(remote, "kind"));
    double n_points = tsd_status_num(remote, "backlog_points", 0);
    double n_rows = tsd_status_num(remote, "refused_rows", 0);
    double n_deletes = tsd_status_num(remote, "refused_deletes", 0);
    status_label(out, "remote");
    (void)ts_buf_printf(out, "%s %s, not sent yet: %s point%s, %s\n", kind ? kind : "?",
                        status_of_remote(remote), tsd_number_text(n_points, text),
                        ts_plural((uint64_t)n_points),
                        tsd_bytes_text(tsd_status_num(remote, "backlog_bytes", 0), bytes));
    if (n_rows == 0 && n_deletes == 0)
        return;
    (void)ts_buf_printf(out, "%-13s%s row%s", "", tsd_number_text(n_rows, text), ts_plural((uint64_t)n_rows));
    (void)ts_buf_printf(
        out, " and %s delete%s were refused by it, and stay here: /api/admin/refused lists the newest\n",
        tsd_number_text(n_deletes, text), ts_plural((uint64_t)n_deletes));
}

/* A change of the number of shards that has not been made yet. */
static void status_rebalance(const json_t *root, struct ts_buf *out)
{
    const json_t *r = json_object_get(root, "rebalance");
    double now = tsd_status_num(r, "shards", 0), wanted = tsd_status_num(r, "wanted", 0);
    const char *why = json_string_value(json_object_get(r, "waits"));
    if (now != wanted)
        (void)ts_buf_printf(out, "shards       %.0f, %.0f %s wanted: %s\n", now, wanted,
                            wanted == 1 ? "is" : "are", why ? why : "about to change");
}

static void status_text(const json_t *root, struct ts_buf *out)
{
    json_t *times = status_named(json_object_get(root, "times"));
    json_t *changed = status_changed(json_object_get(root, "config"));
    json_t *running = tsd_status_queries(tsd_status_at(root, "queries.running"), 0);
    json_t *slow = tsd_status_queries(tsd_status_at(root, "queries.slow"), STATUS_SLOW_MS);
    tsd_status_head(root, out);
    const json_t *remote = json_object_get(root, "remote");
    if (json_is_object(remote)) {
        status_remote(remote, out);
    }
    status_rebalance(root, out);
    tsd_status_list(json_object_get(root, "refused"), "Refused", "reason,example,when,count", 2,
                    STATUS_MAX_LINES, out);
    tsd_status_list(running, "Running queries", "id,client,text,ms", 3, STATUS_MAX_LINES, out);
    tsd_status_list(slow, "Slowest of the last queries", "client,text,ms", 2, STATUS_MAX_LINES, out);
    tsd_status_list(json_object_get(root, "memory"), "Memory", "account,used,limit", 1, STATUS_MAX_LINES,
                    out);
    tsd_status_list(times, "Times (ms)", "what,count,p50,p99,max", 1, STATUS_MAX_LINES, out);
    tsd_status_list(json_object_get(root, "shards"), "Shards", "shard,series,memstore_bytes,log_bytes", 1,
                    STATUS_MAX_LINES, out);
    tsd_status_list(json_object_get(root, "windows"), "Windows of files", "start,end,files,bytes,points", 2,
                    STATUS_MAX_LINES, out);
    tsd_status_list(changed, "Keys that differ from their defaults", "key,value,default", 3, STATUS_MAX_LINES,
                    out);
    json_decref(times);
    json_decref(changed);
    json_decref(running);
    json_decref(slow);
}

int tsd_status_run(const struct tsd_args *args)
{
    struct ts_error err = {0};
    struct ts_buf out;
    json_t *root;
    const char *format = tsd_answer_format(args, "text|json", "text");
    if (!format)
        return TSD_EXIT_USAGE;
    if (args->n_words)
        return tsd_usage(args, "status takes no words");
    if (tsd_status_get(args, &root, &err) < 0)
        return tsd_fail(&err);
    ts_buf_init(&out, 0);
    if (strcmp(format, "json") == 0) {
        tsd_status_json(root, &out);
    } else {
        status_text(root, &out);
    }
    json_decref(root);
    return tsd_print_page(&out);
}
