/*
 * step.c - sequences that need no residuals: all equal, all but a few, or a constant step (times of a regular collector).
 *
 * Format     docs/FORMAT.md "Sequences", codecs 0, 1 and 7
 */
#include "storage/codecs/seq_int.h"

static void encode_nothing(const int64_t *y, uint32_t n, int64_t start, int64_t slope, uint64_t *res)
{
    (void)y;
    (void)n;
    (void)start;
    (void)slope;
    (void)res;
}

static void decode_const(int64_t *v, uint32_t n, int64_t start, int64_t slope)
{
    (void)slope;
    for (uint32_t i = 0; i < n; i++)
        v[i] = start;
}

static void decode_step(int64_t *v, uint32_t n, int64_t start, int64_t slope)
{
    for (uint32_t i = 0; i < n; i++)
        v[i] = (int64_t)((uint64_t)start + i * (uint64_t)slope);
}

const struct sto_codec sto_codec_const = {
    .id = STO_CODEC_CONST,
    .no_residuals = true,
    .name = "const",
    .encode = encode_nothing,
    .decode = decode_const,
};
const struct sto_codec sto_codec_step = {
    .id = STO_CODEC_STEP,
    .no_residuals = true,
    .has_slope = true,
    .name = "step",
    .encode = encode_nothing,
    .decode = decode_step,
};
/* Lengths of days are such values: few days of a year are longer or shorter than the others. */
const struct sto_codec sto_codec_rare = {
    .id = STO_CODEC_RARE,
    .no_residuals = true,
    .in_escapes = true,
    .name = "rare",
    .encode = encode_nothing,
    .decode = decode_const,
};
