/*
 * reader.c - scans within the limits of a run.
 */
#include "query/execution/reader.h"

#include "query/language/cond.h"

#define REPORT_ROWS   64   /* rows between two checks of the budget */
#define REPORT_POINTS 8192 /* or points */

/* A running reading. */
struct reader {
    struct qry_reading *r;
    struct sto_merge *scan; /* owned; NULL: there is nothing to read */
    struct sto_cells kept;  /* with conditions: points of the current row; owned */
    uint64_t n_points;      /* points read and not yet reported to the budget */
    unsigned n_rows;        /* rows since the last report */
};

static int look(void *arg, struct ts_error *err)
{
    return qry_budget_look(arg, err);
}

/* Remove the points that do not meet the conditions: 1, 0 if nothing is left, < 0. */
static int meet(struct reader *r, struct sto_row *row, struct ts_error *err)
{
    if (row->sum) {
        int all = qry_where_hour(r->r->where, row->sum);
        if (all >= 0)
            return all;
        int rc = sto_merge_points(r->scan, row, err);
        if (rc <= 0)
            return rc;
        r->n_points += row->cells->n;
    }
    qry_where_cells(r->r->where, row->cells, &r->kept);
    row->cells = &r->kept;
    return r->kept.n > 0;
}

static int report(struct reader *r, struct ts_error *err)
{
    int rc = qry_budget_points(r->r->budget, r->n_points);
    r->n_points = 0;
    r->n_rows = 0;
    return rc < 0 ? ts_error_set(err, rc, "%s", ts_err_text(rc)) : 0;
}

/* The next row that has points which meet the conditions: 1; 0 at the end; < 0. */
static int next(struct reader *r, struct sto_row *out, struct ts_error *err)
{
    const struct qry_where *where = r->r->where;
    for (;;) {
        int rc = r->scan ? sto_merge_next(r->scan, out, err) : 0;
        if (rc < 0)
            return rc;
        if (rc == 0)
            return report(r, err);
        uint64_t n = out->cells ? out->cells->n : 1;
        r->n_points += n;
        r->r->n_points += n;
        r->r->n_rows++;
        if (where && where->n)
            rc = meet(r, out, err);
        if (rc < 0)
            return rc;
        if (++r->n_rows >= REPORT_ROWS || r->n_points >= REPORT_POINTS)
            TS_TRY(report(r, err));
        if (rc > 0)
            return 1;
    }
}

static int pass_rows(struct reader *rd, struct ts_error *err)
{
    const struct qry_reading *r = rd->r;
    struct sto_row row;
    size_t pos = SIZE_MAX;
    int rc;
    while ((rc = next(rd, &row, err)) > 0) {
        if (row.pos != pos) {
            if (r->end && pos != SIZE_MAX)
                TS_TRY(r->end(r->arg, pos, err));
            pos = row.pos;
            if (r->begin)
                TS_TRY(r->begin(r->arg, pos, err));
        }
        TS_TRY(r->row(r->arg, &row, err));
    }
    return rc == 0 && r->end && pos != SIZE_MAX ? r->end(r->arg, pos, err) : rc;
}

static void foreign(void *arg, const struct sto_series *s, struct sto_remote_tag *tags,
                    struct sto_remote_series *out)
{
    const struct qry_reading *r = arg;
    qry_view_names_of(r->view, s, tags, out);
}

static int remote_failed(void *arg, int rc, struct ts_error *err)
{
    const struct qry_reading *r = arg;
    return qry_view_failed(r->view, rc, err);
}

int qry_read(struct qry_reading *r, struct ts_error *err)
{
    struct reader rd = {.r = r};
    struct sto_scan_spec spec = {.metric = r->metric,
                                 .series = r->series,
                                 .n_series = r->n,
                                 .from_ms = r->from_ms,
                                 .to_ms = r->to_ms - 1,
                                 .whole_hours = r->whole_hours,
                                 .needs_sum = r->needs_sum,
                                 .final = true,
                                 .look = look,
                                 .look_arg = r->budget,
                                 .memory = r->budget->memory};
    if (r->view && r->view->remote) {
        struct sto_remote_call call = qry_view_call(r->view);
        spec.foreign = foreign;
        spec.remote_failed = remote_failed;
        spec.foreign_arg = spec.remote_failed_arg = r;
        spec.local_only = !qry_view_remote(r->view);
        spec.cancel = call.cancel;
        spec.deadline_ns = call.deadline_ns;
    }
    int rc = r->from_ms < r->to_ms && r->n ? sto_scan(r->snap, &spec, &rd.scan, err) : 0;
    if (rc == 0)
        rc = pass_rows(&rd, err);
    sto_merge_free(rd.scan);
    sto_cells_release(&rd.kept);
    return rc;
}
