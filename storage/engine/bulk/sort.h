/*
 * sort.h - sorts the points of one run in memory and writes them as sorted files.
 *
 * The points are distributed to buckets by window of time and range of keys, in the order of the input; a bucket fits the caches of a
 * processor. A bucket is distributed once more to its series; the points of a series are sorted by time where they are not in
 * order already. All steps are stable, so of equal times the last one of the input stays.
 *
 * Threads    the caller and its pool
 * Cost       three passes over the points, and the encoding of blocks
 * Not here   which files there are (writer.c), times of a series (times.c), merging (merge.c)
 */
#ifndef STORAGE_ENGINE_BULK_SORT_H
#define STORAGE_ENGINE_BULK_SORT_H

#include <stdatomic.h>

#include "storage/bulk.h"
#include "storage/engine/files/sst.h"
#include "storage/engine/merge/partition.h"

/* Memory for the points of a run. {0} is empty; released by the caller with ts_free(points). */
struct sto_bulk_room {
    struct sto_bulk_point *points; /* NULL if cap is 0 */
    size_t cap;
};

/* One run that is sorted. */
struct sto_bulk_sort {
    const struct ts_fs *fs;
    const char *dir;               /* where its files are written */
    struct ts_pool *pool;          /* may be NULL */
    const struct sto_bulk_id *ids; /* by number of the importer */
    const uint32_t *rank;          /* place of each number in the order of keys, n_series of them */
    uint32_t n_series;
    uint64_t big_day_points;
    uint64_t gen;                         /* generation of the files */
    _Atomic uint64_t *next_no;            /* number of the next file */
    const _Atomic bool *cancel;           /* may be NULL */
    const struct sto_day_counts *earlier; /* days of the runs before; NULL: there are none */
    bool last;                            /* no run follows */
    struct sto_bulk_room *room; /* kept from run to run, so that its pages are not made anew each time */
    struct sto_day_counts days; /* output: points by day; released by the caller */
    struct sto_sst_info *infos; /* output: the files; owned by the caller */
    size_t n_infos;
    uint64_t n_refused; /* output: points of refused series */
};

/**
 * Sort and write. Files that will be merged, since runs before or probably the next one have points of their window, are written roughly
 * (sto_sst_writer_set_rough). The points of the chunks are scratch afterwards. On error the files that were written are removed. 0;
 * TS_ENOMEM; TS_ECANCELLED; errors of writing.
 */
int sto_bulk_sort(struct sto_bulk_sort *s, struct sto_bulk_chunk *chunks, size_t n_chunks,
                  struct ts_error *err);

#endif
