/*
 * weblogimport.c - reads web logs as tsd import reads points; what their lines count to goes the way of tsd import.
 *
 *   files -> import.c -> weblog_take -> collectors/weblog_import.c -> points -> importtcp.c, or standard output
 *
 * Threads    the main thread
 * Not here   formats and counting (collectors/weblog_import.h)
 */
#include "tsd/cmds/weblogimport.h"

#include "base/mem.h"
#include "base/num.h"
#include "collectors/weblog_import.h"
#include "tsd/cmds/import.h"

#include <stdio.h>
#include <string.h>

#define LISTED     20 /* bad lines, unless --max-errors says otherwise */
#define HOST_BYTES 256

/* A sink of tsd import that counts lines and has another sink for the points. */
struct weblog_sink {
    struct tsd_import *im;          /* the run */
    const struct tsd_import_to *to; /* where points go */
    void *points;                   /* its sink */
    struct col_web_import *logs;    /* counting */
    const char *file;               /* at hand; NULL before the first */
    uint64_t n_point_lines;         /* given to points, and one */
};

static void weblog_bad(void *arg, uint64_t line, const char *why)
{
    struct weblog_sink *s = arg;
    tsd_import_bad(s->im, s->file, line, ts_slice_str(why));
}

static int weblog_put(void *arg, struct ts_slice lines, uint32_t n_points, bool durable, struct ts_error *err)
{
    struct weblog_sink *s = arg;
    (void)n_points;
    (void)durable;
    return lines.n ? s->to->take(s->points, "points of web logs", lines, &s->n_point_lines, err) : 0;
}

static int weblog_close(void *sink, struct ts_error *err)
{
    struct weblog_sink *s = sink;
    int rc = s->points ? s->to->close(s->points, err) : 0;
    col_web_import_free(s->logs);
    ts_free(s);
    return rc;
}

static int weblog_open(struct tsd_import *im, void **out_sink, struct ts_error *err)
{
    struct weblog_sink *s = ts_xcalloc(1, sizeof(*s));
    struct col_web_import_opts opts = {
        .conf = im->args->conf, .out = {.put = weblog_put, .arg = s}, .bad = weblog_bad, .arg = s};
    s->im = im;
    s->to = im->points_to;
    s->n_point_lines = 1;
    int rc = col_web_import_new(&opts, &s->logs, err);
    if (rc == 0)
        rc = s->to->open(im, &s->points, err);
    if (rc < 0)
        weblog_close(s, NULL);
    else
        *out_sink = s;
    return rc;
}

static int weblog_take(void *sink, const char *file, struct ts_slice lines, uint64_t *line,
                       struct ts_error *err)
{
    struct weblog_sink *s = sink;
    if (*line == 1) {
        TS_TRY(col_web_import_end(s->logs, err));
        s->file = file;
        col_web_import_begin(s->logs, file);
    }
    TS_TRY(col_web_import_lines(s->logs, lines, err));
    *line = col_web_import_line(s->logs);
    return 0;
}

static int weblog_finish(void *sink, struct ts_error *err)
{
    struct weblog_sink *s = sink;
    char counted[32];
    TS_TRY(col_web_import_end(s->logs, err));
    TS_TRY(s->to->finish(s->points, err));
    tsd_progress_clear(&s->im->bar);
    tsd_say("%s requests counted", tsd_count_text(col_web_import_counted(s->logs), counted));
    return 0;
}

static const struct tsd_import_to to_weblog = {
    .open = weblog_open, .take = weblog_take, .finish = weblog_finish, .close = weblog_close};

/* --- points to standard output --- */

static int print_open(struct tsd_import *im, void **out_sink, struct ts_error *err)
{
    (void)err;
    *out_sink = im;
    return 0;
}

static int print_take(void *sink, const char *file, struct ts_slice lines, uint64_t *line,
                      struct ts_error *err)
{
    struct tsd_import *im = sink;
    (void)file;
    (void)line;
    for (size_t i = 0; i < lines.n; i++)
        im->n_points += lines.p[i] == '\n';
    return tsd_print(lines, err);
}

static int print_finish(void *sink, struct ts_error *err)
{
    (void)sink;
    return tsd_print_end(err);
}

static int print_close(void *sink, struct ts_error *err)
{
    (void)sink;
    (void)err;
    return 0;
}

static const struct tsd_import_to to_print = {
    .open = print_open, .take = print_take, .finish = print_finish, .close = print_close};

/* --- the command --- */

/* The first address of collect_server: "HOST:PORT" or "[v6]:PORT". */
static bool first_server(const char *list, char host[HOST_BYTES], char port[HOST_BYTES])
{
    size_t n = strcspn(list, ",");
    const char *colon = memrchr(list, ':', n);
    if (!colon || colon == list)
        return false;
    const char *from = list, *to = colon;
    if (*from == '[' && to[-1] == ']') {
        from++;
        to--;
    }
    (void)snprintf(host, HOST_BYTES, "%.*s", (int)(to - from), from);
    (void)snprintf(port, HOST_BYTES, "%.*s", (int)(list + n - colon - 1), colon + 1);
    return *host && *port;
}

int tsd_weblog_import(const struct tsd_args *args)
{
    struct tsd_args files = *args;
    struct tsd_import im = {.args = &files, .max_listed = LISTED};
    const char *servers = ts_conf_str(args->conf, "collect_server"), *max = tsd_args_get(args, "max-errors");
    char host[HOST_BYTES], port[HOST_BYTES];
    files.words++; /* behind "weblog-import" */
    files.n_words--;
    if (!files.n_words)
        return tsd_usage(args, "weblog-import: name the logs to read; - is standard input");
    if (!first_server(servers, host, port))
        return tsd_usage(args, "collect_server: \"%s\" is no HOST:PORT", servers);
    if (max) {
        int64_t n;
        if (ts_num_parse_int(ts_slice_str(max), &n, NULL) < 0 || n < 0)
            return tsd_usage(args, "--max-errors takes a number from 0, not \"%s\"", max);
        im.max_listed = (uint64_t)n;
    }
    im.host = host;
    im.port = port;
    im.points_to = tsd_args_has(args, "format") ? &to_print : &tsd_import_tcp;
    return tsd_import_files(&im, &to_weblog);
}
