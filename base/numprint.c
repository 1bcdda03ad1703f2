/*
 * numprint.c - numbers to text: the fewest digits that read back as the same double.
 *
 * At most 15 digits: two different decimals of up to 15 digits never round to one normal double, so the
 * first scale 10^k at which the double is an integer again gives the shortest text. Others go through printf
 * and back.
 * Threads    any
 */
#include "base/num.h"

#include "base/num_int.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* d.ddd x 10^exp: digits without point, no trailing zeros but the first digit. */
struct num_digits {
    char p[20]; /* '0'..'9', not terminated */
    int n;      /* digits, at least 1 */
    int exp;    /* power of ten of the first digit */
};

/* Unsigned to text; returns digits written. */
static size_t num_put_u64(uint64_t v, char *out)
{
    char tmp[20];
    size_t n = 0;
    do {
        tmp[sizeof(tmp) - ++n] = (char)('0' + v % 10);
        v /= 10;
    } while (v);
    memcpy(out, tmp + sizeof(tmp) - n, n);
    return n;
}

size_t ts_num_print_int(int64_t v, char *out)
{
    size_t neg = v < 0;
    out[0] = '-';
    size_t n = neg + num_put_u64(neg ? 0 - (uint64_t)v : (uint64_t)v, out + neg);
    return n;
}

size_t ts_num_print_i128(__int128 v, char *out)
{
    size_t neg = v < 0;
    unsigned __int128 m = neg ? 0 - (unsigned __int128)v : (unsigned __int128)v;
    const uint64_t chunk = 10000000000000000000ull; /* 10^19 */
    char tmp[40];
    size_t n = 0;
    while (m > UINT64_MAX) {
        uint64_t low = (uint64_t)(m % chunk);
        m /= chunk;
        for (int i = 0; i < 19; i++, low /= 10)
            tmp[sizeof(tmp) - ++n] = (char)('0' + low % 10);
    }
    out[0] = '-';
    size_t head = neg + num_put_u64((uint64_t)m, out + neg);
    memcpy(out + head, tmp + sizeof(tmp) - n, n);
    return head + n;
}

/* Digits of m, where value = m / 10^k. */
static void num_digits_of(uint64_t m, int k, struct num_digits *out)
{
    out->n = (int)num_put_u64(m, out->p);
    out->exp = out->n - 1 - k;
    while (out->n > 1 && out->p[out->n - 1] == '0')
        out->n--;
}

/* Nearest decimal of n digits; does it read back as a? printf's text looks like d.ddde-xxx. */
static bool num_try_digits(double a, int n, struct num_digits *out)
{
    char text[40], back[40];
    snprintf(text, sizeof(text), "%.*e", n - 1, a);
    const char *p = text;
    for (out->n = 0; *p != 'e'; p++)
        if (*p >= '0' && *p <= '9') /* the point may be any sign of the process's locale */
            out->p[out->n++] = *p;
    out->exp = (int)strtol(p + 1, NULL, 10);
    snprintf(back, sizeof(back), "%.*se%d", out->n, out->p, out->exp - out->n + 1);
    return strtod_l(back, NULL, ts_num__c_locale()) == a;
}

/* Digits of a > 0: the fewest, and of those the nearest. min_n counts for subnormals alone: others have no
 * one-digit decimal that is not exact in two digits. */
static void num_shortest(double a, int min_n, struct num_digits *out)
{
    if (a <= 0x1p53 && a == (double)(int64_t)a) {
        num_digits_of((uint64_t)a, 0, out);
    } else if (a >= 0x1p-1022) {
        int exp10;
        uint64_t m = ts_num__shortest(a, &exp10);
        num_digits_of(m, -exp10, out);
    } else {
        while (!num_try_digits(a, min_n, out) && min_n < 17)
            min_n++;
        while (out->n > 1 && out->p[out->n - 1] == '0')
            out->n--;
    }
}

/* Words for what has no digits; 0 = it has some. */
static size_t num_put_word(double d, char *out)
{
    const char *w = isnan(d) ? "NaN" : isinf(d) ? (d < 0 ? "-Infinity" : "Infinity") : NULL;
    if (!w && d == 0)
        w = signbit(d) ? "-0.0" : "0.0";
    if (!w)
        return 0;
    memcpy(out, w, strlen(w));
    return strlen(w);
}

/* Plain layout, always with a point and a digit on both sides. */
static size_t num_put_plain(const struct num_digits *dg, char *out)
{
    size_t n = 0;
    if (dg->exp < 0) {
        out[n++] = '0';
        out[n++] = '.';
        for (int i = -1; i > dg->exp; i--)
            out[n++] = '0';
        memcpy(out + n, dg->p, (size_t)dg->n);
        return n + (size_t)dg->n;
    }
    for (int i = 0; i <= dg->exp; i++)
        out[n++] = i < dg->n ? dg->p[i] : '0';
    out[n++] = '.';
    if (dg->n <= dg->exp + 1)
        out[n++] = '0';
    for (int i = dg->exp + 1; i < dg->n; i++)
        out[n++] = dg->p[i];
    return n;
}

size_t ts_num_print_java(double d, char *out)
{
    size_t n = num_put_word(d, out);
    if (n)
        return n;
    double a = fabs(d);
    struct num_digits dg;
    num_shortest(a, 2, &dg);
    if (d < 0)
        out[n++] = '-';
    if (a >= 1e-3 && a < 1e7)
        return n + num_put_plain(&dg, out + n);
    out[n++] = dg.p[0];
    out[n++] = '.';
    if (dg.n == 1)
        out[n++] = '0';
    memcpy(out + n, dg.p + 1, (size_t)(dg.n - 1));
    n += (size_t)(dg.n - 1);
    out[n++] = 'E';
    return n + ts_num_print_int(dg.exp, out + n);
}

size_t ts_num_print_double(double d, char *out)
{
    size_t n = num_put_word(d, out);
    if (n)
        return n;
    struct num_digits dg;
    num_shortest(fabs(d), 1, &dg);
    if (d < 0)
        out[n++] = '-';
    if (dg.exp >= -5 && dg.exp < 16)
        return n + num_put_plain(&dg, out + n);
    out[n++] = dg.p[0];
    if (dg.n > 1)
        out[n++] = '.';
    memcpy(out + n, dg.p + 1, (size_t)(dg.n - 1));
    n += (size_t)(dg.n - 1);
    out[n++] = 'e';
    out[n++] = dg.exp < 0 ? '-' : '+';
    unsigned e = (unsigned)(dg.exp < 0 ? -dg.exp : dg.exp);
    if (e < 10)
        out[n++] = '0';
    return n + num_put_u64(e, out + n);
}
