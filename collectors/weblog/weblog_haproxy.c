/*
 * weblog_haproxy.c - parses HAProxy's HTTP log (option httplog), with or without the prefix of syslog.
 *
 *   Feb  6 12:14:14 lb haproxy[14389]: 10.0.1.2:33317 [06/Feb/2009:12:14:14.655] http-in static/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0
 *   {example.org} {} "GET /index.html HTTP/1.1"
 *
 * Times are those of the machine's zone. The domain is the host of an absolute URL (HTTP/2 and later), else the first captured header of the
 * request if it looks like a host (capture request header Host len 64).
 *
 * Threads    pure
 * Source     HAProxy Configuration Manual, 8.2.3 "HTTP log format"
 */
#include "collectors/weblog/weblog_own.h"

#include "base/cut.h"
#include "base/time.h"

#include <string.h>

#define DATE_BYTES 25u /* 06/Feb/2009:12:14:14.655] */
#define CLF_BYTES  20u /* 06/Feb/2009:12:14:14 */

/* A local time. */
static const char *haproxy_time(struct col_web_hit *h, struct ts_slice date, struct ts_buf *scratch)
{
    ts_buf_clear(scratch);
    ts_buf_append(scratch, date.p, CLF_BYTES);
    ts_buf_str(scratch, " +0000");
    const char *why = col_web_hit_set(h, COL_WEB_TIME, ts_buf_get(scratch));
    if (!why)
        h->time_ms = ts_tz_from_local(ts_tz_default(), h->time_ms);
    return why;
}

/* Find "ADDRESS:PORT [date] " and leave what follows it in *line. */
static bool haproxy_front(struct ts_slice *line, struct ts_slice *client, struct ts_slice *date)
{
    const char *end = line->p + line->n, *p = line->p;
    while ((p = p < end ? memmem(p, (size_t)(end - p), " [", 2) : NULL) != NULL) {
        const char *at = p + 2, *from = p;
        p++;
        if ((size_t)(end - at) < DATE_BYTES + 1 || at[DATE_BYTES - 1] != ']' || at[DATE_BYTES] != ' ' ||
            at[2] != '/' || at[20] != '.')
            continue;
        while (from > line->p && from[-1] != ' ')
            from--;
        *client = (struct ts_slice){from, (size_t)(at - 2 - from)};
        *date = (struct ts_slice){at, DATE_BYTES};
        *line = (struct ts_slice){at + DATE_BYTES + 1, (size_t)(end - at - DATE_BYTES - 1)};
        return client->n && memchr(client->p, ':', client->n);
    }
    return false;
}

static unsigned count_of(struct ts_slice s, char c)
{
    unsigned n = 0;
    for (size_t i = 0; i < s.n; i++)
        n += s.p[i] == c;
    return n;
}

/* Set the duration from the last of TR/Tw/Tc/Tr/Ta, in ms; it is -1 for an aborted request. */
static const char *haproxy_took(struct col_web_hit *h, struct ts_slice timers)
{
    const char *slash = memrchr(timers.p, '/', timers.n);
    if (!slash || count_of(timers, '/') != 4)
        return "it is not of this format";
    struct ts_slice last = {slash + 1, (size_t)(timers.p + timers.n - slash - 1)};
    if (last.n && *last.p == '+')
        last = (struct ts_slice){last.p + 1, last.n - 1};
    return last.n && *last.p == '-' ? NULL : col_web_hit_set(h, COL_WEB_TOOK_MS, last);
}

/* {a|b}: the first of them, if it may be a host. */
static void haproxy_capture(struct col_web_hit *h, struct ts_slice braces)
{
    size_t n = 0;
    while (n < braces.n && braces.p[n] != '|' && braces.p[n] != '}')
        n++;
    struct ts_slice host = {braces.p, n};
    bool fits = n && memchr(host.p, '.', n);
    for (size_t i = 0; fits && i < n; i++)
        fits = (host.p[i] >= 'a' && host.p[i] <= 'z') || (host.p[i] >= 'A' && host.p[i] <= 'Z') ||
               (host.p[i] >= '0' && host.p[i] <= '9') || strchr(".-:", host.p[i]);
    if (fits)
        (void)col_web_hit_set(h, COL_WEB_DOMAIN, host);
}

/* "GET /index.html HTTP/1.1", the end of the line. */
static void haproxy_request(struct col_web_hit *h, struct ts_slice line)
{
    const char *from = memchr(line.p, '"', line.n);
    struct ts_slice text = {from + 1, (size_t)(line.p + line.n - from - 1)};
    text.n -= text.n && text.p[text.n - 1] == '"';
    (void)col_web_hit_set(h, COL_WEB_REQUEST, text);
    bool url = h->path.n && h->path.p[0] != '/' && memmem(h->path.p, h->path.n, "://", 3);
    if (url)
        h->domain = col_web_host(h->path);
}

static const char *haproxy_parse(enum col_web_kind kind, struct ts_slice line, struct ts_buf *scratch,
                                 struct col_web_hit *out)
{
    struct ts_slice client, date,
        w[9]; /* frontend, server, timers, status, bytes, two cookies, state, connections */
    (void)kind;
    col_web_hit_init(out);
    if (!haproxy_front(&line, &client, &date))
        return "it is not of this format";
    for (unsigned i = 0; i < 9; i++) {
        w[i] = ts_slice_cut(&line, ' ');
        if (!w[i].n)
            return "it is not of this format";
    }
    if (!memchr(w[1].p, '/', w[1].n) || w[7].n != 4 || count_of(w[8], '/') != 4 || !line.n ||
        !memchr(line.p, '"', line.n))
        return "it is not of this format";
    const char *why = haproxy_time(out, date, scratch);
    why = why ? why : haproxy_took(out, w[2]);
    if (!why)
        why = col_web_hit_set(out, COL_WEB_STATUS, ts_slice_is(w[3], "-1") ? TS_SLICE_LIT("-") : w[3]);
    if (w[4].p[0] == '+')
        w[4] = (struct ts_slice){w[4].p + 1, w[4].n - 1};
    why = why ? why : col_web_hit_set(out, COL_WEB_BYTES, w[4]);
    if (why)
        return why;
    const char *colon = memrchr(client.p, ':', client.n);
    (void)col_web_hit_set(out, COL_WEB_CLIENT, (struct ts_slice){client.p, (size_t)(colon - client.p)});
    const char *brace = memchr(line.p, '{', line.n), *quote = memchr(line.p, '"', line.n);
    if (brace && brace < quote)
        haproxy_capture(out, (struct ts_slice){brace + 1, (size_t)(quote - brace - 1)});
    haproxy_request(out, line);
    return NULL;
}

const struct col_web_own col_web_haproxy = {
    .name = "haproxy", .kind = COL_WEB_KIND_HAPROXY, .parse = haproxy_parse};
