/*
 * encode.h - points as cells of the data table, with the bytes that OpenTSDB's put writes.
 *
 *   integers   1, 2, 4 or 8 bytes, as few as the value needs
 *   others     4 bytes if a 32-bit float is exactly the value, otherwise 8
 *   times      2 bytes if the point has seconds, 4 if it has ms
 *
 * The points are what sto_hbase_check_points (limits.h) accepts: PUTs with finite values, sorted by offset.
 *
 * Format     docs/OPENTSDB.md, sections 10.2 and 10.4
 * Threads    pure functions
 * Cost       O(n), no allocation but the growth of the buffers
 * Not here   decoding (columns.h), keys of rows (rowkey.h)
 */
#ifndef STORAGE_HBASE_ENCODE_H
#define STORAGE_HBASE_ENCODE_H

#include "base/buf.h"
#include "storage/point.h"

#include <stdint.h>

/* Qualifier and value of a compacted column together, at most. A row of a point a second has up to 36,001 bytes. */
#define STO_HBASE_MAX_COMPACTED_BYTES (64u << 10)

/* A point as a cell. */
struct sto_hbase_point {
    uint8_t qualifier[4], value[8];
    uint8_t n_qualifier, n_value; /* bytes of them */
};
/** Encode one point, whose offset and flags are in meta. */
void sto_hbase_encode_point(uint32_t meta, int64_t m, struct sto_hbase_point *out);
/**
 * Encode all points of a row as one compacted column; a single point becomes an ordinary cell, as in OpenTSDB.
 *
 * @param c                 at least one point
 * @param qualifier, value  [in, out] both are appended to; they need space for 4 bytes of qualifier and 8 of value for each
 *                          point, and one byte more
 * @return 0
 *         TS_ELIMIT   the column would be larger than STO_HBASE_MAX_COMPACTED_BYTES (the points then belong into cells of
 *                     their own), or a buffer would exceed its maximum; nothing was appended
 *         TS_ENOMEM   there is no memory; nothing was appended
 */
int sto_hbase_encode_compacted(const struct sto_cells *c, struct ts_buf *qualifier, struct ts_buf *value);
/** Append points to the value of an append column, whose qualifier is STO_HBASE_APPENDS. Errors as
 * sto_hbase_encode_compacted, except that the length is not limited. */
int sto_hbase_encode_appends(const struct sto_cells *c, struct ts_buf *value);
#define STO_HBASE_APPENDS TS_SLICE_LIT("\5\0\0")

#endif
