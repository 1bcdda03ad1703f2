/*
 * websim_import.c - the import of logs, before they are followed and beside it, killed now and then.
 *
 * Only logs of lines of their own are imported: two files with the same first request put their points at the same times, as they should.
 */
#include "tests/sim/websim.h"

#include <string.h>
#include <unistd.h>

#include "base/lineread.h"
#include "base/mem.h"
#include "collectors/collect.h"
#include "collectors/weblog/weblog_import.h"

#define FIRST_LOG 2u /* the two before are twins */

static void import_bad(void *arg, uint64_t line, const char *why)
{
    (void)arg;
    (void)line;
    (void)why;
}

/* A file that was replaced, or a lock that stayed busy, is for another import; the last one of a life meets nothing of the kind. */
static void import_refused(void *arg, const char *why)
{
    (void)arg;
    ws_check(ws_in_child(), why);
}

static void set(struct ts_conf *conf, const char *key, const char *value)
{
    ws_check(ts_conf_set(conf, key, ts_slice_str(value), "websim", NULL) == 0, key);
}

static void import_one(const struct ws_life *l, struct col_web_import *im, const char *path, bool killed)
{
    struct ts_lines *lines;
    struct ts_slice text;
    if (access(path, F_OK) < 0)
        return;
    ws_say(l, "%s is imported%s", path, killed ? ", and killed" : "");
    ws_check(ts_lines_open(path, &lines, NULL) == 0, path);
    for (unsigned n = 0; ts_lines_next(lines, &text, NULL) > 0; n++) {
        if (!n)
            col_web_import_begin(im, path);
        ws_check(col_web_import_lines(im, text, NULL) == 0, "the import's output");
    }
    ts_lines_close(lines);
    if (!killed)
        ws_check(col_web_import_end(im, NULL) == 0, "the import's output");
}

void ws_import(struct ws_life *l, struct ws_store *s, const char *followed, bool killed)
{
    const struct ts_conf_key *const tables[] = {col_conf_keys};
    struct ts_conf *conf = ts_conf_new(tables, 1);
    char text[WS_PATH_BYTES];
    struct col_web_import_opts opts = {.conf = conf,
                                       .out = {.put = ws_store_put_now, .arg = s},
                                       .bad = import_bad,
                                       .refused = import_refused,
                                       .remember = true};
    struct col_web_import *im;
    (void)snprintf(text, sizeof(text), "%s/state", l->dir);
    set(conf, "collect_dir", text);
    (void)snprintf(text, sizeof(text), "old,%s/abs", l->dir);
    set(conf, "collect_weblog_olddir", text);
    set(conf, "collect_host", "import");
    set(conf, "collect_weblog_format", "vhost_combined");
    set(conf, "collect_weblog_bucket_s", "900"); /* many places in a bucket */
    set(conf, "collect_weblog", followed);
    struct ts_error err = {0};
    if (col_web_import_new(&opts, &im, &err) < 0)
        ws_check(false, err.text);
    for (unsigned i = FIRST_LOG; i < WS_LOGS; i++) {
        const struct ws_log *log = &l->logs[i];
        (void)snprintf(text, sizeof(text), "%s/%s", l->dir, log->name);
        import_one(l, im, text, killed);
        for (unsigned k = 0; k < log->n_files; k++)
            if (*log->files[k].path)
                import_one(l, im, log->files[k].path, killed);
    }
    if (!killed)
        col_web_import_done(im);
    col_web_import_free(im);
    ts_conf_free(conf);
}
