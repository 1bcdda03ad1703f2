/*
 * hits.c - see hits.h. Small means by inversion of a uniform number, larger ones by a normal distribution.
 */
#include "tests/hbase/hits.h"

#include <math.h>
#include <stdbool.h>

#define NORMAL_FROM 30.0

static double mean_of[HITS_DOMAINS];
static double none_of[HITS_DOMAINS][HITS_DAY]; /* probability of no hit */
static double part_of_day[HITS_DAY];

void hits_init(void)
{
    double all = 0;
    for (int d = 0; d < HITS_DOMAINS; d++)
        all += 1.0 / (d + 1);
    for (int h = 0; h < HITS_DAY; h++)
        part_of_day[h] = 1 + 0.6 * sin((h - 9) * 3.14159265358979 / 12);
    for (int d = 0; d < HITS_DOMAINS; d++) {
        mean_of[d] = HITS_A_HOUR / (all * (d + 1));
        for (int h = 0; h < HITS_DAY; h++)
            none_of[d][h] = exp(-mean_of[d] * part_of_day[h]);
    }
}

/* The n-th uniform number of a domain and an hour, in [0, 1) (splitmix64: Steele, Lea, Flood, OOPSLA 2014). */
static double uniform(unsigned domain, uint32_t hour, unsigned n)
{
    uint64_t z = ((uint64_t)hour << 32 | (uint64_t)domain << 4 | n) * 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

uint32_t hits_of(unsigned domain, uint32_t hour)
{
    double mean = mean_of[domain] * part_of_day[hour % HITS_DAY], u = uniform(domain, hour, 1);
    if (mean > NORMAL_FROM) {
        double z = sqrt(-2 * log(1 - u)) * cos(6.28318530717959 * uniform(domain, hour, 2));
        double n = floor(mean + sqrt(mean) * z + 0.5);
        return n > 0 ? (uint32_t)n : 0;
    }
    double p = none_of[domain][hour % HITS_DAY], sum = p;
    uint32_t k = 0;
    while (u >= sum && k < 1000) {
        p *= mean / ++k;
        sum += p;
    }
    return k;
}
