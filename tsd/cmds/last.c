/*
 * last.c - tsd last: the newest points of series, newest first.
 *
 * Threads    the main thread; with --data a pool for the query
 * Not here   how they are found (query/latest.c), encoders (out/)
 */
#include "base/mem.h"
#include "tsd/cmds/client.h"
#include "tsd/cmds/local.h"
#include "tsd/out/latest.h"

#include <string.h>
#include <unistd.h>

const struct ts_opt tsd_last_opts[] = {
    {.name = "count", .letter = 'n', .arg = "N", .help = "Points of each series. Default 1."},
    {.name = "at",
     .arg = "TIME",
     .help = "Only points at or before this time (UTC). Default: all there are."},
    {.name = "format",
     .letter = 'f',
     .arg = "text|csv|json|ndjson",
     .help = "Form of the answer. Default text."},
    {.name = "host", .arg = "HOST", .help = "The daemon's host. Default 127.0.0.1."},
    {.name = "port", .letter = 'p', .arg = "PORT", .help = "The daemon's port. Default 4242, or TSD_PORT."},
    {.name = "data", .arg = "DIR", .help = "Read this folder; no daemon may use it."},
    {.name = "config",
     .arg = "FILE",
     .help = "With --data: the daemon's configuration, for its storage keys."},
    {.name = NULL},
};

static struct ts_slice last_opt(const struct tsd_args *args, const char *name)
{
    const char *v = tsd_args_get(args, name);
    return v ? ts_slice_str(v) : TS_SLICE_LIT("");
}

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

static int last_print(void *arg, struct ts_slice piece, struct ts_error *err)
{
    (void)arg;
    return tsd_print(piece, err);
}

static void last_param(struct ts_buf *path, const char *name, struct ts_slice value)
{
    if (!value.n)
        return;
    ts_buf_printf(path, "&%s=", name);
    tsd_client_escape(value, path);
}

static int last_remote(const struct tsd_args *args, struct ts_slice series, const char *format,
                       struct ts_error *err)
{
    struct ts_buf path;
    struct tsd_client_reply reply;
    ts_buf_init(&path, 0);
    struct ts_slice n = last_opt(args, "count");
    ts_buf_printf(&path, "/api/query/last?format=%s", format);
    last_param(&path, "n", n.n ? n : TS_SLICE_LIT("1"));
    last_param(&path, "at", last_opt(args, "at"));
    last_param(&path, "timeseries", series);
    ts_buf_char(&path, 0);
    struct tsd_client_req req = {.method = "GET", .path = path.p, .sink = last_print};
    int rc = tsd_client_ask(args, &req, &reply, err);
    ts_buf_release(&reply.body);
    ts_buf_release(&path);
    return rc;
}

static int last_local(const struct tsd_args *args, const struct tsd_latest *what, struct ts_error *err)
{
    struct sto_store *store;
    struct ts_error close_err = {0};
    struct tsd_file_sink sink;
    struct qry_limit limit = {.max_points = 0};
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    TS_TRY(tsd_local_open(args, TSD_LOCAL_READ, &store, NULL, err));
    struct ts_pool *pool = ts_pool_new(n > 1 ? (unsigned)n : 1, "tsd-last");
    tsd_file_sink_init(&sink, stdout);
    int rc = tsd_latest_run(what, store, pool, &limit, &sink.sink, err);
    int end_rc = tsd_file_sink_end(&sink, rc < 0 ? &close_err : err);
    rc = rc < 0 ? rc : end_rc;
    ts_pool_free(pool);
    int close_rc = sto_close(store, rc < 0 ? &close_err : err);
    return rc < 0 ? rc : close_rc;
}

int tsd_last_run(const struct tsd_args *args)
{
    const char *format = tsd_args_get(args, "format");
    struct qry_last_ask ask = {.now_ms = ts_clock_ms()};
    struct ts_error err = {0};
    struct ts_buf series;
    format = format ? format : "text";
    if (!args->n_words)
        return tsd_usage(args, "say which metric");
    if (!tsd_out_find(ts_slice_str(format)))
        return tsd_usage(args, "--format is text, csv, json or ndjson, not \"%s\"", format);
    if (tsd_latest_parse(last_opt(args, "count"), last_opt(args, "at"), ask.now_ms, &ask, &err) < 0)
        return tsd_usage(args, "%s", err.text);
    ts_buf_init(&series, 0);
    if (!last_series(args, &series)) {
        ts_buf_release(&series);
        return tsd_usage(args, "the words behind the metric are tag=value");
    }
    ask.timeseries = ts_buf_get(&series);
    struct tsd_latest what = {tsd_out_find(ts_slice_str(format)), &ask, 1};
    int rc = tsd_args_has(args, "data") ? last_local(args, &what, &err)
                                        : last_remote(args, ask.timeseries, format, &err);
    if (rc == 0 && strcmp(format, "json") == 0)
        rc = tsd_print(TS_SLICE_LIT("\n"), &err);
    if (rc == 0)
        rc = tsd_print_end(&err);
    ts_buf_release(&series);
    return rc < 0 ? tsd_fail(&err) : TSD_EXIT_OK;
}
