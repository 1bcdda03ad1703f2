/*
 * cut.h - splits texts at separators, part by part.
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

#endif
