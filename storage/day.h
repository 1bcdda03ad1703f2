/*
 * day.h - days of the store's zone (key timezone; ts_tz_default), and the summary of a day.
 *
 * Threads    any
 * Not here   files of day summaries (engine/files/days.h), their use by scans (scan.h)
 */
#ifndef STORAGE_DAY_H
#define STORAGE_DAY_H

#include "storage/point.h"

#define STO_DAY_MAX_HOURS 48 /* longer days, of a zone that changed its offset by a day, have no summary */

/* A day: the hours from <= h < to, counted from 1970. */
struct sto_day {
    int32_t from, to;
};
/** The day that holds an hour. False: it does not begin and end at whole hours, or is too long, or beyond the times of points. 0.1 us; 1 to 2 us near a change of the clock. */
bool sto_day_of(int32_t hour, struct sto_day *out);

/** Add the summary of a later hour to that of a day, whose offsets count from the start of the day; {0} is an empty one. shift_ms: start of the hour,
 * counted likewise. False: integers and other kinds are mixed, so that the day has no summary; *day is then undefined. */
bool sto_day_add(struct sto_summary *day, const struct sto_summary *hour, uint32_t shift_ms);

#endif
