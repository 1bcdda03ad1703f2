/*
 * keep.h - what people have said about a series keeps it in the catalog.
 *
 * Threads    any
 */
#ifndef TSD_META_KEEP_H
#define TSD_META_KEEP_H

#include "storage/store.h"

/** Has a series an annotation or metadata? As sto_opts.keeps_series. Cost: two looks into the map of cells. */
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
