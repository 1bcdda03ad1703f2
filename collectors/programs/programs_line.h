/*
 * programs_line.h - splits the output of a program, which arrives in pieces, into lines, with limited memory.
 *
 * Threads    plain values: one thread at a time
 * Not here   what a line says (emit.h), reading (programs_child.h)
 */
#ifndef COLLECTORS_PROGRAMS_PROGRAMS_LINE_H
#define COLLECTORS_PROGRAMS_PROGRAMS_LINE_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

#define COL_PROGRAM_LINE_BYTES 1024u /* a line of so many bytes is too long; docs/OPENTSDB.md, section 12.2 */

/* The line that is not finished yet. {0} = none. */
struct col_line_cut {
    char p[COL_PROGRAM_LINE_BYTES]; /* its beginning */
    size_t n;                       /* bytes of it */
    bool over;                      /* too long: the rest of it is ignored */
};

/* A line without its end. too_long: it is the first COL_PROGRAM_LINE_BYTES - 1 bytes of one that was longer. */
typedef void (*col_line_fn)(void *arg, struct ts_slice line, bool too_long);

/** More bytes came: each(arg, line, too_long) for every line that ends in them; a line that is too long is given
 * once, when it becomes so. Empty lines are given too. Cost: one copy of what lies across two pieces. */
void col_line_feed(struct col_line_cut *cut, struct ts_slice bytes, col_line_fn each, void *arg);
/** No more will come. True if a line was left without its end: its value may be half a number, so nobody gets it. */
bool col_line_end(struct col_line_cut *cut);

#endif
