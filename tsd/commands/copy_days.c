/*
 * copy_days.c - points or histograms, and checksum, of each day of a metric.
 *
 * Threads    one at a time
 */
#include "base/hash.h"
#include "base/double.h"
#include "storage/internal.h"
#include "tsd/commands/copy.h"

#define FNV_FIRST 0xcbf29ce484222325ull
#define FNV_PRIME 0x100000001b3ull

void tsd_copy_days_release(struct tsd_copy_days *d)
{
    ts_budget_free(d->memory, d->list, d->cap * sizeof *d->list);
    d->list = NULL;
    d->n = d->cap = d->last = 0;
}

/* FNV-1a, of a text and a byte that no name has. */
static uint64_t add_text(uint64_t h, struct ts_slice s)
{
    for (size_t i = 0; i < s.n; i++)
        h = (h ^ (uint8_t)s.p[i]) * FNV_PRIME;
    return (h ^ 0xff) * FNV_PRIME;
}

static uint64_t hash_series(const struct sto_remote_series *s)
{
    uint64_t h = add_text(FNV_FIRST, s->metric);
    for (size_t i = 0; i < s->n_tags; i++)
        h = add_text(add_text(h, s->tags[i].k), s->tags[i].v);
    return ts_hash_u64(h);
}

/* A decimal counts as the double that it stands for: HBase has no decimals. */
static uint64_t hash_point(uint64_t series, int64_t ts_ms, struct ts_num v)
{
    bool is_int = v.kind == TS_NUM_INT;
    uint64_t bits = is_int ? (uint64_t)v.m : ts_double_bits(ts_num_double(v));
    return ts_hash_u64(series + ts_hash_u64((uint64_t)ts_ms * 2 + is_int) + bits * FNV_PRIME);
}

static int find_day(struct tsd_copy_days *d, int64_t day, struct ts_error *err)
{
    size_t lo = 0, hi = d->n;
    if (d->last < d->n && d->list[d->last].day == day)
        return 0;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (d->list[mid].day < day)
            lo = mid + 1;
        else
            hi = mid;
    }
    d->last = lo;
    if (lo < d->n && d->list[lo].day == day)
        return 0;
    TS_TRY(ts_budget_grow(d->memory, &d->list, &d->cap, d->n + 1, sizeof *d->list, err));
    memmove(d->list + lo + 1, d->list + lo, (d->n - lo) * sizeof *d->list);
    d->list[lo] = (struct tsd_copy_day){.day = day};
    d->n++;
    return 0;
}

int tsd_copy_days_add(struct tsd_copy_days *d, const struct sto_remote_row *row, struct ts_error *err)
{
    int64_t hour_ms = row->hour * TS_HOUR_MS;
    uint64_t series = hash_series(&row->series), sum = 0;
    const struct sto_cells *cells = row->cells;
    TS_TRY(find_day(d, ts_floor_div(hour_ms, TS_DAY_MS), err));
    for (uint32_t i = 0; i < cells->n; i++)
        sum += hash_point(series, hour_ms + sto_meta_off(cells->meta[i]),
                          sto_cell_num(cells->meta[i], cells->m[i]));
    d->list[d->last].n_points += cells->n;
    d->list[d->last].check += sum;
    return 0;
}

bool tsd_copy_is_every(const struct sto_remote_row *row)
{
    struct sto_internal name;
    return sto_internal_parse(row->series.metric, &name) && ts_slice_is(name.detail, "u");
}

int tsd_copy_days_add_bucket(struct tsd_copy_days *d, const struct sto_remote_row *row, struct ts_error *err)
{
    int64_t hour_ms = row->hour * TS_HOUR_MS;
    uint64_t series = hash_series(&row->series), sum = 0;
    const struct sto_cells *cells = row->cells;
    TS_TRY(find_day(d, ts_floor_div(hour_ms, TS_DAY_MS), err));
    bool is_every = tsd_copy_is_every(row);
    for (uint32_t i = 0; i < cells->n; i++)
        if (is_every || cells->m[i] != 0)
            sum += hash_point(series, hour_ms + sto_meta_off(cells->meta[i]),
                              sto_cell_num(cells->meta[i], cells->m[i]));
    d->list[d->last].n_points += is_every ? cells->n : 0;
    d->list[d->last].check += sum;
    return 0;
}
