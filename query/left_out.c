/*
 * left_out.c - see left_out.h.
 */
#include "query/left_out.h"

#include "base/text.h"
#include "base/time.h"

#define KEY_BIAS ((uint64_t)1 << 63) /* makes unsigned keys ascend as signed times do */
#define NEED_POINTS                                                                                          \
    "percentiles and others that need all points, nor for intervals that begin at a series' first point, "   \
    "as 2dc"

static void raise_to(_Atomic uint64_t *at, uint64_t key)
{
    uint64_t was = atomic_load_explicit(at, memory_order_relaxed);
    while (was < key &&
           !atomic_compare_exchange_weak_explicit(at, &was, key, memory_order_relaxed, memory_order_relaxed))
        ;
}

void qry_left_out_add(struct qry_left_out *l, const struct qry_left_out_part *part)
{
    if (!part->n_days && !part->n_hours)
        return;
    raise_to(&l->before, ~((uint64_t)part->from_ms ^ KEY_BIAS));
    raise_to(&l->after, (uint64_t)part->to_ms ^ KEY_BIAS);
    atomic_fetch_add_explicit(&l->n_days, part->n_days, memory_order_relaxed);
    atomic_fetch_add_explicit(&l->n_hours, part->n_hours, memory_order_relaxed);
    atomic_fetch_add_explicit(&l->n_need_points, part->needs_points, memory_order_relaxed);
    atomic_fetch_add_explicit(&l->n_series, 1, memory_order_relaxed);
}

void qry_left_out_say(const struct qry_left_out *l, struct ts_buf *out)
{
    const struct ts_tz *tz = ts_tz_default();
    uint64_t days = l->n_days, hours = l->n_hours;
    if (!qry_left_out_any(l))
        return;
    if (days)
        ts_buf_printf(out, "%llu day%s", (unsigned long long)days, ts_plural(days));
    if (days && hours)
        ts_buf_str(out, " and ");
    if (hours)
        ts_buf_printf(out, "%llu hour%s", (unsigned long long)hours, ts_plural(hours));
    ts_buf_printf(out, " of %llu series were left out (", (unsigned long long)l->n_series);
    ts_time_print(tz, (int64_t)(~l->before ^ KEY_BIAS), false, out);
    ts_buf_str(out, " to ");
    ts_time_print(tz, (int64_t)(l->after ^ KEY_BIAS), false, out);
    ts_buf_str(out, "): their points have expired, and their summaries ");
    if (l->n_need_points == l->n_series) {
        ts_buf_str(out, "do not suffice for " NEED_POINTS);
        return;
    }
    ts_buf_printf(out, "are of whole %s%s; ask for whole days in that zone%s",
                  days ? "days of " : "hours, or whole days of ", ts_tz_name(tz),
                  l->n_need_points ? "; they do not suffice for " NEED_POINTS : "");
}
