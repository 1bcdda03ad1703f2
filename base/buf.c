/*
 * buf.c - slices compared, buffers that grow.
 *
 * Invariant  n <= cap <= max, and cap + 1 bytes are allocated: the spare byte takes vsnprintf's terminator,
 *            so that a text of exactly max bytes fits
 * Not here   numbers as text (num.c), JSON (json.c)
 */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/budget.h"
#include "base/err.h"
#include "base/mem.h"

#define BUF_FIRST_BYTES 256 /* with the spare byte */

int ts_slice_cmp(struct ts_slice a, struct ts_slice b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    int c = n ? memcmp(a.p, b.p, n) : 0;
    return c ? c : (a.n > b.n) - (a.n < b.n);
}

struct ts_slice ts_utf8_cut(struct ts_slice s, size_t max_bytes)
{
    if (s.n <= max_bytes)
        return s;
    size_t n = max_bytes;
    /* Do not cut inside a UTF-8 character: go back while s.p[n], the first byte that is left out, is a
     * continuation byte. More than three of these in a row are not UTF-8; then the text is cut at max_bytes. */
    while (n > 0 && max_bytes - n < 4 && ((unsigned char)s.p[n] & 0xc0) == 0x80)
        n--;
    if (((unsigned char)s.p[n] & 0xc0) == 0x80)
        n = max_bytes;
    return (struct ts_slice){s.p, n};
}

void ts_buf_init(struct ts_buf *b, size_t max_bytes)
{
    *b = (struct ts_buf){.max = max_bytes};
}

void ts_buf_release(struct ts_buf *b)
{
    ts_free(b->p);
    if (b->p)
        ts_budget_give(b->budget, b->cap + 1);
    *b = (struct ts_buf){.max = b->max, .budget = b->budget};
}

/* Make cap - n >= n_more. */
static int grow(struct ts_buf *b, size_t n_more)
{
    if (b->failed)
        return TS_ELIMIT;
    if (n_more <= b->cap - b->n && b->p)
        return 0;
    size_t max = b->max && b->max < SIZE_MAX / 2 ? b->max : SIZE_MAX / 2;
    if (n_more > max - b->n) {
        b->failed = true;
        return TS_ELIMIT;
    }
    size_t cap = b->p ? 2 * (b->cap + 1) - 1 : BUF_FIRST_BYTES - 1;
    if (cap < b->n + n_more)
        cap = b->n + n_more;
    if (cap > max)
        cap = max;
    size_t more = b->p ? cap - b->cap : cap + 1;
    if (ts_budget_take(b->budget, more, NULL) < 0) {
        b->failed = true;
        return TS_ELIMIT;
    }
    char *p = ts_try_realloc(b->p, cap + 1);
    if (!p) {
        ts_budget_give(b->budget, more);
        b->failed = true;
        return TS_ENOMEM;
    }
    b->p = p;
    b->cap = cap;
    return 0;
}

char *ts_buf_reserve(struct ts_buf *b, size_t n)
{
    return grow(b, n) < 0 ? NULL : b->p + b->n;
}

char *ts_buf_reserve_forced(struct ts_buf *b, size_t n)
{
    struct ts_budget *account = b->budget;
    size_t before = b->p ? b->cap + 1 : 0;
    b->budget = NULL;
    char *p = ts_buf_reserve(b, n);
    b->budget = account;
    ts_budget_force(account, (b->p ? b->cap + 1 : 0) - before);
    return p;
}

int ts_buf_append(struct ts_buf *b, const void *p, size_t n)
{
    if (n == 0)
        return b->failed ? TS_ELIMIT : 0;
    TS_TRY(grow(b, n));
    memcpy(b->p + b->n, p, n);
    b->n += n;
    return 0;
}

int ts_buf_str(struct ts_buf *b, const char *s)
{
    return ts_buf_append(b, s, strlen(s));
}

int ts_buf_slice(struct ts_buf *b, struct ts_slice s)
{
    return ts_buf_append(b, s.p, s.n);
}

int ts_buf_char(struct ts_buf *b, char c)
{
    TS_TRY(grow(b, 1));
    b->p[b->n++] = c;
    return 0;
}

int ts_buf_printf(struct ts_buf *b, const char *fmt, ...)
{
    if (b->failed)
        return TS_ELIMIT;
    size_t room = b->p ? b->cap - b->n + 1 : 0;
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(room ? b->p + b->n : NULL, room, fmt, ap);
    va_end(ap);
    if (n < 0) {
        b->failed = true;
        return TS_ELIMIT; /* the only failure left to vsnprintf: a text above INT_MAX */
    }
    if ((size_t)n >= room) {
        TS_TRY(grow(b, (size_t)n));
        va_start(ap, fmt);
        vsnprintf(b->p + b->n, (size_t)n + 1, fmt, ap);
        va_end(ap);
    }
    b->n += (size_t)n;
    return 0;
}

int ts_buf_uri(struct ts_buf *b, struct ts_slice text)
{
    static const char hex[] = "0123456789ABCDEF";
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                     memchr("-_.~/:,*", c, 8);
        char code[3] = {'%', hex[c >> 4], hex[c & 15]};
        ts_buf_append(b, plain ? (const char *)&text.p[i] : code, plain ? 1 : 3);
    }
    return b->failed ? TS_ELIMIT : 0;
}
