/*
 * sim_aged.c - hours for longer than points: a rule keeps points for some days and hours for ever, and whole hours of points that have expired are answered
 * as the model had them.
 *
 * Before time passes, or the rule changes between two runs, everything is brought to disk, and the points of the hours that expire by that are noted. Nothing
 * changes them afterwards: what is older is neither put nor deleted, as in the daemon. Passes of retention, ends and faults come whenever they come. Now and then
 * the marks are lost.
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
static void note_expired(struct sim *s, int64_t now_ms, int64_t retention_ms)
{
    int64_t to_ms = ts_floor_div(now_ms - retention_ms, TS_HOUR_MS) * TS_HOUR_MS;
    for (unsigned i = 0; i < SIM_SERIES; i++)
        if (to_ms > s->aged.to_ms[i])
            note_hours(s, i, to_ms);
}

void sim_aged_time(struct sim *s)
{
    int64_t ms = (int64_t)(sim_chance(s, 60) ? sim_rnd(s, TS_HOUR_MS) : sim_rnd(s, 5 * TS_DAY_MS));
    if (s->opts.retention_ms) {
        unsigned pct = s->hook_pct;
        s->hook_pct = 0; /* nobody puts meanwhile */
        sim_turn_all(s);
        bool good = sim_all_well(s) && sim_flush(s, STO_LEVEL_FILES) && sim_all_well(s);
        s->hook_pct = pct;
        if (!good)
            return;
        note_expired(s, s->now_ms + ms, s->opts.retention_ms);
    }
    s->now_ms += ms;
    ts_clock_set_fake_mono(ts_clock_mono_ns() + ms * 1000000);
}

void sim_aged_rule(struct sim *s, bool on_disk)
{
    static const char marks[] = "/db/AGED";
    s->opts.retention_ms =
        on_disk && sim_chance(s, 80) ? s->retention_ms * (1 + (int64_t)sim_rnd(s, 3)) / 2 : 0;
    if (s->opts.retention_ms)
        note_expired(s, s->now_ms, s->opts.retention_ms);
    if (!sim_chance(s, 12))
        return;
    sim_say(s, "the marks of summaries are lost");
    s->aged.lost = true;
    if (sim_chance(s, 50))
        (void)t_faultfs_remove(s->f, marks);
    else
        (void)t_faultfs_flip(s->f, marks, 18, 1);
}

void sim_aged_rules(const struct sim *s, char *out, size_t n)
{
    snprintf(out, n, "* points=%lldh hours=forever", (long long)(s->opts.retention_ms / TS_HOUR_MS));
}

/* --- what is answered --- */

static struct sim_aged_hour *find(struct sim *s, unsigned i, int32_t hour)
{
    for (size_t k = 0; k < s->aged.n; k++)
        if (s->aged.v[k].series == i && s->aged.v[k].hour == hour)
            return &s->aged.v[k];
    return NULL;
}

static void check_hour(struct sim *s, unsigned i, int32_t hour, const struct sto_aged *a, const char *from)
{
    struct sim_aged_hour *is = find(s, i, hour);
    if (!is)
        sim_fail(s, "series %u, hour %d that has expired: %s that nobody wrote", i, hour, from);
    struct t_ref_point *part = ts_xmalloc((is->n + 1) * sizeof *part);
    for (unsigned p = 0; p < 2; p++) {
        size_t n = 0;
        for (size_t k = 0; k < is->n; k++)
            if ((is->points[k].value.kind == TS_NUM_INT) == (p == STO_AGED_INTS))
                part[n++] = is->points[k];
        if (a->part[p].n != n || (n && !t_ref_sums_up(&a->part[p], hour * TS_HOUR_MS, part, n)))
            sim_fail(s,
                     "series %u, hour %d that has expired: %s of %u points, there were %zu, or its numbers "
                     "are others",
                     i, hour, from, a->part[p].n, n);
    }
    ts_free(part);
    is->seen = true;
    s->n_aged++;
}

/* rows: they are summaries, of the series h; else points. */
static bool check_scan(struct sim *s, unsigned i, struct sto_snap *snap, const struct sto_series *h,
                       bool rows, int64_t from_ms, int64_t to_ms)
{
    struct sto_scan_spec spec = {.metric = h->metric,
                                 .series = &h,
                                 .n_series = 1,
                                 .from_ms = from_ms,
                                 .to_ms = to_ms - 1,
                                 .aged = !rows,
                                 .final = true};
    struct sto_merge *scan = NULL;
    struct ts_error err = {0};
    struct sto_row row;
    struct sto_aged a;
    int rc = sto_scan(snap, &spec, &scan, &err);
    while (rc >= 0 && (rc = sto_merge_next(scan, &row, &err)) == 1)
        if (rows ? sto_aged_read(row.cells, &a) : sto_aged_make(row.cells, &a))
            check_hour(s, i, row.key.hour, &a, rows ? "a summary" : "a row");
    sto_merge_free(scan);
    return sim_ok(s, rc, &err, "a scan of expired hours");
}

static bool check_series(struct sim *s, unsigned i, struct sto_snap *snap, const struct sto_series *h)
{
    struct sto_aged_bounds at;
    int64_t to_ms = s->aged.to_ms[i];
    sto_snap_aged(snap, h, &at);
    if (at.lost)
        return true; /* a pass will find them again */
    int64_t rows_to_ms = at.to_ms < to_ms ? at.to_ms : to_ms;
    const struct sto_series *aged = sto_snap_aged_series(snap, sto_snap_aged_metric(snap, h->metric), h);
    for (size_t k = 0; k < s->aged.n; k++)
        s->aged.v[k].seen = false;
    if (aged && rows_to_ms > STO_MIN_TS_MS && !check_scan(s, i, snap, aged, true, STO_MIN_TS_MS, rows_to_ms))
        return false;
    if (to_ms > rows_to_ms && !check_scan(s, i, snap, h, false, rows_to_ms, to_ms))
        return false;
    for (size_t k = 0; k < s->aged.n; k++)
        if (s->aged.v[k].series == i && !s->aged.v[k].seen)
            sim_fail(s, "series %u, hour %d that has expired: nothing answers for its %zu points", i,
                     s->aged.v[k].hour, s->aged.v[k].n);
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
