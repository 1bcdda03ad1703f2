/*
 * csvread.h - fields of CSV (RFC 4180), one after the other.
 *
 * Threads    plain values: one thread at a time
 */
#ifndef TSD_COMMANDS_CSVREAD_H
#define TSD_COMMANDS_CSVREAD_H

#include "base/buf.h"

/** Next field into out (emptied first); *at moves behind it. *out_more: the record continues, else *at stands
 * at the next record. Call while *at < end. */
void tsd_csv_field(const char **at, const char *end, struct ts_buf *out, bool *out_more);

/** CSV as columns: as wide as their widest field, separated by two blanks, the first record as header. The
 * last column, and columns of numbers after the first n_keys, are right-aligned. Appended to out. */
void tsd_csv_table(struct ts_slice csv, size_t n_keys, struct ts_buf *out);

#endif
