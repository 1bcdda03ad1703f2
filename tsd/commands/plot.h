/*
 * plot.h - the answer of a query as a picture: PNG or SVG through gnuplot, or characters for the terminal.
 *
 * tsd/format/picture.h runs gnuplot.
 *
 *   CSV of --by, text or JSON of a plain query  --(plotdata.c, plotjson.c)-->  struct tsd_plot
 *       --(plot.c)-->  script -> gnuplot -> FILE.png      --(plotterm.c)-->  characters
 *
 * Threads    the main thread
 */
#ifndef TSD_COMMANDS_PLOT_H
#define TSD_COMMANDS_PLOT_H

#include "base/buf.h"
#include "base/err.h"
#include "base/map64.h"
#include "query/query.h"
#include "tsd/commands/terminal.h"

#include <stdbool.h>
#include <stdint.h>

#define TSD_PLOT_MAX_SERIES  10 /* series drawn one by one; the rest is drawn as one more, or left out */
#define TSD_PLOT_GREY        SIZE_MAX
#define TSD_PLOT_MAX_BARS    25  /* rows without a time axis */
#define TSD_PLOT_MAX_ORDERED 200 /* the same where their order counts: 168 hours of a week */

#define TSD_PLOT_MAX_PARTIAL 4 /* intervals; there are two: the first and the last */

/* What x is. */
enum tsd_plot_axis {
    TSD_PLOT_NAMES, /* rows with names, each with a bar for every series */
    TSD_PLOT_DAYS,  /* days or longer intervals */
    TSD_PLOT_HOURS, /* hours or shorter intervals */
    TSD_PLOT_TIMES, /* any times */
};

/* Figures of all points of a series that have a value. */
struct tsd_plot_figures {
    uint64_t n; /* 0: unknown, or there is no such point */
    double min, max, avg, sum, last;
};

/* One line or one colour. */
struct tsd_plot_series {
    char *name; /* as the legend shows it; owned */
    int64_t
        *x_s;  /* seconds since 1970, ascending; those of the local date with TSD_PLOT_DAYS; number of the row
              * with TSD_PLOT_NAMES */
    double *y; /* values; NaN = none */
    size_t n, cap; /* points */
    double weight; /* what it is sorted by: sum of |y| */
    size_t colour; /* number of its colour; TSD_PLOT_GREY for the sum of the rest */
    bool before;   /* the earlier values of a comparison, in a paler colour */
    int64_t
        gap_s; /* no line is drawn over so long a time without points; 0: 5 times what usually lies between two */
    struct tsd_plot_figures
        figures; /* as the daemon knows them, or those of the points before they were added up */
};

/* The label of one row, or group of bars, without a time axis. */
struct tsd_plot_row {
    char *name;    /* owned */
    double weight; /* sum of |y| over all series */
    size_t at;     /* number before sorting */
};

/* One picture. Zero-initialise; tsd_plot_release. */
struct tsd_plot {
    enum tsd_plot_axis axis;        /* kind */
    const struct ts_tz *tz;         /* zone of the query; NULL: UTC */
    struct qry_by_time by_time;     /* interval of totals */
    int64_t from_ms, to_ms;         /* what was requested, both inclusive; equal: unknown */
    bool svg;                       /* SVG; else PNG */
    bool named;                     /* series are called METRIC {tags}, as those of plain queries */
    bool in_order;                  /* rows stay in the order of the answer: hours of the day, weekdays */
    bool columns_in_order;          /* the same for series */
    bool columns_by_size;           /* series are values of a tag: the largest first */
    bool upright;                   /* rows are hours of the day or weekdays alone: bars stand on them */
    char title[200];                /* above */
    char unit[QRY_UNIT_BYTES + 4];  /* of the values, beside their axis; empty: unknown */
    bool additive;                  /* values of a time may be stacked and the rest may be summed */
    bool sums;                      /* values are sums or counts: 0 is on their axis */
    bool compared;                  /* series come in pairs, now and before */
    struct tsd_plot_series *series; /* owned */
    size_t n, cap;                  /* series */
    struct tsd_plot_row *rows;      /* of TSD_PLOT_NAMES; owned */
    size_t n_rows, cap_rows;        /* of them */
    int64_t partial_s
        [TSD_PLOT_MAX_PARTIAL]; /* beginnings of intervals that the range cuts or that are not over */
    size_t n_partial;           /* of them */
    size_t n_shown;             /* rows, series, or pairs of series, that are drawn; set by tsd_plot_trim */
    size_t n_left_out;          /* and that are not */
    size_t n_colours;           /* that series have; set by tsd_plot_trim */
    struct ts_map64 by_name;    /* number of each series by the hash of its name */
    size_t hint; /* series of the last point read: the next one is often this or the one after */
};
/** Release; idempotent. */
void tsd_plot_release(struct tsd_plot *p);

/** Does anything have a value? TS_ENOTFOUND. */
int tsd_plot_any(const struct tsd_plot *p, struct ts_error *err);
/** Is a file of this name a picture that can be drawn: .svg, .png or no known ending? *out_svg says which. TS_EINVAL. */
int tsd_plot_kind(const char *path, bool *out_svg, struct ts_error *err);
/** Set kind of axis, zone and range from the query. tsd_plot_read_csv does it itself. */
void tsd_plot_requested(struct tsd_plot *p, const struct qry_spec *spec);
/** Fill from CSV of totals.
 *  @param spec  the query: which columns there are, with QRY_PARTIAL_COLUMN the one that says which rows are
 *  partial */
int tsd_plot_read_csv(struct tsd_plot *p, struct ts_slice csv, const struct qry_spec *spec,
                      struct ts_error *err);
/** Fill from lines "METRIC TIME_MS VALUE {tags}". Call tsd_plot_requested too. */
int tsd_plot_read_text(struct tsd_plot *p, struct ts_slice text, struct ts_error *err);
/** Fill from the JSON of a plain query with arrays and figures. Call tsd_plot_requested before.
 *  @param ms         its times are in milliseconds
 *  @param n_columns  thin of the query; 0: none */
int tsd_plot_read_json(struct tsd_plot *p, struct ts_slice text, bool ms, int64_t n_columns,
                       struct ts_error *err);
/** Turn points of counts into bars: sums of intervals, at most max_bars of them in the range that was requested.
 *  @param ds  of the query; its intervals are not divided */
void tsd_plot_count(struct tsd_plot *p, size_t max_bars, const struct qry_downsample *ds);
/** Append a picture for a terminal of that size, with the figures of each series below. */
void tsd_plot_terminal(const struct tsd_plot *p, const struct tsd_terminal *t, struct ts_buf *out);
/** Keep the rows and series, or pairs of series, with the largest values, and give them colours; the rest is
 * added up if values are additive, else it is left out and counted. */
void tsd_plot_trim(struct tsd_plot *p);

/** The script for gnuplot. */
void tsd_plot_script(const struct tsd_plot *p, struct ts_buf *out);
/** Draw into a file. TS_ENOTFOUND: gnuplot is not installed, or there are no points; TS_EIO with its first words. */
int tsd_plot_draw(const struct tsd_plot *p, const char *path, struct ts_error *err);

/* --- what the files of pictures share --- */

/* How values of intervals are drawn. */
enum tsd_plot_form {
    TSD_PLOT_LINES,   /* one a series */
    TSD_PLOT_STACKED, /* bars, one on top of the other */
    TSD_PLOT_BESIDE,  /* bars side by side */
};
/** How the values of a picture with an axis of time are drawn. */
enum tsd_plot_form tsd_plot__form(const struct tsd_plot *p);
/** All times of all series, ascending, each once; the caller frees them with ts_free. Returns their number. */
size_t tsd_plot__times(const struct tsd_plot *p, int64_t **out_x);
/** Smallest and largest value drawn; stacked bars are as high as their sum. */
void tsd_plot__extent(const struct tsd_plot *p, bool stacked, double *out_min, double *out_max);
/** Seconds without points over which no line is drawn: several times what usually lies between two points. */
int64_t tsd_plot__gap_s(const struct tsd_plot_series *s);
/** Does the range cut the interval that begins at x, or is it not over yet? */
bool tsd_plot__is_partial(const struct tsd_plot *p, int64_t x_s);
/** The series of a name; with again a new one, called "NAME #2" if there is one of this name. */
struct tsd_plot_series *tsd_plot__series(struct tsd_plot *p, struct ts_buf *name, bool again);
/** Compute the figures of a series from its points, unless they are known. */
void tsd_plot__figures(struct tsd_plot_series *s);
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
/** Start of the interval that holds a moment, in seconds of the axis. */
int64_t tsd_plot__floor_s(const struct tsd_plot *p, int64_t ms);
/* A label of the axis of time, and what stands below it where that changes (a date, a year), else "". */
typedef void (*tsd_plot_tic_fn)(void *arg, int64_t x_s, const char *label, const char *below);
/** Report the labels of the axis of time from lo to hi, ascending, about n_labels of them; append what they leave out to
 * caption: dates and the zone.
 *  @return labels may have something below them */
bool tsd_plot__tics(const struct tsd_plot *p, int64_t lo_s, int64_t hi_s, size_t n_labels,
                    tsd_plot_tic_fn tic, void *arg, struct ts_buf *caption);
/** Append the commands for the axis of time: its range, and labels in the zone of the query. */
void tsd_plot__time_axis(const struct tsd_plot *p, struct ts_buf *out);

#endif
