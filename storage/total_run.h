/*
 * total_run.h - hours of a kept total, many at once, for a caller that needs nothing but counts and sums.
 *
 * Threads    as total_scan.h
 */
#ifndef STORAGE_TOTAL_RUN_H
#define STORAGE_TOTAL_RUN_H

#include "storage/total_scan.h"

/**
 * The next hours of one group that a total answers, as sto_total_scan_next returns them one by one; a scan uses one of the two.
 *
 * @param out_run  the series in its keys are numbers of the file; what it points at is borrowed until the next call
 * @return as sto_total_scan_next
 *
 * Cost:   about 10 ns an hour
 */
int sto_total_scan_run(struct sto_total_scan *scan, int64_t *out_group, struct sto_run *out_run,
                       struct ts_error *err);

#endif
