/*
 * block_rows.c - the points of a row as sequences of integers: the mode of the values, and the list of values
 * that do not fit.
 *
 * Source     bringing decimals to one exponent, with a list of exceptions: Afroozeh et al., "ALP", SIGMOD
 *            2023; ours takes the exponents that the parser saw instead of searching for them
 * Format     docs/FORMAT.md "Block", modes
 */
#include "storage/codecs/block_int.h"

#include <string.h>

#define MAX_MANTISSA (1ll << 53)
#define PATCH_ONE_IN 8u /* more raw doubles than one in 8: the row is kept as doubles */

const int64_t sto_pow10_int[19] = {
    1,
    10,
    100,
    1000,
    10000,
    100000,
    1000000,
    10000000,
    100000000,
    1000000000,
    10000000000,
    100000000000,
    1000000000000,
    10000000000000,
    100000000000000,
    1000000000000000,
    10000000000000000,
    100000000000000000,
    1000000000000000000,
};

static bool scales(int64_t m, unsigned by)
{
    if (m == 0)
        return true;
    int64_t limit = by < 16 ? MAX_MANTISSA / sto_pow10_int[by] : 0;
    return m <= limit && m >= -limit;
}

static int64_t scaled(int64_t m, unsigned by)
{
    return by < 19 ? m * sto_pow10_int[by] : 0; /* by is large only for m = 0 */
}

/* Number of decimal digits that matter for scaling; integers have none. */
static uint8_t digits_of(uint32_t meta)
{
    return sto_meta_kind(meta) == TS_NUM_DEC ? sto_meta_exp(meta) : 0;
}

/* Do all integers and decimals fit at exponent exp? */
static bool all_scale(const struct sto_enc_row *r, const uint32_t *meta, const int64_t *m, uint8_t exp)
{
    for (uint32_t i = 0; i < r->n; i++)
        if (sto_meta_kind(meta[i]) != TS_NUM_RAW && !scales(m[i], (unsigned)exp - digits_of(meta[i])))
            return false;
    return true;
}

/* Flags of a point as decoding returns them. */
static uint32_t flags_kept(const struct sto_enc_row *r, uint32_t meta)
{
    uint32_t f = meta & STO_META_FLAGS_MASK;
    uint32_t frame = f & (STO_META_OP_MASK | STO_META_MS);
    if (r->mode == STO_MODE_BITS)
        return frame | TS_NUM_RAW << STO_META_KIND_SHIFT;
    if (r->mode == STO_MODE_SCALED && sto_meta_kind(meta) == TS_NUM_DEC)
        return frame | TS_NUM_DEC << STO_META_KIND_SHIFT | (uint32_t)r->exp << STO_META_EXP_SHIFT;
    return f;
}

/* The flags differ: choose the mode by the kinds in the row. */
static void classify_mixed(struct sto_enc_row *r, const uint32_t *meta, const int64_t *m)
{
    uint32_t n[4] = {0};
    uint8_t exp = 0;
    for (uint32_t i = 0; i < r->n; i++) {
        n[sto_meta_kind(meta[i])]++;
        uint8_t e = digits_of(meta[i]);
        exp = e > exp ? e : exp;
    }
    bool only_ints = n[TS_NUM_INT] == r->n;
    bool few = n[TS_NUM_RAW] * PATCH_ONE_IN <= r->n;
    r->exp = exp;
    if (only_ints || (few && all_scale(r, meta, m, exp))) {
        r->mode = STO_MODE_SCALED;
        r->n_patches = n[TS_NUM_RAW];
    } else {
        r->mode = n[TS_NUM_INT] == 0 ? STO_MODE_BITS : STO_MODE_AS_IS;
        r->exp = 0;
    }
    r->flags = flags_kept(r, meta[0]);
    r->mixed = false;
    for (uint32_t i = 1; i < r->n; i++)
        r->mixed |= flags_kept(r, meta[i]) != r->flags;
}

void sto_enc_row__classify(struct sto_enc_row *r, const uint32_t *meta, const int64_t *m)
{
    uint32_t other = 0, odd = 0;
    for (uint32_t i = 0; i < r->n; i++) {
        other |= meta[i] ^ meta[0];
        odd |= sto_meta_off(meta[i]) % 1000;
    }
    r->seconds = odd == 0;
    r->flags = meta[0] & STO_META_FLAGS_MASK;
    r->mixed = r->copy = false;
    r->n_patches = 0;
    r->exp = 0;
    if (other & STO_META_FLAGS_MASK) {
        classify_mixed(r, meta, m);
        return;
    }
    r->mode = STO_MODE_SCALED;
    r->copy = true;
    if (sto_meta_kind(meta[0]) == TS_NUM_DEC) {
        r->exp = sto_meta_exp(meta[0]);
    } else if (sto_meta_kind(meta[0]) == TS_NUM_RAW) {
        r->mode = STO_MODE_BITS;
        r->copy = false;
    }
}

bool sto_enc_row__raise(struct sto_enc_row *r, const uint32_t *meta, const int64_t *m, uint8_t exp)
{
    if (!all_scale(r, meta, m, exp))
        return false;
    r->exp = exp;
    r->copy = false;
    r->flags = flags_kept(r, r->flags);
    return true;
}

static void values(const struct sto_enc_row *r, const uint32_t *meta, const int64_t *m, int64_t *v)
{
    if (r->mode == STO_MODE_AS_IS || r->copy) {
        memcpy(v, m, r->n * sizeof *v);
        return;
    }
    for (uint32_t i = 0; i < r->n; i++) {
        if (r->mode == STO_MODE_SCALED) {
            /* the value is in the list; repeating the previous one costs little here */
            if (sto_meta_kind(meta[i]) == TS_NUM_RAW)
                v[i] = i ? v[i - 1] : 0;
            else
                v[i] = scaled(m[i], (unsigned)r->exp - digits_of(meta[i]));
            continue;
        }
        int64_t bits = m[i];
        if (sto_meta_kind(meta[i]) == TS_NUM_DEC) {
            double d = ts_num_double(sto_cell_num(meta[i], m[i]));
            memcpy(&bits, &d, sizeof bits);
        }
        v[i] = sto_ordered_bits(bits);
    }
}

void sto_enc_row__sequences(const struct sto_enc_row *r, const uint32_t *meta, const int64_t *m, int64_t *v,
                            int64_t *t)
{
    values(r, meta, m, v);
    if (r->seconds) {
        for (uint32_t i = 0; i < r->n; i++)
            t[i] = sto_meta_off(meta[i]) / 1000;
    } else {
        for (uint32_t i = 0; i < r->n; i++)
            t[i] = sto_meta_off(meta[i]);
    }
}

void sto_enc_row__extras(const struct sto_enc_row *r, const uint32_t *meta, const int64_t *m,
                         struct sto_pack *p)
{
    if (!r->mixed)
        return;
    for (uint32_t i = 0; i < r->n; i++) {
        uint16_t f = (uint16_t)(flags_kept(r, meta[i]) >> STO_FLAGS_SHIFT);
        sto_pack__bytes(p, &f, sizeof f);
    }
    if (r->n_patches == 0)
        return;
    for (uint32_t i = 0; i < r->n; i++)
        if (sto_meta_kind(meta[i]) == TS_NUM_RAW)
            sto_pack__bytes(p, &m[i], sizeof m[i]);
}
