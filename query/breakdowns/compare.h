/*
 * compare.h - totals beside those of the same cells some time before: which range, which cell, what is made of the values.
 *
 * A point of the earlier range counts as if it had come so much later, by the clock of the zone: cells move as their points would.
 *
 * Threads    any
 */
#ifndef QUERY_BREAKDOWNS_COMPARE_H
#define QUERY_BREAKDOWNS_COMPARE_H

#include "query/query.h"

/** Do the cells of spec's keys of time, moved by what compare says, become cells again? TS_EINVAL says what would fit. */
int qry_compare_check(const struct qry_spec *spec, struct ts_error *err);
/** The earlier range, both ends inclusive. What is later than now has nothing to be compared with, so that a day that is not over
 * is compared with the same part of the earlier one. false: the range is empty. */
bool qry_compare_range(const struct qry_spec *spec, int64_t *out_from_ms, int64_t *out_to_ms);
/** Move a cell of the earlier range to the one that it is compared with. false: there is none, as January 31 has none a month later. */
bool qry_compare_move(const struct qry_spec *spec, struct qry_total *t);
/** Where a cell begins by its date and clock reading alone, ms since 1970. A reading that the clock skips counts as the moment of the
 * change; one that it never shows twice has one beginning even if it is marked as repeated. */
int64_t qry_compare_start_ms(const struct ts_tz *tz, const struct qry_total *t);
/** Order of two cells that begin at one moment: by clock reading, the repeated one last. */
int qry_compare_clock(const struct qry_total *a, const struct qry_total *b);
/** Difference (v[2]) and ratio (v[3], of six digits) of v[0], now, and v[1], before. */
void qry_compare_derive(struct qry_total_value *v);

#endif
