/*
 * weblog_logs.h - reads the keys collect_weblog*: the logs to follow, the formats of their lines, the domains of requests.
 *
 *   collect_weblog = /var/log/nginx/access.log, vhost_combined:/var/log/apache2/other_vhosts_access.log, json:/srv/a.log=example.org
 *                    [FORMAT:]PATTERN[=DOMAIN], ...
 *
 * Threads    constant after it was made
 * Not here   following (weblog_follow.h)
 */
#ifndef COLLECTORS_WEBLOG_WEBLOG_LOGS_H
#define COLLECTORS_WEBLOG_WEBLOG_LOGS_H

#include "base/conf.h"
#include "collectors/weblog/weblog_count.h"
#include "collectors/weblog/weblog_kind.h"

#include <stdbool.h>

/* Where the domain of a request comes from. */
enum col_web_from {
    COL_WEB_FROM_AUTO,     /* virtual host of the line; a line without one: the name of its file */
    COL_WEB_FROM_VHOST,    /* virtual host of the line */
    COL_WEB_FROM_FILE,     /* name of the file */
    COL_WEB_FROM_REFERRER, /* host of the page that linked here */
    COL_WEB_FROM_CLIENT,   /* the last labels of the client's name */
    COL_WEB_FROM_NAME,     /* fixed */
};

/* An entry of collect_weblog. */
struct col_web_log {
    char *pattern;                 /* pattern of paths, owned */
    bool wild;                     /* the pattern contains * ? or [ */
    struct col_web_format *format; /* format of lines, owned; NULL = detected for each file */
    struct col_web_auto *detect;   /* detects it then, owned; else NULL */
    enum col_web_from from;        /* source of the domain */
    char *name;                    /* with COL_WEB_FROM_NAME, owned; else NULL */
};

/* All entries. */
struct col_web_logs {
    struct col_web_log *logs; /* owned */
    uint32_t n;               /* entries */
};

/** Read the keys. TS_EINVAL names the key and what is wrong with it. */
int col_web_logs_init(struct col_web_logs *l, const struct ts_conf *conf, struct ts_error *err);
/** Initialise a log that is not followed. format and domain have the syntax of the keys collect_weblog_format and
 * collect_weblog_domain. */
int col_web_log_init(struct col_web_log *log, const char *format, const char *domain, struct ts_error *err);
/** Find the entry whose pattern matches a path, which may be that of a rotated file; NULL = none. */
const struct col_web_log *col_web_logs_find(const struct col_web_logs *l, const char *path);
/** Is the file at path followed as a current one? */
bool col_web_logs_follow(const struct col_web_logs *l, const char *path);
/** Release all entries; idempotent. */
void col_web_logs_release(struct col_web_logs *l);
/** Release one entry. */
void col_web_log_release(struct col_web_log *log);
/** Limits of counting from the keys; TS_EINVAL: a bucket length that does not divide a quarter of an hour. */
int col_web_limits_get(const struct ts_conf *conf, struct col_web_limits *out, struct ts_error *err);
/** Read one line of a file whose lines are of a kind (COL_WEB_KIND_UNKNOWN if the log has a format). Returns the same
 * as col_web_line_parse. */
const char *col_web_log_parse(const struct col_web_log *log, enum col_web_kind kind, struct ts_slice line,
                              struct ts_buf *scratch, struct col_web_hit *out);
/** Domain of a request read from the file path; n = 0: none. Borrowed from the hit, the log or the path. */
struct ts_slice col_web_domain(const struct col_web_log *log, const char *path, const struct col_web_hit *h);

#endif
