/*
 * test_sums.c - blocks of summaries: every summary comes back, hostile bytes are refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "storage/codecs/sums.h"
#include "tests/faults/faultfs.h"
#include "tests/unit/summary_kit.h"

static uint64_t seed = 7;
static uint64_t rnd(void)
{
    return t_rand(&seed);
}

/* A row of n cells of one kind with extreme values. */
static void make_extreme(int kind, struct sto_cells *c)
{
    static const int64_t m[] = {0, 1, -1, INT64_MIN, INT64_MAX, 1ll << 53, -(1ll << 53), 12345};
    static const double d[] = {0.0, -0.0, 5e-324, 1e308, -1e308, 1e-20, 0x1p60, -0x1p62};
    c->n = 0;
    sto_cells_reserve(c, 20);
    for (uint32_t i = 0; i < 20; i++) {
        int64_t v = m[rnd() % 8];
        if (kind == TS_NUM_DEC)
            v = v > 1ll << 53 || v < -(1ll << 53) ? 7 : v;
        if (kind == TS_NUM_RAW)
            memcpy(&v, &d[rnd() % 8], 8);
        uint8_t exp = (uint8_t)(kind == TS_NUM_DEC ? rnd() % 23 : 0);
        c->meta[i] = i * 100 + (uint32_t)(rnd() % 100);
        c->meta[i] |= sto_meta_flags(rnd() % 2 ? STO_OP_ADD : STO_OP_PUT, (uint8_t)kind, exp, true);
        c->m[i] = v;
    }
    c->n = 20;
}

static void test_sums__summaries_of_extreme_values_come_back(void **state)
{
    (void)state;
    struct sto_sums_enc *e = sto_sums_enc_new();
    struct sto_sums_dec *d = sto_sums_dec_new();
    static struct sto_summary want[STO_SUMS_ROWS];
    struct sto_cells c = {0};
    struct ts_error err = {0};
    for (uint32_t i = 0; i < STO_SUMS_ROWS; i++) {
        struct sto_key k = {i / 300, i, INT32_MAX - (int32_t)i * 3};
        make_extreme((int)(i % 3), &c);
        assert_true(sto_summary_make(&c, &want[i]));
        sto_sums_enc_row(e, &k, i % 17 ? &want[i] : NULL, (uint8_t)(i % 3 == TS_NUM_DEC ? rnd() % 23 : 0));
    }
    struct ts_slice block = sto_sums_enc_finish(e);
    assert_int_equal(sto_sums_dec_open(d, block, &err), 0);
    assert_int_equal(sto_sums_dec_n_rows(d), STO_SUMS_ROWS);
    for (uint32_t i = 0; i < STO_SUMS_ROWS; i++) {
        struct sto_summary got;
        assert_int_equal(sto_sums_dec_get(d, i, &got), i % 17 != 0);
        if (i % 17)
            assert_summary_equal(&got, &want[i]);
        assert_int_equal(sto_sums_dec_key(d, i)->hour, INT32_MAX - (int32_t)i * 3);
    }
    sto_sums_enc_free(e);
    sto_sums_dec_free(d);
    sto_cells_release(&c);
}

static void test_sums__sums_of_decimals_take_a_few_bytes(void **state)
{
    (void)state;
    struct sto_sums_enc *e = sto_sums_enc_new();
    struct sto_cells c = {0};
    sto_cells_reserve(&c, 360);
    for (uint32_t i = 0; i < STO_SUMS_ROWS; i++) {
        int64_t walk = 5000;
        struct sto_summary s;
        for (c.n = 0; c.n < 360; c.n++) {
            walk += (int64_t)(rnd() % 201) - 100;
            c.meta[c.n] = c.n * 10000 | sto_meta_flags(STO_OP_PUT, TS_NUM_DEC, 2, false);
            c.m[c.n] = walk;
        }
        assert_true(sto_summary_make(&c, &s));
        sto_sums_enc_row(e, &(struct sto_key){1, i, 0}, &s, 2);
    }
    assert_int_equal(sto_sums_enc_rows(e), STO_SUMS_ROWS);
    assert_true(sto_sums_enc_finish(e).n < STO_SUMS_ROWS * 14);
    assert_int_equal(sto_sums_enc_rows(e), 0);
    assert_int_equal(sto_sums_enc_finish(e).n, 0);
    sto_cells_release(&c);
    sto_sums_enc_free(e);
}

/* Fill a block with days of series, n_days of each, but for every gap-th day (0: none is missing). Returns the rows. */
static uint32_t put_days(struct sto_sums_enc *e, uint32_t n_days, uint32_t gap, uint32_t step,
                         struct sto_key *keys, struct sto_summary *sums)
{
    uint32_t day = (uint32_t)(rnd() % n_days), series = (uint32_t)(rnd() % 100), n = 0;
    uint32_t n_rows = rnd() % 4 ? STO_SUMS_ROWS : 1 + (uint32_t)(rnd() % STO_SUMS_ROWS);
    for (; n < n_rows; day++) {
        if (day == n_days) {
            day = 0;
            series += step;
        }
        if (gap && day % gap == gap - 1 && n)
            continue;
        int64_t min = (int64_t)(rnd() % 50);
        keys[n] = (struct sto_key){7, series, (int32_t)(day * 24) - 5000};
        sums[n] = (struct sto_summary){.n = 24,
                                       .is_int = true,
                                       .has_sum = true,
                                       .sum = min * 24 + (int64_t)(rnd() % 300),
                                       .min.m = min,
                                       .max.m = min + 20};
        sto_sums_enc_row(e, &keys[n], &sums[n], 0);
        n++;
    }
    return n;
}

/* Keys are read as runs of equal differences where there are few, and decoded where there are many. */
static void test_sums__keys_of_few_and_of_many_series_come_back(void **state)
{
    (void)state;
    static const uint32_t days[] = {1, 2, 7, 15, 16, 17, 31, 32, 33, 34, 100, 365, 1000};
    static struct sto_key keys[STO_SUMS_ROWS];
    static struct sto_summary want[STO_SUMS_ROWS];
    struct sto_sums_enc *e = sto_sums_enc_new();
    struct sto_sums_dec *d = sto_sums_dec_new();
    for (uint32_t round = 0; round < 2000; round++) {
        struct ts_error err = {0};
        __int128 sums[STO_SUMS_ROWS];
        uint32_t gap = rnd() % 2 ? 0 : 2 + (uint32_t)(rnd() % 200),
                 step = rnd() % 4 ? 1 : 1 + (uint32_t)(rnd() % 1000),
                 n = put_days(e, days[rnd() % (sizeof days / sizeof *days)], gap, step, keys, want);
        assert_int_equal(sto_sums_dec_open_long(d, sto_sums_enc_finish(e), 24, &err), 0);
        assert_int_equal(sto_sums_dec_n_rows(d), n);
        sto_sums_dec_sums(d, 0, n, sums);
        for (uint32_t i = 0; i < n; i++) {
            struct sto_summary got;
            assert_memory_equal(sto_sums_dec_key(d, i), &keys[i], sizeof keys[i]);
            assert_true(sums[i] == want[i].sum);
            assert_true(sto_sums_dec_get(d, i, &got));
            assert_summary_equal(&got, &want[i]);
        }
    }
    sto_sums_enc_free(e);
    sto_sums_dec_free(d);
}

/* What zstd does not shorten to a quarter is stored as it is for those that read often. */
static void test_sums__reading_may_be_favoured(void **state)
{
    (void)state;
    static struct sto_key keys[STO_SUMS_ROWS];
    static struct sto_summary want[STO_SUMS_ROWS];
    struct sto_sums_dec *d = sto_sums_dec_new();
    size_t bytes[2] = {0, 0};
    for (int quick = 0; quick < 2; quick++) {
        struct ts_error err = {0};
        struct sto_sums_enc *e = sto_sums_enc_new();
        if (quick)
            sto_sums_enc_favour_reads(e);
        seed = 11; /* the same rows */
        for (int round = 0; round < 50; round++) {
            uint32_t n = put_days(e, 365, 0, 1, keys, want);
            struct ts_slice block = sto_sums_enc_finish(e);
            bytes[quick] += block.n;
            assert_int_equal(sto_sums_dec_open_long(d, block, 24, &err), 0);
            for (uint32_t i = 0; i < n; i++) {
                struct sto_summary got;
                assert_true(sto_sums_dec_get(d, i, &got));
                assert_summary_equal(&got, &want[i]);
            }
        }
        sto_sums_enc_free(e);
    }
    assert_in_range(bytes[1], bytes[0] + 1, bytes[0] * 3 / 2);
    sto_sums_dec_free(d);
}

/* Damage a block in many ways, with a checksum that fits; the sanitizers watch. */
static void damage(struct sto_sums_dec *d, struct ts_slice good, unsigned hours)
{
    char *copy = ts_xmalloc(good.n);
    uint32_t opened = 0, refused = 0;
    for (int round = 0; round < 20000; round++) {
        memcpy(copy, good.p, good.n);
        for (uint64_t k = 1 + rnd() % 3; k > 0; k--) {
            size_t at = rnd() % 2 ? 5 + rnd() % (good.n < 105 ? good.n - 5 : 100) : 5 + rnd() % (good.n - 5);
            copy[at] = (char)rnd();
        }
        uint32_t crc = ts_crc32c(0, copy + 4, good.n - 4);
        memcpy(copy, &crc, 4);
        int rc = sto_sums_dec_open_long(d, (struct ts_slice){copy, good.n}, hours, NULL);
        opened += rc == 0;
        refused += rc < 0;
        struct sto_summary s;
        for (uint32_t i = 0; i < sto_sums_dec_n_rows(d); i++) {
            if (sto_sums_dec_get(d, i, &s))
                assert_true(s.first_off <= s.last_off && s.last_off < hours * TS_HOUR_MS);
            assert_true(i == 0 || sto_key_cmp(sto_sums_dec_key(d, i - 1), sto_sums_dec_key(d, i)) < 0);
        }
    }
    assert_true(opened > 100 && refused > 100);
    ts_free(copy);
}

static void test_sums__hostile_bytes_do_no_harm(void **state)
{
    (void)state;
    static struct sto_key keys[STO_SUMS_ROWS];
    static struct sto_summary sums[STO_SUMS_ROWS];
    struct sto_sums_enc *e = sto_sums_enc_new();
    struct sto_sums_dec *d = sto_sums_dec_new();
    struct sto_cells c = {0};
    for (uint32_t i = 0; i < 200; i++) {
        struct sto_summary s;
        make_extreme((int)(i % 3), &c);
        assert_true(sto_summary_make(&c, &s));
        sto_sums_enc_row(e, &(struct sto_key){i / 50, i, (int32_t)i}, i % 17 ? &s : NULL, 3);
    }
    damage(d, sto_sums_enc_finish(e), 1);
    put_days(e, 100, 0, 1, keys, sums);
    damage(d, sto_sums_enc_finish(e), 24);
    sto_sums_enc_free(e);
    sto_sums_dec_free(d);
    sto_cells_release(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums__summaries_of_extreme_values_come_back),
        cmocka_unit_test(test_sums__sums_of_decimals_take_a_few_bytes),
        cmocka_unit_test(test_sums__keys_of_few_and_of_many_series_come_back),
        cmocka_unit_test(test_sums__reading_may_be_favoured),
        cmocka_unit_test(test_sums__hostile_bytes_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
