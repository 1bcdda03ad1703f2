/*
 * weblog_kind.h - the format `auto`: detects which of the known formats the lines of a log have.
 *
 * Each file is examined once. Among its first COL_WEB_LOOK_LINES lines, the first one whose format is certain determines the format of
 * the file, which is stored with the file's place in the checkpoint. The format of a line is certain if the line is
 *
 *   json            an object with a time and a status
 *   vhost_combined  HOST:PORT client - user [time] "request" status bytes, alone or with "referrer" "agent"
 *   combined        address - user [time] "request" status bytes "referrer" "agent"
 *   common          address - user [time] "request" status bytes
 *   vhost_common    HOST address - user [time] "request" status bytes (Tomcat and Apache with %v in front)
 *   haproxy, cloudfront, iis: see their files; the last two by the line #Fields too
 *
 * and can't have another of these formats. The rules make sure that the host of a request is never overlooked:
 *
 *   - The second word of combined and common is '-'. lighttpd has the host there; such a line has neither format.
 *   - The first word of combined and common is an address, thus not a host.
 *   - Behind combined and common, only numbers, addresses, '-' and "unknown" may follow (times, X-Forwarded-For).
 *   - The referrer is a URL, '-' or empty. A log that has the host in this place is not taken for combined, unless one of its first lines
 *     has '-' there.
 *   - HOST is anything without a colon, or an IPv6 address in brackets. A client with a port is not taken for HOST:PORT, since a '-'
 *     follows it.
 *
 * Once the format of a file is known, each of its lines is still examined: a line whose format is certain is read by that format, since
 * a server's format may change in the middle of a file. Any other line (with a client name instead of an address, or with its end cut
 * off) is read by the format of the file if it fits, under the same rules about hosts. A line that fits no format is a bad line. The
 * result depends on the line and on the format of the file alone, so that reading a line again gives the same result.
 *
 * Threads    constant after it was made; any number of readers
 * Not here   keeping the decision (weblog_follow.h, weblog_state.h), named formats (weblog_format.h)
 * Source     Apache httpd.conf of Debian, nginx.conf of nginx.org ("main"), lighttpd's accesslog.format
 * (documentation)
 */
#ifndef COLLECTORS_WEBLOG_WEBLOG_KIND_H
#define COLLECTORS_WEBLOG_WEBLOG_KIND_H

#include "collectors/weblog/weblog_format.h"

#define COL_WEB_LOOK_LINES 50u /* non-empty lines, one of which must have a certain format */

#define COL_WEB_SHOWN      160 /* bytes for col_web_show */
#define COL_WEB_ODD_BYTES  600 /* for col_web_look_odd */
#define COL_WEB_KIND_BYTES 40  /* for col_web_kind_text */

/* The format of a file's lines. */
enum col_web_kind {
    COL_WEB_KIND_UNKNOWN, /* not decided yet, or its format has a name in the configuration */
    COL_WEB_KIND_JSON,
    COL_WEB_KIND_VHOST,
    COL_WEB_KIND_COMBINED,
    COL_WEB_KIND_COMMON,
    COL_WEB_KIND_HOST,             /* vhost_common */
    COL_WEB_KIND_HAPROXY,          /* this and the next two: weblog_own.h */
    COL_WEB_KIND_CLOUDFRONT,       /* see above */
    COL_WEB_KIND_IIS,              /* with its fields in the bits above COL_WEB_KIND_BITS */
    COL_WEB_KIND_NONE,             /* not found; lines whose own format is certain are still counted */
    COL_WEB_KIND_MOST = INT64_MAX, /* not a kind: makes the type wider than 32 bits */
};

/* The formats to choose from. */
struct col_web_auto;

/* The result of examining the first lines of a file. */
struct col_web_look {
    enum col_web_kind kind; /* COL_WEB_KIND_UNKNOWN: no line has a certain format */
    unsigned n_lines;       /* non-empty lines examined */
    struct ts_slice first;  /* the first of them; borrowed from the text */
};

/** Make the formats; never fails. */
struct col_web_auto *col_web_auto_new(void);
/** Use this kind for the lines of all files, instead of detecting one, until a line #Fields sets another. */
void col_web_auto_fix(struct col_web_auto *a, enum col_web_kind kind);
/** Free; NULL is harmless. */
void col_web_auto_free(struct col_web_auto *a);
/** Examine the first lines of a text; what follows its last line feed counts as a line too. Cost: at most
 * COL_WEB_LOOK_LINES lines. */
void col_web_auto_look(const struct col_web_auto *a, struct ts_slice text, struct ts_buf *scratch,
                       struct col_web_look *out);
/** Read one line of a file whose format is kind. Returns the same as col_web_line_parse. */
const char *col_web_auto_parse(const struct col_web_auto *a, enum col_web_kind kind, struct ts_slice line,
                               struct ts_buf *scratch, struct col_web_hit *out);
/** Name of a kind without its fields: "json", "vhost_combined", "combined", "common" ..., "none"; "" for COL_WEB_KIND_UNKNOWN. */
const char *col_web_kind_name(enum col_web_kind kind);
/** The kind without its fields. */
enum col_web_kind col_web_kind_base(enum col_web_kind kind);
/** Write the name and fields of a kind as text for a checkpoint. */
void col_web_kind_text(enum col_web_kind kind, char out[COL_WEB_KIND_BYTES]);
/** Parse the text of col_web_kind_text; COL_WEB_KIND_UNKNOWN if there is no such name. */
enum col_web_kind col_web_kind_of(const char *text);
/** Is the line a directive of the W3C extended format (#Version, #Fields, #Date ...), and so no request? #Fields sets
 * *kind to the kind of the lines below it, or to COL_WEB_KIND_NONE if the list of fields is not supported. */
bool col_web_kind_directive(struct ts_slice line, enum col_web_kind *kind);
/** Write the beginning of a line for a message: control characters become \t or \x00, "..." marks a truncated line. */
void col_web_show(struct ts_slice line, char *out, size_t out_bytes);
/** Guess by its first line what a file is that is not a web log. Returns a few words, or NULL. */
const char *col_web_guess(struct ts_slice first);
/** Write a message for a file whose format was not found: what happens to the file (what), which key to set, and its first line. */
void col_web_look_odd(const struct col_web_look *look, const char *what, char out[COL_WEB_ODD_BYTES]);

#endif
