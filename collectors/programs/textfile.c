/*
 * textfile.c - files NAME.prom of a folder, in Prometheus' text format: what scripts and timers leave behind, as for node_exporter's textfile
 * collector.
 *
 * A script should write another name and rename it: a file that is read while it is written is read in part.
 *
 * Threads    the collector's own
 * Not here   the format (exposition.h)
 * Source     github.com/prometheus/node_exporter, "Textfile Collector" of its README: the convention and names of its own metrics
 */
#include "base/log.h"
#include "base/mem.h"
#include "collectors/core/collector.h"
#include "collectors/core/exposition.h"
#include "collectors/core/fields.h"
#include "collectors/core/source.h"

#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

static const struct col_metric metrics[] = {
    {"node_textfile_scrape_error", "", "1",
     "1 if a file could not be read, or had lines that are no samples, else 0.", COL_GAUGE},
    {"node_textfile_mtime_seconds", "file", "s", "When a file was changed last, in seconds since 1970.",
     COL_GAUGE},
    {"*", "", "1", "What the files hold, by their own names; labels are tags.", COL_GAUGE},
    {NULL, NULL, NULL, NULL, COL_GAUGE},
};

/* The collector's state. */
struct textfile {
    const char *root;          /* see source.h */
    char folder[PATH_MAX];     /* as given */
    uint64_t max_samples;      /* of all files */
    struct ts_buf text;        /* of a file */
    struct ts_log_limit limit; /* of complaints */
    struct col_emit *emit;     /* of the read under way */
    uint64_t n_samples;        /* in it so far */
    bool failed;               /* a file of it was wrong */
};

static void textfile_complain(struct textfile *t, const char *name, const char *why)
{
    t->failed = true;
    ts_log_limited(&t->limit, TS_LOG_WARN, "textfile: %s/%s: %s", t->folder, name, why);
}

static int textfile_file(void *arg, const char *name)
{
    struct textfile *t = arg;
    char path[2 * PATH_MAX + NAME_MAX];
    struct stat st;
    struct ts_error err = {0};
    size_t n = strlen(name);
    if (n < 6 || strcmp(name + n - 5, ".prom") != 0 || *name == '.')
        return 0;
    (void)snprintf(path, sizeof(path), "%s%s/%s", t->root, t->folder, name);
    if (stat(path, &st) < 0 || !S_ISREG(st.st_mode))
        return 0;
    if (col_source_read("", path, &t->text, &err) < 0) {
        textfile_complain(t, name, err.text);
        return 0;
    }
    struct col_exposition x = {.emit = t->emit, .max_samples = t->max_samples - t->n_samples};
    col_exposition_read(&x, ts_buf_get(&t->text));
    t->n_samples += x.n_samples;
    if (x.n_bad)
        textfile_complain(t, name, "lines that are no samples");
    if (t->n_samples == t->max_samples && x.n_left_out)
        textfile_complain(t, name, "more samples than collect_scrape_samples");
    col_emit_int(t->emit, metrics[1].name, st.st_mtim.tv_sec, COL_TAGS({"file", ts_slice_str(name)}));
    return 0;
}

static int textfile_read(void *state, struct col_emit *emit, struct ts_error *err)
{
    struct textfile *t = state;
    t->emit = emit;
    t->n_samples = 0;
    t->failed = false;
    int rc = col_source_list(t->root, t->folder, textfile_file, t, err);
    col_emit_int(emit, metrics[0].name, rc < 0 || t->failed, COL_NO_TAGS);
    return rc;
}

static bool textfile_wanted(const struct ts_conf *conf)
{
    return *ts_conf_str(conf, "collect_textfile_dir") != '\0';
}

static int textfile_init(const struct col_ctx *ctx, void **out_state, struct ts_error *err)
{
    const char *folder = ts_conf_str(ctx->conf, "collect_textfile_dir");
    if (!*folder)
        return ts_error_set(err, TS_ENOTFOUND, "collect_textfile_dir is empty");
    if (*folder != '/' || strlen(folder) >= PATH_MAX)
        return ts_error_set(err, TS_EINVAL, "collect_textfile_dir = %s is no path that begins with /",
                            folder);
    struct textfile *t = ts_xcalloc(1, sizeof(*t));
    t->root = ctx->root;
    (void)snprintf(t->folder, sizeof(t->folder), "%s", folder);
    t->max_samples = (uint64_t)ts_conf_int(ctx->conf, "collect_scrape_samples");
    ts_buf_init(&t->text, (size_t)ts_conf_int(ctx->conf, "collect_scrape_bytes"));
    *out_state = t;
    return 0;
}

static void textfile_release(void *state)
{
    struct textfile *t = state;
    ts_buf_release(&t->text);
    ts_free(t);
}

const struct col_collector col_textfile = {
    .name = "textfile",
    .help = "Files *.prom of a folder, in Prometheus' text format (collect_textfile_dir).",
    .metrics = metrics,
    .interval_s = 15,
    .by_request = true,
    .wanted = textfile_wanted,
    .init = textfile_init,
    .read = textfile_read,
    .release = textfile_release,
};
