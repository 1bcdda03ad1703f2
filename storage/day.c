/*
 * day.c - see day.h.
 */
#include "storage/day.h"

#include "base/time.h"

bool sto_day_of(int32_t hour, struct sto_day *out)
{
    const struct ts_tz *zone = ts_tz_default();
    int64_t t = hour * TS_HOUR_MS, span_from, span_to, offset = ts_tz_span(zone, t, &span_from, &span_to),
            from = ts_floor_div(t + offset, TS_DAY_MS) * TS_DAY_MS - offset, to = from + TS_DAY_MS;
    /* as most days, far from a change of the clock, which may also repeat or leave out a midnight */
    bool plain = (span_from == INT64_MIN || from - span_from >= TS_DAY_MS) &&
                 (span_to == INT64_MAX || span_to - to >= TS_DAY_MS);
    if (!plain) {
        from = ts_calendar_floor(zone, t, 1, TS_UNIT_D);
        to = ts_calendar_next(zone, from, 1, TS_UNIT_D);
    }
    if (from % TS_HOUR_MS || to % TS_HOUR_MS || to - from > STO_DAY_MAX_HOURS * TS_HOUR_MS ||
        from < STO_MIN_TS_MS || to > STO_MAX_TS_MS)
        return false;
    *out = (struct sto_day){(int32_t)(from / TS_HOUR_MS), (int32_t)(to / TS_HOUR_MS)};
    return out->from <= hour && hour < out->to;
}

static bool less(const struct sto_summary *kind, struct ts_num a, struct ts_num b)
{
    return kind->is_int ? a.m < b.m : ts_num_double(a) < ts_num_double(b);
}

bool sto_day_add(struct sto_summary *day, const struct sto_summary *hour, uint32_t shift_ms)
{
    if (day->n == 0) {
        *day = *hour;
        day->first_off += shift_ms;
        day->last_off += shift_ms;
        return true;
    }
    if (day->is_int != hour->is_int)
        return false;
    day->n += hour->n;
    day->last_off = shift_ms + hour->last_off;
    day->last = hour->last;
    if (less(day, hour->min, day->min))
        day->min = hour->min;
    if (less(day, day->max, hour->max))
        day->max = hour->max;
    day->has_sum = day->has_sum && hour->has_sum && !__builtin_add_overflow(day->sum, hour->sum, &day->sum);
    if (!day->has_sum)
        day->sum = 0;
    return true;
}
