/*
 * args.h - words of a line that brings a point: metric, time, value, tags; shared by put, rollup and histogram.
 *
 * Threads    one worker
 * Source     docs/OPENTSDB.md, section 1.4 (order and texts of checks)
 */
#ifndef TSD_INGEST_ARGS_H
#define TSD_INGEST_ARGS_H

#include "tsd/ingest/ingest.h"

#define TSD_PUT_MIN_ARGS 4 /* metric, time, value, one tag */

/* A line being taken apart. Slices point into the line, or into in->recoded. */
struct tsd_line_args {
    struct ts_slice rest;               /* words not taken yet */
    bool more;                          /* there are some */
    struct ts_slice metric, value_word; /* words */
    struct tsd_time time;               /* of the point */
    struct ts_num value;                /* if it was requested */
};
/** Append text and what to an empty in->msg; returns code. */
int tsd_args_say(struct tsd_ingest *in, int code, const char *text, struct ts_slice what);
/** Begin with the words of a line (raw.p NULL: none). With compat the bytes are ISO-8859-1 and become UTF-8.
 *  @param min_args  fewer words are TS_EINVAL; the text says reported_min_args
 *  @return 0 or TS_EINVAL with text in in->msg */
int tsd_args_begin(struct tsd_ingest *in, struct ts_slice raw, unsigned min_args, unsigned reported_min_args,
                   struct tsd_line_args *out);
/** Next word, which may be empty; false when the line is over. */
bool tsd_args_word(struct tsd_line_args *a, struct ts_slice *out);
/** metric and time. TS_EINVAL, TS_EPARSE. */
int tsd_args_head(struct tsd_ingest *in, struct tsd_line_args *a);
/** The rest of the words as k=v into in->tags; the same pair twice is one. TS_EINVAL. */
int tsd_args_tags(struct tsd_ingest *in, struct tsd_line_args *a);
/** All of a point: head, a word that is a number, tags, then the number and the range of the time. TS_EINVAL, TS_EPARSE. */
int tsd_args_point(struct tsd_ingest *in, struct tsd_line_args *a);
/** Text of a time out of range, in in->msg; returns TS_EINVAL. */
int tsd_args_bad_time(struct tsd_ingest *in, int64_t raw, struct ts_slice value, struct ts_slice metric,
                      const struct sto_tag_text *tags, size_t n_tags);

#endif
