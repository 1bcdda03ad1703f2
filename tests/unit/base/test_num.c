/*
 * test_num.c - numbers as text: what is accepted, how it is kept, that printing and reading give the same
 * bits.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/double.h"
#include "base/num.h"

#define SEED 0x9e3779b97f4a7c15ull
#include "base_kit.h"

/* The C library's reading, in the C locale. */
static double t_read(const char *text)
{
    static locale_t c_locale;
    if (!c_locale)
        c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    return strtod_l(text, NULL, c_locale);
}

static void t_expect(const char *text, enum ts_num_kind kind, int64_t m, int exp)
{
    struct ts_num v = {0};
    struct ts_error err = {0};
    if (ts_num_parse(ts_slice_str(text), &v, &err) != 0)
        fail_msg("%s: %s", text, err.text);
    if (v.kind != kind || v.m != m || (kind == TS_NUM_DEC && v.exp != exp))
        fail_msg("%s: kind %d m %lld exp %d", text, v.kind, (long long)v.m, v.exp);
}

static void t_expect_error(const char *text, int code, const char *message)
{
    struct ts_num v;
    struct ts_error err = {0};
    int rc = ts_num_parse(ts_slice_str(text), &v, &err);
    if (rc != code || strcmp(err.text, message) != 0)
        fail_msg("%s: %d %s", text, rc, err.text);
    assert_int_equal(ts_num_parse(ts_slice_str(text), &v, NULL), code);
}

static void test_num__without_point_or_e_it_is_an_integer(void **state)
{
    (void)state;
    t_expect("1", TS_NUM_INT, 1, 0);
    t_expect("+5", TS_NUM_INT, 5, 0);
    t_expect("-0", TS_NUM_INT, 0, 0);
    t_expect("007", TS_NUM_INT, 7, 0);
    t_expect("12345678901234567", TS_NUM_INT, 12345678901234567, 0);
    t_expect("-1234567890123456", TS_NUM_INT, -1234567890123456, 0);
    t_expect("9223372036854775807", TS_NUM_INT, INT64_MAX, 0);
    t_expect("-9223372036854775808", TS_NUM_INT, INT64_MIN, 0);
    t_expect("+0000000000000000001", TS_NUM_INT, 1, 0);
}

static void test_num__bad_integers_get_opentsdbs_words(void **state)
{
    (void)state;
    t_expect_error("", TS_EPARSE, "Empty string");
    t_expect_error("+", TS_EPARSE, "Just a sign, no value: +");
    t_expect_error("-", TS_EPARSE, "Just a sign, no value: -");
    t_expect_error("9223372036854775808", TS_EPARSE, "Overflow in 9223372036854775808");
    t_expect_error("-9223372036854775809", TS_EPARSE, "Overflow in -9223372036854775809");
    t_expect_error("9999999999999999999", TS_EPARSE, "Overflow in 9999999999999999999");
    t_expect_error("00000000000000000001", TS_EPARSE, "Value too long: 00000000000000000001");
    t_expect_error("+00000000000000000001", TS_EPARSE, "Value too long: +00000000000000000001");
    t_expect_error("1x3", TS_EPARSE, "Invalid character 'x' in 1x3");
    t_expect_error("NaN", TS_EPARSE, "Invalid character 'N' in NaN");
    t_expect_error("0x10", TS_EPARSE, "Invalid character 'x' in 0x10");
    t_expect_error("1f", TS_EPARSE, "Invalid character 'f' in 1f");
    t_expect_error("--1", TS_EPARSE, "Invalid character '-' in --1");
    t_expect_error(" 1", TS_EPARSE, "Invalid character ' ' in  1");
    t_expect_error("1\xc3\xa9", TS_EPARSE, "Invalid character '\xc3\xa9' in 1\xc3\xa9");
    t_expect_error("Infinity", TS_EPARSE, "Invalid character 'I' in Infinity");
}

static void test_num__decimals_are_kept_as_typed(void **state)
{
    (void)state;
    t_expect("1.5", TS_NUM_DEC, 15, 1);
    t_expect("1.50", TS_NUM_DEC, 150, 2);
    t_expect("-0.001", TS_NUM_DEC, -1, 3);
    t_expect("1e3", TS_NUM_DEC, 1000, 0);
    t_expect("1E+3", TS_NUM_DEC, 1000, 0);
    t_expect("1.5e-7", TS_NUM_DEC, 15, 8);
    t_expect("1.50e1", TS_NUM_DEC, 150, 1);
    t_expect("-.5", TS_NUM_DEC, -5, 1);
    t_expect("5.", TS_NUM_DEC, 5, 0);
    t_expect("0.0", TS_NUM_DEC, 0, 1);
    t_expect("0e5", TS_NUM_DEC, 0, 0);
    t_expect("0.0000000000000000000000000000", TS_NUM_DEC, 0, 22);
    t_expect("9007199254740992.0", TS_NUM_DEC, 9007199254740992, 0);
    t_expect("0.123456789012345", TS_NUM_DEC, 123456789012345, 15);
    t_expect("1e-22", TS_NUM_DEC, 1, 22);
    t_expect("10e-23", TS_NUM_DEC, 1, 22);
    t_expect("1e15", TS_NUM_DEC, 1000000000000000, 0);
    t_expect("1e00000000000000000000000000000000000001", TS_NUM_DEC, 10, 0);
    t_expect("100000000000000000000000000000000000000e-36", TS_NUM_DEC, 1000000000000000, 13);
}

static void test_num__what_no_decimal_holds_becomes_raw_bits(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "1e16",
        "1e22",
        "1e23",
        "-1e22",
        "9007199254740993.0",
        "1e-23",
        "4.9e-324",
        "2.4703282292062328e-324",
        "1.7976931348623157e308",
        "-1.7976931348623158e308",
        "123456789.123456789123456789",
        "1e-400",
        "0.1e-5000",
        "2.2250738585072011e-308",
        "99999999999999999999.5",
        "179769313486231580000000000000.25e279",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        double d = t_read(texts[i]);
        t_expect(texts[i], TS_NUM_RAW, (int64_t)ts_double_bits(d), 0);
    }
    t_expect("-0.0", TS_NUM_RAW, INT64_MIN, 0);
    t_expect("-0e0", TS_NUM_RAW, INT64_MIN, 0);
}

static void test_num__values_beyond_doubles_are_refused(void **state)
{
    (void)state;
    t_expect_error("1e400", TS_EINVAL, "value is NaN or Infinite: Infinity");
    t_expect_error("-1e400", TS_EINVAL, "value is NaN or Infinite: -Infinity");
    t_expect_error("1e99999999999999999999999999", TS_EINVAL, "value is NaN or Infinite: Infinity");
    t_expect_error("1.7976931348623159e308", TS_EINVAL, "value is NaN or Infinite: Infinity");
}

static void test_num__bad_decimals_are_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {".",     "+.",    "e5",    "1e",      "1e+",   "1.2.3",
                                        "1e5.0", "1.5f",  "1.5d",  "0x1.8p3", "1..",   "1.5 ",
                                        " 1.5",  "--1.5", "1e--5", "1e5x",    "1,5e3", "Inf.e"};
    char message[80];
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        snprintf(message, sizeof(message), "For input string: \"%s\"", texts[i]);
        t_expect_error(texts[i], TS_EPARSE, message);
    }
    /* a zero byte is a byte like others */
    struct ts_num v;
    assert_int_equal(ts_num_parse((struct ts_slice){"1.5\0", 4}, &v, NULL), TS_EPARSE);
    assert_int_equal(ts_num_parse((struct ts_slice){NULL, 0}, &v, NULL), TS_EPARSE);
}

static void test_num__long_texts_round_as_the_exact_value(void **state)
{
    (void)state;
    static char text[2000];
    struct ts_num v;
    /* halfway between two doubles: to even; a digit far behind decides otherwise */
    int n = snprintf(text, sizeof(text), "9007199254740993.%0900d", 0);
    assert_int_equal(ts_num_parse((struct ts_slice){text, (size_t)n}, &v, NULL), 0);
    assert_true(ts_num_double(v) == 9007199254740992.0);
    text[n] = '1';
    assert_int_equal(ts_num_parse((struct ts_slice){text, (size_t)n + 1}, &v, NULL), 0);
    assert_true(ts_num_double(v) == 9007199254740994.0);
    /* half of the smallest double has 751 significant digits */
    n = snprintf(text, sizeof(text), "%.1075Lf", ldexpl(1, -1075));
    assert_int_equal(ts_num_parse((struct ts_slice){text, (size_t)n}, &v, NULL), 0);
    assert_true(ts_num_double(v) == 0);
    memcpy(text + n, "0000000000000000000000000000000000000000007", 43);
    assert_int_equal(ts_num_parse((struct ts_slice){text, (size_t)n + 43}, &v, NULL), 0);
    assert_true(ts_num_double(v) == 0x1p-1074);
    /* many digits before the point, brought back by the exponent */
    n = snprintf(text, sizeof(text), "-123%0900de-900", 0);
    assert_int_equal(ts_num_parse((struct ts_slice){text, (size_t)n}, &v, NULL), 0);
    assert_true(ts_num_double(v) == -123.0);
    n = snprintf(text, sizeof(text), "0.%0900d125e900", 0);
    assert_int_equal(ts_num_parse((struct ts_slice){text, (size_t)n}, &v, NULL), 0);
    assert_true(ts_num_double(v) == 0.125);
    assert_int_equal(v.kind, TS_NUM_DEC);
}

static void test_num__random_decimals_round_correctly(void **state)
{
    (void)state;
    char text[80];
    for (int i = 0; i < 60000; i++) {
        struct ts_num v;
        double d = ts_double_of(t_rand());
        if (i % 2)
            snprintf(text, sizeof(text), "%lld.%llue%d", (long long)t_rand() >> (t_rand() % 64),
                     (unsigned long long)(t_rand() >> (t_rand() % 64)), (int)(t_rand() % 80) - 40);
        else if (isfinite(d) && fabs(d) < 1e308)
            snprintf(text, sizeof(text), "%.*e", (int)(t_rand() % 25), d);
        else
            continue;
        struct ts_error err = {0};
        if (ts_num_parse(ts_slice_str(text), &v, &err) != 0)
            fail_msg("%s: %s", text, err.text);
        if (ts_double_bits(ts_num_double(v)) != ts_double_bits(t_read(text)))
            fail_msg("%s", text);
    }
}

static void test_num__from_double_gives_the_same_bits_back(void **state)
{
    (void)state;
    static const struct {
        double d;
        enum ts_num_kind kind;
        int64_t m;
        int exp;
    } rows[] = {
        {0.0, TS_NUM_DEC, 0, 0},     {1.5, TS_NUM_DEC, 15, 1},
        {-0.25, TS_NUM_DEC, -25, 2}, {1e15, TS_NUM_DEC, 1000000000000000, 0},
        {0.1, TS_NUM_DEC, 1, 1},     {9007199254740992.0, TS_NUM_DEC, 9007199254740992, 0},
        {1e-17, TS_NUM_DEC, 1, 17},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct ts_num v = ts_num_from_double(rows[i].d);
        assert_int_equal(v.kind, rows[i].kind);
        assert_int_equal(v.m, rows[i].m);
        assert_int_equal(v.exp, rows[i].exp);
    }
    static const double raws[] = {-0.0, 1e300, 0x1p-1074, 1e-18, 9007199254740994.0, -1e22};
    for (size_t i = 0; i < sizeof(raws) / sizeof(raws[0]); i++) {
        assert_int_equal(ts_num_from_double(raws[i]).kind, TS_NUM_RAW);
        assert_int_equal(ts_double_bits(ts_num_double(ts_num_from_double(raws[i]))), ts_double_bits(raws[i]));
    }
    assert_true(isnan(ts_num_double(ts_num_from_double((double)NAN))));
    assert_true(isinf(ts_num_double(ts_num_from_double(-(double)INFINITY))));
    for (int i = 0; i < 100000; i++) {
        double d = ts_double_of(t_rand());
        if (i % 2)
            d = (double)((int64_t)t_rand() >> (t_rand() % 64)) / ts_pow10[t_rand() % 23];
        if (!isnan(d) && ts_double_bits(ts_num_double(ts_num_from_double(d))) != ts_double_bits(d))
            fail_msg("%a", d);
    }
}

static void t_expect_print(double d, const char *java, const char *plain)
{
    char text[TS_NUM_TEXT_BYTES + 1];
    text[ts_num_print_java(d, text)] = 0;
    assert_string_equal(text, java);
    text[ts_num_print_double(d, text)] = 0;
    assert_string_equal(text, plain);
}

static void test_num__doubles_print_in_both_layouts(void **state)
{
    (void)state;
    t_expect_print(7, "7.0", "7.0");
    t_expect_print(0.1, "0.1", "0.1");
    t_expect_print(10000000, "1.0E7", "10000000.0");
    t_expect_print(9999999, "9999999.0", "9999999.0");
    t_expect_print(0.001, "0.001", "0.001");
    t_expect_print(0.0001, "1.0E-4", "0.0001");
    t_expect_print(123456789, "1.23456789E8", "123456789.0");
    t_expect_print((double)3.3f, "3.299999952316284", "3.299999952316284");
    t_expect_print(100, "100.0", "100.0");
    t_expect_print(-12.5, "-12.5", "-12.5");
    t_expect_print(1e20, "1.0E20", "1e+20");
    t_expect_print(1.5e-9, "1.5E-9", "1.5e-09");
    t_expect_print(1e22, "1.0E22", "1e+22");
    t_expect_print(1e23, "1.0E23", "1e+23");
    t_expect_print(9007199254740992.0, "9.007199254740992E15", "9007199254740992.0");
    t_expect_print(1.0 / 3, "0.3333333333333333", "0.3333333333333333");
    t_expect_print(-0.0, "-0.0", "-0.0");
    t_expect_print((double)NAN, "NaN", "NaN");
    t_expect_print(-(double)INFINITY, "-Infinity", "-Infinity");
    t_expect_print(1.7976931348623157e308, "1.7976931348623157E308", "1.7976931348623157e+308");
    t_expect_print(-1.2345678901234568e-300, "-1.2345678901234568E-300", "-1.2345678901234568e-300");
}

static void test_num__shortest_digits_at_powers_of_two_and_below_normal(void **state)
{
    (void)state;
    /* the gap below a power of two is half the gap above: the nearest 16 digits of 2^-44 do not read back,
     * others do */
    t_expect_print(0x1p-44, "5.684341886080802E-14", "5.684341886080802e-14");
    t_expect_print(0x1p-1022, "2.2250738585072014E-308", "2.2250738585072014e-308");
    t_expect_print(0x0.fffffffffffffp-1022, "2.225073858507201E-308", "2.225073858507201e-308");
    t_expect_print(0x1p-1074, "4.9E-324", "5e-324");
    t_expect_print(0x1p-1073, "9.9E-324", "1e-323");
    t_expect_print(0x1p+60, "1.152921504606847E18", "1.152921504606847e+18");
}

static void test_num__printed_text_is_the_shortest_that_reads_back(void **state)
{
    (void)state;
    char text[TS_NUM_TEXT_BYTES + 1], shorter[64];
    for (int i = 0; i < 60000; i++) {
        uint64_t bits = t_rand();
        if (i < 2046)
            bits = (uint64_t)(i + 1) << 52;
        else if (i % 4 == 0)
            bits = bits >> 12 | (1000 + t_rand() % 60) << 52;
        double d = ts_double_of(bits);
        if (!isfinite(d) || d == 0)
            continue;
        text[ts_num_print_java(d, text)] = 0;
        assert_int_equal(ts_double_bits(t_read(text)), ts_double_bits(d));
        text[ts_num_print_double(d, text)] = 0;
        if (ts_double_bits(t_read(text)) != ts_double_bits(d))
            fail_msg("%a printed as %s", d, text);
        assert_non_null(strpbrk(text, ".e"));
        int n_digits = 0, zeros = 0;
        for (const char *p = text; *p && *p != 'e'; p++) {
            if (*p < '0' || *p > '9' || (n_digits == 0 && *p == '0'))
                continue;
            n_digits++;
            zeros = *p == '0' ? zeros + 1 : 0;
        }
        n_digits -= zeros;
        if (n_digits < 2)
            continue;
        snprintf(shorter, sizeof(shorter), "%.*e", n_digits - 2, d);
        if (t_read(shorter) == d)
            fail_msg("%a printed as %s, %s is shorter", d, text, shorter);
    }
}

static void test_num__locale_of_the_process_does_not_matter(void **state)
{
    (void)state;
    char text[TS_NUM_TEXT_BYTES + 1];
    struct ts_num v;
    /* made by tests/CMakeLists.txt in LOCPATH, so that a machine without it does not pass by not looking */
    if (!setlocale(LC_ALL, "de_DE.UTF-8"))
        fail_msg("the locale de_DE.UTF-8 is not in LOCPATH; run this test through ctest");
    assert_string_equal(localeconv()->decimal_point, ",");
    text[ts_num_print_double(0x1p-1073, text)] = 0;
    assert_string_equal(text, "1e-323");
    assert_int_equal(ts_num_parse(TS_SLICE_LIT("1234567.12345678901234567890123e-40"), &v, NULL), 0);
    setlocale(LC_ALL, "C");
    assert_true(ts_num_double(v) == 1234567.12345678901234567890123e-40);
}

static void test_num__integers_print_whole(void **state)
{
    (void)state;
    char text[TS_NUM_TEXT_BYTES + 1];
    static const int64_t values[] = {0, 7, -7, 10, -100, INT64_MAX, INT64_MIN};
    char want[64];
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        text[ts_num_print_int(values[i], text)] = 0;
        snprintf(want, sizeof(want), "%lld", (long long)values[i]);
        assert_string_equal(text, want);
        text[ts_num_print_i128(values[i], text)] = 0;
        assert_string_equal(text, want);
    }
    __int128 max = (__int128)(~(unsigned __int128)0 >> 1);
    text[ts_num_print_i128(max, text)] = 0;
    assert_string_equal(text, "170141183460469231731687303715884105727");
    text[ts_num_print_i128(-max - 1, text)] = 0;
    assert_string_equal(text, "-170141183460469231731687303715884105728");
    text[ts_num_print_i128((__int128)UINT64_MAX + 1, text)] = 0;
    assert_string_equal(text, "18446744073709551616");
    __int128 e30 = (__int128)1000000000000000 * 1000000000000000;
    text[ts_num_print_i128(e30 + 5, text)] = 0;
    assert_string_equal(text, "1000000000000000000000000000005");
}

static void test_num__sizes_take_units_of_1024(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = {{"0", 0},
                {"512", 512},
                {"64k", 65536},
                {"64K", 65536},
                {"32MiB", 32u << 20},
                {"32mb", 32u << 20},
                {"1G", 1u << 30},
                {"3T", 3ull << 40},
                {"2p", 2ull << 50},
                {"15E", 15ull << 60},
                {"7B", 7},
                {"18446744073709551615", UINT64_MAX}};
    uint64_t v;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_int_equal(ts_num_parse_bytes(ts_slice_str(good[i].text), &v), 0);
        assert_true(v == good[i].bytes);
    }
    static const char *const bad[] = {"",    "k",   "-1",  "1.5k", "16E", "18446744073709551616",
                                      "1kk", "1ki", "1 k", "1x",   "iB",  "1iB"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(ts_num_parse_bytes(ts_slice_str(bad[i]), &v), TS_EPARSE);
}

static void test_num__hex(void **state)
{
    (void)state;
    uint32_t v = 0;
    assert_true(ts_num_parse_hex(TS_SLICE_LIT("0aF9"), &v));
    assert_int_equal(v, 0xaf9);
    assert_true(ts_num_parse_hex(TS_SLICE_LIT("ffffffff"), &v));
    assert_int_equal(v, UINT32_MAX);
    assert_false(ts_num_parse_hex(TS_SLICE_LIT(""), &v));
    assert_false(ts_num_parse_hex(TS_SLICE_LIT("000000001"), &v));
    assert_false(ts_num_parse_hex(TS_SLICE_LIT("0x1"), &v));
    assert_false(ts_num_parse_hex(TS_SLICE_LIT("g"), &v));
    assert_false(ts_num_parse_hex(TS_SLICE_LIT("@"), &v));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_num__without_point_or_e_it_is_an_integer),
        cmocka_unit_test(test_num__bad_integers_get_opentsdbs_words),
        cmocka_unit_test(test_num__decimals_are_kept_as_typed),
        cmocka_unit_test(test_num__what_no_decimal_holds_becomes_raw_bits),
        cmocka_unit_test(test_num__values_beyond_doubles_are_refused),
        cmocka_unit_test(test_num__bad_decimals_are_refused),
        cmocka_unit_test(test_num__long_texts_round_as_the_exact_value),
        cmocka_unit_test(test_num__random_decimals_round_correctly),
        cmocka_unit_test(test_num__from_double_gives_the_same_bits_back),
        cmocka_unit_test(test_num__doubles_print_in_both_layouts),
        cmocka_unit_test(test_num__shortest_digits_at_powers_of_two_and_below_normal),
        cmocka_unit_test(test_num__printed_text_is_the_shortest_that_reads_back),
        cmocka_unit_test(test_num__locale_of_the_process_does_not_matter),
        cmocka_unit_test(test_num__integers_print_whole),
        cmocka_unit_test(test_num__sizes_take_units_of_1024),
        cmocka_unit_test(test_num__hex),
    };
    print_message("seed %llu\n", SEED);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
