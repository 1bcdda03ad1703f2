/*
 * aged_files.h - writes summaries of expired hours as sorted files (storage/age.h says which).
 *
 * Their rows have a generation of their own, which no memstore ever has: everything older is in files before points are read for them, and
 * everything newer has higher generations, so a delete that comes after that reading deletes from these files as it does from files of points.
 *
 * Threads    the compact thread, with compact_mu held
 * Not here   which summaries (storage/age.c)
 */
#ifndef STORAGE_ENGINE_AGED_FILES_H
#define STORAGE_ENGINE_AGED_FILES_H

#include "storage/engine/engine.h"

struct sto_aged_files;

/** Begin: wait for the open batches of all writers, whose points were taken by the rules of that time, flush everything that was put so far, and reserve a
 * generation. Take the snapshot that is read afterwards. TS_EBUSY: a hand-over of bulk files leaves no generation; errors of a flush and of the manifest. Blocks. */
int sto_aged_files_begin(struct sto_engine *e, struct sto_aged_files **out, struct ts_error *err);
/** The account of what is held to make them: compaction_memory_bytes. */
struct ts_budget *sto_aged_files_memory(struct sto_engine *e);
/** Add cells of a row; a row that is added twice has to be the same. */
void sto_aged_files_put(struct sto_aged_files *a, const struct sto_point *points, size_t n);
/** Do the rows take so much memory that they should be written? */
bool sto_aged_files_full(const struct sto_aged_files *a);
/** Make what was added part of the store; it is on disk when 0 is returned. Errors of writing files and of the manifest. */
int sto_aged_files_write(struct sto_aged_files *a, struct ts_error *err);
/** Call each for the deletes that are newer than the generation. */
void sto_aged_files_deletes(const struct sto_aged_files *a, void (*each)(void *arg, const struct sto_tomb *t),
                            void *arg);
/** Add the series that files which have come since the snapshot was taken have points of before a time to out, as far as they are in series: those of bulk
 * loads. v: that of the snapshot. 0; TS_EIO, TS_ECORRUPT. */
int sto_aged_files_newer(const struct sto_aged_files *a, const struct sto_version *v,
                         const roaring_bitmap_t *series, int64_t before_ms, roaring_bitmap_t *out,
                         struct ts_error *err);
/** Is the store closing? Then the caller should end. */
bool sto_aged_files_stopped(const struct sto_aged_files *a);
/** Free it; what was not written is lost. NULL is ignored. */
void sto_aged_files_end(struct sto_aged_files *a);

#endif
