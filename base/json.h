/*
 * json.h - JSON out: a writer into a ts_buf. (JSON in: jansson, with limits, through ts_json_load.)
 *
 * The writer puts commas by itself; the caller opens and closes in order. Errors stay in buf->failed.
 * Threads    one thread at a time
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "base/buf.h"
#include "base/err.h"

#include <jansson.h>
#include <stdint.h>

struct ts_json {
    struct ts_buf *buf; /* borrowed: where the text goes */
    bool comma;         /* a value was written at this level */
};
/** Begin writing values to buf. */
static inline void ts_json_init(struct ts_json *j, struct ts_buf *buf)
{
    j->buf = buf;
    j->comma = false;
}
/** Begin an object. */
void ts_json_obj(struct ts_json *j);
void ts_json_obj_end(struct ts_json *j); /* } */
void ts_json_arr(struct ts_json *j);     /* [ */
void ts_json_arr_end(struct ts_json *j); /* ] */
/** Member name; the next call writes its value. Escaped like strings. */
void ts_json_key(struct ts_json *j, const char *key);
/** Name of the next member, any bytes; escaped. */
void ts_json_key_slice(struct ts_json *j, struct ts_slice key);
/** Strings: UTF-8; bytes that are not valid UTF-8 become U+FFFD; control characters, quote and backslash are escaped. */
void ts_json_str(struct ts_json *j, const char *s);
/** A string, any bytes; escaped. */
void ts_json_slice(struct ts_json *j, struct ts_slice s);
/** A whole number. */
void ts_json_int(struct ts_json *j, int64_t v);
/** A number as Java prints it; NaN and infinity as strings. */
void ts_json_double(struct ts_json *j, double v);
void ts_json_bool(struct ts_json *j, bool v);
/** null. */
void ts_json_null(struct ts_json *j);
/** Text that is JSON already. */
void ts_json_raw(struct ts_json *j, struct ts_slice text);

/** Parse text (at most 64 levels deep, duplicate keys: the last wins, NaN refused). *out is the caller's (json_decref). TS_EPARSE with line and column. */
int ts_json_load(struct ts_slice text, json_t **out, struct ts_error *err);

#endif
