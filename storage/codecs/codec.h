/*
 * codec.h - how the cells of a block of rows become columns of bytes, and back.
 *
 *   header | parameters | row table (a pack) | times and values of all rows (a pack)
 *
 * A block holds all cells of some rows that follow each other in key order. The offsets of a row are a
 * sequence of integers; so are its values: integers and decimals brought to one exponent, other doubles as
 * integers in the same order (distance = difference of bits). Each sequence gets the codec that leaves the
 * smallest residuals (constant, steady, plain, difference, second difference ...: seq_int.h), and these are
 * split into k low bits, stored as they are, and a symbol of 8, 4 or 2 bits (pack_int.h). k is chosen by row
 * such that symbols of rows of any scale share one distribution, and zstd's Huffman coder comes close to
 * their entropy. The row table's columns, and the first values of all rows, are sequences again: rows of one
 * point cost little more than the point. Rows of mixed kinds carry a flag for each point, doubles among
 * decimals stand in a list of their own.
 *
 * Sources    delta of delta: Pelkonen et al., "Gorilla", VLDB 2015; scaled decimals: Afroozeh et al., "ALP",
 *            SIGMOD 2023; split into raw low bits and entropy-coded high part: Rice coding, here per row
 *            parameter with zstd's Huffman coder
 * Format     docs/FORMAT.md "Block"
 * Invariant  values come back bit for bit, flags too, except that a decimal may come back with a larger
 *            exponent, or as the bits of the same double when its row also holds doubles that are no short
 *            decimals
 * Not here   codecs (table.c and a file for each), choosing one (plan.c), streams (pack.c, unpack.c, zip.c)
 * Threads    encoder and decoder state belong to one thread
 */
#ifndef STORAGE_CODECS_CODEC_H
#define STORAGE_CODECS_CODEC_H

#include "base/budget.h"
#include "storage/point.h"

#define STO_BLOCK_ROWS                                                                                       \
    512u /* or this many rows: whoever wants one row decodes the heads of all in its block */
#define STO_BLOCK_POINTS     8192u  /* a block is closed at or above this many points (tune by bench_codec) */
#define STO_BLOCK_MAX_POINTS 65536u /* never more; longer rows are cut into pieces with the same key */
#define STO_BLOCK_MAX_BYTES  (4u << 20) /* never more */

/* --- writing --- */

struct sto_enc; /* rows of the open block, and everything reused from block to block */
/** Encoder with no open block. */
struct sto_enc *sto_enc_new(void);
/** Frees blocks it lent too. NULL is harmless. */
void sto_enc_free(struct sto_enc *e);
/** Add one row (sorted cells, ops PUT and ADD, n <= STO_BLOCK_MAX_POINTS) to the open block. Cells are
 * copied. */
void sto_enc_row(struct sto_enc *e, const struct sto_key *key, const struct sto_cells *cells);
/** Points and rows in the open block. */
uint32_t sto_enc_points(const struct sto_enc *e);
/** Rows added since the last block. */
uint32_t sto_enc_rows(const struct sto_enc *e);
/** Close the block: bytes borrowed until the next call on e. The block checks itself (CRC-32C inside). Cost:
 * ~10-20 ns a point. */
struct ts_slice sto_enc_finish(struct sto_enc *e);

/* --- reading --- */
/* One row of an opened block. */
struct sto_dec_row {
    struct sto_key key;
    uint32_t n; /* cells */
};
struct sto_dec; /* one open block */
/** Decoder with no block open. */
struct sto_dec *sto_dec_new(void);
/** NULL is harmless. */
void sto_dec_free(struct sto_dec *d);
/** A decoder with no block open: one that somebody returned, or a new one. So as many exist as blocks are open, not as many as there are
 * files. What it holds counts in tally (NULL: in nothing), which outlives the loan; its buffers are counted before they grow, and then
 * calls of it may answer TS_ELIMIT. NULL: refused, TS_ELIMIT in err. Any thread. */
struct sto_dec *sto_dec_borrow(struct ts_tally *tally, struct ts_error *err);
/** End the loan: a few are kept with their buffers for the next borrower. NULL is harmless. */
void sto_dec_return(struct sto_dec *d);
/** Bytes of decoders kept for the next borrowers. */
uint64_t sto_dec_spare_bytes(void);
/** Check and open a block (bytes borrowed until the next open). Row headers are read; columns are inflated
 * when the first row of them is wanted.
 *  @return 0, TS_ECORRUPT (checksum, lengths, anything out of bounds; text in err), TS_EVERSION, TS_ENOMEM, TS_ELIMIT */
int sto_dec_open(struct sto_dec *d, struct ts_slice block, struct ts_error *err);
/** Rows of the open block. */
uint32_t sto_dec_n_rows(const struct sto_dec *d);
/** Row i of the block, borrowed until the next open. */
const struct sto_dec_row *sto_dec_row_at(const struct sto_dec *d, uint32_t i);
/** Cells of row i into out (reserved as needed; uniform/common set). Never reads or writes out of bounds
 * whatever the bytes. Cost: 1-3 ns a point. */
int sto_dec_cells(struct sto_dec *d, uint32_t i, struct sto_cells *out, struct ts_error *err);

#endif
