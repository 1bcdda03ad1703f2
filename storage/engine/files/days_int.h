/*
 * days_int.h - what day summaries share with the writer and the reader of sorted files.
 *
 * Threads    as days.h
 */
#ifndef STORAGE_ENGINE_FILES_DAYS_INT_H
#define STORAGE_ENGINE_FILES_DAYS_INT_H

#include "storage/engine/files/days.h"
#include "storage/engine/files/sst_format.h"
#include "storage/engine/files/sst_int.h"

/** Append what identifies the rows and the days of a file: the checksum of its index; CRC-32C of the first hour and the hour after the end, u32 each, of all days
 * from its first point to its last one, u32; then the name of the zone. So days are not used after the rules of the zone have changed, and not with rows of another
 * file of the same number and counts, as a folder may have that was copied over another one. False: it has no rows, or a day does not begin at a whole hour. */
bool sto_days__zone_put(const struct sto_sst *sst, struct ts_buf *out);
#define STO_DAYS__ZONE_NAME 8u /* offset of the name */

/** The summary of the row on which sums stands, or points if sums is NULL; made from its points if it has none there. key is its key. *has: it has one. Errors of the
 * cursors; TS_ECORRUPT: there is no such row of points. */
int sto_sst__summary_at(struct sto_sst_cur *sums, struct sto_sst_cur *points, const struct sto_key *key,
                        struct sto_summary *out, bool *has, struct ts_error *err);

/* --- sst_write.c: files of summaries that are derived from the rows of an open file --- */
/** Begin such a file; one that is there is removed. *out_w is NULL on error. */
int sto_sst__sums_begin(struct sto_sst *sst, const char *path, struct sto_sst_writer **out_w,
                        struct ts_error *err);
/** Add a row; keys ascend. sum NULL: it has no summary; exp: see sto_sums_enc_row. */
int sto_sst__write_sum(struct sto_sst_writer *w, const struct sto_key *key, const struct sto_summary *sum,
                       uint8_t exp, struct ts_error *err);
/** Write the rest and sync it. w is freed in any case; after an error nothing is left of the file.
 * @param about  what identifies it, in place of the set of series */
int sto_sst__sums_end(struct sto_sst_writer *w, enum sto_sst_kind kind, struct ts_slice about,
                      struct ts_error *err);
/** The largest exponent of the numbers of a summary. */
uint8_t sto_sst__exponent(const struct sto_summary *s);

/* --- sst_read.c --- */
/** Open a file of summaries beside an open file: compare its footer, and read what identifies it, which the caller frees (ts_free). f->path is set; its
 * handle is initialised here. On an error the caller releases index and handle. */
int sto_sst__open_sums(struct sto_sst *sst, struct sto_sst__file *f, enum sto_sst_kind kind,
                       struct ts_slice *out_about, struct ts_error *err);

#endif
