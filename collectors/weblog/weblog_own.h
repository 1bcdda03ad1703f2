/*
 * weblog_own.h - formats whose lines are not a list of texts and fields; each has a file and a row of the table.
 *
 * Logs of the W3C extended format say in a line "#Fields: ..." what stands where. That is a part of what their lines
 * are: a kind holds its number (COL_WEB_KIND_...) in the low COL_WEB_KIND_BITS bits, and where which fields are
 * above.
 *
 * Threads    pure
 * Not here   choosing among formats (weblog_kind.h)
 */
#ifndef COLLECTORS_WEBLOG_WEBLOG_OWN_H
#define COLLECTORS_WEBLOG_WEBLOG_OWN_H

#include "collectors/weblog/weblog_kind.h"

#include <stdbool.h>

#define COL_WEB_KIND_BITS 8u

/* A format. */
struct col_web_own {
    const char *name;       /* for keys and messages */
    enum col_web_kind kind; /* its number, without fields */
    /** Read one line of this kind (with its fields); answers as col_web_line_parse. */
    const char *(*parse)(enum col_web_kind kind, struct ts_slice line, struct ts_buf *scratch,
                         struct col_web_hit *out);
    /** What follows "#Fields: ": the kind of the lines below, or COL_WEB_KIND_UNKNOWN. NULL = its kind can be
     * detected from each line. */
    enum col_web_kind (*fields)(struct ts_slice names);
};
extern const struct col_web_own col_web_haproxy, col_web_iis, col_web_cloudfront;

/** All of them, ended by NULL. */
extern const struct col_web_own *const col_web_owns[];
/** The one of a kind; NULL. */
const struct col_web_own *col_web_own_of(enum col_web_kind kind);
/** The one of a name; NULL. */
const struct col_web_own *col_web_own_named(struct ts_slice name);
/** Set the time from a date and a time of day in UTC, as words of their own. NULL, or why the line is bad. */
const char *col_web_date_time(struct col_web_hit *h, struct ts_slice date, struct ts_slice time,
                              struct ts_buf *scratch);

#endif
