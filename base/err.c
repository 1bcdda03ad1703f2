/*
 * err.c - error codes as words, and the text that travels with them.
 *
 * Invariant  the text is always terminated and never ends inside a UTF-8 character
 * Not here   HTTP status and exit code of a code (tables of tsd/)
 */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"

/* Words of one code. */
struct err_words {
    const char *name; /* as in the enum */
    const char *text; /* for people */
};

/* Row i belongs to code -i. */
static const struct err_words err_table[] = {
    {"TS_OK", "no error"},
    {"TS_ENOMEM", "out of memory"},
    {"TS_EIO", "input/output error"},
    {"TS_ENOSPC", "disk full"},
    {"TS_ECORRUPT", "damaged data"},
    {"TS_EVERSION", "unknown version"},
    {"TS_ENOTFOUND", "not found"},
    {"TS_EEXIST", "exists already"},
    {"TS_EINVAL", "invalid argument"},
    {"TS_EPARSE", "malformed text"},
    {"TS_ELIMIT", "limit reached"},
    {"TS_EBUSY", "busy"},
    {"TS_ETIMEOUT", "timed out"},
    {"TS_ECANCELLED", "cancelled"},
    {"TS_EBACKEND", "storage server error"},
    {"TS_EMFILE", "too many open files"},
};
_Static_assert(sizeof(err_table) / sizeof(err_table[0]) == TS_ERR_COUNT, "a row for each code");
_Static_assert(TS_EMFILE == -(TS_ERR_COUNT - 1), "codes are dense and the last one is known");

static const struct err_words *find_words(int code)
{
    return code <= 0 && code > -TS_ERR_COUNT ? &err_table[-code] : NULL;
}

const char *ts_err_name(int code)
{
    const struct err_words *w = find_words(code);
    return w ? w->name : "TS_E?";
}

const char *ts_err_text(int code)
{
    const struct err_words *w = find_words(code);
    return w ? w->text : "unknown error";
}

/* One byte more than is kept: the first byte left out shows whether a character is cut. */
#define WORK_BYTES (TS_ERROR_TEXT_BYTES + 1)

/* vsnprintf into out[WORK_BYTES], cut to at most max_bytes between characters; returns the length.
 */
static size_t format_text(char *out, size_t max_bytes, const char *fmt, va_list ap)
    __attribute__((format(printf, 3, 0)));
static size_t format_text(char *out, size_t max_bytes, const char *fmt, va_list ap)
{
    int n = vsnprintf(out, WORK_BYTES, fmt, ap);
    size_t len = n < 0 ? 0 : (size_t)n;
    if (len > max_bytes)
        len = ts_utf8_cut((struct ts_slice){out, max_bytes + 1}, max_bytes).n;
    out[len] = '\0';
    return len;
}

int ts_error_set(struct ts_error *err, int code, const char *fmt, ...)
{
    if (!err)
        return code;
    char text[WORK_BYTES]; /* not into err at once: an argument may be err->text itself */
    va_list ap;
    va_start(ap, fmt);
    size_t n = format_text(text, TS_ERROR_TEXT_BYTES - 1, fmt, ap);
    va_end(ap);
    err->code = code;
    err->sys_errno = 0;
    memcpy(err->text, text, n + 1);
    return code;
}

int ts_error_sys(struct ts_error *err, int code, int sys_errno, const char *fmt, ...)
{
    if (code == TS_EIO && (sys_errno == ENOSPC || sys_errno == EDQUOT))
        code = TS_ENOSPC;
    if (!err)
        return code;
    char why_buf[96];
    const char *why = strerror_r(sys_errno, why_buf, sizeof(why_buf));
    size_t n_why = strnlen(why, sizeof(why_buf) - 1);
    char text[WORK_BYTES];
    va_list ap;
    va_start(ap, fmt);
    /* The reason is worth more than the end of a long path: words in front give way. */
    size_t n = format_text(text, TS_ERROR_TEXT_BYTES - 1 - 2 - n_why, fmt, ap);
    va_end(ap);
    text[n++] = ':';
    text[n++] = ' ';
    memcpy(text + n, why, n_why);
    text[n + n_why] = '\0';
    err->code = code;
    err->sys_errno = sys_errno;
    memcpy(err->text, text, n + n_why + 1);
    return code;
}

int ts_error_wrap(struct ts_error *err, const char *fmt, ...)
{
    if (!err)
        return TS_EINVAL;
    char text[WORK_BYTES];
    va_list ap;
    va_start(ap, fmt);
    size_t n = format_text(text, TS_ERROR_TEXT_BYTES - 1, fmt, ap);
    va_end(ap);
    size_t n_old = strlen(err->text);
    if (n_old > 0 && n + 2 < TS_ERROR_TEXT_BYTES - 1) {
        text[n++] = ':';
        text[n++] = ' ';
        n_old = ts_utf8_cut((struct ts_slice){err->text, n_old}, TS_ERROR_TEXT_BYTES - 1 - n).n;
        memcpy(text + n, err->text, n_old);
        n += n_old;
    }
    memcpy(err->text, text, n);
    err->text[n] = '\0';
    return err->code;
}

void ts_bug(const char *file, int line, const char *fmt, ...)
{
    char text[1024];
    int n = snprintf(text, sizeof(text), "tsd: bug at %s:%d: ", file, line);
    size_t len = n < 0 ? 0 : (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1;
    va_list ap;
    va_start(ap, fmt);
    n = vsnprintf(text + len, sizeof(text) - len, fmt, ap);
    va_end(ap);
    len += n < 0 ? 0 : (size_t)n;
    if (len > sizeof(text) - 1)
        len = sizeof(text) - 1;
    text[len++] = '\n'; /* over the terminator; one write, so that lines of threads do not mix */
    ssize_t ignored = write(STDERR_FILENO, text, len);
    (void)ignored;
    abort();
}
