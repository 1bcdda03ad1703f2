/*
 * stalls_hist.h - a histogram of durations: 32 buckets for each power of two, so that a percentile is right to 3 %.
 *
 * Threads    one writer; read when it has ended
 * Source     the bucket layout of HdrHistogram (G. Tene)
 */
#ifndef TESTS_BENCH_STALLS_HIST_H
#define TESTS_BENCH_STALLS_HIST_H

#include <stdint.h>
#include <stdio.h>

#define HIST_BITS    5
#define HIST_BUCKETS ((64 - HIST_BITS) << HIST_BITS)

struct hist {
    uint64_t n, buckets[HIST_BUCKETS];
    int64_t max_ns;
};

static inline void hist_add(struct hist *h, int64_t ns)
{
    uint64_t v = ns > 0 ? (uint64_t)ns : 0;
    unsigned log = v >> HIST_BITS ? 63 - (unsigned)__builtin_clzll(v) - HIST_BITS : 0;
    h->buckets[((uint64_t)log << HIST_BITS) + (v >> log)]++;
    h->n++;
    h->max_ns = ns > h->max_ns ? ns : h->max_ns;
}

static inline void hist_join(struct hist *to, const struct hist *from)
{
    for (unsigned i = 0; i < HIST_BUCKETS; i++)
        to->buckets[i] += from->buckets[i];
    to->n += from->n;
    to->max_ns = from->max_ns > to->max_ns ? from->max_ns : to->max_ns;
}

/* Upper end of a bucket. */
static inline double hist_bound_ms(unsigned i)
{
    unsigned log = i >> HIST_BITS > 1 ? (i >> HIST_BITS) - 1 : 0;
    return (double)((uint64_t)(i - (log << HIST_BITS) + 1) << log) / 1e6;
}

/* Duration that a share of all does not exceed. */
static inline double hist_at_ms(const struct hist *h, double share)
{
    uint64_t want = (uint64_t)((double)h->n * share + 0.999999), n = 0;
    for (unsigned i = 0; i < HIST_BUCKETS; i++)
        if ((n += h->buckets[i]) >= want && n)
            return hist_bound_ms(i) < (double)h->max_ns / 1e6 ? hist_bound_ms(i) : (double)h->max_ns / 1e6;
    return (double)h->max_ns / 1e6;
}

/* One line for each power of two that something fell into. */
static inline void hist_print_bars(const struct hist *h)
{
    for (unsigned log = 0; log < 64 - HIST_BITS; log++) {
        uint64_t n = 0;
        for (unsigned i = 0; i < 1u << HIST_BITS; i++)
            n += h->buckets[(log << HIST_BITS) + i];
        if (!n)
            continue;
        printf("    <= %9.3f ms %9llu ", hist_bound_ms((log << HIST_BITS) + (1u << HIST_BITS) - 1),
               (unsigned long long)n);
        for (uint64_t k = 1; k <= n; k *= 2)
            putchar('#');
        putchar('\n');
    }
}

static inline void hist_print(const struct hist *h, const char *name)
{
    printf("%-22s n=%-8llu p50=%.3f p90=%.3f p99=%.3f p99.9=%.3f max=%.3f ms\n", name,
           (unsigned long long)h->n, hist_at_ms(h, 0.5), hist_at_ms(h, 0.9), hist_at_ms(h, 0.99),
           hist_at_ms(h, 0.999), (double)h->max_ns / 1e6);
    hist_print_bars(h);
}

#endif
