/*
 * time.h - clocks, OpenTSDB's time forms, calendars of time zones.
 *
 * Time stamps are int64_t milliseconds since the Unix epoch, UTC; all divisions are floor divisions, so times
 * before 1970 work. Zone rules come from the system's
 * time zone files (package tzdata).
 * Threads    everything from any thread; a struct ts_tz is immutable after ts_tz_open
 */
#ifndef BASE_TIME_H
#define BASE_TIME_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

#define TS_HOUR_MS 3600000ll
#define TS_DAY_MS  86400000ll

/** Floor division and remainder for b > 0. */
static inline int64_t ts_floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}
/** What is left: 0 <= result < b. */
static inline int64_t ts_floor_mod(int64_t a, int64_t b)
{
    int64_t r = a % b;
    return r < 0 ? r + b : r;
}

/** Wall clock, milliseconds since 1970, UTC. */
int64_t ts_clock_ms(void);
/** The same clock, microseconds. */
int64_t ts_clock_us(void);
/** Monotonic clock, nanoseconds; for durations. */
int64_t ts_clock_mono_ns(void);
/** Processor time of the calling thread, nanoseconds. A system call. */
int64_t ts_clock_thread_ns(void);
/** Tests: ts_clock_ms and ts_clock_us answer this from now on, the real time again with 0. */
void ts_clock_set_fake(int64_t now_ms);
/** The same for the monotonic clock, for tests that must not depend on how fast they run; 0 = real again. */
void ts_clock_set_fake_mono(int64_t now_ns);

struct ts_tz; /* one zone; offsets at any time */
/** Zone by IANA name ("UTC", "Europe/Berlin"), or "" / NULL for UTC, read from the
 *  files in $TZDIR or /usr/share/zoneinfo. TS_EPARSE "Invalid timezone name: X"; TS_EIO: the machine has no such files; TS_ECORRUPT: the file is
 *  damaged. Cached per name: pointers stay valid for the life of the process, nothing to free, and a newer tzdata counts after a restart. */
int ts_tz_open(struct ts_slice name, const struct ts_tz **out_tz, struct ts_error *err);
/** Zone of dates that come without one: UTC, or what the process set before it started threads. */
const struct ts_tz *ts_tz_default(void);
void ts_tz_set_default(const struct ts_tz *tz);
/** Its name as given to ts_tz_open. */
const char *ts_tz_name(const struct ts_tz *tz);
/** Offset of local time from UTC at t, ms (east positive). */
int64_t ts_tz_offset_ms(const struct ts_tz *tz, int64_t t_ms);
/** A stretch of constant offset: [*out_from_ms, *out_to_ms) around t (INT64_MIN/MAX where open). Returns the offset. */
int64_t ts_tz_span(const struct ts_tz *tz, int64_t t_ms, int64_t *out_from_ms, int64_t *out_to_ms);
/** UTC of a local wall-clock time. In a gap: the instant of the change. Ambiguous: the earlier one. */
int64_t ts_tz_from_local(const struct ts_tz *tz, int64_t local_ms);
/** The same into *out_ms. False: no clock of the zone reads so, since it is set forward over that time. */
bool ts_tz_has_local(const struct ts_tz *tz, int64_t local_ms, int64_t *out_ms);
/** Fill err, which may be NULL: text is such a clock reading. Returns TS_ENOTFOUND. */
int ts_tz_no_local(const struct ts_tz *tz, struct ts_slice text, struct ts_error *err);

/* A calendar date and time of day. */
struct ts_civil {
    int32_t year;                 /* proleptic Gregorian, may be < 1 */
    uint8_t month, day;           /* 1..12, 1..31 */
    uint8_t hour, minute, second; /* 0..23, 0..59, 0..59 */
    uint16_t ms;                  /* 0..999 */
};
/** Local time of t in tz (NULL = UTC). */
struct ts_civil ts_civil_from_ms(const struct ts_tz *tz, int64_t t_ms);
/** UTC-like ms of a civil time, without zone; months and days out of range roll over (lenient, as OpenTSDB's dates). */
int64_t ts_civil_to_ms(int32_t year, int32_t month, int32_t day, int32_t hour, int32_t minute,
                       int32_t second);

enum ts_unit { TS_UNIT_MS, TS_UNIT_S, TS_UNIT_M, TS_UNIT_H, TS_UNIT_D, TS_UNIT_W, TS_UNIT_N, TS_UNIT_Y };
/** "90m", "1d", "500ms", "1n": count and unit as OpenTSDB reads them (docs/OPENTSDB.md, section 3.2.1); *out_ms with n = 30 d, y = 365 d.
 *  TS_EPARSE with OpenTSDB's texts. */
int ts_duration_parse(struct ts_slice s, int64_t *out_n, enum ts_unit *out_unit, int64_t *out_ms,
                      struct ts_error *err);
/** A duration as people write it: a whole number, perhaps blanks, and exactly one unit by letter or name, in any case: "10m",
 *  "90min", "2 days", "1week", "1n" and "1month" (30 days), "1y"; or several of these, the larger unit first: "1h30m" (90 minutes),
 *  "1d 12h", "1y6n". Months and years have no common measure with the others. *out_n counts the smallest unit given. OpenTSDB looks at the
 *  last letters alone, so that "7days" are seven seconds. Parameters as above. TS_EPARSE names the units. */
int ts_duration_exact(struct ts_slice s, int64_t *out_n, enum ts_unit *out_unit, int64_t *out_ms,
                      struct ts_error *err);
/**
 * Read a time. strict: OpenTSDB's forms alone (docs/OPENTSDB.md, section 3.4), where dates roll over and the dot of 1500000000.5 is
 * deleted. Else also yyyy-mm-dd, yyyy/m/d, yyyy-mm (a month), yyyy (a year), yyyymmdd, a clock reading (an hour alone too) behind a date with Z, +01:00 or no zone,
 * today, yesterday, tomorrow, monday to sunday (the last such day, perhaps today), now+1h, 1d and -1d (both ago); dates that do not exist are refused, and 1500000000.5 is half a second.
 *
 * @param tz           zone of dates without one; NULL = ts_tz_default
 * @param now_ms       what now is
 * @param out_ms       [out] the instant, or the first one of the day, month or year that is named
 * @param out_is_date  [out] a day, month or year is named; may be NULL
 * @return 0, or TS_EPARSE with OpenTSDB's text (strict) or one that names the forms
 */
int ts_time_parse(struct ts_slice s, const struct ts_tz *tz, int64_t now_ms, bool strict, int64_t *out_ms,
                  bool *out_is_date, struct ts_error *err);
/** ts_time_parse without strict, where a date with a clock reading that the zone leaves out is no time (ts_time_parse takes it for the instant at which the clock is
 *  set forward): TS_ENOTFOUND. */
int ts_time_parse_clock(struct ts_slice s, const struct ts_tz *tz, int64_t now_ms, int64_t *out_ms,
                        struct ts_error *err);
/** Is a number of eight digits a day that exists, written without separators: 20261122, of the years 1970 to 2199? As seconds it lies between
 *  August 17 and September 13, 1970. */
bool ts_time_is_date(int64_t number);
/** The same for the end of a range: a day, month or year that is named belongs to the range whole, so *out_ms is its last millisecond. */
int ts_time_parse_end(struct ts_slice s, const struct ts_tz *tz, int64_t now_ms, bool strict, int64_t *out_ms,
                      struct ts_error *err);
/**
 * A range of which only the start was given, in people's forms: until now; but yesterday, tomorrow, a month and a year are ranges of
 * their own. One that has begun and is not over ends now.
 *
 * @param tz, now_ms   as ts_time_parse
 * @param out_from_ms  [out] its first millisecond
 * @param out_to_ms    [out] its last one
 * @return 0, or TS_EPARSE with a text that names the forms
 */
int ts_time_parse_alone(struct ts_slice s, const struct ts_tz *tz, int64_t now_ms, int64_t *out_from_ms,
                        int64_t *out_to_ms, struct ts_error *err);
/** Read a time by a format of strptime's letters: %Y %m %d %H %M %S, %y (1969 to 2068), %j (day of the year), %b %B (months in English), %e (as %d), %f (a
 *  fraction of a second), %s (seconds since 1970), %z (+0100, +01:00, Z), %I with %p (12 hours), %a %A (a weekday, not checked), %T (%H:%M:%S), %F (%Y-%m-%d) and
 *  %%. A blank stands for any number of blanks, also none; numbers may lack leading zeros where no digit follows.
 *
 * @param tz  zone of a time without %z or %s; NULL = UTC
 * @return 0; TS_EPARSE with a text that says at which letter text and format differ, or that the date does not exist; TS_ENOTFOUND: the clock reading does not, in that zone
 */
int ts_time_format_read(struct ts_slice text, struct ts_slice format, const struct ts_tz *tz, int64_t *out_ms,
                        struct ts_error *err);
/** Are all letters of a format known, and do they name a year or %s? TS_EPARSE. */
int ts_time_format_check(struct ts_slice format, struct ts_error *err);
/** Append a time as ISO 8601 in a zone (NULL = UTC): "2026-11-01T13:30:00+01:00", "...Z" where the offset is 0. Milliseconds are
 *  printed if ms is set or there are any. */
void ts_time_print(const struct ts_tz *tz, int64_t t_ms, bool ms, struct ts_buf *out);
/** Start of the calendar bucket of n units that holds t in tz, per docs/OPENTSDB.md, section 4.6; and start of the next bucket after a start.
 *  n >= 1. The base of floor is recomputed for every t: step through a range with next, as OpenTSDB does. */
int64_t ts_calendar_floor(const struct ts_tz *tz, int64_t t_ms, int64_t n, enum ts_unit unit);
/** Start of the bucket after the one that starts at start_ms. */
int64_t ts_calendar_next(const struct ts_tz *tz, int64_t start_ms, int64_t n, enum ts_unit unit);

#endif
