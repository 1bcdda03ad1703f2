/*
 * spool_record.h - how batches of lines lie in a segment of the spool.
 *
 *   batch BBBBBBBB PPPPPPPP CCCCCCCC LF      33 bytes: bytes of the lines, points, checksum; each eight hexadecimal digits
 *   put ... LF  put ... LF  ...              B bytes of lines
 *
 * The checksum is CRC-32C over the first 24 bytes of the header and the lines. A batch that was written in part, or damaged, is left out
 * as a whole; the next one is found by its header.
 *
 * Threads    pure
 */
#ifndef COLLECTORS_CORE_SPOOL_RECORD_H
#define COLLECTORS_CORE_SPOOL_RECORD_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

#define COL_RECORD_HEAD_BYTES 33u /* of a header */

/* A batch found. */
struct col_record {
    struct ts_slice lines; /* borrowed from the text */
    uint32_t n_points;     /* in them */
    size_t n_bytes;        /* of the record, header included */
};

/** Write the header of a batch to out, which has COL_RECORD_HEAD_BYTES + 1 bytes. */
void col_record_head(struct ts_slice lines, uint32_t n_points, char out[COL_RECORD_HEAD_BYTES + 1]);
/** The record at the front of a text.
 *  @return 1 = out is filled; 0 = the text ends before the record does: *out_need_bytes says how many there must be; -1 = no record */
int col_record_get(struct ts_slice text, struct col_record *out, size_t *out_need_bytes);
/** Bytes in front of the next whole record of a text; all of it if there is none. */
size_t col_record_find(struct ts_slice text);

#endif
