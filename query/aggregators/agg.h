/*
 * agg.h - aggregators: a row of the table has a name, an interpolation policy and the functions of two accumulators.
 *
 * bucket accumulator   makes one value of many, for a downsampling bucket or a cell of totals. Its state is a block of
 *                      state_bytes; a zeroed block is the empty state. Integers and doubles are accumulated
 *                      separately until the end.
 * group accumulator    makes one series of many: it computes point i of the result from the values of all series at that
 *                      time. Its input and output are arrays.
 *
 * NaN        a missing value, from a fill policy; aggregators skip it unless they say otherwise
 * Threads    a state or a group accumulator belongs to one thread at a time; the table is constant
 * Source     docs/OPENTSDB.md, sections 4.4, 4.10, 4.11
 */
#ifndef QUERY_AGGREGATORS_AGG_H
#define QUERY_AGGREGATORS_AGG_H

#include "base/budget.h"
#include "base/num.h"
#include "base/xsum.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Interpolation: what a series contributes between its first and last point at a time where it has no point. */
enum qry_interp {
    QRY_INTERP_LERP, /* the straight line between its neighbours */
    QRY_INTERP_ZIM,  /* 0 */
    QRY_INTERP_MAX,  /* the largest number, which never becomes the minimum */
    QRY_INTERP_MIN,  /* the smallest number, which never becomes the maximum */
    QRY_INTERP_PREV, /* its last value */
};

/* The summary of a whole hour of one series, used in place of its points. */
struct qry_hour {
    uint32_t n;                /* points, >= 1 */
    bool is_int;               /* all are integers; else all are doubles */
    bool has_sum;              /* sum is known */
    int64_t first_ms, last_ms; /* times of the first and last point */
    struct ts_num first, last; /* their values */
    struct ts_num min, max;    /* smallest and largest value */
    __int128 sum;              /* is_int: the sum; else the sum in units of 2^-64 (base/xsum.h) */
};

/* The result of a bucket accumulator. */
struct qry_value {
    bool is_int; /* i is valid; else d */
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

/* The functions of a bucket accumulator. Values arrive in pieces of n >= 1, each sorted by time; first_ms and last_ms are the
 * times of its first and last value. */
struct qry_acc_ops {
    size_t state_bytes; /* a multiple of 16 */
    void (*add_f64)(void *st, const double *v, size_t n, int64_t first_ms, int64_t last_ms);
    void (*add_i64)(void *st, const int64_t *v, size_t n, int64_t first_ms, int64_t last_ms);
    /* Add doubles given as m / 10^exp; NULL: the caller converts them and calls add_f64. */
    void (*add_dec)(void *st, const int64_t *m, size_t n, uint8_t exp, int64_t first_ms, int64_t last_ms);
    /* Add a whole hour from its summary; NULL: the accumulator needs the points. With needs_sum the caller passes
     * only hours with has_sum. */
    void (*add_hour)(void *st, const struct qry_hour *h);
    bool needs_sum;
    /* Add n >= 1 whole hours or days, of which only the numbers of points and their sums are known (as in struct qry_hour); integers or doubles. NULL: more is
     * needed. */
    void (*add_sums)(void *st, const int64_t *counts, const __int128 *sums, size_t n, bool is_int);
    /* The same to n adjacent states, one to each; there is one if there is add_sums. */
    void (*add_each)(void *states, const int64_t *counts, const __int128 *sums, size_t n, bool is_int);
    /* add_hour may be given the points of several series as one hour: neither their order nor first and last one matter */
    bool of_groups;
    /* Reserve memory for n more values, and for those of the state from (may be NULL), before they are added;
     * NULL: states allocate nothing. memory is the account of the state until reset. TS_ELIMIT, TS_ENOMEM. */
    int (*reserve)(void *st, size_t n, const void *from, struct ts_budget *memory, struct ts_error *err);
    /* Add the values of the state from, which are later (at the same time: later in order). from stays valid. */
    void (*merge)(void *st, const void *from);
    /* Compute the result; d is NaN if nothing was added (count: integer 0). May reorder values kept in a state. */
    void (*done)(const void *st, const struct qry_agg *agg, struct qry_value *out);
    /* Compute the result of n >= 1 values m / 10^exp without a state (integers: exp 0); NULL: a state is needed. */
    double (*one)(const int64_t *m, size_t n, uint8_t exp);
    /* Empty the state and free the memory that it owns. Idempotent. NULL: zeroing the bytes is enough. */
    void (*reset)(void *st);
};

/* Values of one series kept by a group accumulator that needs all of them. */
struct qry_group_acc_row {
    size_t at, n;  /* index of the first point, number of points */
    uint64_t *v;   /* owned: int64_t or bits of doubles */
    uint32_t rank; /* rank of the series */
};

/* A group accumulator: the intermediate results of n points. The ops decide which of the arrays exist. */
struct qry_group_acc {
    const struct qry_group_acc_ops *ops; /* its functions */
    const struct qry_agg *agg;           /* whose result is computed */
    size_t n;                            /* points */
    bool is_int;                         /* input and output are integers; else doubles */
    struct ts_xsum *xs;                  /* [n] exact sums */
    double *d, *d2;                      /* [n] */
    int64_t *i, *i2;                     /* [n] */
    uint32_t *cnt;                       /* [n] number of contributions */
    uint32_t *r1, *r2; /* [n] rank plus 1 of the series that supplied the first or last value; 0 = none */
    struct qry_group_acc_row *rows; /* values kept */
    size_t n_rows, cap_rows;
    struct qry_budget *budget; /* limits of the run; its account counts the arrays */
    int rc; /* 0, or the error that made the accumulator unusable; the budget has its text */
};

/* The functions of a group accumulator. They report errors in l->rc and in the budget; callers check l->rc
 * after each call. */
struct qry_group_acc_ops {
    void (*open)(struct qry_group_acc *l);
    /* Add the contributions of a series at the n points from at on; rank is its place in the order of series. */
    void (*add_f64)(struct qry_group_acc *l, size_t at, const double *v, size_t n, uint32_t rank);
    void (*add_i64)(struct qry_group_acc *l, size_t at, const int64_t *v, size_t n, uint32_t rank);
    /* Add another group accumulator of the same kind; it may be emptied, and is closed by the caller. */
    void (*merge)(struct qry_group_acc *l, struct qry_group_acc *from);
    /* Store the results of all points (unspecified where no series contributed). */
    void (*done_f64)(struct qry_group_acc *l, double *out);
    void (*done_i64)(struct qry_group_acc *l, int64_t *out);
    bool keeps;   /* it keeps all values of its series, rather than a fixed number of bytes per point */
    bool by_rank; /* the result depends on the order of the series: they need their ranks */
};

/* How a percentile's rank is found among n sorted values, counted from 1. */
enum qry_rank {
    QRY_RANK_LEGACY, /* p (n + 1), interpolated linearly between neighbours */
    QRY_RANK_R3,     /* nearest to p n, ties to even; no interpolation */
    QRY_RANK_R7,     /* p (n - 1) + 1, interpolated linearly between neighbours */
};

/* One row of table.c. A row needs two accumulators, which others may share: a file that defines
 * `const struct qry_acc_ops qry_acc_<name>` and `const struct qry_group_acc_ops qry_group_acc_<name>`. */
struct qry_agg {
    const char *name;
    enum qry_interp interp;
    const struct qry_acc_ops *bucket_acc;      /* NULL: none */
    const struct qry_group_acc_ops *group_acc; /* NULL: none */
    bool no_unit;                              /* the unit of the result is not that of the points */
    bool additive;       /* the results of parts may be added up: they are sums or counts */
    const char *rollup;  /* the rollups that are read for it; NULL: those of its name */
    double p;            /* percentiles: the quantile, in (0,1) */
    enum qry_rank rank;  /* percentiles: how the rank is found */
    bool legacy_doubles; /* percentiles: rank is for groups of integers, else LEGACY */
    const char *help;    /* one sentence */
};

/** Find a row by its case-sensitive name; NULL if there is none. With compat, ep*r3 and ep*r7 estimate as
 * OpenTSDB actually does. */
const struct qry_agg *qry_agg_find(struct ts_slice name, bool compat);
/** For sum, zimsum, pfsum and avg: the row that adds in OpenTSDB's order, values by time and series by rank;
 * its interp must not be used. Returns any other aggregator unchanged. */
const struct qry_agg *qry_agg_plain(const struct qry_agg *agg);
/** All rows, in the table's order, terminated by name == NULL. */
const struct qry_agg *qry_agg_table(void);
/** Is it the aggregator none, which leaves the series ungrouped? */
bool qry_agg_is_none(const struct qry_agg *agg);

/** Open a group accumulator of n points. The caller must close it, also after an error: TS_ELIMIT, TS_ENOMEM;
 * the text is in the budget. Cost: O(n). */
int qry_group_acc_open(struct qry_group_acc *l, const struct qry_agg *agg, size_t n, bool is_int,
                       struct qry_budget *budget);
/** Free the memory of a group accumulator. Idempotent. */
void qry_group_acc_close(struct qry_group_acc *l);
/** Does the group accumulator keep all values of its series, rather than a fixed number of bytes per point? */
bool qry_group_acc_keeps(const struct qry_agg *agg);
#define QRY_LANE_POINT_BYTES 40 /* approximate memory per point of the other accumulators */

/** Allocate a cleared array of l->n items of size bytes, counted in the budget; NULL after an error. Internal
 * to the folder. */
void *qry_group_acc__array(struct qry_group_acc *l, size_t size);
/** Allocate n_bytes for the done functions, counted in the budget; ts_budget_free frees them. NULL after an
 * error. Internal to the folder. */
void *qry_group_acc__scratch(struct qry_group_acc *l, size_t n_bytes);
/** Functions for accumulators that keep one value per point, in i or d: the first sets the initial value, the
 * others copy the values to out. Internal to the folder. */
void qry_group_acc__open(struct qry_group_acc *l, int64_t i, double d);
void qry_group_acc__done_f64(struct qry_group_acc *l, double *out);
void qry_group_acc__done_i64(struct qry_group_acc *l, int64_t *out);
/** Functions for accumulators that keep all values in rows: the first adds the n values of one series, the
 * second those of another accumulator. Internal to the folder. */
void qry_group_acc__keep(struct qry_group_acc *l, size_t at, const void *v, size_t n, uint32_t rank);
void qry_group_acc__keep_all(struct qry_group_acc *l, struct qry_group_acc *from);
/* Defines a group accumulator; the functions adds and finishes exist for doubles (_f64) and for integers (_i64). Further
 * members may follow: .keeps = true. Internal to the folder. */
#define QRY_GROUP_ACC(name, opens, adds, merges, finishes, ...)                                              \
    const struct qry_group_acc_ops qry_group_acc_##name = {.open = opens,                                    \
                                                           .add_f64 = adds##_f64,                            \
                                                           .add_i64 = adds##_i64,                            \
                                                           .merge = merges,                                  \
                                                           .done_f64 = finishes##_f64,                       \
                                                           .done_i64 = finishes##_i64,                       \
                                                           __VA_ARGS__}
/** The functions of the accumulator of sums that others use too. Internal to the folder. */
void qry_group_acc__sum_open(struct qry_group_acc *l);
void qry_group_acc__sum_f64(struct qry_group_acc *l, size_t at, const double *v, size_t n, uint32_t rank);
void qry_group_acc__sum_i64(struct qry_group_acc *l, size_t at, const int64_t *v, size_t n, uint32_t rank);
void qry_group_acc__sum_merge(struct qry_group_acc *l, struct qry_group_acc *from);
void qry_group_acc__sum_done_f64(struct qry_group_acc *l, double *out);
void qry_group_acc__sum_done_i64(struct qry_group_acc *l, int64_t *out);
void qry_group_acc__avg_done_i64(struct qry_group_acc *l, int64_t *out);
extern const struct qry_acc_ops qry_acc_sum, qry_acc_avg;
/** Combine the separate sums of integers and doubles: an integer if there were no doubles. Internal to the
 * folder. */
void qry_acc__sum_done(const struct ts_xsum *x, __int128 i, bool dbl, uint64_t n, struct qry_value *out);

/** Percentile p (0 to 1) of n >= 1 values by a rule; reorders the values. Cost: O(n). */
double qry_percentile(double *v, size_t n, double p, enum qry_rank rule);

#endif
