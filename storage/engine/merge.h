/*
 * merge.h - rows of many sources as one: newest write wins, adds are summed, tombstones of newer sources delete.
 *
 * Sources are memstores and files, each with its generation; what is in a higher generation is newer. Within a source a time
 * stands once. For one time, from newest to oldest: adds are collected until a put or a tombstone ends the search; a put gives
 * its value plus the adds; at the end of the sources the adds alone remain (as ADD when merging a part of the sources, as value for a query).
 * INT + INT stays INT (wrapping is refused: on overflow of 64 bits the sum becomes a double); anything else adds as doubles.
 *
 * Threads    a merge belongs to one thread; it borrows its sources
 * Cost       rows with one source are passed through; rows whose sources do not overlap in time are joined; else O(cells * sources)
 */
#ifndef STORAGE_ENGINE_MERGE_H
#define STORAGE_ENGINE_MERGE_H

#include "storage/engine/memstore.h"
#include "storage/engine/sst.h"

/** Merge sorted cells of one row. src[0] is the oldest, src[n-1] the newest; del[i] (may be NULL) lists ranges [from,to] in row offsets that source i deletes from older ones.
 *  final: nothing older exists or matters, so ADDs that remain become PUTs. out gets sorted cells; may be empty. */
struct sto_merge_src {
    const struct sto_cells *cells;
    const struct sto_tomb *tombs; /* of this row's series, any time; applies to src with a lower index */
    size_t n_tombs;
};
void sto_merge_cells(int32_t hour, const struct sto_merge_src *src, size_t n_src, bool final, struct sto_cells *out);

/* What a scan reads. All pointers are borrowed for the life of the scan. */
struct sto_scan_spec {
    uint32_t metric;                       /* all series belong to it */
    const struct sto_series *const *series; /* ascending by id; NULL = every row of every source (compaction, export) */
    size_t n_series;
    int64_t from_ms, to_ms;                /* from <= t <= to */
    const uint8_t *whole_hours;            /* may be NULL; whole_hours[hour - sto_hour(from_ms)] != 0: the hour may be answered by a summary */
    bool final;                            /* see sto_merge_cells; queries say true */
    int32_t cut_hour_lo, cut_hour_hi;      /* series == NULL: only hours lo <= h < hi */
};

/* One row of the answer. */
struct sto_row {
    struct sto_key key;
    size_t pos;                      /* index into spec->series */
    const struct sto_summary *sum;   /* whole hour, exact: cells is NULL then */
    const struct sto_cells *cells;   /* else: points within from..to, n >= 1; borrowed until the next call */
};

struct sto_merge;
/** Merge of files and memstores (arrays borrowed, in any order; files and memstores must stay referenced). */
int sto_merge_new(const struct sto_scan_spec *spec, struct sto_sst *const *ssts, size_t n_ssts, struct sto_mem *const *mems, size_t n_mems,
                  struct sto_merge **out_merge, struct ts_error *err);
void sto_merge_free(struct sto_merge *m);
/** Next row in key order: 1, 0 at the end, < 0 on error. A summary is given only where exactly one source has the row and no tombstone of a newer source touches the hour. Files whose
 *  bitmap does not meet the selection, or whose time does not meet the range, are not read. */
int sto_merge_next(struct sto_merge *m, struct sto_row *out_row, struct ts_error *err);
/** Points decoded, rows and summaries read so far (for limits, explain and stats). */
struct sto_merge_counts { uint64_t n_points, n_rows, n_summaries, n_blocks, n_bytes; };
const struct sto_merge_counts *sto_merge_counts(const struct sto_merge *m);

#endif
