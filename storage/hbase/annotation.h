/*
 * annotation.h - cells of annotations in the data table: their qualifiers and documents.
 *
 * An annotation is in the row of its series, or in that of global ones (rowkey.h), at its start time. The start time is in
 * seconds, or in ms from 2^32 on, as in OpenTSDB's protocols.
 *
 * Format     docs/OPENTSDB.md, section 10.5
 * Threads    pure functions
 * Not here   finding annotations among the cells of a row (columns.h)
 */
#ifndef STORAGE_HBASE_ANNOTATION_H
#define STORAGE_HBASE_ANNOTATION_H

#include "base/err.h"
#include "storage/hbase/document.h"

#include <stdint.h>

#define STO_HBASE_OFFSET_BYTES 5 /* of the qualifier of an annotation or histogram, at most */

/* Members of an annotation: tsuid, startTime, endTime, description, notes, custom. */
extern const struct sto_hbase_field sto_hbase_annotation_fields[];

/**
 * Where an annotation is stored.
 *
 * The qualifier has OpenTSDB's peculiarity: a start time that is a multiple of 1000 is divided by 1000 before its offset is
 * formed, even if it is in seconds. So the offset in a qualifier may differ from the time in the document, which counts.
 *
 * @param start          start time
 * @param out_base_s     [out] begin of the row, seconds
 * @param qualifier      [out] STO_HBASE_OFFSET_BYTES bytes
 * @return bytes of the qualifier
 *         TS_EINVAL  HBase cannot hold the time
 */
int sto_hbase_annotation_place(int64_t start, uint32_t *out_base_s, uint8_t *qualifier, struct ts_error *err);

#endif
