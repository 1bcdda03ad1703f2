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

/* Hostile summary blocks with a checksum that fits; the sanitizers watch. */
static void test_sums__hostile_bytes_do_no_harm(void **state)
{
    (void)state;
    struct sto_sums_enc *e = sto_sums_enc_new();
    struct sto_sums_dec *d = sto_sums_dec_new();
    struct sto_cells c = {0};
    for (uint32_t i = 0; i < 200; i++) {
        struct sto_summary s;
        make_extreme((int)(i % 3), &c);
        assert_true(sto_summary_make(&c, &s));
        sto_sums_enc_row(e, &(struct sto_key){i / 50, i, (int32_t)i}, i % 17 ? &s : NULL, 3);
    }
    struct ts_slice good = sto_sums_enc_finish(e);
    char *copy = ts_xmalloc(good.n);
    uint32_t opened = 0, refused = 0;
    for (int round = 0; round < 20000; round++) {
        memcpy(copy, good.p, good.n);
        for (uint64_t k = 1 + rnd() % 3; k > 0; k--) {
            size_t at = rnd() % 2 ? 5 + rnd() % 100 : 5 + rnd() % (good.n - 5);
            copy[at] = (char)rnd();
        }
        uint32_t crc = ts_crc32c(0, copy + 4, good.n - 4);
        memcpy(copy, &crc, 4);
        int rc = sto_sums_dec_open(d, (struct ts_slice){copy, good.n}, NULL);
        opened += rc == 0;
        refused += rc < 0;
        struct sto_summary s;
        for (uint32_t i = 0; i < sto_sums_dec_n_rows(d); i++)
            if (sto_sums_dec_get(d, i, &s))
                assert_true(s.first_off <= s.last_off && s.last_off < TS_HOUR_MS);
    }
    assert_true(opened > 100 && refused > 100);
    ts_free(copy);
    sto_sums_enc_free(e);
    sto_sums_dec_free(d);
    sto_cells_release(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums__summaries_of_extreme_values_come_back),
        cmocka_unit_test(test_sums__sums_of_decimals_take_a_few_bytes),
        cmocka_unit_test(test_sums__hostile_bytes_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
