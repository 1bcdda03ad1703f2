/*
 * shared.h - which annotations and metadata are shared with a remote store, and their keys there.
 *
 * Shared are annotations, metadata of names and of series, unless a TSUID or id means no name here. Trees are kept here alone.
 *
 * Threads    any
 */
#ifndef TSD_META_SHARED_H
#define TSD_META_SHARED_H

#include "storage/store.h"

/** For sto_opts.remote_cell. 0; TS_ENOTFOUND: the cell is kept here alone; errors of ts_buf_append. Cost: a lookup for each name. */
int tsd_meta_remote_cell(struct sto_store *st, struct ts_slice key, struct ts_buf *out);

#endif
