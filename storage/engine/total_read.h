/*
 * total_read.h - reads a kept total of a version where it is exact.
 *
 * An hour is exact if all rows of the selected series that it has are in files whose total is open, in each series in one file only: so no memstore
 * and no other file has rows of it, the files' numbers of series do not overlap, no delete and no cutoff of retention that is newer than a file
 * concerns it, and every group has a summary with a sum. What is decided for an hour is decided for all groups.
 *
 * Threads    a scan belongs to one thread; the version stays pinned while it lives
 * Cost       to begin: a look at each file, each row in memory of the selected series and each tombstone of the metric; then 0.1 us a row
 * Not here   making totals (files/total.h, total_files.h)
 */
#ifndef STORAGE_ENGINE_TOTAL_READ_H
#define STORAGE_ENGINE_TOTAL_READ_H

#include "storage/engine/engine.h"
#include "storage/total_scan.h"

/** As sto_total_scan_new. Points before from_ms are not all here, or have expired in one of the series. */
int sto_version_total_scan(const struct sto_version *v, const struct sto_floors *floors, int64_t from_ms,
                           const struct sto_total_spec *spec, struct sto_total_scan **out,
                           struct ts_error *err);

#endif
