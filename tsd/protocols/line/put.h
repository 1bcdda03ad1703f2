/*
 * put.h - one "put" line becomes a point.
 *
 * Fast path: guess the series (the one that followed last time), compare, read time and value. Otherwise look
 * the text up. If it is unknown, parse the line and check everything in OpenTSDB's order; only this path
 * writes texts of errors, so a line that fails on a fast path goes through it too.
 *
 * Threads    one worker
 * Source     docs/OPENTSDB.md, section 1.4 (order and texts of checks)
 */
#ifndef TSD_PROTOCOLS_LINE_PUT_H
#define TSD_PROTOCOLS_LINE_PUT_H

#include "tsd/ingest/ingest.h"

/* The last series of a connection, which leads to the next guess. Zero = none. */
struct tsd_chain {
    uintptr_t last; /* ref of the last point's spelling */
    uint32_t epoch; /* of the cache when last was set */
};

/** Put lines from [p, end) as long as they are plain puts of the guessed series; the first that is not, ends
 * it. TSD_INPUT_PAD bytes beyond end are readable. Lines must be whole (ended by a line feed before end).
 *  @param n_points  [in, out] grows by the points taken
 *  @return start of the first line not taken
 * Cost: 20-30 ns a line of 150 bytes. */
const char *tsd_put_run(struct tsd_ingest *in, struct tsd_chain *chain, const char *p, const char *end,
                        uint64_t *n_points);

/** One line without the word put, the blank after it and the line end: "metric time value k=v ..."; p NULL
 * when nothing followed the word.
 *  @return 0
 *          TS_EBUSY   not stored, try again later
 *          else       refused: in->msg has the text, tsd_refusal_of(code) its kind
 */
int tsd_put_line(struct tsd_ingest *in, struct tsd_chain *chain, struct ts_slice args);

#endif
