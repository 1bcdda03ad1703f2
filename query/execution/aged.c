/*
 * aged.c - see aged.h.
 */
#include "query/execution/aged.h"

#include <string.h>

#include "query/language/cond.h"
#include "storage/aged.h"

/* A running reading. */
struct reader {
    struct qry_reading *r;
    uint32_t aged_metric;      /* of the summaries; UINT32_MAX = there is none */
    struct sto_aged_bounds at; /* of the present series */
    size_t pos;                /* of it */
    bool begun;                /* r->begin was called for it */
    uint64_t n_points;         /* read and not reported to the budget */
    unsigned n_rows;           /* the same */
    struct sto_cells cells;    /* points in place of a summary; owned */
};

#define REPORT_ROWS   64 /* as reader.c does */
#define REPORT_POINTS 8192

bool qry_aged_concerns(const struct qry_reading *r)
{
    if (!r->whole_hours || (r->where && r->where->n) || !sto_snap_ages(r->snap))
        return false;
    for (size_t i = 0; i < r->n; i++) {
        struct sto_aged_bounds at;
        sto_snap_aged(r->snap, r->series[i], &at);
        if (at.points_from_ms > r->from_ms && (at.to_ms > r->from_ms || at.hours_from_ms < at.points_from_ms))
            return true;
    }
    return false;
}

/* May the summary of an hour be used? */
static bool is_whole(const struct qry_reading *r, int64_t hour)
{
    int64_t first = sto_hour(r->from_ms), last = sto_hour(r->to_ms - 1);
    return hour >= first && hour <= last && r->whole_hours[hour - first];
}

static int report(struct reader *rd, struct ts_error *err)
{
    int rc = qry_budget_points(rd->r->budget, rd->n_points);
    rd->n_points = 0;
    rd->n_rows = 0;
    return rc < 0 ? ts_error_set(err, rc, "%s", ts_err_text(rc)) : qry_budget_look(rd->r->budget, err);
}

static int pass(struct reader *rd, struct sto_row *row, struct ts_error *err)
{
    struct qry_reading *r = rd->r;
    uint64_t n = row->run ? row->run->n : row->cells ? row->cells->n : 1;
    rd->n_points += n;
    r->n_points += n;
    r->n_rows++;
    if (++rd->n_rows >= REPORT_ROWS || rd->n_points >= REPORT_POINTS)
        TS_TRY(report(rd, err));
    if (!rd->begun && r->begin)
        TS_TRY(r->begin(r->arg, rd->pos, err));
    rd->begun = true;
    row->pos = rd->pos;
    return r->row(r->arg, row, err);
}

/* --- rows of summaries --- */

/* Room for n points in place of a summary. */
static int take_cells(struct reader *rd, uint32_t n, struct ts_error *err)
{
    uint64_t more = sto_cells_growth(&rd->cells, n);
    TS_TRY(ts_budget_take(rd->r->budget->memory, more, err));
    rd->cells.n = 0; /* nothing is kept */
    sto_cells_reserve(&rd->cells, n);
    return 0;
}

/* A part without an exact sum, of which the sum is needed: as many doubles, which have this sum. */
static int pass_doubles(struct reader *rd, const struct sto_row *like, const struct sto_summary *s,
                        const double *sums, struct ts_error *err)
{
    struct sto_cells *c = &rd->cells;
    struct sto_row row = *like;
    TS_TRY(take_cells(rd, s->n, err));
    c->n = s->n;
    c->uniform = true;
    c->common = sto_meta_flags(STO_OP_PUT, TS_NUM_RAW, 0, true);
    memset(c->m, 0, s->n * sizeof *c->m);
    memcpy(c->m, sums, (s->n < STO_AGED_SUMS ? s->n : STO_AGED_SUMS) * sizeof *sums);
    for (uint32_t i = 0; i < s->n; i++) /* at most one for each ms of the hour */
        c->meta[i] = c->common | i;
    row.sum = NULL;
    row.cells = c;
    return pass(rd, &row, err);
}

static int pass_summary(struct reader *rd, int32_t hour, const struct sto_cells *cells, struct ts_error *err)
{
    struct qry_reading *r = rd->r;
    struct sto_aged a;
    if (!is_whole(r, hour) || hour * TS_HOUR_MS >= rd->at.to_ms || !sto_aged_read(cells, &a))
        return 0;
    struct sto_row row = {.key = {.metric = r->metric, .series = r->series[rd->pos]->id, .hour = hour},
                          .n_hours = 1};
    for (unsigned p = 0; p < 2; p++) {
        row.sum = &a.part[p];
        if (!row.sum->n)
            continue;
        TS_TRY(r->needs_sum && !row.sum->has_sum ? pass_doubles(rd, &row, &a.part[p], a.sum[p], err)
                                                 : pass(rd, &row, err));
    }
    return 0;
}

/* --- scans --- */

static int look(void *arg, struct ts_error *err)
{
    return qry_budget_look(arg, err);
}

/* What all scans have in common: one series, s, which is borrowed. */
static struct sto_scan_spec spec_of(const struct reader *rd, const struct sto_series *const *s,
                                    int64_t from_ms, int64_t to_ms)
{
    return (struct sto_scan_spec){.metric = (*s)->metric,
                                  .series = s,
                                  .n_series = 1,
                                  .from_ms = from_ms,
                                  .to_ms = to_ms - 1,
                                  .final = true,
                                  .look = look,
                                  .look_arg = rd->r->budget,
                                  .memory = rd->r->budget->memory};
}

static int read_summaries(struct reader *rd, const struct sto_series *aged, int64_t to_ms,
                          struct ts_error *err)
{
    struct sto_merge *merge;
    struct sto_row row;
    /* the cells of a row are in the first ms of its hour */
    int64_t from_ms = ts_floor_div(rd->r->from_ms, TS_HOUR_MS) * TS_HOUR_MS;
    if (!aged || from_ms >= to_ms)
        return 0;
    struct sto_scan_spec spec = spec_of(rd, &aged, from_ms, to_ms);
    TS_TRY(sto_scan(rd->r->snap, &spec, &merge, err));
    int rc;
    while ((rc = sto_merge_next(merge, &row, err)) == 1)
        if ((rc = pass_summary(rd, row.key.hour, row.cells, err)) < 0)
            break;
    sto_merge_free(merge);
    return rc;
}

/* aged: the points have expired, and only hours that the reading has whole are passed. */
static int read_points(struct reader *rd, int64_t from_ms, int64_t to_ms, bool aged, struct ts_error *err)
{
    const struct qry_reading *r = rd->r;
    struct sto_merge *merge;
    struct sto_row row;
    if (from_ms >= to_ms)
        return 0;
    int64_t skipped = (int64_t)sto_hour(from_ms) - sto_hour(r->from_ms);
    struct sto_scan_spec spec = spec_of(rd, &r->series[rd->pos], from_ms, to_ms);
    spec.whole_hours = r->whole_hours + skipped;
    spec.days = !aged && r->days ? r->days + skipped : NULL;
    spec.needs_sum = r->needs_sum;
    spec.sums_only = r->sums_only;
    spec.aged = aged;
    TS_TRY(sto_scan(r->snap, &spec, &merge, err));
    int rc;
    while ((rc = sto_merge_next(merge, &row, err)) == 1) {
        if (aged && !row.run && !is_whole(r, row.key.hour))
            continue;
        if ((rc = pass(rd, &row, err)) < 0)
            break;
    }
    sto_merge_free(merge);
    return rc;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int read_series(struct reader *rd, size_t pos, struct ts_error *err)
{
    struct qry_reading *r = rd->r;
    const struct sto_series *s = r->series[pos];
    struct sto_aged_bounds *at = &rd->at;
    rd->pos = pos;
    rd->begun = false;
    sto_snap_aged(r->snap, s, at);
    int64_t to_ms = at->to_ms < r->to_ms ? at->to_ms : r->to_ms;
    if (to_ms > r->from_ms)
        TS_TRY(read_summaries(rd, sto_snap_aged_series(r->snap, rd->aged_metric, s), to_ms, err));
    /* the first hour that expired points may answer, and the end of the last one: the hour within which points expire counts as a whole if it may */
    int64_t from_ms = r->from_ms;
    if (at->hours_from_ms < at->points_from_ms && at->points_from_ms > from_ms) {
        int64_t first_ms = -ts_floor_div(-at->hours_from_ms, TS_HOUR_MS) * TS_HOUR_MS;
        int64_t end_ms = ts_floor_div(at->points_from_ms, TS_HOUR_MS) * TS_HOUR_MS;
        first_ms = later(later(first_ms, at->to_ms), from_ms);
        if (end_ms >= first_ms && end_ms < r->to_ms && is_whole(r, sto_hour(end_ms)))
            end_ms += TS_HOUR_MS;
        end_ms = end_ms < r->to_ms ? end_ms : r->to_ms;
        TS_TRY(read_points(rd, first_ms, end_ms, true, err));
        from_ms = later(end_ms, from_ms);
    }
    TS_TRY(read_points(rd, from_ms, r->to_ms, false, err));
    return rd->begun && r->end ? r->end(r->arg, pos, err) : 0;
}

int qry_aged_read(struct qry_reading *r, struct ts_error *err)
{
    struct reader rd = {.r = r, .aged_metric = sto_snap_aged_metric(r->snap, r->metric)};
    int rc = 0;
    for (size_t i = 0; i < r->n && rc == 0; i++)
        rc = read_series(&rd, i, err);
    if (rc == 0)
        rc = report(&rd, err);
    ts_budget_give(r->budget->memory, sto_cells_bytes(&rd.cells));
    sto_cells_release(&rd.cells);
    return rc;
}
