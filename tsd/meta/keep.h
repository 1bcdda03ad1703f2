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

#endif
