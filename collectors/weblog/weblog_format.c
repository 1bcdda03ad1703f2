/*
 * weblog_format.c - parses format strings of nginx and Apache into lists of fields, and log lines by such lists.
 *
 * Threads    see weblog_format.h
 */
#include "collectors/weblog/weblog_format.h"

#include "base/mem.h"
#include "collectors/core/fields.h"
#include "collectors/weblog/weblog_own.h"

#include <string.h>
#include <strings.h>

#define FIELDS_MAX     64u /* of a format */
#define CLF_TIME_BYTES 26u /* 17/May/2015:10:05:03 +0000 */

/* A text, and the field behind it. */
struct piece {
    struct ts_buf text;       /* before the field; owned */
    enum col_web_field field; /* the field */
    bool quoted;              /* between double quotes: a backslash escapes the next byte */
    bool clf;                 /* a time that holds a blank */
};

struct col_web_format {
    bool json;                       /* lines are JSON objects; the rest is empty then */
    const struct col_web_own *own;   /* its own parser; the rest is empty then. NULL = none */
    unsigned n;                      /* pieces in use */
    unsigned n_needed;               /* pieces up to the last one that must match */
    unsigned n_used;                 /* pieces up to the last field that is used */
    bool has_status;                 /* a line must have one */
    struct ts_buf tail;              /* text behind the last field */
    struct piece pieces[FIELDS_MAX]; /* in order */
};

/* Name of a variable, and the field it sets. */
struct name_row {
    const char *name;
    enum col_web_field field;
};

static const struct name_row nginx_names[] = {
    {"body_bytes_sent", COL_WEB_BYTES},
    {"bytes_sent", COL_WEB_BYTES},
    {"host", COL_WEB_DOMAIN},
    {"http_host", COL_WEB_DOMAIN},
    {"http_referer", COL_WEB_REFERRER},
    {"http_user_agent", COL_WEB_AGENT},
    {"http_x_forwarded_for", COL_WEB_LIST},
    {"msec", COL_WEB_TIME_S},
    {"proxy_add_x_forwarded_for", COL_WEB_LIST},
    {"remote_addr", COL_WEB_CLIENT},
    {"request", COL_WEB_REQUEST},
    {"request_time", COL_WEB_TOOK_S},
    {"request_uri", COL_WEB_PATH},
    {"server_name", COL_WEB_DOMAIN},
    {"status", COL_WEB_STATUS},
    {"time_iso8601", COL_WEB_TIME},
    {"time_local", COL_WEB_TIME},
    {"upstream_addr", COL_WEB_LIST},
    {"upstream_bytes_received", COL_WEB_LIST},
    {"upstream_bytes_sent", COL_WEB_LIST},
    {"upstream_cache_status", COL_WEB_LIST},
    {"upstream_connect_time", COL_WEB_LIST},
    {"upstream_header_time", COL_WEB_LIST},
    {"upstream_response_length", COL_WEB_LIST},
    {"upstream_response_time", COL_WEB_LIST},
    {"upstream_status", COL_WEB_LIST},
    {"uri", COL_WEB_PATH},
    {NULL, COL_WEB_NONE},
};

/* Letters of directives with their {argument}. The first row that matches is used. */
static const struct {
    char letter;
    const char *argument; /* NULL = none, "*" = any */
    enum col_web_field field;
} apache_names[] = {
    {'a', "*", COL_WEB_CLIENT},
    {'a', NULL, COL_WEB_CLIENT},
    {'h', NULL, COL_WEB_CLIENT},
    {'h', "c", COL_WEB_CLIENT},
    {'b', NULL, COL_WEB_BYTES},
    {'B', NULL, COL_WEB_BYTES},
    {'O', NULL, COL_WEB_BYTES},
    {'D', NULL, COL_WEB_TOOK_US},
    {'T', NULL, COL_WEB_TOOK_S},
    {'T', "s", COL_WEB_TOOK_S},
    {'T', "ms", COL_WEB_TOOK_MS},
    {'T', "us", COL_WEB_TOOK_US},
    {'r', NULL, COL_WEB_REQUEST},
    {'U', NULL, COL_WEB_PATH},
    {'s', NULL, COL_WEB_STATUS},
    {'t', NULL, COL_WEB_TIME},
    {'t', "sec", COL_WEB_TIME_S},
    {'t', "msec", COL_WEB_TIME_MS},
    {'t', "usec", COL_WEB_TIME_US},
    {'v', NULL, COL_WEB_DOMAIN},
    {'V', NULL, COL_WEB_DOMAIN},
    {'i', "host", COL_WEB_DOMAIN},
    {'i', "referer", COL_WEB_REFERRER},
    {'i', "user-agent", COL_WEB_AGENT},
    {'i', "x-forwarded-for", COL_WEB_LIST},
};

static const struct {
    const char *name, *format;
} known[] = {
    {"common", "%h %l %u %t \"%r\" %>s %b"},
    {"combined", "%h %l %u %t \"%r\" %>s %b \"%{Referer}i\" \"%{User-Agent}i\""},
    {"vhost_common", "%v %h %l %u %t \"%r\" %>s %b"},
    {"vhost_combined", "%v:%p %h %l %u %t \"%r\" %>s %O \"%{Referer}i\" \"%{User-Agent}i\""},
};

/* --- from a string --- */

static int format_field(struct col_web_format *f, struct ts_buf *text, enum col_web_field field, bool clf,
                        struct ts_slice name, struct ts_error *err)
{
    if (f->n == FIELDS_MAX)
        return ts_error_set(err, TS_EINVAL, "log format: more than %u fields", FIELDS_MAX);
    if (f->n && !text->n && field == COL_WEB_NONE)
        return 0; /* %U%q, $uri$is_args$args: it belongs to the field before it */
    if (f->n && !text->n)
        return ts_error_set(err, TS_EINVAL, "log format: nothing between \"%.*s\" and the field before it",
                            (int)name.n, name.p);
    struct piece *p = &f->pieces[f->n++];
    p->text = *text; /* taken */
    p->field = field;
    p->clf = clf;
    p->quoted = text->n && text->p[text->n - 1] == '"';
    ts_buf_init(text, 0);
    return 0;
}

static bool word_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Remove a variable from the front of s, where s->p[0] == '$'. False: the '$' does not begin a variable. */
static bool nginx_variable(struct ts_slice *s, struct ts_slice *out_name)
{
    bool brace = s->n > 1 && s->p[1] == '{';
    size_t from = brace ? 2 : 1, n = from;
    while (n < s->n && word_char(s->p[n]))
        n++;
    if (n == from || (brace && (n == s->n || s->p[n] != '}')))
        return false;
    *out_name = (struct ts_slice){s->p + from, n - from};
    n += brace;
    *s = (struct ts_slice){s->p + n, s->n - n};
    return true;
}

static int nginx_compile(struct col_web_format *f, struct ts_slice s, struct ts_error *err)
{
    struct ts_slice name;
    struct ts_buf text;
    ts_buf_init(&text, 0);
    int rc = 0;
    while (s.n && rc == 0) {
        if (s.p[0] != '$' || !nginx_variable(&s, &name)) {
            ts_buf_char(&text, s.p[0]);
            s = (struct ts_slice){s.p + 1, s.n - 1};
            continue;
        }
        const struct name_row *row = nginx_names;
        while (row->name && !ts_slice_is(name, row->name))
            row++;
        rc = format_field(f, &text, row->field, ts_slice_is(name, "time_local"), name, err);
    }
    f->tail = text;
    return rc;
}

/* Parse what follows '%': conditions, '<' or '>', {argument}, ^, the letter. */
static int apache_directive(struct ts_slice *s, struct ts_slice *out_argument, char *out_letter,
                            struct ts_error *err)
{
    size_t i = 0;
    *out_argument = (struct ts_slice){NULL, 0};
    while (i < s->n && (strchr("!,<>^", s->p[i]) || (s->p[i] >= '0' && s->p[i] <= '9')))
        i++;
    if (i < s->n && s->p[i] == '{') {
        const char *end = memchr(s->p + i, '}', s->n - i);
        if (!end)
            return ts_error_set(err, TS_EINVAL, "log format: no } behind %%{");
        *out_argument = (struct ts_slice){s->p + i + 1, (size_t)(end - (s->p + i + 1))};
        i = (size_t)(end + 1 - s->p);
    }
    if (i + 2 < s->n && s->p[i] == '^') /* %{name}^ti, %{name}^to: trailers */
        i += 2;
    if (i >= s->n)
        return ts_error_set(err, TS_EINVAL, "log format: ends in the middle of a %% directive");
    *out_letter = s->p[i];
    *s = (struct ts_slice){s->p + i + 1, s->n - i - 1};
    return 0;
}

static enum col_web_field apache_field(char letter, struct ts_slice argument)
{
    for (size_t i = 0; i < sizeof(apache_names) / sizeof(*apache_names); i++) {
        const char *want = apache_names[i].argument;
        bool same = !argument.p
                        ? !want
                        : want && (!strcmp(want, "*") || (argument.n == strlen(want) &&
                                                          !strncasecmp(argument.p, want, argument.n)));
        if (apache_names[i].letter == letter && same)
            return apache_names[i].field;
    }
    return COL_WEB_NONE;
}

static int apache_compile(struct col_web_format *f, struct ts_slice s, struct ts_error *err)
{
    struct ts_buf text;
    int rc = 0;
    ts_buf_init(&text, 0);
    while (s.n && rc == 0) {
        struct ts_slice argument, at = s;
        char c = s.p[0], letter = '\0';
        s = (struct ts_slice){s.p + 1, s.n - 1};
        if (c == '\\' && s.n) { /* as in httpd.conf: \" \t \n */
            ts_buf_char(&text, s.p[0] == 't' ? '\t' : s.p[0]);
            s = (struct ts_slice){s.p + 1, s.n - 1};
        } else if (c != '%' || (s.n && s.p[0] == '%')) {
            ts_buf_char(&text, c);
            s = c == '%' ? (struct ts_slice){s.p + 1, s.n - 1} : s;
        } else if ((rc = apache_directive(&s, &argument, &letter, err)) == 0) {
            enum col_web_field field = apache_field(letter, argument);
            at.n -= s.n;
            if (letter == 't' && field == COL_WEB_NONE)
                rc =
                    ts_error_set(err, TS_EINVAL,
                                 "log format: %.*s is no time that can be read; %%t and %%{sec}t, %%{msec}t, "
                                 "%%{usec}t are",
                                 (int)at.n, at.p);
            else if (letter == 't' && !argument.p) { /* %t has brackets */
                ts_buf_char(&text, '[');
                rc = format_field(f, &text, field, true, at, err);
                ts_buf_char(&text, ']');
            } else {
                rc = format_field(f, &text, field, false, at, err);
            }
        }
    }
    f->tail = text;
    return rc;
}

static bool is_nginx(struct ts_slice s)
{
    for (size_t i = 0; i + 1 < s.n; i++)
        if (s.p[i] == '$' && (s.p[i + 1] == '{' || (word_char(s.p[i + 1]) && s.p[i + 1] > '9')))
            return true;
    return false;
}

static int format_compile(struct col_web_format *f, struct ts_slice text, struct ts_error *err)
{
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (ts_slice_is(text, known[i].name))
            return apache_compile(f, ts_slice_str(known[i].format), err);
    if (is_nginx(text))
        return nginx_compile(f, text, err);
    if (text.n && memchr(text.p, '%', text.n))
        return apache_compile(f, text, err);
    return ts_error_set(err, TS_EINVAL,
                        "\"%.*s\" is no log format: auto, common, combined, vhost_combined, vhost_common, "
                        "json, haproxy, cloudfront, or a string of "
                        "nginx's $variables or Apache's %%directives",
                        (int)text.n, text.p);
}

static int format_check(struct col_web_format *f, struct ts_error *err)
{
    bool has_time = false;
    for (unsigned i = 0; i < f->n; i++) {
        enum col_web_field field = f->pieces[i].field;
        has_time |= field >= COL_WEB_TIME && field <= COL_WEB_TIME_US;
        f->has_status |= field == COL_WEB_STATUS;
        if (field == COL_WEB_NONE || field == COL_WEB_LIST)
            continue;
        f->n_used = i + 1;
        if (field != COL_WEB_AGENT) /* anything may stand there */
            f->n_needed = i + 1;
    }
    return has_time
               ? 0
               : ts_error_set(err, TS_EINVAL,
                              "log format: it has no time, as $time_local, $time_iso8601, $msec, or %%t");
}

int col_web_format_new(struct ts_slice text, struct col_web_format **out, struct ts_error *err)
{
    struct col_web_format *f = ts_xcalloc(1, sizeof(*f));
    *out = NULL;
    f->json = ts_slice_is(text, "json");
    f->own = col_web_own_named(text);
    if (f->own == &col_web_iis)
        f->own = NULL; /* its lines need the line #Fields */
    int rc = f->json || f->own ? 0 : format_compile(f, text, err);
    if (rc == 0 && !f->json && !f->own)
        rc = format_check(f, err);
    if (rc < 0)
        col_web_format_free(f);
    else
        *out = f;
    return rc;
}

void col_web_format_free(struct col_web_format *f)
{
    if (!f)
        return;
    for (unsigned i = 0; i < f->n; i++)
        ts_buf_release(&f->pieces[i].text);
    ts_buf_release(&f->tail);
    ts_free(f);
}

/* --- lines --- */

/* Number of bytes before the quote that ends a quoted field; all of s if there is none. */
static size_t quoted_bytes(struct ts_slice s)
{
    size_t i = 0;
    while (i < s.n && s.p[i] != '"')
        i += s.p[i] == '\\' && i + 1 < s.n ? 2 : 1;
    return i;
}

/* Number of bytes before the text that follows the field. The blanks of ", " and " : " do not end a list. */
static size_t plain_bytes(struct ts_slice s, struct ts_slice until, bool list)
{
    size_t i = 0;
    if (!until.n)
        until = TS_SLICE_LIT(" ");
    while (i < s.n) {
        const char *p = memmem(s.p + i, s.n - i, until.p, until.n);
        if (!p)
            return s.n;
        i = (size_t)(p - s.p);
        bool more = list && until.p[0] == ' ' &&
                    ((i && (s.p[i - 1] == ',' || s.p[i - 1] == ':')) || (i + 1 < s.n && s.p[i + 1] == ':'));
        if (!more)
            return i;
        i++;
    }
    return s.n;
}

static size_t field_bytes(const struct piece *p, struct ts_slice s, struct ts_slice until)
{
    if (p->clf && s.n >= CLF_TIME_BYTES)
        return CLF_TIME_BYTES;
    if (p->quoted && until.n && until.p[0] == '"')
        return quoted_bytes(s);
    const char *end = p->field == COL_WEB_DOMAIN && s.p[0] == '[' ? memchr(s.p, ']', s.n) : NULL;
    size_t n_v6 = end ? (size_t)(end + 1 - s.p) : 0; /* [2001:db8::1]:443 */
    return n_v6 + plain_bytes((struct ts_slice){s.p + n_v6, s.n - n_v6}, until, p->field == COL_WEB_LIST);
}

/* Returns why a line cannot be counted: it lacks its time, or a status that its format has. NULL: it can; other fields may be missing. */
static const char *line_complete(const struct col_web_format *f, const struct col_web_hit *h)
{
    if (h->time_ms == COL_WEB_NO_TIME)
        return "it has no time";
    if (f->has_status && !h->has_status)
        return "it has no status";
    return NULL;
}

const char *col_web_line_parse(const struct col_web_format *f, struct ts_slice line, struct ts_buf *scratch,
                               struct col_web_hit *out)
{
    col_web_hit_init(out);
    if (line.n && line.p[line.n - 1] == '\r')
        line.n--;
    if (f->json)
        return col_web_json_parse(line, scratch, out);
    if (f->own)
        return f->own->parse(f->own->kind, line, scratch, out);
    for (unsigned i = 0; i < f->n_used && line.n; i++) {
        const struct piece *p = &f->pieces[i];
        struct ts_slice text = ts_buf_get(&p->text);
        struct ts_slice until = i + 1 < f->n ? ts_buf_get(&f->pieces[i + 1].text) : ts_buf_get(&f->tail);
        size_t n_text = text.n < line.n ? text.n : line.n; /* the line may end here */
        if (n_text && memcmp(line.p, text.p, n_text) != 0 && i >= f->n_needed)
            break;
        if (n_text && memcmp(line.p, text.p, n_text) != 0)
            return "it is not of this format";
        line = (struct ts_slice){line.p + n_text, line.n - n_text};
        if (!line.n)
            break;
        size_t n = field_bytes(p, line, until);
        const char *why = col_web_hit_set(out, p->field, (struct ts_slice){line.p, n});
        if (why)
            return why;
        line = (struct ts_slice){line.p + n, line.n - n};
    }
    return line_complete(f, out);
}
