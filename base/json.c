/*
 * json.c - JSON out by hand, JSON in through jansson behind limits.
 *
 * Source     RFC 8259; UTF-8 as in RFC 3629 (no surrogates, no overlong forms, nothing above U+10FFFF)
 * Threads    one thread at a time for one writer; loading from any thread
 */
#include "base/json.h"

#include "base/json_memory.h"
#include "base/near.h"
#include "base/num.h"

#include <math.h>

#define JSON_MAX_UNKNOWN  100  /* members that nobody knows which are looked at */
#define JSON_MAX_DEPTH    64   /* nesting that ts_json_load accepts; bounds jansson's recursion */
#define JSON_VALUE_BYTES  192  /* memory of a value in a tree, but for its text, */
#define JSON_OBJECT_BYTES 140  /* and so much more if it is an object: the table of its members */
#define JSON_TEXT_BYTES   4096 /* of a text, however short it is */

/* ---- out ---- */

/* A value or a member begins: comma if one stands before it. */
static void json_begin(struct ts_json *j)
{
    if (j->comma)
        ts_buf_char(j->buf, ',');
    j->comma = true;
}

static void json_open(struct ts_json *j, char c)
{
    json_begin(j);
    ts_buf_char(j->buf, c);
    j->comma = false;
}

static void json_close(struct ts_json *j, char c)
{
    ts_buf_char(j->buf, c);
    j->comma = true;
}

void ts_json_obj(struct ts_json *j)
{
    json_open(j, '{');
}
void ts_json_obj_end(struct ts_json *j)
{
    json_close(j, '}');
}
void ts_json_arr(struct ts_json *j)
{
    json_open(j, '[');
}
void ts_json_arr_end(struct ts_json *j)
{
    json_close(j, ']');
}

/* Bytes of the valid UTF-8 character at p, 0 if there is none. */
static size_t json_utf8_bytes(const unsigned char *p, size_t n)
{
    unsigned char c = p[0];
    if (c < 0x80)
        return 1;
    size_t len = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
    if (c < 0xc2 || c > 0xf4 || n < len)
        return 0;
    /* the second byte alone shows overlong forms, surrogates and characters above U+10FFFF */
    unsigned char low = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
    unsigned char high = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
    if (p[1] < low || p[1] > high)
        return 0;
    for (size_t i = 2; i < len; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    return len;
}

/* The current byte can't stand as it is: write its escape, or U+FFFD for a stray byte. */
static void json_put_special(struct ts_buf *b, unsigned char c)
{
    static const char hex[] = "0123456789abcdef";
    static const char names[] = "btn\0fr"; /* for 8..13 */
    if (c >= 0x80) {
        ts_buf_append(b, "\xef\xbf\xbd", 3);
        return;
    }
    char esc[6] = {'\\', (char)c, '0', '0', hex[c >> 4], hex[c & 15]};
    if (c == '"' || c == '\\') {
        ts_buf_append(b, esc, 2);
    } else if (c >= 8 && c <= 13 && names[c - 8]) {
        esc[1] = names[c - 8];
        ts_buf_append(b, esc, 2);
    } else {
        esc[1] = 'u';
        ts_buf_append(b, esc, 6);
    }
}

static void json_put_string(struct ts_buf *b, struct ts_slice s)
{
    const unsigned char *p = (const unsigned char *)s.p;
    size_t clean = 0; /* begin of the run not written yet */
    ts_buf_char(b, '"');
    for (size_t i = 0; i < s.n;) {
        size_t len = 1;
        if (p[i] >= 0x80)
            len = json_utf8_bytes(p + i, s.n - i);
        else if (p[i] < 0x20 || p[i] == '"' || p[i] == '\\')
            len = 0;
        if (len) {
            i += len;
            continue;
        }
        ts_buf_append(b, s.p + clean, i - clean);
        json_put_special(b, p[i]);
        clean = ++i;
    }
    if (s.n > clean)
        ts_buf_append(b, s.p + clean, s.n - clean);
    ts_buf_char(b, '"');
}

void ts_json_key_slice(struct ts_json *j, struct ts_slice key)
{
    json_begin(j);
    json_put_string(j->buf, key);
    ts_buf_char(j->buf, ':');
    j->comma = false;
}
void ts_json_key(struct ts_json *j, const char *key)
{
    ts_json_key_slice(j, ts_slice_str(key));
}

void ts_json_slice(struct ts_json *j, struct ts_slice s)
{
    json_begin(j);
    json_put_string(j->buf, s);
}
void ts_json_str(struct ts_json *j, const char *s)
{
    ts_json_slice(j, ts_slice_str(s));
}

void ts_json_int(struct ts_json *j, int64_t v)
{
    json_begin(j);
    char text[TS_NUM_TEXT_BYTES];
    ts_buf_append(j->buf, text, ts_num_print_int(v, text));
}

void ts_json_double(struct ts_json *j, double v)
{
    char text[TS_NUM_TEXT_BYTES];
    struct ts_slice s = {text, ts_num_print_java(v, text)};
    if (isfinite(v))
        ts_json_raw(j, s);
    else
        ts_json_slice(j, s);
}

void ts_json_bool(struct ts_json *j, bool v)
{
    ts_json_raw(j, v ? TS_SLICE_LIT("true") : TS_SLICE_LIT("false"));
}
void ts_json_null(struct ts_json *j)
{
    ts_json_raw(j, TS_SLICE_LIT("null"));
}

void ts_json_raw(struct ts_json *j, struct ts_slice text)
{
    json_begin(j);
    ts_buf_slice(j->buf, text);
}

/* ---- members ---- */

void ts_json_member_obj(struct ts_json *j, const char *key)
{
    ts_json_key(j, key);
    ts_json_obj(j);
}
void ts_json_member_arr(struct ts_json *j, const char *key)
{
    ts_json_key(j, key);
    ts_json_arr(j);
}

void ts_json_member_str(struct ts_json *j, const char *key, const char *s)
{
    ts_json_key(j, key);
    ts_json_str(j, s);
}
void ts_json_member_slice(struct ts_json *j, const char *key, struct ts_slice s)
{
    ts_json_key(j, key);
    ts_json_slice(j, s);
}
void ts_json_member_slices(struct ts_json *j, struct ts_slice key, struct ts_slice s)
{
    ts_json_key_slice(j, key);
    ts_json_slice(j, s);
}
void ts_json_member_given(struct ts_json *j, const char *key, struct ts_slice s)
{
    if (s.p)
        ts_json_member_slice(j, key, s);
    else
        ts_json_member_null(j, key);
}
void ts_json_member_filled(struct ts_json *j, const char *key, struct ts_slice s)
{
    if (s.n)
        ts_json_member_slice(j, key, s);
    else
        ts_json_member_null(j, key);
}

void ts_json_member_int(struct ts_json *j, const char *key, int64_t v)
{
    ts_json_key(j, key);
    ts_json_int(j, v);
}
void ts_json_member_count(struct ts_json *j, const char *key, uint64_t n)
{
    ts_json_member_int(j, key, (int64_t)n);
}
void ts_json_member_double(struct ts_json *j, const char *key, double v)
{
    ts_json_key(j, key);
    ts_json_double(j, v);
}
void ts_json_member_bool(struct ts_json *j, const char *key, bool v)
{
    ts_json_key(j, key);
    ts_json_bool(j, v);
}
void ts_json_member_null(struct ts_json *j, const char *key)
{
    ts_json_key(j, key);
    ts_json_null(j);
}
void ts_json_member_raw(struct ts_json *j, const char *key, struct ts_slice text)
{
    ts_json_key(j, key);
    ts_json_raw(j, text);
}

/* ---- in ---- */

static size_t json_max_values = TS_JSON_MAX_VALUES_DEFAULT; /* constant once threads run */

void ts_json_set_max_values(size_t max)
{
    json_max_values = max;
}

size_t ts_json_max_values(void)
{
    return json_max_values;
}

int ts_json_too_large(struct ts_error *err)
{
    return ts_error_set(err, TS_ELIMIT,
                        "The JSON has more than %zu values (json_max_values): send it in parts",
                        json_max_values);
}

int ts_json_no_memory(size_t n_bytes, struct ts_error *err)
{
    return ts_error_set(err, TS_ENOMEM,
                        "No memory is left for a JSON body of %zu bytes (http_body_total_bytes): try again "
                        "later or send it in parts",
                        n_bytes);
}

/* Nesting and number of values before any parsing, so that deep texts cost no stack and long ones no memory. Each value
 * but the first follows a comma or an opening bracket; an empty container counts twice, since it takes the memory of
 * several numbers. Other errors are left to the parser. *out_bytes: memory that it needs at most. */
static int json_check_size(struct ts_slice text, uint64_t *out_bytes, struct ts_error *err)
{
    int depth = 0, line = 1;
    size_t n_values = 1, n_objects = 0;
    size_t line_start = 0, token = 0, longest = 0; /* where a token begins; the longest one */
    bool quoted = false;
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (c == '\n') {
            line++;
            line_start = i + 1;
        }
        if (quoted) {
            if (c == '\\')
                i++;
            else if (c == '"')
                quoted = false;
        } else if (c == '"') {
            quoted = true;
        } else if (c == ',') {
            n_values++;
        } else if (c == '{' || c == '[') {
            n_values++;
            n_objects += c == '{';
            if (++depth > JSON_MAX_DEPTH)
                return ts_error_set(err, TS_EPARSE, "JSON line %d column %zu: more than %d levels deep", line,
                                    i - line_start + 1, JSON_MAX_DEPTH);
        } else if (c == '}' || c == ']') {
            depth--;
        }
        if (n_values > json_max_values)
            return ts_json_too_large(err);
        if (!quoted && memchr("\",:[]{}", c, 7)) {
            longest = i - token > longest ? i - token : longest;
            token = i;
        }
    }
    longest = text.n - token > longest ? text.n - token : longest;
    *out_bytes = (uint64_t)n_values * JSON_VALUE_BYTES + (uint64_t)n_objects * JSON_OBJECT_BYTES + text.n +
                 3 * (uint64_t)longest + JSON_TEXT_BYTES;
    return 0;
}

int ts_json_load(struct ts_slice text, json_t **out, struct ts_error *err)
{
    json_error_t why;
    *out = NULL;
    uint64_t n_bytes = 0, most;
    TS_TRY(json_check_size(text, &n_bytes, err));
    int rc = ts_json__begin(n_bytes, &most);
    if (rc == TS_ELIMIT)
        return ts_error_set(err, rc,
                            "The values in %zu bytes of JSON need up to %llu bytes of memory, and "
                            "http_body_total_bytes leaves one request %llu: send it in parts",
                            text.n, (unsigned long long)n_bytes, (unsigned long long)most);
    if (rc < 0)
        return ts_json_no_memory(text.n, err);
    *out = json_loadb(text.n ? text.p : "", text.n, JSON_DECODE_ANY, &why);
    ts_json__end();
    if (!*out && (!why.text[0] || json_error_code(&why) == json_error_out_of_memory))
        return ts_json_no_memory(text.n, err);
    if (!*out)
        return ts_error_set(err, TS_EPARSE, "JSON line %d column %d: %s", why.line, why.column, why.text);
    return 0;
}

/* ---- members that are not known ---- */

static void json_note(struct ts_json_unknown *unknown, struct ts_slice name)
{
    char clean[TS_NEAR_MAX_BYTES + 1];
    size_t n = name.n < TS_NEAR_MAX_BYTES ? name.n : TS_NEAR_MAX_BYTES, used = strlen(unknown->names);
    for (size_t i = 0; i < n; i++) {
        char c = name.p[i];
        bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
                     c == '-' || c == '.';
        clean[i] = plain ? c : '?';
    }
    clean[n] = 0;
    const char *there = strstr(unknown->names, clean);
    if ((there && strchr(", ", there[n]) && (there == unknown->names || there[-1] == ' ')) ||
        used + n + 3 > sizeof unknown->names)
        return;
    (void)snprintf(unknown->names + used, sizeof unknown->names - used, "%s%s", used ? ", " : "", clean);
}

int ts_json_known(const json_t *object, const char *known, struct ts_json_unknown *unknown,
                  struct ts_error *err)
{
    const char *key;
    json_t *v;
    json_object_foreach((json_t *)(uintptr_t)object, key, v)
    {
        struct ts_near near;
        struct ts_slice name = ts_slice_str(key);
        if (unknown->n > JSON_MAX_UNKNOWN)
            return 0;
        ts_near_init(&near, name);
        if (json_is_null(v) || ts_near_list(&near, known))
            continue;
        unknown->n++;
        if (near.n) {
            int rc = ts_error_set(err, TS_EINVAL, "Unknown member: %.64s", key);
            ts_near_hint(&near, err);
            return rc;
        }
        json_note(unknown, name);
    }
    return 0;
}
