/*
 * reader.h - reads the rows of some series: a scan that checks the limits of the run, replaces unusable summaries by points, and
 * passes each row on.
 *
 * Threads    a reading belongs to one thread; many may read one snapshot
 */
#ifndef QUERY_EXECUTION_READER_H
#define QUERY_EXECUTION_READER_H

#include "query/limit.h"
#include "query/view.h"
#include "storage/store.h"

/* May the points from from_ms to before to_ms, whose hours are whole, be added as one summary? Called by any thread. */
struct qry_one {
    bool (*may)(void *arg, int64_t from_ms, int64_t to_ms); /* NULL: an hour at a time alone */
    void *arg;
};

/* What is read, and who takes it. Everything is borrowed until the end. */
struct qry_reading {
    struct sto_snap *snap;                  /* where to read */
    struct qry_budget *budget;              /* limits of the run */
    const struct qry_view *view;            /* names of foreign series */
    uint32_t metric;                        /* id; all series belong to it */
    const struct sto_series *const *series; /* [n] ascending by number */
    size_t n;                               /* number of series */
    int64_t from_ms, to_ms;                 /* points with from <= t < to */
    int64_t asked_from_ms, asked_to_ms; /* the range of the query, from <= t < to: buckets may need more */
    const uint8_t *whole_hours;         /* hours whose summary is sufficient; NULL: none */
    bool needs_points;                  /* none is, whatever its hours */
    const uint8_t *days; /* days whose summary is sufficient (struct sto_scan_spec); NULL: none */
    struct qry_one one;  /* which stretches of whole hours a summary may answer */
    bool needs_sum;      /* a summary without a sum is not sufficient */
    bool sums_only;      /* counts and sums suffice, with needs_sum: rows may be runs */
    bool counts_only;    /* values do not matter (struct sto_scan_spec) */
    int64_t
        as_of_us; /* points as they were at this time of writing (as_of.h), us since 1970; 0: as they are */
    const struct qry_where *where; /* only points that meet these conditions; NULL: all */
    /* Called in key order; they may end the reading by an error. begin (may be NULL): rows of the series at pos follow;
     * end (may be NULL): it has no more. row->pos is the same index. */
    int (*begin)(void *arg, size_t pos, struct ts_error *err);
    int (*row)(void *arg, const struct sto_row *row, struct ts_error *err);
    int (*end)(void *arg, size_t pos, struct ts_error *err);
    void *arg;                 /* for them */
    uint64_t n_rows, n_points; /* [out] read so far; a summary counts as one point */
};
/** Read all rows. Errors of sto_scan, of qry_budget_points and of the functions. */
int qry_read(struct qry_reading *r, struct ts_error *err);

#endif
