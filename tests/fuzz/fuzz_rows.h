/*
 * fuzz_rows.h - rows of points as an input describes them, for the fuzzers of blocks.
 *
 * First byte of an input, two lowest bits:
 *   0     the rest is a block
 *   1     the rest describes rows; they are encoded and must come back
 *   2, 3  the rest describes rows and then changes: the encoded block is changed and its checksum made good
 *         again, so that what is behind the checksum is reached
 *
 * Threads    one
 */
#ifndef TESTS_FUZZ_FUZZ_ROWS_H
#define TESTS_FUZZ_FUZZ_ROWS_H

#include "base/bytes.h"
#include "base/hash.h"
#include "storage/point.h"
#include "tests/fuzz/fuzz_kit.h"

#define BLOCK_MAX_ROWS 40u /* described by one input */

/* A value the encoder may be given; any kind. */
static inline int64_t make_value(struct input *in, uint8_t kind, int64_t before, unsigned style)
{
    if (kind == TS_NUM_RAW)
        return (int64_t)next64(in);
    int64_t m =
        style & 1 ? (int64_t)((uint64_t)before + (uint64_t)ts_unzigzag(next64(in))) : ts_unzigzag(next64(in));
    if (kind == TS_NUM_DEC) { /* |m| <= 2^53 */
        while (m > (1ll << 53) || m < -(1ll << 53))
            m /= 2;
    }
    return m;
}

/* Flags and values follow a style per row: uniform rows, regular steps, mixtures. */
static inline void make_row(struct input *in, struct sto_cells *c)
{
    unsigned style = next8(in);
    uint32_t n = style & 16 ? next8(in) * 20u + 1 : next8(in) % 64u + 1;
    uint32_t off = (uint32_t)(next64(in) % 1000), step = (uint32_t)(next64(in) % 60000) + 1;
    uint8_t kind = next8(in) % 3, exp = next8(in) % (TS_NUM_MAX_EXP + 1);
    int64_t m = 0;
    sto_cells_reserve(c, n);
    c->n = 0;
    c->uniform = true;
    for (uint32_t i = 0; i < n && off <= 3599999; i++) {
        if (style & 2)
            kind = next8(in) % 3;
        if (style & 4)
            exp = next8(in) % (TS_NUM_MAX_EXP + 1);
        uint8_t more = style & 8 ? next8(in) : 0;
        m = make_value(in, kind, m, style);
        uint32_t flags =
            sto_meta_flags(more & 1 ? STO_OP_ADD : STO_OP_PUT, kind, kind == TS_NUM_DEC ? exp : 0, more & 2);
        c->meta[c->n] = flags | off;
        c->m[c->n++] = m;
        c->uniform = c->uniform && flags == (c->meta[0] & STO_META_FLAGS_MASK);
        off += style & 32 ? (uint32_t)(next64(in) % 5000) + 1 : step;
    }
    c->common = c->meta[0] & STO_META_FLAGS_MASK;
}

/* The next key, above the one before. */
static inline void next_key(struct input *in, struct sto_key *key)
{
    uint8_t what = next8(in);
    if (what & 1) {
        key->metric += (uint32_t)(next64(in) % 1000) + 1;
        key->series = (uint32_t)next64(in) / 2;
        key->hour = (int32_t)(next64(in) % 1000) - 500;
    } else if (what & 2) {
        key->series += (uint32_t)(next64(in) % 100000) + 1;
        key->hour = (int32_t)(next64(in) % 1000000) - 500000;
    } else {
        key->hour += 1 + (what >> 4);
    }
}

/* True: *out describes rows. False: there is nothing, or it was a block and went to decode. */
static inline bool rows_described(const uint8_t *data, size_t n, void (*decode)(struct ts_slice block),
                                  struct input *out)
{
    ts_log_set_level(TS_LOG_ERROR + 1);
    if (n == 0)
        return false;
    *out = (struct input){data + 1, data + n};
    if (data[0] & 3)
        return true;
    decode((struct ts_slice){(const char *)data + 1, n - 1});
    return false;
}

/* Change some bytes of a block; make the checksum good; decode. */
static inline void damage_block(struct input *in, struct ts_slice block,
                                void (*decode)(struct ts_slice block))
{
    uint8_t *p = ts_xmalloc(block.n);
    memcpy(p, block.p, block.n);
    change_bytes(in, p, block.n, 8);
    ts_st32(p, ts_crc32c(0, p + 4,
                         block.n - 4)); /* docs/FORMAT.md "Block", "Summary block": over all that follows */
    decode((struct ts_slice){(const char *)p, block.n});
    ts_free(p);
}

#endif
