/*
 * internal_metric.h - internal series: where rollups and histograms live. A point of theirs is an ordinary point of a series with
 * the same tags and a metric whose name tsd made up, so that the log, files, retention and deletes need not know.
 *
 *   rollup      \1 r SPEC \1 METRIC      SPEC: "1h-sum", "1h-sum:" (of a pre-aggregate), ":" (pre-aggregate alone)
 *   histogram   \1 h METRIC \1 BUCKET    BUCKET: "LOWER,UPPER", "u" (underflow), "o" (overflow)
 *
 * Beside each internal series there is the one a user sees, metric and tags, though it may have no points of its own:
 * filters, lists and TSUIDs speak of that one.
 *
 * Threads    any
 * Not here   which names are internal (sto_name_internal, storage/catalog/catalog.h)
 */
#ifndef QUERY_EXECUTION_INTERNAL_METRIC_H
#define QUERY_EXECUTION_INTERNAL_METRIC_H

#include "base/mem.h"
#include "storage/store.h"

enum qry_internal_kind { QRY_INTERNAL_ROLLUP = 'r', QRY_INTERNAL_HISTOGRAM = 'h' };

/* An internal name taken apart; slices of the name. */
struct qry_internal {
    enum qry_internal_kind kind;
    struct ts_slice metric; /* the one users know */
    struct ts_slice detail; /* spec of a rollup, bucket of a histogram */
};
/** Append an internal name. */
void qry_internal_name(const struct qry_internal *h, struct ts_buf *out);
/** Take a name apart; false if it is not one of ours. */
bool qry_internal_parse(struct ts_slice name, struct qry_internal *out);
/** Append what all names of a metric's buckets begin with. */
void qry_internal_buckets(struct ts_slice metric, struct ts_buf *out);
/* An internal metric that there is. */
struct qry_internal_metric {
    uint32_t id;               /* of it */
    struct ts_slice name;      /* the catalog's */
    struct qry_internal parts; /* of name */
};
/** The internal metrics of a metric, of all metrics if it is empty, in the order of their names; memory of the arena.
 * Cost: a look at each internal name of the store. */
void qry_internal_list(struct sto_catalog *cat, struct ts_slice metric, struct ts_arena *arena,
                       const struct qry_internal_metric **out, size_t *out_n);
/** Make the visible series of each internal one that a crash has lost: they have no points of their own, so the log does
 * not know them. Once, after opening a store for writing. Cost: a look-up an internal series. Errors of
 * sto_series_resolve. */
int qry_internal_restore(struct sto_store *st, struct ts_error *err);
/** A metric was renamed: rename its internal ones too; errors of sto_uid_rename. */
int qry_internal_rename(struct sto_store *st, struct ts_slice from, struct ts_slice to, struct ts_error *err);
/** A metric was deleted: delete its internal ones too; errors of sto_uid_delete. */
int qry_internal_delete(struct sto_store *st, struct ts_slice metric, struct ts_error *err);

#endif
