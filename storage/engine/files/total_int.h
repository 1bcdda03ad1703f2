/*
 * total_int.h - what files of kept totals share: total.c (opening), total_make.c (writing, checking).
 *
 * Threads    as total.h
 */
#ifndef STORAGE_ENGINE_FILES_TOTAL_INT_H
#define STORAGE_ENGINE_FILES_TOTAL_INT_H

#include "storage/engine/files/days_int.h"
#include "storage/engine/files/total.h"

/** Append what identifies a total and describes its rows. */
void sto_total__put(const struct sto_sst *sst, const struct sto_total_file *shown, struct ts_buf *out);
/** Note that a file has no rows of the metric. */
void sto_sst__total_none(struct sto_sst *sst, const struct sto_total_ids *ids);
/** Path of its file; free it with ts_free. */
char *sto_sst__path_of_total(const struct sto_sst *sst, uint32_t no);

#endif
