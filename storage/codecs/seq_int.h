/*
 * seq_int.h - encoding of a sequence of integers as residuals, and the parameters that decoding needs.
 *
 *   values --(value - first) / unit--> y --codec--> residuals (unsigned, small)
 *   residuals --split--> symbols, low bits, escapes (pack_int.h)
 *
 * Times, values, first values of rows and the columns of row tables are all such sequences. All arithmetic is
 * modulo 2^64, so that every int64_t can be restored.
 *
 * Format     docs/FORMAT.md "Sequences"
 * Not here   storage of the residuals (pack_int.h), sequences of a block (block_enc.c)
 */
#ifndef STORAGE_CODECS_SEQ_INT_H
#define STORAGE_CODECS_SEQ_INT_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

/* Ids on disk; never reused. */
enum sto_codec_id {
    STO_CODEC_CONST,  /* every value is first */
    STO_CODEC_STEP,   /* first + i * slope */
    STO_CODEC_PLAIN,  /* residual = y - start, unsigned; start is the smallest */
    STO_CODEC_DELTA,  /* residual = zigzag(y[i] - y[i-1] - slope) */
    STO_CODEC_GAP,    /* residual = y[i] - y[i-1] - slope, unsigned; slope is the smallest difference */
    STO_CODEC_DELTA2, /* residual = zigzag of the second difference; slope is the first difference */
    STO_CODEC_LINE,   /* residual = zigzag(y[i] - start - i * slope) */
    STO_CODEC_RARE,   /* every value is first but a few, which are escapes */
    STO_CODEC_COUNT
};

/* Width classes of symbols: the part of a residual above its low bits. The largest symbol is the escape. */
enum sto_sym_class { STO_SYM_8, STO_SYM_4, STO_SYM_2, STO_SYM_CLASSES };
#define STO_SEQ_MAX_K 56u /* so that one unaligned 8-byte load holds any low part */

/* Parameters of a sequence: everything but the residuals. */
struct sto_seq {
    uint8_t codec;  /* enum sto_codec_id */
    uint8_t cls;    /* enum sto_sym_class */
    uint8_t k;      /* low bits of each residual that are stored unchanged */
    uint32_t n_esc; /* residuals that do not fit and are stored as escapes */
    uint64_t unit;  /* >= 1: all differences are multiples of it */
    int64_t first;  /* base of y (unit > 1) or its first value */
    int64_t slope;  /* see the codecs */
};

/* One way to turn y into residuals. */
struct sto_codec {
    uint8_t id;        /* enum sto_codec_id */
    uint8_t n_skip;    /* number of leading values without a residual */
    bool no_residuals; /* the values follow from first and slope alone */
    bool has_slope;    /* slope is stored */
    bool in_escapes;   /* escapes are pairs, of which each makes one value another: no_residuals, too */
    const char *name;  /* name for messages */
    /* Write the residuals of y[n_skip..n) to res. start = first if unit is 1, otherwise 0. */
    void (*encode)(const int64_t *y, uint32_t n, int64_t start, int64_t slope, uint64_t *res);
    /* Decode in place: v[n_skip..n) holds residuals and becomes y; v[0..n) is filled. */
    void (*decode)(int64_t *v, uint32_t n, int64_t start, int64_t slope);
};

extern const struct sto_codec sto_codec_const, sto_codec_step, sto_codec_plain, sto_codec_delta,
    sto_codec_gap, sto_codec_delta2, sto_codec_line, sto_codec_rare;

/** Codec by id, NULL if there is none. */
const struct sto_codec *sto_codec__get(uint8_t id);
/** Residuals of n values under a codec. */
static inline uint32_t sto_codec__n_res(const struct sto_codec *c, uint32_t n)
{
    return c->no_residuals || n <= c->n_skip ? 0 : n - c->n_skip;
}

/** Most escapes of n values under a codec. */
static inline uint64_t sto_codec__n_esc(const struct sto_codec *c, uint32_t n)
{
    return c->in_escapes ? 2ull * n : sto_codec__n_res(c, n);
}

/** Largest symbol of a class, which means that the residual is stored as an escape. */
static inline uint64_t sto_sym__escape(uint8_t cls)
{
    return cls == STO_SYM_8 ? 255 : cls == STO_SYM_4 ? 15 : 3;
}

/* Scratch memory for planning, owned by an encoder. */
struct sto_plan {
    int64_t *y;    /* values divided by the unit */
    uint64_t *res; /* residuals of the sequence last planned */
    uint32_t cap;  /* elements in both */
    bool rare;     /* set by the owner: STO_CODEC_RARE may be chosen, which readers of its blocks know */
};
/** Release; idempotent. */
void sto_plan__release(struct sto_plan *p);

/** Choose codec, first, slope and unit for v[0..n) (n >= 1), write its residuals to p->res, choose k and
 * class. entropy: there will be many symbols, which are entropy coded (otherwise each takes its full width).
 * Returns the number of residuals, or of escapes if the codec has no others. O(n), 5-8 ns a value. */
uint32_t sto_plan__one(struct sto_plan *p, const int64_t *v, uint32_t n, bool entropy, struct sto_seq *out);

/** The same in about 2 ns a value: of two codecs the one whose largest residual is smaller; all bits are low bits. */
uint32_t sto_plan__rough(struct sto_plan *p, const int64_t *v, uint32_t n, struct sto_seq *out);

/** The same as sto_plan__one for n_rows short sequences that are adjacent in v and share parameters where that costs least:
 * ends[i] is the end of sequence i in v, seqs[i] its result. The residuals of all are adjacent in p->res. */
uint32_t sto_plan__group(struct sto_plan *p, const int64_t *v, const uint32_t *ends, uint32_t n_rows,
                         bool gaps, struct sto_seq *seqs);

/** Choose k and class for residuals. */
void sto_plan__split(const uint64_t *res, uint32_t n, bool entropy, struct sto_seq *s);

/** Append the encoded parameters to out. */
void sto_seq__put(struct ts_buf *out, const struct sto_seq *s);
/** Decode and check parameters. Returns their end, or NULL if they are truncated or out of range. */
const uint8_t *sto_seq__get(const uint8_t *p, const uint8_t *end, struct sto_seq *out);
/** Are these parameters valid for a decoder? */
bool sto_seq__valid(const struct sto_seq *s);

#endif
