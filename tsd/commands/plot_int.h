/*
 * plot_int.h - what the files of pictures share.
 *
 * Threads    see plot.h
 */
#ifndef TSD_COMMANDS_PLOT_INT_H
#define TSD_COMMANDS_PLOT_INT_H

#include "tsd/commands/plot.h"

/** One more point of a series. */
void tsd_plot__add(struct tsd_plot_series *s, int64_t x_s, double y);
/** Points in the order of their times: rows of an answer may come by value or by name. */
void tsd_plot__by_time(struct tsd_plot_series *s);
/** End of the interval of totals that begins at x, both in seconds of the picture's axis; x itself for points. */
int64_t tsd_plot__next_s(const struct tsd_plot *p, int64_t x_s);
/** The x at which a line passes through the value of an interval: the middle of a day, the beginning of an
 * hour, or the point itself. */
int64_t tsd_plot__middle_s(const struct tsd_plot *p, int64_t x_s);
/** Ends of the axis of time, from the requested range, whole intervals and the points. */
void tsd_plot__range(const struct tsd_plot *p, int64_t *out_lo_s, int64_t *out_hi_s);
/** Append the commands for the axis of time: its range, and labels in the zone of the query. */
void tsd_plot__time_axis(const struct tsd_plot *p, struct ts_buf *out);

#endif
