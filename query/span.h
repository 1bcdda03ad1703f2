/*
 * span.h - the points of one series as arrays of times and values, in order of time.
 *
 * Threads    a span belongs to one thread at a time
 */
#ifndef QUERY_SPAN_H
#define QUERY_SPAN_H

#include "base/budget.h"
#include "base/err.h"
#include "storage/point.h"

/* The points of one series. {0}, also with memory set, is an empty span. The caller releases it. */
struct qry_span {
    size_t n, cap;            /* points; capacity of ts, and least capacity of the others */
    int64_t *ts;              /* ms, ascending */
    uint64_t *v;              /* int64_t or bits of a double */
    uint8_t *is_int;          /* one flag per point; only if any_int && any_dbl */
    size_t cap_v, cap_int;    /* capacities of v and is_int */
    struct ts_budget *memory; /* account of the arrays; set it while the span is empty; NULL: not counted */
    bool any_int;             /* there are integers */
    bool any_dbl;             /* there are doubles */
    /* Rates with compat: OpenTSDB's wrong first rate, whose value holds until the first real one but is no point.
     */
    bool phantom;
    int64_t phantom_ts; /* its time */
    double phantom_v;
};

/** Free the arrays; usable again. Idempotent. */
void qry_span_release(struct qry_span *s);
/** Remove all points; keeps the memory. */
void qry_span_clear(struct qry_span *s);
/** Reserve memory for more points; TS_ELIMIT, TS_ENOMEM. */
int qry_span_reserve(struct qry_span *s, size_t more, struct ts_error *err);
/** Release the unused memory of a finished span. */
void qry_span_trim(struct qry_span *s);
/** Append the points of one hour, which must be later than those of the span. TS_ELIMIT, TS_ENOMEM. Cost:
 * O(n). */
int qry_span_append(struct qry_span *s, int32_t hour, const struct sto_cells *c, struct ts_error *err);
/** Is point k an integer? */
static inline bool qry_span_int(const struct qry_span *s, size_t k)
{
    return s->any_int && (!s->any_dbl || s->is_int[k]);
}

/** Convert the n points from i on, all of kind DEC or RAW, to doubles in out; the kinds may be mixed. */
void qry_cells_doubles(const struct sto_cells *c, size_t i, size_t n, double *out);

#endif
