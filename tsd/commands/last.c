/*
 * last.c - tsd last: the newest points of series, newest first.
 *
 * Threads    the main thread; with --data a pool for the query
 * Not here   how they are found (query/execution/latest.c), encoders (out/)
 */
#include "base/mem.h"
#include "tsd/commands/answer.h"
#include "tsd/format/answers.h"

#include <string.h>

const struct ts_opt tsd_last_opts[] = {
    {.name = "count", .letter = 'n', .arg = "N", .help = "Number of points of each series. Default 1."},
    {.name = "at", .arg = "TIME", .help = "Only points at or before this time. Default: all points."},
    {.name = "tz",
     .arg = "ZONE",
     .help = "Zone of --at and of times in text, for example Europe/Berlin. Default UTC."},
    {.name = "format",
     .letter = 'f',
     .arg = "text|csv|json|markdown|ndjson",
     .help = "Form of the answer. Default text. CSV and JSON have milliseconds."},
    TSD_PARTIAL_OPT,
    TSD_ANSWER_OPTS,
    {.name = NULL},
};

/* The words as "metric{k=v,..}"; false: a word is no tag. */
static bool last_series(const struct tsd_args *args, struct ts_buf *out)
{
    ts_buf_str(out, args->words[0]);
    for (size_t i = 1; i < args->n_words; i++) {
        const char *word = args->words[i], *eq = strchr(word, '=');
        if (!eq || eq == word || !eq[1])
            return false;
        ts_buf_printf(out, "%c%s", i == 1 ? '{' : ',', word);
    }
    if (args->n_words > 1)
        ts_buf_char(out, '}');
    return true;
}

/* Does a value look like a pattern, which tsd query knows, but tsd last does not? */
static bool last_has_pattern(const struct tsd_args *args)
{
    for (size_t i = 1; i < args->n_words; i++) {
        const char *eq = strchr(args->words[i], '=');
        if (eq && strcmp(eq + 1, "*") != 0 && strpbrk(eq + 1, "*()"))
            return true;
    }
    return false;
}

static void last_param(struct ts_buf *path, const char *name, struct ts_slice value)
{
    if (!value.n)
        return;
    ts_buf_printf(path, "&%s=", name);
    ts_buf_uri(path, value);
}

/* One question. */
struct last_run {
    struct tsd_answer answer; /* daemon or folder */
    struct tsd_latest what;   /* for a folder */
};

static int last_remote(struct last_run *r, struct ts_slice series, struct ts_error *err)
{
    const struct tsd_args *args = r->answer.args;
    struct ts_buf path;
    ts_buf_init(&path, 0);
    struct ts_slice n = tsd_answer_opt(args, "count");
    ts_buf_printf(&path, "/api/query/last?format=%s", r->what.format->name);
    last_param(&path, "n", n.n ? n : TS_SLICE_LIT("1"));
    last_param(&path, "at", tsd_answer_opt(args, "at"));
    last_param(&path, "tz", tsd_answer_opt(args, "tz"));
    last_param(&path, "timeseries", series);
    if (tsd_args_has(args, "allow-partial"))
        ts_buf_str(&path, "&allow_partial=true");
    int rc = tsd_answer_remote(&r->answer, "GET", ts_buf_get(&path), NULL, err);
    ts_buf_release(&path);
    return rc;
}

static int last_local(void *arg, struct ts_sink *sink, struct ts_error *err)
{
    struct last_run *r = arg;
    struct qry_limit limit = {.max_points = 0};
    return tsd_latest_run(&r->what, r->answer.store, r->answer.pool, &limit, sink, err);
}

static int last_run(const struct tsd_args *args, struct last_run *r, struct ts_slice series)
{
    struct ts_error err = {0};
    int rc = tsd_answer_open(&r->answer, args, TSD_LOCAL_READ, &err);
    if (rc == 0)
        rc = r->answer.store ? tsd_answer_local(&r->answer, last_local, r, NULL, &err)
                             : last_remote(r, series, &err);
    if (rc == 0)
        rc = tsd_answer_end(&r->answer, &err);
    int code = tsd_answer_close(&r->answer, rc, &err);
    if (rc < 0 && last_has_pattern(args))
        tsd_say("a value of tsd last is a name, several as a|b, or * alone; tsd query takes patterns");
    return code;
}

int tsd_last_run(const struct tsd_args *args)
{
    struct qry_last_request ask = {.now_ms = ts_clock_ms()};
    struct ts_error err = {0};
    struct ts_buf series;
    if (!args->n_words)
        return tsd_usage(args, "say which metric");
    const char *format = tsd_answer_format(args, "text|csv|json|markdown|ndjson", "text");
    if (!format || tsd_client_or_data(args) != TSD_EXIT_OK)
        return TSD_EXIT_USAGE;
    const struct ts_tz *tz;
    if (tsd_latest_parse(tsd_answer_opt(args, "count"), tsd_answer_opt(args, "at"),
                         tsd_answer_opt(args, "tz"), ask.now_ms, &ask, &tz, &err) < 0)
        return tsd_usage(args, "%s", err.text);
    ts_buf_init(&series, 0);
    if (!last_series(args, &series)) {
        ts_buf_release(&series);
        return tsd_usage(args, "the words behind the metric are tag=value");
    }
    ask.timeseries = ts_buf_get(&series);
    struct last_run r = {.what = {tsd_out_find(ts_slice_str(format)), &ask, 1, tz}};
    int code = last_run(args, &r, ask.timeseries);
    ts_buf_release(&series);
    return code;
}
