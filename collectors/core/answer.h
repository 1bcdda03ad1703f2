/*
 * answer.h - what a line means that a daemon writes in answer to put lines.
 *
 * A refused point is sent again unless the refusal says that the line itself is bad: words of a later daemon that are not known here
 * must not cost points.
 *
 * Threads    pure
 * Not here   the answer to sync, which counts points (sink_conn.c)
 * Source     docs/PROTOCOL.md "What a refused put says"; OpenTSDB's PutDataPointRpc for its words
 */
#ifndef COLLECTORS_CORE_ANSWER_H
#define COLLECTORS_CORE_ANSWER_H

#include "base/buf.h"

/* What becomes of a point. */
enum col_verdict {
    COL_TAKEN,        /* no line came for it */
    COL_NEVER,        /* the line is bad: counted and dropped */
    COL_LATER_SERIES, /* its series is not taken at present, other points are */
    COL_LATER,        /* the daemon takes nothing at present, or says what is not known here */
};

/** Verdict of one line of an answer, without its end. */
enum col_verdict col_verdict_of(struct ts_slice line);

#endif
