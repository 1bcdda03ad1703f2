/*
 * num.c - numbers as text, strict and without locale.
 *
 * Threads    any; the C locale object is made once
 * Invariant  a text read back after printing gives the same bits; a DEC gives the double that the text stands
 *            for
 * Source     exact small powers of ten: W. D. Clinger, "How to read floating point numbers accurately", PLDI
 *            1990
 * Not here   shortest digits of a double (numprint.c)
 */
#include "base/num.h"

#include "base/num_int.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#define NUM_MAX_MANTISSA (1ll << 53) /* integers up to here are exact as doubles */
#define NUM_SIG_DIGITS   19          /* decimal digits that always fit 64 bits */
/* Digits handed to strtod_l: 767 decide every double (halfway points of the smallest subnormals), one more
 * says "and a bit". */
#define NUM_STRTOD_DIGITS 780
#define NUM_EXP_CLAMP     99999 /* far beyond any double; keeps exponent arithmetic small */

const double ts_pow10[TS_NUM_MAX_EXP + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                             1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                             1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* A decimal text taken apart. */
struct num_parts {
    const char *digits; /* first mantissa digit or the point; borrowed from the text */
    const char *mend;   /* end of the mantissa */
    uint64_t m;         /* first NUM_SIG_DIGITS significant digits */
    int64_t e10;        /* value = m * 10^e10, when exact */
    bool neg;           /* sign */
    bool exact;         /* no digit but zeros is missing in m */
};

static locale_t num_c_locale; /* made once; not freed: glibc keeps this one static */
static pthread_once_t num_once = PTHREAD_ONCE_INIT;

static void num_make_locale(void)
{
    num_c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!num_c_locale)
        TS_BUG("no C locale");
}

locale_t ts_num__c_locale(void)
{
    pthread_once(&num_once, num_make_locale);
    return num_c_locale;
}

static inline bool num_is_digit(char c)
{
    return (unsigned char)(c - '0') <= 9;
}

static struct ts_num num_raw(double d)
{
    struct ts_num v = {.kind = TS_NUM_RAW};
    memcpy(&v.m, &d, 8);
    return v;
}

/* ---- integers ---- */

/* Bytes of the character at p, so that an error never shows half a character. */
static int num_char_bytes(const char *p, const char *end)
{
    unsigned char c = (unsigned char)*p;
    int n = c < 0xc0 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
    return end - p < n ? 1 : n;
}

int ts_num_parse_int(struct ts_slice s, int64_t *out, struct ts_error *err)
{
    int n = s.n > 200 ? 200 : (int)s.n;
    if (s.n == 0)
        return ts_error_set(err, TS_EPARSE, "Empty string");
    const char *p = s.p, *end = s.p + s.n;
    bool neg = *p == '-';
    if (neg || *p == '+') {
        if (s.n == 1)
            return ts_error_set(err, TS_EPARSE, "Just a sign, no value: %.*s", n, s.p);
        p++;
    }
    if (end - p > NUM_SIG_DIGITS)
        return ts_error_set(err, TS_EPARSE, "Value too long: %.*s", n, s.p);
    uint64_t m = 0;
    for (; p < end; p++) {
        if (!num_is_digit(*p))
            return ts_error_set(err, TS_EPARSE, "Invalid character '%.*s' in %.*s", num_char_bytes(p, end), p,
                                n, s.p);
        m = m * 10 + (uint64_t)(*p - '0');
    }
    if (m > (uint64_t)INT64_MAX + (neg ? 1 : 0))
        return ts_error_set(err, TS_EPARSE, "Overflow in %.*s", n, s.p);
    *out = (int64_t)(neg ? 0 - m : m);
    return 0;
}

bool ts_num_parse_hex(struct ts_slice s, uint32_t *out)
{
    uint32_t v = 0;
    if (s.n == 0 || s.n > 8)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i], low = (char)(c | 0x20);
        bool digit = c >= '0' && c <= '9';
        if (!digit && (low < 'a' || low > 'f'))
            return false;
        v = v << 4 | (uint32_t)(digit ? c - '0' : low - 'a' + 10);
    }
    *out = v;
    return true;
}

/* ---- decimals ---- */

/* Take a decimal apart: [sign] digits [. digits] [e [sign] digits], at least one mantissa digit, nothing
 * after. */
static bool num_split(struct ts_slice s, struct num_parts *out)
{
    const char *p = s.p, *end = s.p + s.n;
    *out = (struct num_parts){.exact = true};
    if (p < end && (*p == '-' || *p == '+'))
        out->neg = *p++ == '-';
    out->digits = p;
    bool point = false, any = false;
    int n_sig = 0;
    for (; p < end; p++) {
        if (*p == '.' && !point) {
            point = true;
            continue;
        }
        if (!num_is_digit(*p))
            break;
        any = true;
        if (n_sig < NUM_SIG_DIGITS) {
            out->m = out->m * 10 + (uint64_t)(*p - '0');
            n_sig += out->m != 0;
            out->e10 -= point;
        } else {
            out->exact = out->exact && *p == '0';
            out->e10 += !point;
        }
    }
    out->mend = p;
    if (!any)
        return false;
    if (p < end) {
        if (*p != 'e' && *p != 'E')
            return false;
        bool neg = ++p < end && *p == '-';
        if (p < end && (*p == '-' || *p == '+'))
            p++;
        if (p == end)
            return false;
        int64_t e = 0;
        for (; p < end; p++) {
            if (!num_is_digit(*p))
                return false;
            if (e < INT64_MAX / 100)
                e = e * 10 + (*p - '0');
        }
        out->e10 += neg ? -e : e;
    }
    return true;
}

/* Correctly rounded value of any decimal, sign left out: significant digits and exponent go to strtod_l. */
static double num_strtod(const struct num_parts *parts)
{
    char text[NUM_STRTOD_DIGITS + 16];
    size_t n = 0;
    int64_t e10 = parts->e10;
    bool more = false;
    size_t n_sig = 0;
    for (const char *p = parts->digits; p < parts->mend; p++) {
        if (*p == '.' || (n_sig == 0 && *p == '0'))
            continue;
        n_sig++;
        /* e10 counts digits after the first 19 as if they were dropped: take each one that is written back in
         */
        if (n_sig > NUM_SIG_DIGITS && n < NUM_STRTOD_DIGITS)
            e10--;
        if (n < NUM_STRTOD_DIGITS)
            text[n++] = *p;
        else
            more = more || *p != '0';
    }
    if (more) {
        text[n++] = '1';
        e10--;
    }
    if (e10 > NUM_EXP_CLAMP)
        e10 = NUM_EXP_CLAMP;
    if (e10 < -NUM_EXP_CLAMP)
        e10 = -NUM_EXP_CLAMP;
    text[n++] = 'e';
    n += ts_num_print_int(e10, text + n);
    text[n] = 0;
    return strtod_l(text, NULL, ts_num__c_locale());
}

/* Keep the text's own mantissa and exponent if they fit; shift zeros only where needed. */
static bool num_as_dec(const struct num_parts *parts, struct ts_num *out)
{
    uint64_t m = parts->m;
    int64_t e = parts->e10;
    if (!parts->exact || (m == 0 && parts->neg))
        return false;
    if (m == 0) {
        *out = (struct ts_num){.m = 0, .kind = TS_NUM_DEC};
        out->exp = (uint8_t)(e > 0 ? 0 : e < -TS_NUM_MAX_EXP ? TS_NUM_MAX_EXP : -e);
        return true;
    }
    while ((m > NUM_MAX_MANTISSA || e < -TS_NUM_MAX_EXP) && m % 10 == 0) {
        m /= 10;
        e++;
    }
    while (e > 0 && m <= NUM_MAX_MANTISSA / 10) {
        m *= 10;
        e--;
    }
    if (m > NUM_MAX_MANTISSA || e > 0 || e < -TS_NUM_MAX_EXP)
        return false;
    *out =
        (struct ts_num){.m = parts->neg ? -(int64_t)m : (int64_t)m, .kind = TS_NUM_DEC, .exp = (uint8_t)-e};
    return true;
}

static int num_parse_double(struct ts_slice s, struct ts_num *out, struct ts_error *err)
{
    struct num_parts parts;
    if (!num_split(s, &parts))
        return ts_error_set(err, TS_EPARSE, "For input string: \"%.*s\"", s.n > 200 ? 200 : (int)s.n, s.p);
    if (num_as_dec(&parts, out))
        return 0;
    double d;
    if (parts.m == 0)
        d = 0;
    else if (parts.exact && parts.m <= NUM_MAX_MANTISSA && parts.e10 >= 0 && parts.e10 <= TS_NUM_MAX_EXP)
        d = (double)parts.m * ts_pow10[parts.e10];
    else
        d = num_strtod(&parts);
    if (isinf(d))
        return ts_error_set(err, TS_EINVAL, "value is NaN or Infinite: %s",
                            parts.neg ? "-Infinity" : "Infinity");
    *out = num_raw(parts.neg ? -d : d);
    return 0;
}

/* Anything that the short path refused: distinguish integers from doubles as OpenTSDB does, by '.', 'e', 'E'.
 */
static int num_parse_any(struct ts_slice s, struct ts_num *out, struct ts_error *err)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] == '.' || s.p[i] == 'e' || s.p[i] == 'E')
            return num_parse_double(s, out, err);
    int64_t v;
    TS_TRY(ts_num_parse_int(s, &v, err));
    *out = (struct ts_num){.m = v, .kind = TS_NUM_INT};
    return 0;
}

int ts_num_parse(struct ts_slice s, struct ts_num *out, struct ts_error *err)
{
    /* 17 bytes hold at most 15 digits beside sign and point: no overflow, mantissa below 2^53 */
    if (s.n == 0 || s.n > 17)
        return num_parse_any(s, out, err);
    const char *p = s.p, *end = s.p + s.n;
    bool neg = *p == '-';
    p += neg || *p == '+';
    const char *digits = p;
    int64_t m = 0;
    while (p < end && num_is_digit(*p))
        m = m * 10 + (*p++ - '0');
    if (p == end) {
        if (p == digits)
            return num_parse_any(s, out, err);
        *out = (struct ts_num){.m = neg ? -m : m, .kind = TS_NUM_INT};
        return 0;
    }
    if (*p != '.')
        return num_parse_any(s, out, err);
    const char *frac = ++p;
    while (p < end && num_is_digit(*p))
        m = m * 10 + (*p++ - '0');
    if (p != end || p - digits < 2 || p - digits > 16 || (neg && m == 0))
        return num_parse_any(s, out, err);
    *out = (struct ts_num){.m = neg ? -m : m, .kind = TS_NUM_DEC, .exp = (uint8_t)(p - frac)};
    return 0;
}

struct ts_num ts_num_from_double(double d)
{
    if (d == 0 || !isfinite(d))
        return signbit(d) || d != 0 ? num_raw(d) : (struct ts_num){.m = 0, .kind = TS_NUM_DEC};
    for (uint8_t k = 0; k <= 17; k++) {
        double t = d * ts_pow10[k];
        if (fabs(t) > (double)NUM_MAX_MANTISSA)
            break;
        int64_t m = (int64_t)(t < 0 ? t - 0.5 : t + 0.5);
        if (m == 0 || m > NUM_MAX_MANTISSA || m < -NUM_MAX_MANTISSA)
            continue;
        /* d and the product are each off by half an ulp at most: farther from an integer means no match, skip
         * the division */
        if (fabs(t - (double)m) <= fabs(t) * 0x1p-51 && (double)m / ts_pow10[k] == d)
            return (struct ts_num){.m = m, .kind = TS_NUM_DEC, .exp = k};
    }
    return num_raw(d);
}

int ts_num_parse_bytes(struct ts_slice s, uint64_t *out)
{
    static const char units[] = "kmgtpe";
    uint64_t v = 0;
    size_t i = 0;
    for (; i < s.n && num_is_digit(s.p[i]); i++)
        if (__builtin_mul_overflow(v, 10u, &v) || __builtin_add_overflow(v, (uint64_t)(s.p[i] - '0'), &v))
            return TS_EPARSE;
    if (i == 0)
        return TS_EPARSE;
    unsigned shift = 0;
    const char *unit = i < s.n ? memchr(units, s.p[i] | 0x20, sizeof(units) - 1) : NULL;
    if (unit) {
        shift = (unsigned)(unit - units + 1) * 10;
        i++;
        if (i + 1 < s.n && s.p[i] == 'i')
            i++;
    }
    if (i < s.n && (s.p[i] | 0x20) == 'b')
        i++;
    if (i != s.n || (shift && v >> (64 - shift)))
        return TS_EPARSE;
    *out = v << shift;
    return 0;
}
