/*
 * axis.h - the tick labels of a value axis: their positions and their texts in the unit of the values.
 *
 *   bytes               B, KiB, MiB, ... (1,024 each)        bits     bit, kbit, Mbit, ... (1,000 each)
 *   s, ms, us, ns       ns, µs, ms, s, min, h, d             percent  %
 *   any other, unknown  plain up to a million, then M, G, T; the unit stands beside the axis
 *
 * A unit such as "bytes/s" is formatted like "bytes", followed by "/s". All numbers of an axis have the same unit.
 *
 * Threads    any
 */
#ifndef TSD_FORMAT_AXIS_H
#define TSD_FORMAT_AXIS_H

#include "base/buf.h"

#include <stdbool.h>

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

#endif
