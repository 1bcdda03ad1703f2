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

/* Members of an object, name and value at once: the bytes of ts_json_key and of the call above for such a value. */
/** A member that begins an object; ts_json_obj_end ends it. */
void ts_json_member_obj(struct ts_json *j, const char *key);
/** A member that begins a list; ts_json_arr_end ends it. */
void ts_json_member_arr(struct ts_json *j, const char *key);
/** A string that is there: s is never NULL. */
void ts_json_member_str(struct ts_json *j, const char *key, const char *s);
/** A string, any bytes; "" if there are none. */
void ts_json_member_slice(struct ts_json *j, const char *key, struct ts_slice s);
/** A string whose name is any bytes too: a tag, a header. */
void ts_json_member_slices(struct ts_json *j, struct ts_slice key, struct ts_slice s);
/** A string, null if it was not given (p == NULL); given and empty is "". */
void ts_json_member_given(struct ts_json *j, const char *key, struct ts_slice s);
/** A string, null if it is empty (n == 0), given or not. */
void ts_json_member_filled(struct ts_json *j, const char *key, struct ts_slice s);
/** A whole number. */
void ts_json_member_int(struct ts_json *j, const char *key, int64_t v);
/** A count, an id, an offset: the 64 bits as int64_t, so from 2^63 on negative. */
void ts_json_member_count(struct ts_json *j, const char *key, uint64_t n);
/** A number as Java prints it; NaN and infinity as strings. */
void ts_json_member_double(struct ts_json *j, const char *key, double v);
/** true or false. */
void ts_json_member_bool(struct ts_json *j, const char *key, bool v);
/** null. */
void ts_json_member_null(struct ts_json *j, const char *key);
/** Text that is JSON already. */
void ts_json_member_raw(struct ts_json *j, const char *key, struct ts_slice text);

#define TS_JSON_MAX_VALUES_DEFAULT 500000 /* see ts_json_set_max_values */

/** Most values of a text that ts_json_load takes (default TS_JSON_MAX_VALUES_DEFAULT): elements of arrays and members of
 * objects, counted before any memory is taken. A tree takes up to 192 bytes a value, and 140 more an object. Call before threads start. */
void ts_json_set_max_values(size_t max);
size_t ts_json_max_values(void); /* as set */
/** TS_ELIMIT with a text that names json_max_values. */
int ts_json_too_large(struct ts_error *err);
/** TS_ENOMEM for a body of n_bytes that finds no memory, with a text that names http_body_total_bytes. */
int ts_json_no_memory(size_t n_bytes, struct ts_error *err);

struct ts_budget;
/** Count the memory of all trees in an account from now on, which outlives them; NULL: in none. Before threads start, or after they have ended, without a
 * tree. */
void ts_json_count_in(struct ts_budget *account);
/** What this thread loads from now on belongs to a body that is small: others leave a quarter of the account to those. True at first. */
void ts_json_small(bool small);

#define TS_JSON_UNKNOWN_BYTES 256
/* Unknown members of a document. */
struct ts_json_unknown {
    char names
        [TS_JSON_UNKNOWN_BYTES]; /* "group, alias": each once, without characters that are no part of names, as many as fit; terminated by a zero */
    size_t n;                    /* how many there are, at most about 100 */
};
/**
 * Look for members of an object that its reader does not know. One that is nearly known is misspelt and refused; others are noted,
 * and null members ignored. After 100 unknown members of a document the function checks nothing.
 *
 * @param known    names of members with blanks between
 * @param unknown  of the whole document, zero at first
 * @return 0; TS_EINVAL "Unknown member: NAME; did you mean ...?"
 */
int ts_json_known(const json_t *object, const char *known, struct ts_json_unknown *unknown,
                  struct ts_error *err);

/** Parse text (at most 64 levels deep, duplicate keys: the last wins, NaN refused). *out is the caller's (json_decref).
 *  @return 0; TS_EPARSE with line and column; TS_ELIMIT: more than ts_json_max_values values; TS_ENOMEM: the account of ts_json_count_in does not have
 *  what the text can need at most (it may be tried again): 192 bytes a value, 140 more an object, its length, and three times that of its longest string
 *  Cost: two passes. */
int ts_json_load(struct ts_slice text, json_t **out, struct ts_error *err);
/** Did it fail because there was no memory or because of a limit, so that a stored text may be whole all the same? */
static inline bool ts_json_may_be_whole(int rc)
{
    return rc == TS_ENOMEM || rc == TS_ELIMIT;
}

#endif
