/*
 * query.c - tsd query: words to a request, the answer to standard output or a picture.
 *
 * The daemon or, with --data, this program formats the answer; both use tsd/out.
 *
 * Threads    the main thread; with --data a pool for the query
 * Not here   what a query means (query/), encoders (out/), pictures (plot.c, plotterm.c)
 */
#include "base/mem.h"
#include "query/aggregators/agg.h"
#include "query/breakdowns/breakdown.h"
#include "query/query.h"
#include "tsd/commands/answer.h"
#include "tsd/commands/csvread.h"
#include "tsd/commands/plot.h"
#include "tsd/commands/terminal.h"
#include "tsd/format/answers.h"
#include "tsd/meta/kind.h"
#include "tsd/format/out.h"

#include <stdio.h>
#include <string.h>

const struct ts_opt tsd_query_opts[] = {
    {.name = "by",
     .arg = "KEYS",
     .help = "Totals by " QRY_BREAKDOWN_LIST
             "any duration (10m) and tag keys, separated by commas. May be given several times."},
    {.name = "tz",
     .arg = "ZONE",
     .help = "Zone of dates, days and hours, for example Europe/Berlin. Default: the key timezone, or UTC."},
    {.name = "fill",
     .arg = "zero|null",
     .help = "With --by: a row of 0, or without a value, for a cell without points."},
    {.name = "top",
     .arg = "N",
     .help = "Only the N series with the highest rank, highest first. With --by: the N combinations of tag "
             "values with the highest total; if --columns names a tag, the N rows of the other tags, or N "
             "columns if there are none."},
    {.name = "bottom", .arg = "N", .help = "The same with the lowest rank."},
    {.name = "rank",
     .arg = "avg|max|min|sum|last|count",
     .help = "What --top and --bottom rank series by. Default avg."},
    {.name = "others", .help = "With --by and --top or --bottom: add the rest as one row, (others)."},
    {.name = "sort",
     .arg = "time|name|value",
     .help = "With --by: order of rows. Default time, or value if --top is given and --by names no time."},
    {.name = "compare",
     .arg = "1w",
     .help = "With --by: show beside each value the one so long before (1d, 2weeks, 1month), the difference "
             "and the ratio."},
    {.name = "columns",
     .arg = "KEY",
     .help = "With --by: a column for each value of this key of --by (a tag, weekday or hourofday)."},
    {.name = "partial",
     .help = "With --by and CSV: add a last column that says whether the range covers only a part of the "
             "row's interval. Text marks such rows with *."},
    {.name = "where", .arg = "COND", .help = "Only points like value>10 or 'value>=0,value!=99'."},
    {.name = "thin",
     .arg = "N",
     .help = "Of each series only the points that a line N pixels wide needs: the first, lowest, highest and "
             "last one "
             "of N equal parts of the range (1 to 10000). JSON also has figures of all points."},
    {.name = "as-of",
     .arg = "TIME",
     .help = "The points as they were at this time, of metrics that keep versions (tsd help versions)."},
    {.name = "versions",
     .help = "All values that were written to each time and are kept, with the times of writing (AGG none; "
             "formats "
             "text, csv, json)."},
    {.name = "figures",
     .help = "With JSON: count, min, max, avg, sum, first and last of each series' points."},
    {.name = "max-series", .arg = "N", .help = "Only the first N series."},
    {.name = "format", .letter = 'f', .arg = TSD_OUT_NAMES, .help = "Form of the answer. Default text."},
    {.name = "times",
     .arg = "iso|epoch",
     .help = "Form of times in text and CSV: ISO 8601 in the zone of --tz (default of text), or numbers."},
    {.name = "ms",
     .help = "Keep points of one second apart, and print milliseconds in CSV and JSON. Otherwise AGG "
             "combines them into one."},
    {.name = "plot",
     .arg = "FILE.png|FILE.svg|-",
     .help = "Draw the answer into this file with gnuplot; nothing is printed unless --format is given too. "
             "With -: draw it with characters on the terminal."},
    {.name = "explain",
     .help = "Estimate the cost without running the query: series, files, rows, bytes, limits."},
    TSD_PARTIAL_OPT,
    TSD_ANSWER_OPTS,
    {.name = NULL},
};

#define QUERY_PARAM_MAX   ((size_t)1 << 20)
#define QUERY_PLOT_MAX    ((size_t)256 << 20) /* an answer that is kept whole: for a picture or a table */
#define QUERY_PLOT_BARS   200                 /* of counts, in a file */
#define QUERY_PLOT_VALUES ((size_t)10 << 20)  /* numbers of a thinned answer */

/* One question. */
struct query_run {
    const struct tsd_args *args; /* of the command */
    struct ts_arena arena;       /* of spec */
    const char *by;              /* keys of all --by; NULL: no totals */
    struct qry_spec spec;        /* the query */
    struct ts_buf uri;           /* the same as request parameters */
    struct ts_buf left_out;      /* what the answer lacks, in words */
    struct tsd_answer answer;    /* daemon or folder, and where the answer goes */
    const char *format;          /* of the part of the current answer */
    bool kept;                   /* it is read by this program, not printed */
    bool table;                  /* it becomes a table for people */
    bool empty;                  /* the table has no rows */
    size_t thin;                 /* columns of an answer in JSON for a picture; 0: none */
};

/* --- running the query --- */

static int query_remote(struct query_run *r, const char *format, struct ts_buf *keep, struct ts_error *err)
{
    struct ts_buf path;
    ts_buf_init(&path, QUERY_PARAM_MAX);
    ts_buf_str(&path, tsd_args_has(r->args, "explain") ? "/api/query/explain?" : "/api/query?");
    ts_buf_slice(&path, ts_buf_get(&r->uri));
    ts_buf_printf(&path, "&format=%s", format);
    if (keep && !r->spec.by_on) /* for a picture */
        ts_buf_str(&path, "&times=epoch&arrays=true");
    if (r->thin)
        ts_buf_printf(&path, "&thin=%zu", r->thin);
    if (keep && r->spec.by_on)
        ts_buf_str(&path, r->table ? "&partial=mark" : "&partial=column");
    int rc = path.failed ? ts_error_set(err, TS_ELIMIT, "the query is too long")
                         : tsd_answer_remote(&r->answer, "GET", ts_buf_get(&path), keep, err);
    ts_buf_release(&path);
    return rc;
}

static int query_local(void *arg, struct ts_sink *sink, struct ts_error *err)
{
    struct query_run *r = arg;
    struct tsd_out out;
    struct qry_limit limit = {.max_points = 0};
    if (tsd_args_has(r->args, "explain"))
        return tsd_explain_run(r->answer.store, &r->spec, NULL, 0, strcmp(r->format, "json") == 0, sink, err);
    struct qry_spec spec = r->spec;
    spec.subs = ts_arena_alloc(&r->arena, spec.n_subs * sizeof(*spec.subs));
    memcpy(spec.subs, r->spec.subs, spec.n_subs * sizeof(*spec.subs));
    tsd_kinds_apply(r->answer.store, &spec, NULL);
    if (r->kept && !spec.by_on) /* for a picture */
        spec.times = QRY_TIMES_EPOCH;
    spec.arrays = r->kept;
    spec.thin = r->thin ? r->thin : spec.thin;
    if (r->kept && spec.by_on)
        spec.partial = r->table ? QRY_PARTIAL_MARK : QRY_PARTIAL_COLUMN;
    tsd_out_init(&out, tsd_out_find(ts_slice_str(r->format)), &spec, sink);
    int rc = tsd_out_run(&out, r->answer.store, r->answer.pool, &limit, err);
    tsd_out_release(&out);
    qry_left_out_say(&limit.left_out, &r->left_out);
    return rc;
}

static int query_send(struct query_run *r, const char *format, struct ts_buf *keep, struct ts_error *err)
{
    ts_buf_clear(&r->left_out);
    r->format = format;
    r->kept = keep != NULL;
    return r->answer.store ? tsd_answer_local(&r->answer, query_local, r, keep, err)
                           : query_remote(r, format, keep, err);
}

/* --- answering --- */

/* Totals for people: a table. */
static int query_table(struct query_run *r, struct ts_error *err)
{
    struct ts_buf csv, table;
    ts_buf_init(&csv, QUERY_PLOT_MAX);
    ts_buf_init(&table, 0);
    r->table = true;
    int rc = query_send(r, "csv", &csv, err);
    r->table = false;
    if (rc == 0) {
        enum qry_time_column times[QRY_MAX_TIME_COLUMNS];
        size_t n_keys =
            qry_time_columns(&r->spec.by_time, times) + r->spec.n_by_tags - (r->spec.columns.n > 0);
        const char *header_end = csv.n ? memchr(csv.p, '\n', csv.n) : NULL;
        r->empty = !header_end || header_end + 1 == csv.p + csv.n;
        tsd_csv_table(ts_buf_get(&csv), n_keys, &table);
        ts_buf_clear(&csv);
        tsd_term_table(&csv, ts_buf_get(&table));
        rc = tsd_print(ts_buf_get(&csv), err);
    }
    ts_buf_release(&csv);
    ts_buf_release(&table);
    return rc;
}

/* Are all values sums or counts? */
static bool query_sums(const struct qry_spec *spec)
{
    size_t n = 0;
    for (size_t s = 0; s < spec->n_subs; s++)
        n += spec->subs[s].agg->additive;
    return spec->by_on && n == spec->n_subs;
}

/* Sums and counts of parts may be added up; averages and percentiles may not, nor what stands side by side. */
static bool query_additive(const struct qry_spec *spec)
{
    return spec->n_subs == 1 && !spec->compare_n && query_sums(spec);
}

/* What is known of a metric of a sub query. */
struct query_metric {
    char unit[QRY_UNIT_BYTES]; /* empty: unknown */
    bool count;                /* its points are numbers of events */
};

/* Unit and kind of a metric as the daemon or the folder knows them. */
static struct query_metric query_metric(struct query_run *r, struct ts_slice metric)
{
    struct query_metric out = {.count = false};
    struct ts_error err = {0};
    struct ts_buf path, answer;
    json_t *root = NULL;
    if (r->answer.store) {
        struct tsd_metric_info info;
        tsd_metric_look(r->answer.store, metric, &info);
        memcpy(out.unit, info.unit, sizeof(info.unit));
        out.count = info.kind == TSD_KIND_COUNT;
        return out;
    }
    ts_buf_init(&path, QUERY_PARAM_MAX);
    ts_buf_init(&answer, QUERY_PARAM_MAX);
    ts_buf_str(&path, "/api/metric?metric=");
    ts_buf_uri(&path, metric);
    if (tsd_answer_remote(&r->answer, "GET", ts_buf_get(&path), &answer, &err) == 0 &&
        ts_json_load(ts_buf_get(&answer), &root, &err) == 0) {
        const char *unit = json_string_value(json_object_get(root, "unit")),
                   *kind = json_string_value(json_object_get(root, "kind"));
        (void)snprintf(out.unit, sizeof(out.unit), "%s", unit ? unit : "");
        out.count = kind && strcmp(kind, "count") == 0;
        json_decref(root);
    }
    ts_buf_release(&path);
    ts_buf_release(&answer);
    return out;
}

/* What the axis of values is labelled with: the unit, if all that is drawn has the same. Returns whether all values are numbers of
 * events that add up. */
static bool query_plot_metrics(struct query_run *r, struct tsd_plot *plot)
{
    bool same = true, counts = !r->spec.by_on;
    char first[QRY_UNIT_BYTES] = "";
    for (size_t i = 0; i < r->spec.n_subs; i++) {
        const struct qry_sub *sub = &r->spec.subs[i];
        struct query_metric m = query_metric(r, sub->metric);
        const struct qry_downsample *ds = &sub->downsample;
        if (sub->agg->no_unit)
            m.unit[0] = 0;
        if (i == 0)
            memcpy(first, m.unit, sizeof(first));
        same &= m.unit[0] && strcmp(first, m.unit) == 0 && sub->rate.on == r->spec.subs[0].rate.on;
        counts &=
            m.count && !sub->rate.on && (sub->agg->additive || sub->none) && (!ds->on || ds->fn->additive);
    }
    if (same)
        (void)snprintf(plot->unit, sizeof(plot->unit), "%s%s", first, r->spec.subs[0].rate.on ? "/s" : "");
    return counts;
}

/* "sum of web.hits, max of web.bytes by day, beside 1w before"; the zone stands at the axis of time if there is one. */
static void query_plot_title(const struct query_run *r, struct tsd_plot *plot)
{
    static const char *const units[] = {"ms", "s", "m", "h", "d", "w", "n", "y"};
    const char *by = r->by, *tz = tsd_args_get(r->args, "tz");
    struct ts_buf title;
    ts_buf_init(&title, 0);
    for (size_t i = 0; i < r->spec.n_subs && title.n < sizeof(plot->title) / 2; i++) {
        struct ts_slice metric = ts_utf8_cut(r->spec.subs[i].metric, 80);
        ts_buf_printf(&title, "%s%s of %.*s", i ? ", " : "", r->spec.subs[i].agg->name, (int)metric.n,
                      metric.p);
    }
    if (by)
        ts_buf_printf(&title, *by ? " by %s" : " in all%s", by);
    else if (plot->by_time.n)
        ts_buf_printf(&title, " per %lld%s", (long long)plot->by_time.n, units[plot->by_time.unit]);
    if (tz && plot->axis == TSD_PLOT_NAMES)
        ts_buf_printf(&title, ", %s", tz);
    if (r->spec.compare_n)
        ts_buf_printf(&title, ", beside %.*s before", (int)r->spec.compare_text.n, r->spec.compare_text.p);
    if (plot->n_left_out)
        ts_buf_printf(&title, " (the largest %zu of %zu)", plot->n_shown, plot->n_shown + plot->n_left_out);
    struct ts_slice cut = ts_utf8_cut(ts_buf_get(&title), sizeof(plot->title) - 1);
    memcpy(plot->title, cut.p, cut.n);
    plot->title[cut.n] = 0;
    ts_buf_release(&title);
}

/* Get the answer and read it. Lines on a terminal need few points, and figures of all; counts are added up here. */
static int query_plot_read(struct query_run *r, struct tsd_plot *plot, size_t thin, struct ts_error *err)
{
    struct ts_buf answer;
    struct qry_spec spec = r->spec;
    const char *format = r->by ? "csv" : thin ? "json" : "text";
    ts_buf_init(&answer, QUERY_PLOT_MAX);
    spec.partial = QRY_PARTIAL_COLUMN; /* as query_send does */
    tsd_plot_requested(plot, &spec);
    r->thin = thin;
    int rc = query_send(r, format, &answer, err);
    r->thin = 0;
    if (rc == 0 && r->by)
        rc = tsd_plot_read_csv(plot, ts_buf_get(&answer), &spec, err);
    else if (rc == 0 && thin)
        rc = tsd_plot_read_json(plot, ts_buf_get(&answer), spec.ms, (int64_t)thin, err);
    else if (rc == 0)
        rc = tsd_plot_read_text(plot, ts_buf_get(&answer), err);
    ts_buf_release(&answer);
    return rc;
}

static int query_plot_show(const struct tsd_plot *plot, const struct tsd_terminal *t, struct ts_error *err)
{
    struct ts_buf text;
    TS_TRY(tsd_plot_any(plot, err));
    ts_buf_init(&text, 0);
    tsd_plot_terminal(plot, t, &text);
    int rc = text.failed ? ts_error_set(err, TS_ENOMEM, "no memory for the picture")
                         : tsd_print_all(ts_buf_get(&text), err);
    ts_buf_release(&text);
    return rc;
}

static int query_plot(struct query_run *r, const char *path, struct ts_error *err)
{
    struct tsd_plot plot = {.additive = query_additive(&r->spec), .sums = query_sums(&r->spec)};
    struct tsd_terminal t = {.is_tty = false};
    bool terminal = strcmp(path, "-") == 0, counts = query_plot_metrics(r, &plot);
    bool bars = counts && r->spec.n_subs == 1;
    if (terminal)
        tsd_terminal_look(&t);
    ts_json_set_max_values(QUERY_PLOT_VALUES);
    plot.sums |= counts;
    int rc = query_plot_read(r, &plot, terminal && !r->by && !bars ? 2 * t.width : 0, err);
    if (rc == 0) {
        if (bars)
            tsd_plot_count(&plot, terminal ? t.width / 2 : QUERY_PLOT_BARS, &r->spec.subs[0].downsample);
        tsd_plot_trim(&plot);
        (void)tsd_plot_kind(path, &plot.svg, NULL); /* checked before */
        query_plot_title(r, &plot);
        rc = terminal ? query_plot_show(&plot, &t, err) : tsd_plot_draw(&plot, path, err);
    }
    tsd_plot_release(&plot);
    return rc;
}

/* Say why the answer is empty, with times of the zone of the daemon. */
static void query_hint(struct query_run *r)
{
    const struct tsd_args *args = r->args;
    struct qry_spec at = r->spec;
    struct ts_buf uri;
    ts_buf_init(&uri, QUERY_PARAM_MAX);
    if (!r->answer.store && !tsd_args_has(args, "tz") && tsd_zone_begin(args, NULL) == 0 &&
        qry_parse_words(args->words, args->n_words, r->by, NULL, tsd_args_get(args, "fill"), ts_clock_ms(),
                        &r->arena, &at, &uri, NULL) == 0) {
        r->spec.tz = at.tz;
        r->spec.start_ms = at.start_ms;
        r->spec.end_ms = at.end_ms;
    }
    tsd_hint_empty(&r->answer, &r->spec);
    ts_buf_release(&uri);
}

static int query_answer(struct query_run *r, struct ts_error *err)
{
    const char *plot = tsd_args_get(r->args, "plot"), *format = tsd_args_get(r->args, "format");
    bool explain = tsd_args_has(r->args, "explain");
    if (plot)
        TS_TRY(query_plot(r, plot, err));
    if (plot && !format)
        return 0;
    if (r->spec.by_on && !explain && (!format || strcmp(format, "text") == 0))
        TS_TRY(query_table(r, err));
    else
        TS_TRY(query_send(r, format ? format : "text", NULL, err));
    TS_TRY(tsd_answer_end(&r->answer, err));
    unsigned n_heads = !format                           ? 0
                       : strncmp(format, "csv", 3) == 0  ? 1
                       : strcmp(format, "markdown") == 0 ? 2
                                                         : 0;                 /* lines above the rows */
    bool printed = !r->spec.by_on || (format && strcmp(format, "text") != 0); /* as it came */
    r->empty |= !explain && printed && (n_heads ? r->answer.n_lines <= n_heads : r->answer.n_bytes <= 2);
    if (r->empty)
        query_hint(r);
    return 0;
}

/* --- the command --- */

static int query_run(struct query_run *r)
{
    struct ts_error err = {0};
    int rc = tsd_answer_open(&r->answer, r->args, TSD_LOCAL_READ, &err);
    ts_buf_init(&r->left_out, 0);
    r->answer.left_out = &r->left_out;
    if (rc == 0)
        rc = query_answer(r, &err);
    if (rc == 0 && r->left_out.n)
        tsd_say("%.*s", (int)r->left_out.n, r->left_out.p);
    ts_buf_release(&r->left_out);
    if ((rc == TS_EINVAL || rc == TS_ENOTFOUND) && tsd_hint_by(&r->answer, &r->spec).n) {
        (void)tsd_answer_close(&r->answer, 0, NULL);
        return tsd_usage(r->args, "--by takes " QRY_BREAKDOWN_LIST "durations such as 10m, and tag keys: %s",
                         err.text);
    }
    return tsd_answer_close(&r->answer, rc, &err);
}

/* Options that contradict each other; TSD_EXIT_OK if none do. */
static int query_check(const struct tsd_args *args)
{
    bool explain = tsd_args_has(args, "explain"), versions = tsd_args_has(args, "versions");
    if (versions && tsd_args_has(args, "plot"))
        return tsd_usage(args, "--versions lists what was written, which is no graph: leave --plot out");
    const char *format = tsd_args_get(args, "format");
    if (versions && format && strcmp(format, "text") != 0 && strcmp(format, "csv") != 0 &&
        strcmp(format, "json") != 0)
        return tsd_usage(args, "--versions has the formats text, csv and json, not \"%s\"", format);
    if (!tsd_answer_format(args, explain ? "text|json" : TSD_OUT_NAMES, "text"))
        return TSD_EXIT_USAGE;
    if (explain && tsd_args_has(args, "plot"))
        return tsd_usage(args, "--explain reads no points, so there is nothing to --plot");
    const char *plot = tsd_args_get(args, "plot");
    struct ts_error err = {0};
    bool svg;
    if (plot && tsd_plot_kind(plot, &svg, &err) < 0)
        return tsd_usage(args, "%s", err.text);
    if (plot && strcmp(plot, "-") == 0 && tsd_args_has(args, "format"))
        return tsd_usage(args, "--plot - and --format both use standard output: give the picture a file");
    if (tsd_args_has(args, "fill") && !tsd_args_has(args, "by"))
        return tsd_usage(args, "--fill fills rows of --by; downsampling has its own fill policies");
    const char *fill = tsd_args_get(args, "fill");
    if (fill && strcasecmp(fill, "zero") != 0 && strcasecmp(fill, "null") != 0)
        return tsd_usage(
            args, "--fill must be zero or null, not \"%s\"; without it cells without points are left out",
            fill);
    return tsd_client_or_data(args);
}

/* --top and its like as parameters. */
static int query_choice(struct query_run *r, struct ts_error *err)
{
    struct qry_param params[QRY_MAX_CHOICES];
    size_t n = 0;
    for (size_t i = 0; qry_choice_names[i]; i++) {
        const char *name = qry_choice_names[i];
        const char *value = tsd_args_get(r->args, strcmp(name, "max_series") == 0 ? "max-series"
                                                  : strcmp(name, "as_of") == 0    ? "as-of"
                                                                                  : name);
        if (value && strcmp(name, "partial") == 0)
            value = "column";
        if (value)
            params[n++] = (struct qry_param){ts_slice_str(name), ts_slice_str(value)};
    }
    r->spec.ms = tsd_args_has(r->args, "ms");
    if (r->spec.ms)
        ts_buf_str(&r->uri, "&ms=true");
    if (tsd_args_has(r->args, "allow-partial"))
        ts_buf_str(&r->uri, "&allow_partial=true");
    TS_TRY(qry_parse_choice(params, n, &r->arena, &r->spec, &r->uri, err));
    return qry_spec_check_choice(&r->spec, err);
}

/* Keys of --by, which may stand several times; NULL: not given. */
static const char *query_keys(const struct tsd_args *args, struct ts_arena *arena)
{
    struct ts_buf keys;
    bool given = false;
    ts_buf_init(&keys, QUERY_PARAM_MAX);
    for (unsigned i = 0; i < args->n_uses; i++) {
        if (!args->uses[i].name || strcmp(args->uses[i].name, "by") != 0)
            continue;
        ts_buf_str(&keys, keys.n ? "," : "");
        ts_buf_str(&keys, args->uses[i].value ? args->uses[i].value : "");
        given = true;
    }
    const char *all = given ? ts_arena_strndup(arena, keys.p ? keys.p : "", keys.n) : NULL;
    ts_buf_release(&keys);
    return all;
}

/* The words as a query. The zone of the store counts for what is left out, and that of the daemon for the labels of a picture. */
static int query_words(struct query_run *r, struct ts_error *err)
{
    const struct tsd_args *args = r->args;
    if (tsd_args_has(args, "data"))
        TS_TRY(tsd_zone_of_store(args, err));
    else if (tsd_args_has(args, "plot"))
        (void)tsd_zone_begin(args, NULL); /* a daemon that does not answer is an error of the query */
    return tsd_zone_words(args, r->by, &r->arena, &r->spec, &r->uri, err);
}

int tsd_query_run(const struct tsd_args *args)
{
    struct query_run r = {.args = args};
    struct ts_error err = {0};
    int code = query_check(args);
    if (code != TSD_EXIT_OK)
        return code;
    ts_arena_init(&r.arena, 0);
    ts_buf_init(&r.uri, QUERY_PARAM_MAX);
    r.by = query_keys(args, &r.arena);
    if (query_words(&r, &err) < 0 || query_choice(&r, &err) < 0)
        code = tsd_usage(args, "%s", err.text);
    else
        code = query_run(&r);
    ts_buf_release(&r.uri);
    ts_arena_release(&r.arena);
    return code;
}
