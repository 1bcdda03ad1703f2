/*
 * tzif.c - reads compiled zone rules (TZif files) into tables of offsets.
 *
 * A file has the known changes of offset, and a footer with the rule for all later times, such as
 * CET-1CEST,M3.5.0,M10.5.0/3. The rule is written out up to the year 2500; what comes later is tz.c's.
 * Source     RFC 9636 (TZif), POSIX.1-2017 chapter 8.3 (TZ)
 * Invariant  the bytes are not trusted: every count is compared with the size of the file before use
 */
#include "base/tz_int.h"

#include "base/mem.h"
#include "base/time.h"

#define TZIF_HEADER_BYTES 44
#define TZIF_FIRST_YEAR   1600 /* a rule without any known change holds from here on */
#define TZIF_LAST_YEAR    2501 /* so that the table ends after TZ_END_MS in every zone */

/* ---- big-endian numbers ---- */

static uint32_t tzif_u32(const char *p)
{
    const uint8_t *b = (const uint8_t *)p;
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static int64_t tzif_i64(const char *p)
{
    return (int64_t)((uint64_t)tzif_u32(p) << 32 | tzif_u32(p + 4));
}

/* ---- the table ---- */

static bool tzif_add(struct tz_table *t, int64_t from_s, int64_t offset_s)
{
    int64_t from_ms;
    if (__builtin_mul_overflow(from_s, 1000, &from_ms)) {
        if (from_s > 0)
            return true; /* after the end of time */
        from_ms = INT64_MIN;
    }
    while (t->n_steps > 1 && t->steps[t->n_steps - 1].from_ms >= from_ms)
        t->n_steps--; /* a stretch without length, where one year's rule meets the next one's */
    if (t->n_steps == 1 && from_ms == INT64_MIN)
        t->n_steps = 0;
    if (t->n_steps && t->steps[t->n_steps - 1].offset_ms == offset_s * 1000)
        return true; /* only the name of the time changed */
    if (t->n_steps == TZ_MAX_STEPS)
        return false;
    if ((t->n_steps & (t->n_steps - 1)) == 0)
        t->steps = ts_xrealloc(t->steps, (t->n_steps ? 2 * t->n_steps : 1) * sizeof(t->steps[0]));
    t->steps[t->n_steps++] = (struct tz_step){from_ms, offset_s * 1000};
    return true;
}

void ts_tzif_release(struct tz_table *table)
{
    ts_free(table->steps);
    *table = (struct tz_table){0};
}

/* ---- the rule of the footer ---- */

/* When in a year the clock changes. */
struct tzif_date {
    char kind;                /* 'M' week of a month, 'J' day 1..365 without 29 February, 'D' day 0..365 */
    int32_t month, week, day; /* M: 1..12, 1..5 (5 = the last), 0..6 (0 = Sunday); else day alone */
    int32_t time_s;           /* local time of day, may lie outside of the day */
};

struct tzif_rule {
    int32_t std_s, dst_s;        /* offsets east of UTC */
    bool has_dst;                /* the two below are there */
    struct tzif_date start, end; /* of daylight saving time, in the time that holds before */
};

/* Reader of the rule: what is left of it. */
struct tzif_text {
    const char *p, *end;
};

static bool tzif_take(struct tzif_text *t, char c)
{
    if (t->p == t->end || *t->p != c)
        return false;
    t->p++;
    return true;
}

static bool tzif_int(struct tzif_text *t, int32_t min, int32_t max, int32_t *out)
{
    const char *from = t->p;
    int32_t v = 0;
    while (t->p < t->end && *t->p >= '0' && *t->p <= '9' && v <= max)
        v = v * 10 + (*t->p++ - '0');
    *out = v;
    return t->p > from && v >= min && v <= max;
}

/* Name of a time: letters, or anything between < and >. */
static bool tzif_abbreviation(struct tzif_text *t)
{
    const char *from = t->p;
    if (tzif_take(t, '<')) {
        while (t->p < t->end && *t->p != '>')
            t->p++;
        return tzif_take(t, '>');
    }
    while (t->p < t->end && ((*t->p >= 'A' && *t->p <= 'Z') || (*t->p >= 'a' && *t->p <= 'z')))
        t->p++;
    return t->p - from >= 3;
}

/* [+-]hh[:mm[:ss]] */
static bool tzif_clock(struct tzif_text *t, int32_t max_h, int32_t *out_s)
{
    int32_t h, m = 0, s = 0;
    bool minus = tzif_take(t, '-');
    if (!minus)
        tzif_take(t, '+');
    if (!tzif_int(t, 0, max_h, &h))
        return false;
    if (tzif_take(t, ':') && (!tzif_int(t, 0, 59, &m) || (tzif_take(t, ':') && !tzif_int(t, 0, 59, &s))))
        return false;
    *out_s = h * 3600 + m * 60 + s;
    if (minus)
        *out_s = -*out_s;
    return true;
}

static bool tzif_date(struct tzif_text *t, struct tzif_date *d)
{
    *d = (struct tzif_date){.kind = 'D', .time_s = 7200};
    bool ok;
    if (tzif_take(t, 'M')) {
        d->kind = 'M';
        ok = tzif_int(t, 1, 12, &d->month) && tzif_take(t, '.') && tzif_int(t, 1, 5, &d->week) &&
             tzif_take(t, '.') && tzif_int(t, 0, 6, &d->day);
    } else if (tzif_take(t, 'J')) {
        d->kind = 'J';
        ok = tzif_int(t, 1, 365, &d->day);
    } else {
        ok = tzif_int(t, 0, 365, &d->day);
    }
    return ok && (!tzif_take(t, '/') || tzif_clock(t, 167, &d->time_s));
}

static bool tzif_rule(struct ts_slice text, struct tzif_rule *r)
{
    struct tzif_text t = {text.p, text.p + text.n};
    *r = (struct tzif_rule){0};
    if (!tzif_abbreviation(&t) || !tzif_clock(&t, 24, &r->std_s))
        return false;
    r->std_s = -r->std_s; /* the text counts to the west */
    if (t.p < t.end) {
        r->has_dst = true;
        if (!tzif_abbreviation(&t))
            return false;
        r->dst_s = r->std_s + 3600;
        if (t.p < t.end && *t.p != ',') {
            if (!tzif_clock(&t, 24, &r->dst_s))
                return false;
            r->dst_s = -r->dst_s;
        }
        if (!tzif_take(&t, ',') || !tzif_date(&t, &r->start) || !tzif_take(&t, ',') ||
            !tzif_date(&t, &r->end))
            return false;
    }
    return t.p == t.end && r->std_s >= -TZ_MAX_OFFSET_S && r->std_s <= TZ_MAX_OFFSET_S &&
           r->dst_s >= -TZ_MAX_OFFSET_S && r->dst_s <= TZ_MAX_OFFSET_S;
}

/* The instant of a date in a year, of a clock that is offset_s ahead of UTC. */
static int64_t tzif_instant(const struct tzif_date *d, int32_t year, int32_t offset_s)
{
    int64_t day;
    if (d->kind == 'M') {
        int64_t first = ts_floor_div(ts_civil_to_ms(year, d->month, 1, 0, 0, 0), TS_DAY_MS);
        int64_t next = ts_floor_div(ts_civil_to_ms(year, d->month + 1, 1, 0, 0, 0), TS_DAY_MS);
        day =
            first + ts_floor_mod(d->day - (first + 4), 7) + 7 * (d->week - 1); /* 1970-01-01 is a Thursday */
        while (day >= next)
            day -= 7;
    } else {
        bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
        day = ts_floor_div(ts_civil_to_ms(year, 1, 1, 0, 0, 0), TS_DAY_MS) + d->day;
        if (d->kind == 'J' && !(leap && d->day >= 60))
            day--;
    }
    return day * 86400 + d->time_s - offset_s;
}

/* Write the rule out, from the first change after from_s to the end of the table. */
static bool tzif_write_rule(struct tz_table *t, const struct tzif_rule *r, int64_t from_s, bool any_known)
{
    if (!r->has_dst || r->std_s == r->dst_s)
        return any_known || tzif_add(t, INT64_MIN, r->std_s);
    if (!any_known && !tzif_add(t, INT64_MIN, r->std_s))
        return false;
    int32_t year = TZIF_FIRST_YEAR;
    if (any_known && from_s > INT64_MIN / 1000 && from_s < INT64_MAX / 1000)
        year = ts_civil_from_ms(NULL, from_s * 1000).year - 1;
    for (year = year < TZIF_FIRST_YEAR ? TZIF_FIRST_YEAR : year; year <= TZIF_LAST_YEAR; year++) {
        struct tz_step on = {tzif_instant(&r->start, year, r->std_s), r->dst_s};
        struct tz_step off = {tzif_instant(&r->end, year, r->dst_s), r->std_s};
        struct tz_step pair[2] = {on, off};
        if (off.from_ms <= on.from_ms) { /* daylight saving time over the new year */
            pair[0] = off;
            pair[1] = on;
        }
        for (int i = 0; i < 2; i++)
            if ((!any_known || pair[i].from_ms > from_s) && !tzif_add(t, pair[i].from_ms, pair[i].offset_ms))
                return false;
    }
    return true;
}

/* ---- the file ---- */

/* Counts of a header, in the order of the file. */
struct tzif_counts {
    uint32_t utc, std, leap, time, type, text;
};

static bool tzif_header(struct ts_slice f, size_t at, struct tzif_counts *c)
{
    if (f.n < at || f.n - at < TZIF_HEADER_BYTES || memcmp(f.p + at, "TZif", 4) != 0)
        return false;
    const char *p = f.p + at + 20;
    *c = (struct tzif_counts){tzif_u32(p),      tzif_u32(p + 4),  tzif_u32(p + 8),
                              tzif_u32(p + 12), tzif_u32(p + 16), tzif_u32(p + 20)};
    return true;
}

/* Bytes of the data behind a header; time_bytes is 4 in the first part of a file, 8 in the second. */
static uint64_t tzif_data_bytes(const struct tzif_counts *c, uint64_t time_bytes)
{
    return c->time * (time_bytes + 1) + c->type * 6ull + c->text + c->leap * (time_bytes + 4) + c->std +
           c->utc;
}

static int tzif_damaged(struct ts_error *err, const char *what)
{
    return ts_error_set(err, TS_ECORRUPT, "the time zone file is damaged: %s", what);
}

/* Known changes: times, then the number of a type for each, then the types. */
static int tzif_known(const char *times, const struct tzif_counts *c, struct tz_table *t, int64_t *out_last_s,
                      struct ts_error *err)
{
    const uint8_t *kinds = (const uint8_t *)times + c->time * (size_t)8;
    const char *types = (const char *)kinds + c->time;
    for (uint32_t i = 0; i < c->type; i++) {
        int32_t offset_s = (int32_t)tzif_u32(types + i * (size_t)6);
        if (offset_s < -TZ_MAX_OFFSET_S || offset_s > TZ_MAX_OFFSET_S)
            return tzif_damaged(err, "an offset of a day or more");
    }
    tzif_add(t, INT64_MIN, (int32_t)tzif_u32(types)); /* the first type holds before the first change */
    for (uint32_t i = 0; i < c->time; i++) {
        int64_t at_s = tzif_i64(times + i * (size_t)8);
        if (i && at_s <= *out_last_s)
            return tzif_damaged(err, "changes are not in order");
        if (kinds[i] >= c->type)
            return tzif_damaged(err, "a change to an unknown type");
        if (!tzif_add(t, at_s, (int32_t)tzif_u32(types + kinds[i] * (size_t)6)))
            return tzif_damaged(err, "too many changes");
        *out_last_s = at_s;
    }
    return 0;
}

/* The line behind the data. */
static int tzif_footer(struct ts_slice footer, const struct tzif_counts *c, int64_t last_s,
                       struct tz_table *t, struct ts_error *err)
{
    const char *end = footer.n > 1 ? memchr(footer.p + 1, '\n', footer.n - 1) : NULL;
    if (!end || footer.p[0] != '\n')
        return tzif_damaged(err, "no rule at its end");
    struct ts_slice text = {footer.p + 1, (size_t)(end - footer.p - 1)};
    struct tzif_rule rule;
    if (text.n == 0)
        return 0; /* nothing is known of later times: the last offset stays */
    if (!tzif_rule(text, &rule))
        return tzif_damaged(err, "its rule can't be read");
    if (!tzif_write_rule(t, &rule, last_s, c->time > 0))
        return tzif_damaged(err, "too many changes");
    t->repeats = rule.has_dst && t->steps[t->n_steps - 1].from_ms >= TZ_END_MS;
    return 0;
}

int ts_tzif_read(struct ts_slice file, struct tz_table *out_table, struct ts_error *err)
{
    struct tzif_counts c;
    int64_t last_s = INT64_MIN;
    *out_table = (struct tz_table){0};
    if (!tzif_header(file, 0, &c))
        return ts_error_set(err, TS_ENOTFOUND, "not a time zone file");
    if (file.p[4] < '2')
        return tzif_damaged(err, "its format is of version 1, which ends in 2037");
    uint64_t at = TZIF_HEADER_BYTES + tzif_data_bytes(&c, 4);
    if (at > file.n || !tzif_header(file, (size_t)at, &c))
        return tzif_damaged(err, "it is cut short");
    at += TZIF_HEADER_BYTES;
    uint64_t n = tzif_data_bytes(&c, 8);
    if (n > file.n - at)
        return tzif_damaged(err, "it is cut short");
    if (c.type == 0)
        return tzif_damaged(err, "it has no type of time");
    if (c.leap)
        return ts_error_set(err, TS_ECORRUPT,
                            "the time zone file counts leap seconds, which Unix time does not");
    TS_TRY(tzif_known(file.p + at, &c, out_table, &last_s, err));
    return tzif_footer((struct ts_slice){file.p + at + n, (size_t)(file.n - at - n)}, &c, last_s, out_table,
                       err);
}
