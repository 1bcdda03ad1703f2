/*
 * cut.h - splits texts at separators, part by part, and trims them.
 *
 *   while (list.n)
 *       part = ts_slice_cut(&list, ',');
 */
#ifndef BASE_CUT_H
#define BASE_CUT_H

#include "base/buf.h"

/** Return the text before the next sep; *rest then begins after that sep. Parts may be empty; a sep at the
 * end is not followed by an empty part. */
static inline struct ts_slice ts_slice_cut(struct ts_slice *rest, char sep)
{
    const char *end = rest->n ? (const char *)memchr(rest->p, sep, rest->n) : NULL;
    struct ts_slice part = {rest->p, end ? (size_t)(end - rest->p) : rest->n};
    *rest = end ? (struct ts_slice){end + 1, rest->n - part.n - 1} : (struct ts_slice){rest->p, 0};
    return part;
}
/** Store the text before the next sep in *out; *rest then begins after that sep. A text has one part more than
 * separators, all of which may be empty. False: there are no more, rest->p is NULL then. */
static inline bool ts_slice_next(struct ts_slice *rest, char sep, struct ts_slice *out)
{
    if (!rest->p)
        return false;
    const char *end = rest->n ? (const char *)memchr(rest->p, sep, rest->n) : NULL;
    *out = (struct ts_slice){rest->p, end ? (size_t)(end - rest->p) : rest->n};
    *rest = end ? (struct ts_slice){end + 1, rest->n - out->n - 1} : (struct ts_slice){NULL, 0};
    return true;
}
/** How many bytes of a slice are c? */
static inline size_t ts_slice_count(struct ts_slice s, char c)
{
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++)
        n += s.p[i] == c;
    return n;
}
/** The slice without white space of ASCII at both ends. */
static inline struct ts_slice ts_slice_trim(struct ts_slice s)
{
    while (s.n && strchr(" \t\n\v\f\r", s.p[s.n - 1]) && s.p[s.n - 1])
        s.n--;
    while (s.n && strchr(" \t\n\v\f\r", s.p[0]) && s.p[0])
        s = (struct ts_slice){s.p + 1, s.n - 1};
    return s;
}

#endif
