/*
 * deleted.h - what a delete removed, or would remove: counts by sub query and kind, as JSON or as text.
 *
 * Threads    one
 * Source     docs/QUERY.md "Deleting"
 */
#ifndef TSD_FORMAT_DELETED_H
#define TSD_FORMAT_DELETED_H

#include "query/query.h"
#include "base/sink.h"

enum { TSD_DELETED_KINDS = 3 }; /* points, rollups, histograms */

/* Counts of one kind in one sub query. */
struct tsd_deleted_count {
    uint64_t n_series; /* series with at least one */
    uint64_t n_points; /* points, rollups or histograms */
};
/* Counts of one request. */
struct tsd_deleted {
    const struct qry_spec *spec;                         /* borrowed */
    struct tsd_deleted_count (*subs)[TSD_DELETED_KINDS]; /* [spec->n_subs]; in the arena */
    struct qry_delete_target *targets;                   /* owned: the delete targets */
    size_t n, cap;                                       /* of targets: used, allocated */
    bool dry;                                            /* only count, delete nothing */
};
/** Prepare. */
void tsd_deleted_init(struct tsd_deleted *d, const struct qry_spec *spec, bool dry, struct ts_arena *arena);
/** Free targets. Idempotent. */
void tsd_deleted_release(struct tsd_deleted *d);
/** Find and count the delete targets. Errors as for qry_delete_find. */
int tsd_deleted_find(struct tsd_deleted *d, struct sto_store *st, struct qry_limit *limit,
                     struct ts_error *err);
/** All points, rollups and histograms. */
uint64_t tsd_deleted_sum(const struct tsd_deleted *d);
/** Write the summary. */
int tsd_deleted_print(const struct tsd_deleted *d, bool json, struct ts_sink *sink, struct ts_error *err);

#endif
