/*
 * day_files.h - gives the files of a store their day summaries.
 *
 * A file gets them once it is old enough to be merged no more soon: four hours after its last point. They are made by reading its
 * summaries of hours (or its points where there are none), beside queries, and are derived: a crash, a full disk or a change of the
 * zone costs only that they are made again.
 *
 * Threads    compact_mu held
 * Cost       0.1 us a row with a summary of its hour, 10 ns a point otherwise; once for each file, and again after the zone has changed
 * Not here   their bytes (files/days.h), their use (merge/merge_day.c)
 */
#ifndef STORAGE_ENGINE_DAY_FILES_H
#define STORAGE_ENGINE_DAY_FILES_H

#include "storage/engine/engine_int.h"

/** Is a file old enough for what is derived from its rows? With opts.day_rows each is. Any thread. */
bool sto_day_files__is_old(const struct sto_engine *e, const struct sto_sst_info *info, int64_t now_ms);
/** Make those of one file that should have them and has none. 1: done, or that file cannot have any; 0: there is no such file, or no space on the disk;
 * TS_ECANCELLED: the store is closing. What fails otherwise is logged, and tried again after the next start. */
int sto_day_files__make_one(struct sto_engine *e, struct ts_error *err);

#endif
