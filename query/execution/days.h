/*
 * days.h - which days of a scan one summary may answer.
 *
 * Threads    one thread
 * Not here   the same for hours (plan.h)
 */
#ifndef QUERY_EXECUTION_DAYS_H
#define QUERY_EXECUTION_DAYS_H

#include "query/execution/plan.h"

/** Set p->one, and p->days (struct sto_scan_spec) to the days of the store's zone in the scan; leaves it NULL if no day may be answered as a whole. p->whole_hours
 * is set; memory of the arena. A call for each day.
 *
 * @param one  may the points from from_ms to before to_ms, whose hours are whole, be added as one summary? Called by any thread; NULL: all of them may
 * @return 0; TS_ELIMIT, TS_ENOMEM
 */
int qry_plan_days(struct qry_plan *p, bool (*one)(void *arg, int64_t from_ms, int64_t to_ms), void *arg,
                  struct ts_error *err);
/** The same for the buckets of the plan's grid. */
int qry_plan_days_of_buckets(struct qry_plan *p, struct ts_error *err);

#endif
