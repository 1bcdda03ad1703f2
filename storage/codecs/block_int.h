/*
 * block_int.h - what the writer and the reader of blocks agree on: the header, the columns of the row table,
 * the modes of values.
 *
 *   crc32c u32 | version u8 | n_rows, n_points, metric, series, zigzag hour of the first row (varints)
 *   | parameters of the columns, of first offsets, of first values | row table (pack) | cells (pack)
 *
 * Format     docs/FORMAT.md "Block"
 */
#ifndef STORAGE_CODECS_BLOCK_INT_H
#define STORAGE_CODECS_BLOCK_INT_H

#include "storage/codecs/codec.h"
#include "storage/codecs/pack_int.h"

#define STO_BLOCK_VERSION      1u
#define STO_BLOCK_HEADER_BYTES 5u
/* Points of a block: it is closed at STO_BLOCK_POINTS, the last row may have STO_BLOCK_MAX_POINTS. */
#define STO_BLOCK_CAP_POINTS (STO_BLOCK_POINTS + STO_BLOCK_MAX_POINTS)

/* Columns of the row table, one value a row each. The first three of the first row mean nothing: its key
 * stands in the header. */
enum sto_col {
    STO_COL_METRIC, /* minus that of the row before */
    STO_COL_SERIES, /* minus that of the row before if the metric is the same, else itself */
    STO_COL_HOUR,   /* minus that of the row before */
    STO_COL_N,      /* cells */
    STO_COL_FLAGS,  /* flags all cells share, meta >> 22; STO_FLAGS_MIXED if they differ */
    STO_COL_MODE,   /* enum sto_mode | exponent << 2 */
    STO_COL_TCODEC, /* offsets: codec | class << 3 | unit is a second << 5 */
    STO_COL_TK,     /* offsets: low bits */
    STO_COL_TESC,   /* offsets: escapes */
    STO_COL_TUNIT,  /* offsets: common unit */
    STO_COL_TSLOPE, /* offsets: slope */
    STO_COL_VCODEC, /* values: codec | class << 3 */
    STO_COL_VK,     /* values: low bits, escapes, unit, slope */
    STO_COL_VESC,
    STO_COL_VUNIT,
    STO_COL_VSLOPE,
    STO_COL_PATCHES, /* doubles among decimals or integers that stand in the list */
    STO_COLS
};
#define STO_FLAGS_SHIFT  22u
#define STO_FLAGS_MIXED  1024
#define STO_TIME_SECONDS (1u << 5)

/* What the integers of a row's value sequence are. */
enum sto_mode {
    STO_MODE_SCALED, /* mantissas of one exponent; integers among decimals are scaled like them, raw doubles
                        are in the list */
    STO_MODE_BITS,   /* doubles, mapped to integers in the same order */
    STO_MODE_AS_IS,  /* m of the cells, whatever it is */
};

/** Bits of a double as an integer that compares like the double; its own inverse. */
static inline int64_t sto_ordered_bits(int64_t bits)
{
    return bits ^ (int64_t)((uint64_t)(bits >> 63) >> 1);
}
/* 10^0..10^18 */
extern const int64_t sto_pow10_int[19];

/* --- rows of an encoder (block_rows.c) --- */
struct sto_enc_row {
    struct sto_key key;
    uint32_t at, n;      /* cells: first one in the encoder's arrays, and how many */
    uint32_t flags;      /* all cells share them (after normalising); if not mixed */
    uint32_t n_patches;  /* raw doubles that go to the list */
    uint8_t mode, exp;   /* enum sto_mode; exponent of all decimals */
    bool mixed;          /* flags differ */
    bool copy;           /* m can be taken as it is (SCALED, nothing to scale) */
    bool seconds;        /* all offsets are whole seconds */
    struct sto_seq t, v; /* offsets and values */
};
/** Look at the cells of a row: fills all but key, at, n and the sequences. */
void sto_enc_row__classify(struct sto_enc_row *r, const uint32_t *meta, const int64_t *m);
/** Can the decimals of this row be brought to exponent exp? Then do so. */
bool sto_enc_row__raise(struct sto_enc_row *r, const uint32_t *meta, const int64_t *m, uint8_t exp);
/** The row's value sequence to v, its offsets to t. */
void sto_enc_row__sequences(const struct sto_enc_row *r, const uint32_t *meta, const int64_t *m, int64_t *v,
                            int64_t *t);
/** A mixed row's bytes: flags of each cell, then the raw doubles of the list. */
void sto_enc_row__extras(const struct sto_enc_row *r, const uint32_t *meta, const int64_t *m,
                         struct sto_pack *p);

#endif
