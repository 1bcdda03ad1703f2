/*
 * test_bytes.c - little-endian words, varints, zigzag: limits and cut input.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/bytes.h"

static void test_bytes__words_are_little_endian_at_any_address(void **state)
{
    (void)state;
    uint8_t b[20];
    for (size_t at = 0; at < 9; at++) {
        memset(b, 0xee, sizeof(b));
        ts_st64(b + at, 0x0807060504030201ull);
        for (size_t i = 0; i < 8; i++)
            assert_int_equal(b[at + i], i + 1);
        assert_int_equal(b[at + 8], 0xee);
        assert_true(ts_ld64(b + at) == 0x0807060504030201ull);
        assert_int_equal(ts_ld32(b + at), 0x04030201);
        assert_int_equal(ts_ld16(b + at), 0x0201);
        ts_st32(b + at, 0xfffefdfcu);
        assert_int_equal(ts_ld32(b + at), 0xfffefdfcu);
        ts_st16(b + at, 0x1234);
        assert_int_equal(b[at], 0x34);
        assert_int_equal(b[at + 1], 0x12);
        assert_int_equal(b[at + 2], 0xfe);
    }
}

static void test_bytes__zigzag_keeps_small_magnitudes_small(void **state)
{
    (void)state;
    const int64_t v[] = {0, -1, 1, -2, 2, INT64_MAX, INT64_MIN};
    const uint64_t z[] = {0, 1, 2, 3, 4, UINT64_MAX - 1, UINT64_MAX};
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
        assert_true(ts_zigzag(v[i]) == z[i]);
        assert_true(ts_unzigzag(z[i]) == v[i]);
    }
    for (int bit = 0; bit < 63; bit++) {
        int64_t x = (int64_t)1 << bit;
        assert_true(ts_unzigzag(ts_zigzag(x)) == x);
        assert_true(ts_unzigzag(ts_zigzag(-x)) == -x);
        assert_true(ts_unzigzag(ts_zigzag(x - 1)) == x - 1);
    }
}

static void check_varint(uint64_t v)
{
    uint8_t b[TS_VARINT_MAX_BYTES + 1];
    memset(b, 0xee, sizeof(b));
    uint8_t *end = ts_put_varint(b, v);
    size_t n = (size_t)(end - b);
    assert_true(n <= TS_VARINT_MAX_BYTES);
    assert_int_equal(n, ts_varint_bytes(v));
    assert_int_equal(*end, 0xee);
    uint64_t out = ~v;
    assert_ptr_equal(ts_get_varint(b, end, &out), end);
    assert_true(out == v);
    out = ~v;
    assert_ptr_equal(ts_get_varint(b, b + sizeof(b), &out), end); /* more bytes behind */
    assert_true(out == v);
    for (size_t cut = 0; cut < n; cut++)
        assert_null(ts_get_varint(b, b + cut, &out));
}

static void test_bytes__varints_come_back_and_cut_ones_are_refused(void **state)
{
    (void)state;
    check_varint(0);
    check_varint(UINT64_MAX);
    for (int bit = 0; bit < 64; bit++) {
        uint64_t v = (uint64_t)1 << bit;
        check_varint(v);
        check_varint(v - 1);
        check_varint(v | 1);
    }
    const uint8_t known[] = {0xac, 0x02};
    uint64_t out = 0;
    assert_non_null(ts_get_varint(known, known + 2, &out));
    assert_int_equal(out, 300);
}

static void test_bytes__varints_beyond_64_bits_are_refused(void **state)
{
    (void)state;
    uint8_t b[12];
    uint64_t out;
    memset(b, 0xff, sizeof(b));
    assert_null(ts_get_varint(b, b + sizeof(b), &out)); /* never ends */
    b[9] = 0x02;                                        /* bit 64 */
    assert_null(ts_get_varint(b, b + sizeof(b), &out));
    b[9] = 0x81; /* an eleventh byte would follow */
    b[10] = 0x00;
    assert_null(ts_get_varint(b, b + sizeof(b), &out));
    b[9] = 0x01;
    assert_ptr_equal(ts_get_varint(b, b + sizeof(b), &out), b + 10);
    assert_true(out == UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes__words_are_little_endian_at_any_address),
        cmocka_unit_test(test_bytes__zigzag_keeps_small_magnitudes_small),
        cmocka_unit_test(test_bytes__varints_come_back_and_cut_ones_are_refused),
        cmocka_unit_test(test_bytes__varints_beyond_64_bits_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
