/*
 * aged.c - see aged.h.
 */
#include "query/execution/aged.h"

#include <string.h>

#include "query/execution/aged_batch.h"
#include "query/execution/reader_int.h"
#include "query/language/cond.h"

/* A running reading. */
struct reader {
    struct qry_reading *r;
    struct qry_aged_batch batch;
    size_t i;                         /* of the present series, in the batch */
    const struct sto_aged_bounds *at; /* of what is read of it */
    int64_t
        hidden_to_ms; /* end of the last row of a day that could not be used; STO_MIN_TS_MS: there is none */
    struct sto_day day;            /* the last one that was looked at; {0} = none */
    bool day_is_whole;             /* may it be added as a whole? */
    bool begun;                    /* r->begin was called for the present series */
    struct qry_left_out_part left; /* of the present series */
    struct qry_reader_count count;
    struct sto_cells cells; /* points in place of a summary; owned */
};

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
    int64_t from_ms = rd->at->days_from_ms > rd->hidden_to_ms ? rd->at->days_from_ms : rd->hidden_to_ms;
    if (hour < rd->day.from || hour >= rd->day.to) {
        rd->day = sto_aged_day_of(hour);
        rd->day_is_whole = is_one(rd->r, rd->day.from, rd->day.to);
    }
    return rd->day_is_whole && rd->day.from * TS_HOUR_MS >= from_ms;
}

static bool is_usable(struct reader *rd, int32_t hour)
{
    return hour * TS_HOUR_MS >= rd->at->hours_from_ms ? qry_reader__is_whole(rd->r, hour)
                                                      : is_of_whole_day(rd, hour);
}

static int pass(struct reader *rd, struct sto_row *row, struct ts_error *err)
{
    struct qry_reading *r = rd->r;
    row->pos = rd->batch.first + rd->i;
    qry_reader__count(r, &rd->count, row);
    TS_TRY(qry_reader__check(r, &rd->count, err));
    if (!rd->begun && r->begin)
        TS_TRY(r->begin(r->arg, row->pos, err));
    rd->begun = true;
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
    uint32_t id = r->series[rd->batch.first + rd->i]->id;
    struct sto_row row = {.key = {.metric = r->metric, .series = id, .hour = hour},
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

/* --- rows of a series --- */

/* The rows of some hours are not used. */
static void leave_out(struct reader *rd, int64_t from, int64_t to, uint64_t *n)
{
    struct qry_left_out_part *left = &rd->left;
    int64_t from_ms = from * TS_HOUR_MS, to_ms = to * TS_HOUR_MS;
    if (to_ms <= rd->r->asked_from_ms || from_ms >= rd->r->asked_to_ms)
        return; /* read for a bucket that begins before the range of the query, or ends after it */
    bool first = !left->n_days && !left->n_hours;
    left->from_ms = first || from_ms < left->from_ms ? from_ms : left->from_ms;
    left->to_ms = first || to_ms > left->to_ms ? to_ms : left->to_ms;
    ++*n;
}

/* May an hour be used? If it could be in another query, it is counted as left out; what has expired for good, or with a day that was counted, is not. */
static bool is_hour_usable(struct reader *rd, int32_t hour)
{
    if (is_usable(rd, hour))
        return true;
    int64_t day_ms = rd->day.from * TS_HOUR_MS;
    if (hour * TS_HOUR_MS >= rd->at->hours_from_ms ||
        (day_ms >= rd->at->days_from_ms && day_ms >= rd->hidden_to_ms))
        leave_out(rd, hour, (int64_t)hour + 1, &rd->left.n_hours);
    return false;
}

/* May a row be used? */
static bool is_row_usable(struct reader *rd, enum qry_aged_kind kind, int32_t hour, const struct sto_aged *a)
{
    int64_t to = (int64_t)hour + sto_aged_hours(a);
    if (kind == QRY_AGED_HOURS)
        return is_hour_usable(rd, hour);
    if (is_one(rd->r, hour, to))
        return true;
    rd->hidden_to_ms = to * TS_HOUR_MS;
    leave_out(rd, hour, to, a->n_hours ? &rd->left.n_days : &rd->left.n_hours);
    return false;
}

/* Rows of days, or of hours: those that are usable. */
static int read_summaries(struct reader *rd, enum qry_aged_kind kind, struct ts_error *err)
{
    struct sto_row row;
    struct sto_aged a;
    int rc;
    while ((rc = qry_aged_batch_next(&rd->batch, kind, rd->i, &row, err)) == 1)
        if (sto_aged_read(row.cells, &a) && is_row_usable(rd, kind, row.key.hour, &a))
            TS_TRY(pass_summary(rd, row.key.hour, &a, err));
    return rc;
}

/* Points. Of those that have expired, hours that the reading has as a whole, or whose day it has. */
static int read_points(struct reader *rd, enum qry_aged_kind kind, struct ts_error *err)
{
    struct sto_row row;
    int rc;
    while ((rc = qry_aged_batch_next(&rd->batch, kind, rd->i, &row, err)) == 1)
        if (kind == QRY_AGED_LIVE || row.run || is_hour_usable(rd, row.key.hour))
            TS_TRY(pass(rd, &row, err));
    return rc;
}

static int read_series(struct reader *rd, struct ts_error *err)
{
    struct qry_reading *r = rd->r;
    const struct qry_aged_series *s = &rd->batch.of[rd->i];
    rd->begun = false;
    rd->left = (struct qry_left_out_part){.needs_points = r->needs_points};
    rd->hidden_to_ms = STO_MIN_TS_MS;
    rd->at = &s->hours;
    TS_TRY(read_summaries(rd, QRY_AGED_DAYS, err));
    TS_TRY(read_summaries(rd, QRY_AGED_HOURS, err));
    rd->at = &s->points;
    TS_TRY(read_points(rd, QRY_AGED_EXPIRED, err));
    TS_TRY(read_points(rd, QRY_AGED_LIVE, err));
    if (r->budget->limit)
        qry_left_out_add(&r->budget->limit->left_out, &rd->left);
    return rd->begun && r->end ? r->end(r->arg, rd->batch.first + rd->i, err) : 0;
}

static int read_batches(struct reader *rd, struct ts_error *err)
{
    int rc;
    while ((rc = qry_aged_batch_begin(&rd->batch, err)) == 1)
        for (rd->i = 0; rd->i < rd->batch.n; rd->i++)
            TS_TRY(read_series(rd, err));
    return rc;
}

int qry_aged_read(struct qry_reading *r, struct ts_error *err)
{
    uint32_t hours = sto_snap_aged_metric(r->snap, r->metric);
    struct reader rd = {.r = r, .batch = {.r = r, .hours_metric = hours, .days_metric = UINT32_MAX}};
    if (hours != UINT32_MAX)
        rd.batch.days_metric = sto_snap_aged_metric(r->snap, hours);
    int rc = read_batches(&rd, err);
    if (rc == 0)
        rc = qry_reader__report(r, &rd.count, err);
    qry_aged_batch_release(&rd.batch);
    ts_budget_give(r->budget->memory, sto_cells_bytes(&rd.cells));
    sto_cells_release(&rd.cells);
    return rc;
}
