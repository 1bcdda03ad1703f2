/*
 * scan.h - what a scan reads, the rows that it returns, and its cost. The engine implements it
 * (engine/merge/merge.h has the rules by which rows of many sources become one).
 *
 * Threads    a scan belongs to one thread
 * Not here   starting one (sto_scan in store.h)
 */
#ifndef STORAGE_SCAN_H
#define STORAGE_SCAN_H

#include "base/budget.h"
#include "storage/floors.h"
#include "storage/keep.h"
#include "storage/point.h"

#include <stdatomic.h>

struct sto_sst;           /* a sorted file */
struct sto_remote_tag;    /* storage/remote.h */
struct sto_remote_series; /* the same */

#define STO_DAY_WHOLE 0x80u /* of a day in struct sto_scan_spec */

/* What a scan reads. All pointers are borrowed for the life of the scan. */
struct sto_scan_spec {
    uint32_t metric; /* all series belong to it; unused if series is NULL */
    const struct sto_series *const
        *series;            /* ascending by id; NULL = every row of every source (compaction, export) */
    size_t n_series;        /* length of series */
    int64_t from_ms, to_ms; /* from <= t <= to */
    /* may be NULL; whole_hours[hour - sto_hour(from_ms)] != 0: the hour may be answered by a summary (only if
     * it lies within from_ms..to_ms, final is set and series is not NULL) */
    const uint8_t *whole_hours;
    /* may be NULL; what days[hour - sto_hour(from_ms)] says: 0 = no day of the store's zone (storage/day.h) begins with that hour, otherwise its length in hours,
     * plus STO_DAY_WHOLE if it lies within from_ms..to_ms and may be answered by one summary (only if final is set and series is
     * not NULL). Bytes up to the hour of to_ms */
    const uint8_t *days;
    bool needs_sum; /* return the points where a summary has no sum (sto_summary.has_sum) */
    bool
        sums_only; /* counts and sums suffice: summaries may be returned as runs (struct sto_run). Set with needs_sum */
    bool final; /* see sto_merge_cells; true for queries */
    bool
        counts_only; /* values do not matter: a sum that did not fit into 64 bits is a point like any other, and no error */
    /* series == NULL: only hours lo <= h < hi; hi INT32_MAX = no upper bound; both 0 = all */
    int32_t cut_hour_lo, cut_hour_hi;
    const struct sto_key *after; /* series == NULL: only rows of files after this one; NULL = all */
    /* files whose tombstones apply, but whose rows are not read; may be NULL */
    struct sto_sst *const *deletes;
    size_t n_deletes; /* length of deletes */
    /* points before it are left out of sources all of whose generations are below cutoff_gen */
    int64_t cutoff_ms;
    uint64_t cutoff_gen; /* 0 = none are */
    struct sto_keep
        *keep;      /* points that have expired by these rules at now_ms are left out; NULL = none are */
    int64_t now_ms; /* present time, for keep */
    bool
        aged; /* of snapshots: points that have expired are returned as long as they are there, for summaries of hours (aged.h) */
    const struct sto_floors *floors; /* what they hide is left out; NULL = they hide nothing */
    /* account for what the scan holds (blocks, decoders, sources); outlives the scan; NULL = nothing is
     * counted. While it refuses, the scan keeps fewer blocks open and reads blocks repeatedly */
    struct ts_budget *memory;
    /* account for rows that are fetched from a remote store, below memory; NULL = memory. While it refuses, the scan fails with
     * TS_ELIMIT before its first row, and the caller may begin a smaller one */
    struct ts_budget *fetched;
    /* Called after every few rows that are fetched from a remote store. A result below 0 ends the scan, which
     * returns it. May be NULL. */
    int (*look)(void *arg, struct ts_error *err);
    void *look_arg;
    /* The names of a foreign series (STO_FOREIGN), for the remote store; tags has space for all tags that a series can have.
     * NULL: no series is foreign. */
    void (*foreign)(void *arg, const struct sto_series *s, struct sto_remote_tag *tags,
                    struct sto_remote_series *out);
    void *foreign_arg;
    /* Called when the remote store has failed with rc, which err describes: 0 = continue with what is here; the scan
     * ends with any other result. NULL: the scan ends. */
    int (*remote_failed)(void *arg, int rc, struct ts_error *err);
    void *remote_failed_arg;
    /* Called for each annotation of the series that the remote store has within from_ms..to_ms (struct sto_remote_note, whose record
     * this is); a result below 0 ends the scan. It must not call the remote store. NULL: annotations are not read. */
    int (*note)(void *arg, const struct sto_series *s, int64_t start_ms, struct ts_slice record,
                struct ts_error *err);
    /* Called after all annotations of series[first..first + n) were reported; not if the remote store was not read. */
    int (*notes_read)(void *arg, size_t first, size_t n, struct ts_error *err);
    void *note_arg;
    bool local_only;            /* do not read the remote store */
    const _Atomic bool *cancel; /* ends calls of the remote store when it becomes true; NULL = nothing does */
    int64_t deadline_ns;        /* for calls of the remote store (ts_clock_mono_ns); 0 = its own limit */
    /* the least that the scan needs (a block, the cells of one row) is counted, but never refused; set by
     * merges of files */
    bool must_go_on;
    /* with must_go_on: a row for which the scan would hold more fails with TS_ELIMIT; bytes, 0 = no limit */
    uint64_t most_bytes;
};

/* Summaries of hours or days of one series that follow each other: of each only how many points it has and what they add up to. */
struct sto_run {
    size_t n;                   /* summaries, at least 1 */
    const struct sto_key *keys; /* [n] the first hour of each, ascending */
    const int64_t *counts;      /* [n] points */
    const __int128 *sums;       /* [n] as in struct sto_summary */
    bool is_int;                /* the values of all are integers */
};

/* One row of the result. */
struct sto_row {
    struct sto_key key; /* its series and hour */
    size_t pos;         /* index into spec->series; 0 if that is NULL */
    /* hours of which it is: 1; a day of the store's zone has more, and then a summary, whose offsets count from the first hour, which is the key's */
    uint8_t n_hours;
    /* exact summary of the whole hour, or day; cells is NULL then; borrowed until the next call */
    const struct sto_summary *sum;
    /* otherwise the points within from_ms..to_ms, n >= 1; borrowed until the next call */
    const struct sto_cells *cells;
    /* with spec->sums_only: several rows as one, of which this is the first; sum and cells are NULL then. Borrowed until the next call */
    const struct sto_run *run;
};

/* A running scan: the merge of its sources. */
struct sto_merge;
/** End the scan. NULL is ignored. */
void sto_merge_free(struct sto_merge *m);
/** Next row in key order: 1, 0 at the end, < 0 on error (TS_EIO, TS_ECORRUPT from a file; TS_ELIMIT:
 * spec->memory refused the least that the scan needs, the text names its key). A summary is returned only
 * where exactly one source has the row and no tombstone of a newer source concerns the hour. Files that have
 * none of the series, or no time of the range, are not read. */
int sto_merge_next(struct sto_merge *m, struct sto_row *out_row, struct ts_error *err);
/** Read the points of the row for which sto_merge_next has just returned a summary: row->sum becomes NULL,
 * row->cells gets the points; not of a day. 1, 0 = they have been deleted since, < 0 as for sto_merge_next. */
int sto_merge_points(struct sto_merge *m, struct sto_row *row, struct ts_error *err);

/* What a merge has read so far (for limits, explain and stats). */
struct sto_merge_counts {
    uint64_t n_points;    /* cells read from files and memstores, before merging and trimming */
    uint64_t n_rows;      /* rows they came from, one for each source */
    uint64_t n_summaries; /* rows answered by a summary */
    uint64_t n_days;      /* and those of them that are days */
    uint64_t n_bytes;     /* bytes of the cells read, decoded */
    uint64_t n_tombs;     /* tombstones compared */
    uint64_t n_open_most; /* largest number of files that had a block open at the same time */
    /* how often memory was refused, so that open blocks were released, to be read again */
    uint64_t n_refused;
};
/** The counts so far. */
const struct sto_merge_counts *sto_merge_counts(const struct sto_merge *m);

/* Estimate of what a scan reads from one file or memstore with rows or deletes for it. */
struct sto_scan_cost {
    bool memory;      /* true: a memstore; false: a file */
    uint64_t file_no; /* number of the file; 0 for a memstore */
    int64_t min_ms;   /* time of its first point */
    /* and of its last one (memstore: rounded to whole hours); INT64_MAX and INT64_MIN: it has only deletes */
    int64_t max_ms;
    /* Why the file can't be read, so that the scan would fail; NULL if it can be read. Borrowed from the
     * version. */
    const char *broken;
    bool by_summaries;     /* its rows are found through its summaries, which suffice for whole hours */
    size_t n_series;       /* selected series that the file has; memstore: those with rows in the range */
    uint64_t n_rows;       /* rows whose points are read. Memstore: exact; file: an estimate */
    uint64_t n_points;     /* points in these rows. Memstore: operations; file: an estimate */
    uint64_t n_sums;       /* rows answered by their summary, an estimate */
    uint64_t n_blocks;     /* blocks of points that hold such rows */
    uint64_t n_bytes;      /* bytes of these blocks */
    uint64_t n_sum_blocks; /* blocks of summaries */
    uint64_t n_sum_bytes;  /* bytes of these */
    uint64_t n_tombs;      /* its deletes that overlap the range, of any series; they are held in memory */
};
typedef void (*sto_scan_cost_fn)(void *arg, const struct sto_scan_cost *cost);

#endif
