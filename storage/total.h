/*
 * total.h - kept totals: count, sum, minimum and maximum of all series of a metric that differ in some tags only, by the hour.
 *
 *   web.hits over domain       for each hour and each set of the other tags: what all domains have together
 *
 * A total is declared for a metric and keys of tags. Each sorted file that has become old gets a file beside it with the totals of its rows
 * (engine/files/total.h). A query that asks for sums over these keys is answered by them, for the hours in which they are exact: those in
 * which one file, or files of different series, have all points of the metric. The other hours are read as without them.
 *
 * Declarations are small cells, so they are durable and are copied as those are. A number is never used again, so that files of a total that
 * was removed are not taken for those of one that was declared later.
 *
 * Threads    any
 * Not here   which queries they answer (query/execution/kept.h)
 */
#ifndef STORAGE_TOTAL_H
#define STORAGE_TOTAL_H

#include "base/buf.h"
#include "storage/total_scan.h"

struct sto_store;

/* A declared total as it is listed. Texts are borrowed until the function returns. */
struct sto_total_row {
    uint32_t no;
    struct ts_slice metric;
    struct ts_slice over[STO_TOTAL_KEYS]; /* ascending by bytes */
    size_t n_over;
    bool known; /* metric and keys are names of the store now */
    struct sto_total_state state;
};
typedef void (*sto_total_row_fn)(void *arg, const struct sto_total_row *row);

/**
 * Declare a total. Files get it in the background.
 *
 * @param metric  name; it need not exist yet. Rollups and histograms have no totals
 * @param over    [n] names of keys, each once, in any order
 * @param out_no  [out] its number; may be NULL
 * @return 0; TS_EEXIST: it is declared; TS_ELIMIT: STO_TOTALS_MAX are; TS_EINVAL: a name cannot be one, a key comes twice, there are no keys or
 *         too many, or the store is read-only; errors of sto_cell_put
 */
int sto_total_add(struct sto_store *st, struct ts_slice metric, const struct ts_slice *over, size_t n,
                  uint32_t *out_no, struct ts_error *err);
/** Could these names be declared? Needs no store. 0; TS_EINVAL as sto_total_add. */
int sto_total_names_check(struct ts_slice metric, const struct ts_slice *over, size_t n,
                          struct ts_error *err);
/** Remove a declaration; its files follow in the background. TS_ENOTFOUND; TS_EINVAL: the store is read-only; errors of sto_cell_put. */
int sto_total_remove(struct sto_store *st, struct ts_slice metric, const struct ts_slice *over, size_t n,
                     struct ts_error *err);
/** Call each for the declared totals, by number. */
void sto_total_each(struct sto_store *st, sto_total_row_fn each, void *arg);
/** The declared totals whose names are known, by number: how many there are; out has room for STO_TOTALS_MAX. */
size_t sto_total_list(struct sto_store *st, struct sto_total_ids *out);

#endif
