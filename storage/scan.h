/*
 * scan.h - what a scan reads, the rows it returns, and what it would cost. The engine implements it (engine/merge/merge.h
 * has the rules by which rows of many sources become one).
 *
 * Threads    a scan belongs to one thread
 * Not here   starting one (sto_scan in store.h)
 */
#ifndef STORAGE_SCAN_H
#define STORAGE_SCAN_H

#include "base/budget.h"
#include "storage/point.h"

struct sto_sst; /* a sorted file */

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
    const struct sto_key *after;    /* series == NULL: only rows of files after this one; NULL = all */
    struct sto_sst *const *deletes; /* files whose tombstones take part, but not their rows; may be NULL */
    size_t n_deletes;               /* length of deletes */
    int64_t cutoff_ms; /* points before it are deleted from sources wholly of generations below cutoff_gen */
    uint64_t cutoff_gen; /* 0 = none are */
    struct ts_budget *
        memory; /* what the scan holds counts in it (blocks, decoders, sources); outlives the scan; NULL = nothing is
                                 counted. While it refuses, the scan goes on with fewer open blocks, reading them again */
    /* Called for every few rows that are fetched from a remote store; a result below 0 ends the scan with it. May be NULL. */
    int (*look)(void *arg, struct ts_error *err);
    void *look_arg;
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

/* A running scan: the merge of its sources. */
struct sto_merge;
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

#endif
