/*
 * internal_metric.h - the internal metrics of a store, under which rollups and histograms are stored.
 *
 * For each internal series there is a visible series with the metric that users know and the same tags, even if it has no points of its
 * own. Filters, lists and TSUIDs refer to the visible series.
 *
 * Threads    any
 * Not here   their names (storage/internal.h)
 */
#ifndef QUERY_EXECUTION_INTERNAL_METRIC_H
#define QUERY_EXECUTION_INTERNAL_METRIC_H

#include "base/mem.h"
#include "storage/internal.h"
#include "storage/store.h"

/* An existing internal metric. */
struct qry_internal_metric {
    uint32_t id;               /* metric id */
    struct ts_slice name;      /* memory of the catalog */
    struct sto_internal parts; /* of name */
};
/** List the internal metrics of a metric, or of all metrics if metric is empty, ordered by name; memory of
 * the arena. Cost: O(internal names of the store). */
void qry_internal_list(struct sto_catalog *cat, struct ts_slice metric, struct ts_arena *arena,
                       const struct qry_internal_metric **out, size_t *out_n);
/** Recreate the visible series that a crash has lost: they have no points of their own, so the log does not
 * contain them. Call it once after opening a store for writing. Cost: one look-up per internal series. Errors
 * as for sto_series_resolve. */
int qry_internal_restore(struct sto_store *st, struct ts_error *err);
/** Rename a metric and its internal metrics, which is one change (sto_uid_rename_all). Errors as for sto_uid_rename. Blocks as sto_aged_hold. */
int qry_metric_rename(struct sto_store *st, struct ts_slice from, struct ts_slice to, struct ts_error *err);
/** Rename a tag key or a tag value, after which series may have other rules of retention. Errors as for sto_uid_rename. Blocks as sto_aged_hold. */
int qry_tag_rename(struct sto_store *st, enum sto_uid_kind kind, struct ts_slice from, struct ts_slice to,
                   struct ts_error *err);
/** Delete the internal metrics of a metric that was deleted. Errors as for sto_uid_delete. */
int qry_internal_delete(struct sto_store *st, struct ts_slice metric, struct ts_error *err);

#endif
