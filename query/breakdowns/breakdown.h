/*
 * breakdown.h - breakdowns of totals: a row of the table is a time breakdown, which cuts time into cells, or stands for tags.
 *
 * A time breakdown cuts a range into stretches, and each stretch belongs to a cell. A day is the cell of one date, even if the clock
 * is changed on it. An hour is the cell of one date and hour; when the clock repeats an hour, the second one is a cell of its own.
 *
 * Threads    any; cells are constant after qry_breakdown_cut
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
    int64_t start_ms;             /* start of its first stretch, not clipped to the requested range */
    int64_t local_ms;             /* date and hour in the time zone, in ms as if it were UTC */
    int64_t offset_ms;            /* offset of the time zone then */
    bool repeated;                /* the second occurrence of the same date and hour */
    uint8_t weekday, hour_of_day; /* 1 (Monday) to 7, 0 to 23; 0 if they are not keys */
};
/* A contiguous part of a cell; it ends where the next one begins. */
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
    /* Limits of the run; its account counts the arrays. qry_breakdown_cut sets it. */
    struct qry_budget *budget;
};
/** Release the arrays; idempotent. */
void qry_cells_release(struct qry_cells *c);
/** Index of the stretch that contains t_ms, which is in the range; the search starts at index from. Cost:
 * O(log n), O(1) near from. */
size_t qry_cells_find(const struct qry_cells *c, size_t from, int64_t t_ms);
/** Cut a range into intervals of unit_ms of local time, a day at most; errors as for qry_breakdown_cut.
 * Internal to the folder. */
int qry_cells__cut(const struct ts_tz *tz, int64_t unit_ms, int64_t from_ms, int64_t to_ms,
                   struct qry_cells *out, struct ts_error *err);
/** Append a cell, or a stretch of a cell, unless that of the same cell before it goes on. Errors as for qry_breakdown_cut. Internal to the folder. */
int qry_cells__add(struct qry_cells *c, struct qry_cell cell, struct ts_error *err);
int qry_cells__stretch(struct qry_cells *c, int64_t start_ms, uint32_t cell, struct ts_error *err);
/** End of stretch i. */
static inline int64_t qry_stretch_end(const struct qry_cells *c, size_t i)
{
    return i + 1 < c->n_stretches ? c->stretch[i + 1].start_ms : c->end_ms;
}

/* A named key of --by: an interval of n units, or a part of the time that comes again, which add adds to a spec. */
struct qry_breakdown {
    const char *name; /* "day" */
    int64_t n;        /* intervals: how many units; 0: add is called */
    enum ts_unit unit;
    int (*add)(struct ts_slice key, struct qry_spec *spec, struct ts_error *err);
    const char *help; /* one sentence */
};
/* All of them: each is a struct qry_breakdown qry_breakdown_<name> in a file of this folder. */
#define QRY_BREAKDOWNS(ROW)                                                                                  \
    ROW(minute)                                                                                              \
    ROW(hour)                                                                                                \
    ROW(day)                                                                                                 \
    ROW(week)                                                                                                \
    ROW(month)                                                                                               \
    ROW(quarter)                                                                                             \
    ROW(year)                                                                                                \
    ROW(hourofday)                                                                                           \
    ROW(weekday)

#define QRY_BREAKDOWN__DECLARE(name) extern const struct qry_breakdown qry_breakdown_##name;
QRY_BREAKDOWNS(QRY_BREAKDOWN__DECLARE)
/* Their names for helps and errors, each with a comma and a blank behind it: "minute, hour, ". */
#define QRY_BREAKDOWN__NAME(name) #name ", "
#define QRY_BREAKDOWN_LIST        QRY_BREAKDOWNS(QRY_BREAKDOWN__NAME)
/** Their names, terminated by NULL. */
const char *const *qry_breakdown_names(void);
/** Add a key to a spec; TS_EINVAL if the spec has it already. */
int qry_breakdown_add(struct ts_slice key, struct qry_spec *spec, struct ts_error *err);
/** Compute the cells of a spec's time breakdown that overlap from <= t < to, which is not empty; without a
 * time breakdown it is one cell. The account of budget counts the memory. TS_ENOMEM, TS_ELIMIT and other
 * errors of qry_budget_look; out is empty then. */
int qry_breakdown_cut(const struct qry_spec *spec, int64_t from_ms, int64_t to_ms, struct qry_budget *budget,
                      struct qry_cells *out, struct ts_error *err);

#define QRY_MAX_CELLS                                                                                        \
    (1 << 24) /* most time cells of one answer, whatever the limits say: 1,900 years of hours */

struct qry_by_time;
/** Add an interval of n units, which key calls, to a spec. TS_EINVAL. Internal to the folder. */
int qry_breakdown__interval(struct ts_slice key, int64_t n, enum ts_unit unit, struct qry_spec *spec,
                            struct ts_error *err);
/** Add a tag key to a spec. TS_EINVAL. Internal to the folder. */
int qry_breakdown__tag(struct ts_slice key, struct qry_spec *spec, struct ts_error *err);
/** Compute the cells of time keys. out is empty but has its budget; the caller releases it after an error.
 * Internal to the folder. */
int qry_breakdown__cut_time(const struct qry_by_time *t, const struct ts_tz *tz, int64_t from_ms,
                            int64_t to_ms, struct qry_cells *out, struct ts_error *err);
/** Start (local time, ms) of the interval that contains a local time; 0 without an interval. */
int64_t qry_by_time_floor(const struct qry_by_time *t, int64_t local_ms);
/** Start (local time, ms) of the interval that follows the one at local_ms. The keys must not be hours of the
 * day or weekdays alone. */
int64_t qry_by_time_next(const struct qry_by_time *t, int64_t local_ms);
/** End (UTC, ms) of the interval that begins at ts_ms, local time local_ms. An interval of an hour or less
 * that occurs twice when the clock is set back is two intervals; repeated means the second one. */
int64_t qry_by_time_end(const struct qry_by_time *t, const struct ts_tz *tz, int64_t ts_ms, int64_t local_ms,
                        bool repeated);

#endif
