/*
 * text.h - slices and numbers of things in messages; slices compared whatever their case or by a pattern.
 *
 * Threads    pure functions
 * Not here   slices and buffers (buf.h), splitting at a character (cut.h)
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include "base/buf.h"

#include <stdint.h>
#include <strings.h>

/* Both arguments of "%.*s": the slice S, of which at most MAX bytes are shown. S is evaluated three times. */
#define TS_SHOWN(S, MAX) (int)((S).n < (MAX) ? (S).n : (MAX)), (S).p

/** What a noun has behind so many: "", if it is one, otherwise "s". Static text. */
static inline const char *ts_plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}
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
/** As ts_slice_fits; one: also ? stands for something, any byte. */
static inline bool ts_slice_fits_with(struct ts_slice s, struct ts_slice pattern, bool one)
{
    size_t i = 0, k = 0, star = SIZE_MAX,
           from = 0; /* star: after the last *, which stands for what ends at from */
    while (i < s.n) {
        if (k < pattern.n && pattern.p[k] == '*') {
            star = ++k;
            from = i;
        } else if (k < pattern.n && ((one && pattern.p[k] == '?') || pattern.p[k] == s.p[i])) {
            i++;
            k++;
        } else if (star != SIZE_MAX) {
            k = star;
            i = ++from;
        } else {
            return false;
        }
    }
    while (k < pattern.n && pattern.p[k] == '*')
        k++;
    return k == pattern.n;
}

/** Does the whole of s fit to a pattern, in which * stands for any bytes and ? for one byte? Cost: s.n times pattern.n steps at most. */
static inline bool ts_slice_fits(struct ts_slice s, struct ts_slice pattern)
{
    return ts_slice_fits_with(s, pattern, true);
}
/** The same where only * stands for something. */
static inline bool ts_slice_fits_stars(struct ts_slice s, struct ts_slice pattern)
{
    return ts_slice_fits_with(s, pattern, false);
}

#endif
