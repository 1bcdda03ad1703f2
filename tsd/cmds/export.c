/*
 * export.c - tsd export: every point as a line that tsd import takes back.
 *
 * Threads    the main thread
 * Not here   the form of lines (out/lines.c)
 */
#include "base/mem.h"
#include "base/time.h"
#include "tsd/cmds/client.h"
#include "tsd/cmds/local.h"
#include "tsd/out/lines.h"

#include <string.h>

const struct ts_opt tsd_export_opts[] = {
    {.name = "data", .arg = "DIR", .help = "Read this folder; no daemon may use it."},
    {.name = "host", .arg = "HOST", .help = "The daemon's host. Default 127.0.0.1."},
    {.name = "port", .letter = 'p', .arg = "PORT", .help = "The daemon's port. Default 4242, or TSD_PORT."},
    {.name = "config",
     .arg = "FILE",
     .help = "With --data: the daemon's configuration, for its storage keys."},
    {.name = "from", .arg = "TIME", .help = "First time, as in tsd query. Default: the first point."},
    {.name = "to",
     .arg = "TIME",
     .help = "Last time, inclusive; a date means its first moment. Default: the last point."},
    {.name = NULL},
};

static int export_sink(void *arg, struct ts_slice text, struct ts_error *err)
{
    (void)arg;
    return tsd_print(text, err);
}

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
        return tsd_usage(args, "tags need the METRIC in front");
    return TSD_EXIT_OK;
}

static int export_time(const struct tsd_args *args, const char *name, int64_t *out_ms, struct ts_error *err)
{
    const char *text = tsd_args_get(args, name);
    return text ? ts_time_parse(ts_slice_str(text), NULL, ts_clock_ms(), false, out_ms, NULL, err) : 0;
}

static int export_local(const struct tsd_args *args, const struct tsd_lines_spec *spec, struct ts_error *err)
{
    struct sto_store *st;
    struct ts_error close_err = {0};
    TS_TRY(tsd_local_open(args, TSD_LOCAL_READ, &st, NULL, err));
    int rc = tsd_lines_export(st, spec, export_sink, NULL, NULL, err);
    if (rc == 0)
        rc = tsd_print_end(err);
    int close_rc = sto_close(st, &close_err);
    if (rc == 0 && close_rc < 0) {
        *err = close_err;
        rc = close_rc;
    }
    return rc;
}

/* The daemon does the same and sends the lines. */
static int export_remote(const struct tsd_args *args, const struct tsd_lines_spec *spec, struct ts_error *err)
{
    struct ts_buf path;
    struct tsd_client_reply reply;
    ts_buf_init(&path, 0);
    ts_buf_printf(&path, "/api/export?from=%lldms&to=%lldms", (long long)spec->from_ms,
                  (long long)spec->to_ms);
    if (spec->metric.n) {
        ts_buf_str(&path, "&metric=");
        tsd_client_escape(spec->metric, &path);
    }
    for (size_t i = 0; i < spec->n_tags; i++) {
        ts_buf_str(&path, "&tag=");
        tsd_client_escape(spec->tags[i].k, &path);
        ts_buf_str(&path, "%3D");
        tsd_client_escape(spec->tags[i].v, &path);
    }
    ts_buf_char(&path, '\0');
    struct tsd_client_req req = {.method = "GET", .path = path.p, .sink = export_sink};
    int rc = tsd_client_ask(args, &req, &reply, err);
    if (rc == 0)
        rc = tsd_print_end(err);
    ts_buf_release(&reply.body);
    ts_buf_release(&path);
    return rc;
}

int tsd_export_run(const struct tsd_args *args)
{
    struct tsd_lines_spec spec = {.from_ms = STO_MIN_TS_MS, .to_ms = STO_MAX_TS_MS};
    struct ts_error err = {0};
    struct sto_tag_text *tags = ts_xcalloc(args->n_words + 1, sizeof(*tags));
    int code = export_words(args, &spec, tags);
    if (code == TSD_EXIT_OK && (export_time(args, "from", &spec.from_ms, &err) < 0 ||
                                export_time(args, "to", &spec.to_ms, &err) < 0))
        code = tsd_usage(args, "%s", err.text);
    if (code == TSD_EXIT_OK && spec.from_ms > spec.to_ms)
        code = tsd_usage(args, "--from is later than --to");
    if (code == TSD_EXIT_OK) {
        int rc =
            tsd_args_has(args, "data") ? export_local(args, &spec, &err) : export_remote(args, &spec, &err);
        code = rc < 0 ? tsd_fail(&err) : TSD_EXIT_OK;
    }
    ts_free(tags);
    return code;
}
