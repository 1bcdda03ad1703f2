/*
 * partition.h - windows of time: how points are divided into files by time, and which files are merged next.
 * Pure functions: no I/O, no state.
 *
 * Time is cut on a fixed grid: days, 8 days, 64 days, and one window that holds all time. A file belongs to the
 * smallest window that holds its points; nothing else needs to be written down. A flush gives each day that has many
 * points, or much of the flush, a file of its own and puts what is thinly spread into few wide ones. Wide files gather
 * until they are a quarter of what lies below them in their window; then they are split, at most eightfold, one level
 * down. The last small files of a day are joined when it is over and the newest flush had no points of it. Windows that
 * are old and small are joined into the next larger one; a day that is too large for that becomes one file.
 *
 * Invariant  files may be merged only if no other file that overlaps them in time has a generation between
 *            theirs: the newest write must win afterwards too (sto_pick_valid checks it, and tests try every
 *            pick). Tombstones prevent no merge: each has a generation, and every merge applies those that
 *            are newer than its inputs
 * Cost       a pick sorts the files and visits each window once, and the files that overlap those of the
 *            merge
 * Not here   writing files (flush.c, compact.c), windows whose merges failed (rests.c)
 */
#ifndef STORAGE_ENGINE_MERGE_PARTITION_H
#define STORAGE_ENGINE_MERGE_PARTITION_H

#include "storage/engine/files/sst.h"

#define STO_BIG_DAY_POINTS 100000u      /* a day with this many points in a flush gets a file of its own */
#define STO_BIG_DAY_SHARE  4u           /* so does a day with this share of the flush, 1/4, */
#define STO_BIG_DAY_LEAST  100u         /* if it has at least this many points */
#define STO_TIER_FILES     4u           /* similar files of one window that start a merge; */
#define STO_DAY_FILES      8u           /* the same for a day that is still written to, or will be joined, */
#define STO_TINY_FILES     20u          /* the same if their average size is below */
#define STO_TINY_BYTES     (128u << 10) /* this */
#define STO_JOIN_FILES_ALL 8u           /* windows of 64 days that are joined into the one of all time */
#define STO_CROWD_FILES    8u           /* files of one window that are split even if they are small */
#define STO_SPLIT          8u           /* most files that a merge writes at the same time */
#define STO_JOINED_BYTES   (256u << 20) /* largest size of a joined window */
#define STO_OUTPUT_BYTES   (1ull << 30) /* files are cut by key at this size */
#define STO_DAY_BYTES      (4 * STO_OUTPUT_BYTES) /* a larger day does not become one run when it is over */
#define STO_WORN_SHARE     4u /* a run is written anew when 1/4 of its points is deleted or has expired, */
#define STO_WORN_AGE_MS    (30 * TS_DAY_MS) /* or so long after the first delete */
#define STO_OVER_AGE_MS    (3 * TS_HOUR_MS) /* this long after the end of a day its files are joined, */
#define STO_OVER_BYTES     (512u << 10)     /* all of them only if it has so many bytes */
#define STO_JOIN_AGE_MS    (3 * TS_DAY_MS)  /* a window may still get late points: leave it alone that long */

enum sto_window_level { STO_WINDOW_DAY, STO_WINDOW_8, STO_WINDOW_64, STO_WINDOW_ALL, STO_WINDOW_LEVELS };
/* A window of the grid. index counts the windows of its level from 1970; 0 for all time. */
struct sto_window {
    uint8_t level; /* enum sto_window_level */
    int32_t index;
};
/** The smallest window that holds lo_ms..hi_ms. */
struct sto_window sto_window_of(int64_t lo_ms, int64_t hi_ms);
/** First ms of a window and the first ms after it; all of time for STO_WINDOW_ALL. */
void sto_window_span(struct sto_window w, int64_t *out_lo_ms, int64_t *out_end_ms);

/* Points of one UTC day. */
struct sto_day_count {
    int32_t day; /* days since the epoch, floor */
    uint64_t n;
};
/* Points by day, being counted. {0} is empty; release with ts_free(days). */
struct sto_day_counts {
    struct sto_day_count *days; /* distinct, ascending */
    size_t n, cap;              /* used, capacity */
    size_t last;                /* index of the day added last, since successive rows are mostly of one day */
};
/* A part of time that is written to one file: hours lo <= h < hi. */
struct sto_cut {
    int32_t hour_lo, hour_hi;
};
/** Count points of a row of hour. O(1) while days repeat, else O(log days) on the average. */
void sto_day_counts_add(struct sto_day_counts *c, int32_t hour, uint64_t points);
/** Cut the days into files (sto_partition_plan). The caller owns *out_cuts.
 *  Returns their number, 0 without days. */
size_t sto_day_counts_cut(struct sto_day_counts *c, uint64_t big_day_points, struct sto_cut **out_cuts);
/** Cut days (ascending, distinct) into files; out has space for n_days entries. Returns the number of files.
 * A window with big_day_points points or more, or with a part of all points (STO_BIG_DAY_SHARE), is cut into
 * those below it; neighbours with fewer share a file. The first cut begins at INT32_MIN and the last ends at
 * INT32_MAX, so that they cover all of time. */
size_t sto_partition_plan(const struct sto_day_count *days, size_t n_days, uint64_t big_day_points,
                          struct sto_cut *out);

enum sto_pick_why {
    STO_PICK_NONE,
    STO_PICK_TIER,       /* similar files of one window */
    STO_PICK_DAY,        /* a day that is over becomes one file, or its last small files do */
    STO_PICK_SPLIT,      /* wide files go one level down */
    STO_PICK_JOIN,       /* an old and small window becomes one file */
    STO_PICK_TOMBS,      /* files of tombstones: those that are done go */
    STO_PICK_WORN,       /* much of a file was deleted */
    STO_PICK_FULL,       /* merged only because a full compaction was requested */
    STO_PICK_LEVEL,      /* files of a range are compressed with another level */
    STO_PICK_UNFINISHED, /* an interrupted merge continues (unfinished.h) */
};
/* A set of files to merge. */
struct sto_pick {
    enum sto_pick_why why;
    size_t *files; /* indexes into the list given; owned, ts_free */
    size_t n;
    struct sto_window window; /* window of the merge, which is left alone for a while if the merge fails */
    uint64_t bytes;           /* of the files */
    bool final;               /* nothing older overlaps: additions have all they add to */
    bool keep_tombs;          /* tombstones are kept, whatever they delete here */
    uint64_t gen_lo, gen_hi;  /* of what is written: the highest also counts the tombstones applied */
    struct sto_cut cuts[STO_SPLIT]; /* of what is written, ascending */
    size_t n_cuts;
    uint64_t n_looked; /* number of files visited, the cost of the pick */
};
/* What a pick knows of a file besides its description: how much of it deletes have removed, and how it is compressed. */
struct sto_pick_wear {
    uint64_t n_dead;    /* points that were deleted since it was written, or have expired, an estimate */
    uint64_t n_expired; /* those of them for which it is written again at once, before all other merges */
    int64_t since_ms;   /* when the oldest of these deletes was written; INT64_MAX = there was none */
    bool done;          /* a file of tombstones that delete nothing any more */
    uint8_t level;      /* of zstd; 0 = the usual one */
};
/* Files that are to be compressed with a level. */
struct sto_pick_range {
    int64_t from_ms, to_ms; /* those with points of this time, inclusive */
    unsigned level;         /* of zstd */
};
/* What a pick depends on besides the files. */
struct sto_pick_opts {
    int64_t now_ms;
    /* full compaction: merge until no files overlap and no tombstone is left, whatever it costs */
    bool full;
    const struct sto_window *skip; /* windows to leave alone; may be NULL */
    size_t n_skip;
    const struct sto_pick_wear *wear; /* for each file; NULL: nothing was deleted */
    bool
        keep_tombs; /* tombstones stay when they have nothing left to delete: their files are only merged with each other */
    bool disk_full; /* what was deleted does not wait for a join */
    /* choose only runs of this range whose level is another one, and whose days are over; NULL = by the rules */
    const struct sto_pick_range *range;
};
/** Pick the next merge; out->why is STO_PICK_NONE if no merge is due. */
void sto_pick_next(const struct sto_sst_info *files, size_t n, const struct sto_pick_opts *opts,
                   struct sto_pick *out);
/** Have the days up to a time been over for so long that few points come for them any more? */
bool sto_pick_is_over(int64_t max_ms, int64_t now_ms);
/** Does merging these files keep the order of writes? */
bool sto_pick_valid(const struct sto_sst_info *files, size_t n, const size_t *chosen, size_t n_chosen);

#endif
