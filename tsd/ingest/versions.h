/*
 * versions.h - versions of points on their way into the store, of metrics that keep them (storage/versioned.h).
 *
 *   put stats.users 1795880000 12 country=nz
 *       point      1795880000 12                          of the series
 *       version    1795880000 (written now) 12            of its internal series, in the same turn
 *
 * A point and its version are both accepted or both refused. After a crash one may be there without the other only if the put was not
 * confirmed.
 *
 * Threads    that of the ingest
 * Not here   how versions are kept (storage/versions.h), which are read (query/execution/as_of.h)
 */
#ifndef TSD_INGEST_VERSIONS_H
#define TSD_INGEST_VERSIONS_H

#include "storage/store.h"

struct tsd_ingest;
struct tsd_versions; /* the metrics and series that one ingest knows */

/** Free. NULL is ignored. */
void tsd_versions_free(struct tsd_versions *v);
/** Look whether declarations have changed, and at the clock: sets in->versions. Nothing but one load while no metric was ever declared. */
void tsd_versions_begin(struct tsd_ingest *in);
/** Names have changed, or series were forgotten. */
void tsd_versions_forget(struct tsd_ingest *in);
/** Append a point with its version. Call it only if in->versions is set. 1: done; 0: the metric keeps none, and nothing was appended; < 0: as
 * tsd_ingest_append and tsd_ingest_internal, and nothing was appended. */
int tsd_versions_put(struct tsd_ingest *in, const struct sto_series *series, int64_t ts_ms, int64_t m,
                     uint32_t flags);
/** The same of a delete of a range, both ends inclusive, ms. */
int tsd_versions_delete(struct tsd_ingest *in, const struct sto_series *series, int64_t from_ms,
                        int64_t to_ms);
/** Does the metric keep versions? Then in->msg says that, and `so`: why the operation is refused and what to do instead. */
bool tsd_versions_refuse(struct tsd_ingest *in, const struct sto_series *series, const char *so);

#endif
