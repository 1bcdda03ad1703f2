/*
 * rollup_cells.h - cells of one function in rows of rollups: filters for them, and changes of them.
 *
 * A row has the cells of all functions for all intervals of its span, which may be many hours, while one hour of a series is written or deleted at a
 * time. So a request selects the cells of some functions and intervals, and changes concern nothing else of the row.
 *
 * Threads    pure functions, but for the change, which belongs to one thread at a time
 * Not here   reading and writing (ship_rollup.c, fetch_rollup.c, delete.c)
 */
#ifndef STORAGE_HBASE_REMOTE_ROLLUP_CELLS_H
#define STORAGE_HBASE_REMOTE_ROLLUP_CELLS_H

#include "storage/hbase/remote/change.h"
#include "storage/hbase/rollup_config.h"

/* Cells of one function. */
struct sto_hbase_rollup_cells {
    const struct sto_hbase_rollup_place *place; /* with a shape */
    uint32_t first, last;                       /* indices of intervals, both inclusive */
    /* change: points of one hour within these intervals, PUTs sorted by time; NULL: the cells are only selected */
    const struct sto_cells *points;
    int32_t hour; /* of points */
};
/** The intervals of a row that begin in first_s <= t <= last_s. False: there are none. */
bool sto_hbase_rollup_part(const struct sto_hbase_rollup *shape, uint32_t base_s, uint64_t first_s,
                           uint64_t last_s, uint32_t *out_first, uint32_t *out_last);
/** Append a filter in HBase's language that lets these cells pass, and few others; nothing if it would be too long. */
void sto_hbase_rollup_filter(const struct sto_hbase_rollup_cells *list, size_t n, struct ts_buf *out);
/** Is a cell one of the function of a place, by its id or by its name? Then its interval is *out_index, and *out_flags are those of its value. */
bool sto_hbase_rollup_is(const struct sto_hbase_rollup_place *place, struct ts_slice qualifier,
                         uint32_t *out_index, uint8_t *out_flags);

/* What is wanted; as struct sto_hbase_wish. */
struct sto_hbase_rollup_wish {
    const struct sto_hbase_rollup_cells *list; /* n of them, of different functions, with points */
    size_t n;
    uint32_t base_s; /* of the row */
    bool settles; /* the points were written just now: an interval keeps a cell that is newer than known_ms */
    int64_t known_ms; /* of settles */
};
/**
 * Plan the change of a row: each interval with a point gets exactly one cell. A cell that has the same bytes is not written, and all others of the
 * interval are deleted, whatever their type, length and form of qualifier, since OpenTSDB does not accept two of them. If they settle, the newest cell stays; of equally new
 * ones the one with the greatest qualifier, as every program of this kind chooses.
 *
 * @param c      as for sto_hbase_change_plan; append stays empty
 * @param cells  that were read, the newest version of each; they include those of the intervals of the points
 * @return 0; TS_ELIMIT
 */
int sto_hbase_rollup_change(struct sto_hbase_change *c, const struct sto_hbase_cell *cells, size_t n,
                            const struct sto_hbase_rollup_wish *wish, struct ts_error *err);

#endif
