/*
 * sim_totals.c - kept totals: declared and removed while everything else goes on; in the hours that they answer they say what all series of the metric
 * have together.
 *
 * Threads    one
 */
#include "tests/sim/sim.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "storage/total.h"
#include "storage/total_run.h"

#define HOURS 500 /* that are looked at, up to three hours from now */

/* All points of a metric in an hour. */
struct sum {
    uint64_t n;
    double sum, min, max;
};

void sim_totals_change(struct sim *s)
{
    struct ts_error err = {0};
    const struct sto_series *h = sim_has(s, SIM_TOTAL_SEED) && s->n_series
                                     ? sim_resolve(s, (unsigned)sim_rnd(s, s->n_series), false)
                                     : NULL;
    if (!h || !h->n_tags)
        return;
    struct sto_catalog *cat = sto_store_catalog(s->st);
    struct ts_slice metric = sto_uid_name(cat, STO_UID_METRIC, h->metric),
                    over = sto_uid_name(cat, STO_UID_TAGK, h->tags[sim_rnd(s, h->n_tags)].k);
    if (!metric.n || !over.n)
        return;
    int rc = sim_chance(s, 80) ? sto_total_add(s->st, metric, &over, 1, NULL, &err)
                               : sto_total_remove(s->st, metric, &over, 1, &err);
    sim_say(s, "kept total of %.*s: %d %s", (int)metric.n, metric.p, rc, err.text);
    if (rc != TS_EEXIST && rc != TS_ENOTFOUND && rc != TS_ELIMIT)
        sim_ok(s, rc, &err, "a kept total");
}

static int64_t on_group(void *arg, const struct sto_tag *tags, size_t n_tags)
{
    (void)arg, (void)tags, (void)n_tags;
    return 0;
}

static void add(struct sum *to, uint64_t n, double sum, double min, double max)
{
    to->min = to->n && to->min < min ? to->min : min;
    to->max = to->n && to->max > max ? to->max : max;
    to->sum += sum;
    to->n += n;
}

static double sum_of(bool is_int, __int128 sum)
{
    return is_int ? (double)sum : ldexp((double)sum, -64);
}

/* Read what the total answers into is, by hours from hour_lo on. False: it cannot be read; after a power cut blocks of a derived file may be damaged, as any
 * query that meets one notices, and reads the points. */
static bool read_rows(struct sim *s, struct sto_total_scan *scan, int32_t hour_lo, struct sum *is)
{
    const struct sto_summary *sum;
    struct ts_error err = {0};
    int64_t group;
    int32_t hour;
    int rc;
    while ((rc = sto_total_scan_next(scan, &group, &hour, &sum, &err)) == 1)
        add(&is[hour - hour_lo], sum->n, sum_of(sum->is_int, sum->sum), ts_num_double(sum->min),
            ts_num_double(sum->max));
    return rc != TS_ECORRUPT && sim_ok(s, rc, &err, "a kept total");
}

/* The same as runs, which have no smallest and largest value. */
static bool read_runs(struct sim *s, struct sto_total_scan *scan, int32_t hour_lo, struct sum *is)
{
    struct sto_run run;
    struct ts_error err = {0};
    int64_t group;
    int rc;
    while ((rc = sto_total_scan_run(scan, &group, &run, &err)) == 1)
        for (size_t i = 0; i < run.n; i++)
            add(&is[run.keys[i].hour - hour_lo], (uint64_t)run.counts[i], sum_of(run.is_int, run.sums[i]), 0,
                0);
    return rc != TS_ECORRUPT && sim_ok(s, rc, &err, "a kept total");
}

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * (1 + fabs(a) + fabs(b));
}

/* Compare the hours that are answered with the points of all series of the metric. */
static void compare(struct sim *s, const unsigned *list, size_t n, int32_t hour_lo, const uint8_t *answered,
                    const struct sum *is)
{
    struct sum *want = ts_xcalloc(HOURS, sizeof *want);
    for (size_t i = 0; i < n; i++) {
        struct t_ref_point *p;
        size_t n_points =
            t_ref_scan(s->ref, list[i], hour_lo * TS_HOUR_MS, (hour_lo + HOURS) * TS_HOUR_MS - 1, &p);
        for (size_t k = 0; k < n_points; k++) {
            double v = ts_num_double(p[k].value);
            add(&want[sto_hour(p[k].ts_ms) - hour_lo], 1, v, v, v);
        }
        ts_free(p);
    }
    for (int32_t h = 0; h < HOURS; h++) {
        if (!answered[h])
            continue;
        s->n_total_hours += is[h].n > 0;
        if (is[h].n != want[h].n || (is[h].n && (!near(is[h].sum, want[h].sum) || is[h].min != want[h].min ||
                                                 is[h].max != want[h].max)))
            sim_fail(s, "kept total, hour %d: %llu points of sum %g, expected %llu of %g", hour_lo + h,
                     (unsigned long long)is[h].n, is[h].sum, (unsigned long long)want[h].n, want[h].sum);
    }
    ts_free(want);
}

/* Read the hours once more, as runs: they have the same points. */
static void compare_runs(struct sim *s, struct sto_snap *snap, const struct sto_total_spec *spec,
                         const struct sum *is)
{
    struct sto_total_scan *scan = NULL;
    struct ts_error err = {0};
    if (!sim_ok(s, sto_total_scan_new(snap, spec, &scan, &err), &err, "a kept total"))
        return;
    struct sum *got = ts_xcalloc(HOURS, sizeof *got);
    uint8_t answered[HOURS];
    memcpy(answered, sto_total_scan_hours(scan), sizeof answered);
    bool all = read_runs(s, scan, spec->hour_lo, got);
    for (int32_t h = 0; all && h < HOURS; h++)
        if (answered[h] && (got[h].n != is[h].n || !near(got[h].sum, is[h].sum)))
            sim_fail(s, "kept total, hour %d: %llu points of sum %g as a run, %llu of %g as a row",
                     spec->hour_lo + h, (unsigned long long)got[h].n, got[h].sum, (unsigned long long)is[h].n,
                     is[h].sum);
    ts_free(got);
    sto_total_scan_free(scan);
}

/* Ask the total of a metric, whose series these are, by number. */
static void check_metric(struct sim *s, struct sto_snap *snap, const struct sto_total_ids *total,
                         const struct sto_series *const *series, const unsigned *list, size_t n)
{
    uint8_t wanted[HOURS];
    struct sto_total_scan *scan = NULL;
    struct ts_error err = {0};
    int64_t expired_ms = sim_expired_ms(s);
    struct sto_total_spec spec = {.total = *total,
                                  .series = series,
                                  .n_series = n,
                                  .hour_lo = sto_hour(s->now_ms) + 3 - HOURS,
                                  .n_hours = HOURS,
                                  .wanted = wanted,
                                  .group = on_group};
    for (int32_t h = 0; h < HOURS; h++) {
        int64_t ms = (spec.hour_lo + h) * TS_HOUR_MS;
        wanted[h] = ms >= s->horizon_ms && ms >= expired_ms;
    }
    if (!sim_ok(s, sto_total_scan_new(snap, &spec, &scan, &err), &err, "a kept total"))
        return;
    struct sum *is = ts_xcalloc(HOURS, sizeof *is);
    uint8_t answered[HOURS];
    memcpy(answered, sto_total_scan_hours(scan), sizeof answered);
    if (read_rows(s, scan, spec.hour_lo, is)) {
        compare(s, list, n, spec.hour_lo, answered, is);
        compare_runs(s, snap, &spec, is);
    }
    ts_free(is);
    sto_total_scan_free(scan);
}

void sim_check_totals(struct sim *s)
{
    const struct sto_series *series[SIM_SERIES];
    unsigned list[SIM_SERIES];
    struct sto_total_ids totals[STO_TOTALS_MAX];
    if (!sim_has(s, SIM_TOTAL_SEED))
        return;
    sim_quota_see(s);
    struct sto_snap *snap = sto_snap_take(s->st);
    size_t n_totals = sto_snap_totals(snap, totals);
    for (size_t t = 0; t < n_totals; t++) {
        size_t n = 0;
        for (unsigned i = 0; i < s->n_series; i++) {
            const struct sto_series *h = sim_resolve(s, i, false);
            size_t at = n;
            if (!h || h->metric != totals[t].metric)
                continue;
            for (; at && series[at - 1]->id > h->id; at--) {
                series[at] = series[at - 1];
                list[at] = list[at - 1];
            }
            series[at] = h;
            list[at] = i;
            n++;
        }
        if (n)
            check_metric(s, snap, &totals[t], series, list, n);
    }
    sto_snap_release(snap);
}
