/*
 * left_out.h - what an answer lacks because its points have expired and their summaries do not fit.
 *
 * A summary of an hour or a day (execution/aged.h) counts only in an interval that has it as a whole, and only for an aggregator that does not need all points. One that does not count is left out,
 * and the answer is too small, or a percentile one of fewer points: this counts such summaries, so that the answer can say it.
 *
 * Threads    the pieces of a run add concurrently; any thread may read
 */
#ifndef QUERY_LEFT_OUT_H
#define QUERY_LEFT_OUT_H

#include "base/buf.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Of a run. {0} to begin with. What several sub queries leave out counts for each of them. */
struct qry_left_out {
    _Atomic uint64_t n_days, n_hours; /* rows of summaries, for each series */
    _Atomic uint64_t n_series;        /* series that have such rows */
    _Atomic uint64_t n_need_points; /* of them, those that no summary would suffice for, as of percentiles */
    _Atomic uint64_t
        before; /* where the first one begins: a key that rises as that time falls; 0: there is none */
    _Atomic uint64_t after; /* where the last one ends: a key that rises with that time; 0: there is none */
};
/* Of one series. {0} to begin with. */
struct qry_left_out_part {
    uint64_t n_days, n_hours;
    int64_t from_ms, to_ms; /* of all of them: from <= t < to */
    bool needs_points;      /* no summary would suffice */
};
/** Add what was left out of one series, if anything was. */
void qry_left_out_add(struct qry_left_out *l, const struct qry_left_out_part *part);
/** Was anything left out so far? */
static inline bool qry_left_out_any(const struct qry_left_out *l)
{
    return atomic_load_explicit(&l->n_series, memory_order_relaxed) > 0;
}
/** Append a sentence that says what was left out, when, and how to ask for it, without a line break; nothing if nothing was. Zones and times are those of the store
 * (ts_tz_default). */
void qry_left_out_say(const struct qry_left_out *l, struct ts_buf *out);

#endif
