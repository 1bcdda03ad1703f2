/*
 * labels.h - labels of an output: the tags that its series share, the keys whose values differ, the TSUIDs.
 *
 * Source     docs/OPENTSDB.md, section 4.3 ("Members of a group's output")
 */
#ifndef QUERY_EXECUTION_LABELS_H
#define QUERY_EXECUTION_LABELS_H

#include "query/execution/plan.h"

struct qry_labels {
    struct sto_tag_text *tags; /* tags with the same value in all series that have the key, by key id */
    size_t n_tags;
    struct ts_slice *agg_tags; /* keys with several values (aggregateTags), by key id */
    size_t n_agg_tags;
    struct ts_slice *tsuids; /* sorted; only if requested */
    size_t n_tsuids;
    size_t n_series; /* series with data; 0: there is no output */
};
/** Compute the labels of a group from those of its series that have data. Memory of the arena; names belong
 * to the view. TS_ELIMIT, errors of qry_budget_look. Cost: O(series of the group). */
int qry_labels_make(const struct qry_view *view, const struct qry_plan *p, const struct qry_group *g,
                    bool tsuids, struct qry_budget *budget, struct ts_arena *arena, struct qry_labels *out,
                    struct ts_error *err);
/** Make an output with these labels and without points. It borrows from the plan, the group and l. */
struct qry_series qry_labels_series(const struct qry_view *view, const struct qry_plan *p,
                                    const struct qry_group *g, const struct qry_labels *l);

#endif
