/*
 * buf.h - slices (borrowed bytes) and growable buffers with a maximum.
 *
 * Threads    plain values: one thread at a time
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct ts_budget;

/* Borrowed bytes, passed by value; not terminated. */
struct ts_slice {
    const char *p; /* may be NULL when n is 0 */
    size_t n;      /* bytes */
};
#define TS_SLICE_LIT(s) ((struct ts_slice){(s), sizeof(s) - 1})

/** Slice of a C string. */
static inline struct ts_slice ts_slice_str(const char *s)
{
    return (struct ts_slice){s, strlen(s)};
}
/** Same bytes? */
static inline bool ts_slice_eq(struct ts_slice a, struct ts_slice b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}
/** Same bytes as a C string? */
static inline bool ts_slice_is(struct ts_slice a, const char *s)
{
    return ts_slice_eq(a, ts_slice_str(s));
}
/** Byte order: <0, 0, >0; a prefix comes first. */
int ts_slice_cmp(struct ts_slice a, struct ts_slice b);

/** The longest prefix of at most max_bytes that does not end inside a UTF-8 character. */
struct ts_slice ts_utf8_cut(struct ts_slice s, size_t max_bytes);

/* Growable bytes. Appending past max fails with TS_ELIMIT and sets `failed`, which stays: check once at the end.
 * After a failure every append is refused, so the contents are always a prefix of the intended bytes. */
struct ts_buf {
    char *p;     /* owned; NULL while empty */
    size_t n;    /* bytes used */
    size_t cap;  /* bytes allocated */
    size_t max;  /* never more than this; 0 = SIZE_MAX/2 */
    bool failed; /* an append was refused */
    struct ts_budget
        *budget; /* account of cap (base/budget.h); set it while the buffer is empty; NULL = uncounted */
};
/** Empty buffer that never grows beyond max_bytes (0 = no limit but memory). */
void ts_buf_init(struct ts_buf *b, size_t max_bytes);
/** Free the bytes and give them back to the budget; usable again. Idempotent. */
void ts_buf_release(struct ts_buf *b);
/** n = 0, failed = false; keeps the memory. */
static inline void ts_buf_clear(struct ts_buf *b)
{
    b->n = 0;
    b->failed = false;
}
/** Reserve n more bytes; returns where to write them (the caller then adds to b->n), NULL on TS_ELIMIT / no
 * memory. */
char *ts_buf_reserve(struct ts_buf *b, size_t n);
/** The same, counted in the budget even above its limit: for memory that is given back soon in any case. */
char *ts_buf_reserve_forced(struct ts_buf *b, size_t n);
/** Append; 0, TS_ELIMIT (also after any earlier failure) or TS_ENOMEM. The bytes must not lie in b itself. */
int ts_buf_append(struct ts_buf *b, const void *p, size_t n);
/** The same for a C string. */
int ts_buf_str(struct ts_buf *b, const char *s);
/** The same for a slice. */
int ts_buf_slice(struct ts_buf *b, struct ts_slice s);
/** The same for one byte. */
int ts_buf_char(struct ts_buf *b, char c);
/** The same for formatted text; ts_buf_str and ts_num_print_* are faster. */
int ts_buf_printf(struct ts_buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/** The same for text percent-encoded: it may stand in a query string, a header, an attribute in quotes. */
int ts_buf_uri(struct ts_buf *b, struct ts_slice text);
/** The contents, borrowed until the next change. */
static inline struct ts_slice ts_buf_get(const struct ts_buf *b)
{
    return (struct ts_slice){b->p, b->n};
}

#endif
