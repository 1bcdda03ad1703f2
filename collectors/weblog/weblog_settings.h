/*
 * weblog_settings.h - writes the keys that determine the series and times of a log's points as one line of text, and reads it back.
 *
 * The journal (weblog_journal.h) stores this line with each import: "KEY=VALUE<TAB>KEY=VALUE...". A tab, line feed or percent sign in a
 * value is written as % and two hexadecimal digits.
 *
 * Threads    pure functions
 */
#ifndef COLLECTORS_WEBLOG_WEBLOG_SETTINGS_H
#define COLLECTORS_WEBLOG_WEBLOG_SETTINGS_H

#include "base/buf.h"
#include "base/conf.h"

/** Write the keys that determine series and times, with their values, as a line of text without a line feed. */
void col_web_settings_get(const struct ts_conf *conf, struct ts_buf *out);
/** Create a configuration that has the values of such a text and follows no log; the caller frees it. Returns NULL if the text can't be
 * parsed. */
struct ts_conf *col_web_settings_conf(const char *settings);
/** Describe how two such texts differ, as "KEY = OLD (now NEW), ...", truncated to fit out. */
void col_web_settings_differ(const char *before, const char *now, char *out, size_t out_bytes);
/** Append a value with its separators encoded. */
void col_web_text_append(struct ts_buf *out, const char *value);
/** Decode such a value into out, which is cleared before. */
void col_web_text_decode(struct ts_slice text, struct ts_buf *out);

#endif
