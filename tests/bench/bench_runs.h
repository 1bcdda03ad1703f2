/*
 * bench_runs.h - times of the runs of a benchmark.
 */
#ifndef TESTS_BENCH_BENCH_RUNS_H
#define TESTS_BENCH_BENCH_RUNS_H

#include <stdint.h>
#include <time.h>

/** Processor time of all threads so far, nanoseconds: on a busy machine the honest figure. */
static inline int64_t bench_cpu_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/** Order of times, for qsort. */
static inline int bench_cmp_ns(const void *a, const void *b)
{
    return *(const int64_t *)a < *(const int64_t *)b ? -1 : 1;
}

#endif
