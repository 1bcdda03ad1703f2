/*
 * test_xsum.c - exact sums against plain big integers: any order, any split, one rounding.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/double.h"
#include "base/xsum.h"

#define SEED    0x2545f4914f6cdd1dull
#define T_LIMBS 84 /* two's complement, 2,688 bits in units of 2^-1074 */
#define T_MAX   1500
#include "base_kit.h"

/* ---- the reference: slow integers ---- */

struct t_big {
    uint32_t limb[T_LIMBS];
};

static void t_big_add(struct t_big *a, const struct t_big *b)
{
    uint64_t carry = 0;
    for (int i = 0; i < T_LIMBS; i++) {
        carry += (uint64_t)a->limb[i] + b->limb[i];
        a->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

static void t_big_neg(struct t_big *a)
{
    uint64_t carry = 1;
    for (int i = 0; i < T_LIMBS; i++) {
        carry += (uint32_t)~a->limb[i];
        a->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

static bool t_big_is_neg(const struct t_big *a)
{
    return a->limb[T_LIMBS - 1] >> 31;
}

/* a *= n, for a >= 0. */
static void t_big_mul(struct t_big *a, uint64_t n)
{
    struct t_big r = {{0}};
    for (unsigned bit = 0; bit < 64; bit++, n >>= 1) {
        struct t_big same = *a;
        if (n & 1)
            t_big_add(&r, a);
        t_big_add(a, &same);
    }
    *a = r;
}

static int t_big_cmp(const struct t_big *a, const struct t_big *b)
{
    struct t_big d = *b;
    t_big_neg(&d);
    t_big_add(&d, a);
    if (t_big_is_neg(&d))
        return -1;
    for (int i = 0; i < T_LIMBS; i++)
        if (d.limb[i])
            return 1;
    return 0;
}

/* m * 2^shift units. */
static struct t_big t_big_of(unsigned __int128 m, unsigned shift, bool neg)
{
    struct t_big r = {{0}};
    for (unsigned i = 0; i < 128; i++)
        if (m >> i & 1)
            r.limb[(shift + i) / 32] |= 1u << ((shift + i) % 32);
    if (neg)
        t_big_neg(&r);
    return r;
}

static struct t_big t_big_of_double(double d)
{
    int e;
    double f = frexp(fabs(d), &e); /* d = f 2^e, f in [1/2, 1) */
    if (d == 0)
        return (struct t_big){{0}};
    if (isinf(d)) /* where the next double would be */
        return t_big_of(1, 1024 + 1074, d < 0);
    int shift = e - 53 + 1074;
    uint64_t m = (uint64_t)ldexp(f, 53);
    if (shift < 0) { /* subnormal: low bits are zero */
        m >>= -shift;
        shift = 0;
    }
    return t_big_of(m, (unsigned)shift, d < 0);
}

/* The C library rounds a hexadecimal text. */
static double t_big_round(struct t_big a)
{
    static char text[T_LIMBS * 8 + 32];
    bool neg = t_big_is_neg(&a);
    if (neg)
        t_big_neg(&a);
    size_t n = (size_t)snprintf(text, sizeof(text), "0x");
    for (int i = T_LIMBS - 1; i >= 0; i--)
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%08x", a.limb[i]);
    snprintf(text + n, sizeof(text) - n, "p-1074");
    double d = strtod_l(text, NULL, newlocale(LC_ALL_MASK, "C", (locale_t)0));
    return neg && d != 0 ? -d : d;
}

/* Is r the double nearest to a / n (ties to even)? By comparing 2a with n times the sums of r and its
 * neighbours. */
static bool t_is_mean(struct t_big a, uint64_t n, double r)
{
    if (t_big_is_neg(&a)) {
        t_big_neg(&a);
        r = -r;
    }
    if (r < 0)
        return false;
    struct t_big twice = a;
    t_big_add(&twice, &a);
    struct t_big high = t_big_of_double(r), next = t_big_of_double(nextafter(r, (double)INFINITY));
    t_big_add(&high, &next);
    t_big_mul(&high, n);
    int cmp_high = isinf(r) ? -1 : t_big_cmp(&twice, &high);
    bool odd = ts_double_bits(r) & 1;
    if (cmp_high > 0 || (cmp_high == 0 && odd))
        return false;
    if (r == 0)
        return true;
    struct t_big low = t_big_of_double(r), prev = t_big_of_double(nextafter(r, 0));
    t_big_add(&low, &prev);
    t_big_mul(&low, n);
    int cmp_low = t_big_cmp(&twice, &low);
    return cmp_low > 0 || (cmp_low == 0 && !odd);
}

/* ---- inputs ---- */

/* kind 0 metrics with decimals, 1 whole numbers, 2 all exponents, 3 subnormals and tiny, 4 near the largest,
 * 5 halfway bits */
static double t_value(int kind)
{
    uint64_t bits = t_rand();
    switch (kind) {
    case 0:
        return (double)((int64_t)(bits % 200000001) - 100000000) / 1000;
    case 1:
        return (double)((int64_t)bits >> (t_rand() % 60));
    case 2:
        while ((bits >> 52 & 0x7ff) == 0x7ff)
            bits = t_rand();
        break;
    case 3:
        bits = (bits & 0x800fffffffffffffull) | (t_rand() % 3) << 52;
        break;
    case 4:
        bits = (bits & 0x800fffffffffffffull) | (2040 + t_rand() % 7) << 52;
        break;
    default:
        bits = (bits & 0x8000000000000000ull) | (1023 - 60 + t_rand() % 120) << 52;
        break;
    }
    return ts_double_of(bits);
}

static size_t t_fill(double *v, int kind)
{
    size_t n = 1 + t_rand() % T_MAX;
    bool cancel = t_rand() % 2;
    for (size_t i = 0; i < n; i++)
        v[i] = cancel && i % 2 && i + 1 < n ? -v[i - 1] : t_value(kind);
    return n;
}

static void t_shuffle(double *v, size_t n)
{
    for (size_t i = n; i > 1; i--) {
        size_t k = t_rand() % i;
        double swap = v[i - 1];
        v[i - 1] = v[k];
        v[k] = swap;
    }
}

static void test_xsum__sum_is_exact_and_rounded_once(void **state)
{
    (void)state;
    static double v[T_MAX];
    for (int round = 0; round < 120; round++) {
        size_t n = t_fill(v, round % 6);
        struct t_big want = {{0}};
        struct ts_xsum s = {0};
        for (size_t i = 0; i < n; i++) {
            struct t_big b = t_big_of_double(v[i]);
            t_big_add(&want, &b);
        }
        ts_xsum_add_n(&s, v, n);
        double sum = t_big_round(want);
        if (ts_double_bits(ts_xsum_get(&s)) != ts_double_bits(sum))
            fail_msg("kind %d: %a, want %a", round % 6, ts_xsum_get(&s), sum);
        const uint64_t counts[] = {1, n, 3, 7, t_rand() | 1, UINT64_MAX, 1ull << 40};
        for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
            double mean = ts_xsum_mean(&s, counts[i]);
            if (!t_is_mean(want, counts[i], mean))
                fail_msg("kind %d: mean of %a by %llu is %a", round % 6, sum, (unsigned long long)counts[i],
                         mean);
        }
        ts_xsum_release(&s);
    }
}

static void test_xsum__order_and_split_do_not_show(void **state)
{
    (void)state;
    static double v[T_MAX];
    for (int round = 0; round < 120; round++) {
        size_t n = t_fill(v, round % 6);
        struct ts_xsum a = {0};
        ts_xsum_add_n(&a, v, n);
        uint64_t want = ts_double_bits(ts_xsum_get(&a)), want_mean = ts_double_bits(ts_xsum_mean(&a, n));
        for (int again = 0; again < 3; again++) {
            struct ts_xsum b = {0}, c = {0}, d = {0};
            t_shuffle(v, n);
            size_t k = t_rand() % (n + 1), m = k + t_rand() % (n - k + 1);
            ts_xsum_add_n(&b, v, k);
            for (size_t i = k; i < m; i++)
                ts_xsum_add(&c, v[i]);
            ts_xsum_add_n(&d, v + m, n - m);
            ts_xsum_merge(&c, &d);
            ts_xsum_merge(&b, &c);
            assert_int_equal(ts_double_bits(ts_xsum_get(&b)), want);
            assert_int_equal(ts_double_bits(ts_xsum_mean(&b, n)), want_mean);
            ts_xsum_release(&b);
            ts_xsum_release(&c);
            ts_xsum_release(&d);
        }
        ts_xsum_release(&a);
    }
}

static void test_xsum__everyday_values_stay_in_the_word(void **state)
{
    (void)state;
    struct ts_xsum s;
    ts_xsum_init(&s);
    assert_true(ts_xsum_is_fixed(&s));
    assert_true(ts_xsum_get(&s) == 0);
    for (int i = 0; i < 10; i++)
        ts_xsum_add(&s, 0.1);
    assert_true(ts_xsum_is_fixed(&s));
    assert_true(ts_xsum_get(&s) == 1.0); /* ten additions one by one give 0.9999999999999999 */
    ts_xsum_add(&s, 0x1p-64);
    ts_xsum_add(&s, -0.0);
    ts_xsum_add(&s, 0x1p61);
    assert_true(ts_xsum_is_fixed(&s));
    ts_xsum_add(&s, 0x1p-65);
    assert_false(ts_xsum_is_fixed(&s));
    ts_xsum_add(&s, -0x1p61);
    ts_xsum_add(&s, -0x1p-64);
    ts_xsum_release(&s);
    ts_xsum_release(&s);
    assert_true(ts_xsum_is_fixed(&s));
}

static void test_xsum__word_overflow_moves_to_the_wide_part(void **state)
{
    (void)state;
    for (int sign = -1; sign <= 1; sign += 2) {
        struct ts_xsum s = {0};
        for (int i = 0; i < 9; i++)
            ts_xsum_add(&s, sign * 0x1p61);
        ts_xsum_add(&s, sign * 0x1p-60);
        assert_false(ts_xsum_is_fixed(&s));
        assert_true(ts_xsum_get(&s) == sign * 9 * 0x1p61);
        for (int i = 0; i < 9; i++)
            ts_xsum_add(&s, -sign * 0x1p61);
        assert_true(ts_xsum_get(&s) == sign * 0x1p-60);
        ts_xsum_release(&s);
    }
}

static void test_xsum__sum_past_the_largest_double_comes_back(void **state)
{
    (void)state;
    struct ts_xsum s = {0};
    ts_xsum_add(&s, DBL_MAX);
    ts_xsum_add(&s, DBL_MAX);
    assert_true(isinf(ts_xsum_get(&s)));
    assert_true(ts_xsum_mean(&s, 2) == DBL_MAX);
    ts_xsum_add(&s, -DBL_MAX);
    assert_true(ts_xsum_get(&s) == DBL_MAX);
    /* half an ulp more is infinite, a bit less is not */
    ts_xsum_add(&s, 0x1p969);
    assert_true(ts_xsum_get(&s) == DBL_MAX);
    ts_xsum_add(&s, 0x1p969);
    assert_true(isinf(ts_xsum_get(&s)));
    ts_xsum_add(&s, -0x1p-1074);
    assert_true(ts_xsum_get(&s) == DBL_MAX);
    ts_xsum_release(&s);
}

static void test_xsum__integers_of_128_bits_are_exact(void **state)
{
    (void)state;
    const __int128 max = (__int128)(~(unsigned __int128)0 >> 1);
    const __int128 values[] = {0, 1, -1, INT64_MAX, INT64_MIN, (__int128)INT64_MAX + 1, max, -max - 1};
    const size_t n = sizeof(values) / sizeof(values[0]);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++) {
            struct ts_xsum s = {0};
            ts_xsum_add_i128(&s, values[i]);
            ts_xsum_add_i128(&s, values[k]);
            ts_xsum_add(&s, 0.5);
            struct t_big want = t_big_of(1, 1073, false);
            for (int j = 0; j < 2; j++) {
                __int128 v = j ? values[k] : values[i];
                struct t_big b =
                    t_big_of(v < 0 ? 0 - (unsigned __int128)v : (unsigned __int128)v, 1074, v < 0);
                t_big_add(&want, &b);
            }
            assert_int_equal(ts_double_bits(ts_xsum_get(&s)), ts_double_bits(t_big_round(want)));
            assert_true(t_is_mean(want, 3, ts_xsum_mean(&s, 3)));
            ts_xsum_release(&s);
        }
}

static void test_xsum__nan_and_infinities_decide(void **state)
{
    (void)state;
    const double inf = (double)INFINITY;
    static const struct {
        int plus, minus, nan;
        int want; /* 1 inf, -1 -inf, 0 NaN */
    } rows[] = {{1, 0, 0, 1}, {0, 1, 0, -1}, {1, 1, 0, 0}, {0, 0, 1, 0}, {1, 0, 1, 0}};
    for (int wide = 0; wide < 2; wide++)
        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
            struct ts_xsum s = {0}, other = {0};
            const double head[] = {wide ? 1e300 : 1.0, rows[i].plus ? inf : 2.0,
                                   rows[i].nan ? (double)NAN : 3.0};
            ts_xsum_add_n(&s, head, 3);
            ts_xsum_add(&other, rows[i].minus ? -inf : 4.0);
            ts_xsum_merge(&s, &other);
            assert_false(ts_xsum_is_fixed(&s));
            double sum = ts_xsum_get(&s), mean = ts_xsum_mean(&s, 4);
            if (rows[i].want == 0)
                assert_true(isnan(sum) && isnan(mean));
            else
                assert_true(sum == rows[i].want * inf && mean == sum);
            ts_xsum_release(&s);
            ts_xsum_release(&other);
        }
}

static void test_xsum__many_wide_additions_carry_in_time(void **state)
{
    (void)state;
    /* doubling by merging reaches 2^40 addends: carries must have moved up on the way */
    struct ts_xsum s = {0};
    ts_xsum_add(&s, 0x1.fffffffffffffp500);
    ts_xsum_add(&s, 0x1p-500);
    for (int i = 0; i < 40; i++) {
        struct ts_xsum twin = {0};
        ts_xsum_merge(&twin, &s);
        ts_xsum_merge(&s, &twin);
        ts_xsum_release(&twin);
    }
    assert_true(ts_xsum_get(&s) == 0x1.fffffffffffffp540);
    for (int i = 0; i < 40; i++)
        ts_xsum_add(&s, -0x1.fffffffffffffp540 / (double)(2ull << i));
    ts_xsum_add(&s, -0x1.fffffffffffffp500);
    assert_true(ts_xsum_get(&s) == 0x1p-460);
    ts_xsum_release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_xsum__sum_is_exact_and_rounded_once),
        cmocka_unit_test(test_xsum__order_and_split_do_not_show),
        cmocka_unit_test(test_xsum__everyday_values_stay_in_the_word),
        cmocka_unit_test(test_xsum__word_overflow_moves_to_the_wide_part),
        cmocka_unit_test(test_xsum__sum_past_the_largest_double_comes_back),
        cmocka_unit_test(test_xsum__integers_of_128_bits_are_exact),
        cmocka_unit_test(test_xsum__nan_and_infinities_decide),
        cmocka_unit_test(test_xsum__many_wide_additions_carry_in_time),
    };
    print_message("seed %llu\n", SEED);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
