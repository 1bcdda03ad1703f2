/*
 * weblog_journal.c - lines of weblog.imports.
 *
 * Threads    see weblog_journal.h
 */
#include "collectors/weblog_journal.h"

#include "base/fs.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "collectors/collect.h"
#include "collectors/fields.h"
#include "collectors/weblog_identity.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME       "weblog.imports"
#define MAX_BYTES  ((size_t)64 << 20)
#define HOST_BYTES 256

/* Decide about series and times of points. */
static const char *const keys[] = {
    "collect_weblog_bucket_s", "collect_weblog_path_depth",
    "collect_weblog_domain",   "collect_weblog_format",
    "collect_weblog_domains",  "collect_weblog_paths",
    "collect_weblog_name_h",   "collect_weblog_cells",
    "collect_weblog_bots",     "collect_tags",
    "collect_prefix",          "collect_host",
};
#define N_KEYS (sizeof(keys) / sizeof(*keys))

/* A log. */
struct entry {
    uint64_t identity; /* col_web_journal_identity */
    char *settings;    /* owned */
};

struct col_web_journal {
    char path[PATH_MAX]; /* "" = nothing is remembered */
    char *server;        /* owned; NULL = all of them */
    struct entry *p;     /* owned */
    size_t n, cap;       /* entries */
    bool told;           /* that it can't be written was logged */
};

/* --- settings --- */

/* Tabs and ends of lines separate; a percent sign stands for them. */
static void value_append(struct ts_buf *out, const char *value)
{
    for (; *value; value++) {
        if (*value == '\t' || *value == '\n' || *value == '%')
            ts_buf_printf(out, "%%%02x", (unsigned)(unsigned char)*value);
        else
            ts_buf_char(out, *value);
    }
}

static void value_decode(struct ts_slice text, struct ts_buf *out)
{
    ts_buf_clear(out);
    for (size_t i = 0; i < text.n; i++) {
        bool coded = text.p[i] == '%' && i + 2 < text.n;
        ts_buf_char(out, !coded                 ? text.p[i]
                         : text.p[i + 2] == '9' ? '\t'
                         : text.p[i + 2] == 'a' ? '\n'
                                                : '%');
        i += coded ? 2 : 0;
    }
}

/* Where settings go. */
struct settings {
    const struct ts_conf *conf; /* whose */
    struct ts_buf *out;         /* text */
};

static void settings_take(void *arg, const struct ts_conf_key *key, const char *value)
{
    struct settings *s = arg;
    char host[HOST_BYTES];
    for (size_t i = 0; i < N_KEYS; i++) {
        if (strcmp(keys[i], key->name) != 0)
            continue;
        col_host_name(s->conf, host, sizeof(host));
        ts_buf_printf(s->out, "%s%s=", s->out->n ? "\t" : "", key->name);
        value_append(s->out, strcmp(key->name, "collect_host") ? value : host);
    }
}

void col_web_settings_get(const struct ts_conf *conf, struct ts_buf *out)
{
    struct settings s = {.conf = conf, .out = out};
    ts_buf_clear(out);
    ts_conf_each(conf, settings_take, &s);
    ts_buf_char(out, '\0');
    out->n--;
}

/* Take "KEY=VALUE" off the front; the value is decoded into value. */
static bool setting_next(struct ts_slice *text, struct ts_slice *key, struct ts_buf *value)
{
    const char *tab = text->n ? memchr(text->p, '\t', text->n) : NULL;
    struct ts_slice one = {text->p, tab ? (size_t)(tab - text->p) : text->n};
    const char *eq = one.n ? memchr(one.p, '=', one.n) : NULL;
    if (!eq)
        return false;
    *key = (struct ts_slice){one.p, (size_t)(eq - one.p)};
    value_decode((struct ts_slice){eq + 1, (size_t)(one.p + one.n - eq - 1)}, value);
    size_t used = one.n + (tab != NULL);
    *text = (struct ts_slice){text->p + used, text->n - used};
    return true;
}

struct ts_conf *col_web_settings_conf(const char *settings)
{
    static const struct ts_conf_key *const tables[] = {col_conf_keys};
    struct ts_conf *conf = ts_conf_new(tables, 1);
    struct ts_slice text = ts_slice_str(settings), key;
    struct ts_buf value;
    int rc = ts_conf_set(conf, "collect_dir", TS_SLICE_LIT("none"), NAME, NULL);
    ts_buf_init(&value, 0);
    while (rc == 0 && setting_next(&text, &key, &value)) {
        char name[64];
        (void)snprintf(name, sizeof(name), "%.*s", (int)key.n, key.p);
        rc = ts_conf_set(conf, name, ts_buf_get(&value), NAME, NULL);
    }
    ts_buf_release(&value);
    if (rc == 0 && !text.n)
        return conf;
    ts_conf_free(conf);
    return NULL;
}

void col_web_settings_differ(const char *before, const char *now, char *out, size_t out_bytes)
{
    struct ts_slice a = ts_slice_str(before), b = ts_slice_str(now), key_a, key_b;
    struct ts_buf old, new;
    size_t n = 0;
    ts_buf_init(&old, 0);
    ts_buf_init(&new, 0);
    *out = '\0';
    while (setting_next(&a, &key_a, &old) && setting_next(&b, &key_b, &new) && n < out_bytes) {
        if (!ts_slice_eq(key_a, key_b)) /* of another version */
            break;
        if (ts_slice_eq(ts_buf_get(&old), ts_buf_get(&new)))
            continue;
        int used = snprintf(out + n, out_bytes - n, "%s%.*s = %.*s (now %.*s)", n ? ", " : "", (int)key_a.n,
                            key_a.p, (int)old.n, old.n ? old.p : "", (int)new.n, new.n ? new.p : "");
        n += used > 0 ? (size_t)used : 0;
    }
    if (!*out)
        (void)snprintf(out, out_bytes, "by another version of tsd");
    ts_buf_release(&old);
    ts_buf_release(&new);
}

/* --- the file --- */

static void journal_add(struct col_web_journal *j, uint64_t identity, struct ts_slice settings)
{
    if (j->n == j->cap) {
        j->cap = j->cap ? 2 * j->cap : 64;
        j->p = ts_xrealloc(j->p, j->cap * sizeof(*j->p));
    }
    j->p[j->n++] = (struct entry){.identity = identity, .settings = ts_xstrndup(settings.p, settings.n)};
}

/* "IDENTITY SERVER SETTINGS"; those for another daemon are passed over, a line that is cut too. */
static void journal_line(struct col_web_journal *j, struct ts_slice line)
{
    char word[17] = "";
    if (line.n < 18 || line.p[16] != '\t')
        return;
    memcpy(word, line.p, 16);
    char *end;
    uint64_t identity = strtoull(word, &end, 16);
    struct ts_slice rest = {line.p + 17, line.n - 17};
    const char *tab = memchr(rest.p, '\t', rest.n);
    if (*end || !tab ||
        (j->server && !ts_slice_is((struct ts_slice){rest.p, (size_t)(tab - rest.p)}, j->server)))
        return;
    journal_add(j, identity, (struct ts_slice){tab + 1, (size_t)(rest.p + rest.n - tab - 1)});
}

static void journal_read(struct col_web_journal *j)
{
    struct ts_error err = {0};
    char *text;
    size_t n;
    int rc = ts_fs_read_file(ts_fs_real(), j->path, MAX_BYTES, &text, &n, &err);
    if (rc == TS_ENOTFOUND)
        return;
    if (rc < 0) {
        ts_log(TS_LOG_WARN,
               "weblog: which logs were imported with other keys is not known, they would count twice: %s",
               err.text);
        return;
    }
    struct ts_slice all = {text, n}, line;
    while (all.n && memchr(all.p, '\n', all.n) && col_line_next(&all, &line))
        journal_line(j, line);
    ts_free(text);
}

struct col_web_journal *col_web_journal_open(const struct ts_conf *conf)
{
    struct col_web_journal *j = ts_xcalloc(1, sizeof(*j));
    char dir[PATH_MAX];
    const char *servers = ts_conf_str(conf, "collect_server");
    struct ts_slice first = col_trim((struct ts_slice){servers, strcspn(servers, ",")});
    struct ts_buf server;
    ts_buf_init(&server, 0);
    ts_buf_slice(&server, first);
    ts_buf_char(&server, '\0');
    j->server = server.p; /* taken */
    if (col_state_dir(conf, dir, NULL) < 0 || !*dir ||
        snprintf(j->path, sizeof(j->path), "%s/" NAME, dir) >= (int)sizeof(j->path))
        j->path[0] = '\0';
    if (*j->path) {
        (void)ts_fs_mkdirs(ts_fs_real(), dir, NULL); /* what is wrong is said when it is written */
        journal_read(j);
    }
    return j;
}

struct col_web_journal *col_web_journal_look(const char *dir)
{
    struct col_web_journal *j = ts_xcalloc(1, sizeof(*j));
    if (snprintf(j->path, sizeof(j->path), "%s/" NAME, dir) < (int)sizeof(j->path))
        journal_read(j);
    j->path[0] = '\0'; /* nothing is written */
    return j;
}

void col_web_journal_close(struct col_web_journal *j)
{
    if (!j)
        return;
    for (size_t i = 0; i < j->n; i++)
        ts_free(j->p[i].settings);
    ts_free(j->p);
    ts_free(j->server);
    ts_free(j);
}

uint64_t col_web_journal_identity(const uint64_t *before, struct ts_slice line)
{
    uint64_t hash = col_web_head_of(line.p, line.n < COL_WEB_HEAD_BYTES ? line.n : COL_WEB_HEAD_BYTES).hash;
    return before ? ts_hash_u64(*before) + hash : hash;
}

const char *col_web_journal_find(const struct col_web_journal *j, uint64_t identity)
{
    for (size_t i = j->n; i-- > 0;)
        if (j->p[i].identity == identity)
            return j->p[i].settings;
    return NULL;
}

static int journal_append(const struct col_web_journal *j, struct ts_slice line, struct ts_error *err)
{
    const struct ts_fs *fs = ts_fs_real();
    struct ts_file *file;
    TS_TRY(fs->open(fs, j->path, TS_OPEN_APPEND, &file, err));
    int rc = fs->append(file, line.p, line.n, err);
    if (rc == 0)
        return fs->close(file, err);
    (void)fs->close(file, NULL);
    return rc;
}

void col_web_journal_set(struct col_web_journal *j, uint64_t identity, const char *settings)
{
    const char *before = col_web_journal_find(j, identity);
    struct ts_error err = {0};
    struct ts_buf line;
    if (!*j->path || (before && !strcmp(before, settings)))
        return;
    ts_buf_init(&line, 0);
    ts_buf_printf(&line, "%016llx\t%s\t%s\n", (unsigned long long)identity, j->server, settings);
    if (journal_append(j, ts_buf_get(&line), &err) < 0 && !j->told) {
        ts_log(TS_LOG_WARN, "weblog: %s; an import with other keys will count these logs twice", err.text);
        j->told = true;
    }
    ts_buf_release(&line);
    journal_add(j, identity, ts_slice_str(settings));
}
