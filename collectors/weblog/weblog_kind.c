/*
 * weblog_kind.c - recognises the format of a line by its shape, and decides the format of a file.
 *
 * Threads    see weblog_kind.h
 */
#include "collectors/weblog/weblog_kind.h"

#include "base/mem.h"
#include "collectors/core/fields.h"
#include "collectors/weblog/weblog_own.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#define CLF_TIME_BYTES 26u /* 17/May/2015:10:05:03 +0000 */
#define PORT_DIGITS    5u

struct col_web_auto {
    struct col_web_format *formats[COL_WEB_KIND_NONE]; /* by kind; owned; NULL = it has no string */
    enum col_web_kind fixed; /* kind set by the configuration; COL_WEB_KIND_UNKNOWN = none */
};

static const char *const kind_names[] = {"",       "json",         "vhost_combined", "combined",
                                         "common", "vhost_common", "haproxy",        "cloudfront",
                                         "iis",    "none"};

enum col_web_kind col_web_kind_base(enum col_web_kind kind)
{
    return (enum col_web_kind)((uint64_t)kind & ((1u << COL_WEB_KIND_BITS) - 1));
}

const char *col_web_kind_name(enum col_web_kind kind)
{
    return kind_names[col_web_kind_base(kind)];
}

void col_web_kind_text(enum col_web_kind kind, char out[COL_WEB_KIND_BYTES])
{
    uint64_t fields = (uint64_t)kind >> COL_WEB_KIND_BITS;
    if (fields)
        (void)snprintf(out, COL_WEB_KIND_BYTES, "%s:%llu", col_web_kind_name(kind),
                       (unsigned long long)fields);
    else
        (void)snprintf(out, COL_WEB_KIND_BYTES, "%s", col_web_kind_name(kind));
}

enum col_web_kind col_web_kind_of(const char *text)
{
    size_t n = strcspn(text, ":");
    uint64_t fields = 0;
    if (text[n] && (!col_u64_of(ts_slice_str(text + n + 1), &fields) || fields >> (63 - COL_WEB_KIND_BITS)))
        return COL_WEB_KIND_UNKNOWN;
    for (uint32_t i = 1; i < sizeof(kind_names) / sizeof(*kind_names); i++)
        if (strlen(kind_names[i]) == n && !memcmp(text, kind_names[i], n))
            return (enum col_web_kind)(i | fields << COL_WEB_KIND_BITS);
    return COL_WEB_KIND_UNKNOWN;
}

bool col_web_kind_directive(struct ts_slice line, enum col_web_kind *kind)
{
    static const char *const others[] = {
        "#Version:", "#Software:", "#Date:", "#Start-Date:", "#End-Date:", "#Remark:"};
    if (!line.n || line.p[0] != '#')
        return false;
    line.n -= line.p[line.n - 1] == '\r';
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        if (col_prefix_take(&line, others[i]))
            return true;
    if (!col_prefix_take(&line, "#Fields:"))
        return false;
    enum col_web_kind found = COL_WEB_KIND_UNKNOWN;
    for (unsigned i = 0; found == COL_WEB_KIND_UNKNOWN && col_web_owns[i]; i++)
        if (col_web_owns[i]->fields)
            found = col_web_owns[i]->fields(col_trim(line));
    *kind = found == COL_WEB_KIND_UNKNOWN ? COL_WEB_KIND_NONE : found;
    return true;
}

struct col_web_auto *col_web_auto_new(void)
{
    struct col_web_auto *a = ts_xcalloc(1, sizeof(*a));
    for (unsigned i = COL_WEB_KIND_JSON; i <= COL_WEB_KIND_HOST; i++)
        if (col_web_format_new(ts_slice_str(kind_names[i]), &a->formats[i], NULL) < 0)
            TS_BUG("format %s is not known", kind_names[i]);
    return a;
}

void col_web_auto_fix(struct col_web_auto *a, enum col_web_kind kind)
{
    a->fixed = kind;
}

void col_web_auto_free(struct col_web_auto *a)
{
    for (unsigned i = 0; a && i < COL_WEB_KIND_NONE; i++)
        col_web_format_free(a->formats[i]);
    ts_free(a);
}

/* --- words --- */

static struct ts_slice behind(struct ts_slice s, size_t n)
{
    return (struct ts_slice){s.p + n, s.n - n};
}

/* Number of bytes before the first of the given bytes; all of s if it has none of them. */
static size_t span_until(struct ts_slice s, const char *bytes)
{
    size_t n = 0;
    if (!bytes[1]) {
        const char *p = s.n ? memchr(s.p, bytes[0], s.n) : NULL;
        return p ? (size_t)(p - s.p) : s.n;
    }
    while (n < s.n && (!s.p[n] || !strchr(bytes, s.p[n])))
        n++;
    return n;
}

static bool only(struct ts_slice s, const char *bytes)
{
    for (size_t i = 0; i < s.n; i++)
        if (!s.p[i] || !strchr(bytes, s.p[i]))
            return false;
    return s.n > 0;
}

/* Remove the first word and the blank behind it from s. False: there is no word, or no blank behind it. */
static bool word(struct ts_slice *s, struct ts_slice *out)
{
    size_t n = span_until(*s, " ");
    if (!n || n == s->n)
        return false;
    *out = (struct ts_slice){s->p, n};
    *s = behind(*s, n + 1);
    return true;
}

static bool is_address(struct ts_slice s)
{
    char text[INET6_ADDRSTRLEN];
    struct in6_addr out;
    if (!s.n || s.n >= sizeof(text) || memchr(s.p, '\0', s.n))
        return false;
    memcpy(text, s.p, s.n);
    text[s.n] = '\0';
    return inet_pton(strchr(text, ':') ? AF_INET6 : AF_INET, text, &out) == 1;
}

static bool is_host_port(struct ts_slice s)
{
    size_t n = s.n;
    while (n && s.p[n - 1] != ':')
        n--;
    if (n < 2)
        return false;
    struct ts_slice host = {s.p, n - 1}, port = behind(s, n);
    if (port.n > PORT_DIGITS || !only(port, "0123456789"))
        return false;
    if (host.p[0] == '[')
        return host.n > 2 && host.p[host.n - 1] == ']' &&
               is_address((struct ts_slice){host.p + 1, host.n - 2});
    return span_until(host, ":\t\"[]{}") == host.n;
}

/* Is s a host name: letters, digits, '.' and '-', with at least one letter, and no address? */
static bool is_name(struct ts_slice s)
{
    bool letter = false;
    for (size_t i = 0; i < s.n; i++) {
        bool is_letter = (s.p[i] >= 'a' && s.p[i] <= 'z') || (s.p[i] >= 'A' && s.p[i] <= 'Z');
        if (!is_letter && s.p[i] != '.' && s.p[i] != '-' && (s.p[i] < '0' || s.p[i] > '9'))
            return false;
        letter |= is_letter;
    }
    return letter && !is_address(s);
}

/* Does s consist of numbers, addresses, "-", "unknown" and lists of these, so that it can't contain a host name? */
static bool is_harmless(struct ts_slice s)
{
    while (s.n) {
        size_t n = span_until(s, " \",");
        struct ts_slice w = {s.p, n};
        s = behind(s, n + (n < s.n));
        if (!n || only(w, "0123456789.:-") || ts_slice_is(w, "unknown") || is_address(w))
            continue;
        size_t end = span_until(w, "]"); /* [::1]:80 */
        if (w.p[0] != '[' || end == w.n || !is_address((struct ts_slice){w.p + 1, end - 1}))
            return false;
    }
    return true;
}

/* --- shapes --- */

/* Length in bytes of the quoted text at the front of s, both quotes included. 0: there is none, or its closing quote is missing. */
static size_t quoted(struct ts_slice s)
{
    size_t i = 1;
    if (!s.n || s.p[0] != '"')
        return 0;
    size_t n = 1 + span_until(behind(s, 1), "\"");
    if (n < s.n && !memchr(s.p, '\\', n)) /* fast path: most texts have no backslash */
        return n + 1;
    while (i < s.n && s.p[i] != '"')
        i += s.p[i] == '\\' ? 2 : 1;
    return i < s.n ? i + 1 : 0;
}

/* Find the kind by what precedes the time. Leaves in line what begins with the bracket of the time. */
static enum col_web_kind shape_front(struct ts_slice *line, bool *sure)
{
    struct ts_slice client, ident;
    const char *bracket = line->n ? memmem(line->p, line->n, " [", 2) : NULL;
    if (!bracket)
        return COL_WEB_KIND_UNKNOWN;
    struct ts_slice front = {line->p, (size_t)(bracket - line->p)};
    *line = behind(*line, front.n + 1);
    if (!word(&front, &client) || !word(&front, &ident) || !front.n)
        return COL_WEB_KIND_UNKNOWN;
    if (is_host_port(client)) {
        client = ident;
        *sure = true;
        return word(&front, &ident) && ts_slice_is(ident, "-") && !ts_slice_is(client, "-") && front.n
                   ? COL_WEB_KIND_VHOST
                   : COL_WEB_KIND_UNKNOWN;
    }
    if (is_address(ident) && is_name(client)) {
        *sure = true;
        return word(&front, &ident) && ts_slice_is(ident, "-") && front.n ? COL_WEB_KIND_HOST
                                                                          : COL_WEB_KIND_UNKNOWN;
    }
    *sure = is_address(client);
    return ts_slice_is(ident, "-") ? COL_WEB_KIND_COMMON : COL_WEB_KIND_UNKNOWN;
}

/* Refine the kind by what follows the number of bytes. */
static enum col_web_kind shape_end(enum col_web_kind front, struct ts_slice rest, bool *sure)
{
    const char *end = rest.p + rest.n;
    bool vhost = front == COL_WEB_KIND_VHOST;
    while (rest.n && end[-1] == ' ') {
        end--;
        rest.n--;
    }
    if (!rest.n)
        return front;
    if (rest.n < 2 || rest.p[1] != '"')
        return !vhost && is_harmless(rest) ? front : COL_WEB_KIND_UNKNOWN;
    enum col_web_kind kind = front == COL_WEB_KIND_COMMON ? COL_WEB_KIND_COMBINED : front;
    for (unsigned i = 0; i < 2; i++) { /* referrer, agent */
        size_t n = rest.n > 1 && rest.p[0] == ' ' ? quoted(behind(rest, 1)) : 0;
        if (!n) { /* the line is cut off, or of another format */
            *sure = false;
            return rest.n < 2 || rest.p[1] == '"' ? kind : COL_WEB_KIND_UNKNOWN;
        }
        struct ts_slice text = {rest.p + 2, n - 2};
        if (i == 0 && text.n && !ts_slice_is(text, "-") && !memmem(text.p, text.n, "://", 3))
            *sure = false; /* it may be a host rather than a referrer */
        rest = behind(rest, n + 1);
    }
    return vhost || is_harmless(rest) ? kind : COL_WEB_KIND_UNKNOWN;
}

/* Find the kind of a line that is not JSON. *sure is false if another kind is possible too, or if the line ends too early. */
static enum col_web_kind shape_of(struct ts_slice line, bool *sure)
{
    enum col_web_kind kind = shape_front(&line, sure);
    if (kind == COL_WEB_KIND_UNKNOWN || line.n < CLF_TIME_BYTES + 4 ||
        memcmp(line.p + 1 + CLF_TIME_BYTES, "] \"", 3) != 0)
        return COL_WEB_KIND_UNKNOWN;
    line = behind(line, CLF_TIME_BYTES + 3);
    size_t n = quoted(line);
    if (!n || n == line.n || line.p[n] != ' ')
        return COL_WEB_KIND_UNKNOWN;
    line = behind(line, n + 1);
    struct ts_slice status = {line.p, span_until(line, " ")};
    if (!ts_slice_is(status, "-") && (status.n != 3 || !only(status, "0123456789")))
        return COL_WEB_KIND_UNKNOWN;
    line = behind(line, status.n);
    if (line.n < 2) { /* it was cut off */
        *sure = false;
        return kind;
    }
    n = span_until(behind(line, 1), " ");
    struct ts_slice bytes = {line.p + 1, n};
    if (!ts_slice_is(bytes, "-") && !only(bytes, "0123456789"))
        return COL_WEB_KIND_UNKNOWN;
    return shape_end(kind, behind(line, n + 1), sure);
}

/* --- lines --- */

/* The kind of a line that decides; COL_WEB_KIND_UNKNOWN. */
static enum col_web_kind line_decides(const struct col_web_auto *a, struct ts_slice line,
                                      struct ts_buf *scratch)
{
    struct col_web_hit hit;
    bool sure = true;
    enum col_web_kind kind = COL_WEB_KIND_UNKNOWN;
    if (col_web_kind_directive(line, &kind))
        return kind == COL_WEB_KIND_NONE ? COL_WEB_KIND_UNKNOWN : kind;
    kind = line.p[0] == '{' ? COL_WEB_KIND_JSON : shape_of(line, &sure);
    for (unsigned i = 0; kind == COL_WEB_KIND_UNKNOWN && col_web_owns[i]; i++)
        if (!col_web_owns[i]->parse(col_web_owns[i]->kind, line, scratch, &hit))
            return col_web_owns[i]->kind;
    if (kind == COL_WEB_KIND_UNKNOWN || !sure ||
        col_web_line_parse(a->formats[kind], line, scratch, &hit) != NULL || !hit.has_status)
        return COL_WEB_KIND_UNKNOWN;
    return kind;
}

static struct ts_slice without_cr(struct ts_slice line)
{
    line.n -= line.n && line.p[line.n - 1] == '\r';
    return line;
}

void col_web_auto_look(const struct col_web_auto *a, struct ts_slice text, struct ts_buf *scratch,
                       struct col_web_look *out)
{
    *out = (struct col_web_look){.kind = COL_WEB_KIND_UNKNOWN};
    struct ts_slice line;
    while (out->n_lines < COL_WEB_LOOK_LINES && out->kind == COL_WEB_KIND_UNKNOWN &&
           col_line_next(&text, &line)) {
        line = without_cr(line);
        if (!line.n)
            continue;
        if (!out->n_lines++)
            out->first = line;
        out->kind = a->fixed ? a->fixed : line_decides(a, line, scratch);
    }
}

/* --- messages --- */

void col_web_show(struct ts_slice line, char *out, size_t out_bytes)
{
    size_t n = 0;
    const size_t room = sizeof("\\x00...");
    struct ts_slice cut = ts_utf8_cut(line, out_bytes > room ? out_bytes - room : 0);
    size_t i = 0;
    for (; i < cut.n && n + room <= out_bytes; i++) {
        unsigned char c = (unsigned char)cut.p[i];
        if (c == '\t')
            n += (size_t)snprintf(out + n, out_bytes - n, "\\t");
        else if (c < ' ' || c == 0x7f)
            n += (size_t)snprintf(out + n, out_bytes - n, "\\x%02x", c);
        else
            out[n++] = (char)c;
    }
    (void)snprintf(out + n, out_bytes - n, "%s", i < line.n ? "..." : "");
}

const char *col_web_guess(struct ts_slice first)
{
    struct ts_slice rest = first, metric, time, value;
    bool put = col_prefix_take(&rest, "put ");
    if (first.n && memchr(first.p, '\0', first.n))
        return "it is no text";
    if (col_word_next(&rest, &metric) && col_word_next(&rest, &time) && col_word_next(&rest, &value) &&
        time.n >= 9 && only(time, "0123456789.") && only(value, "0123456789.eE+-") &&
        (put || memchr(rest.p, '=', rest.n)))
        return "these are points, which tsd import reads";
    if (first.n && first.p[0] == '<')
        return "it is HTML or XML";
    if (first.n && (first.p[0] == '{' || first.p[0] == '['))
        return "it is JSON, but no request of a web server with a time and a status";
    size_t n_commas = 0;
    for (size_t i = 0; i < first.n; i++)
        n_commas += first.p[i] == ',';
    if (n_commas > 1 && !memchr(first.p, '[', first.n))
        return "it looks like CSV";
    return NULL;
}

void col_web_look_odd(const struct col_web_look *look, const char *what, char out[COL_WEB_ODD_BYTES])
{
    char shown[COL_WEB_SHOWN], lines[60] = "its first line is not";
    col_web_show(look->first, shown, sizeof(shown));
    if (look->n_lines > 1)
        (void)snprintf(lines, sizeof(lines), "none of its first %u lines is", look->n_lines);
    (void)snprintf(out, COL_WEB_ODD_BYTES,
                   "%s surely json, vhost_combined, combined, common, vhost_common, haproxy, cloudfront or "
                   "iis: %s; set collect_weblog_format, or FORMAT: in "
                   "front of its path in collect_weblog; first line: %s",
                   lines, what, shown);
}

/* --- lines of a file --- */

/* Are a and b equal, or common and combined? Neither of these has a host, and a line of the one may be a line of the other whose end is
 * cut off. */
static bool same_family(enum col_web_kind a, enum col_web_kind b)
{
    return a == b || (a == COL_WEB_KIND_COMMON && b == COL_WEB_KIND_COMBINED) ||
           (a == COL_WEB_KIND_COMBINED && b == COL_WEB_KIND_COMMON);
}

const char *col_web_auto_parse(const struct col_web_auto *a, enum col_web_kind kind, struct ts_slice line,
                               struct ts_buf *scratch, struct col_web_hit *out)
{
    enum col_web_kind base = col_web_kind_base(kind);
    const struct col_web_format *decided = base < COL_WEB_KIND_NONE ? a->formats[base] : NULL;
    const struct col_web_own *own = col_web_own_of(kind);
    const char *why = NULL;
    bool sure = true;
    line = without_cr(line);
    if (line.n && line.p[0] == '{') {
        why = col_web_json_parse(line, scratch, out);
        return kind == COL_WEB_KIND_JSON || (!why && out->has_status) ? why : "it is of no known format";
    }
    if (own && !(why = own->parse(kind, line, scratch, out)))
        return NULL;
    enum col_web_kind shape = shape_of(line, &sure);
    if (shape != COL_WEB_KIND_UNKNOWN && (sure || same_family(shape, kind)))
        return col_web_line_parse(a->formats[shape], line, scratch, out);
    for (unsigned i = 0; shape == COL_WEB_KIND_UNKNOWN && col_web_owns[i]; i++) /* a line of another format */
        if (!col_web_owns[i]->parse(col_web_owns[i]->kind, line, scratch, out))
            return NULL;
    if (own)
        return why;
    if (!decided)
        return "it is of no known format";
    if (shape != COL_WEB_KIND_UNKNOWN)
        return "it is not of the format of the first lines";
    why = col_web_line_parse(decided, line, scratch, out); /* its error says what is missing */
    return why ? why : "it is not of this format, or a host may be in it";
}
