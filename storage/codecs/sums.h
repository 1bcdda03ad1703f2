/*
 * sums.h - encoding and decoding of the summaries of up to 512 rows as one block.
 *
 *   header | parameters of 15 columns | columns (a pack, see pack_int.h)
 *
 * A sum of doubles is exact in units of 2^-64, so that its low bits look like noise. If all values are
 * decimals, the block stores the sum of their mantissas and the distance of the exact sum from it, which
 * takes a few bytes instead of sixteen.
 *
 * Format     docs/FORMAT.md "Summary block"
 * Invariant  decoding returns the same summary, except that decimals may have a larger exponent
 * Threads    encoder and decoder state belong to one thread
 */
#ifndef STORAGE_CODECS_SUMS_H
#define STORAGE_CODECS_SUMS_H

#include "base/budget.h"
#include "base/buf.h"
#include "storage/point.h"

/* Largest number of rows of a block. Reading one row decodes its whole block: 50 ns a row (bench_codec). */
#define STO_SUMS_ROWS 512u

/* --- writing --- */
struct sto_sums_enc;
struct sto_enc;
/** Encoder with no open block. */
struct sto_sums_enc *sto_sums_enc_new(void);
/** Compress with the contexts, and so with the level, of an encoder of points: one of a pair of files that one thread writes. It must outlive e.
 * Before the first block. */
void sto_sums_enc_share(struct sto_sums_enc *e, struct sto_enc *points);
/** Leave a stream as it is unless zstd shortens it to a quarter: blocks of day summaries become 18 % larger, and a sum over many takes a fifth less time. Not together
 * with shared contexts. Before the first block. */
void sto_sums_enc_favour_reads(struct sto_sums_enc *e);
/** Free the object. NULL is ignored. */
void sto_sums_enc_free(struct sto_sums_enc *e);
/** Add a row; requires sto_sums_enc_rows < STO_SUMS_ROWS. sum NULL: the row has no summary. exp: largest
 * exponent of the decimals of the row, 0 if there are none. */
void sto_sums_enc_row(struct sto_sums_enc *e, const struct sto_key *key, const struct sto_summary *sum,
                      uint8_t exp);
/** Rows in the open block. */
uint32_t sto_sums_enc_rows(const struct sto_sums_enc *e);
/** Finish the block. The bytes are borrowed until the next call on e. */
struct ts_slice sto_sums_enc_finish(struct sto_sums_enc *e);

/* --- reading --- */
struct sto_sums_dec;
/** Decoder with no block open. */
struct sto_sums_dec *sto_sums_dec_new(void);
/** Free the object. NULL is ignored. */
void sto_sums_dec_free(struct sto_sums_dec *d);
/** As sto_dec_borrow and sto_dec_return (codec.h). */
struct sto_sums_dec *sto_sums_dec_borrow(struct ts_tally *tally, struct ts_error *err);
/** Return a borrowed decoder. NULL is ignored. */
void sto_sums_dec_return(struct sto_sums_dec *d);
/** Check and open a block, whose bytes are not needed afterwards. 0, TS_ECORRUPT, TS_EVERSION, TS_ENOMEM.
 * Safe for any bytes. */
int sto_sums_dec_open(struct sto_sums_dec *d, struct ts_slice block, struct ts_error *err);
/** The same of a block whose rows are summaries of up to `hours` hours (1 to 48), whose offsets count from the first one; 0: of the points of many
 * series, of which there may be any number, and whose offsets are 0. */
int sto_sums_dec_open_long(struct sto_sums_dec *d, struct ts_slice block, unsigned hours,
                           struct ts_error *err);
/** Rows of the open block. */
uint32_t sto_sums_dec_n_rows(const struct sto_sums_dec *d);
/** Key of row i, borrowed until the next open. */
const struct sto_key *sto_sums_dec_key(const struct sto_sums_dec *d, uint32_t i);
/** Summary of row i; false if it has none, or if what sto_sums_dec_sums does not need makes no sense. ~20 ns. */
bool sto_sums_dec_get(struct sto_sums_dec *d, uint32_t i, struct sto_summary *out);

/* Count and sum of many rows, without the columns of first, last and largest value, which sto_sums_dec_get decodes when it is first called for a block. */
/** Has row i a summary, and if with_sum is set, one with a sum? *out_is_int: its values are integers. */
bool sto_sums_dec_has(const struct sto_sums_dec *d, uint32_t i, bool with_sum, bool *out_is_int);
/** From row i on, the rows of its series that have a summary (and a sum, if with_sum is set) of values of the same kind: how many. O(log rows) where all rows of the block are of a kind. */
uint32_t sto_sums_dec_run(const struct sto_sums_dec *d, uint32_t i, bool with_sum, bool *out_is_int);
/** Has no row of the block a summary? */
bool sto_sums_dec_is_vain(const struct sto_sums_dec *d);
/** The numbers of points of all rows, borrowed until the next open; of rows that have a summary. */
const int64_t *sto_sums_dec_counts(const struct sto_sums_dec *d);
/** The sums of the rows i to i + n - 1, which have one (struct sto_summary); 1 to 2 ns a row of integers. */
void sto_sums_dec_sums(const struct sto_sums_dec *d, uint32_t i, uint32_t n, __int128 *out);

#endif
