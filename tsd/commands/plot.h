/*
 * plot.h - the answer of a query as a picture: PNG through gnuplot.
 *
 * tsd/format/picture.h runs gnuplot.
 *
 *   CSV of --by  or  text of a plain query  --(plotdata.c)-->  struct tsd_plot  --(plot.c)-->  script ->
 * gnuplot -> FILE.png
 *
 * Threads    the main thread
 */
#ifndef TSD_COMMANDS_PLOT_H
#define TSD_COMMANDS_PLOT_H

#include "base/buf.h"
#include "base/err.h"
#include "base/map64.h"
#include "query/query.h"

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

/** Is a file of this name a picture that can be drawn: .svg, .png, no known ending, or "-"? *out_svg says which. TS_EINVAL. */
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
/** Keep the rows and series, or pairs of series, with the largest values, and give them colours; the rest is
 * added up if values are additive, else it is left out and counted. */
void tsd_plot_trim(struct tsd_plot *p);

/** The script for gnuplot. */
void tsd_plot_script(const struct tsd_plot *p, struct ts_buf *out);
/** Draw into a file, or to standard output if it is called "-". TS_ENOTFOUND: gnuplot is not installed;
 * TS_EIO with its first words. */
int tsd_plot_draw(const struct tsd_plot *p, const char *path, struct ts_error *err);

/* --- what the files of pictures share --- */

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
