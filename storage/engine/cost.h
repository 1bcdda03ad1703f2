/*
 * cost.h - what a scan would touch, told from bounds, bitmaps and block indexes of files and from heads of memstore rows. Of files
 * nothing is read but pages of their indexes, and no point is looked at.
 *
 * Threads    any; the version stays pinned
 * Not here   the scan (merge.h); limits by a rough guess of bytes (sto_version_estimate)
 */
#ifndef STORAGE_ENGINE_COST_H
#define STORAGE_ENGINE_COST_H

#include "storage/engine/merge.h"

struct sto_version; /* engine.h */

/* One file or memstore that has rows, or deletes, for a scan. */
struct sto_scan_cost {
    bool memory;      /* a memstore; else a file */
    uint64_t file_no; /* name of the file; 0 with memory */
    int64_t min_ms;   /* first and */
    int64_t max_ms;   /* last time of its points, a memstore's to whole hours; INT64_MAX, MIN: only deletes */
    const char *
        broken; /* why the file can't be read: the scan would fail; NULL: it can. Borrowed from the version */
    bool by_summaries;     /* its rows are found through its summaries, which answer whole hours */
    size_t n_series;       /* of the chosen ones are in the file; of a memstore: have rows in the range */
    uint64_t n_rows;       /* hours of series whose points are read. Memory: exact; file: estimate */
    uint64_t n_points;     /* in these rows. Memory: operations; file: estimate */
    uint64_t n_sums;       /* hours of series answered by a summary, estimate */
    uint64_t n_blocks;     /* blocks of points that hold such rows */
    uint64_t n_bytes;      /* of these blocks */
    uint64_t n_sum_blocks; /* blocks of summaries */
    uint64_t n_sum_bytes;  /* of these */
    uint64_t n_tombs;      /* deletes in it that touch the range, of any series: held in memory */
};
typedef void (*sto_scan_cost_fn)(void *arg, const struct sto_scan_cost *cost);

/** Tell of each file and memstore that a scan of chosen series would use, oldest file first, then memstores. A summary that will not
 * do (two sources of one hour, deletes) costs a block of points more than is told here.
 * Cost: a search of the index for each series of each file; a look at each row of the series in memory.
 * @return 0; TS_EIO TS_ECORRUPT TS_ENOMEM: an index can't be read, nothing more is told. A file that could not be opened is told with
 * `broken`. */
int sto_version_cost(const struct sto_version *v, const struct sto_scan_spec *spec, sto_scan_cost_fn each,
                     void *arg, struct ts_error *err);

#endif
