/*
 * programs_line.c - lines from pieces.
 *
 * Threads    see programs_line.h
 */
#include "collectors/programs/programs_line.h"

/* Keep what has no end yet. */
static void line_keep(struct col_line_cut *cut, struct ts_slice part, col_line_fn each, void *arg)
{
    size_t room = sizeof(cut->p) - 1 - cut->n;
    if (cut->over)
        return;
    size_t n = part.n < room ? part.n : room;
    memcpy(cut->p + cut->n, part.p, n);
    cut->n += n;
    if (n == part.n)
        return;
    cut->over = true;
    each(arg, (struct ts_slice){cut->p, cut->n}, true);
}

void col_line_feed(struct col_line_cut *cut, struct ts_slice bytes, col_line_fn each, void *arg)
{
    while (bytes.n) {
        const char *nl = memchr(bytes.p, '\n', bytes.n);
        struct ts_slice part = {bytes.p, nl ? (size_t)(nl - bytes.p) : bytes.n};
        bool whole = nl && !cut->n && !cut->over && part.n < sizeof(cut->p);
        bytes.p += part.n + (nl != NULL);
        bytes.n -= part.n + (nl != NULL);
        if (whole) {
            each(arg, part, false);
            continue;
        }
        line_keep(cut, part, each, arg);
        if (!nl)
            return;
        if (!cut->over)
            each(arg, (struct ts_slice){cut->p, cut->n}, false);
        cut->n = 0;
        cut->over = false;
    }
}

bool col_line_end(struct col_line_cut *cut)
{
    bool half = cut->n && !cut->over;
    cut->n = 0;
    cut->over = false;
    return half;
}
