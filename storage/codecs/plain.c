/*
 * plain.c - values that do not depend on earlier ones: the distance from the smallest (frame of reference),
 * or from a straight line.
 *
 * The line is for times on a grid with some jitter, which differences would double.
 * Format     docs/FORMAT.md "Sequences", codecs 2 and 6
 */
#include "base/bytes.h"
#include "storage/codecs/seq_int.h"

static void encode_plain(const int64_t *y, uint32_t n, int64_t start, int64_t slope, uint64_t *res)
{
    (void)slope;
    for (uint32_t i = 0; i < n; i++)
        res[i] = (uint64_t)y[i] - (uint64_t)start;
}

static void decode_plain(int64_t *v, uint32_t n, int64_t start, int64_t slope)
{
    (void)slope;
    for (uint32_t i = 0; i < n; i++)
        v[i] = (int64_t)((uint64_t)v[i] + (uint64_t)start);
}

static void encode_line(const int64_t *y, uint32_t n, int64_t start, int64_t slope, uint64_t *res)
{
    for (uint32_t i = 1; i < n; i++)
        res[i - 1] = ts_zigzag((int64_t)((uint64_t)y[i] - (uint64_t)start - i * (uint64_t)slope));
}

static void decode_line(int64_t *v, uint32_t n, int64_t start, int64_t slope)
{
    v[0] = start;
    for (uint32_t i = 1; i < n; i++)
        v[i] = (int64_t)((uint64_t)ts_unzigzag((uint64_t)v[i]) + (uint64_t)start + i * (uint64_t)slope);
}

const struct sto_codec sto_codec_plain = {
    .id = STO_CODEC_PLAIN,
    .name = "plain",
    .encode = encode_plain,
    .decode = decode_plain,
};
const struct sto_codec sto_codec_line = {
    .id = STO_CODEC_LINE,
    .n_skip = 1,
    .has_slope = true,
    .name = "line",
    .encode = encode_line,
    .decode = decode_line,
};
