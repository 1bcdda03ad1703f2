/*
 * scan_kit.h - all points of one series, one call each.
 */
#ifndef TESTS_UNIT_STORAGE_SCAN_KIT_H
#define TESTS_UNIT_STORAGE_SCAN_KIT_H

#include "storage/store.h"

typedef void (*kit_point_fn)(void *arg, int64_t ts_ms, struct ts_num v);

/* Points of a series in a snapshot. 0, or what the scan said. */
static inline int kit_points_of(struct sto_snap *snap, const struct sto_series *s, kit_point_fn each,
                                void *arg, struct ts_error *err)
{
    struct sto_scan_spec spec = {.metric = s->metric,
                                 .series = &s,
                                 .n_series = 1,
                                 .from_ms = STO_MIN_TS_MS,
                                 .to_ms = STO_MAX_TS_MS,
                                 .final = true};
    struct sto_merge *scan = NULL;
    struct sto_row row;
    int rc = sto_scan(snap, &spec, &scan, err);
    while (rc >= 0 && (rc = sto_merge_next(scan, &row, err)) == 1)
        for (uint32_t i = 0; i < row.cells->n; i++)
            each(arg, (int64_t)row.key.hour * TS_HOUR_MS + sto_meta_off(row.cells->meta[i]),
                 sto_cell_num(row.cells->meta[i], row.cells->m[i]));
    sto_merge_free(scan);
    return rc;
}

/* The same in a snapshot that is taken now. */
static inline int kit_points(struct sto_store *st, const struct sto_series *s, kit_point_fn each, void *arg,
                             struct ts_error *err)
{
    struct sto_snap *snap = sto_snap_take(st);
    int rc = kit_points_of(snap, s, each, arg, err);
    sto_snap_release(snap);
    return rc;
}

#endif
