/*
 * agg.h - what an aggregator is: a name, what a series contributes between its points, and two sets of
 * functions.
 *
 * bucket accumulator   many values become one: a downsampling bucket, a cell of totals. Its state is plain memory
 *                      of state_bytes; all zero bytes are the empty state. Integers and doubles stay apart
 *                      until the end.
 * group accumulator    many series become one series: point i of the result is made of the values that each
 *                      series has there. Arrays go in, arrays come out.
 *
 * NaN        a value that is not there, from fill policies; skipped unless a function says otherwise
 * Threads    a state or group accumulator belongs to one thread at a time; rows of the table are constant
 * Source     protocols-and-queries 4.4, 4.10, 4.11
 */
#ifndef QUERY_AGGREGATORS_AGG_H
#define QUERY_AGGREGATORS_AGG_H

#include "base/budget.h"
#include "base/num.h"
#include "base/xsum.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a series contributes at a time where it has no point, between its first and its last. */
enum qry_interp {
    QRY_INTERP_LERP, /* the straight line between its neighbours */
    QRY_INTERP_ZIM,  /* 0 */
    QRY_INTERP_MAX,  /* the largest number, so that it never is the minimum */
    QRY_INTERP_MIN,  /* the smallest number */
    QRY_INTERP_PREV, /* its last value */
};

/* A whole hour of one series, known without its points. */
struct qry_hour {
    uint32_t n;                /* points, >= 1 */
    bool is_int;               /* all are integers; else all are doubles */
    bool has_sum;              /* sum is known */
    int64_t first_ms, last_ms; /* times of the first and last point */
    struct ts_num first, last; /* their values */
    struct ts_num min, max;    /* smallest and largest value */
    __int128 sum;              /* is_int: the sum; else its units of 2^-64 (base/xsum.h) */
};

/* What a bucket accumulator comes to. */
struct qry_value {
    bool is_int; /* i holds; else d */
    __int128 i;  /* exact */
    double d;    /* NaN: no value */
};
/** The value as a double, rounded once. */
static inline double qry_value_double(const struct qry_value *v)
{
    return v->is_int ? (double)v->i : v->d;
}

struct qry_agg;
struct qry_budget; /* query/limit.h */

/* Values arrive in pieces; each piece is sorted by time and n >= 1. first_ms and last_ms are the times of its
 * ends. */
struct qry_acc_ops {
    size_t state_bytes; /* a multiple of 16 */
    void (*add_f64)(void *st, const double *v, size_t n, int64_t first_ms, int64_t last_ms);
    void (*add_i64)(void *st, const int64_t *v, size_t n, int64_t first_ms, int64_t last_ms);
    /* Doubles m / 10^exp; NULL: the caller makes the doubles. */
    void (*add_dec)(void *st, const int64_t *m, size_t n, uint8_t exp, int64_t first_ms, int64_t last_ms);
    /* A whole hour; NULL: points are needed. Hours without has_sum are never passed if needs_sum. */
    void (*add_hour)(void *st, const struct qry_hour *h);
    bool needs_sum;
    /* Reserve memory for n more values, and for those of the state from (may be NULL), before they are added;
     * NULL: states take no memory of their own. memory is the account of the state until reset. TS_ELIMIT,
     * TS_ENOMEM. */
    int (*reserve)(void *st, size_t n, const void *from, struct ts_budget *memory, struct ts_error *err);
    /* Add what from holds; its values come after (same time: later in order). from stays valid. */
    void (*merge)(void *st, const void *from);
    /* The answer; d is NaN if nothing was added (count: integer 0). Values kept in a state may change their
     * order. */
    void (*done)(const void *st, const struct qry_agg *agg, struct qry_value *out);
    /* The answer for all values at once, m / 10^exp (integers: exp 0); NULL: through a state. n >= 1. */
    double (*one)(const int64_t *m, size_t n, uint8_t exp);
    /* Empty again; frees what hangs on the state. Idempotent. NULL: clearing the bytes will do. */
    void (*reset)(void *st);
};

/* Values of one series kept by a group accumulator that needs all of them. */
struct qry_group_acc_row {
    size_t at, n;  /* points at..at+n */
    uint64_t *v;   /* owned: int64_t or bits of doubles */
    uint32_t rank; /* of the series */
};

/* Answers in the making for n points; which arrays exist is the business of the ops. */
struct qry_group_acc {
    const struct qry_group_acc_ops *ops; /* who fills it */
    size_t n;                            /* points */
    bool is_int;                         /* integers come in, integers go out; else doubles */
    struct ts_xsum *xs;                  /* [n] exact sums */
    double *d, *d2;                      /* [n] */
    int64_t *i, *i2;                     /* [n] */
    uint32_t *cnt;                       /* [n] contributions counted */
    uint32_t *r1, *r2; /* [n] rank of the series whose value stands in (first, last), plus 1; 0 = none */
    struct qry_group_acc_row *rows; /* values kept */
    size_t n_rows, cap_rows;
    struct qry_budget *budget; /* limits of the run, whose account counts all this */
    int rc; /* 0, or why the group accumulator is of no use any more; the budget has the text */
};

/* Whatever fails says so in l->rc and in the budget; callers look at it after each call. */
struct qry_group_acc_ops {
    void (*open)(struct qry_group_acc *l);
    /* A series' contributions at points at..at+n; rank is its place in the order of series. */
    void (*add_f64)(struct qry_group_acc *l, size_t at, const double *v, size_t n, uint32_t rank);
    void (*add_i64)(struct qry_group_acc *l, size_t at, const int64_t *v, size_t n, uint32_t rank);
    /* Add another group accumulator of the same kind; it may be emptied, and is closed by the caller. */
    void (*merge)(struct qry_group_acc *l, struct qry_group_acc *from);
    /* Answers for all points (unspecified where no series contributed). */
    void (*done_f64)(struct qry_group_acc *l, const struct qry_agg *agg, double *out);
    void (*done_i64)(struct qry_group_acc *l, const struct qry_agg *agg, int64_t *out);
};

/* How a percentile's rank is found among n sorted values, counted from 1. */
enum qry_rank {
    QRY_RANK_LEGACY, /* p (n + 1), with a straight line between neighbours */
    QRY_RANK_R3,     /* nearest to p n, ties to even; no line */
    QRY_RANK_R7,     /* p (n - 1) + 1, with a straight line between neighbours */
};

/* One row of the table. */
struct qry_agg {
    const char *name;
    enum qry_interp interp;
    const struct qry_acc_ops *bucket_acc;      /* NULL: none */
    const struct qry_group_acc_ops *group_acc; /* NULL: none */
    bool no_unit;                              /* its results are not in the unit of the points */
    double p;                                  /* percentiles: the share, in (0,1) */
    enum qry_rank rank;                        /* percentiles: how the rank is found */
    const char *help;                          /* one sentence */
};

/** Row by name (case counts), NULL if there is none. compat: ep*r3 and ep*r7 estimate as OpenTSDB really
 * does. */
const struct qry_agg *qry_agg_find(struct ts_slice name, bool compat);
/** The row that adds as OpenTSDB does, values by time and series by rank, for sum, zimsum, pfsum and avg; others as
 * they are. Its interp is not theirs. */
const struct qry_agg *qry_agg_plain(const struct qry_agg *agg);
/** All rows, in the table's order, ended by name == NULL. */
const struct qry_agg *qry_agg_table(void);
/** Aggregator none: series stay apart. */
bool qry_agg_is_none(const struct qry_agg *agg);

/** Open a group accumulator of n points; close frees it, also after an error (TS_ELIMIT, TS_ENOMEM, with the
 * budget's error). Cost O(n). */
int qry_group_acc_open(struct qry_group_acc *l, const struct qry_agg *agg, size_t n, bool is_int,
                       struct qry_budget *budget);
/** Free the memory of a group accumulator. Idempotent. */
void qry_group_acc_close(struct qry_group_acc *l);
/** Does an aggregator's group accumulator keep all values of its series, and not a fixed amount for each
 * point? */
bool qry_group_acc_keeps(const struct qry_agg *agg);
#define QRY_LANE_POINT_BYTES 40 /* what the others take for a point, about */

/** A cleared array of l->n items of size bytes, counted; NULL after an error. Internal to the folder. */
void *qry_group_acc__array(struct qry_group_acc *l, size_t size);
/** Memory counted in the group accumulator's budget, for done; freed by ts_budget_free. NULL after an error.
 * Internal to the folder. */
void *qry_group_acc__scratch(struct qry_group_acc *l, size_t n_bytes);
/** Parts of group accumulators that keep one value a point, in i or d: begin with these, give them as they
 * are. Internal to the folder. */
void qry_group_acc__open(struct qry_group_acc *l, int64_t i, double d);
void qry_group_acc__done_f64(struct qry_group_acc *l, const struct qry_agg *agg, double *out);
void qry_group_acc__done_i64(struct qry_group_acc *l, const struct qry_agg *agg, int64_t *out);
/** Parts of group accumulators that keep all values, in rows: take the n of one series; take another group
 * accumulator's. Internal to the folder. */
void qry_group_acc__keep(struct qry_group_acc *l, size_t at, const void *v, size_t n, uint32_t rank);
void qry_group_acc__keep_all(struct qry_group_acc *l, struct qry_group_acc *from);
/** Integers and doubles summed apart into one value: an integer if there were no doubles. Internal to the
 * folder. */
void qry_acc__sum_done(const struct ts_xsum *x, __int128 i, bool dbl, uint64_t n, struct qry_value *out);

/** Percentile p of n >= 1 values by a rule; reorders them. O(n). */
double qry_percentile(double *v, size_t n, double p, enum qry_rank rule);

extern const struct qry_acc_ops qry_acc_sum, qry_acc_avg, qry_acc_count, qry_acc_min, qry_acc_max,
    qry_acc_dev, qry_acc_mult, qry_acc_diff, qry_acc_first, qry_acc_last, qry_acc_square, qry_acc_median,
    qry_acc_pct, qry_acc_pct_compat;
extern const struct qry_group_acc_ops qry_group_acc_sum, qry_group_acc_avg, qry_group_acc_count,
    qry_group_acc_min, qry_group_acc_max, qry_group_acc_dev, qry_group_acc_mult, qry_group_acc_diff,
    qry_group_acc_first, qry_group_acc_last, qry_group_acc_square, qry_group_acc_median, qry_group_acc_pct,
    qry_group_acc_pct_compat, qry_group_acc_plain_sum, qry_group_acc_plain_avg;

#endif
