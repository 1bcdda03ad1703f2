/*
 * merge.h - rows of many sources as one: newest write wins, adds are summed, tombstones of newer sources
 * delete.
 *
 * Sources are memstores and files, each with its generations; what is in a higher generation is newer. Within
 * a source a time stands once. For one time, from oldest to newest: a put replaces what is there, an add is
 * added to it, a tombstone of a newer source takes it away. An add that finds nothing below stays an add when
 * only a part of the sources is merged (what it belongs to may lie in an older one), and is the value for a
 * query.
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

/* What one source knows of one row. */
struct sto_merge_src {
    const struct sto_cells *cells; /* sorted, each offset once, PUT and ADD; NULL = none */
    const struct sto_tomb
        *tombs;     /* of this row's series, any time, any order; delete from sources before this one */
    size_t n_tombs; /* length of tombs */
};
/**
 * Merge the pieces of one row.
 *
 * @param hour   of the row
 * @param src    src[0] is the oldest, src[n_src - 1] the newest
 * @param final  nothing older exists or matters: adds that find nothing below become puts
 * @param out    sorted cells, each offset once; may become empty; must not be among the sources
 *
 * Cost: O(cells + tombstones log tombstones).
 */
void sto_merge_cells(int32_t hour, const struct sto_merge_src *src, size_t n_src, bool final,
                     struct sto_cells *out);

/** Merge of files and memstores (in any order; they must stay referenced, the arrays and spec need not stay).
 * What is in a memstore when its series is come to is seen; what is written later may be seen or not, but of a
 * series' points in time order never a later one without those before it. */
int sto_merge_new(const struct sto_scan_spec *spec, struct sto_sst *const *ssts, size_t n_ssts,
                  struct sto_mem *const *mems, size_t n_mems, struct sto_merge **out_merge,
                  struct ts_error *err);
/** The merge also owns these memstores, references and array (ts_free), and releases them when it is freed. Once. */
void sto_merge_own(struct sto_merge *m, struct sto_mem **mems, size_t n_mems);

#endif
