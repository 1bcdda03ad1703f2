/*
 * weblog_settings.c - converts the keys that determine the result of an import to text and back.
 *
 * Threads    see weblog_settings.h
 */
#include "collectors/weblog/weblog_settings.h"

#include "collectors/core/keys.h"

#include <stdio.h>
#include <string.h>

#define JOURNAL    "weblog.imports" /* the file that holds such texts, for errors */
#define HOST_BYTES 256

/* The keys that determine the series and times of points. */
static const char *const keys[] = {
    "collect_weblog_bucket_s", "collect_weblog_path_depth",
    "collect_weblog_domain",   "collect_weblog_format",
    "collect_weblog_domains",  "collect_weblog_paths",
    "collect_weblog_name_h",   "collect_weblog_cells",
    "collect_weblog_bots",     "collect_tags",
    "collect_prefix",          "collect_host",
};
#define N_KEYS (sizeof(keys) / sizeof(*keys))

void col_web_text_append(struct ts_buf *out, const char *value)
{
    for (; *value; value++) {
        if (*value == '\t' || *value == '\n' || *value == '%')
            ts_buf_printf(out, "%%%02x", (unsigned)(unsigned char)*value);
        else
            ts_buf_char(out, *value);
    }
}

void col_web_text_decode(struct ts_slice text, struct ts_buf *out)
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

/* Arguments of settings_take. */
struct settings {
    const struct ts_conf *conf; /* the configuration read */
    struct ts_buf *out;         /* the text so far */
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
        col_web_text_append(s->out, strcmp(key->name, "collect_host") ? value : host);
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

/* Remove "KEY=VALUE" from the front of text and decode its value into value. False: there is none. */
static bool setting_next(struct ts_slice *text, struct ts_slice *key, struct ts_buf *value)
{
    const char *tab = text->n ? memchr(text->p, '\t', text->n) : NULL;
    struct ts_slice one = {text->p, tab ? (size_t)(tab - text->p) : text->n};
    const char *eq = one.n ? memchr(one.p, '=', one.n) : NULL;
    if (!eq)
        return false;
    *key = (struct ts_slice){one.p, (size_t)(eq - one.p)};
    col_web_text_decode((struct ts_slice){eq + 1, (size_t)(one.p + one.n - eq - 1)}, value);
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
    int rc = ts_conf_set(conf, "collect_dir", TS_SLICE_LIT("none"), JOURNAL, NULL);
    ts_buf_init(&value, 0);
    while (rc == 0 && setting_next(&text, &key, &value)) {
        char name[64];
        (void)snprintf(name, sizeof(name), "%.*s", (int)key.n, key.p);
        rc = ts_conf_set(conf, name, ts_buf_get(&value), JOURNAL, NULL);
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
        if (!ts_slice_eq(key_a, key_b)) /* written by another version */
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
