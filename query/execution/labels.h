/*
 * labels.h - what an output is called: tags that its series share, keys that differ, TSUIDs.
 *
 * Source     protocols-and-queries 4.3 ("Members of a group's output")
 */
#ifndef QUERY_EXECUTION_LABELS_H
#define QUERY_EXECUTION_LABELS_H

#include "query/execution/plan.h"

struct qry_labels {
    struct sto_tag_text *tags; /* keys with one value in all series that have them, by key id */
    size_t n_tags;
    struct ts_slice *agg_tags; /* keys with several values, by key id */
    size_t n_agg_tags;
    struct ts_slice *tsuids; /* sorted; only if requested */
    size_t n_tsuids;
    size_t n_series; /* series with data; 0: there is no output */
};
/** Labels of a group from its series with data. Memory of the arena; names are the catalog's. TS_ELIMIT, errors of
 * qry_budget_look. O(series of the group). */
int qry_labels_make(const struct sto_catalog *cat, const struct qry_plan *p, const struct qry_group *g,
                    bool tsuids, struct qry_budget *budget, struct ts_arena *arena, struct qry_labels *out,
                    struct ts_error *err);
/** An output with these labels and no points yet. Borrows from the plan, the group and l. */
struct qry_series qry_labels_series(const struct sto_catalog *cat, const struct qry_plan *p,
                                    const struct qry_group *g, const struct qry_labels *l);

#endif
