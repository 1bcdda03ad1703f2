/*
 * reader_int.h - what all readings do with a row: count it, and check the limits of the run every few rows.
 *
 * Threads    as reader.h
 */
#ifndef QUERY_EXECUTION_READER_INT_H
#define QUERY_EXECUTION_READER_INT_H

#include "query/execution/reader.h"

#define QRY_READER_ROWS   64   /* rows between two checks of the limits */
#define QRY_READER_POINTS 8192 /* or points */

/* What was read and is not reported to the budget. */
struct qry_reader_count {
    uint64_t n_points;
    unsigned n_rows;
};
/** Report it. Errors of qry_budget_points. */
int qry_reader__report(const struct qry_reading *r, struct qry_reader_count *c, struct ts_error *err);

/** May a summary answer this hour? Only with whole_hours. */
static inline bool qry_reader__is_whole(const struct qry_reading *r, int64_t hour)
{
    int64_t first = sto_hour(r->from_ms), last = sto_hour(r->to_ms - 1);
    return hour >= first && hour <= last && r->whole_hours[hour - first];
}
/** Count a row of a scan, in the reading too. */
static inline void qry_reader__count(struct qry_reading *r, struct qry_reader_count *c,
                                     const struct sto_row *row)
{
    uint64_t n = row->run ? row->run->n : row->cells ? row->cells->n : 1;
    c->n_points += n;
    c->n_rows++;
    r->n_points += n;
    r->n_rows++;
}
/** Report what was counted, if that is due. */
static inline int qry_reader__check(const struct qry_reading *r, struct qry_reader_count *c,
                                    struct ts_error *err)
{
    return c->n_rows >= QRY_READER_ROWS || c->n_points >= QRY_READER_POINTS ? qry_reader__report(r, c, err)
                                                                            : 0;
}

#endif
