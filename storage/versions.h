/*
 * versions.h - the last values that were written to a time, one after another, as cells of one row.
 *
 * A series of an internal metric (internal.h) has them: its points are beside those of the visible series, which has the newest values
 * alone and is not affected. Each write makes two cells of that time, adjacent and in one batch:
 *
 *   stamp    STO_OP_KEEP, kind INT, exponent = how many versions of the time are kept (1 to 31), value = when it was written, us since 1970;
 *            STO_META_MS: older versions of the time were dropped
 *   value    STO_OP_KEEP and what the put had: kind, exponent, STO_META_MS, value
 *
 * Cells of one time stay in the order of arrival. Each version drops those before it that are more than its stamp keeps; the oldest one that
 * stays is marked if any were dropped. Whoever folds or merges a row does this, and the result does not depend on when that happens: if the
 * number is raised, what was dropped before does not come back. A stamp at the end of what a reader of a memstore sees may have no value yet,
 * and is left out. A row of versions has no other cells (put and add are never used with such a series), and no summary.
 *
 * Threads    pure functions
 * Not here   which metrics keep versions (store.h), writing them (tsd/ingest)
 */
#ifndef STORAGE_VERSIONS_H
#define STORAGE_VERSIONS_H

#include "storage/point.h"

#define STO_VERSIONS_MAX 31 /* versions of one time: the exponent has five bits */

/** Flags of a stamp that keeps n versions, 1 to STO_VERSIONS_MAX. */
static inline uint32_t sto_stamp_flags(unsigned n)
{
    return sto_meta_flags(STO_OP_KEEP, TS_NUM_INT, (uint8_t)n, false);
}
/** Is this cell of a row of versions a stamp? Values that are integers have no exponent. */
static inline bool sto_is_stamp(uint32_t meta)
{
    return sto_meta_op(meta) == STO_OP_KEEP && sto_meta_kind(meta) == TS_NUM_INT && sto_meta_exp(meta) > 0;
}

/* The versions of one time. */
struct sto_versions {
    uint32_t off; /* offset from the hour, ms */
    uint32_t first,
        n; /* cells[first + 2 * i] is the stamp of version i, the next cell its value; i = 0 is the oldest */
    bool older_gone; /* older versions were dropped */
};
/**
 * The next time of a row of versions.
 *
 * @param at   [in, out] the cell to begin with; 0 at first
 * @return false at the end. Cells that are no pair of stamp and value, of which a row has none, are ignored
 */
bool sto_versions_next(const struct sto_cells *cells, uint32_t *at, struct sto_versions *out);
/**
 * Reduce a row to what is to be kept of it, in place. The cells are sorted by offset, those of one time in the order of arrival.
 * O(cells).
 */
void sto_versions_trim(struct sto_cells *cells);

#endif
