/*
 * spread.c - walks the index of a file and adds up lengths of blocks by their hours.
 *
 * Threads    spread.h
 */
#include "storage/engine/files/spread.h"

#include <string.h>

#include "storage/engine/files/sst_int.h"

void sto_spread_even(struct sto_spread *s, int64_t min_ms, int64_t max_ms, uint64_t bytes)
{
    s->from_ms = (int64_t)sto_hour(min_ms) * TS_HOUR_MS;
    s->end_ms = ((int64_t)sto_hour(max_ms) + 1) * TS_HOUR_MS;
    for (size_t i = 0; i <= STO_SPREAD_PARTS; i++)
        s->before[i] = bytes / STO_SPREAD_PARTS * i + bytes % STO_SPREAD_PARTS * i / STO_SPREAD_PARTS;
}

uint64_t sto_spread_before(const struct sto_spread *s, int64_t ms)
{
    if (ms <= s->from_ms)
        return 0;
    if (ms >= s->end_ms)
        return s->before[STO_SPREAD_PARTS];
    double at = (double)(ms - s->from_ms) / (double)(s->end_ms - s->from_ms) * STO_SPREAD_PARTS;
    size_t part = at < STO_SPREAD_PARTS - 1 ? (size_t)at : STO_SPREAD_PARTS - 1;
    double of = (double)(s->before[part + 1] - s->before[part]) * (at - (double)part);
    uint64_t bytes = s->before[part] + (uint64_t)of;
    return bytes < s->before[part + 1] ? bytes : s->before[part + 1];
}

/* Add n bytes evenly to the parts of the hours lo..hi. */
static void add(const struct sto_spread *s, double *parts, int32_t lo, int32_t hi, double n)
{
    double step = (double)(s->end_ms - s->from_ms) / STO_SPREAD_PARTS;
    double from = ((double)((int64_t)lo * TS_HOUR_MS - s->from_ms)) / step;
    double end = ((double)(((int64_t)hi + 1) * TS_HOUR_MS - s->from_ms)) / step;
    from = from < 0 ? 0 : from;
    end = end > STO_SPREAD_PARTS ? STO_SPREAD_PARTS : end;
    for (size_t i = from < STO_SPREAD_PARTS ? (size_t)from : STO_SPREAD_PARTS;
         i < STO_SPREAD_PARTS && (double)i < end; i++) {
        double a = from > (double)i ? from : (double)i, b = end < (double)(i + 1) ? end : (double)(i + 1);
        parts[i] += n * (b - a) / (end - from);
    }
}

/* Make the sums of parts, scaled to all bytes of the file. */
static void sum_up(struct sto_spread *s, const double *parts, uint64_t bytes)
{
    double all = 0, sum = 0;
    for (size_t i = 0; i < STO_SPREAD_PARTS; i++)
        all += parts[i];
    for (size_t i = 0; all > 0 && i < STO_SPREAD_PARTS; i++) {
        s->before[i] = (uint64_t)((double)bytes * (sum / all));
        sum += parts[i];
    }
}

int sto_spread_of(struct sto_sst *sst, struct sto_spread *out, struct ts_error *err)
{
    const struct sto_sst_info *info = sto_sst_info(sst);
    struct sto_index_reader reader = {.x = &sst->t.index};
    double parts[STO_SPREAD_PARTS] = {0};
    int32_t first = sto_hour(info->min_ms), last = sto_hour(info->max_ms);
    struct sto_index_hit hit;
    int rc = 0;
    sto_spread_even(out, info->min_ms, info->max_ms, sto_sst_disk_bytes(sst));
    for (uint32_t i = 0; rc == 0 && i < reader.x->n_blocks; i++) {
        rc = sto_index_at(&reader, i, &hit, err);
        if (rc < 0)
            break;
        const struct sto_sst_block *b = &hit.block;
        bool one = b->first.metric == b->last.metric && b->first.series == b->last.series;
        add(out, parts, one ? b->first.hour : first, one ? b->last.hour : last, b->len);
    }
    sto_index_reader_release(&reader);
    if (rc < 0)
        return sto_sst__index_failed(sst, &sst->t, rc, err);
    sum_up(out, parts, sto_sst_disk_bytes(sst));
    return 0;
}
