/*
 * merge.h - merges rows of many sources: the newest write wins, additions are summed, tombstones of newer
 * sources delete.
 *
 * Sources are memstores and files, each with its generations; a higher generation is newer. Within a source
 * each time occurs once. For one time, from the oldest source to the newest: a put replaces the value, an
 * addition is added to it, a tombstone of a newer source deletes it. An addition without an older value stays
 * an addition when only some of the sources are merged, since an older source may have that value; for a
 * query it is the value. Versions (storage/versions.h) of one time, which a source may have many of, are kept in the order of
 * the sources, as many as their stamps say.
 *
 * Threads    a merge belongs to one thread; it borrows its sources; memstores may be written to meanwhile
 * Cost       rows with one source are passed through; rows whose sources do not overlap in time are joined;
 *            else ~4 ns a cell for two sources, a little more with each further one
 */
#ifndef STORAGE_ENGINE_MERGE_MERGE_H
#define STORAGE_ENGINE_MERGE_MERGE_H

#include "storage/engine/files/sst.h"
#include "storage/engine/memory/memstore.h"
#include "storage/scan.h"

/* The part of a row in one source. */
struct sto_merge_src {
    const struct sto_cells *cells; /* sorted, each offset once, PUT and ADD, or versions; NULL = none */
    const struct sto_tomb
        *tombs;     /* of this row's series, any time, any order; delete from sources before this one */
    size_t n_tombs; /* length of tombs */
};
/**
 * Merge the pieces of one row.
 *
 * @param hour   of the row
 * @param src    src[0] is the oldest, src[n_src - 1] the newest
 * @param final  nothing older exists or matters: additions without an older value become puts
 * @param out    sorted cells, each offset once or versions; may become empty; must not be among the sources
 *
 * Cost: O(cells + tombstones log tombstones).
 */
void sto_merge_cells(int32_t hour, const struct sto_merge_src *src, size_t n_src, bool final,
                     struct sto_cells *out);

/** Merge of files and memstores (in any order; they must stay referenced, the arrays and spec need not stay).
 * Points that are in a memstore when the merge reaches their series are returned. Points that are written
 * later may be returned or not; if one is, so are all points of the series that were written before it. */
int sto_merge_new(const struct sto_scan_spec *spec, struct sto_sst *const *ssts, size_t n_ssts,
                  struct sto_mem *const *mems, size_t n_mems, struct sto_merge **out_merge,
                  struct ts_error *err);
/** What a scan of an account may hold for a single row (spec->most_bytes), 0 if nothing limits the account: without a limit, a client that writes
 * each millisecond of an hour again and again could make a merge take all memory. */
uint64_t sto_merge_most_bytes(const struct ts_budget *memory);
/** Give the merge ownership of these memstores, references and array (ts_free); it releases them when it is
 * freed. To be called once. */
void sto_merge_own(struct sto_merge *m, struct sto_mem **mems, size_t n_mems);

#endif
