/*
 * picture.h - what all pictures share: running gnuplot and quoting for its scripts, tick labels, short legends.
 *
 * gnuplot reads the script, in which all numbers and strings were formatted here, from its standard input, and writes
 * the picture to its standard output, an unnamed file: no file name and no command of a client ever reaches gnuplot.
 *
 * Threads    any, each with its own script and file. SIGPIPE must be ignored
 */
#ifndef TSD_FORMAT_PICTURE_H
#define TSD_FORMAT_PICTURE_H

#include "base/buf.h"
#include "base/err.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* --- gnuplot (gnuplot.c) --- */

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

/* --- tick labels of a value axis, in the unit of the values (axis.c) --- */

#define TSD_AXIS_SUFFIX_BYTES 24
#define TSD_AXIS_TEXT_BYTES   96

/* Numbers of an axis. */
struct tsd_axis {
    double lo, hi; /* ends of the axis, where numbers stand */
    double step;   /* between numbers; 0: gnuplot must choose, the values are too large or too close */
    double scale;  /* a value of this size is written as 1 */
    int digits;    /* number of decimals; < 0: -digits significant ones, 3e-11 */
    char suffix[TSD_AXIS_SUFFIX_BYTES]; /* behind each number but 0, " MiB"; may be empty */
    bool has_unit;                      /* the suffix names the unit of the values */
};

/** Choose the numbers for values from min to max. None: min > max.
 *  @param from_zero  0 is on the axis
 *  @param unit       of the values; empty: unknown */
void tsd_axis_choose(double min, double max, bool from_zero, const char *unit, struct tsd_axis *out);
/** A number as it is written at the axis. Returns its length. */
size_t tsd_axis_print(const struct tsd_axis *a, double v, char out[TSD_AXIS_TEXT_BYTES]);
/** Append gnuplot's commands for an axis.
 *  @param name  "x", "y" or "y2" */
void tsd_axis_script(const struct tsd_axis *a, const char *name, struct ts_buf *out);

/* --- names of lines, shortened to fit the legend (legend.c) --- */

/** Leave out of names like "cpu {dc=eu, host=a} #2" (the blank and the number may be missing) the metric and
 * the tags that all of them have; nothing, if one of them would be empty then. Cost: n times the tags of a
 * name.
 *  @param names  [n], owned by the caller, from ts_xmalloc; replaced */
void tsd_legend_own(char **names, size_t n);
/** Replace the middle of a name by a mark, in place, if it has more than max characters (at least 4); its
 * beginning and end distinguish it from others. */
void tsd_legend_cut(char *name, size_t max);

#endif
