/*
 * metatable.h - cells of the table of series, tsdb-meta.
 *
 *   row     family  qualifier  value
 *   TSUID   name    ts_meta    document
 *   TSUID   name    ts_ctr     points of the series, 8 bytes (sto_hbase_counter_parse); 1 if they are not counted. The time
 *                              stamp of the cell is the time of the last point
 *
 * Format     docs/OPENTSDB.md, section 10.9
 * Threads    constants
 * Not here   TSUIDs (rowkey.h)
 */
#ifndef STORAGE_HBASE_METATABLE_H
#define STORAGE_HBASE_METATABLE_H

#include "storage/hbase/document.h"

#define STO_HBASE_META_FAMILY   TS_SLICE_LIT("name")
#define STO_HBASE_META_DOCUMENT TS_SLICE_LIT("ts_meta")
#define STO_HBASE_META_COUNTER  TS_SLICE_LIT("ts_ctr")

/* Members of a document: tsuid, displayName, description, notes, created (seconds), custom, units, dataType, retention,
 * max, min. */
extern const struct sto_hbase_field sto_hbase_meta_fields[];

#endif
