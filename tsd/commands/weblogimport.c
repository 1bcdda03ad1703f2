/*
 * weblogimport.c - reads web logs as tsd import reads points; what their lines count to goes the way of tsd import.
 *
 *   files -> import.c -> weblog_take -> collectors/weblog/weblog_import.c -> points -> importtcp.c, or standard output
 *
 * Threads    the main thread
 * Not here   formats and counting (collectors/weblog/weblog_import.h)
 */
#include "tsd/commands/weblogimport.h"

#include "base/mem.h"
#include "collectors/collect.h"
#include "collectors/weblog/weblog_import.h"
#include "tsd/commands/import.h"

/* A sink of tsd import that counts lines and has another sink for the points. */
struct weblog_sink {
    struct tsd_import *im;                /* the run */
    const struct tsd_import_to *to;       /* where points go */
    void *points;                         /* its sink */
    struct col_web_import *logs;          /* counting */
    const char *file;                     /* at hand; NULL before the first */
    uint64_t n_point_lines;               /* given to points, and one */
    struct col_web_import_figures before; /* figures when the current file began */
    bool refused;                         /* the current file is left out, as was said */
    uint64_t n_bad_before;                /* bad lines then */
    uint64_t *ends;                       /* owned: n_point_lines at the end of each file that ended */
    const char **names;                   /* owned: those files; their names are borrowed */
    size_t n_ended;                       /* of them */
};

static void weblog_bad(void *arg, uint64_t line, const char *why)
{
    struct weblog_sink *s = arg;
    tsd_import_bad(s->im, s->file, line, ts_slice_str(why));
}

static void weblog_refused(void *arg, const char *why)
{
    struct weblog_sink *s = arg;
    tsd_progress_clear(&s->im->bar);
    tsd_say("%s: %s", s->file, why);
    s->im->n_bad_files++;
    s->refused = true;
}

static int weblog_put(void *arg, struct ts_slice lines, uint32_t n_points, bool durable, struct ts_error *err)
{
    struct weblog_sink *s = arg;
    (void)n_points;
    (void)durable;
    return lines.n ? s->to->take(s->points, "points of web logs", lines, &s->n_point_lines, err) : 0;
}

/* What is done, and how to continue. Points are confirmed in the order in which they were made. */
static void weblog_interrupted(const struct weblog_sink *s)
{
    size_t n_done = 0;
    while (n_done < s->n_ended && s->im->n_points + 1 >= s->ends[n_done])
        n_done++;
    const char *next = n_done < s->n_ended ? s->names[n_done] : s->file;
    tsd_progress_clear(&s->im->bar);
    tsd_say("%zu of %zu files are counted and stored; to continue, import %s and the files after it again: "
            "their earlier counts are replaced, not added to",
            n_done, s->im->args->n_words, next ? next : s->im->args->words[0]);
}

static int weblog_close(void *sink, struct ts_error *err)
{
    struct weblog_sink *s = sink;
    int rc = s->points ? s->to->close(s->points, err) : 0;
    if (tsd_import_interrupted())
        weblog_interrupted(s);
    col_web_import_free(s->logs);
    ts_free(s->ends);
    ts_free(s->names);
    ts_free(s);
    return rc;
}

static int weblog_open(struct tsd_import *im, void **out_sink, struct ts_error *err)
{
    struct weblog_sink *s = ts_xcalloc(1, sizeof(*s));
    struct col_web_import_opts opts = {.conf = im->args->conf,
                                       .out = {.put = weblog_put, .arg = s},
                                       .bad = weblog_bad,
                                       .refused = weblog_refused,
                                       .arg = s,
                                       .remember = im->points_to == &tsd_import_tcp,
                                       .replace = tsd_args_has(im->args, "replace")};
    s->im = im;
    s->ends = ts_xcalloc(im->args->n_words, sizeof(*s->ends));
    s->names = ts_xcalloc(im->args->n_words, sizeof(*s->names));
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

/* The current file ends: what came of it, where there are several. */
static int weblog_file_end(struct weblog_sink *s, struct ts_error *err)
{
    struct col_web_import_figures f;
    char n[32], bad[32];
    TS_TRY(col_web_import_end(s->logs, err));
    if (!s->file)
        return 0;
    col_web_import_figures(s->logs, &f);
    uint64_t n_bad = s->im->n_bad - s->n_bad_before;
    if (s->im->args->n_words > 1 && !s->refused) {
        tsd_progress_clear(&s->im->bar);
        tsd_say("%s: %s requests, %s bad lines", s->file,
                tsd_count_text(f.n_counted - s->before.n_counted, n), tsd_count_text(n_bad, bad));
    }
    s->names[s->n_ended] = s->file;
    s->ends[s->n_ended++] = s->n_point_lines;
    s->before = f;
    s->n_bad_before = s->im->n_bad;
    s->file = NULL;
    s->refused = false;
    return 0;
}

static int weblog_take(void *sink, const char *file, struct ts_slice lines, uint64_t *line,
                       struct ts_error *err)
{
    struct weblog_sink *s = sink;
    if (*line == 1) {
        TS_TRY(weblog_file_end(s, err));
        s->file = file;
        col_web_import_begin(s->logs, file);
    }
    TS_TRY(col_web_import_lines(s->logs, lines, err));
    *line = col_web_import_line(s->logs);
    return 0;
}

/* What was counted, and what a reader of the totals will miss. */
static void weblog_report(const struct weblog_sink *s)
{
    struct col_web_import_figures f;
    const struct ts_conf *conf = s->im->args->conf;
    char n[32];
    col_web_import_figures(s->logs, &f);
    tsd_say("%s requests counted", tsd_count_text(f.n_counted, n));
    if (f.n_bots)
        tsd_say("%s requests of programs were dropped (collect_weblog_bots)", tsd_count_text(f.n_bots, n));
    if (f.n_other_domains)
        tsd_say(
            "%s of them count as domain=other: a file has more domains than collect_weblog_domains (%lld)",
            tsd_count_text(f.n_other_domains, n), (long long)ts_conf_int(conf, "collect_weblog_domains"));
    if (f.n_other_paths)
        tsd_say("%s of them count as path=other: they failed with 4xx, or a domain has more paths than "
                "collect_weblog_paths (%lld)",
                tsd_count_text(f.n_other_paths, n), (long long)ts_conf_int(conf, "collect_weblog_paths"));
    if (f.n_none * 2 > f.n_counted)
        tsd_say("%s", COL_WEB_NONE_HINT);
}

static int weblog_finish(void *sink, struct ts_error *err)
{
    struct weblog_sink *s = sink;
    TS_TRY(weblog_file_end(s, err));
    TS_TRY(s->to->finish(s->points, err));
    col_web_import_done(s->logs);
    tsd_progress_clear(&s->im->bar);
    weblog_report(s);
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

int tsd_weblog_import(const struct tsd_args *args)
{
    struct tsd_args files = *args;
    struct tsd_import im = {.args = &files};
    struct ts_error err = {0};
    char *host, *port;
    files.words++; /* behind "weblog-import" */
    files.n_words--;
    if (!files.n_words)
        return tsd_usage(args, "weblog-import: name the logs to read; - is standard input");
    if (tsd_import_listed(&im) != TSD_EXIT_OK)
        return TSD_EXIT_USAGE;
    if (col_server_first(ts_conf_str(args->conf, "collect_server"), &host, &port, &err) < 0)
        return tsd_usage(args, "%s", err.text);
    im.host = host;
    im.port = port;
    im.points_to = tsd_args_has(args, "format") ? &to_print : &tsd_import_tcp;
    int code = tsd_import_files(&im, &to_weblog);
    ts_free(host);
    ts_free(port);
    return code;
}

/* --- the preview --- */

#define TRY_LINES 10u /* shown one by one */

int tsd_weblog_try(const struct tsd_args *args)
{
    struct ts_error err = {0};
    struct ts_buf out;
    int rc = 0, odd = 0;
    if (args->n_words < 2)
        return tsd_usage(args, "weblog-try: name the logs to read; - is standard input");
    for (size_t i = 1; rc >= 0 && i < args->n_words; i++) {
        ts_buf_init(&out, 0);
        rc = col_web_try(args->conf, args->words[i], TRY_LINES, &out, &err);
        odd |= rc > 0;
        if (rc >= 0)
            rc = tsd_print(ts_buf_get(&out), &err);
        ts_buf_release(&out);
    }
    if (rc >= 0)
        rc = tsd_print_end(&err);
    return rc < 0 ? tsd_fail(&err) : odd ? TSD_EXIT_FAILED : TSD_EXIT_OK;
}
