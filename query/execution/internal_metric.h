/*
 * internal_metric.h - internal metrics, which store rollups and histograms. Such a point is an ordinary point of a series with the same
 * tags and an internal metric, so the log, files, retention and deletes treat it like any other point.
 *
 *   rollup      \1 r SPEC \1 METRIC      SPEC: "1h-sum", "1h-sum:" (of a pre-aggregate), ":" (pre-aggregate alone)
 *   histogram   \1 h METRIC \1 BUCKET    BUCKET: "LOWER,UPPER", "u" (underflow), "o" (overflow)
 *
 * For each internal series there is a visible series with the metric that users know and the same tags, even if it has no points of its
 * own. Filters, lists and TSUIDs refer to the visible series.
 *
 * Threads    any
 * Not here   which names are internal (sto_name_internal, storage/catalog/catalog.h)
 */
#ifndef QUERY_EXECUTION_INTERNAL_METRIC_H
#define QUERY_EXECUTION_INTERNAL_METRIC_H

#include "base/mem.h"
#include "storage/store.h"

enum qry_internal_kind { QRY_INTERNAL_ROLLUP = 'r', QRY_INTERNAL_HISTOGRAM = 'h' };

/* The parts of an internal name; they are slices of it. */
struct qry_internal {
    enum qry_internal_kind kind;
    struct ts_slice metric; /* the visible metric */
    struct ts_slice detail; /* spec of a rollup, bucket of a histogram */
};
/** Append an internal name. */
void qry_internal_name(const struct qry_internal *h, struct ts_buf *out);
/** Split an internal name into its parts; false if the name is not internal. */
bool qry_internal_parse(struct ts_slice name, struct qry_internal *out);
/** Append the common prefix of the names of all buckets of a metric. */
void qry_internal_buckets(struct ts_slice metric, struct ts_buf *out);
/* An existing internal metric. */
struct qry_internal_metric {
    uint32_t id;               /* metric id */
    struct ts_slice name;      /* memory of the catalog */
    struct qry_internal parts; /* of name */
};
/** List the internal metrics of a metric, or of all metrics if metric is empty, ordered by name; memory of
 * the arena. Cost: O(internal names of the store). */
void qry_internal_list(struct sto_catalog *cat, struct ts_slice metric, struct ts_arena *arena,
                       const struct qry_internal_metric **out, size_t *out_n);
/** Recreate the visible series that a crash has lost: they have no points of their own, so the log does not
 * contain them. Call it once after opening a store for writing. Cost: one look-up per internal series. Errors
 * as for sto_series_resolve. */
int qry_internal_restore(struct sto_store *st, struct ts_error *err);
/** Rename the internal metrics of a metric that was renamed. Errors as for sto_uid_rename. */
int qry_internal_rename(struct sto_store *st, struct ts_slice from, struct ts_slice to, struct ts_error *err);
/** Delete the internal metrics of a metric that was deleted. Errors as for sto_uid_delete. */
int qry_internal_delete(struct sto_store *st, struct ts_slice metric, struct ts_error *err);

#endif
