/*
 * merge.h - rows of many sources as one: newest write wins, adds are summed, tombstones of newer sources
 * delete.
 *
 * Sources are memstores and files, each with its generations; what is in a higher generation is newer. Within
 * a source a time stands once. For one time, from oldest to newest: a put replaces what is there, an add is
 * added to it, a tombstone of a newer source takes it away. An add that finds nothing below stays an add when
 * only a part of the sources is merged (what it belongs to may lie in an older one), and is the value for a
 * query.
 *
 * Threads    a merge belongs to one thread; it borrows its sources; memstores may be written to meanwhile
 * Cost       rows with one source are passed through; rows whose sources do not overlap in time are joined;
 *            else ~4 ns a cell for two sources, a little more with each further one
 */
#ifndef STORAGE_ENGINE_MERGE_MERGE_H
#define STORAGE_ENGINE_MERGE_MERGE_H

#include "storage/engine/memory/memstore.h"
#include "storage/engine/files/sst.h"

/* What one source knows of one row. */
struct sto_merge_src {
    const struct sto_cells *cells; /* sorted, each offset once, PUT and ADD; NULL = none */
    const struct sto_tomb
        *tombs;     /* of this row's series, any time, any order; delete from sources before this one */
    size_t n_tombs; /* length of tombs */
};
/**
 * Merge the pieces of one row.
 *
 * @param hour   of the row
 * @param src    src[0] is the oldest, src[n_src - 1] the newest
 * @param final  nothing older exists or matters: adds that find nothing below become puts
 * @param out    sorted cells, each offset once; may become empty; must not be among the sources
 *
 * Cost: O(cells + tombstones log tombstones).
 */
void sto_merge_cells(int32_t hour, const struct sto_merge_src *src, size_t n_src, bool final,
                     struct sto_cells *out);

/* What a scan reads. All pointers are borrowed for the life of the scan. */
struct sto_scan_spec {
    uint32_t metric; /* all series belong to it; unused if series is NULL */
    const struct sto_series *const
        *series;            /* ascending by id; NULL = every row of every source (compaction, export) */
    size_t n_series;        /* length of series */
    int64_t from_ms, to_ms; /* from <= t <= to */
    const uint8_t
        *whole_hours; /* may be NULL; whole_hours[hour - sto_hour(from_ms)] != 0: the hour may be answered
                       * by a summary (if it lies in from..to, final is set and series is not NULL) */
    bool needs_sum;   /* a summary without its sum (sto_summary.has_sum) is of no use: give the points */
    bool final;       /* see sto_merge_cells; queries say true */
    int32_t cut_hour_lo,
        cut_hour_hi; /* series == NULL: only hours lo <= h < hi; hi INT32_MAX = no end; both 0 = all */
    struct sto_sst *const *deletes; /* files whose tombstones take part, but not their rows; may be NULL */
    size_t n_deletes;               /* length of deletes */
    int64_t cutoff_ms; /* points before it are deleted from sources wholly of generations below cutoff_gen */
    uint64_t cutoff_gen; /* 0 = none are */
    struct ts_budget *
        memory; /* what the scan holds counts in it (blocks, decoders, sources); outlives the scan; NULL = nothing is
                                 counted. While it refuses, the scan goes on with fewer open blocks, reading them again */
    bool
        must_go_on; /* what it needs at least (a block, the cells of one row) is counted, but not refused: merges of files */
};

/* One row of the answer. */
struct sto_row {
    struct sto_key key;            /* whose, and which hour */
    size_t pos;                    /* index into spec->series; 0 if that is NULL */
    const struct sto_summary *sum; /* whole hour, exact: cells is NULL then; borrowed until the next call */
    const struct sto_cells *cells; /* else: points within from..to, n >= 1; borrowed until the next call */
};

struct sto_merge;
/** Merge of files and memstores (in any order; they must stay referenced, the arrays and spec need not stay).
 * What is in a memstore when its series is come to is seen; what is written later may be seen or not, but of a
 * series' points in time order never a later one without those before it. */
int sto_merge_new(const struct sto_scan_spec *spec, struct sto_sst *const *ssts, size_t n_ssts,
                  struct sto_mem *const *mems, size_t n_mems, struct sto_merge **out_merge,
                  struct ts_error *err);
/** End it. NULL is harmless. */
void sto_merge_free(struct sto_merge *m); /* NULL is harmless */
/** Next row in key order: 1, 0 at the end, < 0 on error (TS_EIO, TS_ECORRUPT from a file; TS_ELIMIT: spec->memory refused what it needs
 * at least, the text names its key). A summary is given
 * only where exactly one source has the row and no tombstone of a newer source touches the hour. Files whose
 * bitmap does not meet the selection, or whose time does not meet the range, are not read. */
int sto_merge_next(struct sto_merge *m, struct sto_row *out_row, struct ts_error *err);
/** The points of the row that sto_merge_next has just answered by a summary: row->sum becomes NULL, row->cells are the
 * points. 1, 0 = they were deleted meanwhile, < 0 as sto_merge_next. */
int sto_merge_points(struct sto_merge *m, struct sto_row *row, struct ts_error *err);

/* What a merge has read so far (for limits, explain and stats). */
struct sto_merge_counts {
    uint64_t n_points;    /* cells read from files and memstores, before merging and trimming */
    uint64_t n_rows;      /* rows they came from, one for each source */
    uint64_t n_summaries; /* rows answered by a summary */
    uint64_t n_bytes;     /* of the cells read, decoded */
    uint64_t n_tombs;     /* tombstones looked at */
    uint64_t n_open_most; /* files of which a block was open at once, at most */
    uint64_t n_refused;   /* so often memory was refused, and blocks were let go to be read again */
};
/** What was read so far. */
const struct sto_merge_counts *sto_merge_counts(const struct sto_merge *m);

#endif
