/*
 * shared.h - which annotations, metadata and trees are shared with a remote store, and their keys there.
 *
 * Shared are trees, annotations, metadata of names and of series, unless a TSUID or id means no name here.
 *
 * Threads    any
 */
#ifndef TSD_META_SHARED_H
#define TSD_META_SHARED_H

#include "query/execution/select.h"
#include "storage/remote.h"
#include "storage/store.h"

#define TSD_META_TAGS_MAX (QRY_TSUID_MAX_IDS / 2)
/** The names behind a plain TSUID, whose series need not exist; tags has TSD_META_TAGS_MAX items. False: an id has no name. */
bool tsd_meta_series_names(struct sto_catalog *cat, struct ts_slice tsuid, struct sto_remote_tag *tags,
                           struct sto_remote_series *out);
/** For sto_opts.remote_cell. 0; TS_ENOTFOUND: the cell is kept here alone; errors of ts_buf_append. Cost: a lookup for each name. */
int tsd_meta_remote_cell(struct sto_store *st, struct ts_slice key, struct ts_buf *out);

#endif
