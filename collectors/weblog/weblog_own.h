/*
 * weblog_own.h - formats that a list of texts and fields can't describe; each has a parser in a file of its own and a row of the table.
 *
 * Logs of the W3C extended format list the fields of their lines in a line "#Fields: ...". The positions of the fields are stored in the
 * kind: its low COL_WEB_KIND_BITS bits are the number (COL_WEB_KIND_...), the bits above them the positions.
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
    /** Read one line of this kind (which includes its fields). Returns the same as col_web_line_parse. */
    const char *(*parse)(enum col_web_kind kind, struct ts_slice line, struct ts_buf *scratch,
                         struct col_web_hit *out);
    /** Parse what follows "#Fields: ". Returns the kind of the lines below it, or COL_WEB_KIND_UNKNOWN. NULL = the format
     * has no such line. */
    enum col_web_kind (*fields)(struct ts_slice names);
};
extern const struct col_web_own col_web_haproxy, col_web_iis, col_web_cloudfront;

/** All these formats, ended by NULL. */
extern const struct col_web_own *const col_web_owns[];
/** Find the format of a kind; NULL = none. */
const struct col_web_own *col_web_own_of(enum col_web_kind kind);
/** Find the format with a name; NULL = none. */
const struct col_web_own *col_web_own_named(struct ts_slice name);
/** Set the time from two words, a date and a time of day in UTC. Returns NULL, or why the line is bad. */
const char *col_web_date_time(struct col_web_hit *h, struct ts_slice date, struct ts_slice time,
                              struct ts_buf *scratch);

#endif
