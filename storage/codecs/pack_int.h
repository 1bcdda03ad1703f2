/*
 * pack_int.h - residuals of many sequences in six shared streams of bytes.
 *
 *   symbols of 8, 4, 2 bits | escapes (varints) | plain bytes | low bits
 *
 * A sequence uses the next n symbols of its class, the next n * k low bits and the next n_esc escapes, so
 * that its position follows from the parameters of the sequences before it. Symbols are entropy coded over
 * the whole pack.
 *
 * Format     docs/FORMAT.md "Packs"
 * Threads    a pack belongs to one thread
 */
#ifndef STORAGE_CODECS_PACK_INT_H
#define STORAGE_CODECS_PACK_INT_H

#include "base/buf.h"
#include "base/err.h"
#include "storage/codecs/seq_int.h"
#include "storage/codecs/zip_int.h"

/* Streams in file order; the first three are the symbol classes. */
enum sto_stream { STO_STREAM_ESC = STO_SYM_CLASSES, STO_STREAM_BYTES, STO_STREAM_LOW, STO_STREAMS };

/* --- writing --- */
struct sto_pack {
    struct ts_buf s[STO_STREAMS]; /* symbols: one a byte until finish */
    uint64_t acc;                 /* low bits that do not fill 8 bytes yet */
    unsigned n_acc;               /* number of bits in acc */
    struct ts_buf tmp;            /* symbols packed two or four a byte */
};
/** Remove the contents; the memory is kept. */
void sto_pack__clear(struct sto_pack *p);
/** Release; idempotent. */
void sto_pack__release(struct sto_pack *p);
/** Append n residuals, split by s->k and s->cls; sets s->n_esc. */
void sto_pack__put(struct sto_pack *p, const uint64_t *res, uint32_t n, struct sto_seq *s);
/** Append bytes unchanged. */
void sto_pack__bytes(struct sto_pack *p, const void *bytes, size_t n);
/** Compress the streams and append them to out. */
void sto_pack__finish(struct sto_pack *p, struct sto_zip *z, struct ts_buf *out);

/* --- reading --- */
/* Position of a sequence in each stream. */
struct sto_unpack_pos {
    uint64_t bit;                  /* of the low bits */
    uint32_t sym[STO_SYM_CLASSES]; /* symbols */
    uint32_t esc;                  /* escapes */
    uint32_t byte;                 /* plain bytes */
};
struct sto_unpack {
    const uint8_t *src[STO_STREAMS]; /* borrowed from the block */
    uint32_t raw[STO_STREAMS];       /* symbols or bytes when inflated */
    uint32_t stored[STO_STREAMS];    /* bytes in the block */
    uint8_t *out[STO_STREAMS];       /* inflated; symbols one a byte; low bits with 8 bytes of slack */
    size_t cap[STO_STREAMS];         /* bytes of out */
    uint64_t *esc;                   /* escapes */
    size_t esc_cap;                  /* bytes of esc */
    uint32_t n_esc;                  /* escapes */
    uint8_t *tmp;                    /* packed symbols */
    size_t tmp_cap;                  /* bytes of tmp */
    bool ready;                      /* inflate was called */
    /* set by the owner before inflate: symbols of less than 8 bits stay packed in out, and sto_unpack__get spreads those that it decodes; of sequences of at most
     * STO_UNPACK_LAZY values */
    bool lazy;
};
#define STO_UNPACK_LAZY 512u
/** Release; idempotent. */
void sto_unpack__release(struct sto_unpack *u);
/** Read the directory of a pack. Returns the end of the pack, or NULL if it is truncated or a stream has more
 * than max_raw symbols or bytes. */
const uint8_t *sto_unpack__open(struct sto_unpack *u, const uint8_t *p, const uint8_t *end, uint32_t max_raw);
/** Inflate the streams into buffers that are counted in memory. 0, TS_ECORRUPT, TS_ELIMIT, TS_ENOMEM. */
int sto_unpack__inflate(struct sto_unpack *u, struct sto_zip *z, struct sto_dec_memory *memory);
/** Advance pos past a sequence of n values; false if it exceeds 32 bits. */
bool sto_unpack__skip(struct sto_unpack_pos *pos, const struct sto_seq *s, uint32_t n);
/** Does a pack end exactly at pos? Escapes are checked only when inflated. */
bool sto_unpack__ends_at(const struct sto_unpack *u, const struct sto_unpack_pos *pos);
/** Decode the sequence of n >= 1 values at pos into v and advance pos past it. 0 or TS_ECORRUPT. Inflate must
 * have been called. */
int sto_unpack__get(const struct sto_unpack *u, struct sto_unpack_pos *pos, const struct sto_seq *s,
                    uint32_t n, int64_t *v);

/* A residual that is not 0; of STO_CODEC_RARE a value that is not first, as the difference (value - first) / unit modulo 2^64, as if it were plain. */
struct sto_rare {
    uint32_t at; /* the value that it belongs to */
    uint64_t res;
};
/** Of a lazy pack: find the residuals of a sequence that are not 0, without decoding it. False: they are more than max, have low bits, or make no sense. */
bool sto_unpack__rare(const struct sto_unpack *u, const struct sto_unpack_pos *pos, const struct sto_seq *s,
                      uint32_t n, struct sto_rare *out, uint32_t max, uint32_t *out_n);

#endif
