/*
 * import_line.h - the kinds of lines of the line protocol that bring points to an import: put, rollup and histogram.
 *
 * Threads    any
 */
#ifndef TSD_INPUTS_IMPORT_LINE_H
#define TSD_INPUTS_IMPORT_LINE_H

#include "base/buf.h"

/* Kinds of lines. */
enum tsd_import_kind { TSD_IMPORT_NOTHING, TSD_IMPORT_POINT, TSD_IMPORT_ROLLUP, TSD_IMPORT_HISTOGRAM };
/** First word of such lines in the line protocol, with a blank behind. */
const char *tsd_import_word(enum tsd_import_kind kind);
/** What a line is; *out_rest: without its end and its first word put, rollup or histogram. Blanks and # are
 * nothing. A metric may be called rollup or histogram: what follows the name of a point is a time. */
enum tsd_import_kind tsd_import_line(struct ts_slice line, struct ts_slice *out_rest);
/** The time in a line that is not nothing: the second word after put and histogram, the third one after rollup. Part of the line; empty if the line is too
 * short. */
struct ts_slice tsd_import_time(struct ts_slice line);

#endif
