/*
 * time.c - clocks, civil dates, durations and time forms.
 *
 * Source     OpenTSDB's time forms: docs/PROTOCOL.md; days from civil dates: the usual count of a calendar
 *            that begins its year in March, so that leap days come last
 * Threads    any
 * Not here   zones (tz.c), calendar buckets (calendar.c), times as people write them (timetext.c)
 */
#include "base/time.h"

#include "base/text.h"
#include "base/num.h"
#include "base/time_int.h"

#include <stdatomic.h>
#include <time.h>

#define TIME_TEXT_MAX 120 /* bytes of an unreadable text that go into the message */

static _Atomic int64_t clock_fake_ms;      /* 0 = real; tests set it, readers need no order with other data */
static _Atomic int64_t clock_fake_mono_ns; /* the same of the monotonic clock */

int64_t ts_clock_ms(void)
{
    int64_t fake = atomic_load_explicit(&clock_fake_ms, memory_order_relaxed);
    if (fake)
        return fake;
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int64_t ts_clock_us(void)
{
    int64_t fake = atomic_load_explicit(&clock_fake_ms, memory_order_relaxed);
    if (fake)
        return fake * 1000;
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int64_t ts_clock_mono_ns(void)
{
    int64_t fake = atomic_load_explicit(&clock_fake_mono_ns, memory_order_relaxed);
    if (fake)
        return fake;
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t ts_clock_thread_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void ts_clock_set_fake(int64_t now_ms)
{
    atomic_store_explicit(&clock_fake_ms, now_ms, memory_order_relaxed);
}
void ts_clock_set_fake_mono(int64_t now_ns)
{
    atomic_store_explicit(&clock_fake_mono_ns, now_ns, memory_order_relaxed);
}

/* ---- civil dates ---- */

static int64_t time_clamp(__int128 v)
{
    return v > INT64_MAX ? INT64_MAX : v < INT64_MIN ? INT64_MIN : (int64_t)v;
}

/* Days since 1970-01-01 of a date in the proleptic Gregorian calendar; month 1..12, any day. */
static int64_t time_days(int64_t year, int month, int64_t day)
{
    year -= month <= 2;                    /* years begin in March here */
    int64_t era = ts_floor_div(year, 400); /* 146097 days each */
    int64_t yoe = year - era * 400;        /* 0..399 */
    int64_t m = month > 2 ? month - 3 : month + 9;
    int64_t doy = (153 * m + 2) / 5 + day - 1; /* March has 31, April 30, ...: 153 days in five months */
    return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

struct ts_civil ts_civil_from_ms(const struct ts_tz *tz, int64_t t_ms)
{
    int64_t local = time_clamp((__int128)t_ms + (tz ? ts_tz_offset_ms(tz, t_ms) : 0));
    int64_t day = ts_floor_div(local, TS_DAY_MS);
    int32_t ms = (int32_t)ts_floor_mod(local, TS_DAY_MS);
    day += 719468;
    int64_t era = ts_floor_div(day, 146097);
    int64_t doe = day - era * 146097;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    int64_t m = (5 * doy + 2) / 153;
    struct ts_civil c;
    c.day = (uint8_t)(doy - (153 * m + 2) / 5 + 1);
    c.month = (uint8_t)(m < 10 ? m + 3 : m - 9);
    c.year = (int32_t)(yoe + era * 400 + (m >= 10));
    c.hour = (uint8_t)(ms / 3600000);
    c.minute = (uint8_t)(ms / 60000 % 60);
    c.second = (uint8_t)(ms / 1000 % 60);
    c.ms = (uint16_t)(ms % 1000);
    return c;
}

int64_t ts_civil_to_ms(int32_t year, int32_t month, int32_t day, int32_t hour, int32_t minute, int32_t second)
{
    int64_t m = (int64_t)month - 1;
    int64_t days = time_days(year + ts_floor_div(m, 12), (int)ts_floor_mod(m, 12) + 1, day);
    return time_clamp((__int128)days * TS_DAY_MS + (int64_t)hour * TS_HOUR_MS + (int64_t)minute * 60000 +
                      (int64_t)second * 1000);
}

/* ---- durations ---- */

static int time_text_n(struct ts_slice s)
{
    return s.n > TIME_TEXT_MAX ? TIME_TEXT_MAX : (int)s.n;
}

static bool time_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Unit by the last character, and a preceding m for ms; what stands between count and unit is not looked at.
 */
static bool duration_unit(struct ts_slice s, enum ts_unit *out_unit, int64_t *out_unit_ms)
{
    static const struct {
        char letter;
        enum ts_unit unit;
        int64_t ms;
    } units[] = {
        {'s', TS_UNIT_S, 1000},
        {'m', TS_UNIT_M, 60000},
        {'h', TS_UNIT_H, TS_HOUR_MS},
        {'d', TS_UNIT_D, TS_DAY_MS},
        {'w', TS_UNIT_W, 7 * TS_DAY_MS},
        {'n', TS_UNIT_N, 30 * TS_DAY_MS},
        {'y', TS_UNIT_Y, 365 * TS_DAY_MS},
    };
    char last = (char)(s.p[s.n - 1] | 0x20);
    if (last == 's' && s.n >= 2 && (s.p[s.n - 2] | 0x20) == 'm') {
        *out_unit = TS_UNIT_MS;
        *out_unit_ms = 1;
        return true;
    }
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (units[i].letter == last) {
            *out_unit = units[i].unit;
            *out_unit_ms = units[i].ms;
            return true;
        }
    return false;
}

int ts_duration_parse(struct ts_slice s, int64_t *out_n, enum ts_unit *out_unit, int64_t *out_ms,
                      struct ts_error *err)
{
    size_t n_digits = 0;
    int64_t n = 0, unit_ms, total;
    enum ts_unit unit;
    while (n_digits < s.n && time_is_digit(s.p[n_digits]))
        n_digits++;
    if (n_digits == s.n)
        return ts_error_set(err, TS_EPARSE, "Invalid duration, must have an integer and unit: %.*s",
                            time_text_n(s), s.p ? s.p : "");
    bool over = n_digits == 0;
    for (size_t i = 0; i < n_digits && !over; i++)
        over = __builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, s.p[i] - '0', &n);
    if (over)
        return ts_error_set(err, TS_EPARSE, "Invalid duration (number): %.*s", time_text_n(s), s.p);
    if (n == 0)
        return ts_error_set(err, TS_EPARSE, "Zero or negative duration: %.*s", time_text_n(s), s.p);
    if (!duration_unit(s, &unit, &unit_ms))
        return ts_error_set(err, TS_EPARSE, "Invalid duration (suffix): %.*s", time_text_n(s), s.p);
    if (__builtin_mul_overflow(n, unit_ms, &total))
        return ts_error_set(err, TS_EPARSE, "Invalid duration (number): %.*s", time_text_n(s), s.p);
    if (out_n)
        *out_n = n;
    if (out_unit)
        *out_unit = unit;
    if (out_ms)
        *out_ms = total;
    return 0;
}

/* Units as people write them; case does not count. */
static bool duration_name(struct ts_slice name, char *out_letter)
{
    static const struct {
        const char *name;
        char letter; /* M: milliseconds */
    } names[] = {
        {"ms", 'M'},    {"msec", 'M'}, {"msecs", 'M'}, {"millisecond", 'M'}, {"milliseconds", 'M'},
        {"s", 's'},     {"sec", 's'},  {"secs", 's'},  {"second", 's'},      {"seconds", 's'},
        {"m", 'm'},     {"min", 'm'},  {"mins", 'm'},  {"minute", 'm'},      {"minutes", 'm'},
        {"h", 'h'},     {"hr", 'h'},   {"hrs", 'h'},   {"hour", 'h'},        {"hours", 'h'},
        {"d", 'd'},     {"day", 'd'},  {"days", 'd'},  {"w", 'w'},           {"week", 'w'},
        {"weeks", 'w'}, {"n", 'n'},    {"month", 'n'}, {"months", 'n'},      {"y", 'y'},
        {"yr", 'y'},    {"yrs", 'y'},  {"year", 'y'},  {"years", 'y'},
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (ts_slice_is_nocase(name, names[i].name)) {
            *out_letter = names[i].letter;
            return true;
        }
    return false;
}

/* The part of a duration that begins at *at: a whole number, perhaps blanks, a unit; *at goes behind it. */
static int duration_part(struct ts_slice s, size_t *at, int64_t *out_n, enum ts_unit *out_unit,
                         int64_t *out_ms)
{
    char plain[32], letter;
    size_t from = *at, n_digits = 0, to;
    while (from + n_digits < s.n && time_is_digit(s.p[from + n_digits]))
        n_digits++;
    for (to = from + n_digits; to < s.n && s.p[to] == ' ';)
        to++;
    size_t name = to;
    while (to < s.n && !time_is_digit(s.p[to]) && s.p[to] != ' ')
        to++;
    if (n_digits == 0 || n_digits + 3 > sizeof plain ||
        !duration_name((struct ts_slice){s.p + name, to - name}, &letter))
        return TS_EPARSE;
    memcpy(plain, s.p + from, n_digits);
    size_t n = n_digits;
    if (letter == 'M')
        plain[n++] = 'm';
    plain[n++] = letter == 'M' ? 's' : letter;
    *at = to;
    return ts_duration_parse((struct ts_slice){plain, n}, out_n, out_unit, out_ms, NULL);
}

/* Add n units to *all, which counts *all_unit, a larger one; *all counts the smaller unit then. false: they have no common measure, as
 * months and days, or the sum is too large. */
static bool duration_add(int64_t *all, enum ts_unit *all_unit, int64_t n, enum ts_unit unit)
{
    static const int64_t parts[] = {[TS_UNIT_S] = 1000, [TS_UNIT_M] = 60, [TS_UNIT_H] = 60,
                                    [TS_UNIT_D] = 24,   [TS_UNIT_W] = 7,  [TS_UNIT_Y] = 12};
    bool ok = *all_unit > unit;
    for (; ok && *all_unit > unit; --*all_unit)
        ok = parts[*all_unit] && !__builtin_mul_overflow(*all, parts[*all_unit], all);
    return ok && !__builtin_add_overflow(*all, n, all);
}

int ts_duration_exact(struct ts_slice s, int64_t *out_n, enum ts_unit *out_unit, int64_t *out_ms,
                      struct ts_error *err)
{
    int64_t all = 0, ms = 0, n, part_ms;
    enum ts_unit all_unit = TS_UNIT_Y, unit;
    size_t at = 0;
    bool ok = true;
    for (bool first = true; ok && (first || at < s.n); first = false) {
        while (!first && at < s.n && s.p[at] == ' ')
            at++;
        ok = duration_part(s, &at, &n, &unit, &part_ms) == 0 && !__builtin_add_overflow(ms, part_ms, &ms);
        if (ok && !first)
            ok = duration_add(&all, &all_unit, n, unit);
        else if (ok)
            all = n, all_unit = unit;
    }
    if (!ok)
        return ts_error_set(
            err, TS_EPARSE,
            "Invalid duration: %.*s. Write whole numbers above 0 with units (ms, s, m or min, h, d, w, n for "
            "months, y, or their names), as 10m, 90min, 2 weeks, 1h30m",
            time_text_n(s) > 60 ? 60 : time_text_n(s), s.p ? s.p : "");
    if (out_n)
        *out_n = all;
    if (out_unit)
        *out_unit = all_unit;
    if (out_ms)
        *out_ms = ms;
    return 0;
}

/* ---- time forms ---- */

/* Read 1..max_digits digits at *pos. */
static bool time_take_int(struct ts_slice s, size_t *pos, unsigned max_digits, int32_t *out)
{
    int32_t v = 0;
    size_t i = *pos;
    while (i < s.n && i - *pos < max_digits && time_is_digit(s.p[i]))
        v = v * 10 + (s.p[i++] - '0');
    if (i == *pos)
        return false;
    *pos = i;
    *out = v;
    return true;
}

static bool time_take_char(struct ts_slice s, size_t *pos, const char *any_of)
{
    if (*pos >= s.n || !s.p[*pos] || !strchr(any_of, s.p[*pos]))
        return false;
    ++*pos;
    return true;
}

static int64_t time_in_zone(const struct ts_tz *tz, int64_t local_ms)
{
    return tz ? ts_tz_from_local(tz, local_ms) : local_ms;
}

/* yyyy/mm/dd[- ]hh:mm[:ss], distinguished by length. */
static int time_parse_slashed(struct ts_slice s, const struct ts_tz *tz, int64_t *out_ms, bool *out_is_date,
                              struct ts_error *err)
{
    if (s.n != 10 && s.n != 16 && s.n != 19)
        return ts_error_set(err, TS_EPARSE, "Invalid absolute date: %.*s", time_text_n(s), s.p);
    int32_t y, mo, d, h = 0, mi = 0, sec = 0;
    size_t i = 0;
    bool ok = time_take_int(s, &i, 8, &y) && time_take_char(s, &i, "/") && time_take_int(s, &i, 8, &mo) &&
              time_take_char(s, &i, "/") && time_take_int(s, &i, 8, &d);
    if (ok && s.n > 10)
        ok = time_take_char(s, &i, "- ") && time_take_int(s, &i, 8, &h) && time_take_char(s, &i, ":") &&
             time_take_int(s, &i, 8, &mi);
    if (ok && s.n == 19)
        ok = time_take_char(s, &i, ":") && time_take_int(s, &i, 8, &sec);
    if (!ok || i != s.n)
        return ts_error_set(err, TS_EPARSE, "Invalid date: %.*s. Unparseable date: \"%.*s\"", time_text_n(s),
                            s.p, time_text_n(s), s.p);
    *out_ms = time_in_zone(tz, ts_civil_to_ms(y, mo, d, h, mi, sec));
    *out_is_date = s.n == 10;
    return 0;
}

/* seconds.fraction. OpenTSDB deletes the dot; the better way reads a fraction. */
static int time_parse_dotted(struct ts_slice s, bool strict, int64_t *out_ms, struct ts_error *err)
{
    const char *dot = memchr(s.p, '.', s.n);
    size_t n_sec = (size_t)(dot - s.p), n_frac = s.n - n_sec - 1;
    bool ok = n_sec >= 1 && n_sec <= 10 && n_frac >= 1 && n_frac <= 3 && (!strict || n_sec == 10);
    int64_t v = 0;
    for (size_t i = 0; ok && i < s.n; i++)
        if (i != n_sec) {
            ok = time_is_digit(s.p[i]);
            v = v * 10 + (s.p[i] - '0');
        }
    if (!ok)
        return ts_error_set(
            err, TS_EPARSE,
            "Invalid time: %.*s. Millisecond timestamps must be in the format <seconds>.<ms> where the "
            "milliseconds are limited to 3 digits",
            time_text_n(s) > 80 ? 80 : time_text_n(s), s.p);
    for (size_t i = n_frac; i < 3 && !strict; i++)
        v *= 10;
    *out_ms = v;
    return 0;
}

static int time_parse_number(struct ts_slice s, struct ts_slice whole, bool may_be_s, int64_t *out_ms,
                             struct ts_error *err)
{
    struct ts_error why = {0};
    int64_t v;
    if (ts_num_parse_int(s, &v, &why) < 0)
        return ts_error_set(err, TS_EPARSE, "Invalid time: %.*s. %s",
                            time_text_n(whole) > 60 ? 60 : time_text_n(whole), whole.p, why.text);
    if (v < 0)
        return ts_error_set(err, TS_EPARSE, "Invalid time: %.*s. Negative timestamps are not supported.",
                            time_text_n(whole), whole.p);
    *out_ms = may_be_s && s.n <= 10 ? v * 1000 : v;
    return 0;
}

int ts_time__number(struct ts_slice s, bool strict, int64_t *out_ms, struct ts_error *err)
{
    if (s.n > 2 && memcmp(s.p + s.n - 2, "ms", 2) == 0)
        return time_parse_number((struct ts_slice){s.p, s.n - 2}, s, false, out_ms, err);
    if (memchr(s.p, '.', s.n))
        return time_parse_dotted(s, strict, out_ms, err);
    return time_parse_number(s, s, true, out_ms, err);
}

/* Only OpenTSDB's forms. */
static int time_parse_strict(struct ts_slice s, const struct ts_tz *tz, int64_t now_ms, int64_t *out_ms,
                             bool *out_is_date, struct ts_error *err)
{
    int64_t ago;
    size_t n_digits = 0;
    while (n_digits < s.n && time_is_digit(s.p[n_digits]))
        n_digits++;
    if (n_digits > 0 && n_digits + 2 == s.n && memcmp(s.p + n_digits, "ms", 2) == 0)
        return ts_time__number(s, true, out_ms, err);
    if (ts_slice_is_nocase(s, "now")) {
        *out_ms = now_ms;
        return 0;
    }
    if (ts_slice_ends_nocase(s, "-ago")) {
        TS_TRY(ts_duration_parse((struct ts_slice){s.p, s.n - 4}, NULL, NULL, &ago, err));
        *out_ms = time_clamp((__int128)now_ms - ago);
        return 0;
    }
    if (memchr(s.p, '/', s.n) || memchr(s.p, ':', s.n))
        return time_parse_slashed(s, tz, out_ms, out_is_date, err);
    if (memchr(s.p, '.', s.n))
        return time_parse_dotted(s, true, out_ms, err);
    return time_parse_number(s, s, true, out_ms, err);
}

int ts_time_parse(struct ts_slice s, const struct ts_tz *tz, int64_t now_ms, bool strict, int64_t *out_ms,
                  bool *out_is_date, struct ts_error *err)
{
    bool is_date = false;
    if (!out_is_date)
        out_is_date = &is_date;
    *out_is_date = false;
    tz = tz ? tz : ts_tz_default();
    if (s.n == 0 && strict)
        return ts_error_set(err, TS_EPARSE, "Invalid time: . Empty string");
    return strict ? time_parse_strict(s, tz, now_ms, out_ms, out_is_date, err)
                  : ts_time__people(s, tz, now_ms, out_ms, out_is_date, err);
}
