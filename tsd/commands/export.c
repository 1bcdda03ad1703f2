/*
 * export.c - tsd export: every point as a line that tsd import takes back.
 *
 * Threads    the main thread
 * Not here   the form of lines (format/lines.c)
 */
#include "base/mem.h"
#include "base/time.h"
#include "tsd/commands/answer.h"
#include "tsd/commands/status.h"
#include "tsd/format/lines.h"

#include <string.h>
#include <unistd.h>

#define EXPORT_COUNT_MS 5000 /* of the request for the number of points */

const struct ts_opt tsd_export_opts[] = {
    TSD_ANSWER_OPTS,
    {.name = "from",
     .arg = "TIME",
     .help =
         "First time, as in tsd query; dates are of the daemon's key timezone. Default: the first point."},
    {.name = "to",
     .arg = "TIME",
     .help = "Last time, inclusive; of a day, month or year, its end. Default: the last point."},
    {.name = NULL},
};

/* METRIC and tag=value words. */
static int export_words(const struct tsd_args *args, struct tsd_lines_spec *spec, struct sto_tag_text *tags)
{
    for (size_t i = 0; i < args->n_words; i++) {
        const char *word = args->words[i], *eq = strchr(word, '=');
        if (i == 0 && !eq) {
            spec->metric = ts_slice_str(word);
        } else if (!eq || eq == word || !eq[1]) {
            return tsd_usage(args, "\"%s\" is neither METRIC nor tag=value", word);
        } else {
            tags[spec->n_tags++] = (struct sto_tag_text){{word, (size_t)(eq - word)}, ts_slice_str(eq + 1)};
        }
    }
    spec->tags = tags;
    if (spec->n_tags && !spec->metric.n)
        return tsd_usage(args, "tags need a METRIC before them");
    return TSD_EXIT_OK;
}

static int export_time(const struct tsd_args *args, const char *name, int64_t *out_ms, struct ts_error *err)
{
    const char *text = tsd_args_get(args, name);
    if (!text)
        return 0;
    return strcmp(name, "to") == 0
               ? ts_time_parse_end(ts_slice_str(text), NULL, ts_clock_ms(), false, out_ms, err)
               : ts_time_parse(ts_slice_str(text), NULL, ts_clock_ms(), false, out_ms, NULL, err);
}

/* One export. */
struct export_run {
    struct tsd_answer answer;    /* daemon or folder */
    struct tsd_lines_spec *spec; /* what is wanted */
    struct ts_sink *sink;        /* --data: where lines go */
    struct tsd_progress bar;     /* on standard error */
};

/* Points of files and memstores, of the figures of a folder. */
static void export_figure(void *arg, const char *name, uint64_t value)
{
    uint64_t *n = arg;
    if (strcmp(name, "files.points") == 0 || strcmp(name, "memstore.points") == 0)
        *n += value;
}

/* About how many lines there will be; 0 = unknown. Rollups and buckets of histograms count as points, so this is a guess where there are any. */
static uint64_t export_all(const struct export_run *r)
{
    const struct tsd_lines_spec *spec = r->spec;
    struct ts_error err = {0};
    uint64_t n = 0;
    double points = 0;
    json_t *root;
    if (tsd_lines_star(spec) || spec->n_tags || spec->from_ms != STO_MIN_TS_MS ||
        spec->to_ms != STO_MAX_TS_MS)
        return 0;
    if (r->answer.store) {
        if (!spec->metric.n)
            sto_stats(r->answer.store, export_figure, &n);
        return n;
    }
    struct ts_buf path;
    ts_buf_init(&path, 0);
    (void)ts_buf_str(&path, spec->metric.n ? "/api/tsd/metric?metric=" : "/api/tsd/status");
    ts_buf_uri(&path, spec->metric);
    (void)ts_buf_char(&path, 0);
    if (tsd_client_json(r->answer.args, path.p, EXPORT_COUNT_MS, &root, &err) == 0) {
        if (!json_is_object(json_object_get(root, "remote"))) /* it may have points that are not here */
            points = tsd_status_num(root, spec->metric.n ? "points" : "totals.points", 0);
        json_decref(root);
    }
    ts_buf_release(&path);
    return points > 0 ? (uint64_t)points : 0;
}

/* Show the progress where nothing else is drawn: lines go to a file or another program. */
static void export_begin(struct export_run *r)
{
    tsd_progress_begin(&r->bar, 0);
    r->bar.on &= !isatty(STDOUT_FILENO);
    if (!r->bar.on)
        return;
    r->bar.all_bytes = export_all(r);
    r->answer.bar = &r->bar;
}

/* Remove it, and say how much it was. */
static void export_end(struct export_run *r, int rc)
{
    char count[32], rate[32];
    double s = tsd_progress_s(&r->bar);
    tsd_progress_clear(&r->bar);
    if (r->bar.on && rc == 0)
        tsd_say("%s lines in %.2f s (%s lines/s)", tsd_count_text(r->bar.n_points, count), s,
                tsd_count_text(s > 0 ? (uint64_t)((double)r->bar.n_points / s) : 0, rate));
}

static int export_emit(void *arg, struct ts_slice text, struct ts_error *err)
{
    struct export_run *r = arg;
    return ts_sink_write(r->sink, text, err);
}

static int export_local(void *arg, struct ts_sink *sink, struct ts_error *err)
{
    struct export_run *r = arg;
    r->sink = sink;
    return tsd_lines_export(r->answer.store, r->spec, NULL, export_emit, r, NULL, err);
}

/* The daemon does the same and sends the lines. */
static int export_remote(struct export_run *r, struct ts_error *err)
{
    const struct tsd_lines_spec *spec = r->spec;
    struct ts_buf path;
    ts_buf_init(&path, 0);
    ts_buf_printf(&path, "/api/export?from=%lldms&to=%lldms", (long long)spec->from_ms,
                  (long long)spec->to_ms);
    if (spec->metric.n) {
        ts_buf_str(&path, "&metric=");
        ts_buf_uri(&path, spec->metric);
    }
    for (size_t i = 0; i < spec->n_tags; i++) {
        ts_buf_str(&path, "&tag=");
        ts_buf_uri(&path, spec->tags[i].k);
        ts_buf_str(&path, "%3D");
        ts_buf_uri(&path, spec->tags[i].v);
    }
    int rc = tsd_answer_remote(&r->answer, "GET", ts_buf_get(&path), NULL, err);
    ts_buf_release(&path);
    return rc;
}

static int export_run(const struct tsd_args *args, struct export_run *r)
{
    struct ts_error err = {0};
    int rc = tsd_answer_open(&r->answer, args, TSD_LOCAL_READ, &err);
    if (rc == 0)
        export_begin(r);
    if (rc == 0)
        rc = r->answer.store ? tsd_answer_local(&r->answer, export_local, r, NULL, &err)
                             : export_remote(r, &err);
    if (rc == 0)
        rc = tsd_answer_end(&r->answer, &err);
    export_end(r, rc);
    return tsd_answer_close(&r->answer, rc, &err);
}

int tsd_export_run(const struct tsd_args *args)
{
    struct tsd_lines_spec spec = {.from_ms = STO_MIN_TS_MS, .to_ms = STO_MAX_TS_MS};
    struct ts_error err = {0}, no_zone = {0};
    int zone_rc = 0;
    struct sto_tag_text *tags = ts_xcalloc(args->n_words + 1, sizeof(*tags));
    int code = export_words(args, &spec, tags);
    if (code == TSD_EXIT_OK)
        code = tsd_client_or_data(args);
    if (code == TSD_EXIT_OK && (tsd_args_has(args, "from") || tsd_args_has(args, "to")))
        zone_rc = tsd_zone_begin(args, &no_zone); /* wrong words are reported before */
    if (code == TSD_EXIT_OK && (export_time(args, "from", &spec.from_ms, &err) < 0 ||
                                export_time(args, "to", &spec.to_ms, &err) < 0))
        code = tsd_usage(args, "%s", err.text);
    if (code == TSD_EXIT_OK && spec.from_ms > spec.to_ms)
        code = tsd_usage(args, "--from is later than --to");
    if (code == TSD_EXIT_OK && zone_rc < 0)
        code = tsd_fail(&no_zone);
    if (code == TSD_EXIT_OK) {
        struct export_run r = {.spec = &spec};
        code = export_run(args, &r);
    }
    ts_free(tags);
    return code;
}
