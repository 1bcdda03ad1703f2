/*
 * fields.h - cuts texts of /proc into lines, words and numbers.
 *
 * Threads    pure functions
 * Not here   reading files (source.h)
 */
#ifndef COLLECTORS_CORE_FIELDS_H
#define COLLECTORS_CORE_FIELDS_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

/** Take the next line off the front of *text, without its end. False at the end. */
bool col_line_next(struct ts_slice *text, struct ts_slice *out_line);
/** Take the next word (up to a blank, tab or line break) off the front of *line. False if there is none. */
bool col_word_next(struct ts_slice *line, struct ts_slice *out_word);
/** Take the next word, which must be an unsigned number (values above 2^64 - 1 are refused). False leaves *line alone. */
bool col_u64_next(struct ts_slice *line, uint64_t *out);
/** A whole slice as an unsigned number. */
bool col_u64_of(struct ts_slice s, uint64_t *out);
/** A whole slice as a signed number. */
bool col_i64_of(struct ts_slice s, int64_t *out);
/** Up to max numbers of the rest of a line into out; stops at the first word that is not a number. Returns how many. */
unsigned col_u64_row(struct ts_slice line, uint64_t *out, unsigned max);
/** Does s begin with prefix? If so, prefix is removed from it. */
bool col_prefix_take(struct ts_slice *s, const char *prefix);
/** Without blanks at both ends. */
struct ts_slice col_trim(struct ts_slice s);
/** The next entry of a list that is not blank, without blanks at both ends; *text continues behind it. False: there is none. */
bool col_list_next(const char **text, char separator, struct ts_slice *out);
/** Does name match any of the comma-separated shell patterns (* ? [a-z])? Empty patterns match nothing. */
bool col_match_any(const char *patterns, struct ts_slice name);

#endif
