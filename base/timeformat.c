/*
 * timeformat.c - times by formats that users write.
 *
 * Threads    pure functions
 * Not here   forms of time that need no format (timetext.c)
 */
#include "base/time.h"

#include <string.h>
#include <strings.h>

#define FORMAT_SHOWN 80 /* bytes of a text in an error */

/* A time under way. */
struct format_time {
    int32_t year, month, day, yday;   /* yday 0 = not given */
    int32_t hour, minute, second, ms; /* of the day */
    int64_t epoch_s, offset_ms;       /* %s, %z */
    bool has_epoch, has_offset;       /* these were given */
    bool has_clock;                   /* an hour was given */
    bool twelve, pm;                  /* %I, %p */
};

static const char *const format_months[] = {"january",   "february", "march",    "april",
                                            "may",       "june",     "july",     "august",
                                            "september", "october",  "november", "december"};
static const char *const format_days[] = {"sunday",   "monday", "tuesday", "wednesday",
                                          "thursday", "friday", "saturday"};

static void format_skip(struct ts_slice *s, size_t n)
{
    *s = (struct ts_slice){s->p + n, s->n - n};
}

static bool format_number(struct ts_slice *s, unsigned max_digits, int32_t min, int32_t max, int32_t *out)
{
    int32_t v = 0;
    unsigned n = 0;
    while (n < max_digits && n < s->n && s->p[n] >= '0' && s->p[n] <= '9')
        v = v * 10 + (s->p[n++] - '0');
    if (n == 0 || v < min || v > max)
        return false;
    *out = v;
    format_skip(s, n);
    return true;
}

/* A name, or its first three letters; *out is its index. */
static bool format_name(struct ts_slice *s, const char *const *names, size_t n_names, int32_t *out)
{
    for (size_t i = 0; i < n_names; i++) {
        size_t whole = strlen(names[i]);
        size_t n = s->n >= whole && strncasecmp(s->p, names[i], whole) == 0 ? whole : 3;
        if (s->n < n || strncasecmp(s->p, names[i], n) != 0)
            continue;
        *out = (int32_t)i;
        format_skip(s, n);
        return true;
    }
    return false;
}

static bool format_fraction(struct ts_slice *s, int32_t *out_ms)
{
    int32_t ms = 0, unit = 100;
    size_t n = 0;
    for (; n < s->n && s->p[n] >= '0' && s->p[n] <= '9'; n++, unit /= 10)
        ms += (s->p[n] - '0') * unit;
    *out_ms = ms;
    format_skip(s, n);
    return n > 0;
}

static bool format_epoch(struct ts_slice *s, struct format_time *t)
{
    bool minus = s->n && *s->p == '-';
    int64_t v = 0;
    size_t n = minus, from = n;
    for (; n < s->n && n < from + 12 && s->p[n] >= '0' && s->p[n] <= '9'; n++)
        v = v * 10 + (s->p[n] - '0');
    t->epoch_s = minus ? -v : v;
    t->has_epoch = true;
    bool some = n > from;
    format_skip(s, n);
    return some;
}

static bool format_zone(struct ts_slice *s, struct format_time *t)
{
    int32_t h = 0, m = 0;
    t->has_offset = true;
    if (s->n && (*s->p == 'Z' || *s->p == 'z')) {
        format_skip(s, 1);
        return true;
    }
    bool west = s->n && *s->p == '-';
    if (!s->n || (*s->p != '+' && !west))
        return false;
    format_skip(s, 1);
    if (!format_number(s, 2, 0, 23, &h))
        return false;
    if (s->n && *s->p == ':')
        format_skip(s, 1);
    (void)format_number(s, 2, 0, 59, &m);
    t->offset_ms = (int64_t)(h * 60 + m) * (west ? -60000 : 60000);
    return true;
}

static bool format_am_pm(struct ts_slice *s, struct format_time *t)
{
    if (s->n < 2 || (strncasecmp(s->p, "am", 2) != 0 && strncasecmp(s->p, "pm", 2) != 0))
        return false;
    t->pm = *s->p == 'p' || *s->p == 'P';
    format_skip(s, 2);
    return true;
}

static bool format_year2(struct ts_slice *s, struct format_time *t)
{
    if (!format_number(s, 2, 0, 99, &t->year))
        return false;
    t->year += t->year < 69 ? 2000 : 1900;
    return true;
}

static bool format_month_name(struct ts_slice *s, struct format_time *t)
{
    if (!format_name(s, format_months, 12, &t->month))
        return false;
    t->month++;
    return true;
}

static bool format_letters(struct ts_slice *s, const char *letters, struct format_time *t);

/* One letter behind a percent sign. */
static bool format_letter(struct ts_slice *s, char letter, struct format_time *t)
{
    int32_t weekday;
    switch (letter) {
    case 'Y':
        return format_number(s, 4, 0, 9999, &t->year);
    case 'y':
        return format_year2(s, t);
    case 'm':
        return format_number(s, 2, 1, 12, &t->month);
    case 'd':
    case 'e':
        return format_number(s, 2, 1, 31, &t->day);
    case 'j':
        return format_number(s, 3, 1, 366, &t->yday);
    case 'H':
        t->has_clock = true;
        return format_number(s, 2, 0, 24, &t->hour);
    case 'I':
        t->has_clock = t->twelve = true;
        return format_number(s, 2, 1, 12, &t->hour);
    case 'p':
        return format_am_pm(s, t);
    case 'M':
        return format_number(s, 2, 0, 59, &t->minute);
    case 'S':
        return format_number(s, 2, 0, 60, &t->second);
    case 'f':
        return format_fraction(s, &t->ms);
    case 's':
        return format_epoch(s, t);
    case 'z':
        return format_zone(s, t);
    case 'b':
    case 'B':
        return format_month_name(s, t);
    case 'a':
    case 'A':
        return format_name(s, format_days, 7, &weekday);
    case 'T':
        return format_letters(s, "H:M:S", t);
    case 'F':
        return format_letters(s, "Y-m-d", t);
    default:
        return false;
    }
}

static bool format_char(struct ts_slice *s, char c)
{
    if (!s->n || *s->p != c)
        return false;
    format_skip(s, 1);
    return true;
}

/* Three letters with a character between each two. */
static bool format_letters(struct ts_slice *s, const char *letters, struct format_time *t)
{
    return format_letter(s, letters[0], t) && format_char(s, letters[1]) && format_letter(s, letters[2], t) &&
           format_char(s, letters[3]) && format_letter(s, letters[4], t);
}

/* *skipped: the zone leaves this clock reading out, because the clock is set forward. A day whose midnight is left out begins later. */
static int64_t format_ms(const struct format_time *t, const struct ts_tz *tz, bool *skipped)
{
    *skipped = false;
    if (t->has_epoch)
        return t->epoch_s * 1000 + t->ms;
    int32_t hour = t->twelve ? t->hour % 12 + (t->pm ? 12 : 0) : t->hour;
    int64_t local = ts_civil_to_ms(t->year, t->yday ? 1 : t->month, t->yday ? t->yday : t->day, hour,
                                   t->minute, t->second) +
                    t->ms;
    if (t->has_offset)
        return local - t->offset_ms;
    if (!tz)
        return local;
    int64_t ms;
    *skipped = !ts_tz_has_local(tz, local, &ms) && t->has_clock;
    return ms;
}

/* Does the year have that day? */
static bool format_exists(const struct format_time *t)
{
    if (t->has_epoch)
        return true;
    struct ts_civil c = ts_civil_from_ms(
        NULL, ts_civil_to_ms(t->year, t->yday ? 1 : t->month, t->yday ? t->yday : t->day, 0, 0, 0));
    return c.year == t->year && (t->yday || (c.month == t->month && c.day == t->day));
}

int ts_time_format_read(struct ts_slice text, struct ts_slice format, const struct ts_tz *tz, int64_t *out_ms,
                        struct ts_error *err)
{
    struct format_time t = {.month = 1, .day = 1};
    struct ts_slice s = text;
    bool skipped;
    int shown = (int)(text.n < FORMAT_SHOWN ? text.n : FORMAT_SHOWN);
    for (size_t i = 0; i < format.n; i++) {
        bool ok;
        if (format.p[i] == ' ') {
            while (s.n && *s.p == ' ')
                format_skip(&s, 1);
            continue;
        }
        bool letter = format.p[i] == '%' && i + 1 < format.n;
        if (letter && format.p[++i] != '%')
            ok = format_letter(&s, format.p[i], &t);
        else
            ok = format_char(&s, format.p[i]);
        if (!ok)
            return ts_error_set(err, TS_EPARSE, "the time \"%.*s\" has no %s%c at its character %zu", shown,
                                text.p, letter ? "%" : "", format.p[i], text.n - s.n + 1);
    }
    if (s.n)
        return ts_error_set(err, TS_EPARSE, "the time \"%.*s\" goes on behind its format, at character %zu",
                            shown, text.p, text.n - s.n + 1);
    if (!format_exists(&t))
        return ts_error_set(err, TS_EPARSE, "the time \"%.*s\" names a day that does not exist", shown,
                            text.p);
    *out_ms = format_ms(&t, tz, &skipped);
    return skipped ? ts_tz_no_local(tz, text, err) : 0;
}

int ts_time_format_check(struct ts_slice format, struct ts_error *err)
{
    bool year = false;
    for (size_t i = 0; i < format.n; i++) {
        if (format.p[i] != '%')
            continue;
        char c = i + 1 < format.n ? format.p[++i] : 0;
        if (!c || !strchr("YymdejHIpMSfszbBaATF%", c))
            return ts_error_set(err, TS_EPARSE, "a format of time knows no %%%c", c ? c : ' ');
        year = year || strchr("YysF", c);
    }
    return year ? 0 : ts_error_set(err, TS_EPARSE, "a format of time needs a year (%%Y, %%y or %%F), or %%s");
}
