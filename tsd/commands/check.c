/*
 * check.c - tsd check: a plug-in of monitoring systems (Nagios, Icinga, Naemon) that judges a daemon, the values of a
 * query or the age of a metric's last point.
 *
 * It prints one line, "TSD OK - TEXT | PERFORMANCE DATA", on standard output and ends with 0 to 3.
 *
 * Threads    the main thread
 * Source     Monitoring Plugins Development Guidelines
 * Not here   thresholds (check_range.c), the query's words (query/)
 */
#include "base/json.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/time.h"
#include "query/query.h"
#include "tsd/commands/answer.h"
#include "tsd/commands/check_range.h"
#include "tsd/commands/client.h"
#include "tsd/commands/cmd.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define CHECK_TIMEOUT_S 10
#define CHECK_MAX_PERF  50  /* series in the performance data: a monitoring system cuts lines off */
#define CHECK_LINE_MAX  400 /* bytes of what is wrong with the daemon */
#define CHECK_PARAM_MAX ((size_t)64 << 10) /* of the query's parameters */

enum check_state { CHECK_OK, CHECK_WARNING, CHECK_CRITICAL, CHECK_UNKNOWN }; /* also exit codes */

static const char *const check_names[] = {"OK", "WARNING", "CRITICAL", "UNKNOWN"};

const struct ts_opt tsd_check_opts[] = {
    {.name = "warning",
     .letter = 'w',
     .arg = "RANGE",
     .help = "WARNING if a value raises an alert: 10 (below 0 or above 10), 10: (below 10), ~:10 (above 10), "
             "10:20 (outside), "
             "@10:20 (inside)."},
    {.name = "critical", .letter = 'c', .arg = "RANGE", .help = "CRITICAL, likewise. It is looked at first."},
    {.name = "age",
     .help = "Judge the age of the last point of METRIC [tag=value ...]. The ranges are durations: 10m, "
             "10m:, 1h30m; a "
             "number alone is in seconds."},
    {.name = "each", .help = "With --age: judge the last point of each series, not only the newest of all."},
    {.name = "of",
     .arg = "last|min|max|avg|sum|count",
     .help = "Which value of each series of a query is judged. Default last."},
    {.name = "empty",
     .arg = "ok|warning|critical|unknown",
     .help = "What it means if no point is found. Default unknown."},
    {.name = "tz",
     .arg = "ZONE",
     .help =
         "Zone of dates and days, for example Europe/Berlin. Default: the daemon's key timezone, or UTC."},
    {.name = "timeout",
     .letter = 't',
     .arg = "SECONDS",
     .help = "How long the daemon may take; CRITICAL after that. Default 10."},
    TSD_CLIENT_OPTS,
    {.name = NULL},
};

/* One run. */
struct check_run {
    const struct tsd_args *args;     /* of the command */
    struct tsd_check_range warning;  /* -w */
    struct tsd_check_range critical; /* -c */
    enum check_state empty;          /* --empty */
    int64_t timeout_ms;              /* --timeout */
    enum check_state state;          /* of the worst series */
    size_t n_states[4];              /* series of each state */
    struct ts_buf worst;             /* sentence about the first of the worst series */
    struct ts_buf perf;              /* performance data */
    size_t n_perf;                   /* series in it */
};

/* --- the line --- */

/* Print the line; what would end it, or begin the performance data, is replaced. */
static int check_print(enum check_state state, struct ts_slice text, struct ts_slice perf)
{
    struct ts_buf line;
    ts_buf_init(&line, 0);
    (void)ts_buf_printf(&line, "TSD %s - ", check_names[state]);
    for (size_t i = 0; i < text.n; i++)
        (void)ts_buf_char(&line, text.p[i] == '|' ? '/' : (unsigned char)text.p[i] < ' ' ? ' ' : text.p[i]);
    if (perf.n) {
        (void)ts_buf_str(&line, " |");
        (void)ts_buf_slice(&line, perf);
    }
    (void)ts_buf_char(&line, '\n');
    struct ts_error err = {0};
    int rc = tsd_print_all(ts_buf_get(&line), &err);
    ts_buf_release(&line);
    return rc < 0 ? CHECK_UNKNOWN : (int)state;
}

int tsd_check_refuse(const char *text)
{
    struct ts_buf line;
    ts_buf_init(&line, 0);
    (void)ts_buf_printf(&line, "%s; see tsd help check", text);
    int code = check_print(CHECK_UNKNOWN, ts_buf_get(&line), (struct ts_slice){NULL, 0});
    ts_buf_release(&line);
    return code;
}

/* A request that failed: the daemon's fault is CRITICAL, the request's is UNKNOWN. */
static int check_failed(const struct ts_error *err)
{
    bool daemon =
        err->code == TS_EIO || err->code == TS_ETIMEOUT || err->code == TS_EBUSY || err->code == TS_EBACKEND;
    return check_print(daemon ? CHECK_CRITICAL : CHECK_UNKNOWN, ts_slice_str(err->text),
                       (struct ts_slice){NULL, 0});
}

/* 'LABEL'=VALUE[UNIT];WARNING;CRITICAL */
static void check_perf(struct check_run *r, struct ts_slice label, double value, const char *unit)
{
    if (r->n_perf++ >= CHECK_MAX_PERF)
        return;
    (void)ts_buf_str(&r->perf, " '");
    for (size_t i = 0; i < label.n; i++)
        (void)ts_buf_str(&r->perf,
                         label.p[i] == '\'' ? "''" : (char[]){label.p[i] == '=' ? ':' : label.p[i], 0});
    (void)ts_buf_str(&r->perf, "'=");
    tsd_check_number(value, &r->perf);
    (void)ts_buf_printf(&r->perf, "%s;", unit);
    tsd_check_range_print(&r->warning, &r->perf);
    (void)ts_buf_char(&r->perf, ';');
    tsd_check_range_print(&r->critical, &r->perf);
}

/* Which state a value has, and the range that says so; NULL: none does. */
static enum check_state check_judge(const struct check_run *r, double value,
                                    const struct tsd_check_range **out_why)
{
    *out_why = NULL;
    if (tsd_check_range_alerts(&r->critical, value))
        *out_why = &r->critical;
    else if (tsd_check_range_alerts(&r->warning, value))
        *out_why = &r->warning;
    return *out_why == &r->critical ? CHECK_CRITICAL : *out_why ? CHECK_WARNING : CHECK_OK;
}

/* Take one value into account. name: of the series; said: the sentence about it, without its end. */
static void check_take(struct check_run *r, struct ts_slice label, struct ts_slice said, double value,
                       const char *unit)
{
    const struct tsd_check_range *why;
    enum check_state state = check_judge(r, value, &why);
    r->n_states[state]++;
    check_perf(r, label, value, unit);
    if (r->worst.n && state <= r->state)
        return;
    r->state = state;
    ts_buf_clear(&r->worst);
    (void)ts_buf_slice(&r->worst, said);
    if (!why)
        return;
    (void)ts_buf_str(&r->worst, why->inside ? ", inside " : ", outside ");
    struct tsd_check_range plain = *why;
    plain.inside = false;
    tsd_check_range_print(&plain, &r->worst);
    (void)ts_buf_printf(&r->worst, "%s%s", *unit ? " " : "", unit);
}

/* All values were taken: print. nothing: the sentence if there were none. */
static int check_end(struct check_run *r, const char *nothing)
{
    struct ts_buf text;
    size_t all = r->n_states[CHECK_OK] + r->n_states[CHECK_WARNING] + r->n_states[CHECK_CRITICAL];
    if (!all)
        return check_print(r->empty, ts_slice_str(nothing), (struct ts_slice){NULL, 0});
    ts_buf_init(&text, 0);
    if (all > 1)
        (void)ts_buf_printf(&text, "%zu series: %zu OK, %zu WARNING, %zu CRITICAL; ", all,
                            r->n_states[CHECK_OK], r->n_states[CHECK_WARNING], r->n_states[CHECK_CRITICAL]);
    (void)ts_buf_slice(&text, ts_buf_get(&r->worst));
    if (all > CHECK_MAX_PERF)
        (void)ts_buf_printf(&text, " (performance data of %d series)", CHECK_MAX_PERF);
    int code = check_print(r->state, ts_buf_get(&text), ts_buf_get(&r->perf));
    ts_buf_release(&text);
    return code;
}

/* --- requests --- */

static int check_get(const struct check_run *r, struct ts_slice path, struct tsd_client_reply *reply,
                     struct ts_error *err)
{
    char *text = ts_xmalloc(path.n + 1);
    memcpy(text, path.p, path.n);
    text[path.n] = 0;
    struct tsd_client_req req = {.method = "GET", .path = text, .timeout_ms = r->timeout_ms};
    int rc = tsd_client_request(r->args, &req, reply, err);
    ts_free(text);
    return rc;
}

/* Call each for every object of an answer in lines of JSON. */
static int check_lines(struct check_run *r, struct ts_slice path,
                       void (*each)(struct check_run *r, const json_t *line), struct ts_error *err)
{
    struct tsd_client_reply reply;
    int rc = check_get(r, path, &reply, err);
    struct ts_slice body = ts_buf_get(&reply.body);
    while (rc == 0 && body.n) {
        const char *nl = memchr(body.p, '\n', body.n);
        struct ts_slice line = {body.p, nl ? (size_t)(nl - body.p) : body.n};
        json_t *root = NULL;
        if (line.n)
            rc = ts_json_load(line, &root, err);
        if (rc == 0 && root)
            each(r, root);
        json_decref(root);
        body.p += line.n + (nl != NULL);
        body.n -= line.n + (nl != NULL);
    }
    ts_buf_release(&reply.body);
    return rc;
}

/* Append METRIC{tag=value,...}. */
static void check_series(const json_t *line, struct ts_buf *out)
{
    const char *metric = json_string_value(json_object_get(line, "metric")), *key;
    json_t *tags = json_object_get(line, "tags"), *value;
    size_t n = 0;
    (void)ts_buf_str(out, metric ? metric : "?");
    json_object_foreach(tags, key, value)(void)
        ts_buf_printf(out, "%s%s=%s", n++ ? "," : "{", key, json_string_value(value));
    if (n)
        (void)ts_buf_char(out, '}');
}

/* --- the values of a query --- */

/* The value of --of among the points of a series; false: it has none. */
static bool check_value(const json_t *dps, const char *of, double *out)
{
    double last = 0, min = INFINITY, max = -INFINITY, sum = 0, n = 0;
    size_t i;
    json_t *dp;
    json_array_foreach(dps, i, dp)
    {
        const json_t *v = json_array_get(dp, 1);
        if (!json_is_number(v))
            continue; /* null or "NaN" of a fill policy */
        last = json_number_value(v);
        min = last < min ? last : min;
        max = last > max ? last : max;
        sum += last;
        n++;
    }
    *out = strcmp(of, "min") == 0     ? min
           : strcmp(of, "max") == 0   ? max
           : strcmp(of, "avg") == 0   ? sum / n
           : strcmp(of, "sum") == 0   ? sum
           : strcmp(of, "count") == 0 ? n
                                      : last;
    return n > 0;
}

static void check_query_line(struct check_run *r, const json_t *line)
{
    const char *of = tsd_args_get(r->args, "of");
    struct ts_buf label, said;
    double value;
    if (!check_value(json_object_get(line, "dps"), of ? of : "last", &value))
        return;
    ts_buf_init(&label, 0);
    ts_buf_init(&said, 0);
    check_series(line, &label);
    if (of && strcmp(of, "last") != 0)
        (void)ts_buf_printf(&said, "%s of ", of);
    (void)ts_buf_slice(&said, ts_buf_get(&label));
    (void)ts_buf_str(&said, " is ");
    tsd_check_number(value, &said);
    check_take(r, ts_buf_get(&label), ts_buf_get(&said), value, "");
    ts_buf_release(&label);
    ts_buf_release(&said);
}

static int check_query(struct check_run *r)
{
    const struct tsd_args *args = r->args;
    struct ts_arena arena;
    struct qry_spec spec;
    struct ts_buf uri, path;
    struct ts_error err = {0};
    int code;
    ts_arena_init(&arena, 0);
    ts_buf_init(&uri, CHECK_PARAM_MAX);
    ts_buf_init(&path, CHECK_PARAM_MAX);
    int rc = tsd_zone_words(args, NULL, &arena, &spec, &uri, &err);
    if (rc < 0) {
        code = tsd_usage(args, "%s", err.text);
    } else {
        (void)ts_buf_str(&path, "/api/query?");
        (void)ts_buf_slice(&path, ts_buf_get(&uri));
        (void)ts_buf_str(&path, "&format=ndjson&arrays=true");
        rc = path.failed ? ts_error_set(&err, TS_ELIMIT, "the query is too long")
                         : check_lines(r, ts_buf_get(&path), check_query_line, &err);
        code = rc < 0 ? check_failed(&err) : check_end(r, "the query found no points");
    }
    ts_buf_release(&path);
    ts_buf_release(&uri);
    ts_arena_release(&arena);
    return code;
}

/* --- the age of the last point --- */

static void check_age_line(struct check_run *r, const json_t *line)
{
    const json_t *dp = json_array_get(json_object_get(line, "dps"), 0);
    double at_s = json_number_value(json_array_get(dp, 0)) / 1000, now_s = (double)ts_clock_ms() / 1000;
    struct ts_buf series, label, said;
    bool each = tsd_args_has(r->args, "each");
    if (!dp || (!each && r->worst.n)) /* newest first: the others are older */
        return;
    double age_s = at_s > now_s ? 0 : floor(now_s - at_s); /* clocks of hosts differ */
    ts_buf_init(&series, 0);
    ts_buf_init(&label, 0);
    ts_buf_init(&said, 0);
    check_series(line, &series);
    (void)ts_buf_printf(&label, each ? "age of %.*s" : "age", (int)series.n, series.p);
    (void)ts_buf_printf(&said, "the last point of %.*s is %.0f s old", (int)series.n, series.p, age_s);
    check_take(r, ts_buf_get(&label), ts_buf_get(&said), age_s, "s");
    ts_buf_release(&series);
    ts_buf_release(&label);
    ts_buf_release(&said);
}

static int check_age(struct check_run *r)
{
    const struct tsd_args *args = r->args;
    struct ts_buf path, series;
    struct ts_error err = {0};
    if (!args->n_words)
        return tsd_usage(args, "--age needs a METRIC");
    ts_buf_init(&series, CHECK_PARAM_MAX);
    ts_buf_init(&path, CHECK_PARAM_MAX);
    int code = -1;
    (void)ts_buf_str(&series, args->words[0]);
    for (size_t i = 1; i < args->n_words && code < 0; i++) {
        const char *word = args->words[i], *eq = strchr(word, '=');
        (void)ts_buf_printf(&series, "%c%s", i == 1 ? '{' : ',', word);
        if (!eq || eq == word || !eq[1])
            code = tsd_usage(args, "with --age the words are METRIC [tag=value ...], not \"%.80s\"", word);
    }
    if (code < 0) {
        (void)ts_buf_str(&series, args->n_words > 1 ? "}" : "");
        (void)ts_buf_str(&path, "/api/query/last?format=ndjson&n=1&timeseries=");
        (void)ts_buf_uri(&path, ts_buf_get(&series));
        code = check_lines(r, ts_buf_get(&path), check_age_line, &err) < 0
                   ? check_failed(&err)
                   : check_end(r, "no point was found");
    }
    ts_buf_release(&path);
    ts_buf_release(&series);
    return code;
}

/* --- the daemon --- */

/* Append the version of the daemon. */
static int check_version(const struct check_run *r, struct ts_buf *out, struct ts_error *err)
{
    struct tsd_client_reply reply;
    json_t *root = NULL;
    int rc = check_get(r, TS_SLICE_LIT("/api/version"), &reply, err);
    if (rc == 0)
        rc = ts_json_load(ts_buf_get(&reply.body), &root, err);
    const char *version = json_string_value(json_object_get(root, "version"));
    (void)ts_buf_printf(out, "tsd %s answers", version ? version : "of an unknown version");
    json_decref(root);
    ts_buf_release(&reply.body);
    return rc;
}

/* The lines of a text as sentences in one line, at most CHECK_LINE_MAX bytes of them. */
static struct ts_slice check_sentences(struct ts_slice lines)
{
    char *p = (char *)lines.p;
    while (lines.n && p[lines.n - 1] == '\n')
        lines.n--;
    for (size_t i = 0; i < lines.n; i++)
        if (p[i] == '\n')
            p[i] = ';';
    lines.n = lines.n > CHECK_LINE_MAX ? CHECK_LINE_MAX : lines.n;
    return lines;
}

/* What /readyz says is wrong: an error if the daemon is not ready, else a sentence in problems; a daemon that does not have it is ready
 * when it answers. */
static int check_ready(const struct check_run *r, struct ts_buf *problems, struct ts_error *err)
{
    struct tsd_client_reply reply;
    int rc = check_get(r, TS_SLICE_LIT("/readyz"), &reply, err);
    struct ts_slice body = ts_buf_get(&reply.body), ready = TS_SLICE_LIT("ready\n");
    if (reply.status == 503 && body.n) {
        body = check_sentences(body);
        rc = ts_error_set(err, TS_EBUSY, "the daemon is not ready: %.*s", (int)body.n, body.p);
    } else if (rc == 0 && body.n > ready.n && memcmp(body.p, ready.p, ready.n) == 0) {
        (void)ts_buf_slice(problems, check_sentences((struct ts_slice){body.p + ready.n, body.n - ready.n}));
    }
    ts_buf_release(&reply.body);
    return rc == TS_ENOTFOUND || reply.status == 404 ? 0 : rc;
}

/* The daemon answers and is ready, but something wants a look: at least WARNING. */
static void check_problems(struct check_run *r, struct ts_slice problems)
{
    if (!problems.n)
        return;
    if (r->state == CHECK_OK)
        r->state = CHECK_WARNING;
    (void)ts_buf_str(&r->worst, "; ");
    (void)ts_buf_slice(&r->worst, problems);
}

static int check_daemon(struct check_run *r)
{
    struct ts_buf said, problems;
    struct ts_error err = {0};
    if (tsd_args_has(r->args, "of"))
        return tsd_usage(r->args, "--of needs a query");
    ts_buf_init(&said, 0);
    ts_buf_init(&problems, 0);
    int64_t began_ns = ts_clock_mono_ns();
    int rc = check_version(r, &said, &err);
    double s = (double)((ts_clock_mono_ns() - began_ns) / 1000) / 1e6;
    if (rc == 0)
        rc = check_ready(r, &problems, &err);
    (void)ts_buf_str(&said, " after ");
    tsd_check_number(s, &said);
    (void)ts_buf_str(&said, " s");
    if (rc == 0)
        check_take(r, TS_SLICE_LIT("time"), ts_buf_get(&said), s, "s");
    check_problems(r, ts_buf_get(&problems));
    int code = rc < 0 ? check_failed(&err) : check_end(r, "");
    ts_buf_release(&problems);
    ts_buf_release(&said);
    return code;
}

/* --- the command --- */

/* The options; a usage error is printed. */
static int check_options(struct check_run *r)
{
    const struct tsd_args *args = r->args;
    const char *w = tsd_args_get(args, "warning"), *c = tsd_args_get(args, "critical"),
               *empty = tsd_args_get(args, "empty"), *timeout = tsd_args_get(args, "timeout");
    int code;
    bool durations = tsd_args_has(args, "age") || !args->n_words;
    struct ts_error err = {0};
    struct ts_num s;
    if ((w && tsd_check_range_parse(w, durations, &r->warning, &err) < 0) ||
        (c && tsd_check_range_parse(c, durations, &r->critical, &err) < 0))
        return tsd_usage(args, "%s", err.text);
    if (tsd_args_choice(args, "of", "last|min|max|avg|sum|count", &code) ||
        tsd_args_choice(args, "empty", "ok|warning|critical|unknown", &code))
        return code;
    r->empty = CHECK_UNKNOWN;
    for (int i = CHECK_OK; empty && i < CHECK_UNKNOWN; i++)
        if (strcasecmp(empty, check_names[i]) == 0)
            r->empty = (enum check_state)i;
    r->timeout_ms = CHECK_TIMEOUT_S * 1000;
    if (timeout && (ts_num_parse(ts_slice_str(timeout), &s, NULL) < 0 || !(ts_num_double(s) >= 0.001) ||
                    ts_num_double(s) > 86400))
        return tsd_usage(args, "--timeout is a number of seconds from 0.001 to 86400, not \"%.60s\"",
                         timeout);
    if (timeout)
        r->timeout_ms = (int64_t)(ts_num_double(s) * 1000);
    if (tsd_args_has(args, "each") && !tsd_args_has(args, "age"))
        return tsd_usage(args, "--each needs --age; every series of a query is judged anyway");
    return CHECK_OK;
}

int tsd_check_run(const struct tsd_args *args)
{
    struct check_run r = {.args = args};
    int code = check_options(&r);
    if (code != CHECK_OK)
        return code;
    ts_buf_init(&r.worst, 0);
    ts_buf_init(&r.perf, 0);
    code = tsd_args_has(args, "age") ? check_age(&r) : args->n_words ? check_query(&r) : check_daemon(&r);
    ts_buf_release(&r.worst);
    ts_buf_release(&r.perf);
    return code;
}
