/*
 * gnuplot.h - runs gnuplot, and quotes texts and numbers for its scripts.
 *
 * gnuplot reads the script, in which all numbers and strings were formatted here, from its standard input, and writes
 * the picture to its standard output, an unnamed file: no file name and no command of a client ever reaches gnuplot.
 *
 * Threads    any, each with its own script and file. SIGPIPE must be ignored
 */
#ifndef TSD_FORMAT_GNUPLOT_H
#define TSD_FORMAT_GNUPLOT_H

#include "base/buf.h"
#include "base/err.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/** Append 'text' with quotes doubled; control bytes become blanks, so that a text is never a second line. A
 * blank is put before a text that begins with a quote, because gnuplot reads two quotes at the beginning as
 * an empty string. */
void tsd_gnuplot_quote(const char *text, struct ts_buf *out);
/** The same for a text beside an axis, which gnuplot reads as a format: percent signs are doubled too. */
void tsd_gnuplot_tic(const char *text, struct ts_buf *out);
/** Append a number; NaN is "NaN". */
void tsd_gnuplot_number(double v, struct ts_buf *out);
/** Append a block "$dN" of times and values. */
void tsd_gnuplot_data(size_t at, const int64_t *x_s, const double *y, size_t n, struct ts_buf *out);
/** Run gnuplot; the picture goes into a new temporary file, which the caller closes. The process may have 1
 * GiB of address space, and as
 *  many seconds of processor time as timeout_ms is long.
 *  @param timeout_ms  gnuplot is ended after it
 *  @param cancelled   gnuplot is also ended when this becomes true; may be NULL
 *  @return 0; TS_ENOTFOUND (not installed), TS_EIO with its first words, TS_ETIMEOUT, TS_ECANCELLED */
int tsd_gnuplot_run(struct ts_slice script, int64_t timeout_ms, const _Atomic bool *cancelled,
                    FILE **out_picture, struct ts_error *err);

#endif
