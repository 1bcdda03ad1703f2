/*
 * aged_batch.h - scans of summaries and of points side by side, for a reading whose series have both (aged.h).
 *
 * Each kind of row is a family of series: those of days, those of hours, the visible ones. A batch has some of the series of a reading that follow each other. A scan of
 * each family returns its rows in the order of the numbers of its series, and the rows of one visible series after another are taken from all of them in turn.
 *
 *   reading   s1  s2  s3  s4      rows of a series: days, hours, points that have expired, points
 *   hours     h1  h2  -   h4      one scan, unless the numbers of h1, h2, h4 do not ascend
 *
 * The series of summaries were made in the order of numbers, but rule by rule, and as points came to expire. So a family is divided into as few chains of
 * ascending numbers as there can be, and each has a scan. Where there would be more than QRY_AGED_CHAINS, the batch ends, and another one begins.
 *
 * Threads    as reader.h
 * Cost       at most 2 * QRY_AGED_CHAINS + 2 scans for each 4,096 series, usually 2 to 4
 */
#ifndef QUERY_EXECUTION_AGED_BATCH_H
#define QUERY_EXECUTION_AGED_BATCH_H

#include "query/execution/reader.h"
#include "storage/aged.h"

#define QRY_AGED_CHAINS 8

/* Kinds of rows, in the order of their times. */
enum qry_aged_kind {
    QRY_AGED_DAYS,    /* rows of days */
    QRY_AGED_HOURS,   /* rows of hours */
    QRY_AGED_EXPIRED, /* points that have expired and are there still */
    QRY_AGED_LIVE,    /* points that have not */
    QRY_AGED_KINDS
};

/* What is read of a series of the reading. */
struct qry_aged_series {
    struct sto_aged_bounds points; /* of its points */
    struct sto_aged_bounds
        hours; /* of its rows of hours: what has expired of them begins before hours_from_ms, and counts in days that begin at days_from_ms or later */
    struct {
        const struct sto_series *series; /* which has the rows; NULL: nothing is read */
        uint32_t chain;                  /* of its scan */
        int64_t from_ms, to_ms;          /* hours that begin from <= t < to */
    } part[QRY_AGED_KINDS];
};

struct qry_aged_scan;

/* A batch. {.r = ..., .hours_metric = ..., .days_metric = ...} to begin with. */
struct qry_aged_batch {
    const struct qry_reading *r;
    uint32_t hours_metric, days_metric; /* of the summaries; UINT32_MAX: there are none */
    size_t first, n;                    /* series of the reading that it has */
    size_t cap;                         /* of the arrays */
    struct qry_aged_series *of;         /* [n] owned, as all below; counted in the budget */
    const struct sto_series **series;   /* [QRY_AGED_KINDS * cap] of the scans */
    uint32_t *at;                       /* the same: index in `of` of each */
    struct qry_aged_scan *scans;        /* [QRY_AGED_KINDS * QRY_AGED_CHAINS] */
    struct sto_run run;                 /* of the row that was returned last */
};
/** Go on to the series after those of the present batch: 1; 0: there are none; errors of sto_scan, TS_ELIMIT TS_ENOMEM. */
int qry_aged_batch_begin(struct qry_aged_batch *b, struct ts_error *err);
/** The next row of a kind of the i-th series of the batch: 1; 0: it has no more; errors of sto_merge_next. Calls go in the order of series. The row is
 * borrowed until the next call for the same kind. */
int qry_aged_batch_next(struct qry_aged_batch *b, enum qry_aged_kind kind, size_t i, struct sto_row *out,
                        struct ts_error *err);
/** Release; idempotent. */
void qry_aged_batch_release(struct qry_aged_batch *b);

#endif
