/*
 * put_time.c - times of points in JSON: seconds, milliseconds, fractions, exponents, ISO 8601.
 *
 * Threads    any
 * Source     docs/OPENTSDB.md, section 2.2
 */
#include "tsd/ingest/args.h"
#include "tsd/protocols/http/put_json.h"

#include <string.h>

#define PUT_MAX_SECONDS 4294967295.0 /* larger numbers are milliseconds */
#define PUT_DIGITS      10           /* of seconds; with more they are milliseconds */
#define PUT_DECIMALS    3            /* of seconds, as lines have them */

/* Read a whole number as a time. False: it is not a valid time, and the reason, if there is more to say, is appended to why. */
static bool put_time_int(const struct tsd_rules *rules, int64_t raw, struct tsd_time *out, struct ts_buf *why)
{
    if (tsd_time_from_int(rules, raw, out) == 0)
        return true;
    if (raw > 0 && !rules->compat) {
        ts_buf_printf(why, ": %lld", (long long)raw);
        tsd_time_why(raw, why);
    }
    return false;
}

/* Read a time as put lines have it; otherwise as put_time_int. */
static bool put_time_line(const struct tsd_rules *rules, struct ts_slice s, struct tsd_time *out,
                          struct ts_buf *why)
{
    static const char lead[] = "invalid timestamp";
    struct ts_buf text;
    ts_buf_init(&text, 1024);
    int rc = tsd_time_read(rules, s, out, &text);
    if (rc < 0 && text.n > sizeof lead && memcmp(text.p, lead, sizeof lead - 1) == 0)
        ts_buf_append(why, text.p + sizeof lead - 1, text.n - (sizeof lead - 1));
    ts_buf_release(&text);
    return rc == 0;
}

/* A number with an exponent, or more decimals than lines have: seconds to the millisecond. */
static bool put_time_double(const struct tsd_rules *rules, double d, struct tsd_time *out, struct ts_buf *why)
{
    if (!(d > -1e15 && d < 1e15))
        return false;
    if (rules->compat || d == (double)(int64_t)d || d > PUT_MAX_SECONDS || d < -PUT_MAX_SECONDS)
        return put_time_int(rules, (int64_t)d, out,
                            why); /* OpenTSDB cuts fractions; those of milliseconds are cut here too */
    int64_t ms = (int64_t)(d * 1000 + (d < 0 ? -0.5 : 0.5));
    *out = (struct tsd_time){.raw = ms, .ts_ms = ms, .ms = true, .bad = tsd_time_is_bad(rules, ms)};
    return ms > 0 || rules->old_times;
}

bool tsd_put_time(const struct tsd_rules *rules, const struct tsd_put_point *p, struct tsd_time *out,
                  struct ts_buf *why)
{
    struct ts_slice s = p->time;
    const char *dot = s.n ? memchr(s.p, '.', s.n) : NULL;
    bool exponent = s.n && (memchr(s.p, 'e', s.n) || memchr(s.p, 'E', s.n));
    struct ts_num v;
    int64_t raw;
    if (!rules->compat && (tsd_time_is_iso(s) || (dot && !exponent && dot - s.p <= PUT_DIGITS &&
                                                  s.p + s.n - dot <= 1 + PUT_DECIMALS)))
        return put_time_line(rules, s, out, why);
    if (!dot && s.n && !exponent)
        return ts_num_parse_int(s, &raw, NULL) == 0 && put_time_int(rules, raw, out, why);
    return s.n && ts_num_parse(s, &v, NULL) == 0 && put_time_double(rules, ts_num_double(v), out, why);
}
