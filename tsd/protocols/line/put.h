/*
 * put.h - parses "put", "incr" and "incr!" lines and stores their points.
 *
 * The fast path guesses the series (the one that followed last time), compares its text, and parses time and
 * value. If the guess is wrong, the text is looked up. If it is unknown, the line is parsed and checked in
 * OpenTSDB's order. Only this last path writes error texts, so a line that fails on a fast path is handled by
 * it too.
 *
 * Threads    one worker
 * Source     docs/OPENTSDB.md, section 1.4 (order and texts of checks)
 */
#ifndef TSD_PROTOCOLS_LINE_PUT_H
#define TSD_PROTOCOLS_LINE_PUT_H

#include "tsd/ingest/ingest.h"

/* The last series of a connection, which leads to the next guess. Zero = none. */
struct tsd_chain {
    uintptr_t last; /* cache entry for the text of the last point's series */
    uint32_t epoch; /* epoch of the cache when last was set */
};

/** Store the lines of [p, end) up to the first that is not a plain put of the guessed series. TSD_INPUT_PAD
 * bytes beyond end must be readable. Lines must be complete (end with a line feed before end).
 * @param n_points  [in, out] increased by the number of points stored
 * @return start of the first line that was not handled
 * Cost: 20-30 ns a line of 150 bytes. */
const char *tsd_put_run(struct tsd_ingest *in, struct tsd_chain *chain, const char *p, const char *end,
                        uint64_t *n_points);

/** The same for lines "incr ...", which add their value for an asker (tsd_ingest_add). */
const char *tsd_incr_run(struct tsd_ingest *in, struct tsd_chain *chain, const char *p, const char *end,
                         uint32_t asker, uint64_t *n_points);

/** The same for lines "incr! ID SEQUENCE ..." of the id with which the connection has begun. */
const char *tsd_once_run(struct tsd_ingest *in, struct tsd_chain *chain, const char *p, const char *end,
                         struct tsd_once *once, uint64_t *n_points);

/** Fetch memory that the line at p, if it is a put, needs on the paths after the first one, while the line before it is handled.
 * Any bytes may follow up to end. Cost: 40 ns; without it, each of ten million new series waits about 200 ns for memory. */
void tsd_put_ahead(const struct tsd_ingest *in, const char *p, const char *end);
/** Handle one line without the word put, the blank after it and the line end: "metric time value k=v ..."; p
 * is NULL if nothing followed the word.
 * @return 0
 *         TS_EBUSY   not stored, try again later
 *         other      refused: in->msg has the text, tsd_refusal_of(code) its kind
 */
int tsd_put_line(struct tsd_ingest *in, struct tsd_chain *chain, struct ts_slice args);
/** The same for a line "incr metric time delta k=v ...". */
int tsd_incr_line(struct tsd_ingest *in, struct tsd_chain *chain, struct ts_slice args, uint32_t asker);
/** The same for a line "incr! id sequence metric time delta k=v ...".
 *  @param out_seq  [out] the sequence, 0 if the line has none
 *  @return as above; TS_EIO also if an earlier sequence of the connection was refused, which is noted in once for everything that may be repeated */
int tsd_once_line(struct tsd_ingest *in, struct tsd_chain *chain, struct ts_slice args, uint32_t asker,
                  struct tsd_once *once, uint64_t *out_seq);

#endif
