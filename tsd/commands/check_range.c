/*
 * check_range.c - from the text of a threshold to its ends, and back.
 *
 * Threads    see check_range.h
 */
#include "tsd/commands/check_range.h"

#include "base/num.h"
#include "base/time.h"

#include <math.h>

static int range_bad(const char *text, const char *why, bool durations, struct ts_error *err)
{
    const char *forms = durations ? "10m, 10m:, ~:10m, 10m:1h or @10m:1h; a number alone is in seconds"
                                  : "10, 10:, ~:10, 10:20 or @10:20";
    return ts_error_set(err, TS_EINVAL, "\"%.60s\" is no range: %s; a range is %s", text, why, forms);
}

/* One end of a range; false: it is no number. */
static bool range_end(struct ts_slice s, bool durations, double *out)
{
    struct ts_num n;
    int64_t count, ms;
    enum ts_unit unit;
    if (ts_num_parse(s, &n, NULL) == 0) {
        *out = ts_num_double(n);
        return isfinite(*out);
    }
    if (!durations || ts_duration_exact(s, &count, &unit, &ms, NULL) < 0)
        return false;
    *out = (double)ms / 1000;
    return true;
}

int tsd_check_range_parse(const char *text, bool durations, struct tsd_check_range *out, struct ts_error *err)
{
    struct tsd_check_range r = {.given = true, .inside = *text == '@', .high = INFINITY};
    struct ts_slice rest = ts_slice_str(text + r.inside);
    const char *colon = rest.n ? memchr(rest.p, ':', rest.n) : NULL;
    struct ts_slice low = {rest.p, colon ? (size_t)(colon - rest.p) : 0};
    struct ts_slice high = colon ? (struct ts_slice){colon + 1, rest.n - low.n - 1} : rest;
    if (!low.n && !high.n)
        return range_bad(text, "it has no end", durations, err);
    if (low.n == 1 && low.p[0] == '~')
        r.low = -INFINITY;
    else if (low.n && !range_end(low, durations, &r.low))
        return range_bad(text, "its lower end is no number", durations, err);
    if (high.n && !range_end(high, durations, &r.high))
        return range_bad(text, "its upper end is no number", durations, err);
    if (r.low > r.high)
        return range_bad(text, "its lower end is above its upper end", durations, err);
    *out = r;
    return 0;
}

bool tsd_check_range_alerts(const struct tsd_check_range *range, double value)
{
    bool inside = value >= range->low && value <= range->high;
    return range->given && inside == range->inside;
}

void tsd_check_number(double value, struct ts_buf *out)
{
    char text[64];
    size_t n = fabs(value) < 1e15 && value == floor(value) ? ts_num_print_int((int64_t)value, text)
                                                           : ts_num_print_double(value, text);
    (void)ts_buf_append(out, text, n);
}

void tsd_check_range_print(const struct tsd_check_range *range, struct ts_buf *out)
{
    if (!range->given)
        return;
    if (range->inside)
        (void)ts_buf_char(out, '@');
    if (isinf(range->low))
        (void)ts_buf_str(out, "~:");
    if (isfinite(range->low) && (range->low != 0 || isinf(range->high))) {
        tsd_check_number(range->low, out);
        (void)ts_buf_char(out, ':');
    }
    if (isfinite(range->high))
        tsd_check_number(range->high, out);
}
