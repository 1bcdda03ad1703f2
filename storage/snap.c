/*
 * snap.c - snapshots: what a query reads, without what has expired.
 *
 * Threads    as store.h says
 * Not here   reading kept totals (total.c)
 */
#include "storage/store.h"

#include "base/mem.h"
#include "base/time.h"
#include "storage/engine/cost.h"
#include "storage/engine/engine.h"
#include "storage/store_int.h"

struct sto_snap *sto_snap_take(struct sto_store *st)
{
    struct sto_snap *snap = ts_xmalloc(sizeof *snap);
    *snap = (struct sto_snap){.e = st->engine,
                              .has_remote = st->opts.remote != NULL,
                              .now_ms = ts_clock_ms(),
                              .catalog = st->catalog,
                              .reads = sto_catalog_read_begin(st->catalog)};
    /* marks that were in force all the while: the version has their summaries, and the points behind them */
    for (bool same = false; !same;) {
        struct sto_floors *aged = sto_retain_aged(st);
        snap->v = sto_engine_pin(st->engine);
        snap->floors =
            sto_engine_floors(st->engine); /* after the version: they hide at least what it lacks */
        snap->keep = sto_retain_keep(st);
        same = sto_keep_aged(snap->keep) == aged;
        sto_floors_unref(aged);
        if (!same) {
            sto_engine_unpin(st->engine, snap->v);
            sto_floors_unref(snap->floors);
            sto_keep_unref(snap->keep);
        }
    }
    snap->from_ms = sto_keep_first_ms(snap->keep, snap->now_ms);
    return snap;
}

void sto_snap_release(struct sto_snap *snap)
{
    if (!snap)
        return;
    sto_engine_unpin(snap->e, snap->v);
    sto_floors_unref(snap->floors);
    sto_keep_unref(snap->keep);
    sto_catalog_read_end(snap->catalog, snap->reads);
    ts_free(snap);
}

/* The scan without the times that have expired. */
static struct sto_scan_spec unexpired(const struct sto_snap *snap, const struct sto_scan_spec *spec)
{
    struct sto_scan_spec s = *spec;
    s.keep = sto_keep_by_series(snap->keep) && !spec->aged ? snap->keep : NULL;
    s.now_ms = snap->now_ms;
    s.floors = snap->floors;
    int64_t from_ms = s.from_ms < snap->from_ms ? snap->from_ms : s.from_ms;
    if (spec->aged && from_ms < sto_keep_least_ms(snap->keep))
        from_ms = sto_keep_least_ms(snap->keep);
    if (s.keep && s.series && !s.note) /* files before it need not be looked at; annotations do not expire */
        from_ms = sto_keep_any_ms(s.keep, s.series, s.n_series, from_ms, s.now_ms);
    if (s.from_ms < from_ms) {
        int64_t skipped = from_ms <= s.to_ms ? (int64_t)sto_hour(from_ms) - sto_hour(s.from_ms) : 0;
        s.whole_hours = s.whole_hours ? s.whole_hours + skipped : NULL;
        s.days = s.days ? s.days + skipped : NULL;
        s.from_ms = from_ms;
    }
    return s;
}

int sto_scan(struct sto_snap *snap, const struct sto_scan_spec *spec, struct sto_merge **out_scan,
             struct ts_error *err)
{
    struct sto_scan_spec s = unexpired(snap, spec);
    bool both = !s.local_only && s.from_ms < sto_snap_complete_from(snap);
    return both ? sto_engine_scan_both(snap->e, snap->v, &s, out_scan, err)
                : sto_version_scan(snap->v, &s, out_scan, err);
}

int64_t sto_snap_complete_from(const struct sto_snap *snap)
{
    return snap->has_remote ? sto_version_complete_from(snap->v) : INT64_MIN;
}

static const struct sto_series *snap_series(void *catalog, uint32_t id)
{
    return sto_series_get(catalog, id);
}

int sto_snap_keep_used(struct sto_snap *snap, int64_t from_ms, int64_t to_ms, roaring_bitmap_t *set,
                       struct ts_error *err)
{
    return sto_version_keep_used(snap->v, from_ms < snap->from_ms ? snap->from_ms : from_ms, to_ms,
                                 snap_series, snap->catalog, set, err);
}

size_t sto_snap_windows(const struct sto_snap *snap, struct sto_window_size *out, size_t max)
{
    return sto_version_windows(snap->v, out, max);
}

size_t sto_snap_owners(const struct sto_snap *snap, struct sto_owner_size *out, size_t max)
{
    return sto_version_owners(snap->v, out, max);
}

bool sto_snap_time_range(struct sto_snap *snap, int64_t *out_min_ms, int64_t *out_max_ms)
{
    bool any = snap->has_remote ? sto_engine_time_range(snap->e, snap->v, out_min_ms, out_max_ms)
                                : sto_version_time_range(snap->v, out_min_ms, out_max_ms);
    *out_min_ms = *out_min_ms < snap->from_ms ? snap->from_ms : *out_min_ms;
    return any && *out_min_ms <= *out_max_ms;
}

void sto_scan_estimate(struct sto_snap *snap, const struct sto_scan_spec *spec, uint64_t *out_points,
                       uint64_t *out_bytes)
{
    struct sto_scan_spec s = unexpired(snap, spec);
    sto_version_estimate(snap->v, &s, out_points, out_bytes);
}

int sto_scan_cost(struct sto_snap *snap, const struct sto_scan_spec *spec, sto_scan_cost_fn each, void *arg,
                  struct ts_error *err)
{
    struct sto_scan_spec s = unexpired(snap, spec);
    return sto_version_cost(snap->v, &s, each, arg, err);
}
