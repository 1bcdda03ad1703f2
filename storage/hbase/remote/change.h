/*
 * change.h - plans what must be written so that some points of a row change and everything else in it stays.
 *
 * The row was read before. Nothing is written for a point that stands there with the same bytes. For another one
 *
 *   cells of their own       the new cell replaces one with the same qualifier; others are deleted
 *   compacted columns        the column is replaced by one with the new value; if its qualifier changes, the old one is deleted
 *   an append column         the point is appended, since later points win in it. It is never replaced by a change of values: other writers
 *                            append to it at any time, and nothing but an append is atomic with theirs
 *   several of them          all of these
 *
 * A delete names the timestamp that was read and spares what is newer. It comprises older versions, which HBase would otherwise show again.
 * Annotations, histograms, unknown and damaged cells stay. Points that are not changed keep their bytes, so that they remain equal to
 * duplicates of them in other cells. A column that is written anew becomes newer than all other cells, so where these contradict it, it gets
 * the value that was the newest.
 *
 * Threads    a change belongs to one thread at a time
 * Cost       O(points of the row)
 * Not here   reading and writing (ship_merge.c, delete.c), timestamps of what is written
 */
#ifndef STORAGE_HBASE_REMOTE_CHANGE_H
#define STORAGE_HBASE_REMOTE_CHANGE_H

#include "base/mem.h"
#include "storage/hbase/columns.h"
#include "storage/hbase/thrift/calls.h"

/* What is wanted. */
struct sto_hbase_wish {
    const struct sto_cells *points; /* PUTs, sorted, each offset once; NULL = none */
    /* The points were written just now, and this looks at what has become of that: a point that stands there is replaced only if its cell is
     * not newer than known_ms, so that the value of another writer who came later stays; where cells contradict each other at the time of a
     * point, the newest one stays. */
    bool settles;
    int64_t known_ms; /* of settles: newest timestamp that was read before the points were written */
    bool removes;     /* the points with from_off <= offset <= to_off are removed; there are no points then */
    uint32_t from_off, to_off; /* ms */
    bool compacts;             /* the row becomes one compacted column, if nothing speaks against it */
};
/* A plan; the memory is reused by the next one. */
struct sto_hbase_change {
    /* [out] of family t, without timestamps (has_ts); ts_ms of what stays of a column is that of the column. Borrowed until the next plan and as long as the
     * cells that were read */
    struct sto_thrift_cell *puts;
    size_t n_puts;
    struct sto_thrift_column *deletes; /* [out] all versions up to a timestamp; borrowed as the puts */
    size_t n_deletes;
    /* [out] a column whose other points are written anew as they were read: if it has another value by now, the change must not be made; NULL = none.
     * Borrowed as the cells */
    const struct sto_hbase_cell *guard;
    struct ts_slice append; /* [out] to the append column, after the other changes; empty = nothing */
    int64_t newest_ms;      /* [out] newest timestamp of the cells that were read; INT64_MIN: there is none */
    uint32_t n_points;      /* [out] points that change */

    struct sto_hbase_columns columns; /* private: the row that was read */
    struct ts_arena arena;            /* private: memory of the plan */
};
void sto_hbase_change_init(struct sto_hbase_change *c, struct ts_budget *memory);
/** Free all memory; idempotent. */
void sto_hbase_change_release(struct sto_hbase_change *c);
/**
 * Plan the change of a row.
 *
 * @param cells  cells of family t, the newest version of each
 * @return 0; TS_ELIMIT or TS_ENOMEM: the account refuses memory, or there is none
 */
int sto_hbase_change_plan(struct sto_hbase_change *c, const struct sto_hbase_cell *cells, size_t n,
                          const struct sto_hbase_wish *wish, struct ts_error *err);
/** Make the request for n steps of the change of a row: mutateRow, or checkAndMutate if there is a guard. TS_ELIMIT, TS_ENOMEM. */
int sto_hbase_change_request(const struct sto_hbase_change *c, struct ts_slice table, struct ts_slice row,
                             const struct sto_thrift_mutation *steps, size_t n,
                             struct sto_thrift_request *out);
/** Does the change write anything? */
static inline bool sto_hbase_change_writes(const struct sto_hbase_change *c)
{
    return c->n_puts || c->n_deletes || c->append.n;
}
/** Write qualifier and value of a point, at most 4 and 8 bytes, and move both pointers behind them. */
void sto_hbase_entry_put(const struct sto_hbase_entry *e, uint8_t **qualifier, uint8_t **value);
/** Does a cell with this qualifier have points? */
bool sto_hbase_is_points(struct ts_slice qualifier);
#define STO_HBASE_FAMILY TS_SLICE_LIT("t") /* of the data table */

#endif
