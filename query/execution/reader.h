/*
 * reader.h - rows of a piece of series: a scan with budget checks; summaries that can't be used become
 * points.
 *
 * Threads    one thread each; many at once over one snapshot
 */
#ifndef QUERY_EXECUTION_READER_H
#define QUERY_EXECUTION_READER_H

#include "query/limit.h"
#include "storage/store.h"

struct qry_reader {
    struct qry_budget *budget;         /* borrowed */
    struct sto_merge *scan;            /* owned */
    const struct qry_where *where;     /* set after opening: only these points are given; NULL: all */
    struct sto_cells kept;             /* of the current row, with where; owned */
    uint64_t n_points;                 /* read and not yet reported */
    unsigned n_rows;                   /* rows since the last report */
    uint64_t n_rows_all, n_points_all; /* since the opening */
};
/** Open. from <= t < to; whole_hours may be NULL. needs_sum: a summary without its sum will not do. */
int qry_reader_open(struct qry_reader *r, struct sto_snap *snap, struct qry_budget *budget, uint32_t metric,
                    const struct sto_series *const *series, size_t n, int64_t from_ms, int64_t to_ms,
                    const uint8_t *whole_hours, bool needs_sum, struct ts_error *err);
/** Next row in key order: 1, 0 at the end, < 0. */
int qry_reader_next(struct qry_reader *r, struct sto_row *out, struct ts_error *err);
/** End the scan. Idempotent. */
void qry_reader_close(struct qry_reader *r);

#endif
