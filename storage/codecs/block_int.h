/*
 * block_int.h - format of a block, shared by its encoder and decoder: the header, the columns of the row
 * table, the modes of values.
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
/* Largest number of points of a block: it is finished at STO_BLOCK_POINTS, and the last row may have
 * STO_BLOCK_MAX_POINTS. */
#define STO_BLOCK_CAP_POINTS (STO_BLOCK_POINTS + STO_BLOCK_MAX_POINTS)

/* Columns of the row table, with one value for each row. The first three are unused in the first row, whose
 * key is in the header. */
enum sto_col {
    STO_COL_METRIC, /* difference from the previous row */
    /* difference from the previous row if the metric is the same; otherwise the number itself */
    STO_COL_SERIES,
    STO_COL_HOUR,   /* difference from the previous row */
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
    STO_COL_PATCHES, /* number of doubles in the list, among decimals or integers */
    STO_COLS
};
#define STO_FLAGS_SHIFT  22u
#define STO_FLAGS_MIXED  1024
#define STO_TIME_SECONDS (1u << 5)

/* What the integers of a row's value sequence are. */
enum sto_mode {
    /* mantissas of one exponent; integers among decimals are scaled too, raw doubles are in the list */
    STO_MODE_SCALED,
    STO_MODE_BITS,  /* doubles, mapped to integers in the same order */
    STO_MODE_AS_IS, /* m of the points, unchanged */
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
    uint32_t at, n;      /* points: the first one in the encoder's arrays, and their number */
    uint32_t flags;      /* flags that all points share after normalising; valid if not mixed */
    uint32_t n_patches;  /* raw doubles in the list */
    uint8_t mode, exp;   /* enum sto_mode; exponent of all decimals */
    bool mixed;          /* flags differ */
    bool copy;           /* m can be taken as it is (SCALED, nothing to scale) */
    bool seconds;        /* all offsets are whole seconds */
    struct sto_seq t, v; /* offsets and values */
};
/** Examine the points of a row: sets all members but key, at, n and the sequences. */
void sto_enc_row__classify(struct sto_enc_row *r, const uint32_t *meta, const int64_t *m);
/** Raise the decimals of this row to exponent exp. Returns false, and changes nothing, if that is
 * impossible. */
bool sto_enc_row__raise(struct sto_enc_row *r, const uint32_t *meta, const int64_t *m, uint8_t exp);
/** Write the value sequence of the row to v and its offsets to t. */
void sto_enc_row__sequences(const struct sto_enc_row *r, const uint32_t *meta, const int64_t *m, int64_t *v,
                            int64_t *t);
/** Append the bytes of a mixed row to p: the flags of each point, then the raw doubles of the list. */
void sto_enc_row__extras(const struct sto_enc_row *r, const uint32_t *meta, const int64_t *m,
                         struct sto_pack *p);

#endif
