/*
 * days_int.h - what day summaries share with the writer and the reader of sorted files.
 *
 * Threads    as days.h
 */
#ifndef STORAGE_ENGINE_FILES_DAYS_INT_H
#define STORAGE_ENGINE_FILES_DAYS_INT_H

#include "storage/engine/files/days.h"
#include "storage/engine/files/sst_format.h"

/** Append what identifies the rows and the days of a file: the checksum of its index; CRC-32C of the first hour and the hour after the end, u32 each, of all days
 * from its first point to its last one, u32; then the name of the zone. So days are not used after the rules of the zone have changed, and not with rows of another
 * file of the same number and counts, as a folder may have that was copied over another one. False: it has no rows, or a day does not begin at a whole hour. */
bool sto_days__zone_put(const struct sto_sst *sst, struct ts_buf *out);
#define STO_DAYS__ZONE_NAME 8u /* offset of the name */

/* --- sst_write.c --- */
/** Begin the file of days of an open file. *out_w is NULL on error. */
int sto_sst__days_begin(struct sto_sst *sst, struct sto_sst_writer **out_w, struct ts_error *err);
/** Add a row; keys ascend. sum NULL: it has no summary; exp: see sto_sums_enc_row. */
int sto_sst__write_sum(struct sto_sst_writer *w, const struct sto_key *key, const struct sto_summary *sum,
                       uint8_t exp, struct ts_error *err);
/** Write the rest and sync it. w is freed in any case; after an error nothing is left of the file. */
int sto_sst__days_end(struct sto_sst_writer *w, struct ts_slice zone, struct ts_error *err);

#endif
