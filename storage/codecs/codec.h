/*
 * codec.h - how the cells of a block of rows become columns of bytes, and back.
 *
 * A block holds all cells of some rows that follow each other in key order. Columns: row table (per row: key deltas, count,
 * first offset, step or time codec, flags, exponent, transform, low bits), low bits of times and values (bit packed), high parts of
 * times and values (one byte a point, entropy coded by zstd over the whole block), raw doubles (XOR), exceptions.
 * Times with a constant step cost nothing. Integers and decimals of a row are brought to one exponent, transformed (plain,
 * delta, delta of delta; the smallest is kept), zigzagged, and split: k low bits as they are (k by row), the rest as one byte, so that
 * rows of different scale share one distribution and the entropy coder comes close to the entropy.
 *
 * Sources    delta of delta: Pelkonen et al., "Gorilla", VLDB 2015; scaled decimals: Afroozeh et al., "ALP", SIGMOD 2023;
 *            split into raw low bits and entropy-coded high part: Rice coding, here per row parameter with zstd's Huffman coder
 * Format     docs/FORMAT.md "Block"
 * Invariant  values come back bit for bit, flags too (the exponent of a decimal may come back larger with the same double)
 * Threads    encoder and decoder state belong to one thread
 */
#ifndef STORAGE_CODECS_CODEC_H
#define STORAGE_CODECS_CODEC_H

#include "base/err.h"
#include "storage/point.h"

#define STO_BLOCK_POINTS     8192u /* a block is closed at or above this many points (tune by bench_codec) */
#define STO_BLOCK_MAX_POINTS 65536u /* never more; longer rows are cut into pieces with the same key */
#define STO_BLOCK_MAX_BYTES  (4u << 20)

/* --- writing --- */
struct sto_enc;
struct sto_enc *sto_enc_new(void);
void sto_enc_free(struct sto_enc *e);
/** Add one row (sorted cells, ops PUT and ADD, n <= STO_BLOCK_MAX_POINTS) to the open block. Cells are copied. */
void sto_enc_row(struct sto_enc *e, const struct sto_key *key, const struct sto_cells *cells);
/** Points and rows in the open block. */
uint32_t sto_enc_points(const struct sto_enc *e);
uint32_t sto_enc_rows(const struct sto_enc *e);
/** Close the block: bytes borrowed until the next call on e. The block checks itself (CRC-32C inside). Cost: ~10-20 ns a point. */
struct ts_slice sto_enc_finish(struct sto_enc *e);

/* --- reading --- */
/* One row of an opened block. */
struct sto_dec_row {
    struct sto_key key;
    uint32_t n;         /* cells */
    uint32_t first_off; /* ms */
    uint32_t last_off;  /* ms; UINT32_MAX if only known after decoding */
};
struct sto_dec;
struct sto_dec *sto_dec_new(void);
void sto_dec_free(struct sto_dec *d);
/** Check and open a block (bytes borrowed until the next open). Row headers are read; columns are inflated when the first row of them is wanted.
 *  @return 0, TS_ECORRUPT (checksum, lengths, anything out of bounds; text in err), TS_EVERSION */
int sto_dec_open(struct sto_dec *d, struct ts_slice block, struct ts_error *err);
uint32_t sto_dec_n_rows(const struct sto_dec *d);
/** Row i of the block, borrowed until the next open. */
const struct sto_dec_row *sto_dec_row_at(const struct sto_dec *d, uint32_t i);
/** Cells of row i into out (reserved as needed; uniform/common set). Never reads or writes out of bounds whatever the bytes.
 *  Cost: 1-3 ns a point. */
int sto_dec_cells(struct sto_dec *d, uint32_t i, struct sto_cells *out, struct ts_error *err);

#endif
