/*
 * weblog_format.h - parses the format of a log to a list of texts and fields, and parses lines by it.
 *
 * A format is a name (common, combined, vhost_combined, json), or a string like nginx's log_format
 * ($remote_addr ...) or Apache's LogFormat (%h ...): a string with a '$' followed by a letter or brace is
 * nginx's, any other one with a '%' is Apache's.
 *
 *   "GET / HTTP/1.1" 200        <- [text "\""] REQUEST [text "\" "] STATUS ...
 *
 * Threads    constant after it was made; any number of readers
 * Not here   what a field's text means (weblog_field.h), JSON lines (weblog_json.c), the format `auto` (weblog_kind.h)
 * Source     nginx ngx_http_log_module, Apache mod_log_config (documentation)
 */
#ifndef COLLECTORS_WEBLOG_WEBLOG_FORMAT_H
#define COLLECTORS_WEBLOG_WEBLOG_FORMAT_H

#include "base/buf.h"
#include "base/err.h"
#include "collectors/weblog/weblog_field.h"

#include <stdbool.h>

struct col_web_format;

/** Make a format from its name or string. TS_EINVAL with the reason: an unknown name or variable, no time, or
 * two fields with nothing between them. */
int col_web_format_new(struct ts_slice text, struct col_web_format **out, struct ts_error *err);
/** Free; NULL is ignored. */
void col_web_format_free(struct col_web_format *f);
/** Read one line (without its end). Texts of *out are borrowed from line, or, for JSON, from scratch (cleared first).
 *  @return NULL; or why the line is bad, in a few words (static text): *out is not to be used then */
const char *col_web_line_parse(const struct col_web_format *f, struct ts_slice line, struct ts_buf *scratch,
                               struct col_web_hit *out);

/** One line of JSON (an object); names of members are those of nginx's variables and what is usual elsewhere, see the table in
 *  weblog_json.c. Same answers as col_web_line_parse. */
const char *col_web_json_parse(struct ts_slice line, struct ts_buf *scratch, struct col_web_hit *out);

#endif
