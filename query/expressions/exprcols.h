/*
 * exprcols.h - the results of queries as columns: the input and output of functions (gexp) and formulas (exp).
 *
 * Columns and everything they point to belong to one arena and never change, so that several results may share them. All
 * of their memory counts against the query's query_max_bytes.
 *
 * Threads    one job at a time
 * Not here   which columns belong together (join.h)
 */
#ifndef QUERY_EXPRESSIONS_EXPRCOLS_H
#define QUERY_EXPRESSIONS_EXPRCOLS_H

#include "base/double.h"
#include "query/view.h"

/* The state that all steps of one job share. */
struct qry_work {
    struct ts_arena arena;    /* of all columns */
    struct qry_budget budget; /* bytes, time, cancelled */
    struct qry_view view;     /* ids of names; the runs of the request share it */
    bool compat;              /* compat = opentsdb */
};
/** Begin a job within a limit (NULL: none); the store and the limit are borrowed until the end. */
void qry_work_open(struct qry_work *w, struct sto_store *st, struct qry_limit *limit, bool compat);
/** Release all columns. */
void qry_work_close(struct qry_work *w);
/** Allocate n items of size bytes, not cleared. TS_ELIMIT (query_max_bytes), TS_ECANCELLED,
 * TS_ETIMEOUT. */
int qry_work_take(struct qry_work *w, size_t n, size_t size, void *out_p, struct ts_error *err);

/* A name and its id. */
struct qry_name {
    uint32_t id;          /* in the view; 0: it is not there (renamed) */
    struct ts_slice text; /* as printed */
};
struct qry_name_pair {
    struct qry_name k, v; /* of a tag */
};
/* The labels of a column. */
struct qry_label {
    const struct qry_name *metrics; /* ascending by id */
    size_t n_metrics;
    const struct qry_name_pair *tags; /* ascending by key id */
    size_t n_tags;
    const struct qry_name *agg_tags; /* ascending by id */
    size_t n_agg_tags;
    const struct ts_slice *tsuids; /* sorted; only if requested */
    size_t n_tsuids;
    const struct sto_series *const *members; /* series with data behind it */
    size_t n_members;
};
/* One series of points. */
struct qry_col {
    struct qry_label label;
    size_t n;              /* points */
    const int64_t *ts_ms;  /* ascending */
    const uint64_t *v;     /* int64_t or bits of a double */
    const uint8_t *is_int; /* NULL: all_int says it for all */
    bool all_int;          /* every point is an integer */
    bool nan_is_null;      /* print NaN as null */
    bool joined;           /* made of several columns */
};
/* Result of a sub query, a function or a formula. */
struct qry_cols {
    struct qry_col *col;               /* in output order */
    size_t n, cap;                     /* columns, allocated */
    const struct ts_slice *query_keys; /* tag keys named in the filters (useQueryTags) */
    size_t n_query_keys;
};

/** Is point i an integer? */
static inline bool qry_col_int(const struct qry_col *c, size_t i)
{
    return c->is_int ? c->is_int[i] : c->all_int;
}
/** Point i as a double. */
static inline double qry_col_double(const struct qry_col *c, size_t i)
{
    return qry_col_int(c, i) ? (double)(int64_t)c->v[i] : ts_double_of(c->v[i]);
}
/** Append one more column, cleared. Errors of qry_work_take. */
int qry_cols_add(struct qry_work *w, struct qry_cols *cols, struct qry_col **out, struct ts_error *err);

/* Takes the series of a run. */
struct qry_collect {
    struct qry_work *work; /* borrowed */
    struct qry_cols *sets; /* [n_sets] by number of the sub query */
    size_t n_sets;
};
/** Callback of qry_run; arg = struct qry_collect. Copies the series. */
int qry_collect_series(void *arg, const struct qry_series *s, struct ts_error *err);
/** A column as a result series; s borrows from c and from the arena. */
int qry_col_series(struct qry_work *w, const struct qry_col *c, size_t sub, struct qry_series *out,
                   struct ts_error *err);

/** Compute the union of the times of all columns, ascending. Errors of qry_work_take; TS_ENOMEM. */
int qry_cols_rows(struct qry_work *w, const struct qry_col *const *cols, size_t n, const int64_t **out_ts_ms,
                  size_t *out_n, struct ts_error *err);
/** Store in out the values of a column at n times, which must contain all of its own times between the first and the last of
 * them; fill where the column has no value or NaN. */
void qry_col_align(const struct qry_col *c, const int64_t *rows, size_t n, double fill, double *out);

#endif
