/*
 * weblog_settings.h - the keys that decide about series and times of the points of a log, as a line of text.
 *
 * The journal (weblog_journal.h) keeps them beside each import: "KEY=VALUE<TAB>KEY=VALUE...". Tabs, ends of lines and percent signs of a
 * value are written as % and two digits.
 *
 * Threads    pure functions
 */
#ifndef COLLECTORS_WEBLOG_WEBLOG_SETTINGS_H
#define COLLECTORS_WEBLOG_WEBLOG_SETTINGS_H

#include "base/buf.h"
#include "base/conf.h"

/** The keys that decide about series and times, with their values, as a line of text without its end. */
void col_web_settings_get(const struct ts_conf *conf, struct ts_buf *out);
/** A new configuration with the values of such a text and nothing followed; the caller frees it. NULL: the text is none. */
struct ts_conf *col_web_settings_conf(const char *settings);
/** What differs between two such texts, "KEY = OLD (now NEW), ...", cut to fit. */
void col_web_settings_differ(const char *before, const char *now, char *out, size_t out_bytes);
/** Append a value with its separators encoded. */
void col_web_text_append(struct ts_buf *out, const char *value);
/** Decode such a value into out, which is cleared before. */
void col_web_text_decode(struct ts_slice text, struct ts_buf *out);

#endif
