/*
 * downsample.h - buckets of a query, and one series into them while its rows stream in.
 *
 * Bucket k covers [start(k), start(k+1)); the first one is the first border at or after the beginning of what
 * is read, points before it are dropped. Calendar steps of several units that do not divide the next larger one
 * (7 days, 2 weeks, 5 hours) are counted from a base that each series' first point decides: such a series has a
 * grid of its own.
 *
 * Threads    a grid is constant once made; a downsampler belongs to one thread
 * Source     protocols-and-queries 4.5 to 4.8
 */
#ifndef QUERY_EXECUTION_DOWNSAMPLE_H
#define QUERY_EXECUTION_DOWNSAMPLE_H

#include "query/execution/feed.h"
#include "query/limit.h"

#define QRY_MAX_DENSE_BUCKETS 65536     /* up to here groups are arrays over all buckets: half a MiB each */
#define QRY_MAX_BUCKETS       (1 << 24) /* never more in one answer */

struct qry_grid {
    size_t n;         /* buckets */
    int64_t first_ms; /* start of bucket 0 */
    int64_t step_ms;  /* all the same length; 0: see edges */
    const int64_t
        *edges; /* [n + 1] starts, and the end of the last; NULL only if step_ms != 0 and n is large */
    bool dense; /* few enough for arrays over all buckets (edges is there) */
    bool all;   /* one bucket from start to end, end excluded */
    enum qry_fill fill;
    /* Calendar steps counted from the first point of each series: what makes its own grid. Not dense. */
    bool own;
    const struct ts_tz *tz;
    int64_t units; /* in a step */
    enum ts_unit unit;
    int64_t to_ms; /* end of what is read */
};

/** Buckets for points with from <= t < to (the padded range; already cut to where data is if fill is none).
 * TS_ELIMIT. */
int qry_grid_make(const struct qry_downsample *ds, const struct ts_tz *tz, int64_t start_ms, int64_t end_ms,
                  int64_t from_ms, int64_t to_ms, struct ts_arena *arena, struct qry_grid *out,
                  struct ts_error *err);
/** Start of bucket k (k <= n). */
static inline int64_t qry_grid_start(const struct qry_grid *g, size_t k)
{
    return g->edges ? g->edges[k] : g->first_ms + (int64_t)k * g->step_ms;
}
/** Bucket that holds t (first_ms <= t < end of the last). */
size_t qry_grid_find(const struct qry_grid *g, int64_t t_ms);
/** Hours from hour0 on (n_hours) that no border cuts: sets bits[] to 1. */
void qry_grid_whole_hours(const struct qry_grid *g, int32_t hour0, size_t n_hours, uint8_t *bits);

/* One series on its way into buckets. */
struct qry_down {
    const struct qry_grid *grid;   /* of this series: shared or mine */
    const struct qry_grid *shared; /* of the query */
    struct qry_grid mine;          /* from the first point of a series on; kept for the next one */
    int64_t *edges;                /* of mine, if its steps are uneven */
    const struct qry_agg *fn;
    struct qry_feed feed;
    void *state;                  /* of the open bucket */
    bool open;                    /* there is one */
    size_t cur;                   /* its number; search starts here */
    size_t n, cap;                /* buckets done; allocated in v */
    size_t *bucket;               /* their numbers, ascending */
    double *v;                    /* and values */
    size_t cap_bucket, cap_edges; /* allocated in bucket, edges */
    struct ts_budget *memory;     /* account of all arrays */
};
/** Make ready. grid, fn and memory (account of what it takes, NULL: not counted) are borrowed. */
void qry_down_init(struct qry_down *d, const struct qry_grid *grid, const struct qry_agg *fn,
                   struct ts_budget *memory);
/** Release; idempotent. */
void qry_down_release(struct qry_down *d);
/** Begin a series. */
void qry_down_begin(struct qry_down *d);
/** Take a row: cells, or a summary (then no border cuts its hour). TS_ELIMIT, TS_ENOMEM. */
int qry_down_row(struct qry_down *d, const struct sto_row *row, struct ts_error *err);
/** All rows came: close the open bucket, fill. TS_ELIMIT, TS_ENOMEM. Buckets may be infinite: what is shown
 * decides. */
int qry_down_end(struct qry_down *d, struct ts_error *err);

#endif
