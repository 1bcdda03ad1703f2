/*
 * downsample.h - the grid of buckets of a query, and a downsampler that takes the rows of one series as they are read.
 *
 * Bucket k covers [start(k), start(k+1)). The first bucket starts at the first boundary at or after the start of the range that is
 * read; points before it are dropped. Calendar intervals of several units that do not divide the next larger unit (7 days, 2 weeks,
 * 5 hours) are counted from the first point of each series, so each series has its own grid.
 *
 * Threads    a grid is constant after qry_grid_make; a downsampler belongs to one thread
 * Source     docs/OPENTSDB.md, sections 4.5 to 4.8
 */
#ifndef QUERY_EXECUTION_DOWNSAMPLE_H
#define QUERY_EXECUTION_DOWNSAMPLE_H

#include "query/execution/feed.h"
#include "query/limit.h"

#define QRY_MAX_DENSE_BUCKETS 65536 /* with at most so many, a group is an array of all buckets: half a MiB */
#define QRY_MAX_BUCKETS       (1 << 24) /* most buckets of one answer */

struct qry_grid {
    size_t n;         /* buckets */
    int64_t first_ms; /* start of bucket 0 */
    int64_t step_ms;  /* length of every bucket; 0: see edges */
    /* [n + 1] starts of the buckets and end of the last one; NULL only if step_ms != 0 and n is large. */
    const int64_t *edges;
    bool dense; /* few enough buckets for arrays of all of them; edges is set */
    bool all;   /* one bucket from start to end, end excluded */
    enum qry_fill fill;
    /* Calendar intervals are counted from the first point of each series, which gets a grid of its own. Not
 * dense. */
    bool own;
    const struct ts_tz *tz;
    int64_t units; /* length of an interval in units */
    enum ts_unit unit;
    int64_t to_ms; /* end of the range that is read */
};

/** Compute the buckets for points with from <= t < to, the padded range; without a fill policy the caller has
 * clipped it to the hours that have data. TS_ELIMIT: too many buckets. */
int qry_grid_make(const struct qry_downsample *ds, const struct ts_tz *tz, int64_t start_ms, int64_t end_ms,
                  int64_t from_ms, int64_t to_ms, struct ts_arena *arena, struct qry_grid *out,
                  struct ts_error *err);
/** Start of bucket k (k <= n). */
static inline int64_t qry_grid_start(const struct qry_grid *g, size_t k)
{
    return g->edges ? g->edges[k] : g->first_ms + (int64_t)k * g->step_ms;
}
/** Index of the bucket that contains t_ms (first_ms <= t_ms < end of the last bucket). */
size_t qry_grid_find(const struct qry_grid *g, int64_t t_ms);
/** Set bits[i] = 1 for each of the n_hours hours from hour0 on that contains no bucket boundary. */
void qry_grid_whole_hours(const struct qry_grid *g, int32_t hour0, size_t n_hours, uint8_t *bits);

/* A downsampler: it takes one series after the other. */
struct qry_down {
    const struct qry_grid *grid;   /* grid of this series: shared or &mine */
    const struct qry_grid *shared; /* grid of the query */
    struct qry_grid mine;          /* the grid of a series of its own; its memory is reused */
    int64_t *edges;                /* edges of mine, if its buckets differ in length */
    const struct qry_agg *fn;
    struct qry_feed feed;
    void *state;                  /* state of the open bucket */
    bool open;                    /* a bucket is open */
    size_t cur;                   /* its index; searches start here */
    size_t n, cap;                /* finished buckets; capacity of v */
    size_t *bucket;               /* indexes of the finished buckets, ascending */
    double *v;                    /* their values */
    size_t cap_bucket, cap_edges; /* capacities of bucket and edges */
    struct ts_budget *memory;     /* account of all arrays */
};
/** Initialise. grid, fn and memory (the account of its memory; NULL: not counted) are borrowed until release. */
void qry_down_init(struct qry_down *d, const struct qry_grid *grid, const struct qry_agg *fn,
                   struct ts_budget *memory);
/** Release; idempotent. */
void qry_down_release(struct qry_down *d);
/** Begin a series. */
void qry_down_begin(struct qry_down *d);
/** Add a row: its points, or its summary if no bucket boundary lies in its hour. TS_ELIMIT, TS_ENOMEM. */
int qry_down_row(struct qry_down *d, const struct sto_row *row, struct ts_error *err);
/** End the series: finish the open bucket and apply the fill policy. TS_ELIMIT, TS_ENOMEM. Values may be
 * infinite; only infinite values in the output are refused, later. */
int qry_down_end(struct qry_down *d, struct ts_error *err);

#endif
