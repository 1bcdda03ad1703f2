/*
 * span.h - one series as arrays: times and values, in time order.
 *
 * Threads    a span belongs to one thread at a time
 */
#ifndef QUERY_SPAN_H
#define QUERY_SPAN_H

#include "base/budget.h"
#include "base/err.h"
#include "storage/point.h"

/* Points of one series; release when done. {0}, or memory alone, is an empty span. */
struct qry_span {
    size_t n, cap;            /* points; allocated in ts, and at least as many in the others */
    int64_t *ts;              /* ms, ascending */
    uint64_t *v;              /* int64_t or bits of a double */
    uint8_t *is_int;          /* a flag a point; only if any_int && any_dbl */
    size_t cap_v, cap_int;    /* allocated in v, is_int */
    struct ts_budget *memory; /* account of the arrays; set it while there are none; NULL: not counted */
    bool any_int;             /* there are integers */
    bool any_dbl;             /* there are doubles */
    /* Rates in compatibility mode: OpenTSDB's bogus first rate, held until the first real one, but no point.
     */
    bool phantom;
    int64_t phantom_ts; /* from when */
    double phantom_v;
};

/** Free the arrays; usable again. Idempotent. */
void qry_span_release(struct qry_span *s);
/** No points; keeps the memory. */
void qry_span_clear(struct qry_span *s);
/** Reserve memory for more points; TS_ELIMIT, TS_ENOMEM. */
int qry_span_reserve(struct qry_span *s, size_t more, struct ts_error *err);
/** Release unused memory: the span is finished. */
void qry_span_trim(struct qry_span *s);
/** Append the cells of one hour, later than what is there. TS_ELIMIT, TS_ENOMEM. O(n), no call a point. */
int qry_span_append(struct qry_span *s, int32_t hour, const struct sto_cells *c, struct ts_error *err);
/** Is point k an integer? */
static inline bool qry_span_int(const struct qry_span *s, size_t k)
{
    return s->any_int && (!s->any_dbl || s->is_int[k]);
}

/** Doubles of cells i..i+n of DEC and RAW kind, in out; cells may be uniform or not. */
void qry_cells_doubles(const struct sto_cells *c, size_t i, size_t n, double *out);

#endif
