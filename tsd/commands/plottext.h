/*
 * plottext.h - the texts of a picture in the terminal: columns of figures, bars beside names, ASCII. Internal to plotterm.c and
 * plottext.c.
 *
 * Threads    one thread at a time
 */
#ifndef TSD_COMMANDS_PLOTTEXT_H
#define TSD_COMMANDS_PLOTTEXT_H

#include "tsd/commands/plot.h"
#include "tsd/format/picture.h"

#define TSD_PLOT_FIGURES     5  /* columns of figures */
#define TSD_PLOT_FIGURE_COLS 24 /* bytes of a figure */

/* The table below a picture. */
struct tsd_plot_legend {
    const struct tsd_plot *p;
    struct tsd_axis axis; /* how values are written; more digits than beside the axis */
    size_t name_cols;     /* width of names */
    size_t figure_cols;   /* width of each figure */
    size_t n_figures;     /* those that fit */
    const char *names[TSD_PLOT_FIGURES];
};
/** Measure the table for a terminal of this width; axis: as chosen for the axis of values. */
void tsd_plot__legend_init(struct tsd_plot_legend *l, const struct tsd_plot *p, struct tsd_axis axis,
                           size_t width);
/** Append the names of the columns. */
void tsd_plot__legend_head(const struct tsd_plot_legend *l, struct ts_buf *out);
/** Append the line of series i with its sign before it.
 *  @param colour  of the sign, 0: none */
void tsd_plot__legend_line(const struct tsd_plot_legend *l, size_t i, struct ts_slice sign, int colour,
                           struct ts_buf *out);

/** Append totals without an axis of time: names, bars, values. */
void tsd_plot__term_names(const struct tsd_plot *p, const struct tsd_terminal *t, struct ts_buf *out);
/** Colour of a series among the 256 of a terminal. */
int tsd_plot__term_colour(const struct tsd_plot_series *s);
/** Characters of a text in UTF-8. */
size_t tsd_plot__columns(const char *text);
/** Append n blanks. */
void tsd_plot__pad(struct ts_buf *out, size_t n);
/** Append a text in the middle of n characters, without blanks behind it; what is longer is cut off. */
void tsd_plot__centre(struct ts_buf *out, struct ts_slice text, size_t n);
/** Append a text with characters of ASCII in place of all others. */
void tsd_plot__ascii(struct ts_slice text, struct ts_buf *out);

#endif
