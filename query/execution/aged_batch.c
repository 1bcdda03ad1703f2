/*
 * aged_batch.c - see aged_batch.h.
 */
#include "query/execution/aged_batch.h"

#include "query/execution/reader_int.h"

#define BATCH_SERIES 4096
#define N_SCANS      (QRY_AGED_KINDS * QRY_AGED_CHAINS)

/* The scan of a chain. */
struct qry_aged_scan {
    struct sto_merge *merge;                /* owned; NULL: there is no such chain, or it has ended */
    const struct sto_series *const *series; /* [n] */
    const uint32_t *at;                     /* [n] index in the batch of each */
    size_t n;
    struct sto_row row; /* the present one */
    bool taken;         /* it was returned, or there is none yet */
};

/* How far the chains of a kind have come: the last number in each, descending. */
struct chains {
    uint32_t last[QRY_AGED_CHAINS];
    uint32_t n;
};

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t hour_floor(int64_t ms)
{
    return ts_floor_div(ms, TS_HOUR_MS) * TS_HOUR_MS;
}

static int64_t hour_ceil(int64_t ms)
{
    return -ts_floor_div(-ms, TS_HOUR_MS) * TS_HOUR_MS;
}

/* --- what is read of a series --- */

static void set_part(const struct qry_aged_batch *b, struct qry_aged_series *s, enum qry_aged_kind kind,
                     const struct sto_series *series, int64_t from_ms, int64_t to_ms)
{
    from_ms = hour_floor(from_ms); /* the cells of a row of summaries are in the first ms of its hour */
    to_ms = earlier(to_ms, b->r->to_ms);
    s->part[kind].series = from_ms < to_ms ? series : NULL;
    s->part[kind].from_ms = from_ms;
    s->part[kind].to_ms = to_ms;
}

/* Rows of summaries, which its points have before points.to_ms. */
static void set_rows(const struct qry_aged_batch *b, struct qry_aged_series *s,
                     const struct sto_series *series)
{
    const struct qry_reading *r = b->r;
    const struct sto_series *hours = sto_snap_aged_series(r->snap, b->hours_metric, series);
    if (!hours)
        return;
    sto_snap_aged(r->snap, hours, &s->hours);
    int64_t days_to_ms = s->hours.to_ms;
    if (days_to_ms > r->from_ms) /* with those that reach into the range */
        set_part(b, s, QRY_AGED_DAYS, sto_snap_aged_series(r->snap, b->days_metric, hours),
                 r->from_ms - STO_DAY_MAX_HOURS * TS_HOUR_MS, days_to_ms);
    set_part(b, s, QRY_AGED_HOURS, hours, later(r->from_ms, days_to_ms), s->points.to_ms);
    /* of hours, the next coarser thing are days */
    s->hours.days_from_ms = s->hours.hours_from_ms;
    s->hours.hours_from_ms = s->hours.points_from_ms;
}

/* Points that have expired, from the end of the summaries on. Returns where the others begin. */
static int64_t set_expired(const struct qry_aged_batch *b, struct qry_aged_series *s,
                           const struct sto_series *series)
{
    const struct qry_reading *r = b->r;
    const struct sto_aged_bounds *at = &s->points;
    if (at->days_from_ms >= at->points_from_ms || at->points_from_ms <= r->from_ms)
        return r->from_ms;
    /* the first hour that expired points may answer, and the end of the last one: the hour within which points expire counts as a whole if it may */
    int64_t first_ms = later(later(hour_ceil(at->days_from_ms), at->to_ms), r->from_ms);
    int64_t end_ms = hour_floor(at->points_from_ms);
    if (end_ms < at->points_from_ms && end_ms >= first_ms && end_ms < r->to_ms &&
        qry_reader__is_whole(r, sto_hour(end_ms)))
        end_ms += TS_HOUR_MS;
    if (first_ms < end_ms)
        set_part(b, s, QRY_AGED_EXPIRED, series, first_ms, end_ms);
    return later(end_ms, r->from_ms);
}

static void set_series(const struct qry_aged_batch *b, struct qry_aged_series *s,
                       const struct sto_series *series)
{
    *s = (struct qry_aged_series){.points = {0}};
    sto_snap_aged(b->r->snap, series, &s->points);
    if (s->points.to_ms > b->r->from_ms)
        set_rows(b, s, series);
    set_part(b, s, QRY_AGED_LIVE, series, set_expired(b, s, series), b->r->to_ms);
}

/* --- chains --- */

/* Add a series to the first chain that ends with a smaller number. False: there are too many chains. */
static bool place(struct chains *c, const struct sto_series *s, uint32_t *out)
{
    uint32_t i = 0;
    while (i < c->n && c->last[i] >= s->id)
        i++;
    if (i == QRY_AGED_CHAINS)
        return false;
    c->n += i == c->n;
    c->last[i] = s->id;
    *out = i;
    return true;
}

static bool place_all(struct chains c[QRY_AGED_KINDS], struct qry_aged_series *s)
{
    bool placed = true;
    for (unsigned kind = 0; kind < QRY_AGED_KINDS && placed; kind++)
        if (s->part[kind].series)
            placed = place(&c[kind], s->part[kind].series, &s->part[kind].chain);
    return placed;
}

/* The series of a chain, and what is read of any of them. */
static void fill(const struct qry_aged_batch *b, enum qry_aged_kind kind, uint32_t chain, size_t *io_used,
                 struct qry_aged_scan *out, int64_t *from_ms, int64_t *to_ms)
{
    size_t at = *io_used;
    *out = (struct qry_aged_scan){.series = b->series + at, .at = b->at + at, .taken = true};
    *from_ms = INT64_MAX;
    *to_ms = INT64_MIN;
    for (size_t i = 0; i < b->n; i++) {
        if (!b->of[i].part[kind].series || b->of[i].part[kind].chain != chain)
            continue;
        b->series[at] = b->of[i].part[kind].series;
        b->at[at++] = (uint32_t)i;
        *from_ms = earlier(*from_ms, b->of[i].part[kind].from_ms);
        *to_ms = later(*to_ms, b->of[i].part[kind].to_ms);
    }
    out->n = at - *io_used;
    *io_used = at;
}

/* --- scans --- */

/* May points that have expired be returned as runs? Not if some of their hours have expired, too. */
static bool has_runs(const struct qry_aged_batch *b)
{
    bool may = b->r->sums_only;
    for (size_t i = 0; i < b->n && may; i++)
        may = !b->of[i].part[QRY_AGED_EXPIRED].series ||
              b->of[i].part[QRY_AGED_EXPIRED].from_ms >= b->of[i].points.hours_from_ms;
    return may;
}

static int start(const struct qry_aged_batch *b, enum qry_aged_kind kind, struct qry_aged_scan *s,
                 int64_t from_ms, int64_t to_ms, struct ts_error *err)
{
    const struct qry_reading *r = b->r;
    struct sto_scan_spec spec = {.metric = s->series[0]->metric,
                                 .series = s->series,
                                 .n_series = s->n,
                                 .from_ms = from_ms,
                                 .to_ms = to_ms - 1,
                                 .final = true,
                                 .counts_only = r->counts_only,
                                 .look = qry_budget_look_at,
                                 .look_arg = r->budget,
                                 .memory = r->budget->memory};
    /* what has expired counts with the next coarser thing; the rules say how long days are kept */
    spec.aged = kind == QRY_AGED_HOURS || kind == QRY_AGED_EXPIRED;
    if (kind >= QRY_AGED_EXPIRED) {
        spec.from_ms = later(from_ms, r->from_ms);
        int64_t skipped = (int64_t)sto_hour(spec.from_ms) - sto_hour(r->from_ms);
        spec.whole_hours = r->whole_hours + skipped;
        spec.days = kind == QRY_AGED_LIVE && r->days ? r->days + skipped : NULL;
        spec.needs_sum = r->needs_sum;
        spec.sums_only = kind == QRY_AGED_LIVE ? r->sums_only : has_runs(b);
    }
    return sto_scan(r->snap, &spec, &s->merge, err);
}

static int start_all(struct qry_aged_batch *b, const struct chains c[QRY_AGED_KINDS], struct ts_error *err)
{
    size_t used = 0;
    int64_t from_ms, to_ms;
    for (unsigned kind = 0; kind < QRY_AGED_KINDS; kind++)
        for (uint32_t chain = 0; chain < c[kind].n; chain++) {
            struct qry_aged_scan *s = &b->scans[kind * QRY_AGED_CHAINS + chain];
            fill(b, kind, chain, &used, s, &from_ms, &to_ms);
            if (s->n)
                TS_TRY(start(b, kind, s, from_ms, to_ms, err));
        }
    return 0;
}

static void end_all(struct qry_aged_batch *b)
{
    for (size_t i = 0; b->scans && i < N_SCANS; i++) {
        sto_merge_free(b->scans[i].merge);
        b->scans[i] = (struct qry_aged_scan){.merge = NULL};
    }
}

static int take_room(struct qry_aged_batch *b, struct ts_error *err)
{
    struct ts_budget *memory = b->r->budget->memory;
    b->cap = b->r->n < BATCH_SERIES ? b->r->n : BATCH_SERIES;
    if (!(b->of = ts_budget_calloc(memory, b->cap, sizeof *b->of, err)) ||
        !(b->series = ts_budget_calloc(memory, b->cap * QRY_AGED_KINDS, sizeof(*b->series), err)) ||
        !(b->at = ts_budget_calloc(memory, b->cap * QRY_AGED_KINDS, sizeof *b->at, err)) ||
        !(b->scans = ts_budget_calloc(memory, N_SCANS, sizeof *b->scans, err)))
        return err && err->code < 0 ? err->code : TS_ELIMIT;
    return 0;
}

int qry_aged_batch_begin(struct qry_aged_batch *b, struct ts_error *err)
{
    struct chains c[QRY_AGED_KINDS] = {{.n = 0}};
    b->first += b->n;
    b->n = 0;
    if (b->first >= b->r->n)
        return 0;
    if (!b->scans)
        TS_TRY(take_room(b, err));
    end_all(b);
    for (; b->n < b->cap && b->first + b->n < b->r->n; b->n++) {
        set_series(b, &b->of[b->n], b->r->series[b->first + b->n]);
        if (!place_all(c, &b->of[b->n]))
            break;
    }
    TS_TRY(start_all(b, c, err));
    return 1;
}

/* Leave out of a run what is not within from <= t < to. False: that is all of it. */
static bool clip(struct qry_aged_batch *b, struct sto_row *row, int64_t from_ms, int64_t to_ms)
{
    struct sto_run *run = &b->run;
    *run = *row->run;
    while (run->n && run->keys[0].hour * TS_HOUR_MS < from_ms) {
        run->keys++;
        run->counts++;
        run->sums++;
        run->n--;
    }
    while (run->n && run->keys[run->n - 1].hour * TS_HOUR_MS >= to_ms)
        run->n--;
    if (!run->n)
        return false;
    row->key = run->keys[0];
    row->run = run;
    return true;
}

/* The present row of a scan: 1, 0: there is none, < 0. */
static int present(struct qry_aged_scan *s, struct ts_error *err)
{
    if (!s->merge || !s->taken)
        return s->merge != NULL;
    int rc = sto_merge_next(s->merge, &s->row, err);
    s->taken = false;
    if (rc != 0)
        return rc;
    sto_merge_free(s->merge);
    s->merge = NULL;
    return 0;
}

int qry_aged_batch_next(struct qry_aged_batch *b, enum qry_aged_kind kind, size_t i, struct sto_row *out,
                        struct ts_error *err)
{
    const struct qry_aged_series *of = &b->of[i];
    struct qry_aged_scan *s = &b->scans[kind * QRY_AGED_CHAINS + of->part[kind].chain];
    if (!of->part[kind].series)
        return 0;
    for (;;) {
        int rc = present(s, err);
        if (rc <= 0 || s->at[s->row.pos] != i)
            return rc < 0 ? rc : 0;
        s->taken = true;
        *out = s->row;
        int64_t ms = out->key.hour * TS_HOUR_MS;
        if (out->run ? clip(b, out, of->part[kind].from_ms, of->part[kind].to_ms)
                     : ms >= of->part[kind].from_ms && ms < of->part[kind].to_ms)
            return 1;
    }
}

void qry_aged_batch_release(struct qry_aged_batch *b)
{
    struct ts_budget *memory = b->r->budget->memory;
    end_all(b);
    ts_budget_free(memory, b->of, b->of ? b->cap * sizeof *b->of : 0);
    ts_budget_free(memory, b->series, b->series ? b->cap * QRY_AGED_KINDS * sizeof(*b->series) : 0);
    ts_budget_free(memory, b->at, b->at ? b->cap * QRY_AGED_KINDS * sizeof *b->at : 0);
    ts_budget_free(memory, b->scans, b->scans ? N_SCANS * sizeof *b->scans : 0);
    b->of = NULL;
    b->series = NULL;
    b->at = NULL;
    b->scans = NULL;
}
