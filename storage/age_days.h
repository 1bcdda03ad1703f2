/*
 * age_days.h - adds summaries of hours up to summaries of days, which take their place (age.h).
 *
 * Threads    one thread
 * Cost       0.3 us an hour
 */
#ifndef STORAGE_AGE_DAYS_H
#define STORAGE_AGE_DAYS_H

#include "storage/aged.h"

struct sto_keep;

/* The day that is being added up. {.first = ...} to begin with. */
struct sto_age_days {
    int32_t first;     /* no day begins before this hour: there are days already */
    struct sto_day at; /* the present day; from == to: there is none */
    size_t pos;        /* of its series */
    struct sto_aged_day sum;
};
/* A day that is complete. */
struct sto_age_day {
    size_t pos;   /* of its series */
    int32_t hour; /* its first one */
    struct sto_aged sum;
};
/** Add an hour of the series at pos; hours come in the order of series, and of times. True: the day before is complete, and in out. */
bool sto_age_days_add(struct sto_age_days *d, size_t pos, int32_t hour, const struct sto_aged *a,
                      struct sto_age_day *out);
/** The last day; false: there is none. */
bool sto_age_days_end(struct sto_age_days *d, struct sto_age_day *out);
/** Release; idempotent. */
void sto_age_days_release(struct sto_age_days *d);

/** The beginning of the day that holds a time, ms. */
int64_t sto_age_days_floor(int64_t t_ms);
/** May the hours before to_ms of a series of summaries become days? Not before all of them are there, which is what the mark of the visible
 * series says. */
bool sto_age_days_ready(struct sto_catalog *catalog, const struct sto_keep *keep,
                        const struct sto_series *hours, int64_t to_ms);

#endif
