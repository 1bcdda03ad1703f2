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
    uint32_t hours_metric, days_metric; /* of the summaries; UINT32_MAX = there is none */
    struct sto_aged_bounds at;          /* of what is read of the present series */
    int64_t days_to_ms;                 /* rows of days answer before it; STO_MIN_TS_MS: there are none */
    int64_t hidden_to_ms;   /* end of the last one that could not be used; STO_MIN_TS_MS: there is none */
    struct sto_day day;     /* the last one that was looked at; {0} = none */
    bool day_is_whole;      /* may it be added as a whole? */
    size_t pos;             /* of the present series */
    bool begun;             /* r->begin was called for it */
    uint64_t n_points;      /* read and not reported to the budget */
    unsigned n_rows;        /* the same */
    struct sto_cells cells; /* points in place of a summary; owned */
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

/* May the hours from <= h < to be added as one summary? */
static bool is_one(const struct qry_reading *r, int64_t from, int64_t to)
{
    int64_t first = sto_hour(r->from_ms), last = sto_hour(r->to_ms - 1);
    if (from < first || to > last + 1 || memchr(r->whole_hours + (from - first), 0, (size_t)(to - from)))
        return false;
    return to == from + 1 || (r->one.may && r->one.may(r->one.arg, from * TS_HOUR_MS, to * TS_HOUR_MS));
}

/* May an hour be used that has expired? It may with its day, if that has not, and if no part of it is in a row that cannot be used, as of the days of
 * another zone. */
static bool is_of_whole_day(struct reader *rd, int32_t hour)
{
    int64_t from_ms = rd->at.days_from_ms > rd->hidden_to_ms ? rd->at.days_from_ms : rd->hidden_to_ms;
    if (hour < rd->day.from || hour >= rd->day.to) {
        rd->day = sto_aged_day_of(hour);
        rd->day_is_whole = is_one(rd->r, rd->day.from, rd->day.to);
    }
    return rd->day_is_whole && rd->day.from * TS_HOUR_MS >= from_ms;
}

static bool is_usable(struct reader *rd, int32_t hour)
{
    return hour * TS_HOUR_MS >= rd->at.hours_from_ms ? is_whole(rd->r, hour) : is_of_whole_day(rd, hour);
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

/* A part without an exact sum, of which the sum is needed: as many doubles, which have this sum. Those of a day are spread over its hours. */
static int pass_doubles(struct reader *rd, const struct sto_row *like, const struct sto_summary *s,
                        const double *sums, struct ts_error *err)
{
    struct sto_cells *c = &rd->cells;
    struct sto_row row = *like;
    uint32_t each = (s->n + like->n_hours - 1) / like->n_hours; /* at most one for each ms of the hour */
    each = each > STO_AGED_SUMS ? each : STO_AGED_SUMS;
    TS_TRY(take_cells(rd, each, err));
    c->uniform = true;
    c->common = sto_meta_flags(STO_OP_PUT, TS_NUM_RAW, 0, true);
    for (uint32_t i = 0; i < each; i++)
        c->meta[i] = c->common | i;
    row.sum = NULL;
    row.cells = c;
    row.n_hours = 1;
    for (uint32_t done = 0; done < s->n; done += c->n, row.key.hour++) {
        c->n = s->n - done < each ? s->n - done : each;
        memset(c->m, 0, c->n * sizeof *c->m);
        for (uint32_t i = 0; i < STO_AGED_SUMS && done + i < s->n && i < c->n; i++)
            if (done == 0)
                memcpy(&c->m[i], &sums[i], sizeof *sums);
        TS_TRY(pass(rd, &row, err));
    }
    return 0;
}

static int pass_summary(struct reader *rd, int32_t hour, const struct sto_aged *a, struct ts_error *err)
{
    struct qry_reading *r = rd->r;
    struct sto_row row = {.key = {.metric = r->metric, .series = r->series[rd->pos]->id, .hour = hour},
                          .n_hours = (uint8_t)sto_aged_hours(a)};
    for (unsigned p = 0; p < 2; p++) {
        row.sum = &a->part[p];
        if (!row.sum->n)
            continue;
        TS_TRY(r->needs_sum && !row.sum->has_sum ? pass_doubles(rd, &row, &a->part[p], a->sum[p], err)
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

/* May a row be used? */
static bool is_row_usable(struct reader *rd, enum sto_aged_level level, int32_t hour,
                          const struct sto_aged *a)
{
    int64_t to = (int64_t)hour + sto_aged_hours(a);
    if (level == STO_AGED_HOURS)
        return is_usable(rd, hour);
    if (is_one(rd->r, hour, to))
        return true;
    rd->hidden_to_ms = to * TS_HOUR_MS;
    return false;
}

/* Rows of days, or of hours, from from_ms to before to_ms: those that are usable. */
static int read_summaries(struct reader *rd, const struct sto_series *aged, enum sto_aged_level level,
                          int64_t from_ms, int64_t to_ms, struct ts_error *err)
{
    struct sto_merge *merge;
    struct sto_row row;
    struct sto_aged a;
    /* the cells of a row are in the first ms of its hour */
    from_ms = ts_floor_div(from_ms, TS_HOUR_MS) * TS_HOUR_MS;
    to_ms = to_ms < rd->r->to_ms ? to_ms : rd->r->to_ms;
    if (!aged || from_ms >= to_ms)
        return 0;
    struct sto_scan_spec spec = spec_of(rd, &aged, from_ms, to_ms);
    spec.aged = level == STO_AGED_HOURS; /* hours that have expired count with their days */
    TS_TRY(sto_scan(rd->r->snap, &spec, &merge, err));
    int rc;
    while ((rc = sto_merge_next(merge, &row, err)) == 1) {
        if (!sto_aged_read(row.cells, &a) || !is_row_usable(rd, level, row.key.hour, &a))
            continue;
        if ((rc = pass_summary(rd, row.key.hour, &a, err)) < 0)
            break;
    }
    sto_merge_free(merge);
    return rc;
}

/* Which points a scan reads. */
enum points {
    LIVE,  /* those that have not expired */
    HOURS, /* those that have: only hours that the reading has whole are passed */
    DAYS   /* of hours that have expired, too: only whole days */
};

static int read_points(struct reader *rd, int64_t from_ms, int64_t to_ms, enum points which,
                       struct ts_error *err)
{
    const struct qry_reading *r = rd->r;
    struct sto_merge *merge;
    struct sto_row row;
    if (from_ms >= to_ms)
        return 0;
    int64_t skipped = (int64_t)sto_hour(from_ms) - sto_hour(r->from_ms);
    struct sto_scan_spec spec = spec_of(rd, &r->series[rd->pos], from_ms, to_ms);
    spec.whole_hours = r->whole_hours + skipped;
    spec.days = which == LIVE && r->days ? r->days + skipped : NULL;
    spec.needs_sum = r->needs_sum;
    spec.sums_only = r->sums_only && which != DAYS;
    spec.aged = which != LIVE;
    TS_TRY(sto_scan(r->snap, &spec, &merge, err));
    int rc;
    while ((rc = sto_merge_next(merge, &row, err)) == 1) {
        if (which != LIVE && !row.run && !is_usable(rd, row.key.hour))
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

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Rows of summaries of a series, whose points have them before to_ms. */
static int read_rows(struct reader *rd, int64_t to_ms, struct ts_error *err)
{
    struct qry_reading *r = rd->r;
    const struct sto_series *hours = sto_snap_aged_series(r->snap, rd->hours_metric, r->series[rd->pos]);
    if (!hours)
        return 0;
    sto_snap_aged(r->snap, hours, &rd->at);
    rd->days_to_ms = rd->at.to_ms;
    if (rd->days_to_ms > r->from_ms) /* with those that reach into the range */
        TS_TRY(read_summaries(rd, sto_snap_aged_series(r->snap, rd->days_metric, hours), STO_AGED_DAYS,
                              r->from_ms - STO_DAY_MAX_HOURS * TS_HOUR_MS, rd->days_to_ms, err));
    /* of hours, the next coarser thing are days */
    rd->at.days_from_ms = rd->at.hours_from_ms;
    rd->at.hours_from_ms = rd->at.points_from_ms;
    return read_summaries(rd, hours, STO_AGED_HOURS, later(r->from_ms, rd->days_to_ms), to_ms, err);
}

/* Points of a series that have expired, from the end of its summaries on. Returns in *io_ms where the others begin. */
static int read_expired(struct reader *rd, int64_t *io_ms, struct ts_error *err)
{
    const struct qry_reading *r = rd->r;
    struct sto_aged_bounds *at = &rd->at;
    int64_t from_ms = *io_ms;
    if (at->days_from_ms >= at->points_from_ms || at->points_from_ms <= from_ms)
        return 0;
    /* the first hour that expired points may answer, and the end of the last one: the hour within which points expire counts as a whole if it may */
    int64_t hours_ms = -ts_floor_div(-at->hours_from_ms, TS_HOUR_MS) * TS_HOUR_MS;
    int64_t end_ms = ts_floor_div(at->points_from_ms, TS_HOUR_MS) * TS_HOUR_MS;
    int64_t first_ms = later(-ts_floor_div(-at->days_from_ms, TS_HOUR_MS) * TS_HOUR_MS, at->to_ms);
    first_ms = later(first_ms, from_ms);
    hours_ms = later(hours_ms, first_ms);
    if (end_ms >= first_ms && end_ms < r->to_ms && is_whole(r, sto_hour(end_ms)))
        end_ms += TS_HOUR_MS;
    end_ms = earlier(end_ms, r->to_ms);
    TS_TRY(read_points(rd, first_ms, earlier(hours_ms, end_ms), DAYS, err));
    TS_TRY(read_points(rd, hours_ms, end_ms, HOURS, err));
    *io_ms = later(end_ms, from_ms);
    return 0;
}

static int read_series(struct reader *rd, size_t pos, struct ts_error *err)
{
    struct qry_reading *r = rd->r;
    struct sto_aged_bounds at;
    int64_t from_ms = r->from_ms;
    rd->pos = pos;
    rd->begun = false;
    rd->days_to_ms = rd->hidden_to_ms = STO_MIN_TS_MS;
    sto_snap_aged(r->snap, r->series[pos], &at);
    if (at.to_ms > r->from_ms)
        TS_TRY(read_rows(rd, at.to_ms, err));
    rd->at = at;
    TS_TRY(read_expired(rd, &from_ms, err));
    TS_TRY(read_points(rd, from_ms, r->to_ms, LIVE, err));
    return rd->begun && r->end ? r->end(r->arg, pos, err) : 0;
}

int qry_aged_read(struct qry_reading *r, struct ts_error *err)
{
    struct reader rd = {.r = r, .hours_metric = sto_snap_aged_metric(r->snap, r->metric)};
    int rc = 0;
    rd.days_metric =
        rd.hours_metric == UINT32_MAX ? UINT32_MAX : sto_snap_aged_metric(r->snap, rd.hours_metric);
    for (size_t i = 0; i < r->n && rc == 0; i++)
        rc = read_series(&rd, i, err);
    if (rc == 0)
        rc = report(&rd, err);
    ts_budget_give(r->budget->memory, sto_cells_bytes(&rd.cells));
    sto_cells_release(&rd.cells);
    return rc;
}
