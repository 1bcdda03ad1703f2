/*
 * age_rows.c - see age_rows.h.
 */
#include "storage/age_rows.h"

#include <stdlib.h>

#include "base/mem.h"
#include "storage/age_days.h"
#include "storage/aged.h"
#include "storage/engine/aged_files.h"
#include "storage/store_int.h"

size_t sto_age_rows__most(const struct sto_age_chunk *c, size_t n_left)
{
    uint64_t hours = (uint64_t)((c->to_ms - c->from_ms) / TS_HOUR_MS);
    size_t most = c->keeps || hours >= STO_AGE_CHUNK_HOURS ? 1 : (size_t)(STO_AGE_CHUNK_HOURS / hours);
    most = most < STO_AGE_CHUNK_MAX ? most : STO_AGE_CHUNK_MAX;
    return most < n_left ? most : n_left;
}

void sto_age_rows__init(struct sto_age_rows *r)
{
    r->failed = roaring_bitmap_create();
    ts_buf_init(&r->metric, 0);
    ts_buf_init(&r->text, 0);
}

void sto_age_rows__release(struct sto_age_rows *r)
{
    if (r->failed)
        roaring_bitmap_free(r->failed);
    r->failed = NULL;
    ts_buf_release(&r->metric);
    ts_buf_release(&r->text);
}

/* Rows of one series, one after the other. */
struct cursor {
    struct sto_merge *scan; /* owned; NULL: there are none */
    struct sto_row row;     /* the present one */
    bool more;              /* there is one */
};

static int cursor_next(struct cursor *c, struct ts_error *err)
{
    int rc = sto_merge_next(c->scan, &c->row, err);
    c->more = rc == 1;
    return rc < 0 ? rc : 0;
}

/* A chunk that is being written. */
struct work {
    struct sto_age_rows *r;
    const struct sto_age_chunk *c;
    const struct sto_series **aged; /* [c->n] that of the summaries of each; NULL: there is none; owned */
    uint8_t *written;               /* a bit for each hour of each series; NULL if it is one; owned */
    size_t hours;                   /* of each series */
    struct sto_age_days days;       /* the day that is being added up */
};

static void fail_series(struct sto_age_rows *r, const struct sto_series *s, const struct ts_error *why)
{
    if (roaring_bitmap_is_empty(r->failed))
        r->why = *why;
    roaring_bitmap_add(r->failed, s->id);
}

/* --- the end of rows --- */

static int last_end(struct sto_age_rows *r, const struct sto_series *rows, int64_t from_ms, int64_t *io_ms,
                    struct ts_error *err)
{
    struct sto_merge *scan;
    struct sto_row row;
    struct sto_aged a;
    TS_TRY(sto_snap_aged_scan(r->snap, &rows, 1, from_ms, STO_MAX_TS_MS, r->memory, &scan, err));
    int rc;
    while ((rc = sto_merge_next(scan, &row, err)) == 1) {
        if (!sto_aged_read(row.cells, &a))
            continue;
        int64_t end_ms = ((int64_t)row.key.hour + sto_aged_hours(&a)) * TS_HOUR_MS;
        *io_ms = end_ms > *io_ms ? end_ms : *io_ms;
    }
    sto_merge_free(scan);
    return rc;
}

bool sto_age_rows__end(struct sto_age_rows *r, const struct sto_series *series, int64_t to_ms,
                       int64_t *out_ms)
{
    const struct sto_series *rows = series;
    struct ts_error why = {0};
    int rc = 0;
    *out_ms = to_ms;
    while (rc == 0 &&
           (rows = sto_snap_aged_series(r->snap, sto_snap_aged_metric(r->snap, rows->metric), rows)))
        rc = last_end(r, rows, to_ms - STO_DAY_MAX_HOURS * TS_HOUR_MS, out_ms, &why);
    if (rc < 0)
        fail_series(r, series, &why);
    return rc == 0;
}

/* --- days that are needed --- */

/* A row of a day, of which some hours may follow. */
struct open_day {
    int32_t to;        /* its end */
    uint64_t n_points; /* that it knows, and hours so far do not */
};

/* Those that hold an hour. Different rows begin at different hours, and none is longer. */
struct open_days {
    struct open_day v[STO_DAY_MAX_HOURS];
    size_t n;
    int64_t needed_ms; /* end of the last day that knows more than its hours */
};

/* The hours before this one have come. */
static void close_days(struct open_days *d, int32_t hour)
{
    size_t left = 0;
    for (size_t i = 0; i < d->n; i++)
        if (d->v[i].to > hour)
            d->v[left++] = d->v[i];
        else if (d->v[i].n_points && d->v[i].to * TS_HOUR_MS > d->needed_ms)
            d->needed_ms = d->v[i].to * TS_HOUR_MS;
    d->n = left;
}

static void take_hour(struct open_days *d, uint64_t n)
{
    for (size_t i = 0; i < d->n; i++)
        d->v[i].n_points -= d->v[i].n_points < n ? d->v[i].n_points : n;
}

/* The next row of a day or of an hour, whichever begins first. */
static int take_next(struct open_days *d, struct cursor *days, struct cursor *hours, struct ts_error *err)
{
    bool is_day = days->more && (!hours->more || days->row.key.hour <= hours->row.key.hour);
    struct cursor *c = is_day ? days : hours;
    struct sto_aged a;
    close_days(d, c->row.key.hour);
    if (sto_aged_read(c->row.cells, &a)) {
        uint64_t n = (uint64_t)a.part[0].n + a.part[1].n;
        if (!is_day)
            take_hour(d, n);
        else if (d->n < STO_DAY_MAX_HOURS)
            d->v[d->n++] = (struct open_day){c->row.key.hour + (int32_t)sto_aged_hours(&a), n};
    }
    return cursor_next(c, err);
}

bool sto_age_rows__needed(struct sto_age_rows *r, const struct sto_series *hours, int64_t *out_ms)
{
    const struct sto_series *days =
        sto_snap_aged_series(r->snap, sto_snap_aged_metric(r->snap, hours->metric), hours);
    struct open_days d = {.needed_ms = STO_MIN_TS_MS};
    struct cursor of_days = {.scan = NULL}, of_hours = {.scan = NULL};
    struct ts_error why = {0};
    *out_ms = STO_MIN_TS_MS;
    if (!days)
        return true;
    int rc =
        sto_snap_aged_scan(r->snap, &days, 1, STO_MIN_TS_MS, STO_MAX_TS_MS, r->memory, &of_days.scan, &why);
    if (rc == 0)
        rc = sto_snap_aged_scan(r->snap, &hours, 1, STO_MIN_TS_MS, STO_MAX_TS_MS, r->memory, &of_hours.scan,
                                &why);
    if (rc == 0)
        rc = cursor_next(&of_days, &why);
    if (rc == 0)
        rc = cursor_next(&of_hours, &why);
    while (rc == 0 && (of_days.more || of_hours.more) && !sto_aged_files_stopped(r->files))
        rc = take_next(&d, &of_days, &of_hours, &why);
    close_days(&d, INT32_MAX);
    sto_merge_free(of_days.scan);
    sto_merge_free(of_hours.scan);
    *out_ms = d.needed_ms;
    if (rc < 0)
        fail_series(r, hours, &why);
    return rc == 0 && !sto_aged_files_stopped(r->files);
}

/* --- writing a row --- */

static int stopped(struct sto_age_rows *r, struct ts_error *err)
{
    if (!sto_aged_files_stopped(r->files))
        return 0;
    r->ends = true;
    return ts_error_set(err, TS_ECANCELLED, "the store is closing");
}

static int put_row(struct sto_age_rows *r, const struct sto_aged *a, const struct sto_series *aged,
                   int32_t hour, struct ts_error *err)
{
    struct sto_point cells[STO_AGED_CELLS];
    sto_aged_files_put(r->files, cells, sto_aged_row(a, aged, hour, cells));
    r->n_rows++;
    int rc = sto_aged_files_full(r->files) ? sto_aged_files_write(r->files, err) : 0;
    r->ends |= rc < 0;
    return rc;
}

static int put_gone(struct sto_age_rows *r, const struct sto_series *aged, int32_t hour, struct ts_error *err)
{
    return put_row(r, &(struct sto_aged){.sum = {{0}}}, aged, hour, err);
}

/* Create the series of the summaries of a series. */
static int make_series(struct sto_age_rows *r, const struct sto_series *s, const struct sto_series **out,
                       struct ts_error *err)
{
    const struct sto_series *made;
    sto_aged_metric_name(r->st->catalog, s->metric, &r->metric);
    TS_TRY(sto_series_resolve_like(r->st->catalog, ts_buf_get(&r->metric), s, &r->text, &made, err));
    if (made->n_tags != s->n_tags || memcmp(made->tags, s->tags, s->n_tags * sizeof *s->tags) != 0)
        return ts_error_set(err, TS_EBUSY, "a tag of the series is being renamed");
    *out = made;
    return 0;
}

/* Write a summary, unless a former row knows as many points. */
static int write_summary(struct work *w, const struct sto_age_day *d, uint64_t known, struct ts_error *err)
{
    struct sto_age_rows *r = w->r;
    const struct sto_series *s = w->c->series[d->pos];
    struct ts_error why = {0};
    if (known >= (uint64_t)d->sum.part[0].n + d->sum.part[1].n)
        return 0;
    if (!w->aged[d->pos] && make_series(r, s, &w->aged[d->pos], &why) < 0) {
        fail_series(r, s, &why);
        return 0;
    }
    if (w->written) {
        size_t bit = d->pos * w->hours + (size_t)(d->hour - sto_hour(w->c->from_ms));
        w->written[bit / 8] |= (uint8_t)(1u << bit % 8);
    }
    return put_row(r, &d->sum, w->aged[d->pos], d->hour, err);
}

/* Take the next row: the points of an hour, or the summary of one. True: out has a summary that is complete. */
static bool take_row(struct work *w, const struct sto_row *row, struct sto_age_day *out)
{
    struct sto_aged a;
    if (roaring_bitmap_contains(w->r->failed, w->c->series[row->pos]->id))
        return false;
    if (w->c->has_days)
        return sto_aged_read(row->cells, &a) && sto_age_days_add(&w->days, row->pos, row->key.hour, &a, out);
    out->pos = row->pos;
    out->hour = row->key.hour;
    return sto_aged_make_counted(row->cells, w->r->memory, &out->sum);
}

static int scan_begin(const struct work *w, const struct sto_series *const *series, size_t n,
                      struct sto_merge **out, struct ts_error *err)
{
    return sto_snap_aged_scan(w->r->snap, series, n, w->c->from_ms, w->c->to_ms - 1, w->r->memory, out, err);
}

/* --- one series --- */

/* The rows that former passes have written of the series. */
static int former_begin(struct work *w, struct cursor *f, struct ts_error *err)
{
    *f = (struct cursor){.scan = NULL};
    if (!w->aged[0])
        return 0;
    TS_TRY(scan_begin(w, w->aged, 1, &f->scan, err));
    return cursor_next(f, err);
}

/* Go on to the row of an hour. The hours between have no points. */
static int former_until(struct work *w, struct cursor *f, int32_t hour, struct ts_error *err)
{
    while (f->more && f->row.key.hour < hour) {
        TS_TRY(stopped(w->r, err));
        if (!w->c->keeps)
            TS_TRY(put_gone(w->r, w->aged[0], f->row.key.hour, err));
        TS_TRY(cursor_next(f, err));
    }
    return 0;
}

/* How many points the former row of an hour knows of, if that counts. */
static uint64_t former_points(const struct work *w, const struct cursor *f, int32_t hour)
{
    struct sto_aged a;
    if (!w->c->keeps || !f->more || f->row.key.hour != hour || !sto_aged_read(f->row.cells, &a))
        return 0;
    return (uint64_t)a.part[0].n + a.part[1].n;
}

static int write_beside(struct work *w, struct cursor *f, const struct sto_age_day *d, struct ts_error *err)
{
    TS_TRY(former_until(w, f, d->hour, err));
    TS_TRY(write_summary(w, d, former_points(w, f, d->hour), err));
    return f->more && f->row.key.hour == d->hour ? cursor_next(f, err) : 0;
}

static int write_one(struct work *w, struct ts_error *err)
{
    struct sto_merge *scan = NULL;
    struct cursor f;
    struct sto_row row;
    struct sto_age_day d;
    int rc = former_begin(w, &f, err);
    if (rc == 0)
        rc = scan_begin(w, w->c->series, 1, &scan, err);
    while (rc == 0 && (rc = sto_merge_next(scan, &row, err)) == 1) {
        rc = stopped(w->r, err);
        if (rc == 0 && take_row(w, &row, &d))
            rc = write_beside(w, &f, &d, err);
    }
    if (rc == 0 && sto_age_days_end(&w->days, &d))
        rc = write_beside(w, &f, &d, err);
    if (rc == 0)
        rc = former_until(w, &f, INT32_MAX, err);
    sto_merge_free(scan);
    sto_merge_free(f.scan);
    return rc;
}

/* --- several series --- */

static int write_points(struct work *w, struct ts_error *err)
{
    struct sto_merge *scan;
    struct sto_row row;
    struct sto_age_day d;
    TS_TRY(scan_begin(w, w->c->series, w->c->n, &scan, err));
    int rc = 0;
    while (rc == 0 && (rc = sto_merge_next(scan, &row, err)) == 1) {
        rc = stopped(w->r, err);
        if (rc == 0 && take_row(w, &row, &d))
            rc = write_summary(w, &d, 0, err);
    }
    if (rc == 0 && sto_age_days_end(&w->days, &d))
        rc = write_summary(w, &d, 0, err);
    sto_merge_free(scan);
    return rc;
}

/* A series of summaries, and its place in the chunk. */
struct old {
    const struct sto_series *series;
    size_t pos;
};

static int cmp_old(const void *a, const void *b)
{
    uint32_t x = ((const struct old *)a)->series->id, y = ((const struct old *)b)->series->id;
    return x < y ? -1 : x > y;
}

static int write_gone_of(struct work *w, const struct old *old, const struct sto_series *const *series,
                         size_t n, struct ts_error *err)
{
    struct sto_merge *scan;
    struct sto_row row;
    TS_TRY(scan_begin(w, series, n, &scan, err));
    int rc = 0;
    while (rc == 0 && (rc = sto_merge_next(scan, &row, err)) == 1) {
        size_t bit = old[row.pos].pos * w->hours + (size_t)(row.key.hour - sto_hour(w->c->from_ms));
        rc = stopped(w->r, err);
        if (rc == 0 && !(w->written[bit / 8] & 1u << bit % 8))
            rc = put_gone(w->r, series[row.pos], row.key.hour, err);
    }
    sto_merge_free(scan);
    return rc;
}

/* Rows that a former pass has written of hours that have no points any more say so. */
static int write_gone(struct work *w, struct ts_error *err)
{
    struct old *old = ts_xcalloc(w->c->n, sizeof *old);
    const struct sto_series **series = ts_xcalloc(w->c->n, sizeof(*series));
    size_t n = 0;
    for (size_t i = 0; i < w->c->n; i++)
        if (w->aged[i] && !roaring_bitmap_contains(w->r->failed, w->c->series[i]->id))
            old[n++] = (struct old){w->aged[i], i};
    qsort(old, n, sizeof *old, cmp_old);
    for (size_t i = 0; i < n; i++)
        series[i] = old[i].series;
    int rc = n ? write_gone_of(w, old, series, n, err) : 0;
    ts_free(series);
    ts_free(old);
    return rc;
}

/* --- a chunk --- */

/* Bytes that a chunk takes beside its scans. */
static uint64_t work_bytes(const struct sto_age_chunk *c, size_t hours)
{
    return c->n * (2 * sizeof(struct sto_series *) + sizeof(struct old)) +
           (c->n > 1 ? c->n * hours / 8 + 1 : 0);
}

static int write_work(struct sto_age_rows *r, const struct sto_age_chunk *c, struct ts_error *err)
{
    struct work w = {
        .r = r, .c = c, .hours = (size_t)((c->to_ms - c->from_ms) / TS_HOUR_MS), .days = {.first = c->first}};
    uint64_t bytes = work_bytes(c, w.hours);
    TS_TRY(ts_budget_take(r->memory, bytes, err));
    w.aged = ts_xcalloc(c->n, sizeof(*w.aged));
    w.written = c->n > 1 ? ts_xcalloc(c->n * w.hours / 8 + 1, 1) : NULL;
    uint32_t metric = sto_snap_aged_metric(r->snap, c->series[0]->metric);
    for (size_t i = 0; i < c->n; i++)
        w.aged[i] = sto_snap_aged_series(r->snap, metric, c->series[i]);
    int rc = c->n == 1 ? write_one(&w, err) : write_points(&w, err);
    if (rc == 0 && c->n > 1)
        rc = write_gone(&w, err);
    sto_age_days_release(&w.days);
    ts_free(w.written);
    ts_free(w.aged);
    ts_budget_give(r->memory, bytes);
    return rc;
}

int sto_age_rows__write(struct sto_age_rows *r, const struct sto_age_chunk *c, struct ts_error *err)
{
    struct ts_error why = {0};
    uint64_t n_rows = r->n_rows;
    TS_TRY(stopped(r, err));
    if (sto_uid_deleted(sto_uid_name(r->st->catalog, STO_UID_METRIC, c->series[0]->metric)))
        return 0;
    int rc = write_work(r, c, &why);
    struct sto_age_chunk one = *c;
    one.n = 1;
    if (rc < 0 && !r->ends && c->n == 1) {
        fail_series(r, c->series[0], &why);
        rc = 0;
    } else if (rc < 0 &&
               !r->ends) { /* find out which series it is; a row that is written twice is the same */
        rc = 0;
        r->n_rows = n_rows;
        for (size_t i = 0; i < c->n && rc == 0; i++) {
            one.series = c->series + i;
            rc = sto_age_rows__write(r, &one, &why);
        }
    }
    if (rc < 0 && err)
        *err = why;
    return rc;
}
