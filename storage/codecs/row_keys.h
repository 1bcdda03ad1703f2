/*
 * row_keys.h - keys of the rows of a block of summaries, from the differences of neighbouring ones.
 *
 * Rows of a series that follow each other at the same distance, as its days do, have the same differences. So they are read as runs of equal ones, without decoding a
 * column, where a block has few of them; any other block is decoded.
 *
 * Format     docs/FORMAT.md "Summary block"
 * Cost       of runs 1 ns a row, decoded 5 ns a row
 */
#ifndef STORAGE_CODECS_ROW_KEYS_H
#define STORAGE_CODECS_ROW_KEYS_H

#include "storage/codecs/pack_int.h"
#include "storage/point.h"

#define STO_DIFF_RUNS 64u /* most runs of a column */

/* Rows whose differences from the row before are equal. */
struct sto_diff_run {
    uint32_t at;   /* the first one; the run ends where the next one begins */
    uint64_t diff; /* modulo 2^64 */
};

/**
 * The differences of the rows 1 to n - 1 as runs.
 *
 * @param u    inflated, lazy
 * @param pos  where the column begins
 * @param out  [STO_DIFF_RUNS]; the first one begins at row 1
 * @return how many; 0: they are too many, of another codec, or make no sense, so that the column has to be decoded
 */
uint32_t sto_row_keys__runs(const struct sto_unpack *u, const struct sto_unpack_pos *pos,
                            const struct sto_seq *s, uint32_t n, struct sto_diff_run *out);
/** Compute the keys of n rows of one metric; false if they are out of range or not ascending. */
bool sto_row_keys__of_runs(const struct sto_diff_run *series, uint32_t n_series,
                           const struct sto_diff_run *hours, uint32_t n_hours, struct sto_key first,
                           uint32_t n, struct sto_key *out);
/** The same from decoded columns, whose row 0 is not used. metrics NULL: all are those of the first row. */
bool sto_row_keys__of_cols(const int64_t *metrics, const int64_t *series, const int64_t *hours,
                           struct sto_key first, uint32_t n, struct sto_key *out);

#endif
