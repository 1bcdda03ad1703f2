/*
 * weblog_kind.h - the format `auto`: detects which of the known formats the lines of a log have.
 *
 * A file is looked at once. The first of its first COL_WEB_LOOK_LINES lines that is sure decides for all of it, and
 * the answer is kept with the file's place in the checkpoint. A line is sure to be
 *
 *   json            an object with a time and a status
 *   vhost_combined  HOST:PORT client - user [time] "request" status bytes, alone or with "referrer" "agent"
 *   combined        address - user [time] "request" status bytes "referrer" "agent"
 *   common          address - user [time] "request" status bytes
 *   vhost_common    HOST address - user [time] "request" status bytes (Tomcat and Apache with %v in front)
 *   haproxy, cloudfront, iis: see their files; the last two by the line #Fields too
 *
 * and no other, so that a host is never overlooked: with a '-' in second place that word is no host (lighttpd has one
 * there), an address in first place is none, and behind a line of the last two at most numbers, addresses, '-' and
 * "unknown" may follow (forwarded-for, times). The referrer of a sure line is an URL, '-' or empty (a log with its
 * host in that place, and '-' there now and then, is not recognised). HOST is anything without a colon, or an IPv6
 * address in brackets; a client with a port is no HOST:PORT, since a '-' follows it.
 *
 * Lines of a file that was decided are read as what they are: a sure one by its own format (servers change
 * theirs in the middle of a file), others (client with a name, end cut off) if they fit what was decided,
 * with the same care for hosts. What fits nothing is a bad line. All of it follows from the line and the
 * decision: whoever reads a line again finds the same.
 *
 * Threads    constant after it was made; any number of readers
 * Not here   keeping the decision (weblog_follow.h, weblog_state.h), named formats (weblog_format.h)
 * Source     Apache httpd.conf of Debian, nginx.conf of nginx.org ("main"), lighttpd's accesslog.format
 * (documentation)
 */
#ifndef COLLECTORS_WEBLOG_WEBLOG_KIND_H
#define COLLECTORS_WEBLOG_WEBLOG_KIND_H

#include "collectors/weblog/weblog_format.h"

#define COL_WEB_LOOK_LINES 50u /* lines, empty ones apart, among which one must be sure */

#define COL_WEB_SHOWN      160 /* bytes for col_web_show */
#define COL_WEB_ODD_BYTES  600 /* of a text about first lines */
#define COL_WEB_KIND_BYTES 40  /* for col_web_kind_text */

/* What the lines of a file are. */
enum col_web_kind {
    COL_WEB_KIND_UNKNOWN, /* not decided yet, or its format has a name in the configuration */
    COL_WEB_KIND_JSON,
    COL_WEB_KIND_VHOST,
    COL_WEB_KIND_COMBINED,
    COL_WEB_KIND_COMMON,
    COL_WEB_KIND_HOST,             /* vhost_common */
    COL_WEB_KIND_HAPROXY,          /* from here on: weblog_own.h */
    COL_WEB_KIND_CLOUDFRONT,       /* see above */
    COL_WEB_KIND_IIS,              /* with its fields in the bits above COL_WEB_KIND_BITS */
    COL_WEB_KIND_NONE,             /* given up: no line decided; those that are sure count nevertheless */
    COL_WEB_KIND_MOST = INT64_MAX, /* no kind: fields need more than 32 bits */
};

/* The formats to choose from. */
struct col_web_auto;

/* A look at first lines. */
struct col_web_look {
    enum col_web_kind kind; /* COL_WEB_KIND_UNKNOWN: no line is sure */
    unsigned n_lines;       /* looked at, empty ones apart */
    struct ts_slice first;  /* the first of them; borrowed from the text */
};

/** Make the formats; never fails. */
struct col_web_auto *col_web_auto_new(void);
/** Lines of all files are of this kind until a line #Fields says otherwise; nothing is looked for. */
void col_web_auto_fix(struct col_web_auto *a, enum col_web_kind kind);
/** Free; NULL is harmless. */
void col_web_auto_free(struct col_web_auto *a);
/** Look at the first lines of a text; what stands behind its last line feed is a line too. Cost: at most
 * COL_WEB_LOOK_LINES lines. */
void col_web_auto_look(const struct col_web_auto *a, struct ts_slice text, struct ts_buf *scratch,
                       struct col_web_look *out);
/** Read one line of a file that was decided to be kind. Same answers as col_web_line_parse. */
const char *col_web_auto_parse(const struct col_web_auto *a, enum col_web_kind kind, struct ts_slice line,
                               struct ts_buf *scratch, struct col_web_hit *out);
/** "json", "vhost_combined", "combined", "common" ...; "none"; "" for COL_WEB_KIND_UNKNOWN. Fields of its own are left out. */
const char *col_web_kind_name(enum col_web_kind kind);
/** The same without fields. */
enum col_web_kind col_web_kind_base(enum col_web_kind kind);
/** Its name and fields as text for a checkpoint. */
void col_web_kind_text(enum col_web_kind kind, char out[COL_WEB_KIND_BYTES]);
/** The other way; COL_WEB_KIND_UNKNOWN if there is no such name. */
enum col_web_kind col_web_kind_of(const char *text);
/** Is the line a directive of the W3C extended format (#Version, #Fields, #Date ...), and so no request? #Fields sets
 * *kind to that of the lines below; one that is not known sets it to COL_WEB_KIND_NONE. */
bool col_web_kind_directive(struct ts_slice line, enum col_web_kind *kind);
/** The beginning of a line for a message: bytes that can't be seen as \t or \x00, "..." if it continues. */
void col_web_show(struct ts_slice line, char *out, size_t out_bytes);
/** What a file whose first line is this one may be instead of a web log, in a few words; NULL. */
const char *col_web_guess(struct ts_slice first);
/** Text about first lines that decided nothing: what becomes of the file, which key helps, the first of them. */
void col_web_look_odd(const struct col_web_look *look, const char *what, char out[COL_WEB_ODD_BYTES]);

#endif
