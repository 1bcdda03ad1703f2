/*
 * rate.c - differences per second, counters, resets.
 */
#include "query/execution/rate.h"

#include "base/double.h"

/* Rate of a counter that went down. */
static double reset_rate(const struct qry_rate *r, double diff, double seconds)
{
    double rate = diff / seconds;
    return r->reset_value > 0 && rate > (double)r->reset_value ? 0 : rate;
}

/* The rate between points k and k+1; false: there is none. */
static bool one_rate(const struct qry_rate *r, const struct qry_span *s, size_t k, bool int0, bool int1,
                     uint64_t v0, double *out)
{
    uint64_t v1 = s->v[k + 1];
    double seconds = (double)(s->ts[k + 1] - s->ts[k]) / 1000.0;
    if (int0 && int1) {
        int64_t diff = (int64_t)(v1 - v0);
        *out = (double)diff / seconds;
        if (diff >= 0 || !r->counter)
            return true;
        diff = (int64_t)((uint64_t)r->counter_max - v0 + v1);
        *out = reset_rate(r, (double)diff, seconds);
    } else {
        double a = int0 ? (double)(int64_t)v0 : ts_double_of(v0),
               b = int1 ? (double)(int64_t)v1 : ts_double_of(v1);
        double diff = b - a;
        *out = diff / seconds;
        if (!(diff < 0) || !r->counter)
            return true;
        *out = reset_rate(r, (double)r->counter_max - a + b, seconds);
    }
    return !r->drop_resets;
}

void qry_rate_span(const struct qry_rate *r, bool compat, struct qry_span *s)
{
    s->phantom = false;
    if (!s->n)
        return;
    if (compat && s->n > 1 && s->ts[0] > 0) {
        double v = qry_span_int(s, 0) ? (double)(int64_t)s->v[0] : ts_double_of(s->v[0]);
        s->phantom = true;
        s->phantom_ts = s->ts[0];
        s->phantom_v = v / ((double)s->ts[0] / 1000.0);
    }
    size_t n = 0;
    uint64_t v0 = s->v[0];
    bool int0 = qry_span_int(s, 0);
    for (size_t k = 0; k + 1 < s->n; k++) {
        bool int1 = qry_span_int(s, k + 1);
        double rate;
        uint64_t next = s->v[k + 1];
        bool keep = one_rate(r, s, k, int0, int1, v0, &rate);
        int0 = int1;
        v0 = next;
        if (!keep)
            continue;
        /* n <= k, so the overwritten value has been read already */
        s->v[n] = ts_double_bits(rate);
        s->ts[n] = s->ts[k + 1];
        n++;
    }
    s->n = n;
    s->any_int = false;
    s->any_dbl = n > 0;
    s->phantom &= n > 0;
}
