/*
 * cut.h - texts with separators, part by part.
 *
 *   while (list.n)
 *       part = ts_slice_cut(&list, ',');
 */
#ifndef BASE_CUT_H
#define BASE_CUT_H

#include "base/buf.h"

/** The text before the next sep; *rest then begins behind that sep. Parts may be empty; what a last sep ends has none behind it. */
static inline struct ts_slice ts_slice_cut(struct ts_slice *rest, char sep)
{
    const char *end = rest->n ? (const char *)memchr(rest->p, sep, rest->n) : NULL;
    struct ts_slice part = {rest->p, end ? (size_t)(end - rest->p) : rest->n};
    *rest = end ? (struct ts_slice){end + 1, rest->n - part.n - 1} : (struct ts_slice){rest->p, 0};
    return part;
}

#endif
