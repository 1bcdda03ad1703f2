/*
 * conffile.c - configuration from files and the environment, OpenTSDB's own file included.
 *
 * A key with a dot is never ours: the line is then a Java property (escapes, lines continued with a
 * backslash), so that an opentsdb.conf, or one with our keys added, can be given as it is.
 * Source
 * java.util.Properties, "load": the line format
 * Threads    one, before others start
 */
#include "base/conf.h"

#include "base/conf_int.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/num.h"

#include <ctype.h>
#include <stdio.h>
#include <unistd.h>

#define CONF_FILE_MAX_BYTES (1u << 20)
#define CONF_KEY_MAX        128 /* longest key that is looked at */
#define CONF_WHERE_BYTES    160
#define CONF_MISSPELT_MOST                                                                                   \
    2 /* letters in which one of OpenTSDB's keys differs from one that means something here */

/* Where the reader stands. */
struct conf_reader {
    struct ts_conf *conf;         /* set that is filled */
    const char *path;             /* for messages */
    const char *p, *end;          /* rest of the file */
    unsigned line;                /* number of the line at p, from 1 */
    struct ts_error *err;         /* may be NULL */
    ts_conf_property_fn each;     /* gets every property; NULL: unknown ones are warned about */
    void *arg;                    /* of each */
    char where[CONF_WHERE_BYTES]; /* "file x line 3" of the current entry */
};

/* One OpenTSDB property on its way to the rows that name it. */
struct conf_property {
    struct conf_reader *reader; /* for conf, where and err */
    const char *name;           /* OpenTSDB's key */
    struct ts_slice value;      /* unescaped */
};

static bool conf_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\f' || c == '\r';
}

static struct ts_slice conf_trim(struct ts_slice s)
{
    for (; s.n && conf_is_blank(s.p[0]); s.p++, s.n--)
        ;
    for (; s.n && conf_is_blank(s.p[s.n - 1]); s.n--)
        ;
    return s;
}

/* Next physical line without its end. */
static bool conf_next_line(struct conf_reader *r, struct ts_slice *out)
{
    if (r->p == r->end)
        return false;
    const char *nl = memchr(r->p, '\n', (size_t)(r->end - r->p));
    const char *stop = nl ? nl : r->end;
    *out = (struct ts_slice){r->p, (size_t)(stop - r->p)};
    if (out->n && out->p[out->n - 1] == '\r')
        out->n--;
    r->p = nl ? nl + 1 : r->end;
    r->line++;
    return true;
}

/* ---- our lines ---- */

/* "text with \" and \\" and nothing but a comment behind. */
static int conf_unquote(struct conf_reader *r, struct ts_slice raw, struct ts_buf *out)
{
    size_t i = 1;
    for (; i < raw.n && raw.p[i] != '"'; i++) {
        if (raw.p[i] == '\\' && i + 1 < raw.n)
            i++;
        ts_buf_char(out, raw.p[i]);
    }
    if (i >= raw.n)
        return ts_error_set(r->err, TS_EINVAL, "%s: closing quote is missing", r->where);
    struct ts_slice rest = conf_trim((struct ts_slice){raw.p + i + 1, raw.n - i - 1});
    if (rest.n && rest.p[0] != '#')
        return ts_error_set(r->err, TS_EINVAL, "%s: text after the closing quote", r->where);
    return 0;
}

static int conf_take_own(struct conf_reader *r, struct ts_slice line)
{
    const char *eq = memchr(line.p, '=', line.n);
    if (!eq)
        return ts_error_set(r->err, TS_EINVAL, "%s: expected key = value", r->where);
    struct ts_slice name = conf_trim((struct ts_slice){line.p, (size_t)(eq - line.p)});
    struct ts_slice value = conf_trim((struct ts_slice){eq + 1, line.n - (size_t)(eq + 1 - line.p)});
    char key[CONF_KEY_MAX];
    if (name.n == 0 || name.n >= sizeof(key))
        return ts_error_set(r->err, TS_EINVAL, "%s: expected key = value", r->where);
    memcpy(key, name.p, name.n);
    key[name.n] = 0;
    struct ts_buf text;
    ts_buf_init(&text, CONF_FILE_MAX_BYTES);
    int rc = 0;
    if (value.n && value.p[0] == '"') {
        rc = conf_unquote(r, value, &text);
        value = ts_buf_get(&text);
    }
    if (rc == 0)
        rc = ts_conf_set(r->conf, key, value, r->where, r->err);
    ts_buf_release(&text);
    if (rc == TS_ENOTFOUND && ts_conf__passed_over(r->conf, key))
        return 0;
    if (rc == TS_ENOTFOUND) {
        rc = TS_EINVAL;
        if (r->err)
            r->err->code = rc;
    }
    return rc;
}

/* ---- Java properties ---- */

/* Does the line end in an odd number of backslashes, so that the next one belongs to it? */
static bool conf_continues(struct ts_slice line)
{
    size_t n = 0;
    while (n < line.n && line.p[line.n - 1 - n] == '\\')
        n++;
    return n % 2 == 1;
}

static void conf_put_utf8(struct ts_buf *b, uint32_t c)
{
    if (c < 0x80) {
        ts_buf_char(b, (char)c);
    } else if (c < 0x800) {
        ts_buf_append(b, (char[]){(char)(0xc0 | c >> 6), (char)(0x80 | (c & 63))}, 2);
    } else if (c < 0x10000) {
        ts_buf_append(
            b, (char[]){(char)(0xe0 | c >> 12), (char)(0x80 | (c >> 6 & 63)), (char)(0x80 | (c & 63))}, 3);
    } else {
        ts_buf_append(b,
                      (char[]){(char)(0xf0 | c >> 18), (char)(0x80 | (c >> 12 & 63)),
                               (char)(0x80 | (c >> 6 & 63)), (char)(0x80 | (c & 63))},
                      4);
    }
}

/* uXXXX at s[i]; false if there are not four hex digits. */
static bool conf_hex4(struct ts_slice s, size_t i, uint32_t *out)
{
    uint32_t v = 0;
    if (i + 4 > s.n)
        return false;
    for (size_t k = i; k < i + 4; k++) {
        if (!isxdigit((unsigned char)s.p[k]))
            return false;
        char c = (char)(s.p[k] | 0x20);
        v = v << 4 | (uint32_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    *out = v;
    return true;
}

/* Undo the escapes of Java properties; a broken \u is an error as in Java. */
static int conf_unescape(struct conf_reader *r, struct ts_slice s, struct ts_buf *out)
{
    for (size_t i = 0; i < s.n; i++) {
        uint32_t c, low;
        if (s.p[i] != '\\' || i + 1 == s.n) {
            ts_buf_char(out, s.p[i]);
            continue;
        }
        char e = s.p[++i];
        if (e != 'u') {
            ts_buf_char(out, e == 't' ? '\t' : e == 'n' ? '\n' : e == 'r' ? '\r' : e == 'f' ? '\f' : e);
            continue;
        }
        if (!conf_hex4(s, i + 1, &c))
            return ts_error_set(r->err, TS_EINVAL, "%s: \\u needs four hex digits", r->where);
        i += 4;
        if (c >= 0xd800 && c < 0xdc00 && i + 2 < s.n && s.p[i + 1] == '\\' && s.p[i + 2] == 'u' &&
            conf_hex4(s, i + 3, &low) && low >= 0xdc00 && low < 0xe000) {
            c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
            i += 6;
        }
        conf_put_utf8(out, c >= 0xd800 && c < 0xe000 ? 0xfffd : c);
    }
    return 0;
}

/* Where the key of a property ends: first '=', ':' or blank that is not escaped. */
static size_t conf_key_end(struct ts_slice s)
{
    size_t i = 0;
    for (; i < s.n && s.p[i] != '=' && s.p[i] != ':' && !conf_is_blank(s.p[i]); i++)
        if (s.p[i] == '\\')
            i++;
    return i < s.n ? i : s.n;
}

/* OpenTSDB's keys that count seconds; ours count what their name says. */
static bool conf_is_in_seconds(const char *name)
{
    return strcmp(name, "tsd.core.socket.timeout") == 0 ||
           strcmp(name, "tsd.storage.compaction.flush_interval") == 0;
}

static int conf_set_property(void *arg, const struct ts_conf_key *key)
{
    const struct conf_property *prop = arg;
    struct conf_reader *r = prop->reader;
    struct ts_slice value = conf_trim(prop->value);
    char text[TS_NUM_TEXT_BYTES];
    bool flag;
    int64_t v;
    size_t n = strlen(key->name);
    if (value.n == 0 && key->type != TS_CONF_STR && key->type != TS_CONF_BOOL)
        return 0; /* the file that OpenTSDB ships lists keys without values */
    if (key->type == TS_CONF_BOOL || (key->choices && strcmp(key->choices, "auto|true|false") == 0)) {
        /* OpenTSDB knows 1, true and yes; anything else is false there */
        flag = ts_conf__is_bool(value, &flag) && flag && value.n != 2;
        value = flag ? TS_SLICE_LIT("true") : TS_SLICE_LIT("false");
    } else if (key->type == TS_CONF_INT && conf_is_in_seconds(prop->name) && n > 3 &&
               strcmp(key->name + n - 3, "_ms") == 0 && ts_num_parse_int(value, &v, NULL) == 0 &&
               !__builtin_mul_overflow(v, 1000, &v)) {
        value = (struct ts_slice){text, ts_num_print_int(v, text)};
    }
    char where[CONF_WHERE_BYTES + 80]; /* who wrote that file knows his own name of the key */
    (void)snprintf(where, sizeof where, "%s, %.76s", r->where, prop->name);
    TS_TRY(ts_conf_set(r->conf, key->name, value, where, r->err));
    return r->each ? r->each(r->arg, prop->name, prop->value, key, r->where, r->err) : 0;
}

/* A property that no row has taken. */
static int conf_not_taken(const struct conf_reader *r, const struct conf_property *prop)
{
    if (r->each && ts_conf__knows(r->conf, prop->name))
        return ts_error_set(r->err, TS_EINVAL,
                            "%s: %s is a key of tsd, and this file is read as OpenTSDB's; write the key into "
                            "the file of --config",
                            r->where, prop->name);
    if (r->each)
        return r->each(r->arg, prop->name, prop->value, NULL, r->where, r->err);
    struct ts_near near;
    ts_near_init(&near, ts_slice_str(prop->name));
    ts_conf__near_opentsdb(&near, r->conf);
    if (near.n && near.least && near.least <= CONF_MISSPELT_MOST)
        ts_log(TS_LOG_WARN,
               "%s: %.80s is not taken; did you mean %s? --opentsdb-config reads an opentsdb.conf", r->where,
               prop->name, near.best);
    else
        ts_log(TS_LOG_WARN, "%s: OpenTSDB's key %.80s has no meaning here, left out", r->where, prop->name);
    return 0;
}

/* A whole property, continued lines joined. */
static int conf_take_joined(struct conf_reader *r, struct ts_slice s)
{
    struct ts_buf name, value;
    if (s.n == 0) /* nothing but a backslash, and an empty line or the end of the file */
        return 0;
    ts_buf_init(&name, CONF_FILE_MAX_BYTES);
    ts_buf_init(&value, CONF_FILE_MAX_BYTES);
    size_t i = conf_key_end(s);
    int rc = conf_unescape(r, (struct ts_slice){s.p, i}, &name);
    ts_buf_char(&name, 0);
    while (i < s.n && conf_is_blank(s.p[i]))
        i++;
    if (i < s.n && (s.p[i] == '=' || s.p[i] == ':'))
        i++;
    while (i < s.n && conf_is_blank(s.p[i]))
        i++;
    if (rc == 0)
        rc = conf_unescape(r, (struct ts_slice){s.p + i, s.n - i}, &value);
    if (rc == 0) {
        struct conf_property prop = {r, name.p, ts_buf_get(&value)};
        rc = ts_conf__each_opentsdb(r->conf, name.p, conf_set_property, &prop);
        if (rc == 0)
            rc = conf_not_taken(r, &prop);
    }
    ts_buf_release(&name);
    ts_buf_release(&value);
    return rc < 0 ? rc : 0;
}

static int conf_take_property(struct conf_reader *r, struct ts_slice line)
{
    struct ts_buf whole;
    ts_buf_init(&whole, CONF_FILE_MAX_BYTES);
    while (conf_continues(line)) {
        ts_buf_append(&whole, line.p, line.n - 1);
        if (!conf_next_line(r, &line)) {
            line.n = 0;
            break;
        }
        for (; line.n && conf_is_blank(line.p[0]); line.p++, line.n--)
            ;
    }
    ts_buf_slice(&whole, line);
    int rc = conf_take_joined(r, ts_buf_get(&whole));
    ts_buf_release(&whole);
    return rc;
}

/* ---- file and environment ---- */

static int conf_load(struct conf_reader start, struct ts_error *err)
{
    struct conf_reader r = start;
    const char *path = r.path;
    char *text;
    size_t n;
    TS_TRY(ts_fs_read_any(path, CONF_FILE_MAX_BYTES, &text, &n, err));
    r.p = text;
    r.end = text + n;
    r.err = err;
    if (n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        r.p += 3;
    struct ts_slice line;
    int rc = 0;
    while (rc == 0 && conf_next_line(&r, &line)) {
        for (; line.n && conf_is_blank(line.p[0]); line.p++, line.n--)
            ;
        if (line.n == 0 || line.p[0] == '#' || line.p[0] == '!')
            continue;
        snprintf(r.where, sizeof(r.where), "file %.120s line %u", path, r.line);
        if (r.each || memchr(line.p, '.', conf_key_end(line)))
            rc = conf_take_property(&r, line);
        else
            rc = conf_take_own(&r, line);
    }
    ts_free(text);
    return rc;
}

int ts_conf_load_file(struct ts_conf *c, const char *path, struct ts_error *err)
{
    return conf_load((struct conf_reader){.conf = c, .path = path}, err);
}

int ts_conf_load_properties(struct ts_conf *c, const char *path, ts_conf_property_fn each, void *arg,
                            struct ts_error *err)
{
    return conf_load((struct conf_reader){.conf = c, .path = path, .each = each, .arg = arg}, err);
}

static int conf_take_env(struct ts_conf *c, const char *entry, struct ts_error *err)
{
    const char *eq = strchr(entry, '=');
    char name[CONF_KEY_MAX], where[CONF_WHERE_BYTES];
    size_t n = eq ? (size_t)(eq - entry) : 0;
    if (n < 5 || strncmp(entry, "TSD_", 4) != 0 || strncmp(entry, "TSD_TEST_", 9) == 0)
        return 0;
    if (n - 4 >= sizeof(name))
        return 0;
    for (size_t i = 4; i < n; i++)
        name[i - 4] = (char)tolower((unsigned char)entry[i]);
    name[n - 4] = 0;
    if (ts_conf__passed_over(c, name))
        return 0;
    if (!ts_conf__find(c, name)) {
        struct ts_near near;
        char upper[CONF_KEY_MAX];
        ts_near_init(&near, ts_slice_str(name));
        ts_conf__near_keys(&near, c, true);
        if (!near.n || near.least >= TS_NEAR_PART) { /* TSD_HOST is no misspelt TSD_COMPAT_HOST */
            /* The environment is everybody's: other programs' variables may begin alike. */
            ts_log(TS_LOG_DEBUG, "environment: no key for variable %.*s", (int)n, entry);
            return 0;
        }
        snprintf(upper, sizeof(upper), "%s", near.best);
        for (char *p = upper; *p; p++)
            *p = (char)toupper((unsigned char)*p);
        return ts_error_set(err, TS_EINVAL, "environment: unknown variable %.*s; did you mean TSD_%s?",
                            (int)n, entry, upper);
    }
    snprintf(where, sizeof(where), "environment variable %.*s", (int)n, entry);
    return ts_conf_set(c, name, ts_slice_str(eq + 1), where, err);
}

int ts_conf_load_env(struct ts_conf *c, struct ts_error *err)
{
    for (char **e = environ; e && *e; e++)
        TS_TRY(conf_take_env(c, *e, err));
    return 0;
}
