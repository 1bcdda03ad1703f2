/*
 * aged.h - summaries of hours whose points have expired: the row in which one is stored, and where snapshots have them.
 *
 * A rule of retention may keep summaries of hours longer than points (hours=, retain_rules.h). Before points of an hour are removed, the summary
 * of the hour becomes a row of its own (age.h): of the same hour, of a series of the internal metric \1 a h \1 METRIC with the tags of the visible
 * one. So it is in files, merges, deletes, backups and retention what any row is.
 *
 * In the same way rows of hours become rows of days (days=): a day is in the row of its first hour, of a series of the internal metric \1 a d \1 METRIC.
 * Days are those of the store's zone when they are made, from the hours that they are made of; an hour that is in no day of whole hours is a day of its own.
 *
 *   offset 0   part of the integers        of each part, from its offset on, in ms:
 *   offset 11  part of all other numbers     0 points, + 2^40 if the sum is exact,   1 offset of the first point + 2^32 * offset of the last one
 *                                              + 2^41 * hours of a day
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
 * The same is true of the series that has the rows of hours, with "rows of days" for rows of summaries, "rows of hours" for points, and days for hours.
 *
 * Threads    any
 * Not here   making them (age.h), queries that read them (query/execution/aged.h)
 */
#ifndef STORAGE_AGED_H
#define STORAGE_AGED_H

#include "base/xsum.h"
#include "storage/day.h"
#include "storage/internal.h"

struct sto_catalog;
struct sto_snap;
struct sto_store;

#define STO_AGED_INTS   0  /* a part */
#define STO_AGED_OTHERS 1  /* the other one */
#define STO_AGED_CELLS  22 /* most cells of a row */
#define STO_AGED_SUMS                                                                                        \
    3 /* doubles of a sum that does not fit struct sto_summary: it is rounded to their 159 bits */

/* What is known of an hour, or of a day, whose offsets count from the beginning of its first hour. */
struct sto_aged {
    uint32_t n_hours;           /* of a day; of an hour 0 */
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

/** How many hours it is of: 1, or those of its day. */
static inline uint32_t sto_aged_hours(const struct sto_aged *a)
{
    return a->n_hours ? a->n_hours : 1;
}
/** The day to which an hour belongs in rows of days: that of the store's zone, or the hour itself if that does not consist of whole hours. */
struct sto_day sto_aged_day_of(int32_t hour);

/* Adds up the hours of a day. {0} to begin with. */
struct sto_aged_day {
    struct sto_aged sum; /* without the sums of STO_AGED_OTHERS */
    struct ts_xsum others;
};
/** Add a later hour, which begins shift_ms after the day. */
void sto_aged_day_add(struct sto_aged_day *day, const struct sto_aged *hour, uint32_t shift_ms);
/** The day of n_hours, which begins anew. False: no hour was added. */
bool sto_aged_day_take(struct sto_aged_day *day, uint32_t n_hours, struct sto_aged *out);

/* The bounds in the picture above, ms. What has expired and begins before hours_from_ms is still answered as a part of whole days that begin at
 * days_from_ms or later. */
struct sto_aged_bounds {
    int64_t days_from_ms, hours_from_ms, to_ms, points_from_ms;
    bool lost; /* to_ms is not known, and nothing has it: there may be rows of summaries of any hour */
};
/** Let no marks rise until sto_aged_let: for whoever changes which series there are summaries of, or how long points of a series are taken. A pass under way finds that out
 * afterwards. Blocks while marks are written, or bulk files are listed. */
void sto_aged_hold(struct sto_store *st);
void sto_aged_let(struct sto_store *st);
/** The time before which points of a series are of no use now, ms: it has summaries in place of them, or they have expired and leave none; STO_MIN_TS_MS: there is none. */
int64_t sto_aged_first_ms(struct sto_store *st, uint32_t series);
/** Has any series of the snapshot hours that are answered as a whole after their points have expired? O(1). */
bool sto_snap_ages(const struct sto_snap *snap);
/** The bounds of a series. */
void sto_snap_aged(const struct sto_snap *snap, const struct sto_series *series, struct sto_aged_bounds *out);
/** What the rows of a metric summarise. */
enum sto_aged_level sto_aged_level_of(const struct sto_catalog *catalog, uint32_t metric);
enum sto_aged_level sto_snap_aged_level(const struct sto_snap *snap, uint32_t metric);
/** Set out to the name of the internal metric of the summaries of a metric: of a visible one those of hours, of that one those of days. */
void sto_aged_metric_name(const struct sto_catalog *catalog, uint32_t metric, struct ts_buf *out);
/** The other way round: set out to the name of the metric of which a metric has the summaries. False: of none. */
bool sto_aged_of_name(const struct sto_catalog *catalog, uint32_t metric, struct ts_buf *out);
/** The metric of the summaries of a metric, by ids; UINT32_MAX: there is none, as of days. */
uint32_t sto_snap_aged_metric(const struct sto_snap *snap, uint32_t metric);
/** The series of that metric which has summaries of a series; NULL: there is none. */
const struct sto_series *sto_snap_aged_series(const struct sto_snap *snap, uint32_t aged_metric,
                                              const struct sto_series *series);

struct sto_merge;
/** Scan rows of summaries of n series (ascending by number) of one metric, those that have expired too, from from_ms to to_ms, inclusive. memory (may be NULL) counts what
 * is held, and refuses a row that a merge could not hold (sto_merge_most_bytes) alone. Errors of sto_scan. */
int sto_snap_aged_scan(struct sto_snap *snap, const struct sto_series *const *series, size_t n,
                       int64_t from_ms, int64_t to_ms, struct ts_budget *memory, struct sto_merge **out,
                       struct ts_error *err);

#endif
