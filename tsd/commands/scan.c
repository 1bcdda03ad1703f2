/*
 * scan.c - tsd scan and tsd delete: rows of series as OpenTSDB's scan prints them, or lines of import; points deleted on request.
 *
 * Both name series and a range by the words of a query. The owner of a folder may always delete: query_allow_delete is about
 * who may over the network.
 *
 * Threads    the main thread
 * Not here   daemon or folder (answer.c), the form of rows (tsd/format/scan.c), what is deleted (query/execution/delete.c)
 */
#include "base/cut.h"
#include "base/text.h"
#include "storage/versioned.h"
#include "tsd/commands/answer.h"
#include "tsd/commands/hbase.h"
#include "tsd/format/answers.h"

#include <poll.h>
#include <string.h>

#define CHOICE_URI_MAX ((size_t)1 << 20)
#define CHOICE_WAIT_MS 20

/* What was chosen. */
struct choice {
    struct ts_arena arena; /* of spec */
    struct qry_spec spec;  /* the choice */
    struct ts_buf
        uri; /* the same as request parameters; times are fixed, so that two requests mean the same */
};

/* Times of dates and "1h-ago" as numbers. Before 1970 they stay words: parameters know no such numbers. */
static void choice_fix_times(struct choice *c, const struct ts_buf *words)
{
    const char *m = c->spec.start_ms > 0 && words->n ? strstr(words->p, "&m=") : NULL;
    if (!m) {
        ts_buf_slice(&c->uri, (struct ts_slice){words->p, strlen(words->p)});
        return;
    }
    ts_buf_printf(&c->uri, "start=%lldms&end=%lldms%s", (long long)c->spec.start_ms,
                  (long long)c->spec.end_ms, m);
}

/* From the words START [END] AGG ... METRIC [tag=value ...] [AGG ...], --tz, --kinds and --where; without --tz dates are of the zone of the
 * daemon or its configuration. Returns an exit code, the complaint printed; release it in any case. */
static int choice_parse(struct choice *c, const struct tsd_args *args)
{
    const struct qry_param more[] = {{TS_SLICE_LIT("kinds"), tsd_answer_opt(args, "kinds")},
                                     {TS_SLICE_LIT("where"), tsd_answer_opt(args, "where")}};
    struct ts_error err = {0}, no_zone = {0};
    struct ts_buf words;
    int zone_rc = tsd_zone_begin(args, &no_zone); /* wrong words are reported before */
    ts_arena_init(&c->arena, 0);
    ts_buf_init(&c->uri, CHOICE_URI_MAX);
    ts_buf_init(&words, CHOICE_URI_MAX);
    int rc = qry_parse_words(args->words, args->n_words, NULL, tsd_args_get(args, "tz"), NULL, ts_clock_ms(),
                             &c->arena, &c->spec, &words, &err);
    for (size_t i = 0; i < sizeof more / sizeof *more && rc == 0; i++)
        if (more[i].value.p)
            rc = qry_parse_choice(&more[i], 1, &c->arena, &c->spec, &words, &err);
    ts_buf_char(&words, 0);
    if (rc == 0 && words.failed)
        rc = ts_error_set(&err, TS_ELIMIT, "the query is too long");
    if (rc == 0)
        choice_fix_times(c, &words);
    ts_buf_release(&words);
    if (rc < 0)
        return tsd_usage(args, "%s", err.text);
    int code = tsd_client_or_data(args);
    return code == TSD_EXIT_OK && zone_rc < 0 ? tsd_fail(&no_zone) : code;
}

/* For commands that delete: a START that names a day, a month or a year needs an END, since it may mean that
 * time alone or everything since. Prints errors and returns an exit code. */
static int choice_need_end(const struct choice *c, const struct tsd_args *args)
{
    struct ts_error err = {0};
    return qry_delete_need_end(&c->spec, &err) == 0 ? TSD_EXIT_OK : tsd_usage(args, "%s", err.text);
}

/* Release. */
static void choice_release(struct choice *c)
{
    ts_buf_release(&c->uri);
    ts_arena_release(&c->arena);
}

/* --- a folder --- */

/* Delete the targets from first on, and make that durable. */
static int choice_apply(struct sto_store *store, const struct tsd_deleted *d, size_t first,
                        struct ts_error *err)
{
    struct sto_writer *writer = sto_writer(store, 0);
    struct pollfd pfd = {.fd = sto_writer_fd(writer), .events = POLLIN};
    for (size_t i = first; i < d->n; i++) {
        const struct qry_delete_target *x = &d->targets[i];
        int rc;
        TS_TRY(sto_versioned_refuse(store, x->series,
                                    "which this would go past: delete through a running daemon", err));
        while ((rc = sto_delete(writer, x->series, x->from_ms, x->to_ms)) == TS_EBUSY) {
            sto_writer_turn(writer);
            (void)poll(&pfd, 1, CHOICE_WAIT_MS);
        }
        if (rc < 0) {
            (void)sto_writer_error(writer, err);
            return ts_error_wrap(err, "deleted from %zu of %zu series", i, d->n);
        }
    }
    sto_writer_turn(writer);
    return sto_flush(store, STO_LEVEL_DISK, err);
}

/* One delete in a folder. */
struct choice_run {
    struct choice *choice;   /* what */
    struct sto_store *store; /* where */
    bool dry;                /* only count */
};

static int choice_local(void *arg, struct ts_sink *sink, struct ts_error *err)
{
    struct choice_run *r = arg;
    struct tsd_deleted d;
    tsd_deleted_init(&d, &r->choice->spec, r->dry, &r->choice->arena);
    int rc = tsd_deleted_find(&d, r->store, NULL, err);
    for (size_t from = 0, n; rc == 0 && !r->dry && from < d.n; from = n) {
        n = d.n;
        rc = choice_apply(r->store, &d, from, err);
        if (rc == 0) /* summaries, and their summaries: see qry_delete_aged */
            rc = tsd_deleted_find_aged(&d, r->store, from, err);
    }
    if (rc == 0)
        rc = tsd_deleted_print(&d, false, sink, err);
    tsd_deleted_release(&d);
    return rc;
}

/* --- both --- */

/* Delete it, or with dry only count; the summary goes to standard output, or to keep. TS_EINVAL:
 * query_allow_delete is not set. */
static int choice_delete(struct choice *c, struct tsd_answer *a, bool dry, struct ts_buf *keep,
                         struct ts_error *err)
{
    struct ts_buf path;
    if (a->store) {
        struct choice_run r = {c, a->store, dry};
        return tsd_answer_local(a, choice_local, &r, keep, err);
    }
    ts_buf_init(&path, 0);
    ts_buf_str(&path, "/api/delete?");
    ts_buf_slice(&path, ts_buf_get(&c->uri));
    ts_buf_str(&path, "&format=text");
    int rc = tsd_answer_remote(a, dry ? "GET" : "DELETE", ts_buf_get(&path), keep, err);
    ts_buf_release(&path);
    return rc;
}

/* --- tsd scan --- */

const struct ts_opt tsd_scan_opts[] = {
    {.name = "import", .help = "Print lines for tsd import instead of rows."},
    {.name = "delete", .help = "Print lines as --import does, then delete these points."},
    {.name = "format", .arg = "NAME", .help = "rows, import, csv or ndjson (a line of JSON for each row)."},
    {.name = "family",
     .arg = "NAME",
     .help = "What is read: points, hours, days, annotations or histograms."},
    {.name = "keys", .help = "Rows without their points."},
    {.name = "first", .help = "Of each row the first point only."},
    {.name = "where", .arg = "CONDITION", .help = "Only points that meet it, for example 'value > 10'."},
    {.name = "prefix", .arg = "KEY", .help = "Only rows whose key begins so: '[0, 0, 1]' or 000001."},
    {.name = "startkey", .arg = "KEY", .help = "Only rows with this key and higher ones."},
    {.name = "stopkey", .arg = "KEY", .help = "Only rows with lower keys."},
    {.name = "between", .arg = "HH:MM-HH:MM", .help = "Only points between two times of every day."},
    {.name = "sample", .arg = "PART", .help = "A random sample of the rows: 0.01 is a hundredth of them."},
    {.name = "limit", .arg = "N", .help = "The first N rows, and a token to go on behind them."},
    {.name = "after", .arg = "TOKEN", .help = "Go on behind the row that a token names."},
    {.name = "tz",
     .arg = "ZONE",
     .help = "Zone of dates, for example Europe/Berlin. Default: the daemon's key timezone, or UTC."},
    {.name = "hbase", .help = "Read OpenTSDB's tables in HBase, without a daemon."},
    TSD_CLIENT_OPTS,
    {.name = "data", .arg = "DIR", .help = "Read this folder; no daemon may use it."},
    {.name = "config",
     .arg = "FILE",
     .help = "With --data or --hbase: the daemon's configuration, for its keys of storage or HBase."},
    TSD_HBASE_TABLES_OPTS,
    {.name = NULL},
};

/* One scan. */
struct scan_cmd {
    struct choice choice;      /* what */
    struct tsd_answer answer;  /* where */
    struct tsd_scan_opts opts; /* which rows, and how */
    struct ts_buf token;       /* of a page of CSV: the one that follows */
};

static int scan_local(void *arg, struct ts_sink *sink, struct ts_error *err)
{
    struct scan_cmd *s = arg;
    return tsd_scan_run(s->answer.store, &s->choice.spec, &s->opts, NULL, sink, err);
}

/* The options as parameters. */
static void scan_params(const struct tsd_args *args, struct ts_buf *path)
{
    const char *name;
    bool flag;
    for (size_t i = 0; (name = tsd_scan_opt_name(i, &flag)); i++)
        if (tsd_args_has(args, name)) {
            ts_buf_printf(path, "&%s%s", name, flag ? "" : "=");
            if (!flag)
                (void)ts_buf_uri(path, tsd_answer_opt(args, name));
        }
}

static int scan_remote(struct scan_cmd *s, struct ts_error *err)
{
    struct ts_buf path;
    ts_buf_init(&path, 0);
    ts_buf_str(&path, "/api/scan?");
    ts_buf_slice(&path, ts_buf_get(&s->choice.uri));
    scan_params(s->answer.args, &path);
    if (s->opts.form == TSD_SCAN_IMPORT && !tsd_args_has(s->answer.args, "import") &&
        !tsd_args_has(s->answer.args, "format"))
        ts_buf_str(&path, "&import");
    if (tsd_args_has(s->answer.args, "delete"))
        ts_buf_str(&path, "&delete");
    int rc = tsd_answer_remote(&s->answer, "GET", ts_buf_get(&path), NULL, err);
    ts_buf_release(&path);
    return rc;
}

/* Where the token of a page of CSV goes, which is no part of the table. */
static void scan_pages(struct scan_cmd *s)
{
    if (s->opts.form == TSD_SCAN_CSV && s->opts.max_rows)
        s->opts.token = s->answer.after = &s->token;
}

static void scan_say_token(const struct scan_cmd *s)
{
    if (s->token.n)
        tsd_say("there are more rows; --after %.*s goes on behind these", (int)s->token.n, s->token.p);
}

static int scan_hbase(struct scan_cmd *s, const struct tsd_args *args)
{
    struct tsd_hbase_tables tables;
    struct ts_error err = {0};
    s->answer = (struct tsd_answer){.args = args};
    int rc = tsd_hbase_store_open(args, &tables, &s->answer.store, &err);
    if (rc == TS_EINVAL)
        return tsd_usage(args, "%s", err.text);
    if (rc < 0)
        return tsd_fail(&err);
    scan_pages(s);
    rc = tsd_answer_local(&s->answer, scan_local, s, NULL, &err);
    if (rc == 0)
        scan_say_token(s);
    if (rc == 0)
        rc = tsd_answer_end(&s->answer, &err);
    int code = tsd_answer_close(&s->answer, rc, &err);
    tsd_hbase_tables_close(&tables);
    return code;
}

/* The summary goes beside the lines, which may be on their way to a file. */
static int scan_delete(struct scan_cmd *s, struct ts_error *err)
{
    struct ts_buf summary;
    ts_buf_init(&summary, 0);
    TS_TRY(tsd_answer_end(&s->answer, err)); /* what was not written to its end is not deleted */
    int rc = choice_delete(&s->choice, &s->answer, false, &summary, err);
    for (size_t at = 0; rc == 0 && at < summary.n;) {
        const char *nl = memchr(summary.p + at, '\n', summary.n - at);
        size_t n = nl ? (size_t)(nl - summary.p) - at : summary.n - at;
        tsd_say("%.*s", (int)n, summary.p + at);
        at += n + 1;
    }
    ts_buf_release(&summary);
    return rc;
}

/* Read the options; complaints are printed. Returns an exit code. */
static int scan_opts(struct tsd_scan_opts *o, const struct tsd_args *args, bool del)
{
    struct ts_error err = {0};
    const char *name;
    bool flag;
    int rc = 0, n = 0;
    for (size_t i = 0; rc == 0 && (name = tsd_scan_opt_name(i, &flag)); i++)
        if (tsd_args_has(args, name)) {
            rc = tsd_scan_opts_set(o, i, tsd_answer_opt(args, name), &err);
            n += strcmp(name, "import") != 0;
        }
    if (rc == 0)
        rc = tsd_scan_opts_check(o, tsd_args_has(args, "where"), &err);
    if (rc == 0 && del && (n || tsd_args_has(args, "where")))
        rc = ts_error_set(
            &err, TS_EINVAL,
            "--delete takes all points of a range: leave out what chooses among them, and --format");
    if (rc == 0 && del)
        o->form = TSD_SCAN_IMPORT;
    o->deletes = del;
    return rc < 0 ? tsd_usage(args, "%s", err.text) : TSD_EXIT_OK;
}

int tsd_scan_cmd_run(const struct tsd_args *args)
{
    bool del = tsd_args_has(args, "delete"), hbase = tsd_args_has(args, "hbase");
    struct scan_cmd s = {.opts = {.form = TSD_SCAN_ROWS}};
    ts_buf_init(&s.token, 0);
    struct ts_error err = {0};
    if (!hbase && tsd_hbase_option_given(args))
        return tsd_usage(args, "--%s belongs to --hbase", tsd_hbase_option_given(args));
    if (hbase &&
        (del || tsd_args_has(args, "data") || tsd_args_has(args, "host") || tsd_args_has(args, "port")))
        return tsd_usage(args, "--hbase reads the tables without a daemon and without a folder: leave out "
                               "--delete, --data, --host and --port");
    int code = choice_parse(&s.choice, args);
    if (code == TSD_EXIT_OK)
        code = scan_opts(&s.opts, args, del);
    if (code == TSD_EXIT_OK && del)
        code = choice_need_end(&s.choice, args);
    if (code == TSD_EXIT_OK &&
        s.opts.family == TSD_SCAN_DAYS) /* without a daemon, which has a zone of its own */
        ts_tz_set_default(s.choice.spec.tz);
    if (code == TSD_EXIT_OK && hbase)
        code = scan_hbase(&s, args);
    else if (code == TSD_EXIT_OK) {
        int rc = tsd_answer_open(&s.answer, args, del ? TSD_LOCAL_WRITE : TSD_LOCAL_READ, &err);
        scan_pages(&s);
        if (rc == 0)
            rc = s.answer.store ? tsd_answer_local(&s.answer, scan_local, &s, NULL, &err)
                                : scan_remote(&s, &err);
        if (rc == 0)
            scan_say_token(&s);
        if (rc == 0 && del)
            rc = scan_delete(&s, &err);
        if (rc == 0)
            rc = tsd_answer_end(&s.answer, &err);
        code = tsd_answer_close(&s.answer, rc, &err);
    }
    choice_release(&s.choice);
    ts_buf_release(&s.token);
    return code;
}

/* --- tsd delete --- */

const struct ts_opt tsd_delete_opts[] = {
    {.name = "dry-run", .letter = 'n', .help = "Show what would be deleted, and delete nothing."},
    {.name = "kinds",
     .arg = "KINDS",
     .help = "points, rollups, histograms, separated by commas, or all. Default points."},
    {.name = "tz",
     .arg = "ZONE",
     .help = "Zone of dates, for example Europe/Berlin. Default: the daemon's key timezone, or UTC."},
    TSD_ANSWER_OPTS,
    {.name = NULL},
};

int tsd_delete_cmd_run(const struct tsd_args *args)
{
    struct choice c;
    struct tsd_answer a;
    struct ts_error err = {0};
    bool dry = tsd_args_has(args, "dry-run");
    int code = choice_parse(&c, args);
    if (code == TSD_EXIT_OK)
        code = choice_need_end(&c, args);
    if (code == TSD_EXIT_OK) {
        int rc = tsd_answer_open(&a, args, dry ? TSD_LOCAL_READ : TSD_LOCAL_WRITE, &err);
        if (rc == 0)
            rc = choice_delete(&c, &a, dry, NULL, &err);
        if (rc == 0)
            rc = tsd_answer_end(&a, &err);
        code = tsd_answer_close(&a, rc, &err);
    }
    choice_release(&c);
    return code;
}
