/*
 * codec.h - encoding and decoding of blocks of rows as columns of bytes.
 *
 *   header | parameters | row table (a pack) | times and values of all rows (a pack)
 *
 * A block holds all points of some rows that are adjacent in key order. The offsets of a row are a sequence
 * of integers, and so are its values: integers and decimals are scaled to one exponent, other doubles are
 * mapped to integers of the same order (distance = difference of bits). Each sequence gets the codec that
 * leaves the smallest residuals (constant, steady, plain, difference, second difference ...: seq_int.h). A
 * residual is split into k low bits, which are stored unchanged, and a symbol of 8, 4 or 2 bits (pack_int.h).
 * k is chosen for each row such that the symbols of rows of any scale share one distribution, and zstd's
 * Huffman coder comes close to their entropy. The columns of the row table and the first values of all rows
 * are encoded as sequences too, so that a row of one point costs little more than the point. Rows of mixed
 * kinds store a flag for each point; doubles among decimals are stored in a separate list.
 *
 * Sources    delta of delta: Pelkonen et al., "Gorilla", VLDB 2015; scaled decimals: Afroozeh et al., "ALP",
 *            SIGMOD 2023; split into raw low bits and entropy-coded high part: Rice coding, here per row
 *            parameter with zstd's Huffman coder
 * Format     docs/FORMAT.md "Block"
 * Invariant  decoding returns values and flags bit for bit, except that a decimal may get a larger exponent,
 *            or become the same double if its row also holds doubles that are not short decimals
 * Not here   codecs (table.c and a file for each), choice of a codec (plan.c), streams (pack.c, unpack.c,
 *            zip.c)
 * Threads    encoder and decoder state belong to one thread
 */
#ifndef STORAGE_CODECS_CODEC_H
#define STORAGE_CODECS_CODEC_H

#include "base/budget.h"
#include "storage/point.h"

#define STO_BLOCK_ROWS                                                                                       \
    512u /* or at this many rows, since reading one row decodes the row table of its whole block */
#define STO_BLOCK_POINTS     8192u /* a block is finished at or above this many points (tune by bench_codec) */
#define STO_BLOCK_MAX_POINTS 65536u     /* never more; longer rows are cut into pieces with the same key */
#define STO_BLOCK_MAX_BYTES  (4u << 20) /* never more */

/* Blocks of files that are compressed harder (sto_enc_set_level). */
#define STO_LEVEL_BIG   16u /* from this level on blocks have STO_BLOCK_TIMES as many rows and points */
#define STO_BLOCK_TIMES 4u
#define STO_LEVEL_ROUGH 1u /* blocks that are read once: see sto_enc_set_level */

/* --- writing --- */

struct sto_enc; /* rows of the open block, and buffers that are reused */
/** Encoder with no open block. */
struct sto_enc *sto_enc_new(void);
/** Compress blocks with this level of zstd, STO_LEVEL_LEAST to STO_LEVEL_MOST (storage/compaction.h); 0 = as usual. Before the first block.
 * With STO_LEVEL_ROUGH encoding takes about a third of the time, and blocks become up to twice as large: residuals are stored at their full
 * width, without a choice between codecs that takes long. */
void sto_enc_set_level(struct sto_enc *e, unsigned level);
/** Most memory that an encoder uses for compressing with a level, bytes. */
size_t sto_enc_level_bytes(unsigned level);
/** Free the encoder and the block it returned last. NULL is ignored. */
void sto_enc_free(struct sto_enc *e);
/** Add one row (sorted by offset, ops PUT and ADD or versions, n <= STO_BLOCK_MAX_POINTS) to the open block. The points
 * are copied. */
void sto_enc_row(struct sto_enc *e, const struct sto_key *key, const struct sto_cells *cells);
/** Points in the open block. */
uint32_t sto_enc_points(const struct sto_enc *e);
/** Rows added since the last block. */
uint32_t sto_enc_rows(const struct sto_enc *e);
/** Finish the block. The bytes are borrowed until the next call on e and include a CRC-32C. Cost: ~10-20 ns a
 * point. */
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
/** Free a decoder. NULL is ignored. */
void sto_dec_free(struct sto_dec *d);
/** Borrow a decoder with no block open, one from the pool or a new one, so that there are as many decoders as
 * open blocks rather than as many as files. Its memory counts in tally (NULL: in none), which must outlive
 * the loan. Buffers are counted before they grow, so that calls of the decoder may return TS_ELIMIT. Returns
 * NULL if memory is refused, with TS_ELIMIT in err. Any thread. */
struct sto_dec *sto_dec_borrow(struct ts_tally *tally, struct ts_error *err);
/** Return a borrowed decoder; a few are kept in the pool with their buffers. NULL is ignored. */
void sto_dec_return(struct sto_dec *d);
/** Bytes of the decoders in the pool. */
uint64_t sto_dec_spare_bytes(void);
/** Check and open a block (bytes borrowed until the next open). The row table is decoded; the columns are
 * inflated when the first row is read.
 *  @return 0, TS_ECORRUPT (wrong checksum, length or value; text in err), TS_EVERSION, TS_ENOMEM,
 *  TS_ELIMIT */
int sto_dec_open(struct sto_dec *d, struct ts_slice block, struct ts_error *err);
/** Rows of the open block. */
uint32_t sto_dec_n_rows(const struct sto_dec *d);
/** Row i of the block, borrowed until the next open. */
const struct sto_dec_row *sto_dec_row_at(const struct sto_dec *d, uint32_t i);
/**
 * The rows of one series from row i on that have one point, an integer, and end before an hour: what totals over sparse points need. The last row of a block is
 * not among them, since it may go on in the next one.
 *
 * @param end   rows whose hour is not below it are left out
 * @param max   most rows
 * @param keys  [out, max] their keys
 * @param sums  [out, max] their values
 * @return how many; errors as for sto_dec_cells
 *
 * Cost: 2 ns a row.
 */
int sto_dec_singles(struct sto_dec *d, uint32_t i, int64_t end, uint32_t max, struct sto_key *keys,
                    __int128 *sums, struct ts_error *err);
/** Decode the points of row i into out, which grows as needed; uniform and common are set. Never reads or
 * writes out of bounds, whatever the bytes of the block are. Cost: 1-3 ns a point. */
int sto_dec_cells(struct sto_dec *d, uint32_t i, struct sto_cells *out, struct ts_error *err);

#endif
