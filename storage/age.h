/*
 * age.h - makes summaries of hours before their points are removed (aged.h has their form and what answers when).
 *
 *   rules, clock -> hours whose points have expired an hour ago -> points of a snapshot -> rows of summaries in files
 *     -> DIR/AGED: the marks -> floors (engine/expire.h), which no mark is behind -> points are removed
 *
 * A step is durable before the next one begins, and each may be repeated: hours from the mark of a series on are answered by their points, whatever
 * rows of summaries there are already, and a pass writes all of them anew, with a row that says "no points" where there should be none.
 *
 * The points of such an hour do not change any more but by deletes: writes are refused from the moment on at which they expire. A pass waits first for what was taken before
 * (sto_aged_files_begin), and sets no marks if rules or names have changed since (sto_aged_hold), which may have let points be taken again. A delete before the
 * snapshot is seen in it. A later one deletes points and rows alike if it names both, which whoever deletes does in this order: points, then, found
 * in a new snapshot, rows. If it finds no rows, they were written after that, and the pass sees the delete when they have been (then it sets no mark for that
 * series, and another one follows).
 *
 * Days are those of the daemon's zone, and stay what they are. A store whose opener does not know that zone (opts.knows_zone) makes hours alone; those that have expired wait for the daemon.
 *
 * A series keeps its mark when rules change. Nothing before it is a point again. If its mark was lost (age_marks.h), points of hours before it may have been
 * removed: then a row stays as it is where the points that are left are not more than it knows. Of a series of hours, days up to the last one that knows more than the hours
 * that are left stay, whatever zone they are of, and the hours after it become days of the present zone; each row says which hours it has, so no hour is in two of them.
 *
 * Format     docs/FORMAT.md "Marks of summaries"
 * Threads    passes: the compact thread; stats: any
 * Cost       a scan of the hours of one day (of one hour, if points are kept for less than 8 days) of all series of such rules, once in that time
 */
#ifndef STORAGE_AGE_H
#define STORAGE_AGE_H

#include "base/err.h"
#include "storage/age_left.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct sto_store;
struct sto_keep;

struct sto_age {
    pthread_mutex_t
        marks_mu; /* marks are set, or bulk files that were checked by them are listed (engine/handover.h), or rules or names change (sto_aged_hold) */
    struct sto_keep *keep; /* rules of the last pass that was complete; owned; NULL = none was in this run */
    int32_t hour;          /* up to which */
    int outcome;           /* what it returned */
    unsigned n_void;       /* passes in a row that a change of rules or names has made void, until now */
    struct sto_age_left left; /* of the last pass */
    bool is_open;             /* marks_mu is there */
    bool is_there;            /* DIR/AGED has the marks that are in force */
    _Atomic uint64_t n_passes, n_hours, n_days,
        n_errors; /* passes that wrote something, rows of hours, rows of days, passes that failed; relaxed */
};

/** Read DIR/AGED when the store opens. What is damaged is logged, and found again by the first pass. TS_EVERSION, TS_EIO, TS_ENOMEM. */
int sto_age__open(struct sto_store *st, struct ts_error *err);
void sto_age__close(struct sto_store *st);
/** Make summaries of what has expired at before_ms, or is cut off by the limit of bytes, if it is time. 1: nothing is left to do, but for 1/32 of the series at most; 0: most of what
 * was looked at has its summaries now, and another pass goes on. An error: series failed (the same again until the next hour or other rules); TS_EBUSY: deletes have made most of
 * it void, or memory sufficed for no series; TS_ECANCELLED: the store is closing, or a change of rules or names has made it void, which is TS_EBUSY when it goes on for several passes, so
 * that no client keeps the limit of bytes from being kept. Errors but those of deletes are logged. Points whose summaries were not made stay, those of series in st->age.left. Blocks. */
int sto_age__pass(struct sto_store *st, int64_t before_ms);
/** Report counters. Any thread. */
void sto_age__stats(const struct sto_store *st, void (*each)(void *arg, const char *name, uint64_t value),
                    void *arg);

#endif
