/*
 * test_point.c - cells and what a row adds up to.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "storage/point.h"

static struct sto_cells row;

static void add(uint32_t off, uint32_t flags, int64_t m)
{
    sto_cells_reserve(&row, row.n + 1);
    row.meta[row.n] = off | flags;
    row.m[row.n++] = m;
}

static uint32_t f_int(void)
{
    return sto_meta_flags(STO_OP_PUT, TS_NUM_INT, 0, false);
}
static uint32_t f_dec(uint8_t exp)
{
    return sto_meta_flags(STO_OP_PUT, TS_NUM_DEC, exp, false);
}
static uint32_t f_raw(void)
{
    return sto_meta_flags(STO_OP_PUT, TS_NUM_RAW, 0, true);
}
static int64_t bits(double d)
{
    int64_t b;
    memcpy(&b, &d, 8);
    return b;
}

static void test_point__flags_and_offsets_do_not_mix(void **state)
{
    (void)state;
    uint32_t f = sto_meta_flags(STO_OP_ADD, TS_NUM_RAW, 22, true), meta = f | 3599999;
    assert_int_equal(sto_meta_off(meta), 3599999);
    assert_int_equal(sto_meta_op(meta), STO_OP_ADD);
    assert_int_equal(sto_meta_kind(meta), TS_NUM_RAW);
    assert_int_equal(sto_meta_exp(meta), 22);
    assert_int_equal(meta & STO_META_FLAGS_MASK, f);
    assert_true(meta & STO_META_MS);
}

static void test_point__hours_are_floored(void **state)
{
    (void)state;
    assert_int_equal(sto_hour(0), 0);
    assert_int_equal(sto_hour(-1), -1);
    assert_int_equal(sto_hour(-3600000), -1);
    assert_int_equal(sto_hour(-3600001), -2);
    assert_int_equal(sto_hour(STO_MAX_TS_MS), INT32_MAX);
    assert_int_equal(sto_hour(STO_MIN_TS_MS), -INT32_MAX);
}

static void test_point__keys_sort_by_metric_series_hour(void **state)
{
    (void)state;
    static const struct sto_key k[] = {{0, 0, INT32_MIN},   {0, 0, -1}, {0, 0, 0},
                                       {0, UINT32_MAX, -5}, {1, 0, 0},  {UINT32_MAX, 0, 0}};
    for (size_t i = 0; i < sizeof k / sizeof k[0]; i++)
        for (size_t j = 0; j < sizeof k / sizeof k[0]; j++) {
            int c = sto_key_cmp(&k[i], &k[j]);
            assert_int_equal(c < 0 ? -1 : c > 0, i < j ? -1 : i > j);
        }
}

static void test_point__room_grows_and_keeps_cells(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 1000; i++)
        add(i, f_int(), i * 3);
    for (uint32_t i = 0; i < 1000; i++) {
        assert_int_equal(sto_meta_off(row.meta[i]), i);
        assert_int_equal(row.m[i], i * 3);
    }
    sto_cells_release(&row);
    sto_cells_release(&row);
    assert_int_equal(row.n, 0);
    uint32_t meta[2] = {1, 2};
    int64_t m[2] = {3, 4};
    row = (struct sto_cells){.n = 2, .meta = meta, .m = m}; /* borrowed: copied when it grows */
    sto_cells_reserve(&row, 3);
    assert_true(row.meta != meta && row.m != m);
    assert_int_equal(row.meta[1], 2);
    assert_int_equal(row.m[1], 4);
    sto_cells_release(&row);
}

static void test_point__integers_add_up_in_128_bits(void **state)
{
    (void)state;
    struct sto_summary s;
    add(0, f_int(), INT64_MAX);
    add(1000, f_int(), INT64_MAX);
    add(2500, f_int() | STO_META_MS, INT64_MIN);
    add(3000, sto_meta_flags(STO_OP_ADD, TS_NUM_INT, 0, false), 7);
    assert_true(sto_summary_make(&row, &s));
    assert_true(s.is_int && s.has_sum);
    assert_int_equal(s.n, 4);
    assert_int_equal(s.first_off, 0);
    assert_int_equal(s.last_off, 3000);
    assert_true(s.first.m == INT64_MAX && s.last.m == 7 && s.min.m == INT64_MIN && s.max.m == INT64_MAX);
    assert_true(s.sum == (__int128)INT64_MAX + 7 - 1);
    row.n = 2;
    assert_true(sto_summary_make(&row, &s));
    assert_true(s.sum == (__int128)INT64_MAX * 2);
    sto_cells_release(&row);
}

static void test_point__doubles_add_up_exactly(void **state)
{
    (void)state;
    struct sto_summary s;
    add(0, f_dec(1), 1); /* 0.1, and the same in other words */
    add(1, f_dec(2), 20);
    add(2, f_raw(), bits(-0.5));
    add(3, f_raw(), bits(1.0 / 3));
    assert_true(sto_summary_make(&row, &s));
    assert_true(!s.is_int && s.has_sum);
    __int128 want = 0;
    static const double d[] = {0.1, 0.2, -0.5, 1.0 / 3};
    for (int i = 0; i < 4; i++)
        want += (__int128)(d[i] * 0x1p64);
    assert_true(s.sum == want);
    assert_int_equal(s.min.m, bits(-0.5));
    assert_int_equal(s.max.kind, TS_NUM_RAW);
    assert_int_equal(s.last.m, bits(1.0 / 3));
    sto_cells_release(&row);
}

static void test_point__extremes_follow_values_not_mantissas(void **state)
{
    (void)state;
    struct sto_summary s;
    add(0, f_dec(3), 500);
    add(1, f_dec(0), 2);
    add(2, f_dec(2), -3);
    assert_true(sto_summary_make(&row, &s));
    assert_true(s.max.m == 2 && s.max.exp == 0);
    assert_true(s.min.m == -3 && s.min.exp == 2);
    row.n = 0;
    add(0, f_raw(), bits(0.0));
    add(1, f_raw(), bits(-0.0));
    assert_true(sto_summary_make(&row, &s)); /* equal: the first one stands */
    assert_int_equal(s.min.m, bits(0.0));
    assert_int_equal(s.max.m, bits(0.0));
    assert_int_equal(s.last.m, bits(-0.0));
    sto_cells_release(&row);
}

static void test_point__sums_that_do_not_fit_are_not_given(void **state)
{
    (void)state;
    struct sto_summary s;
    add(0, f_raw(), bits(1e308));
    add(1, f_dec(0), 1);
    assert_true(sto_summary_make(&row, &s));
    assert_false(s.has_sum);
    assert_int_equal(s.max.m, bits(1e308));
    row.n = 0;
    add(0, f_raw(), bits(5e-324)); /* below the unit */
    assert_true(sto_summary_make(&row, &s));
    assert_false(s.has_sum);
    sto_cells_release(&row);
}

static void test_point__mixed_rows_and_nan_have_no_summary(void **state)
{
    (void)state;
    struct sto_summary s;
    assert_false(sto_summary_make(&row, &s));
    add(0, f_int(), 1);
    assert_true(sto_summary_make(&row, &s));
    add(1, f_dec(1), 15);
    assert_false(sto_summary_make(&row, &s));
    row.n = 0;
    add(0, f_raw(), bits(1.0));
    add(1, f_raw(), bits((double)NAN));
    assert_false(sto_summary_make(&row, &s));
    row.n = 0;
    add(0, f_raw(), bits((double)NAN));
    assert_false(sto_summary_make(&row, &s));
    sto_cells_release(&row);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_point__flags_and_offsets_do_not_mix),
        cmocka_unit_test(test_point__hours_are_floored),
        cmocka_unit_test(test_point__keys_sort_by_metric_series_hour),
        cmocka_unit_test(test_point__room_grows_and_keeps_cells),
        cmocka_unit_test(test_point__integers_add_up_in_128_bits),
        cmocka_unit_test(test_point__doubles_add_up_exactly),
        cmocka_unit_test(test_point__extremes_follow_values_not_mantissas),
        cmocka_unit_test(test_point__sums_that_do_not_fit_are_not_given),
        cmocka_unit_test(test_point__mixed_rows_and_nan_have_no_summary),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
