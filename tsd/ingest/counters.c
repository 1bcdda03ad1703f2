/*
 * counters.c - see counters.h.
 */
#include "tsd/ingest/counters.h"

#include "base/cut.h"
#include "base/time.h"

#include <string.h>

static int counter_rule(struct ts_slice text, struct tsd_counter_rule *out, struct ts_error *err)
{
    const char *eq = text.n ? memchr(text.p, '=', text.n) : NULL;
    int64_t n;
    enum ts_unit unit;
    if (!eq || eq == text.p)
        return ts_error_set(err, TS_EINVAL,
                            "counter_resolution: '%.*s' is not METRIC=DURATION, as in web.*=1m",
                            (int)(text.n < 200 ? text.n : 200), text.p);
    struct ts_slice name = {text.p, (size_t)(eq - text.p)};
    struct ts_slice value = {eq + 1, text.n - name.n - 1};
    int rc = ts_duration_parse(value, &n, &unit, &out->ms, err);
    if (rc < 0 || out->ms <= 0 || out->ms > TS_DAY_MS || TS_DAY_MS % out->ms)
        return ts_error_set(
            err, TS_EINVAL,
            "counter_resolution: '%.*s' is no duration that divides a day, as 1s, 1m, 15m, 1h or 1d",
            (int)(value.n < 200 ? value.n : 200), value.p);
    out->is_prefix = name.p[name.n - 1] == '*';
    name.n -= out->is_prefix;
    if (name.n && memchr(name.p, '*', name.n))
        return ts_error_set(err, TS_EINVAL, "counter_resolution: '%.*s' has a * that is not its end",
                            (int)(text.n < 200 ? text.n : 200), text.p);
    out->name = name;
    return 0;
}

int tsd_counters_load(const char *text, struct tsd_counters *out, struct ts_error *err)
{
    struct ts_slice rest = ts_slice_trim(ts_slice_str(text));
    out->n = 0;
    while (rest.n) {
        struct ts_slice part = ts_slice_trim(ts_slice_cut(&rest, ','));
        if (out->n == TSD_COUNTER_RULES)
            return ts_error_set(err, TS_EINVAL, "counter_resolution has more than %d rules",
                                TSD_COUNTER_RULES);
        TS_TRY(counter_rule(part, &out->rules[out->n], err));
        out->n++;
    }
    return 0;
}

int64_t tsd_counters_resolution(const struct tsd_counters *c, struct ts_slice metric)
{
    for (size_t i = 0; i < c->n; i++) {
        const struct tsd_counter_rule *r = &c->rules[i];
        if ((r->is_prefix ? metric.n >= r->name.n : metric.n == r->name.n) &&
            (r->name.n == 0 || memcmp(metric.p, r->name.p, r->name.n) == 0))
            return r->ms;
    }
    return TSD_COUNTER_DEFAULT_MS;
}
