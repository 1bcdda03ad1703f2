/*
 * join.h - joins the columns of several sets by their tags.
 *
 * The join key of a column is its tags (or only those named in filters) and optionally its aggregated keys. A union has a row for
 * each key that any set has, an intersection for each key that all sets have. Rows are in the byte order of the ids in their keys.
 * If two columns of a set have the same key, the later one is used.
 *
 * Source     docs/OPENTSDB.md, section 8.3; recorded answers of OpenTSDB (names of columns)
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
/** Compute the label of a row: all metrics, the tags that the columns share, the keys whose values differ. With
 * compat a row without a column of the first set has no tags, and tags of later sets are not added. */
int qry_join_label(struct qry_work *w, const struct qry_join_in *in, const struct qry_join *j, size_t row,
                   struct qry_label *out, struct ts_error *err);

#endif
