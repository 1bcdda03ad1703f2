/*
 * partition.h - which stretch of time goes into which file, and which files to merge next. Pure functions: no
 * I/O, no state.
 *
 * A file spans one partition: a UTC day with enough points has files of its own; days with few points share a
 * file with their small neighbours, so that thirty years of a weather station are a few files and one busy
 * day does not drag old ones along.
 *
 * Invariant  files may be merged only if no other file that overlaps them in time has a generation between
 *            theirs: the newest write must keep winning (sto_pick_valid checks it, tests try all)
 * Not here   doing it (flush.c, compact.c)
 */
#ifndef STORAGE_ENGINE_PARTITION_H
#define STORAGE_ENGINE_PARTITION_H

#include "storage/engine/sst.h"

#define STO_BIG_DAY_POINTS 100000u     /* a day with this many points gets files of its own */
#define STO_JOIN_BYTES     (64u << 20) /* months (years) are joined while the result stays below */
#define STO_TIER_FILES     4u          /* similar files of one day that start a merge */
#define STO_WIDE_FILES     6u          /* files across days that start a merge */

/* Points of one UTC day. */
struct sto_day_count {
    int32_t day; /* days since the epoch, floor */
    uint64_t n;
};
/* Points by day, being counted. {0} is empty; release with ts_free(days). */
struct sto_day_counts {
    struct sto_day_count *days; /* distinct; in the order they were met until sto_day_counts_cut */
    size_t n, cap;              /* used and room */
    size_t last;                /* the one added to last: rows of one day mostly follow each other */
};
/* Hours lo <= h < hi go into one file. */
struct sto_cut {
    int32_t hour_lo, hour_hi;
};
/** Count points of a row of hour. O(1) while days repeat, else O(days). */
void sto_day_counts_add(struct sto_day_counts *c, int32_t hour, uint64_t points);
/** Sort the days and cut them into files (sto_partition_plan). The caller owns *out_cuts.
 *  Returns their number, 0 without days. */
size_t sto_day_counts_cut(struct sto_day_counts *c, uint64_t big_day_points, struct sto_cut **out_cuts);
/** Cut days (ascending, distinct) into files; out has room for n_days entries. Returns the number of files.
 * The first cut begins at INT32_MIN and the last ends at INT32_MAX, so that nothing can fall outside. */
size_t sto_partition_plan(const struct sto_day_count *days, size_t n_days, uint64_t big_day_points,
                          struct sto_cut *out);

enum sto_pick_why { STO_PICK_NONE, STO_PICK_DAY, STO_PICK_WIDE, STO_PICK_JOIN, STO_PICK_FULL };
/* A set of files to merge. */
struct sto_pick {
    enum sto_pick_why why;
    size_t *files; /* indexes into the list given; owned, ts_free */
    size_t n;
    bool final; /* nothing older overlaps: tombstones have done their work */
    bool one;   /* write one file, do not cut by days (joined partitions) */
};
/** The next merge worth doing, or why == STO_PICK_NONE. full: go on until no files overlap and small
 * partitions are joined, whatever it costs; else only what keeps reading cheap. now_ms: partitions younger
 * than a few days are not joined. */
void sto_pick_next(const struct sto_sst_info *files, size_t n, int64_t now_ms, bool full,
                   struct sto_pick *out);
/** Which files are wholly before before_ms and may go: expired[i] = true. A file stays while an older one
 * that reaches further overlaps it, for what it overwrote or deleted there would come back. */
void sto_pick_expired(const struct sto_sst_info *files, size_t n, int64_t before_ms, bool *expired);
/** Does merging these files keep the order of writes? */
bool sto_pick_valid(const struct sto_sst_info *files, size_t n, const size_t *chosen, size_t n_chosen);
/** First and last ms a file says something about, tombstones included. */
void sto_file_span(const struct sto_sst_info *f, int64_t *out_lo_ms, int64_t *out_hi_ms);

#endif
