/*
 * thin.h - thins a result series to the points that a line of a given width needs, and computes its figures.
 *
 * A series is divided into equal columns of the query's time range. Of each column the first, the last, the lowest and
 * the highest point stay, with their exact times and values (M4): a line drawn with a pixel for each column looks as if
 * all points were drawn.
 *
 * Threads    one thread at a time
 * Source     U. Jugel et al., "M4: A Visualization-Oriented Time Series Data Aggregation", VLDB 2014, section 4.
 *            Ours keeps points without a value (NaN) where they are the first or the last of a column
 */
#ifndef QUERY_THIN_H
#define QUERY_THIN_H

#include "query/limit.h"

#define QRY_MAX_THIN    10000 /* columns; a line of an 8K screen has 7,680 pixels */
#define QRY_THIN_POINTS 4     /* most points of a column */

/* Figures of all points of a series that have a value. Without such a point, n is 0 and the others are null. */
struct qry_figures {
    uint64_t n;                      /* points with a value */
    struct qry_total_value min, max; /* an integer if the point is one */
    struct qry_total_value first, last;
    struct qry_total_value sum; /* exact, rounded once; an integer if all points are */
    struct qry_total_value avg; /* the exact sum divided by n, rounded once; a double */
};

/* Memory for thinned series, reused for one after the other. */
struct qry_thin {
    struct ts_budget *memory; /* account; NULL: not counted */
    int64_t *ts;              /* [cap_ts] owned */
    uint64_t *v;              /* [cap_v] owned */
    uint8_t *is_int;          /* [cap_int] owned */
    size_t cap_ts, cap_v, cap_int;
    struct qry_figures figures; /* of the last series */
};

/** Release the memory. Idempotent; {0} is released. */
void qry_thin_release(struct qry_thin *t);

/**
 * Thin a series and compute its figures.
 *
 * @param t       its memory holds the points until the next call; t->figures are those of all points of s
 * @param spec    range of time, and number of columns (spec->thin; 0: only the figures are computed)
 * @param budget  checked for the end of the run; t->memory is its account
 * @param s       [in, out] its points become those that stay; points outside of the range belong to the outermost columns
 * @return 0; TS_ELIMIT, TS_ENOMEM, or the error that ended the run
 *
 * Memory: at most QRY_THIN_POINTS points for each column.   Cost: O(s->n), nothing is allocated for a point.
 */
int qry_thin_series(struct qry_thin *t, const struct qry_spec *spec, struct qry_budget *budget,
                    struct qry_series *s, struct ts_error *err);

#endif
