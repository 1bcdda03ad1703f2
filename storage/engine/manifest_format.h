/*
 * manifest_format.h - fields of records of the manifest: numbers and descriptions of sorted files.
 *
 * Format     docs/FORMAT.md "Manifest"
 * Threads    pure functions
 * Not here   records (manifest.c), the record of an unfinished merge (unfinished.c)
 */
#ifndef STORAGE_ENGINE_MANIFEST_FORMAT_H
#define STORAGE_ENGINE_MANIFEST_FORMAT_H

#include "base/buf.h"
#include "base/err.h"
#include "storage/engine/files/sst.h"

/** Append a varint. b->failed is set if it does not fit. */
void sto_manifest__put_u64(struct ts_buf *b, uint64_t v);
/** Append the number of files and their descriptions, as in version 2 of the manifest. */
void sto_manifest__put_files(struct ts_buf *b, const struct sto_sst_info *files, size_t n);

/* Reads varints. A varint that is incomplete or too large sets bad; it and all later ones are returned as 0. */
struct sto_manifest__reader {
    const uint8_t *p, *end;
    bool bad;
};
/** Read a varint of at most max. */
uint64_t sto_manifest__get_u64(struct sto_manifest__reader *r, uint64_t max);
/** Read a count of items that take at least min_bytes each. bad is set if the bytes left can't hold so many. */
size_t sto_manifest__get_count(struct sto_manifest__reader *r, size_t min_bytes);
/** Read descriptions of files, as in that version of the manifest, into a new array (ts_free it). 0, also if r is bad; TS_ENOMEM;
 *  TS_EVERSION: a file is of a family that this program does not know. */
int sto_manifest__get_files(struct sto_manifest__reader *r, uint64_t version, struct sto_sst_info **out,
                            size_t *out_n, struct ts_error *err);

#endif
