/*
 * answer.h - interprets the lines that a daemon writes in response to put lines.
 *
 * A refused point is sent again unless the refusal says that the line itself is bad: an error text of a later daemon
 * that this version does not know must not lose points.
 *
 * Threads    pure
 * Not here   the answer to sync, which counts points (sink_conn.c)
 * Source     docs/PROTOCOL.md "What a refused put says"; OpenTSDB's PutDataPointRpc for its words
 */
#ifndef COLLECTORS_CORE_ANSWER_H
#define COLLECTORS_CORE_ANSWER_H

#include "base/buf.h"

/* What the daemon did with a point. */
enum col_verdict {
    COL_TAKEN,        /* accepted: the daemon wrote no line for it */
    COL_NEVER,        /* the line is bad: counted and dropped */
    COL_LATER_SERIES, /* its series is refused at present; other points are accepted */
    COL_LATER,        /* the daemon accepts nothing at present, or its text is unknown */
};

/** Verdict of one line of an answer, without its end. */
enum col_verdict col_verdict_of(struct ts_slice line);

#endif
