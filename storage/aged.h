/*
 * aged.h - summaries of hours whose points have expired: the row in which one is stored, and where snapshots have them.
 *
 * A rule of retention may keep summaries of hours longer than points (hours=, retain_rules.h). Before points of an hour are removed, the summary
 * of the hour becomes a row of its own (age.h): of the same hour, of a series of the internal metric \1 a h \1 METRIC with the tags of the visible
 * one. So it is in files, merges, deletes, backups and retention what any row is.
 *
 *   offset 0   part of the integers        of each part, from its offset on, in ms:
 *   offset 11  part of all other numbers     0 points, + 2^40 if the sum is exact    1 offset of the first point + 2^32 * offset of the last one
 *                                            2 first  3 last  4 min  5 max           6, 7 sum, lower and upper half; or 8, 9, 10 doubles that add up to it
 *
 * A part without points has its first cell alone; a row with two such parts says that the hour has no points. Two parts, since an hour of integers and
 * decimals has no summary in the sense of struct sto_summary.
 *
 * Which hours of a series are answered by what, at the time of a snapshot:
 *
 *   ... hours_from_ms      nothing
 *   ... to_ms              rows of summaries
 *   ... points_from_ms     points, but only as whole hours that begin at hours_from_ms or later: their points have expired
 *   ...                    points
 *
 * Threads    any
 * Not here   making them (age.h), queries that read them (query/execution/aged.h)
 */
#ifndef STORAGE_AGED_H
#define STORAGE_AGED_H

#include "storage/point.h"

struct sto_catalog;
struct sto_snap;

#define STO_AGED_INTS   0  /* a part */
#define STO_AGED_OTHERS 1  /* the other one */
#define STO_AGED_CELLS  22 /* most cells of a row */
#define STO_AGED_SUMS                                                                                        \
    3 /* doubles of a sum that does not fit struct sto_summary: it is rounded to their 159 bits */

/* What is known of an hour. */
struct sto_aged {
    struct sto_summary part[2]; /* n = 0: the part has no points. without has_sum the sum is below */
    double sum
        [2]
        [STO_AGED_SUMS]; /* what the sum of a part without has_sum adds up from, the largest first; others are 0 */
};
/** Summarise sorted points; values that are NaN count as missing. False: there are no others. O(n). */
bool sto_aged_make(const struct sto_cells *c, struct sto_aged *out);
struct ts_budget;
/** The same. A copy of the points, which an hour of integers and others needs, counts in memory, which does not refuse it. */
bool sto_aged_make_counted(const struct sto_cells *c, struct ts_budget *memory, struct sto_aged *out);
/** The row of it: cells for an hour of a series. Returns how many, at most STO_AGED_CELLS. {0} says that the hour has no points. */
size_t sto_aged_row(const struct sto_aged *a, const struct sto_series *series, int32_t hour,
                    struct sto_point *out);
/** The other way round. False: it is not a complete row, as while its hour expires, or the hour has no points. */
bool sto_aged_read(const struct sto_cells *row, struct sto_aged *out);

/* The bounds in the picture above, ms. */
struct sto_aged_bounds {
    int64_t hours_from_ms, to_ms, points_from_ms;
    bool lost; /* to_ms is not known, and nothing has it: there may be rows of summaries of any hour */
};
/** Has any series of the snapshot hours that are answered as a whole after their points have expired? O(1). */
bool sto_snap_ages(const struct sto_snap *snap);
/** The bounds of a series. */
void sto_snap_aged(const struct sto_snap *snap, const struct sto_series *series, struct sto_aged_bounds *out);
/** Set out to the name of the internal metric of summaries of a metric. */
void sto_aged_metric_name(const struct sto_catalog *catalog, uint32_t metric, struct ts_buf *out);
/** The internal metric of summaries of a metric, by ids; UINT32_MAX: there is none. */
uint32_t sto_snap_aged_metric(const struct sto_snap *snap, uint32_t metric);
/** The series of that metric which has summaries of a visible series; NULL: there is none. */
const struct sto_series *sto_snap_aged_series(const struct sto_snap *snap, uint32_t aged_metric,
                                              const struct sto_series *series);

#endif
