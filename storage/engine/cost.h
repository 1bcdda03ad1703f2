/*
 * cost.h - estimate what a scan would read, from bounds, bitmaps and block indexes of files and from the rows
 * of memstores. Of files it reads nothing but pages of their indexes, and it decodes no point.
 *
 * Threads    any; the version stays pinned
 * Not here   the scan (merge.h); limits by a rough estimate of bytes (sto_version_estimate)
 */
#ifndef STORAGE_ENGINE_COST_H
#define STORAGE_ENGINE_COST_H

#include "storage/engine/merge/merge.h"

struct sto_version; /* engine.h */

/* What a scan reads of one file or memstore that has rows, or deletes, for it. */
struct sto_scan_cost {
    bool memory;      /* it is a memstore; else a file */
    uint64_t file_no; /* number of the file; 0 for a memstore */
    int64_t min_ms;   /* time of its first point */
    int64_t max_ms;   /* and of its last one (a memstore: rounded to whole hours); INT64_MAX, INT64_MIN:
                       * only deletes */
    /* Why the file can't be read, in which case the scan would fail; NULL: it can. Borrowed from the
     * version. */
    const char *broken;
    bool by_summaries;     /* its rows are found through its summaries, which suffice for whole hours */
    size_t n_series;       /* chosen series that the file has; memstore: that have rows in the range */
    uint64_t n_rows;       /* hours of series whose points are read. Memstore: exact; file: an estimate */
    uint64_t n_points;     /* points in these rows. Memstore: operations; file: an estimate */
    uint64_t n_sums;       /* hours of series answered by a summary, estimate */
    uint64_t n_blocks;     /* blocks of points that hold such rows */
    uint64_t n_bytes;      /* bytes of these blocks */
    uint64_t n_sum_blocks; /* blocks of summaries */
    uint64_t n_sum_bytes;  /* bytes of these */
    uint64_t n_tombs;      /* its deletes that touch the range, of any series; they are held in memory */
};
typedef void (*sto_scan_cost_fn)(void *arg, const struct sto_scan_cost *cost);

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
 * Cost:   a search of the index for each series of each file; a look at each row of the series in memory
 */
int sto_version_cost(const struct sto_version *v, const struct sto_scan_spec *spec, sto_scan_cost_fn each,
                     void *arg, struct ts_error *err);

#endif
