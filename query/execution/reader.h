/*
 * reader.h - reads the rows of some series: a scan that checks the limits of the run and replaces unusable summaries by points.
 *
 * Threads    a reader belongs to one thread; many may read one snapshot
 */
#ifndef QUERY_EXECUTION_READER_H
#define QUERY_EXECUTION_READER_H

#include "query/limit.h"
#include "storage/store.h"

struct qry_reader {
    struct qry_budget *budget;         /* borrowed */
    struct sto_merge *scan;            /* owned */
    const struct qry_where *where;     /* set after opening: return only these points; NULL: all */
    struct sto_cells kept;             /* with where: points of the current row; owned */
    uint64_t n_points;                 /* points read and not yet reported to the budget */
    unsigned n_rows;                   /* rows since the last report */
    uint64_t n_rows_all, n_points_all; /* since the opening */
};
/** Open a reader of the points with from <= t < to. whole_hours has the hours whose summary is sufficient
 * (NULL: none); with needs_sum a summary without a sum is not. Errors as for sto_scan. */
int qry_reader_open(struct qry_reader *r, struct sto_snap *snap, struct qry_budget *budget, uint32_t metric,
                    const struct sto_series *const *series, size_t n, int64_t from_ms, int64_t to_ms,
                    const uint8_t *whole_hours, bool needs_sum, struct ts_error *err);
/** Read the next row in key order: 1; 0 at the end; < 0: an error of the store or of qry_budget_points. */
int qry_reader_next(struct qry_reader *r, struct sto_row *out, struct ts_error *err);
/** End the scan. Idempotent. */
void qry_reader_close(struct qry_reader *r);

#endif
