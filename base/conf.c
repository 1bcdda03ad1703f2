/*
 * conf.c - values of configuration keys, checked against their tables; suggestions; --print-config.
 *
 * Threads    read before threads start; values change later only through keys marked run-time
 * Invariant  every value in the set is valid for its row
 * Not here   files and environment (conffile.c), the command line (opt.c)
 */
#include "base/conf.h"

#include "base/text.h"
#include "base/conf_int.h"
#include "base/mem.h"
#include "base/num.h"

#include <stdlib.h>
#include <strings.h>

#define CONF_NAME_MAX   64  /* longer names get no suggestion */
#define CONF_TEXT_SHOWN 60  /* bytes of a wrong value that go into the message */
#define CONF_WIDTH      100 /* columns of comments in a printed file */

struct conf_value {
    const struct ts_conf_key *key; /* row; borrowed for life */
    char *text;                    /* owned; as set, but booleans and choices in their one spelling */
    int64_t num;                   /* INT, BYTES: the number; BOOL: 0 or 1 */
};

struct ts_conf {
    const struct ts_conf_key **order;        /* all rows in table order, for printing */
    struct conf_value *values;               /* sorted by name */
    unsigned n;                              /* rows */
    const struct ts_conf_key *const *others; /* tables of keys that are ignored, ended by NULL; NULL = none */
};

/* ---- finding ---- */

static int conf_cmp(const void *a, const void *b)
{
    return strcmp(((const struct conf_value *)a)->key->name, ((const struct conf_value *)b)->key->name);
}

static struct conf_value *conf_find(const struct ts_conf *c, const char *name)
{
    struct ts_conf_key key = {.name = name};
    struct conf_value probe = {.key = &key};
    return c->n ? bsearch(&probe, c->values, c->n, sizeof(probe), conf_cmp) : NULL;
}

const struct ts_conf_key *ts_conf__find(const struct ts_conf *c, const char *name)
{
    const struct conf_value *v = conf_find(c, name);
    return v ? v->key : NULL;
}

void ts_conf_pass_over(struct ts_conf *c, const struct ts_conf_key *const *tables)
{
    c->others = tables;
}

bool ts_conf__passed_over(const struct ts_conf *c, const char *name)
{
    for (const struct ts_conf_key *const *t = c->others; t && *t; t++)
        for (const struct ts_conf_key *key = *t; key->name; key++)
            if (strcmp(key->name, name) == 0)
                return true;
    return false;
}

bool ts_conf__knows(const struct ts_conf *c, const char *name)
{
    return conf_find(c, name) || ts_conf__passed_over(c, name);
}

int ts_conf__each_opentsdb(const struct ts_conf *c, const char *opentsdb_key,
                           int (*each)(void *arg, const struct ts_conf_key *key), void *arg)
{
    int n = 0;
    for (unsigned i = 0; i < c->n; i++) {
        const struct ts_conf_key *key = c->order[i];
        if (!key->opentsdb || strcmp(key->opentsdb, opentsdb_key) != 0)
            continue;
        TS_TRY(each(arg, key));
        n++;
    }
    return n;
}

void ts_conf__near_keys(struct ts_near *near, const struct ts_conf *c, bool others)
{
    for (unsigned i = 0; i < c->n; i++)
        ts_near_see(near, ts_slice_str(c->order[i]->name));
    for (const struct ts_conf_key *const *t = c->others; others && t && *t; t++)
        for (const struct ts_conf_key *key = *t; key->name; key++)
            ts_near_see(near, ts_slice_str(key->name));
}

void ts_conf__near_opentsdb(struct ts_near *near, const struct ts_conf *c)
{
    for (unsigned i = 0; i < c->n; i++)
        if (c->order[i]->opentsdb)
            ts_near_see(near, ts_slice_str(c->order[i]->opentsdb));
}

/* ---- setting ---- */

bool ts_conf__is_bool(struct ts_slice s, bool *out)
{
    static const char *const words[] = {"true", "yes", "on", "1", "false", "no", "off", "0"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (ts_slice_is_nocase(s, words[i])) {
            *out = i < 4;
            return true;
        }
    return false;
}

/* A number as a person would write it: 64M for sizes that are whole, digits otherwise. */
static void conf_put_number(struct ts_buf *b, enum ts_conf_type type, int64_t v)
{
    static const char units[] = "\0KMGTP";
    unsigned u = 0;
    while (type == TS_CONF_BYTES && v != 0 && v % 1024 == 0 && u < 5) {
        v /= 1024;
        u++;
    }
    ts_buf_printf(b, "%lld", (long long)v);
    if (u)
        ts_buf_char(b, units[u]);
}

static bool conf_has_range(const struct ts_conf_key *k)
{
    return (k->type == TS_CONF_INT || k->type == TS_CONF_BYTES) && (k->min != 0 || k->max != 0);
}

/* "a whole number from 1 to 64" and its like; for messages and comments. */
static void conf_put_allowed(struct ts_buf *b, const struct ts_conf_key *k)
{
    static const char *const kinds[] = {"text", "true or false", "a whole number",
                                        "bytes (k, M, G for powers of 1024)", "one of "};
    ts_buf_str(b, kinds[k->type]);
    for (const char *p = k->type == TS_CONF_CHOICE ? k->choices : ""; *p; p++)
        ts_buf_str(b, *p == '|' ? ", " : (char[]){*p, 0});
    if (!conf_has_range(k))
        return;
    if (k->min != INT64_MIN) {
        ts_buf_str(b, k->max == INT64_MAX ? ", at least " : ", from ");
        conf_put_number(b, k->type, k->min);
    }
    if (k->max != INT64_MAX) {
        ts_buf_str(b, k->min == INT64_MIN ? ", at most " : " to ");
        conf_put_number(b, k->type, k->max);
    }
}

/* The choice that equals s without regard to case; its one spelling in *out. */
static bool conf_choice(const char *choices, struct ts_slice s, struct ts_slice *out)
{
    for (const char *p = choices; p; p = strchr(p, '|') ? strchr(p, '|') + 1 : NULL) {
        size_t n = strcspn(p, "|");
        if (n == s.n && strncasecmp(p, s.p, n) == 0) {
            *out = (struct ts_slice){p, n};
            return true;
        }
    }
    return false;
}

static bool conf_in_range(const struct ts_conf_key *k, int64_t v)
{
    return conf_has_range(k) ? v >= k->min && v <= k->max : true;
}

/* Is the text valid for the row? Fills the number and the text to keep. */
static bool conf_check(const struct ts_conf_key *k, struct ts_slice s, int64_t *out_num,
                       struct ts_slice *out_text)
{
    uint64_t bytes;
    bool flag;
    *out_num = 0;
    *out_text = s;
    if (s.n && (memchr(s.p, 0, s.n) || memchr(s.p, '\n', s.n) || memchr(s.p, '\r', s.n)))
        return false;
    switch (k->type) {
    case TS_CONF_STR:
        return true;
    case TS_CONF_BOOL:
        if (!ts_conf__is_bool(s, &flag))
            return false;
        *out_num = flag;
        *out_text = flag ? TS_SLICE_LIT("true") : TS_SLICE_LIT("false");
        return true;
    case TS_CONF_INT:
        return ts_num_parse_int(s, out_num, NULL) == 0 && conf_in_range(k, *out_num);
    case TS_CONF_BYTES:
        if (ts_num_parse_bytes(s, &bytes) < 0 || bytes > INT64_MAX)
            return false;
        *out_num = (int64_t)bytes;
        return conf_in_range(k, *out_num);
    case TS_CONF_CHOICE:
        return conf_choice(k->choices, s, out_text);
    }
    return false;
}

static int conf_unknown(const struct ts_conf *c, const char *name, const char *where, struct ts_error *err)
{
    struct ts_near near;
    int rc = ts_error_set(err, TS_ENOTFOUND, "%s: unknown key %.80s", where, name);
    ts_near_init(&near, ts_slice_str(name));
    ts_conf__near_keys(&near, c, true);
    ts_near_hint(&near, err);
    return rc;
}

int ts_conf_set(struct ts_conf *c, const char *name, struct ts_slice value, const char *where,
                struct ts_error *err)
{
    struct conf_value *v = conf_find(c, name);
    if (!v)
        return conf_unknown(c, name, where, err);
    int64_t num;
    struct ts_slice text;
    if (!conf_check(v->key, value, &num, &text)) {
        struct ts_buf allowed;
        ts_buf_init(&allowed, TS_ERROR_TEXT_BYTES);
        conf_put_allowed(&allowed, v->key);
        ts_error_set(err, TS_EINVAL, "%s: %s is %.*s, not \"%.*s\"", where, name, (int)allowed.n, allowed.p,
                     value.n > CONF_TEXT_SHOWN ? CONF_TEXT_SHOWN : (int)value.n, value.p ? value.p : "");
        ts_buf_release(&allowed);
        return TS_EINVAL;
    }
    char *copy = ts_xmalloc(text.n + 1);
    if (text.n)
        memcpy(copy, text.p, text.n);
    copy[text.n] = 0;
    ts_free(v->text);
    v->text = copy;
    v->num = num;
    return 0;
}

struct ts_conf *ts_conf_new(const struct ts_conf_key *const *tables, unsigned n_tables)
{
    struct ts_conf *c = ts_xcalloc(1, sizeof(*c));
    for (unsigned t = 0; t < n_tables; t++)
        for (const struct ts_conf_key *k = tables[t]; k->name; k++)
            c->n++;
    c->values = ts_xcalloc(c->n + 1, sizeof(c->values[0]));
    c->order = ts_xcalloc(c->n + 1, sizeof(c->order[0]));
    unsigned i = 0;
    for (unsigned t = 0; t < n_tables; t++)
        for (const struct ts_conf_key *k = tables[t]; k->name; k++, i++)
            c->order[i] = c->values[i].key = k;
    qsort(c->values, c->n, sizeof(c->values[0]), conf_cmp);
    for (i = 0; i < c->n; i++) {
        struct ts_error err = {0};
        if (i && strcmp(c->values[i].key->name, c->values[i - 1].key->name) == 0)
            TS_BUG("two configuration keys %s", c->values[i].key->name);
        if (ts_conf_set(c, c->values[i].key->name, ts_slice_str(c->values[i].key->def), "default", &err) < 0)
            TS_BUG("%s", err.text);
    }
    return c;
}

void ts_conf_free(struct ts_conf *c)
{
    if (!c)
        return;
    for (unsigned i = 0; i < c->n; i++)
        ts_free(c->values[i].text);
    ts_free(c->values);
    ts_free(c->order);
    ts_free(c);
}

/* ---- reading ---- */

static const struct conf_value *conf_need(const struct ts_conf *c, const char *name, enum ts_conf_type a,
                                          enum ts_conf_type b)
{
    const struct conf_value *v = conf_find(c, name);
    if (!v || (v->key->type != a && v->key->type != b))
        TS_BUG("no configuration key %s of this type", name);
    return v;
}

const char *ts_conf_str(const struct ts_conf *c, const char *name)
{
    return conf_need(c, name, TS_CONF_STR, TS_CONF_CHOICE)->text;
}

bool ts_conf_bool(const struct ts_conf *c, const char *name)
{
    return conf_need(c, name, TS_CONF_BOOL, TS_CONF_BOOL)->num != 0;
}

int64_t ts_conf_int(const struct ts_conf *c, const char *name)
{
    return conf_need(c, name, TS_CONF_INT, TS_CONF_BYTES)->num;
}

void ts_conf_fill(const struct ts_conf *c, const struct ts_conf_key *table, void *out)
{
    for (const struct ts_conf_key *k = table; k->name; k++) {
        unsigned char *to = (unsigned char *)out + k->to;
        if (!k->to_bytes)
            continue;
        if (k->type == TS_CONF_STR || k->type == TS_CONF_CHOICE) {
            const char *text = ts_conf_str(c, k->name);
            memcpy(to, &text, sizeof(text));
        } else if (k->type == TS_CONF_BOOL) {
            bool yes = ts_conf_bool(c, k->name);
            memcpy(to, &yes, sizeof(yes));
        } else {
            int64_t wide = ts_conf_int(c, k->name) * (k->factor ? k->factor : 1);
            uint32_t narrow = (uint32_t)wide;
            memcpy(to, k->to_bytes == sizeof(wide) ? (const void *)&wide : (const void *)&narrow,
                   k->to_bytes);
        }
    }
}

void ts_conf_each(const struct ts_conf *c,
                  void (*emit)(void *arg, const struct ts_conf_key *key, const char *value), void *arg)
{
    for (unsigned i = 0; i < c->n; i++)
        emit(arg, c->values[i].key, c->values[i].text);
}

/* ---- printing ---- */

void ts_conf__wrap(struct ts_buf *out, const char *text, const char *prefix, unsigned first_col,
                   unsigned width)
{
    unsigned col = first_col;
    bool line_begins = true;
    for (const char *p = text; *p;) {
        size_t n = strcspn(p, " \n");
        if (!line_begins && col + 1 + n > width) {
            ts_buf_char(out, '\n');
            ts_buf_str(out, prefix);
            col = (unsigned)strlen(prefix);
        } else if (!line_begins) {
            ts_buf_char(out, ' ');
            col++;
        }
        ts_buf_append(out, p, n);
        col += (unsigned)n;
        line_begins = false;
        p += n + strspn(p + n, " \n");
    }
}

/* What the last part of a name says about its unit; NULL = nothing. */
static const char *conf_unit(const struct ts_conf_key *k)
{
    static const struct {
        const char *suffix, *unit;
    } units[] = {{"_per_s", "per second"}, {"_ns", "nanoseconds"}, {"_us", "microseconds"},
                 {"_ms", "milliseconds"},  {"_s", "seconds"},      {"_pct", "per cent"},
                 {"_h", "hours"},          {"_days", "days"}};
    size_t n = strlen(k->name);
    for (size_t i = 0; k->type == TS_CONF_INT && i < sizeof(units) / sizeof(units[0]); i++) {
        size_t m = strlen(units[i].suffix);
        if (n > m && strcmp(k->name + n - m, units[i].suffix) == 0)
            return units[i].unit;
    }
    return NULL;
}

/* Value as the file reader takes it back: quoted when its ends would be lost. */
static void conf_put_value(struct ts_buf *out, const char *text)
{
    size_t n = strlen(text);
    if (n == 0 || !(strchr(" \t\"", text[0]) || strchr(" \t", text[n - 1]))) {
        ts_buf_str(out, text);
        return;
    }
    ts_buf_char(out, '"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            ts_buf_char(out, '\\');
        ts_buf_char(out, *text);
    }
    ts_buf_char(out, '"');
}

void ts_conf_print(const struct ts_conf *c, struct ts_buf *out)
{
    for (unsigned i = 0; i < c->n; i++) {
        const struct ts_conf_key *k = c->order[i];
        const char *unit = conf_unit(k);
        if (i)
            ts_buf_char(out, '\n');
        ts_buf_str(out, "# ");
        ts_conf__wrap(out, k->help, "# ", 2, CONF_WIDTH);
        ts_buf_str(out, "\n# ");
        conf_put_allowed(out, k);
        if (unit)
            ts_buf_printf(out, ", in %s", unit);
        ts_buf_printf(out, "; default %s\n%s =", *k->def ? k->def : "empty", k->name);
        const char *text = conf_find(c, k->name)->text;
        if (*text)
            ts_buf_char(out, ' ');
        conf_put_value(out, text);
        ts_buf_char(out, '\n');
    }
}
