/*
 * xsum.c - exact sums of doubles.
 *
 * Wide accumulator: signed 64-bit chunks that stand 32 bits apart, so an addend is three plain additions and
 * carries wait until WIDE_MAX_PENDING of them could overflow a chunk.
 * Source     R. M. Neal, "Fast Exact Summation Using Small and Large Superaccumulators" (2015), section 2
 * Threads    plain value, one thread at a time
 * Invariant  value = fix * 2^-64 or sum of chunk[i] * 2^(32 i - 1074): exact at every moment
 */
#include "base/xsum.h"

#include "base/budget.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>

#define FIX_SCALE 64 /* the word counts units of 2^-64 */

/* 2^64 doubles below 2^1024 above 2^-1074 need 2162 bits and a sign. */
#define WIDE_CHUNKS      70
#define WIDE_LOW_EXP     (-1074)
#define WIDE_MAX_PENDING (1u << 30) /* addends whose 32-bit pieces surely fit a signed 64-bit chunk */
#define WIDE_LIMBS       (WIDE_CHUNKS / 2)
#define MEAN_GUARD_LIMBS 2 /* a quotient by n < 2^64 keeps 64 bits and more below the sum's last */

enum { SAW_NAN = 1, SAW_INF = 2, SAW_NEG_INF = 4 };

struct ts_xsum_wide {
    int64_t chunk[WIDE_CHUNKS]; /* weight 2^(32 i - 1074) each */
    uint32_t n_pending;         /* addends since carries were last moved up */
    struct ts_budget *account;  /* counts these bytes; NULL = none */
};

/* Account of the wide parts that this thread makes. */
static _Thread_local struct ts_budget *account;

struct ts_budget *ts_xsum_account(struct ts_budget *b)
{
    struct ts_budget *before = account;
    account = b;
    return before;
}

/* ---- wide accumulator ---- */

/* Move carries up: all chunks but the top become 0..2^32-1, the top one carries the sign. */
static void wide_carry(struct ts_xsum_wide *w)
{
    int64_t carry = 0;
    for (int i = 0; i < WIDE_CHUNKS - 1; i++) {
        int64_t v = w->chunk[i] + carry;
        w->chunk[i] = v & 0xffffffff;
        carry = v >> 32;
    }
    w->chunk[WIDE_CHUNKS - 1] += carry;
    w->n_pending = 1;
}

/* Count one more addend. */
static inline void wide_count(struct ts_xsum_wide *w)
{
    if (++w->n_pending >= WIDE_MAX_PENDING)
        wide_carry(w);
}

/* Add m * 2^shift units (units of 2^-1074), m < 2^53. */
static inline void wide_add(struct ts_xsum_wide *w, uint64_t m, unsigned shift, bool neg)
{
    unsigned __int128 v = (unsigned __int128)m << (shift % 32);
    int64_t *c = w->chunk + shift / 32;
    int64_t sign = neg ? -1 : 1;
    c[0] += sign * (int64_t)(uint32_t)v;
    c[1] += sign * (int64_t)(uint32_t)(v >> 32);
    c[2] += sign * (int64_t)(uint32_t)(v >> 64);
    wide_count(w);
}

/* Add a 128-bit integer times 2^shift units. */
static void wide_add_i128(struct ts_xsum_wide *w, __int128 v, unsigned shift)
{
    unsigned __int128 m = v < 0 ? 0 - (unsigned __int128)v : (unsigned __int128)v;
    for (unsigned i = 0; i < 4; i++)
        wide_add(w, (uint32_t)(m >> (32 * i)), shift + 32 * i, v < 0);
}

static struct ts_xsum_wide *wide_of(struct ts_xsum *s)
{
    if (!s->wide) {
        ts_budget_force(account, sizeof(*s->wide));
        s->wide = ts_xcalloc(1, sizeof(*s->wide));
        s->wide->account = account;
        wide_add_i128(s->wide, s->fix, -WIDE_LOW_EXP - FIX_SCALE);
        s->fix = 0;
    }
    return s->wide;
}

static void wide_add_double(struct ts_xsum_wide *w, uint64_t bits)
{
    unsigned e = (unsigned)(bits >> 52) & 0x7ff;
    uint64_t m = bits & 0xfffffffffffffull;
    if (e)
        wide_add(w, m | 1ull << 52, e - 1, bits >> 63);
    else
        wide_add(w, m, 0, bits >> 63);
}

/* ---- adding ---- */

void ts_xsum_release(struct ts_xsum *s)
{
    if (s->wide)
        ts_budget_free(s->wide->account, s->wide, sizeof(*s->wide));
    ts_xsum_init(s);
}

/* The double in units of 2^-64; false when it does not fit the word exactly. */
static inline bool fix_from_bits(uint64_t bits, __int128 *out)
{
    int e = (int)(bits >> 52) & 0x7ff;
    int64_t m = (int64_t)((bits & 0xfffffffffffffull) | 1ull << 52);
    int shift = e - (1075 - FIX_SCALE);
    int64_t sign = (int64_t)bits >> 63;
    if (__builtin_expect((unsigned)shift <= 73, 1)) {
        *out = (__int128)((unsigned __int128)(__int128)((m ^ sign) - sign) << shift);
        return true;
    }
    if (shift < 0 && shift >= -52 && __builtin_ctzll((uint64_t)m) >= -shift) {
        *out = ((m >> -shift) ^ sign) - sign;
        return true;
    }
    *out = 0;
    return bits << 1 == 0;
}

/* Everything that does not go straight into the word. */
static void add_slow(struct ts_xsum *s, uint64_t bits)
{
    if ((bits << 1) > (0x7ffull << 53))
        s->special |= SAW_NAN;
    else if ((bits << 1) == (0x7ffull << 53))
        s->special |= bits >> 63 ? SAW_NEG_INF : SAW_INF;
    else
        wide_add_double(wide_of(s), bits);
}

void ts_xsum_add(struct ts_xsum *s, double d)
{
    ts_xsum_add_n(s, &d, 1);
}

void ts_xsum_add_n(struct ts_xsum *s, const double *d, size_t n)
{
    size_t i = 0;
    if (!s->wide) {
        __int128 fix = s->fix, v;
        for (; i < n; i++) {
            uint64_t bits;
            memcpy(&bits, d + i, 8);
            if (__builtin_expect(fix_from_bits(bits, &v) && !__builtin_add_overflow(fix, v, &v), 1)) {
                fix = v;
                continue;
            }
            s->fix = fix;
            add_slow(s, bits);
            fix = s->fix;
            if (s->wide) {
                i++;
                break;
            }
        }
        s->fix = fix;
    }
    for (; i < n; i++) {
        uint64_t bits;
        memcpy(&bits, d + i, 8);
        if (((bits >> 52) & 0x7ff) == 0x7ff)
            add_slow(s, bits);
        else
            wide_add_double(s->wide, bits);
    }
}

void ts_xsum_add_i128(struct ts_xsum *s, __int128 v)
{
    __int128 scaled;
    if (!s->wide && !__builtin_mul_overflow(v, (__int128)1 << FIX_SCALE, &scaled) &&
        !__builtin_add_overflow(s->fix, scaled, &scaled))
        s->fix = scaled;
    else
        wide_add_i128(wide_of(s), v, -WIDE_LOW_EXP);
}

void ts_xsum_merge(struct ts_xsum *s, const struct ts_xsum *other)
{
    __int128 fix;
    s->special |= other->special;
    if (!other->wide) {
        if (!s->wide && !__builtin_add_overflow(s->fix, other->fix, &fix))
            s->fix = fix;
        else
            wide_add_i128(wide_of(s), other->fix, -WIDE_LOW_EXP - FIX_SCALE);
        return;
    }
    struct ts_xsum_wide *w = wide_of(s);
    struct ts_xsum_wide from = *other->wide;
    wide_carry(&from);
    for (int i = 0; i < WIDE_CHUNKS; i++)
        w->chunk[i] += from.chunk[i];
    wide_count(w);
}

/* ---- the answer ---- */

/* limb[0..n) times 2^low_exp, and a bit more if sticky, rounded to double half to even. */
static double round_limbs(const uint64_t *limb, int n, int low_exp, bool sticky)
{
    while (n > 0 && limb[n - 1] == 0)
        n--;
    if (n == 0)
        return 0;
    int top = 64 * n - 1 - __builtin_clzll(limb[n - 1]); /* highest set bit */
    int cut = top - 63;                                  /* lowest bit of the 64 we look at */
    if (cut < 0)
        cut = 0;
    uint64_t m = limb[cut / 64] >> (cut % 64);
    if (cut % 64 && cut / 64 + 1 < n)
        m |= limb[cut / 64 + 1] << (64 - cut % 64);
    for (int i = 0; i < cut / 64 && !sticky; i++)
        sticky = limb[i] != 0;
    if (cut % 64)
        sticky = sticky || limb[cut / 64] << (64 - cut % 64) != 0;
    /* bits of m below the last place of the double: 11, more when the result is subnormal, none when m is
     * short */
    int place = top + low_exp - 52;
    if (place < -1074)
        place = -1074;
    int drop = place - (cut + low_exp);
    if (drop <= 0)
        return ldexp((double)m, cut + low_exp); /* fewer than 54 bits and nothing below: exact */
    if (drop > 64)
        return 0;
    uint64_t half = 1ull << (drop - 1);
    uint64_t rest = drop == 64 ? m : m & (half * 2 - 1);
    uint64_t q = drop == 64 ? 0 : m >> drop;
    if (rest > half || (rest == half && (sticky || (q & 1))))
        q++;
    return ldexp((double)q, place);
}

/* Magnitude of a wide sum as limbs of weight 2^(64 i - 1074); returns whether it is negative. */
static bool wide_limbs(const struct ts_xsum_wide *wide, uint64_t limb[WIDE_LIMBS])
{
    struct ts_xsum_wide w = *wide;
    wide_carry(&w);
    bool neg = w.chunk[WIDE_CHUNKS - 1] < 0;
    if (neg) {
        for (int i = 0; i < WIDE_CHUNKS; i++)
            w.chunk[i] = -w.chunk[i];
        wide_carry(&w);
    }
    for (int i = 0; i < WIDE_LIMBS; i++)
        limb[i] = (uint64_t)w.chunk[2 * i] | (uint64_t)w.chunk[2 * i + 1] << 32;
    return neg;
}

/* NaN and infinities decide alone; false = none seen. */
static bool special_result(const struct ts_xsum *s, double *out)
{
    if (!s->special)
        return false;
    if (s->special == SAW_INF)
        *out = (double)INFINITY;
    else if (s->special == SAW_NEG_INF)
        *out = -(double)INFINITY;
    else
        *out = (double)NAN;
    return true;
}

double ts_xsum_get(const struct ts_xsum *s)
{
    double r;
    if (special_result(s, &r))
        return r;
    if (!s->wide)
        return (double)s->fix * 0x1p-64; /* the conversion rounds once, the scaling is exact */
    uint64_t limb[WIDE_LIMBS];
    bool neg = wide_limbs(s->wide, limb);
    r = round_limbs(limb, WIDE_LIMBS, WIDE_LOW_EXP, false);
    return neg ? -r : r;
}

static double fix_mean(__int128 fix, uint64_t n)
{
    bool neg = fix < 0;
    unsigned __int128 a = neg ? 0 - (unsigned __int128)fix : (unsigned __int128)fix;
    if (a == 0)
        return 0;
    if (n == 1)
        return (double)fix * 0x1p-64;
    /* scale so that the quotient has 64 bits or more, then its remainder matters only as "not zero" */
    int a_bits =
        (uint64_t)(a >> 64) ? 128 - __builtin_clzll((uint64_t)(a >> 64)) : 64 - __builtin_clzll((uint64_t)a);
    int n_bits = 64 - __builtin_clzll(n);
    int up = 64 + n_bits - a_bits;
    if (up < 0)
        up = 0;
    a <<= up;
    unsigned __int128 q = a / n;
    if (q * n != a)
        q |= 1;
    double r = ldexp((double)q, -FIX_SCALE - up);
    return neg ? -r : r;
}

double ts_xsum_mean(const struct ts_xsum *s, uint64_t n)
{
    double r;
    if (special_result(s, &r))
        return r;
    if (!s->wide)
        return fix_mean(s->fix, n);
    uint64_t limb[MEAN_GUARD_LIMBS + WIDE_LIMBS] = {0};
    bool neg = wide_limbs(s->wide, limb + MEAN_GUARD_LIMBS);
    uint64_t rest = 0;
    for (int i = MEAN_GUARD_LIMBS + WIDE_LIMBS - 1; i >= 0; i--) {
        unsigned __int128 a = (unsigned __int128)rest << 64 | limb[i];
        limb[i] = (uint64_t)(a / n);
        rest = (uint64_t)(a % n);
    }
    r = round_limbs(limb, MEAN_GUARD_LIMBS + WIDE_LIMBS, WIDE_LOW_EXP - 64 * MEAN_GUARD_LIMBS, rest != 0);
    return neg ? -r : r;
}
