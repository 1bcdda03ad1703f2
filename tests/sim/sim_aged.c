/*
 * sim_aged.c - hours for longer than points: a rule keeps points for some days and hours for ever, and whole hours of points that have expired are answered
 * as the model had them.
 *
 * Before time passes, or the rule changes, everything is brought to disk, and the points of the hours that expire by that are noted. Nothing
 * changes them afterwards: what is older is neither put nor deleted, but for whole days in sim_days.c. Passes of retention, ends and faults come whenever they come. Now and then
 * the marks are lost. Where hours become days, each hour has to be in its day, or to answer by itself, once.
 *
 * Threads    one
 */
#include "tests/sim/sim.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "storage/aged.h"
#include "storage/keep.h"
#include "storage/retain.h"

void sim_aged_configure(struct sim *s)
{
    s->aged.on = s->seed > SIM_AGED_SEED;
    for (unsigned i = 0; i < SIM_SERIES; i++)
        s->aged.to_ms[i] = STO_MIN_TS_MS;
    if (!s->aged.on)
        return;
    s->opts.retention_ms = s->retention_ms = (int64_t)(1 + sim_rnd(s, 12)) * TS_DAY_MS;
    s->opts.age_pass_rows = sim_chance(s, 30) ? 1 + sim_rnd(s, 30) : 0;
    s->has_adds = s->clock_steps = s->short_lives = s->once.on = false;
    sim_days_configure(s);
}

void sim_aged_release(struct sim *s)
{
    for (size_t k = 0; k < s->aged.n; k++)
        ts_free(s->aged.v[k].points);
    ts_free(s->aged.v);
}

bool sim_aged_takes(struct sim *s, unsigned i, const struct sto_series *h, int64_t ts_ms)
{
    if (!s->aged.on)
        return true;
    struct sto_keep *keep = sto_retain_keep(s->st);
    bool takes = ts_ms >= s->aged.to_ms[i] && ts_ms >= sto_keep_from_ms(keep, h->id, s->now_ms);
    sto_keep_unref(keep);
    return takes;
}

/* --- what expires --- */

static void note_hours(struct sim *s, unsigned i, int64_t to_ms)
{
    struct sim_aged *a = &s->aged;
    struct t_ref_point *v;
    size_t n = t_ref_scan(s->ref, i, a->to_ms[i], to_ms - 1, &v);
    for (size_t k = 0, end; k < n; k = end) {
        int32_t hour = (int32_t)sto_hour(v[k].ts_ms);
        for (end = k; end < n && sto_hour(v[end].ts_ms) == hour;)
            end++;
        if (a->n == a->cap)
            a->v = ts_xrealloc(a->v, (a->cap = a->cap ? a->cap * 2 : 64) * sizeof *a->v);
        struct t_ref_point *points = ts_xmalloc((end - k) * sizeof *points);
        memcpy(points, v + k, (end - k) * sizeof *points);
        a->v[a->n++] = (struct sim_aged_hour){.series = i, .hour = hour, .points = points, .n = end - k};
    }
    ts_free(v);
    a->to_ms[i] = to_ms;
}

/* Hours of which everything is on disk expire. */
void sim_aged_note_expired(struct sim *s, int64_t now_ms, int64_t retention_ms)
{
    int64_t to_ms = ts_floor_div(now_ms - retention_ms, TS_HOUR_MS) * TS_HOUR_MS;
    for (unsigned i = 0; i < SIM_SERIES; i++)
        if (to_ms > s->aged.to_ms[i])
            note_hours(s, i, to_ms);
}

void sim_aged_cut_off(struct sim *s, int64_t points_ms, int64_t summaries_ms)
{
    int64_t to_ms = ts_floor_div(points_ms, TS_HOUR_MS) * TS_HOUR_MS;
    for (unsigned i = 0; i < SIM_SERIES && points_ms > STO_MIN_TS_MS; i++)
        if (to_ms > s->aged.to_ms[i])
            note_hours(s, i, to_ms);
    s->aged.gone_ms = summaries_ms > s->aged.gone_ms ? summaries_ms : s->aged.gone_ms;
    sim_days_note_gone(s);
}

bool sim_aged_settle(struct sim *s)
{
    unsigned pct = s->hook_pct;
    s->hook_pct = 0; /* nobody puts meanwhile */
    sim_turn_all(s);
    bool good = sim_all_well(s) && sim_flush(s, STO_LEVEL_FILES) && sim_all_well(s);
    s->hook_pct = pct;
    if (good)
        sim_days_confirm(s);
    return good;
}

void sim_aged_time(struct sim *s)
{
    int64_t ms =
        (int64_t)(sim_chance(s, s->aged.days ? 35 : 60) ? sim_rnd(s, TS_HOUR_MS)
                                                        : sim_rnd(s, (s->aged.days ? 2 : 5) * TS_DAY_MS));
    int64_t keep_ms = s->opts.retention_ms;
    if (s->aged.maybe_ms && (!keep_ms || s->aged.maybe_ms < keep_ms))
        keep_ms = s->aged.maybe_ms;
    if (keep_ms) {
        if (!sim_aged_settle(s))
            return;
        sim_aged_note_expired(s, s->now_ms + ms, keep_ms);
    }
    s->now_ms += ms;
    ts_clock_set_fake_mono(ts_clock_mono_ns() + ms * 1000000);
    sim_days_note_gone(s);
}

static void lose_marks(struct sim *s)
{
    static const char marks[] = "/db/AGED";
    if (!sim_chance(s, 12))
        return;
    sim_say(s, "the marks of summaries are lost");
    s->aged.lost = true;
    if (sim_chance(s, 50))
        (void)t_faultfs_remove(s->f, marks);
    else
        (void)t_faultfs_flip(s->f, marks, 12 + s->aged.n_lost++ % 8,
                             1); /* not the same bit twice: that repairs it */
}

void sim_aged_rule(struct sim *s, bool on_disk)
{
    if (!s->aged.days) {
        s->opts.retention_ms =
            on_disk && sim_chance(s, 80) ? s->retention_ms * (1 + (int64_t)sim_rnd(s, 3)) / 2 : 0;
        if (s->opts.retention_ms)
            sim_aged_note_expired(s, s->now_ms, s->opts.retention_ms);
    }
    lose_marks(s);
}

void sim_aged_rules(const struct sim *s, char *out, size_t n)
{
    snprintf(out, n, "* points=%lldh hours=forever", (long long)(s->opts.retention_ms / TS_HOUR_MS));
}

/* --- what is answered --- */

/* What is looked at. */
enum kind { POINTS, HOURS, DAYS };

static const char *const names[] = {"points", "a summary", "a summary of a day"};

/* Points of some hours in a row. */
struct part {
    struct t_ref_point *v; /* owned */
    size_t n;
};

/* The hours of a series from hour on to before end that are there have been seen. False: it is not known which of them should be there. */
static bool see_hours(struct sim *s, unsigned i, int32_t hour, int32_t end, const char *from,
                      struct part part[2])
{
    bool sure = sto_aged_day_of(hour).from * TS_HOUR_MS >= s->aged.gone_ms || !s->aged.days;
    for (size_t k = 0; k < s->aged.n; k++) {
        struct sim_aged_hour *is = &s->aged.v[k];
        if (is->series != i || is->hour < hour || is->hour >= end || is->is_deleted)
            continue;
        if (is->seen)
            sim_fail(s, "series %u, hour %d that has expired: %s, and it was there already", i, is->hour,
                     from);
        is->seen = true;
        sure = sure && !is->is_unsure && (!s->aged.days || is->hour * TS_HOUR_MS >= s->aged.bare_ms);
        for (size_t j = 0; j < is->n; j++) {
            struct part *p = &part[is->points[j].value.kind == TS_NUM_INT ? STO_AGED_INTS : STO_AGED_OTHERS];
            p->v = ts_xrealloc(p->v, (p->n + 1) * sizeof *p->v);
            p->v[p->n++] = is->points[j];
        }
    }
    return sure;
}

/* A row, of an hour or a day, has what its hours had. */
static void check_row(struct sim *s, unsigned i, int32_t hour, const struct sto_aged *a, const char *from)
{
    struct part part[2] = {{NULL, 0}, {NULL, 0}};
    bool sure = see_hours(s, i, hour, hour + (int32_t)sto_aged_hours(a), from, part);
    if (!part[0].n && !part[1].n)
        sim_fail(s, "series %u, hour %d that has expired: %s that nobody wrote", i, hour, from);
    for (unsigned p = 0; p < 2; p++) {
        size_t n = part[p].n;
        if (sure &&
            (a->part[p].n != n || (n && !t_ref_sums_up(&a->part[p], hour * TS_HOUR_MS, part[p].v, n))))
            sim_fail(s,
                     "series %u, hour %d that has expired: %s of %u points, there were %zu, or its numbers "
                     "are others",
                     i, hour, from, a->part[p].n, n);
        ts_free(part[p].v);
    }
    s->n_aged++;
    s->aged.n_days += a->n_hours > 0;
}

/* Scan the rows of the series *h before to_ms; aged: also those that have expired. The scan reads h until it is freed. */
static int scan_series(struct sto_snap *snap, const struct sto_series *const *h, int64_t from_ms,
                       int64_t to_ms, bool aged, struct sto_merge **out, struct ts_error *err)
{
    struct sto_scan_spec spec = {.metric = (*h)->metric,
                                 .series = h,
                                 .n_series = 1,
                                 .from_ms = from_ms,
                                 .to_ms = to_ms - 1,
                                 .aged = aged,
                                 .final = true};
    return sto_scan(snap, &spec, out, err);
}

/* Rows that have expired are in no scan. */
static bool check_expired(struct sim *s, unsigned i, struct sto_snap *snap, const struct sto_series *h,
                          enum kind kind, int64_t to_ms)
{
    int64_t shown_ms = sim_days_shown_ms(s, kind == DAYS);
    struct sto_merge *scan = NULL;
    struct ts_error err = {0};
    struct sto_row row;
    struct sto_aged a;
    int rc = scan_series(snap, &h, STO_MIN_TS_MS, to_ms, false, &scan, &err);
    while (rc >= 0 && (rc = sto_merge_next(scan, &row, &err)) == 1)
        if (shown_ms != STO_KEEP_FOREVER && row.key.hour * TS_HOUR_MS < s->now_ms - shown_ms &&
            sto_aged_read(row.cells, &a))
            sim_fail(s, "series %u, hour %d: %s that has expired itself is shown", i, row.key.hour,
                     names[kind]);
    sto_merge_free(scan);
    return sim_ok(s, rc, &err, "a scan of summaries");
}

static bool check_scan(struct sim *s, unsigned i, struct sto_snap *snap, const struct sto_series *h,
                       enum kind kind, int64_t from_ms, int64_t to_ms)
{
    bool rows = kind != POINTS;
    if (from_ms >= to_ms)
        return true;
    struct sto_merge *scan = NULL;
    struct ts_error err = {0};
    struct sto_row row;
    struct sto_aged a;
    int rc = scan_series(snap, &h, from_ms, to_ms, true, &scan, &err);
    while (rc >= 0 && (rc = sto_merge_next(scan, &row, &err)) == 1)
        if (rows ? sto_aged_read(row.cells, &a) : sto_aged_make(row.cells, &a))
            check_row(s, i, row.key.hour, &a, names[kind]);
    sto_merge_free(scan);
    return sim_ok(s, rc, &err, "a scan of expired hours") &&
           (!rows || check_expired(s, i, snap, h, kind, to_ms));
}

/* All hours of a series were looked for. */
static void check_seen(struct sim *s, unsigned i)
{
    for (size_t k = 0; k < s->aged.n; k++) {
        struct sim_aged_hour *is = &s->aged.v[k];
        if (is->series != i || is->is_deleted)
            continue;
        bool may_be_gone = s->aged.days && (sto_aged_day_of(is->hour).from * TS_HOUR_MS < s->aged.gone_ms ||
                                            is->hour * TS_HOUR_MS < s->aged.bare_ms);
        if (!is->seen && is->is_unsure)
            is->is_deleted = true; /* it was deleted */
        else if (!is->seen && !may_be_gone)
            sim_fail(s, "series %u, hour %d that has expired: nothing answers for its %zu points", i,
                     is->hour, is->n);
        if (is->seen)
            is->is_unsure = false; /* the delete is lost; one that is there may be lost with the power yet */
    }
}

static bool check_series(struct sim *s, unsigned i, struct sto_snap *snap, const struct sto_series *h)
{
    struct sto_aged_bounds at;
    int64_t to_ms = s->aged.to_ms[i];
    sto_snap_aged(snap, h, &at);
    if (at.lost)
        return true; /* a pass will find them again */
    int64_t rows_to_ms = at.to_ms < to_ms ? at.to_ms : to_ms, days_to_ms = STO_MIN_TS_MS;
    const struct sto_series *hours = sto_snap_aged_series(snap, sto_snap_aged_metric(snap, h->metric), h),
                            *days = NULL;
    if (hours) {
        sto_snap_aged(snap, hours, &at);
        if (at.lost)
            return true;
        days_to_ms = at.to_ms < rows_to_ms ? at.to_ms : rows_to_ms;
        days = sto_snap_aged_series(snap, sto_snap_aged_metric(snap, hours->metric), hours);
    }
    for (size_t k = 0; k < s->aged.n; k++)
        s->aged.v[k].seen = false;
    sim_say(s, "series %u: days before %lld, hours before %lld, points before %lld have expired", i,
            (long long)days_to_ms, (long long)rows_to_ms, (long long)to_ms);
    if (days && !check_scan(s, i, snap, days, DAYS, STO_MIN_TS_MS, days_to_ms))
        return false;
    if (hours && !check_scan(s, i, snap, hours, HOURS, days_to_ms, rows_to_ms))
        return false;
    if (!check_scan(s, i, snap, h, POINTS, rows_to_ms, to_ms))
        return false;
    check_seen(s, i);
    return true;
}

void sim_check_aged(struct sim *s)
{
    if (!s->aged.on || !s->aged.n)
        return;
    struct sto_snap *snap = sto_snap_take(s->st);
    bool good = true;
    for (unsigned i = 0; i < s->n_series && good; i++)
        if (s->aged.to_ms[i] > STO_MIN_TS_MS && sim_resolve(s, i, false))
            good = check_series(s, i, snap, s->series[i].h);
    sto_snap_release(snap);
}
