/*
 * days.h - day summaries: for each series and day of a sorted file, the summary of all its points of that day (NNNNNNNN.d).
 *
 * The file is derived from the rows of its NNNNNNNN.t and is not in the manifest: it names that file, its generations and its counts, so
 * that one that belongs to it is recognised. Where it is missing or damaged, hours are read. A day without a summary (kinds of values
 * are mixed, or a value is NaN) has a row that says so; a day without points has no row.
 *
 * Days are those of storage/day.h. Of a zone whose days do not begin at whole hours there are none.
 *
 * Format     docs/FORMAT.md "File of day summaries"
 * Cost       writing: 0.1 us a row that has a summary of its hour, otherwise its points are read; 10 to 15 bytes a day
 * Threads    one at a time for a file, beside its readers
 * Not here   which files get them (engine/days.c), reading rows (sst_cur.c), the scan (merge/merge_day.c)
 */
#ifndef STORAGE_ENGINE_FILES_DAYS_H
#define STORAGE_ENGINE_FILES_DAYS_H

#include "storage/day.h"
#include "storage/engine/files/sst.h"

#include <stdatomic.h>

/**
 * Write the day summaries of an open file beside it, in place of those that are there, and sync them. The caller opens them with
 * sto_sst_open_days.
 *
 * @param cancel  TS_ECANCELLED when it becomes true; NULL: nothing cancels
 * @return 1; 0 = there are none, since days of the zone do not begin at whole hours; TS_ECORRUPT: the rows cannot be read; errors of the
 *         file system. Nothing is left behind unless it returns 1.
 */
int sto_days_write(struct sto_sst *sst, const _Atomic bool *cancel, struct ts_error *err);
/** Compare the day summaries of an open file, which has some, with its points. 0; TS_ECORRUPT with a text that says where they differ, also if the rows
 * cannot be read; TS_EIO, TS_EMFILE. */
int sto_days_check(struct sto_sst *sst, struct ts_error *err);

#endif
