/*
 * keep.h - annotations and metadata keep series and names in the catalog.
 *
 * Threads    any
 */
#ifndef TSD_META_KEEP_H
#define TSD_META_KEEP_H

#include "storage/store.h"

/** Does a series have an annotation or metadata? For sto_opts.keeps_series. Cost: two lookups in the map of
 * small cells. */
bool tsd_meta_keeps_series(struct sto_store *st, const struct sto_series *s);

/** Add the ids of names that have metadata, or that stand in the TSUID of an annotation or of metadata of a
 * series. For sto_opts.mentioned_names. Cost: one visit to each such cell. */
void tsd_meta_mentioned_names(struct sto_store *st, roaring_bitmap_t *const *ids);

/** To be called after something was written about a series: one that is about to be forgotten stays, and so do the names in its TSUID. Whoever writes
 * first and calls this second is seen either by tsd_meta_keeps_series and tsd_meta_mentioned_names, or here.
 *
 * @return 0
 *         TS_ENOTFOUND  there is no such series, or it was forgotten before
 *         TS_EINVAL     that is no TSUID
 */
int tsd_meta_mentioned(struct sto_store *st, struct ts_slice tsuid);

#endif
