/*
 * times.c - see times.h.
 *
 * Not here   distribution to series (sort.c)
 */
#include "storage/engine/bulk/times.h"

#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"

#define INSERT_MAX 8u  /* so many points are sorted by insertion */
#define RADIX_MIN  64u /* from so many points on they are sorted by radix */
#define DIGIT_BITS 8u
#define DIGITS     (1u << DIGIT_BITS)

/* --- by merging --- */

static inline int64_t time_of(const struct sto_bulk_point *p)
{
    return (int64_t)p->hour * ((int64_t)1 << 32) + sto_meta_off(p->meta);
}

/* Merge a[0..n) and a[n..m) into out; of equal ones those of the first part come first. */
static void merge_halves(const struct sto_bulk_point *a, size_t n, size_t m, struct sto_bulk_point *out)
{
    size_t i = 0, j = n;
    while (i < n &&
           j < m) { /* no branch on the comparison: of points in no order it is right as often as wrong */
        bool second = time_of(&a[j]) < time_of(&a[i]);
        *out++ = a[second ? j : i];
        j += second;
        i += !second;
    }
    memcpy(out, a + i, (n - i) * sizeof *a);
    memcpy(out + (n - i), a + j, (m - j) * sizeof *a);
}

static void insert(struct sto_bulk_point *p, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        struct sto_bulk_point x = p[i];
        size_t k = i;
        for (; k > 0 && time_of(&p[k - 1]) > time_of(&x); k--)
            p[k] = p[k - 1];
        p[k] = x;
    }
}

/* Bottom up, since series may have millions of points. */
static void merge_sort(struct sto_bulk_point *p, size_t n, struct sto_bulk_point *aux)
{
    struct sto_bulk_point *from = p, *to = aux;
    for (size_t i = 0; i < n; i += INSERT_MAX)
        insert(p + i, n - i < INSERT_MAX ? n - i : INSERT_MAX);
    for (size_t len = INSERT_MAX; len < n; len *= 2) {
        for (size_t i = 0; i < n; i += 2 * len) {
            size_t left = n - i, m = left < 2 * len ? left : 2 * len;
            merge_halves(from + i, m < len ? m : len, m, to + i);
        }
        struct sto_bulk_point *swap = from;
        from = to;
        to = swap;
    }
    if (from != p)
        memcpy(p, from, n * sizeof *p);
}

/* --- by radix --- */

/* Sort keys a by the bits lo..hi, using b. Returns the one that has them. */
static uint64_t *radix(uint64_t *a, uint64_t *b, size_t n, unsigned lo, unsigned hi)
{
    for (unsigned at = lo; at < hi; at += DIGIT_BITS) {
        size_t begin[DIGITS] = {0}, sum = 0;
        for (size_t i = 0; i < n; i++)
            begin[a[i] >> at & (DIGITS - 1)]++;
        for (unsigned d = 0; d < DIGITS; d++) {
            size_t count = begin[d];
            begin[d] = sum;
            sum += count;
        }
        for (size_t i = 0; i < n; i++)
            b[begin[a[i] >> at & (DIGITS - 1)]++] = a[i];
        uint64_t *swap = a;
        a = b;
        b = swap;
    }
    return a;
}

/* Room for two arrays of n keys. */
static bool reserve(struct sto_bulk_times *t, size_t n)
{
    if (2 * n <= t->cap)
        return true;
    ts_free(t->keys);
    t->cap = 2 * (n + n / 4);
    t->keys = ts_try_malloc(t->cap * sizeof *t->keys);
    if (!t->keys)
        t->cap = 0;
    return t->keys != NULL;
}

/* Sorted keys of the points: the time since the first hour, then the place, in the lowest *out_bits bits. NULL: they do not fit, or there is no memory. */
static const uint64_t *sort_keys(struct sto_bulk_times *t, const struct sto_bulk_point *p, size_t n,
                                 unsigned *out_bits)
{
    int64_t lo = p[0].hour, hi = p[0].hour;
    for (size_t i = 1; i < n; i++) {
        lo = p[i].hour < lo ? p[i].hour : lo;
        hi = p[i].hour > hi ? p[i].hour : hi;
    }
    unsigned bits = ts_bit_len(n - 1);
    if (ts_bit_len((uint64_t)(hi - lo + 1) * TS_HOUR_MS) + bits > 64 || !reserve(t, n))
        return NULL;
    uint64_t differ = 0, first = (uint64_t)(p[0].hour - lo) * TS_HOUR_MS + sto_meta_off(p[0].meta);
    for (size_t i = 0; i < n; i++) {
        uint64_t at = (uint64_t)(p[i].hour - lo) * TS_HOUR_MS + sto_meta_off(p[i].meta);
        differ |= at ^ first;
        t->keys[i] = at << bits | i;
    }
    *out_bits = bits;
    unsigned low = differ ? (unsigned)__builtin_ctzll(differ) : 0;
    return radix(t->keys, t->keys + n, n, bits + low, bits + ts_bit_len(differ));
}

/* Move the points to out, in the order of keys; keys NULL: in their own order, and out may be p. Of equal times the last one stays. Returns how many are left. */
static size_t gather(const struct sto_bulk_point *p, const uint64_t *keys, size_t n, unsigned bits,
                     struct sto_bulk_point *out)
{
    uint64_t mask = ((uint64_t)1 << bits) - 1;
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        const struct sto_bulk_point *x = &p[keys ? keys[i] & mask : i];
        bool same =
            i + 1 < n && (keys ? keys[i] >> bits == keys[i + 1] >> bits : time_of(x) == time_of(x + 1));
        if (!same || sto_meta_op(x->meta) == STO_OP_KEEP)
            out[kept++] = *x;
    }
    return kept;
}

/* --- all of it --- */

struct sto_bulk_point *sto_bulk_sort_times(struct sto_bulk_times *t, struct sto_bulk_point *p, size_t n,
                                           struct sto_bulk_point *aux, size_t *out_n)
{
    bool sorted = true, unique = true;
    for (size_t i = 1; i < n && sorted; i++) {
        sorted = time_of(&p[i - 1]) <= time_of(&p[i]);
        unique &= time_of(&p[i - 1]) != time_of(&p[i]);
    }
    *out_n = n;
    if (sorted && unique)
        return p;
    unsigned bits = 0;
    const uint64_t *keys = !sorted && n >= RADIX_MIN ? sort_keys(t, p, n, &bits) : NULL;
    if (!sorted && !keys)
        merge_sort(p, n, aux);
    struct sto_bulk_point *out = keys ? aux : p;
    *out_n = gather(p, keys, n, bits, out);
    return out;
}
