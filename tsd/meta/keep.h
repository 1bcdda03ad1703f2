/*
 * keep.h - annotations and metadata of a series keep it in the catalog.
 *
 * Threads    any
 */
#ifndef TSD_META_KEEP_H
#define TSD_META_KEEP_H

#include "storage/store.h"

/** Does a series have an annotation or metadata? For sto_opts.keeps_series. Cost: two lookups in the map of
 * small cells. */
bool tsd_meta_keeps_series(struct sto_store *st, const struct sto_series *s);

/** To be called after something was written about a series: one that is about to be forgotten stays. Whoever writes first
 * and calls this second is seen either by tsd_meta_keeps_series or here.
 *
 * @return 0
 *         TS_ENOTFOUND  there is no such series, or it was forgotten before
 *         TS_EINVAL     that is no TSUID
 */
int tsd_meta_mentioned(struct sto_store *st, struct ts_slice tsuid);

#endif
