/*
 * text.h - slices in messages, and compared whatever their case.
 *
 * Threads    pure functions
 * Not here   slices and buffers (buf.h), splitting at a character (cut.h)
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include "base/buf.h"

#include <strings.h>

/* Both arguments of "%.*s": the slice S, of which at most MAX bytes are shown. S is evaluated three times. */
#define TS_SHOWN(S, MAX) (int)((S).n < (MAX) ? (S).n : (MAX)), (S).p

/** Same letters as a C string, whatever their case? ASCII only. */
static inline bool ts_slice_is_nocase(struct ts_slice s, const char *word)
{
    return strlen(word) == s.n && (s.n == 0 || strncasecmp(s.p, word, s.n) == 0);
}
/** Does it begin with the letters of a C string, whatever their case? */
static inline bool ts_slice_begins_nocase(struct ts_slice s, const char *with)
{
    size_t n = strlen(with);
    return s.n >= n && strncasecmp(s.p, with, n) == 0;
}
/** Does it end with the letters of a C string, whatever their case? */
static inline bool ts_slice_ends_nocase(struct ts_slice s, const char *with)
{
    size_t n = strlen(with);
    return s.n >= n && strncasecmp(s.p + s.n - n, with, n) == 0;
}

#endif
