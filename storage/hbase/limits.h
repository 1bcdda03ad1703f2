/*
 * limits.h - what OpenTSDB's tables in HBase cannot hold.
 *
 * Format     docs/OPENTSDB.md, sections 10.1 and 10.2
 * Threads    pure functions
 * Errors     TS_EINVAL with one sentence: what cannot be stored and why
 * Not here   ids and their widths (rowkey.h)
 */
#ifndef STORAGE_HBASE_LIMITS_H
#define STORAGE_HBASE_LIMITS_H

#include "storage/remote.h"

#define STO_HBASE_MAX_HOUR       1193046 /* the hour of the second 2^32 - 1 */
#define STO_HBASE_MAX_NAME_BYTES 32767   /* of a row key in HBase */

/** A time of a point: its second has 32 bits, so that it lies between 1970 and 2106-02-07T06:28:15Z. */
int sto_hbase_check_time(int64_t ts_ms, struct ts_error *err);
/** A value: finite. */
int sto_hbase_check_value(struct ts_num value, struct ts_error *err);
/** A name in UTF-8: not empty, only characters of ISO-8859-1, not the single byte 0, which is the row of the counters. */
int sto_hbase_check_name(enum sto_remote_kind kind, struct ts_slice name, struct ts_error *err);
/** Names and number of tags of a series. */
int sto_hbase_check_series(const struct sto_remote_series *series, struct ts_error *err);
/** Points of an hour, 0 to STO_HBASE_MAX_HOUR: PUTs that are sorted, each offset once, with such times and values. O(n). */
int sto_hbase_check_points(int32_t hour, const struct sto_cells *cells, struct ts_error *err);

/** Append a name in UTF-8 as ISO-8859-1, the bytes that stand in the tables. 0; TS_EINVAL: it has other characters, and a part
 * may have been appended; otherwise as ts_buf_append. */
int sto_hbase_name_encode(struct ts_slice utf8, struct ts_buf *out);
/** Append a name of the tables as UTF-8; every sequence of bytes is one. Errors as ts_buf_append. */
int sto_hbase_name_decode(struct ts_slice bytes, struct ts_buf *out);

#endif
