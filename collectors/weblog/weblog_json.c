/*
 * weblog_json.c - parses log lines that are JSON objects.
 *
 * Threads    pure
 * Source     names: nginx's variables, Apache httpd and logstash examples, Caddy's access log
 */
#include "base/json.h"
#include "collectors/weblog/weblog_format.h"

#include <math.h>
#include <strings.h>

/* The members that are read. If an object has several members for one field, the first of them in this table is used. */
static const struct {
    const char *name;
    enum col_web_field field;
} names[] = {
    {"time_iso8601", COL_WEB_TIME},
    {"time_local", COL_WEB_TIME},
    {"@timestamp", COL_WEB_TIME},
    {"timestamp", COL_WEB_TIME},
    {"time", COL_WEB_TIME},
    {"ts", COL_WEB_TIME},
    {"msec", COL_WEB_TIME},
    {"server_name", COL_WEB_DOMAIN},
    {"vhost", COL_WEB_DOMAIN},
    {"virtual_host", COL_WEB_DOMAIN},
    {"domain", COL_WEB_DOMAIN},
    {"http_host", COL_WEB_DOMAIN},
    {"host", COL_WEB_DOMAIN},
    {"request_uri", COL_WEB_PATH},
    {"uri", COL_WEB_PATH},
    {"path", COL_WEB_PATH},
    {"url", COL_WEB_PATH},
    {"request", COL_WEB_REQUEST},
    {"status", COL_WEB_STATUS},
    {"response", COL_WEB_STATUS},
    {"body_bytes_sent", COL_WEB_BYTES},
    {"bytes_sent", COL_WEB_BYTES},
    {"bytes", COL_WEB_BYTES},
    {"size", COL_WEB_BYTES},
    {"request_time", COL_WEB_TOOK_S},
    {"duration", COL_WEB_TOOK_S},
    {"duration_ms", COL_WEB_TOOK_MS},
    {"request_time_ms", COL_WEB_TOOK_MS},
    {"response_time_ms", COL_WEB_TOOK_MS},
    {"duration_us", COL_WEB_TOOK_US},
    {"request_time_us", COL_WEB_TOOK_US},
    {"remote_addr", COL_WEB_CLIENT},
    {"remote_ip", COL_WEB_CLIENT},
    {"client_ip", COL_WEB_CLIENT},
    {"http_referer", COL_WEB_REFERRER},
    {"http_user_agent", COL_WEB_AGENT},
    {"http_referrer", COL_WEB_REFERRER},
    {"referer", COL_WEB_REFERRER},
    {"referrer", COL_WEB_REFERRER},
};

/* Set a field from a JSON number in the unit of the field. A time of more than 11 digits is in ms, as everywhere in tsd. */
static const char *set_number(struct col_web_hit *h, enum col_web_field field, double v)
{
    static const char *const why = "a number makes no sense";
    if (!isfinite(v) || v < 0 || v > 9e15)
        return why;
    switch (field) {
    case COL_WEB_TIME:
        h->time_ms = (int64_t)(v >= 1e11 ? v : round(v * 1000));
        return NULL;
    case COL_WEB_STATUS:
        h->has_status = v < 1000;
        h->status = h->has_status ? (uint32_t)v : 0;
        return h->has_status ? NULL : why;
    case COL_WEB_BYTES:
        h->bytes = (uint64_t)v;
        return NULL;
    case COL_WEB_TOOK_S:
        h->took_us = (int64_t)round(v * 1e6 > 9e15 ? 9e15 : v * 1e6);
        return NULL;
    case COL_WEB_TOOK_MS:
        h->took_us = (int64_t)round(v * 1e3 > 9e15 ? 9e15 : v * 1e3);
        return NULL;
    case COL_WEB_TOOK_US:
        h->took_us = (int64_t)v;
        return NULL;
    default:
        return NULL; /* a number in place of a text is ignored */
    }
}

/* Copy a text, because the object is freed before the hit is used. scratch is large enough for all texts of the
 * line. */
static struct ts_slice keep(struct ts_buf *scratch, const json_t *value)
{
    size_t at = scratch->n;
    if (ts_buf_append(scratch, json_string_value(value), json_string_length(value)) < 0)
        return (struct ts_slice){NULL, 0};
    return (struct ts_slice){scratch->p + at, scratch->n - at};
}

static const char *object_set(const json_t *object, struct ts_buf *scratch, unsigned depth,
                              struct col_web_hit *h)
{
    uint32_t seen = 0;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        const json_t *value = json_object_get(object, names[i].name);
        const char *why = NULL;
        if (!value || json_is_null(value) || (seen >> names[i].field & 1))
            continue;
        if (json_is_object(value)) { /* Caddy: "request": {"host": ..., "uri": ...} */
            if (depth == 0)
                why = object_set(value, scratch, depth + 1, h);
        } else if (json_is_string(value)) {
            why = col_web_hit_set(h, names[i].field, keep(scratch, value));
            seen |= 1u << names[i].field;
        } else if (json_is_number(value)) {
            why = set_number(h, names[i].field, json_number_value(value));
            seen |= 1u << names[i].field;
        }
        if (why)
            return why;
    }
    return NULL;
}

/* Length in bytes of the UTF-8 character at p (RFC 3629); 0 = no character begins there. */
static size_t utf8_bytes(const unsigned char *p, size_t n)
{
    size_t want = p[0] < 0x80 ? 1 : p[0] >= 0xc2 && p[0] < 0xe0 ? 2 : (p[0] & 0xf0) == 0xe0 ? 3 : 4;
    if (want == 1 || want > n || p[0] < 0xc2 || p[0] > 0xf4)
        return want == 1;
    for (size_t i = 1; i < want; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    bool wrong = (p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
                 (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f);
    return wrong ? 0 : want;
}

/* Make valid JSON of a line into which the server wrote bytes of the client unescaped (nginx: escape=none) or as \xHH (nginx's default).
 * Each such byte becomes '_', as in names; a control character becomes a blank. False: the line has no such byte. */
static bool line_mend(struct ts_slice line, struct ts_buf *out)
{
    bool mended = false;
    for (size_t i = 0; i < line.n;) {
        size_t n = utf8_bytes((const unsigned char *)line.p + i, line.n - i);
        bool hex = line.p[i] == '\\' && i + 3 < line.n && line.p[i + 1] == 'x';
        bool pair = line.p[i] == '\\' && !hex && i + 1 < line.n && (unsigned char)line.p[i + 1] < 0x80;
        bool control = (unsigned char)line.p[i] < ' ';
        if (hex || !n || control)
            ts_buf_char(out, control ? ' ' : '_');
        else
            ts_buf_append(out, line.p + i, pair ? 2 : n);
        mended |= hex || !n || control;
        i += hex ? 4 : pair ? 2 : n ? n : 1;
    }
    return mended && !out->failed;
}

/* Parse a line as JSON; NULL if it is not. */
static json_t *line_load(struct ts_slice line)
{
    json_t *root = NULL;
    struct ts_buf text;
    if (ts_json_load(line, &root, NULL) == 0)
        return root;
    ts_buf_init(&text, 0);
    if (!line_mend(line, &text) || ts_json_load(ts_buf_get(&text), &root, NULL) < 0)
        root = NULL;
    ts_buf_release(&text);
    return root;
}

const char *col_web_json_parse(struct ts_slice line, struct ts_buf *scratch, struct col_web_hit *out)
{
    const char *why;
    col_web_hit_init(out);
    ts_buf_clear(scratch);
    if (!ts_buf_reserve(scratch,
                        line.n + 1)) /* no text is longer than its JSON, so the buffer never grows later */
        return "it is too long";
    json_t *object = line_load(line);
    if (!object)
        return "it is no JSON";
    if (!json_is_object(object))
        why = "it is no JSON object";
    else
        why = object_set(object, scratch, 0, out);
    json_decref(object);
    if (!why && out->time_ms == COL_WEB_NO_TIME)
        why = "it has no time";
    if (!why && !out->has_status &&
        !out->path.n) /* the object is no request, or its names are not in the table */
        why = "no status and no request are known in it";
    return why;
}
