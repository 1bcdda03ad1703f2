/*
 * age_days.c - see age_days.h.
 */
#include "storage/age_days.h"

#include "base/time.h"
#include "storage/catalog/catalog.h"
#include "storage/internal.h"
#include "storage/keep.h"

static bool take(struct sto_age_days *d, struct sto_age_day *out)
{
    if (d->at.from == d->at.to)
        return false;
    out->pos = d->pos;
    out->hour = d->at.from;
    bool any = sto_aged_day_take(&d->sum, (uint32_t)(d->at.to - d->at.from), &out->sum);
    d->at.to = d->at.from;
    return any;
}

bool sto_age_days_add(struct sto_age_days *d, size_t pos, int32_t hour, const struct sto_aged *a,
                      struct sto_age_day *out)
{
    bool done = (pos != d->pos || hour >= d->at.to) && take(d, out);
    if (d->at.from == d->at.to) {
        d->at = sto_aged_day_of(hour);
        d->pos = pos;
        if (d->at.from < d->first)
            d->at.from = d->first;
    }
    sto_aged_day_add(&d->sum, a, (uint32_t)((hour - d->at.from) * TS_HOUR_MS));
    return done;
}

bool sto_age_days_end(struct sto_age_days *d, struct sto_age_day *out)
{
    return take(d, out);
}

void sto_age_days_release(struct sto_age_days *d)
{
    ts_xsum_release(&d->sum.others);
}

int64_t sto_age_days_floor(int64_t t_ms)
{
    return sto_aged_day_of(sto_hour(t_ms)).from * TS_HOUR_MS;
}

bool sto_age_days_ready(struct sto_catalog *catalog, const struct sto_keep *keep,
                        const struct sto_series *hours, int64_t to_ms)
{
    struct sto_internal name;
    const struct sto_series *visible;
    uint32_t metric;
    return !sto_internal_parse(sto_uid_name(catalog, STO_UID_METRIC, hours->metric), &name) ||
           sto_uid_find(catalog, STO_UID_METRIC, name.metric, &metric) < 0 ||
           sto_series_find_ids(catalog, metric, hours->tags, hours->n_tags, &visible) < 0 ||
           sto_keep_aged_to_ms(keep, visible->id) >= to_ms;
}
