/*
 * timetext.c - times as people write them: dates, ISO 8601, today, now-90m, 1d, numbers.
 *
 * OpenTSDB's forms are among them and mean the same, but for dates that do not exist, which are refused.
 * Threads    any
 * Not here   OpenTSDB's forms alone (time.c)
 */
#include "base/time.h"

#include "base/text.h"
#include "base/num.h"
#include "base/time_int.h"

#include <strings.h>

#define TEXT_SHOWN_MAX 60 /* bytes of an unreadable text that go into the message */

/* What a text is about: an instant, or a stretch that begins there. */
struct stretch {
    int64_t from_ms;   /* first instant */
    enum ts_unit unit; /* TS_UNIT_D, TS_UNIT_N, TS_UNIT_Y; TS_UNIT_MS: an instant */
    bool whole;        /* alone it means itself, not the time since: yesterday, a month, a year */
    bool skipped;      /* a clock reading that its zone leaves out, where the clock is set forward */
};

static int text_bad(struct ts_slice s, const char *why, struct ts_error *err)
{
    return ts_error_set(
        err, TS_EPARSE,
        "Invalid time: %.*s. %s%sTimes are 2026/11/01, 2026-11-01T13:30:00+01:00, 2026-11, 2026, today, "
        "yesterday, monday, now-90m, 1h-ago, 2days, or seconds or milliseconds since 1970",
        (int)(s.n > TEXT_SHOWN_MAX ? TEXT_SHOWN_MAX : s.n), s.p, why, *why ? ". " : "");
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool text_is(struct ts_slice s, const char *word)
{
    return ts_slice_is_nocase(s, word);
}

/* min to max digits at *at. */
static bool take_int(struct ts_slice s, size_t *at, size_t min, size_t max, int32_t *out)
{
    size_t from = *at;
    int32_t v = 0;
    while (*at < s.n && *at - from < max && is_digit(s.p[*at]))
        v = v * 10 + (s.p[(*at)++] - '0');
    *out = v;
    return *at - from >= min;
}

static bool take_char(struct ts_slice s, size_t *at, const char *any_of)
{
    if (*at >= s.n || !s.p[*at] || !strchr(any_of, s.p[*at]))
        return false;
    ++*at;
    return true;
}

/* A clock reading: hh[:mm[:ss[.fraction]]]. */
static bool take_clock(struct ts_slice s, size_t *at, int64_t *out_ms)
{
    int32_t h, m = 0, sec = 0, digit;
    int64_t ms = 0;
    if (!take_int(s, at, 1, 2, &h))
        return false;
    bool minutes = take_char(s, at, ":");
    if (minutes && !take_int(s, at, 2, 2, &m))
        return false;
    if (minutes && take_char(s, at, ":")) {
        if (!take_int(s, at, 2, 2, &sec))
            return false;
        if (take_char(s, at, ".,")) {
            int64_t weight = 100;
            size_t from = *at;
            for (; *at - from < 9 && take_int(s, at, 1, 1, &digit); weight /= 10)
                ms += digit * weight;
            if (*at == from)
                return false;
        }
    }
    *out_ms = ((h * 60ll + m) * 60 + sec) * 1000 + ms;
    return h < 24 && m < 60 && sec < 60;
}

/* Z, +01:00, +0100, +01, or nothing. A '+' of a URL arrives as a blank. */
static bool take_zone(struct ts_slice s, size_t *at, bool *out_given, int64_t *out_offset_ms)
{
    int32_t h, m = 0;
    *out_given = *at < s.n;
    *out_offset_ms = 0;
    if (!*out_given || (take_char(s, at, "Zz") && *at == s.n))
        return true;
    bool minus = s.p[*at] == '-';
    if (!take_char(s, at, "+- ") || !take_int(s, at, 2, 2, &h))
        return false;
    if (*at < s.n) {
        take_char(s, at, ":");
        if (!take_int(s, at, 2, 2, &m))
            return false;
    }
    *out_offset_ms = (minus ? -1 : 1) * (h * 60ll + m) * 60000;
    return *at == s.n && h < 24 && m < 60;
}

static int days_of(int32_t year, int32_t month)
{
    return (int)((ts_civil_to_ms(year, month + 1, 1, 0, 0, 0) - ts_civil_to_ms(year, month, 1, 0, 0, 0)) /
                 TS_DAY_MS);
}

/* yyyy/mm[/dd[ clock[zone]]], with - for / too. 1: it is one; 0: it is something else; < 0: it is a wrong one. */
static int text_date(struct ts_slice s, const struct ts_tz *tz, struct stretch *out, struct ts_error *err)
{
    int32_t y, mo, d;
    int64_t clock_ms, offset_ms;
    size_t at = 0;
    bool zone;
    if (!take_int(s, &at, 4, 4, &y) || !take_char(s, &at, "/-"))
        return 0;
    char sep[2] = {s.p[4], 0};
    if (!take_int(s, &at, 1, 2, &mo))
        return 0;
    if (mo < 1 || mo > 12)
        return text_bad(s, "There is no such month", err);
    if (at == s.n) {
        *out =
            (struct stretch){ts_tz_from_local(tz, ts_civil_to_ms(y, mo, 1, 0, 0, 0)), TS_UNIT_N, true, false};
        return 1;
    }
    if (!take_char(s, &at, sep) || !take_int(s, &at, 1, 2, &d))
        return text_bad(s, "", err);
    if (d < 1 || d > days_of(y, mo))
        return text_bad(s, "There is no such day", err);
    int64_t local = ts_civil_to_ms(y, mo, d, 0, 0, 0);
    if (at == s.n) {
        *out = (struct stretch){ts_tz_from_local(tz, local), TS_UNIT_D, false, false};
        return 1;
    }
    if (!take_char(s, &at, "Tt -"))
        return text_bad(s, "", err);
    if (!take_clock(s, &at, &clock_ms) || !take_zone(s, &at, &zone, &offset_ms))
        return text_bad(s, "There is no such time of day", err);
    local += clock_ms;
    *out = (struct stretch){.from_ms = local - offset_ms, .unit = TS_UNIT_MS};
    out->skipped = !zone && !ts_tz_has_local(tz, local, &out->from_ms);
    return 1;
}

bool ts_time_is_date(int64_t number)
{
    if (number < 19700101 || number > 21991231)
        return false;
    int32_t year = (int32_t)(number / 10000), month = (int32_t)(number / 100 % 100);
    return month >= 1 && month <= 12 && number % 100 >= 1 && number % 100 <= days_of(year, month);
}

/* 2026 and 20261122, which as seconds would lie in 1970: as text_date. */
static int text_digits(struct ts_slice s, const struct ts_tz *tz, struct stretch *out, struct ts_error *err)
{
    int32_t y, mo = 1, d = 1;
    size_t at = 0;
    if ((s.n != 4 && s.n != 6 && s.n != 8) || !take_int(s, &at, 4, 4, &y) || y < 1970 || y > 2199)
        return 0;
    if ((s.n > 4 && !take_int(s, &at, 2, 2, &mo)) || (s.n > 6 && !take_int(s, &at, 2, 2, &d)))
        return 0;
    bool is_date = mo >= 1 && mo <= 12 && d >= 1 && d <= days_of(y, mo);
    if (s.n == 6 && is_date)
        return text_bad(s, "Write a month as 2026-11, seconds so near to 1970 with .0", err);
    if (s.n == 8 && !is_date)
        return text_bad(s, "There is no such day; write seconds so near to 1970 with .0", err);
    *out = (struct stretch){ts_tz_from_local(tz, ts_civil_to_ms(y, mo, d, 0, 0, 0)),
                            s.n == 4 ? TS_UNIT_Y : TS_UNIT_D, s.n == 4, false};
    return s.n != 6;
}

static int64_t shifted(int64_t now_ms, int64_t by_ms)
{
    int64_t t;
    if (__builtin_add_overflow(now_ms, by_ms, &t))
        return by_ms < 0 ? INT64_MIN : INT64_MAX;
    return t;
}

/* now+1h, 90m-ago, 1d, -1d: as text_date. */
static int text_relative(struct ts_slice s, int64_t now_ms, struct stretch *out, struct ts_error *err)
{
    struct ts_slice span = s;
    int64_t ms, sign = -1;
    if (text_is(s, "now")) {
        *out = (struct stretch){now_ms, TS_UNIT_MS, false, false};
        return 1;
    }
    if (s.n > 4 && strncasecmp(s.p, "now", 3) == 0 && strchr("+- ", s.p[3])) {
        sign = s.p[3] == '-' ? -1 : 1;
        span = (struct ts_slice){s.p + 4, s.n - 4};
    } else if (s.n >= 4 && strchr("- ", s.p[s.n - 4]) && strncasecmp(s.p + s.n - 3, "ago", 3) == 0) {
        span.n -= 4;
    } else if (s.n > 1 && s.p[0] == '-') {
        span = (struct ts_slice){s.p + 1, s.n - 1};
    }
    size_t n_digits = 0;
    while (n_digits < span.n && is_digit(span.p[n_digits]))
        n_digits++;
    if (span.n == s.n && (n_digits == 0 || n_digits == s.n || memchr(s.p, '.', s.n)))
        return 0; /* neither a sign nor a unit */
    if (span.n + 1 == s.n && n_digits == span.n)
        return 0; /* a number with a sign */
    if (ts_duration_exact(span, NULL, NULL, &ms, NULL) < 0)
        return text_bad(s, "Durations are 90m, 1h30m, 90min, 2 days, 1week", err);
    *out = (struct stretch){shifted(now_ms, sign * ms), TS_UNIT_MS, false, false};
    return 1;
}

static int text_named_day(struct ts_slice s, const struct ts_tz *tz, int64_t now_ms, struct stretch *out)
{
    static const char *const weekdays[] = {"thursday", "friday",  "saturday",
                                           "sunday", /* from 1970-01-01 on */
                                           "monday",   "tuesday", "wednesday"};
    int64_t today = ts_calendar_floor(tz, now_ms, 1, TS_UNIT_D);
    if (text_is(s, "today"))
        *out = (struct stretch){today, TS_UNIT_D, false, false};
    else if (text_is(s, "yesterday"))
        *out = (struct stretch){ts_calendar_floor(tz, today - 1, 1, TS_UNIT_D), TS_UNIT_D, true, false};
    else if (text_is(s, "tomorrow"))
        *out = (struct stretch){ts_calendar_next(tz, today, 1, TS_UNIT_D), TS_UNIT_D, true, false};
    else {
        int64_t wanted = 0, local_day = ts_floor_div(now_ms + ts_tz_offset_ms(tz, now_ms), TS_DAY_MS);
        while (wanted < 7 && !text_is(s, weekdays[wanted]))
            wanted++;
        if (wanted == 7)
            return 0;
        local_day -= ts_floor_mod(local_day - wanted, 7);
        *out = (struct stretch){ts_tz_from_local(tz, local_day * TS_DAY_MS), TS_UNIT_D, false, false};
    }
    return 1;
}

/* Epoch times: seconds, seconds with a fraction, milliseconds, "...ms" (which may lie before 1970). */
static int text_number(struct ts_slice s, struct stretch *out, struct ts_error *err)
{
    struct ts_error why = {0};
    bool minus = s.n > 1 && s.p[0] == '-';
    struct ts_slice number = {s.p + minus, s.n - minus};
    out->unit = TS_UNIT_MS;
    if (minus && !(number.n > 2 && memcmp(number.p + number.n - 2, "ms", 2) == 0))
        return text_bad(s, "Seconds before 1970 are written as a date", err);
    if (number.n && is_digit(number.p[0]) && ts_time__number(number, false, &out->from_ms, &why) == 0) {
        out->from_ms = minus ? -out->from_ms : out->from_ms;
        return 0;
    }
    return text_bad(s, "", err);
}

static int text_parse(struct ts_slice s, const struct ts_tz *tz, int64_t now_ms, struct stretch *out,
                      struct ts_error *err)
{
    size_t from = s.n && s.p[0] == '-';
    bool ms = s.n > from + 2 && memcmp(s.p + s.n - 2, "ms", 2) == 0; /* a number of milliseconds */
    for (size_t i = from; ms && i + 2 < s.n; i++)
        ms = is_digit(s.p[i]);
    int rc = ms ? 0 : text_date(s, tz, out, err);
    if (rc == 0 && !ms)
        rc = text_digits(s, tz, out, err);
    if (rc == 0 && !ms)
        rc = text_named_day(s, tz, now_ms, out);
    if (rc == 0 && !ms)
        rc = text_relative(s, now_ms, out, err);
    return rc ? rc : text_number(s, out, err);
}

int ts_time__people(struct ts_slice s, const struct ts_tz *tz, int64_t now_ms, int64_t *out_ms,
                    bool *out_is_date, struct ts_error *err)
{
    struct stretch t = {0};
    int rc = s.n ? text_parse(s, tz, now_ms, &t, err) : text_bad(s, "The text is empty", err);
    if (rc < 0)
        return rc;
    *out_ms = t.from_ms;
    *out_is_date = t.unit != TS_UNIT_MS;
    return 0;
}

int ts_time_parse_clock(struct ts_slice s, const struct ts_tz *tz, int64_t now_ms, int64_t *out_ms,
                        struct ts_error *err)
{
    struct stretch t = {0};
    tz = tz ? tz : ts_tz_default();
    int rc = s.n ? text_parse(s, tz, now_ms, &t, err) : text_bad(s, "The text is empty", err);
    if (rc < 0)
        return rc;
    *out_ms = t.from_ms;
    return t.skipped ? ts_tz_no_local(tz, s, err) : 0;
}

int ts_time_parse_alone(struct ts_slice s, const struct ts_tz *tz, int64_t now_ms, int64_t *out_from_ms,
                        int64_t *out_to_ms, struct ts_error *err)
{
    struct stretch t = {.unit = TS_UNIT_MS};
    tz = tz ? tz : ts_tz_default();
    int rc = text_parse(s, tz, now_ms, &t, err);
    if (rc < 0)
        return rc;
    *out_from_ms = t.from_ms;
    *out_to_ms = now_ms;
    if (!t.whole)
        return 0;
    int64_t last_ms = ts_calendar_next(tz, t.from_ms, 1, t.unit) - 1;
    if (last_ms < now_ms || t.from_ms > now_ms)
        *out_to_ms = last_ms;
    return 0;
}

int ts_time_parse_end(struct ts_slice s, const struct ts_tz *tz, int64_t now_ms, bool strict, int64_t *out_ms,
                      struct ts_error *err)
{
    struct stretch t = {.unit = TS_UNIT_MS};
    bool is_date;
    tz = tz ? tz : ts_tz_default();
    if (strict) {
        TS_TRY(ts_time_parse(s, tz, now_ms, true, &t.from_ms, &is_date, err));
        t.unit = is_date ? TS_UNIT_D : TS_UNIT_MS;
    } else {
        int rc = text_parse(s, tz, now_ms, &t, err);
        if (rc < 0)
            return rc;
    }
    *out_ms = t.unit == TS_UNIT_MS ? t.from_ms : ts_calendar_next(tz, t.from_ms, 1, t.unit) - 1;
    return 0;
}

void ts_time_print(const struct ts_tz *tz, int64_t t_ms, bool ms, struct ts_buf *out)
{
    struct ts_civil c = ts_civil_from_ms(tz, t_ms);
    int64_t offset_min = (tz ? ts_tz_offset_ms(tz, t_ms) : 0) / 60000;
    ts_buf_printf(out, "%04d-%02d-%02dT%02d:%02d:%02d", c.year, c.month, c.day, c.hour, c.minute, c.second);
    if (ms || c.ms)
        ts_buf_printf(out, ".%03d", c.ms);
    if (offset_min == 0)
        ts_buf_char(out, 'Z');
    else
        ts_buf_printf(out, "%c%02d:%02d", offset_min < 0 ? '-' : '+',
                      (int)(offset_min < 0 ? -offset_min : offset_min) / 60,
                      (int)(offset_min < 0 ? -offset_min : offset_min) % 60);
}
