/*
 * function.h - functions of gexp: they take columns and words and return columns.
 *
 * Result sets come before words in the arguments. A function with one set processes each of its columns; results share unchanged
 * data with their arguments.
 *
 * Threads    rows of the table are constant; a call belongs to one job
 * Source     docs/OPENTSDB.md, section 8.1
 */
#ifndef QUERY_FUNCTIONS_FUNCTION_H
#define QUERY_FUNCTIONS_FUNCTION_H

#include "query/expressions/exprcols.h"

/* Arguments of a call. */
struct qry_fn_args {
    const struct qry_cols *const *sets; /* [n_sets] results of calls and sub queries; unset for check */
    size_t n_sets;
    const struct ts_slice *words; /* [n_words] without quotes */
    size_t n_words;
};

/* A function; table.c lists them. Each is defined in a file of its own or with its relatives, as
 * `const struct qry_function qry_function_<name>`. */
struct qry_function {
    const char *name;
    unsigned min_sets, max_sets; /* number of sets it takes */
    unsigned n_words;            /* number of words it takes */
    int op;                      /* distinguishes functions that share code */
    /* Check the words before anything is read. *out_shift_ms (initially 0): how much earlier the sets are requested.
     * TS_EINVAL. NULL: any words are valid. */
    int (*check)(const struct qry_function *f, const struct qry_fn_args *args, bool compat,
                 int64_t *out_shift_ms, struct ts_error *err);
    /* Apply the function; errors as for qry_work_take. */
    int (*apply)(const struct qry_function *f, struct qry_work *w, const struct qry_fn_args *args,
                 struct qry_cols *out, struct ts_error *err);
    const char *usage; /* "name(query, ...)" */
    const char *help;  /* one sentence */
};
#define QRY_FN_MAX_SETS 26 /* sets of one call */

/** Row by name, case counts; NULL if there is none. */
const struct qry_function *qry_function_find(struct ts_slice name);
struct ts_near; /* base/near.h */
/** Offer the names of all functions to near. */
void qry_function_see_all(struct ts_near *near);

/** Length of a window: "10min", "1h", "30s", "2day", "1w". TS_EINVAL. Internal to the folder. */
int qry_function__window(struct ts_slice word, int64_t *out_ms, struct ts_error *err);
/** Whole number from 1 on. TS_EINVAL. Internal to the folder. */
int qry_function__count(const struct qry_function *f, struct ts_slice word, int64_t *out,
                        struct ts_error *err);
/** Copy of a set whose columns share everything with it. Internal to the folder. */
int qry_function__copy(struct qry_work *w, const struct qry_cols *from, struct qry_cols *out,
                       struct ts_error *err);

/* Makes the values of a column: out[0..c->n). It may change what c says of their kind. */
typedef void (*qry_fn_values_fn)(void *arg, struct qry_col *c, uint64_t *out);
/** Copy of a set with other values in each column. Internal to the folder. */
int qry_function__map(struct qry_work *w, const struct qry_cols *from, qry_fn_values_fn make, void *arg,
                      struct qry_cols *out, struct ts_error *err);

extern const struct qry_function qry_function_absolute; /* alias uses it with compat */

#endif
