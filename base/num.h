/*
 * num.h - strict, locale-free text <-> numbers.
 *
 * A decimal is kept as the parser sees it: mantissa and power of ten, so that log and files stay small
 * and the double is made once. Value of a decimal: (double)m / 10^exp, correctly rounded because
 * |m| <= 2^53 and exp <= 22 (W. D. Clinger, "How to read floating point numbers accurately", PLDI 1990).
 */
#ifndef BASE_NUM_H
#define BASE_NUM_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum ts_num_kind {
    TS_NUM_INT, /* m is the integer */
    TS_NUM_DEC, /* double (double)m / 10^exp; |m| <= 2^53, exp <= TS_NUM_MAX_EXP */
    TS_NUM_RAW, /* double whose bits are m: everything else that is finite, and -0.0 */
};
#define TS_NUM_MAX_EXP 22

struct ts_num {
    int64_t m;    /* see kind */
    uint8_t kind; /* enum ts_num_kind */
    uint8_t exp;  /* digits after the point, DEC only */
};

/* Powers of ten 10^0..10^22, exact as doubles. */
extern const double ts_pow10[TS_NUM_MAX_EXP + 1];

/** The double a number stands for. */
static inline double ts_num_double(struct ts_num v)
{
    if (v.kind == TS_NUM_INT)
        return (double)v.m;
    if (v.kind == TS_NUM_DEC)
        return (double)v.m / ts_pow10[v.exp];
    double d;
    __builtin_memcpy(&d, &v.m, 8);
    return d;
}
/** A double as DEC if it has a short decimal form (tries exp 0..17 and checks the bits come back), else RAW. */
struct ts_num ts_num_from_double(double d);

/** Parse a value as OpenTSDB classifies it: no '.', 'e', 'E' -> integer (sign, digits, 64 bits); else a double.
 *  @return 0
 *          TS_EPARSE  text per docs/OPENTSDB.md, section 1.4 ("Invalid character 'x' in xyz", "Overflow in S", "Empty string",
 *                     "Just a sign, no value: +", "Value too long: S") in err (may be NULL)
 *          TS_EINVAL  NaN or infinite (also 1e400); text in err
 *                     ("value is NaN or Infinite: -Infinity")
 *  A double that can't be read: "For input string: \"1.5x\"". Hexadecimal, "1.5f" and blanks are refused.
 *  Cost: no allocation; ~10 ns for short decimals. Uses strtod_l of the C locale only beyond 19 digits or |exp| > 22. */
int ts_num_parse(struct ts_slice s, struct ts_num *out, struct ts_error *err);
/** Integer with the same messages. */
int ts_num_parse_int(struct ts_slice s, int64_t *out, struct ts_error *err);
/** Read 1 to 8 hexadecimal digits in any case; false if it is anything else. */
bool ts_num_parse_hex(struct ts_slice s, uint32_t *out);

/* Printing: none of these functions writes a terminating zero. */
#define TS_NUM_TEXT_BYTES 40
/** Shortest decimal text that reads back as the same double, as Java's Double.toString lays it out: always a '.', plain for
 *  1e-3 <= |v| < 1e7, else d.dddE[-]n; "NaN", "Infinity". Returns length; out has TS_NUM_TEXT_BYTES.
 *  Cost: ~60 ns; the first call for a fraction makes a table of powers (2.6 ms). */
size_t ts_num_print_java(double d, char *out);
/** The same digits in plain style for CSV and put lines: 0.1, 100, 1e+20 in C style with the fewest digits;
 * always holds
 *  '.', 'e' or 'E' so that reading it gives a double again ("7.0"). */
size_t ts_num_print_double(double d, char *out);
/** Integer as decimal text. */
size_t ts_num_print_int(int64_t v, char *out);
/** 128-bit integer as decimal text (40 bytes are enough). */
size_t ts_num_print_i128(__int128 v, char *out);
/** Bytes with a unit: "64k", "32MiB", "1G" (powers of 1024), plain digits; TS_EPARSE otherwise. */
int ts_num_parse_bytes(struct ts_slice s, uint64_t *out);

#endif
