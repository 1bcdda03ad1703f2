/*
 * numshort.c - the shortest decimal of a double, by the Schubfach algorithm.
 *
 * All decimals that round to v = c 2^q lie between two neighbours' midpoints. With 10^k the largest power of
 * ten that is not wider than this interval, one or two multiples of 10^k lie inside, and at most one of
 * 10^(k+1). So four candidates decide, and a product with a 128-bit power of ten is exact enough to decide on
 * which side of a boundary each lies.
 * Source     R. Giulietti, "The Schubfach way to render doubles" (2020), sections 8-9. Ours keeps 128 bits a
 *            power, and computes the powers when first needed instead of listing them
 * Threads    any; the table is made once
 */
#include "base/num_int.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#define POW_MIN   (-292) /* powers of ten that doubles of all exponents need */
#define POW_MAX   324
#define BIG_LIMBS 35 /* 10^324 has 1077 bits, and one more bit for doubling */

/* 10^e = g * 2^(floor(log2 10^e) - 127), rounded up: g has its top bit set. */
struct pow128 {
    uint64_t hi, lo; /* halves of g */
};

static struct pow128 pow_table[POW_MAX - POW_MIN + 1];
static pthread_once_t pow_once = PTHREAD_ONCE_INIT;

/* floor(log10 2^q), floor(log10 (3/4 2^q)) and floor(log2 10^e), exact for all exponents of doubles. */
static int floor_log10_pow2(int q)
{
    return (q * 1262611) >> 22;
}
static int floor_log10_three_quarters_pow2(int q)
{
    return (q * 1262611 - 524032) >> 22;
}
static int floor_log2_pow10(int e)
{
    return (e * 1741647) >> 19;
}

/* ---- the table ---- */

/* v = 2 v, or 10 v: small factor. */
static void big_mul(uint32_t v[BIG_LIMBS], uint32_t factor)
{
    uint64_t carry = 0;
    for (int i = 0; i < BIG_LIMBS; i++) {
        carry += (uint64_t)v[i] * factor;
        v[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

/* v -= d if v >= d. */
static bool big_sub(uint32_t v[BIG_LIMBS], const uint32_t d[BIG_LIMBS])
{
    uint32_t r[BIG_LIMBS];
    int64_t borrow = 0;
    for (int i = 0; i < BIG_LIMBS; i++) {
        borrow += (int64_t)v[i] - d[i];
        r[i] = (uint32_t)borrow;
        borrow >>= 32;
    }
    if (borrow < 0)
        return false;
    memcpy(v, r, sizeof(r));
    return true;
}

static int big_bits(const uint32_t v[BIG_LIMBS])
{
    int n = BIG_LIMBS;
    while (v[n - 1] == 0)
        n--;
    return 32 * n - __builtin_clz(v[n - 1]);
}

static void pow_put(int e, unsigned __int128 g)
{
    pow_table[e - POW_MIN] = (struct pow128){(uint64_t)(g >> 64), (uint64_t)g};
}

/* Top 128 bits of v, rounded up. */
static unsigned __int128 pow_top(const uint32_t v[BIG_LIMBS])
{
    unsigned __int128 g = 0;
    int low = big_bits(v) - 128; /* lowest bit that is kept */
    bool more = false;
    for (int i = 0; i < BIG_LIMBS; i++) {
        int at = 32 * i - low;
        if (at >= 128)
            break;
        if (at >= 0) {
            g |= (unsigned __int128)v[i] << at;
        } else if (at > -32) {
            g |= v[i] >> -at;
            more = more || v[i] << (32 + at);
        } else {
            more = more || v[i];
        }
    }
    return g + more;
}

/* 2^(127 + bits of v) / v, rounded up; v is not a power of two. One quotient bit a step. */
static unsigned __int128 pow_reciprocal(const uint32_t v[BIG_LIMBS])
{
    uint32_t rest[BIG_LIMBS] = {0};
    int top = big_bits(v) - 1;
    rest[top / 32] = 1u << (top % 32);
    unsigned __int128 g = 0;
    for (int i = 0; i < 128; i++) {
        big_mul(rest, 2);
        g = g << 1 | big_sub(rest, v);
    }
    return g + 1;
}

static void pow_fill(void)
{
    uint32_t v[BIG_LIMBS] = {1};
    for (int e = 0; e <= POW_MAX; e++) {
        pow_put(e, pow_top(v));
        if (e && -e >= POW_MIN)
            pow_put(-e, pow_reciprocal(v));
        if (e < POW_MAX)
            big_mul(v, 10);
    }
}

/* ---- the algorithm ---- */

/* Integer part of g * cp / 2^128; the last bit is also set when anything lies below it ("round to odd"). The
 * table's rounding makes up at most one unit of the next 64 bits. */
static uint64_t round_to_odd(struct pow128 g, uint64_t cp)
{
    uint64_t low = (uint64_t)(((unsigned __int128)g.lo * cp) >> 64);
    unsigned __int128 y = (unsigned __int128)g.hi * cp + low;
    return (uint64_t)(y >> 64) | ((uint64_t)y > 1);
}

uint64_t ts_num__shortest(double a, int *out_exp10)
{
    pthread_once(&pow_once, pow_fill);
    uint64_t bits;
    memcpy(&bits, &a, 8);
    uint64_t fraction = bits & 0xfffffffffffffull;
    int e = (int)(bits >> 52);
    uint64_t c = fraction | 1ull << 52;
    int q = e - 1075;
    bool uneven = fraction == 0 && e > 1; /* a power of two: the gap below is half the gap above */
    uint64_t odd = c & 1;                 /* midpoints round to even: for odd c they are outside */
    int k = uneven ? floor_log10_three_quarters_pow2(q) : floor_log10_pow2(q);
    int h = q + floor_log2_pow10(-k) + 1;
    struct pow128 g = pow_table[-k - POW_MIN];
    /* four times v, its lower and its upper midpoint, in units of 10^k */
    uint64_t v4 = round_to_odd(g, (4 * c) << h);
    uint64_t lower4 = round_to_odd(g, (4 * c - 2 + uneven) << h) + odd;
    uint64_t upper4 = round_to_odd(g, (4 * c + 2) << h) - odd;
    uint64_t s = v4 / 4;
    uint64_t s10 = s / 10 * 10;
    bool below_in = lower4 <= 4 * s10, above_in = 4 * (s10 + 10) <= upper4;
    *out_exp10 = k;
    if (below_in != above_in)
        return below_in ? s10 : s10 + 10;
    below_in = lower4 <= 4 * s;
    above_in = 4 * (s + 1) <= upper4;
    if (below_in != above_in)
        return below_in ? s : s + 1;
    uint64_t middle = 4 * s + 2;
    return v4 < middle || (v4 == middle && s % 2 == 0) ? s : s + 1;
}
