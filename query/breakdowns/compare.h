/*
 * compare.h - compares totals with those of the same cells some time earlier: the earlier range, the matching cells, the differences.
 *
 * The earlier range is shifted by local time: an earlier point counts as if it had come that many days, months ... later in the time zone.
 *
 * Threads    any
 */
#ifndef QUERY_BREAKDOWNS_COMPARE_H
#define QUERY_BREAKDOWNS_COMPARE_H

#include "query/query.h"

/** Check that the time cells of spec, shifted by compare, coincide with cells. TS_EINVAL, with a text that
 * says which units fit. */
int qry_compare_check(const struct qry_spec *spec, struct ts_error *err);
/** The earlier range in ms, both ends inclusive. It ends at the time that corresponds to now, so that a day
 * that is not over is compared with the same part of the earlier day. Returns false if the range is empty. */
bool qry_compare_range(const struct qry_spec *spec, int64_t *out_from_ms, int64_t *out_to_ms);
/** Shift a cell of the earlier range to the cell that it is compared with. Returns false if there is none, as
 * for January 31 and a month. */
bool qry_compare_move(const struct qry_spec *spec, struct qry_total *t);
/** Start of a cell, ms since 1970, computed from its local date and hour. A local time that the clock skips
 * gives the time of the change; the mark "repeated" counts only for a local time that really occurs twice. */
int64_t qry_compare_start_ms(const struct ts_tz *tz, const struct qry_total *t);
/** Order of two cells that begin at the same time: by local time, the repeated one last. */
int qry_compare_clock(const struct qry_total *a, const struct qry_total *b);
/** Compute the difference v[2] and the ratio v[3] (six digits) of the present value v[0] and the earlier
 * value v[1]. */
void qry_compare_derive(struct qry_total_value *v);

#endif
