/*
 * reader.c - scans with budgets.
 */
#include "query/execution/reader.h"

#include "query/language/cond.h"

#define REPORT_ROWS   64   /* rows between two looks at the budget */
#define REPORT_POINTS 8192 /* or points */

int qry_reader_open(struct qry_reader *r, struct sto_snap *snap, struct qry_budget *budget, uint32_t metric,
                    const struct sto_series *const *series, size_t n, int64_t from_ms, int64_t to_ms,
                    const uint8_t *whole_hours, bool needs_sum, struct ts_error *err)
{
    *r = (struct qry_reader){.budget = budget};
    struct sto_scan_spec spec = {.metric = metric,
                                 .series = series,
                                 .n_series = n,
                                 .from_ms = from_ms,
                                 .to_ms = to_ms - 1,
                                 .whole_hours = whole_hours,
                                 .needs_sum = needs_sum,
                                 .final = true,
                                 .memory = budget->memory};
    if (from_ms >= to_ms || !n)
        return 0;
    return sto_scan(snap, &spec, &r->scan, err);
}

void qry_reader_close(struct qry_reader *r)
{
    sto_merge_free(r->scan);
    r->scan = NULL;
    sto_cells_release(&r->kept);
}

/* Remove the points that do not meet the conditions: 1, 0 if nothing is left, < 0. */
static int meet(struct qry_reader *r, struct sto_row *row, struct ts_error *err)
{
    if (row->sum) {
        int all = qry_where_hour(r->where, row->sum);
        if (all >= 0)
            return all;
        int rc = sto_merge_points(r->scan, row, err);
        if (rc <= 0)
            return rc;
        r->n_points += row->cells->n;
    }
    qry_where_cells(r->where, row->cells, &r->kept);
    row->cells = &r->kept;
    return r->kept.n > 0;
}

static int report(struct qry_reader *r, struct ts_error *err)
{
    int rc = qry_budget_points(r->budget, r->n_points);
    r->n_points = 0;
    r->n_rows = 0;
    return rc < 0 ? ts_error_set(err, rc, "%s", ts_err_text(rc)) : 0;
}

int qry_reader_next(struct qry_reader *r, struct sto_row *out, struct ts_error *err)
{
    for (;;) {
        int rc = r->scan ? sto_merge_next(r->scan, out, err) : 0;
        if (rc < 0)
            return rc;
        if (rc == 0)
            return report(r, err);
        uint64_t n = out->cells ? out->cells->n : 1;
        r->n_points += n;
        r->n_points_all += n;
        r->n_rows_all++;
        if (r->where && r->where->n)
            rc = meet(r, out, err);
        if (rc < 0)
            return rc;
        if (++r->n_rows >= REPORT_ROWS || r->n_points >= REPORT_POINTS)
            TS_TRY(report(r, err));
        if (rc > 0)
            return 1;
    }
}
