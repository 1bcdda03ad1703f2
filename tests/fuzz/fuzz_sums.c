/*
 * fuzz_sums.c - blocks of summaries: the decoder on any bytes, and encoder and decoder against each other.
 *
 * Input      fuzz_rows.h
 * Checked    no crash, nothing read or written out of bounds; errors have a code and a text; keys ascend
 */
#include "base/bytes.h"
#include "base/hash.h"
#include "storage/codecs/sums.h"
#include "tests/fuzz/fuzz_rows.h"

static void decode(struct ts_slice block)
{
    struct sto_sums_dec *d = sto_sums_dec_new();
    struct ts_error err = {0};
    int rc = sto_sums_dec_open(d, block, &err);
    check_answer(rc, &err);
    for (uint32_t i = 0; rc == 0 && i < sto_sums_dec_n_rows(d); i++) {
        struct sto_summary s;
        CHECK(i == 0 || sto_key_cmp(sto_sums_dec_key(d, i - 1), sto_sums_dec_key(d, i)) < 0);
        if (sto_sums_dec_get(d, i, &s))
            CHECK(s.min.kind <= TS_NUM_RAW && s.max.kind <= TS_NUM_RAW && s.first_off <= s.last_off);
    }
    CHECK(rc < 0 || sto_sums_dec_n_rows(d) <= STO_SUMS_ROWS);
    sto_sums_dec_free(d);
}

/* The same number? A decimal may come back with another exponent. */
static bool same_num(struct ts_num a, struct ts_num b)
{
    if (a.kind == TS_NUM_INT || b.kind == TS_NUM_INT)
        return a.kind == b.kind && a.m == b.m;
    double x = ts_num_double(a), y = ts_num_double(b);
    return memcmp(&x, &y, sizeof(x)) == 0;
}

/* Summaries of rows as described; returns how many rows. has: rows that have one. */
static uint32_t encode(struct input *in, struct sto_sums_enc *e, struct sto_key *keys,
                       struct sto_summary *sums, bool *has)
{
    struct sto_key key = {.metric = 1, .series = 1, .hour = -5};
    struct sto_cells row = {0};
    uint32_t n_rows = next8(in) % BLOCK_MAX_ROWS + 1, i;
    for (i = 0; i < n_rows && in->p < in->end; i++) {
        uint8_t exp = 0;
        next_key(in, &key);
        make_row(in, &row);
        for (uint32_t k = 0; k < row.n; k++)
            if (sto_meta_kind(row.meta[k]) == TS_NUM_DEC && sto_meta_exp(row.meta[k]) > exp)
                exp = sto_meta_exp(row.meta[k]);
        keys[i] = key;
        has[i] = sto_summary_make(&row, &sums[i]);
        sto_sums_enc_row(e, &key, has[i] ? &sums[i] : NULL, exp);
    }
    sto_cells_release(&row);
    return i;
}

static void compare(struct ts_slice block, uint32_t n, const struct sto_key *keys,
                    const struct sto_summary *sums, const bool *has)
{
    struct sto_sums_dec *d = sto_sums_dec_new();
    CHECK(sto_sums_dec_open(d, block, NULL) == 0 && sto_sums_dec_n_rows(d) == n);
    for (uint32_t i = n; i-- > 0;) { /* any order will do */
        struct sto_summary s;
        CHECK(sto_key_cmp(sto_sums_dec_key(d, i), &keys[i]) == 0);
        CHECK(sto_sums_dec_get(d, i, &s) == has[i]);
        if (has[i])
            CHECK(s.n == sums[i].n && s.is_int == sums[i].is_int && s.has_sum == sums[i].has_sum &&
                  (!s.has_sum || s.sum == sums[i].sum) && s.first_off == sums[i].first_off &&
                  s.last_off == sums[i].last_off && same_num(s.min, sums[i].min) &&
                  same_num(s.max, sums[i].max) && same_num(s.first, sums[i].first) &&
                  same_num(s.last, sums[i].last));
    }
    sto_sums_dec_free(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct input in;
    if (!rows_described(data, n, decode, &in))
        return 0;
    struct sto_key keys[BLOCK_MAX_ROWS];
    struct sto_summary sums[BLOCK_MAX_ROWS];
    bool has[BLOCK_MAX_ROWS];
    struct sto_sums_enc *e = sto_sums_enc_new();
    uint32_t n_rows = encode(&in, e, keys, sums, has);
    if (n_rows) {
        struct ts_slice block = sto_sums_enc_finish(e);
        if ((data[0] & 3) == 1)
            compare(block, n_rows, keys, sums, has);
        else
            damage_block(&in, block, decode);
    }
    sto_sums_enc_free(e);
    return 0;
}
