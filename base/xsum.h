/*
 * xsum.h - exact sums of doubles: the order of addition never shows in an answer.
 *
 * A sum is kept as a 128-bit fixed-point number in units of 2^-64 while every addend fits exactly; one that
 * does not moves the whole sum into a wide accumulator (all doubles fit). The result is the exact sum,
 * rounded once (half to even). So an answer has the same digits before and after flush, compaction, restart,
 * and with any number of workers.
 * Source     R. M. Neal, "Fast Exact Summation Using Small and Large Superaccumulators" (2015); ours has one
 *            fixed-point word first, because metrics rarely leave it
 * Threads    plain value, one thread at a time
 * Cost       1.6 ns an addend in the fixed-point word, 2.6 ns in the wide accumulator; sum and mean 15 and 30
 *            ns, wide 150 and 380 ns
 */
#ifndef BASE_XSUM_H
#define BASE_XSUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ts_budget;
struct ts_xsum_wide; /* 70 signed chunks, 576 bytes; private */

struct ts_xsum {
    __int128 fix;              /* sum in units of 2^-64, while wide == NULL */
    struct ts_xsum_wide *wide; /* owned; NULL until an addend did not fit */
    uint8_t special;           /* bits: 1 saw NaN, 2 saw +inf, 4 saw -inf */
};

/** Zero. {0} is the same. */
static inline void ts_xsum_init(struct ts_xsum *s)
{
    s->fix = 0;
    s->wide = NULL;
    s->special = 0;
}
/**
 * Count the wide parts that this thread makes from now on in an account, whatever its limit says; whoever adds looks at the
 * limit now and then. A wide part is given back to the account it was taken from, which must live as long.
 *
 * @param b  NULL = they are not counted
 * @return the account until now, to be set again afterwards
 */
struct ts_budget *ts_xsum_account(struct ts_budget *b);
/** Free the wide part. Idempotent. */
void ts_xsum_release(struct ts_xsum *s);
/** Add one double; any value. */
void ts_xsum_add(struct ts_xsum *s, double d);
/** Add n doubles: the same result as n calls, faster. */
void ts_xsum_add_n(struct ts_xsum *s, const double *d, size_t n);
/** Add a 64- or 128-bit integer exactly. */
void ts_xsum_add_i128(struct ts_xsum *s, __int128 v);
/** Add another sum exactly. */
void ts_xsum_merge(struct ts_xsum *s, const struct ts_xsum *other);
/** The exact sum rounded to double once; a sum of zeros is +0. NaN or both infinities give NaN. */
double ts_xsum_get(const struct ts_xsum *s);
/** The sum divided by n, both exact, rounded once (n >= 1). */
double ts_xsum_mean(const struct ts_xsum *s, uint64_t n);
/** May it be stored as one 128-bit word? (wide == NULL and special == 0) */
static inline bool ts_xsum_is_fixed(const struct ts_xsum *s)
{
    return !s->wide && !s->special;
}

#endif
