/*
 * sim_days.c - days for longer than hours: rules with days= that are set, changed and removed while the store is open, and whole days that have expired are
 * deleted, also in the middle of the pass that makes their summaries. In every third life a limit of bytes cuts off points, and summaries after them.
 *
 * What is deleted is unsure when the store ends before it is known to be on disk: then hours are there or not, each as a whole.
 *
 * Threads    one
 */
#include "tests/sim/sim.h"

#include <stdio.h>

#include "storage/aged.h"
#include "storage/keep.h"
#include "storage/retain.h"

void sim_days_configure(struct sim *s)
{
    s->aged.days = s->seed > SIM_DAYS_SEED;
    s->aged.gone_ms = s->aged.bare_ms = STO_MIN_TS_MS;
    if (!s->aged.days)
        return;
    s->opts.retention_ms = s->aged.hours_ms = s->aged.days_ms = 0;
    s->retention_ms = (int64_t)(6 + sim_rnd(s, 24)) * 2 * TS_HOUR_MS;
    s->hook_pct = s->seed % 2 ? s->hook_pct : 20;
}

/* --- rules --- */

int64_t sim_days_shown_ms(const struct sim *s, bool days)
{
    if (!s->aged.days || !s->opts.retention_ms)
        return STO_KEEP_FOREVER;
    return days ? s->aged.days_ms : s->aged.hours_ms;
}

void sim_days_note_gone(struct sim *s)
{
    if (s->aged.hours_ms <= s->opts.retention_ms && s->cutoff_ms > s->aged.bare_ms)
        s->aged.bare_ms = s->cutoff_ms;
    int64_t kept_ms = sim_days_shown_ms(s, true);
    if (kept_ms != STO_KEEP_FOREVER && s->now_ms - kept_ms > s->aged.gone_ms)
        s->aged.gone_ms = s->now_ms - kept_ms;
}

/* A rule as it is set; ms 0: none. */
struct rule {
    int64_t points_ms, hours_ms, days_ms;
};

static void put_in_force(struct sim *s, const struct rule *r)
{
    s->opts.retention_ms = r->points_ms;
    s->aged.hours_ms = r->hours_ms;
    s->aged.days_ms = r->days_ms;
    sim_days_note_gone(s);
}

/* The first rule decides, since it is of all metrics. */
static void on_rule(void *arg, const struct sto_retain_row *row)
{
    struct rule *r = arg;
    if (row->source == STO_RETAIN_SET && !r->points_ms)
        *r = (struct rule){row->points_ms, row->hours_ms, row->days_ms};
}

static struct rule some_rule(struct sim *s)
{
    struct rule r = {.points_ms = s->retention_ms * (1 + (int64_t)sim_rnd(s, 4)) / 2};
    if (sim_chance(s, 8))
        return (struct rule){0};
    r.hours_ms = r.days_ms = r.points_ms;
    if (sim_chance(s, 85))
        r.hours_ms = r.days_ms = r.points_ms + (2 + (int64_t)sim_rnd(s, 8)) * TS_DAY_MS / 2;
    if (r.hours_ms > r.points_ms && sim_chance(s, 75))
        r.days_ms =
            sim_chance(s, 60) ? STO_KEEP_FOREVER : r.hours_ms + (2 + (int64_t)sim_rnd(s, 20)) * TS_DAY_MS;
    return r;
}

static void rule_text(const struct rule *r, char out[120])
{
    int n = snprintf(out, 120, "* points=%lldh", (long long)(r->points_ms / TS_HOUR_MS));
    if (r->hours_ms > r->points_ms)
        n += snprintf(out + n, 120 - (size_t)n, " hours=%lldh", (long long)(r->hours_ms / TS_HOUR_MS));
    if (r->days_ms == STO_KEEP_FOREVER)
        snprintf(out + n, 120 - (size_t)n, " days=forever");
    else if (r->days_ms > r->hours_ms)
        snprintf(out + n, 120 - (size_t)n, " days=%lldh", (long long)(r->days_ms / TS_HOUR_MS));
}

static void change_rule(struct sim *s)
{
    struct rule r = some_rule(s);
    char text[120] = "";
    struct ts_error err = {0};
    if (s->aged.maybe_ms || !sim_aged_settle(s))
        return;
    if (r.points_ms) {
        rule_text(&r, text);
        sim_aged_note_expired(s, s->now_ms, r.points_ms);
    }
    struct sto_retain_call call = {.what = STO_RETAIN_REPLACE, .text = ts_slice_str(text)};
    int rc = sto_retain(s->st, &call, &err);
    sim_say(s, "the rule is '%s': %d", text, rc);
    if (sim_ok(s, rc, &err, "a change of rules")) {
        put_in_force(s, &r);
        s->aged.n_rules++;
    } else { /* the former one is in force, and either is on disk */
        s->aged.maybe_ms = r.points_ms ? r.points_ms : STO_KEEP_FOREVER;
    }
}

void sim_days_opened(struct sim *s)
{
    struct rule r = {0};
    struct ts_error err = {0};
    if (!s->aged.days)
        return;
    int rc = sto_retain(s->st, &(struct sto_retain_call){.each = on_rule, .arg = &r}, &err);
    if (rc < 0)
        sim_fail(s, "the rules cannot be listed: %s", err.text);
    if (!s->aged.maybe_ms &&
        (r.points_ms != s->opts.retention_ms ||
         (r.points_ms && (r.hours_ms != s->aged.hours_ms || r.days_ms != s->aged.days_ms))))
        sim_fail(s, "the rule keeps points for %lld ms, not %lld", (long long)r.points_ms,
                 (long long)s->opts.retention_ms);
    s->aged.maybe_ms = 0;
    put_in_force(s, &r);
    if (r.points_ms)
        sim_aged_note_expired(s, s->now_ms, r.points_ms);
    sim_quota_see(s);
    sim_check_aged(s);
    if (!s->step && !s->n_crashes && s->seed % 8) { /* from now on the store knows the clock */
        change_rule(s);
        sim_merge_some(s, false);
    }
}

/* --- deletes --- */

/* The rows of summaries of a series, of those of hours if days: what whoever deletes finds after the points were deleted. */
static const struct sto_series *rows_of(struct sim *s, const struct sto_series *h, bool days)
{
    struct sto_snap *snap = sto_snap_take(s->st);
    const struct sto_series *rows = sto_snap_aged_series(snap, sto_snap_aged_metric(snap, h->metric), h);
    if (rows && days)
        rows = sto_snap_aged_series(snap, sto_snap_aged_metric(snap, rows->metric), rows);
    sto_snap_release(snap);
    return rows;
}

/* Delete whole days as the daemon does: points, then rows of hours, then rows of days, each found after the ones before were deleted. */
static bool delete_days(struct sim *s, unsigned i, int64_t from_ms, int64_t to_ms)
{
    unsigned writer = (unsigned)sim_rnd(s, s->opts.n_writers);
    const struct sto_series *h = sim_resolve(s, i, false);
    if (!h || !sim_delete_range(s, writer, i, from_ms, to_ms))
        return false;
    for (size_t k = 0; k < s->aged.n; k++)
        if (s->aged.v[k].series == i && s->aged.v[k].hour * TS_HOUR_MS >= from_ms &&
            s->aged.v[k].hour * TS_HOUR_MS <= to_ms)
            s->aged.v[k].is_deleted = s->aged.v[k].is_unsure = true;
    sim_turn_all(s);
    for (int days = 0; days < 2; days++) {
        const struct sto_series *rows = rows_of(s, h, days);
        if (rows && sto_delete(sto_writer(s->st, writer), rows, from_ms, to_ms) < 0)
            return false;
        sim_turn_all(s);
    }
    s->aged.n_deletes++;
    return true;
}

static void delete_some(struct sim *s)
{
    struct sim_aged *a = &s->aged;
    if (!a->n || !sim_all_well(s))
        return;
    const struct sim_aged_hour *x = &a->v[sim_rnd(s, a->n)];
    struct sto_day first = sto_aged_day_of(x->hour),
                   last = sto_aged_day_of(x->hour + (int32_t)sim_rnd(s, 2) * 24);
    if (last.to * TS_HOUR_MS <= a->to_ms[x->series])
        (void)delete_days(s, x->series, first.from * TS_HOUR_MS, last.to * TS_HOUR_MS - 1);
}

void sim_days_confirm(struct sim *s)
{
    for (size_t k = 0; k < s->aged.n; k++)
        if (s->aged.v[k].is_deleted)
            s->aged.v[k].is_unsure = false;
}

void sim_days_ended(struct sim *s)
{
    for (size_t k = 0; k < s->aged.n; k++)
        if (s->aged.v[k].is_deleted && s->aged.v[k].is_unsure)
            s->aged.v[k].is_deleted = false;
}

/* --- what is done --- */

void sim_days_beside(struct sim *s)
{
    s->aged.n_beside++;
    if (sim_chance(s, 12)) {
        delete_some(s);
        return;
    }
    s->aged.fresh = true;
    sim_put_some(s);
    s->aged.fresh = false;
    sim_turn_all(s);
}

/* Retention looks soon afterwards, as in a daemon: otherwise a crash makes the time that has passed a jump of the clock. */
static void let_time_pass(struct sim *s)
{
    for (uint64_t n = 1 + sim_rnd(s, 5); n > 0 && sim_all_well(s); n--) {
        sim_aged_time(s);
        sim_merge_some(s, true);
    }
}

void sim_days_step(struct sim *s)
{
    uint64_t r = sim_rnd(s, 100);
    if (r < 12 || (!s->opts.retention_ms && r < 60))
        change_rule(s);
    else if (r < 18)
        delete_some(s);
    else if (r < 62)
        let_time_pass(s);
    else
        sim_merge_some(s, true);
}
