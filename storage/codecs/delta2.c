/*
 * delta2.c - differences of differences: smooth curves.
 *
 * Source     Pelkonen et al., "Gorilla", VLDB 2015, 4.1.1 (there for times; we split the residual instead of
 *            using its bit buckets)
 * Format     docs/FORMAT.md "Sequences", codec 5
 */
#include "base/bytes.h"
#include "storage/codecs/seq_int.h"

static void encode_delta2(const int64_t *y, uint32_t n, int64_t start, int64_t slope, uint64_t *res)
{
    (void)start;
    uint64_t last = (uint64_t)slope;
    for (uint32_t i = 2; i < n; i++) {
        uint64_t d = (uint64_t)y[i] - (uint64_t)y[i - 1];
        res[i - 2] = ts_zigzag((int64_t)(d - last));
        last = d;
    }
}

static void decode_delta2(int64_t *v, uint32_t n, int64_t start, int64_t slope)
{
    uint64_t at = (uint64_t)start, d = (uint64_t)slope;
    v[0] = start;
    if (n < 2)
        return;
    at += d;
    v[1] = (int64_t)at;
    for (uint32_t i = 2; i < n; i++) {
        d += (uint64_t)ts_unzigzag((uint64_t)v[i]);
        at += d;
        v[i] = (int64_t)at;
    }
}

const struct sto_codec sto_codec_delta2 = {
    .id = STO_CODEC_DELTA2,
    .n_skip = 2,
    .has_slope = true,
    .name = "delta2",
    .encode = encode_delta2,
    .decode = decode_delta2,
};
