/*
 * cost.h - estimate what a scan would read, from bounds, bitmaps and block indexes of files and from the rows
 * of memstores. It reads only pages of indexes from files, and decodes no points.
 *
 * Threads    any; the version stays pinned
 * Not here   the scan (merge.h); limits by a rough estimate of bytes (sto_version_estimate)
 */
#ifndef STORAGE_ENGINE_COST_H
#define STORAGE_ENGINE_COST_H

#include "storage/engine/merge/merge.h"

struct sto_version; /* engine.h */

/**
 * Report each file and memstore that a scan of chosen series would use, oldest file first, then the
 * memstores. A summary that cannot be used (two sources of one hour, deletes) costs one block of points more
 * than is reported here.
 *
 * @return 0
 *         TS_EIO TS_ECORRUPT TS_ENOMEM  an index can't be read; nothing more is reported
 *
 * A file that could not be opened is reported with `broken` and is no error.
 *
 * Cost:   one search of the index for each series and file, and a visit of each row of the series in memory
 */
int sto_version_cost(const struct sto_version *v, const struct sto_scan_spec *spec, sto_scan_cost_fn each,
                     void *arg, struct ts_error *err);

#endif
