/*
 * delta.c - differences of neighbouring values: random walks, counters (minus their usual increment), gaps
 * between times.
 *
 * Format     docs/FORMAT.md "Sequences", codecs 3 and 4
 */
#include "base/bytes.h"
#include "storage/codecs/seq_int.h"

static void encode_delta(const int64_t *y, uint32_t n, int64_t start, int64_t slope, uint64_t *res)
{
    (void)start;
    for (uint32_t i = 1; i < n; i++)
        res[i - 1] = ts_zigzag((int64_t)((uint64_t)y[i] - (uint64_t)y[i - 1] - (uint64_t)slope));
}

static void decode_delta(int64_t *v, uint32_t n, int64_t start, int64_t slope)
{
    uint64_t at = (uint64_t)start;
    v[0] = start;
    for (uint32_t i = 1; i < n; i++) {
        at += (uint64_t)ts_unzigzag((uint64_t)v[i]) + (uint64_t)slope;
        v[i] = (int64_t)at;
    }
}

static void encode_gap(const int64_t *y, uint32_t n, int64_t start, int64_t slope, uint64_t *res)
{
    (void)start;
    for (uint32_t i = 1; i < n; i++)
        res[i - 1] = (uint64_t)y[i] - (uint64_t)y[i - 1] - (uint64_t)slope;
}

static void decode_gap(int64_t *v, uint32_t n, int64_t start, int64_t slope)
{
    uint64_t at = (uint64_t)start;
    v[0] = start;
    for (uint32_t i = 1; i < n; i++) {
        at += (uint64_t)v[i] + (uint64_t)slope;
        v[i] = (int64_t)at;
    }
}

const struct sto_codec sto_codec_delta = {
    .id = STO_CODEC_DELTA,
    .n_skip = 1,
    .has_slope = true,
    .name = "delta",
    .encode = encode_delta,
    .decode = decode_delta,
};
const struct sto_codec sto_codec_gap = {
    .id = STO_CODEC_GAP,
    .n_skip = 1,
    .has_slope = true,
    .name = "gap",
    .encode = encode_gap,
    .decode = decode_gap,
};
