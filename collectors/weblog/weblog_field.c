/*
 * weblog_field.c - parses times, numbers, requests, hosts and paths as web servers write them.
 *
 * Threads    pure
 * Source     Apache mod_log_config, nginx ngx_http_log_module (documentation of both)
 */
#include "collectors/weblog/weblog_field.h"

#include "base/time.h"
#include "collectors/core/fields.h"

#include <strings.h>

#define CLF_TIME_BYTES 26 /* 17/May/2015:10:05:03 +0000 */

void col_web_hit_init(struct col_web_hit *h)
{
    *h = (struct col_web_hit){.time_ms = COL_WEB_NO_TIME, .took_us = -1};
}

/* --- numbers and times --- */

/* Parse a decimal number, with or without a fraction, and multiply it by unit: with unit 1000, "0.5" gives 500. The result is at most 2^62;
 * digits of the fraction below the unit are cut off. */
static bool web_decimal(struct ts_slice s, int64_t unit, int64_t *out)
{
    const char *dot = s.n ? memchr(s.p, '.', s.n) : NULL;
    uint64_t whole;
    if (!col_u64_of((struct ts_slice){s.p, dot ? (size_t)(dot - s.p) : s.n}, &whole) ||
        whole > (uint64_t)(INT64_MAX / 2 / unit))
        return false;
    int64_t v = (int64_t)whole * unit;
    for (const char *p = dot ? dot + 1 : s.p + s.n; p < s.p + s.n; p++) {
        if (*p < '0' || *p > '9')
            return false;
        unit /= 10;
        v += (*p - '0') * unit;
    }
    *out = v;
    return true;
}

/* Parse n digits at p; false if one of the bytes is not a digit. */
static bool digits(const char *p, unsigned n, int32_t *out)
{
    int32_t v = 0;
    for (unsigned i = 0; i < n; i++) {
        if (p[i] < '0' || p[i] > '9')
            return false;
        v = v * 10 + (p[i] - '0');
    }
    *out = v;
    return true;
}

/* Parse the offset of a time zone: "+0200", "+02:00", "-0830", "Z" or nothing. */
static bool zone(struct ts_slice s, int64_t *out_ms)
{
    int32_t h = 0, m = 0;
    *out_ms = 0;
    if (!s.n || (s.n == 1 && (s.p[0] == 'Z' || s.p[0] == 'z')))
        return true;
    if ((s.p[0] != '+' && s.p[0] != '-') || s.n < 3 || !digits(s.p + 1, 2, &h))
        return false;
    struct ts_slice rest = {s.p + 3, s.n - 3};
    if (rest.n == 3 && rest.p[0] == ':')
        rest = (struct ts_slice){rest.p + 1, 2};
    if ((rest.n && (rest.n != 2 || !digits(rest.p, 2, &m))) || h > 18 || m > 59)
        return false;
    *out_ms = (s.p[0] == '-' ? -1 : 1) * (h * 60 + m) * 60000ll;
    return true;
}

/* Does this date exist? ts_civil_to_ms would accept 31 February as 3 March. */
static bool is_day(int32_t y, int32_t mon, int32_t d)
{
    if (y < 1970 || mon < 1 || mon > 12 || d < 1 || d > 31)
        return false;
    return d <= 28 || ts_civil_from_ms(NULL, ts_civil_to_ms(y, mon, d, 0, 0, 0)).day == d;
}

static bool civil_ms(int32_t y, int32_t mon, int32_t d, const char *clock, int64_t *out_ms)
{
    int32_t h, m, s;
    if (!digits(clock, 2, &h) || clock[2] != ':' || !digits(clock + 3, 2, &m) || clock[5] != ':' ||
        !digits(clock + 6, 2, &s))
        return false;
    if (!is_day(y, mon, d) || h > 23 || m > 59 || s > 60)
        return false;
    *out_ms = ts_civil_to_ms(y, mon, d, h, m, s);
    return true;
}

static bool time_clf(struct ts_slice s, int64_t *out_ms)
{
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    int32_t d, y, mon = 0;
    int64_t off_ms;
    if (s.n != CLF_TIME_BYTES || s.p[2] != '/' || s.p[6] != '/' || s.p[11] != ':' || s.p[20] != ' ')
        return false;
    while (mon < 12 && strncasecmp(months + 3 * mon, s.p + 3, 3) != 0)
        mon++;
    if (!digits(s.p, 2, &d) || !digits(s.p + 7, 4, &y) || !civil_ms(y, mon + 1, d, s.p + 12, out_ms) ||
        !zone((struct ts_slice){s.p + 21, 5}, &off_ms))
        return false;
    *out_ms -= off_ms;
    return true;
}

static bool time_iso(struct ts_slice s, int64_t *out_ms)
{
    int32_t y, mon, d;
    int64_t off_ms, frac_ms = 0, unit = 100;
    if (s.n < 19 || s.p[4] != '-' || s.p[7] != '-' || (s.p[10] != 'T' && s.p[10] != ' '))
        return false;
    if (!digits(s.p, 4, &y) || !digits(s.p + 5, 2, &mon) || !digits(s.p + 8, 2, &d) ||
        !civil_ms(y, mon, d, s.p + 11, out_ms))
        return false;
    size_t i = 19;
    if (i < s.n && (s.p[i] == '.' || s.p[i] == ','))
        for (i++; i < s.n && s.p[i] >= '0' && s.p[i] <= '9'; i++, unit /= 10)
            frac_ms += (s.p[i] - '0') * unit;
    while (i < s.n && s.p[i] == ' ')
        i++;
    if (!zone((struct ts_slice){s.p + i, s.n - i}, &off_ms))
        return false;
    *out_ms += frac_ms - off_ms;
    return true;
}

bool col_web_time_parse(struct ts_slice s, int64_t *out_ms)
{
    if (s.n >= 2 && s.p[0] == '[' && s.p[s.n - 1] == ']')
        s = (struct ts_slice){s.p + 1, s.n - 2};
    return time_clf(s, out_ms) || time_iso(s, out_ms) || (s.n >= 9 && web_decimal(s, 1000, out_ms));
}

/* --- fields --- */

static bool is_dash(struct ts_slice s)
{
    return s.n == 0 || (s.n == 1 && s.p[0] == '-');
}

/* The path of "GET /path HTTP/1.1" or "GET /path". Anything else, such as the bytes of a TLS handshake, has no path. */
static struct ts_slice request_path(struct ts_slice s)
{
    struct ts_slice method, path;
    if (!col_word_next(&s, &method) || !col_word_next(&s, &path))
        return (struct ts_slice){NULL, 0};
    return path;
}

static const char *set_took(struct col_web_hit *h, struct ts_slice value, int64_t unit)
{
    if (is_dash(value) || web_decimal(value, unit, &h->took_us))
        return NULL;
    return "the time the answer took is no number";
}

static const char *set_time(struct col_web_hit *h, bool ok)
{
    if (ok)
        return NULL;
    h->time_ms = COL_WEB_NO_TIME;
    return "the time can't be read";
}

static const char *set_number(struct col_web_hit *h, enum col_web_field field, struct ts_slice value)
{
    uint64_t v = 0;
    bool ok = is_dash(value) || col_u64_of(value, &v);
    if (field == COL_WEB_BYTES) {
        h->bytes = ok ? v : 0;
        return ok && v <= INT64_MAX ? NULL : "the number of bytes is no number";
    }
    h->has_status = ok && v < 1000;
    h->status = h->has_status ? (uint32_t)v : 0;
    return h->has_status ? NULL : "the status is no number";
}

const char *col_web_hit_set(struct col_web_hit *h, enum col_web_field field, struct ts_slice value)
{
    int64_t us;
    switch (field) {
    case COL_WEB_NONE:
    case COL_WEB_LIST:
        break;
    case COL_WEB_CLIENT:
        h->client = value;
        break;
    case COL_WEB_DOMAIN:
        if (!h->domain.n && !is_dash(value))
            h->domain = value;
        break;
    case COL_WEB_REFERRER:
        h->referrer = value;
        break;
    case COL_WEB_AGENT:
        h->agent = value;
        break;
    case COL_WEB_TIME:
        return set_time(h, col_web_time_parse(value, &h->time_ms));
    case COL_WEB_TIME_S:
        return set_time(h, web_decimal(value, 1000, &h->time_ms));
    case COL_WEB_TIME_MS:
        return set_time(h, web_decimal(value, 1, &h->time_ms));
    case COL_WEB_TIME_US:
        if (!web_decimal(value, 1, &us))
            return set_time(h, false);
        h->time_ms = us / 1000;
        break;
    case COL_WEB_REQUEST:
        h->path = request_path(value);
        break;
    case COL_WEB_PATH:
        h->path = value;
        break;
    case COL_WEB_STATUS:
    case COL_WEB_BYTES:
        return set_number(h, field, value);
    case COL_WEB_TOOK_S:
        return set_took(h, value, 1000000);
    case COL_WEB_TOOK_MS:
        return set_took(h, value, 1000);
    case COL_WEB_TOOK_US:
        return set_took(h, value, 1);
    }
    return NULL;
}

/* --- parts of URLs --- */

static size_t find_text(struct ts_slice s, const char *what)
{
    const char *p = s.n ? memmem(s.p, s.n, what, strlen(what)) : NULL;
    return p ? (size_t)(p - s.p) : s.n;
}

static struct ts_slice behind(struct ts_slice s, size_t n)
{
    return (struct ts_slice){s.p + n, s.n - n};
}

const char *col_web_too_late(const struct col_web_hit *h, int64_t now_ms)
{
    return h->time_ms > now_ms + TS_DAY_MS ? "its time is in the future" : NULL;
}

struct ts_slice col_web_host(struct ts_slice url)
{
    size_t at = find_text(url, "://");
    if (is_dash(url))
        return (struct ts_slice){NULL, 0};
    if (at < url.n)
        url = behind(url, at + 3);
    for (at = 0; at < url.n && !strchr("/?#", url.p[at]); at++)
        ;
    url.n = at;
    const char *user = url.n ? memrchr(url.p, '@', url.n) : NULL;
    if (user)
        url = behind(url, (size_t)(user + 1 - url.p));
    if (url.n && url.p[0] == '[') {
        at = find_text(url, "]");
        return (struct ts_slice){url.p + 1, at - 1};
    }
    const char *colon = url.n ? memchr(url.p, ':', url.n) : NULL;
    if (colon && memchr(colon + 1, ':', (size_t)(url.p + url.n - colon - 1)) == NULL)
        url.n = (size_t)(colon - url.p); /* two colons: an IPv6 address without brackets */
    while (url.n && url.p[url.n - 1] == '.')
        url.n--;
    return url;
}

struct ts_slice col_web_site(struct ts_slice client)
{
    struct ts_slice host = col_web_host(client), labels[3] = {{NULL, 0}};
    bool address = true;
    unsigned n = 0;
    if (!host.n)
        return host;
    for (size_t i = 0; i < host.n && address; i++)
        address = strchr("0123456789abcdefABCDEF.:", host.p[i]) != NULL && host.p[i] != '\0';
    if (address && (memchr(host.p, ':', host.n) || (host.p[host.n - 1] >= '0' && host.p[host.n - 1] <= '9')))
        return TS_SLICE_LIT("ip");
    const char *end = host.p + host.n;
    for (const char *p = end; p > host.p && n < 3; p--)
        if (p[-1] == '.' || p - 1 == host.p) {
            const char *from = p[-1] == '.' ? p : p - 1;
            labels[n++] = (struct ts_slice){from, (size_t)(end - from)}; /* the last n + 1 labels */
        }
    bool country = n == 3 && labels[0].n == 2 && labels[1].n - labels[0].n - 1 <= 3;
    return labels[country ? 2 : n >= 2 ? 1 : 0];
}

struct ts_slice col_web_prefix(struct ts_slice path, unsigned depth)
{
    size_t at = find_text(path, "://"), i;
    if (path.n && path.p[0] != '/' && at < path.n) { /* a proxy's request: http://host/path */
        path = behind(path, at + 3);
        path = behind(path, find_text(path, "/"));
    }
    if (!path.n || path.p[0] != '/')
        return (struct ts_slice){NULL, 0};
    for (i = 0; i < path.n && path.p[i] != '?' && path.p[i] != '#'; i++)
        ;
    path.n = i;
    size_t end = 1;
    unsigned n = 0;
    for (i = 1; i < path.n && n < depth; i++)
        if (path.p[i] == '/' && path.p[i - 1] != '/') {
            end = i;
            n++;
        }
    return (struct ts_slice){path.p, n ? end : 1};
}
