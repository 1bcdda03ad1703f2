/*
 * total_files.h - gives the files of a store the declared totals.
 *
 * A file gets them as it gets day summaries: once it is old enough to be merged no more soon, four hours after its last point. They are derived: a
 * crash or a full disk costs only that they are made again. Files of totals that are no longer declared are removed.
 *
 * Threads    open: while no other thread runs; make_one: compact_mu held
 * Cost       files/total.h, once for each file and total
 * Not here   their bytes (files/total.h), their use (total_read.h)
 */
#ifndef STORAGE_ENGINE_TOTAL_FILES_H
#define STORAGE_ENGINE_TOTAL_FILES_H

#include "storage/engine/engine_int.h"

/** Open the totals of all files when the store opens. */
void sto_total_files__open(struct sto_engine *e);
/** Is this file of a total, by its name, one of these declared totals? */
bool sto_total_files__is_declared(const struct sto_total_ids *ids, size_t n, const char *name);
/** Make one total of one file that should have it and has not. 1: done, or that file cannot have it; 0: there is no such file, or no space on the disk;
 * TS_ECANCELLED: the store is closing. What fails otherwise is logged, and tried again after the next start. */
int sto_total_files__make_one(struct sto_engine *e, struct ts_error *err);

#endif
