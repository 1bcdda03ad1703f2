/*
 * join.h - columns of several sets that belong together, by their tags.
 *
 * The key of a column is its tags (or only those named in filters) and, if wanted, its aggregated keys. Union:
 * a row of places for each key that any set has; intersection: for each key that all have. Rows are in the
 * byte order of the keys' ids. Of two columns of a set with one key the later one counts.
 *
 * Source     protocols-and-queries 8.3; recorded answers of OpenTSDB (names of columns)
 */
#ifndef QUERY_EXPRESSIONS_JOIN_H
#define QUERY_EXPRESSIONS_JOIN_H

#include "query/expressions/exprcols.h"

#define QRY_JOIN_NONE UINT32_MAX

/* What to join, and how. */
struct qry_join_in {
    const struct qry_cols *const *sets; /* [n_sets] borrowed */
    size_t n_sets;
    bool intersection;   /* else union */
    bool use_query_tags; /* only tags named in a set's filters */
    bool with_agg_tags;  /* aggregated keys are part of the key */
};
struct qry_join {
    size_t n;     /* rows */
    uint32_t *at; /* [n * n_sets] column of each set, or QRY_JOIN_NONE; the arena's */
};
/** Join. Errors of qry_work_take. O(columns log columns). */
int qry_join_make(struct qry_work *w, const struct qry_join_in *in, struct qry_join *out,
                  struct ts_error *err);
/** Column of a set in a row; NULL: it has none. */
const struct qry_col *qry_join_col(const struct qry_join_in *in, const struct qry_join *j, size_t row,
                                   size_t set);
/** What the columns of a row are called together: metrics of all, tags they share, keys that differ. With
 * compat a row without a column of the first set has no tags, and tags of later sets are not added. */
int qry_join_label(struct qry_work *w, const struct qry_join_in *in, const struct qry_join *j, size_t row,
                   struct qry_label *out, struct ts_error *err);

#endif
