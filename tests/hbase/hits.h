/*
 * hits.h - hits of domains by hour, the same in every run: what schema.c stores and asks for.
 *
 * Domain r (from 0) has 1 / (r + 1) of the hits of the first one (Zipf); the hours of the day differ; the numbers are drawn from a Poisson
 * distribution by a hash of domain and hour, so that any of them can be computed alone. Most domains have no hits in most hours.
 * Threads    hits_init first; then pure functions
 */
#ifndef TESTS_HBASE_HITS_H
#define TESTS_HBASE_HITS_H

#include <stdint.h>

enum { HITS_DOMAINS = 5000, HITS_A_HOUR = 2000, HITS_DAY = 24 };
#define HITS_FIRST_HOUR 464592u /* since 1970: 2023-01-01T00 UTC */

/** Prepare the tables of means. */
void hits_init(void);
/** Hits of a domain in an hour, counted from HITS_FIRST_HOUR. */
uint32_t hits_of(unsigned domain, uint32_t hour);

#endif
