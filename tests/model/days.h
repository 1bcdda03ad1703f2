/*
 * days.h - which days of a scan one summary may answer, counted plainly.
 *
 * Threads    any
 */
#ifndef TESTS_MODEL_DAYS_H
#define TESTS_MODEL_DAYS_H

#include "base/mem.h"
#include "storage/day.h"
#include "storage/scan.h"

/* struct sto_scan_spec's days for from_ms..to_ms, of which every whole day may be answered; the caller's (ts_free). NULL: the zone has no
 * such days. */
static inline uint8_t *t_days_of(int64_t from_ms, int64_t to_ms)
{
    int32_t h0 = sto_hour(from_ms), h1 = sto_hour(to_ms);
    uint8_t *days = ts_xcalloc((size_t)(h1 - h0) + 1, 1);
    struct sto_day day;
    for (int32_t h = h0; h <= h1; h = day.to) {
        if (!sto_day_of(h, &day)) {
            ts_free(days);
            return NULL;
        }
        bool whole = day.from * TS_HOUR_MS >= from_ms && day.to * TS_HOUR_MS - 1 <= to_ms;
        if (day.from >= h0)
            days[day.from - h0] = (uint8_t)((uint8_t)(day.to - day.from) | (whole ? STO_DAY_WHOLE : 0));
    }
    return days;
}

#endif
