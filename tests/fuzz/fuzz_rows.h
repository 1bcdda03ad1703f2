/*
 * fuzz_rows.h - rows of points as an input describes them.
 *
 * Threads    one
 */
#ifndef TESTS_FUZZ_FUZZ_ROWS_H
#define TESTS_FUZZ_FUZZ_ROWS_H

#include "storage/point.h"
#include "tests/fuzz/fuzz_kit.h"

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

#endif
