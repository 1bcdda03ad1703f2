/*
 * weblog_field.h - one request of a web server's log, and the interpretation of each field of a line.
 *
 * Threads    pure functions
 * Not here   order of fields (weblog_format.h), counting (weblog_count.h)
 */
#ifndef COLLECTORS_WEBLOG_WEBLOG_FIELD_H
#define COLLECTORS_WEBLOG_WEBLOG_FIELD_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

/* What a field of a line is. */
enum col_web_field {
    COL_WEB_NONE,     /* ignored */
    COL_WEB_LIST,     /* ignored; may hold ", " and " : " (addresses of proxies, times of upstreams) */
    COL_WEB_CLIENT,   /* the client: address or name */
    COL_WEB_DOMAIN,   /* virtual host, with or without port */
    COL_WEB_REFERRER, /* URL of the page that linked here */
    COL_WEB_AGENT,    /* user agent of the client */
    COL_WEB_TIME,     /* 17/May/2015:10:05:03 +0000 in brackets or not, ISO 8601, or seconds since 1970 */
    COL_WEB_TIME_S,   /* seconds since 1970, with a fraction or not */
    COL_WEB_TIME_MS,  /* the same in ms */
    COL_WEB_TIME_US,  /* the same in us */
    COL_WEB_REQUEST,  /* "GET /path HTTP/1.1" */
    COL_WEB_PATH,     /* "/path", with its query or not */
    COL_WEB_STATUS,   /* 200 */
    COL_WEB_BYTES,    /* bytes sent, '-' = 0 */
    COL_WEB_TOOK_S,   /* time the answer took in seconds, with a fraction or not */
    COL_WEB_TOOK_MS,  /* the same in ms */
    COL_WEB_TOOK_US,  /* the same in us */
};

#define COL_WEB_NO_TIME INT64_MIN

/* One request. Texts are as written, borrowed from the line. */
struct col_web_hit {
    int64_t time_ms;          /* time of the request; COL_WEB_NO_TIME = not stated */
    int64_t took_us;          /* duration; -1 = not stated */
    uint64_t bytes;           /* sent */
    uint32_t status;          /* 0 = none ('-') */
    bool has_status;          /* the line has a status field */
    struct ts_slice domain;   /* virtual host; n = 0: not said */
    struct ts_slice client;   /* the client */
    struct ts_slice referrer; /* URL */
    struct ts_slice agent;    /* user agent */
    struct ts_slice path;     /* of the request, with its query; n = 0: none or not understood */
};

/** Set all fields to their values for "not stated". */
void col_web_hit_init(struct col_web_hit *h);
/** Set a field from its text. Returns NULL, or in a few words why the line is bad. */
const char *col_web_hit_set(struct col_web_hit *h, enum col_web_field field, struct ts_slice value);
/** A time as logs write it: 17/May/2015:10:05:03 +0200 (in brackets or not),
 * 2015-05-17T10:05:03[.123][Z|+02:00] (a blank for the T; no
 *  zone is UTC), or seconds since 1970. Days that do not exist (31/Feb/2026) are rejected. */
bool col_web_time_parse(struct ts_slice s, int64_t *out_ms);

/** Reject a request whose time is more than a day later than now_ms: returns the reason; NULL if the time is
 * plausible. */
const char *col_web_too_late(const struct col_web_hit *h, int64_t now_ms);
/** Host of an URL or of a Host field: without scheme, user, port, path, brackets and a dot at its end. n = 0
 * if there is none. */
struct ts_slice col_web_host(struct ts_slice url);
/** The last two labels of a client's name (three below co.uk and the like); "ip" for an address. */
struct ts_slice col_web_site(struct ts_slice client);
/** The first depth folders of a path: "/a" of "/a/b/c?d" with depth 1, "/" of "/c". n = 0 if it does not
 * begin with '/'. The result is
 *  a part of path, except that further slashes ("/a//b") may be in it. */
struct ts_slice col_web_prefix(struct ts_slice path, unsigned depth);

#endif
