/*
 * pair.h - pairs of sorted files in a folder that no manifest describes.
 *
 * Threads    any
 */
#ifndef STORAGE_ENGINE_BULK_PAIR_H
#define STORAGE_ENGINE_BULK_PAIR_H

#include "storage/engine/files/sst_format.h"

/** Read the footer of DIR/NNNNNNNN.t or .s, and the size of the file. 0; TS_ENOTFOUND; TS_ECORRUPT, TS_EVERSION: it is not a
 * complete sorted file of that number; TS_EIO, TS_EMFILE. */
int sto_pair_footer(const struct ts_fs *fs, const char *dir, uint64_t file_no, enum sto_sst_kind kind,
                    struct sto_sst_footer *out, uint64_t *out_bytes, struct ts_error *err);
/** Describe a pair by its footers. Errors as above; a pair without a file of summaries is complete. */
int sto_pair_info(const struct ts_fs *fs, const char *dir, uint64_t file_no, struct sto_sst_info *out,
                  struct ts_error *err);
/** List the numbers of all files NNNNNNNN.t of a folder, ascending; the caller frees *out_nos (ts_free). A folder that does not exist
 * has none. Errors of list. */
int sto_pair_list(const struct ts_fs *fs, const char *dir, uint64_t **out_nos, size_t *out_n,
                  struct ts_error *err);
/** Remove both files of a pair, as far as they exist. 0, or the first error but TS_ENOTFOUND. */
int sto_pair_remove(const struct ts_fs *fs, const char *dir, uint64_t file_no, struct ts_error *err);

#endif
