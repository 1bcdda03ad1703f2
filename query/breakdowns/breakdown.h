/*
 * breakdown.h - what totals can be broken down by: a row of the table cuts time into cells, or names a tag.
 *
 * A time breakdown cuts a range into stretches; each stretch belongs to a cell. Days are cells of one date,
 * however the clock was changed; hours are cells of one date and hour, and the second run of an hour that
 * comes twice is a cell of its own.
 *
 * Threads    any; cells are constant once made
 */
#ifndef QUERY_BREAKDOWNS_BREAKDOWN_H
#define QUERY_BREAKDOWNS_BREAKDOWN_H

#include "base/err.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/time.h"

#include <stddef.h>
#include <stdint.h>

struct qry_budget;
struct qry_spec;

/* One cell of time. */
struct qry_cell {
    int64_t start_ms;             /* where its first stretch begins, not cut to the range requested */
    int64_t local_ms;             /* its date and hour in the zone, as if that were UTC */
    int64_t offset_ms;            /* zone's offset there */
    bool repeated;                /* the same date and hour were there before */
    uint8_t weekday, hour_of_day; /* 1..7 from Monday on, 0..23; 0 where they are no keys */
};
/* A stretch of time inside a cell; ends where the next one begins. */
struct qry_stretch {
    int64_t start_ms;
    uint32_t cell;
};
struct qry_cells {
    struct qry_cell *cell; /* [n] by time; owned */
    size_t n, cap;
    struct qry_stretch *stretch; /* [n_stretches] by time; the last one ends at end_ms; owned */
    size_t n_stretches, cap_stretches;
    int64_t end_ms;
    struct qry_budget
        *budget; /* limits of the run, whose account counts the arrays; set by qry_breakdown_cut */
};
/** Release the arrays; idempotent. */
void qry_cells_release(struct qry_cells *c);
/** Stretch that holds t, at or after number from (t is inside the range). O(log n), O(1) when near. */
size_t qry_cells_find(const struct qry_cells *c, size_t from, int64_t t_ms);
/** Cut a range into parts of one length of the local clock, whole days at most; as qry_breakdown_cut. Internal to the folder. */
int qry_cells__cut(const struct ts_tz *tz, int64_t unit_ms, int64_t from_ms, int64_t to_ms,
                   struct qry_cells *out, struct ts_error *err);
/** Append a cell; a stretch of a cell. Errors as cut. Internal to the folder. */
int qry_cells__add(struct qry_cells *c, struct qry_cell cell, struct ts_error *err);
int qry_cells__stretch(struct qry_cells *c, int64_t start_ms, uint32_t cell, struct ts_error *err);
/** End of stretch i. */
static inline int64_t qry_stretch_end(const struct qry_cells *c, size_t i)
{
    return i + 1 < c->n_stretches ? c->stretch[i + 1].start_ms : c->end_ms;
}

struct qry_breakdown {
    const char *name; /* "day"; NULL name: an interval as 10m, or any tag key */
    /* Take a key of --by into the spec. */
    int (*add)(struct ts_slice key, struct qry_spec *spec, struct ts_error *err);
    const char *help; /* one sentence */
};
/** All rows; the last one is the one for tags. */
const struct qry_breakdown *const *qry_breakdown_table(void);
/** Names of the rows that have one, ended by NULL. */
const char *const *qry_breakdown_names(void);
/** Take a key into a spec; TS_EINVAL when it is there already. */
int qry_breakdown_add(struct ts_slice key, struct qry_spec *spec, struct ts_error *err);
/** Cells of a spec's time breakdown that meet from <= t < to (not empty); one cell over all if there is none. Memory is the
 * budget's. After an error out is empty: TS_ELIMIT and other errors of qry_budget_look, TS_ENOMEM. */
int qry_breakdown_cut(const struct qry_spec *spec, int64_t from_ms, int64_t to_ms, struct qry_budget *budget,
                      struct qry_cells *out, struct ts_error *err);

#define QRY_MAX_CELLS                                                                                        \
    (1 << 24) /* cells of time in one answer, whatever the limits say: 1,900 years of hours */

struct qry_by_time;
/** Take a key such as 10m as an interval: 1 it is one, 0 it is none, TS_EINVAL. Internal to the folder. */
int qry_breakdown__interval(struct ts_slice key, struct qry_spec *spec, struct ts_error *err);
/** Cells of time keys; out is empty but for its budget, and is released by the caller after an error. Internal to the folder. */
int qry_breakdown__cut_time(const struct qry_by_time *t, const struct ts_tz *tz, int64_t from_ms,
                            int64_t to_ms, struct qry_cells *out, struct ts_error *err);
/** Local start of the interval that holds a local time; 0 without an interval. */
int64_t qry_by_time_floor(const struct qry_by_time *t, int64_t local_ms);
/** Local start of the interval after the one that starts at local_ms, which is none of hours of the day or weekdays alone. */
int64_t qry_by_time_next(const struct qry_by_time *t, int64_t local_ms);
/** Where the interval that begins at ts_ms, called local_ms in the zone, ends. What comes again when clocks go back is an interval of
 * its own if it is an hour or less; repeated: it is the second of two that are called so. */
int64_t qry_by_time_end(const struct qry_by_time *t, const struct ts_tz *tz, int64_t ts_ms, int64_t local_ms,
                        bool repeated);

extern const struct qry_breakdown qry_breakdown_minute, qry_breakdown_hour, qry_breakdown_day,
    qry_breakdown_week, qry_breakdown_month, qry_breakdown_quarter, qry_breakdown_year,
    qry_breakdown_hour_of_day, qry_breakdown_weekday, qry_breakdown_tag;

#endif
