/*
 * merge_run.c - summaries of one file that follow each other, returned together.
 *
 * Of most of the time of a series one file has all rows. Then the heap need not be asked for each of them: what is on top of it says up to
 * which hour no other source has any, and no delete concerns the hours in between. A run ends with its block, since its rows are borrowed from it.
 *
 * Threads    one
 * Not here   single rows (merge.c), days (merge_day.c)
 */
#include "storage/engine/merge/merge_heap.h"

#define LENGTH_MASK (STO_DAY_WHOLE - 1u)

/* The hour before which rows of the run must end: that of the next row of another source, or the end of the scan. */
static int64_t end_of(const struct sto_merge *m, const struct sto_key *key)
{
    int64_t end = m->hour_hi + 1ll, whole = ts_floor_div(m->spec.to_ms + 1, TS_HOUR_MS);
    end = whole < end ? whole : end;
    if (m->n_heap && m->heap[0].key >> 64 == sto_merge__heap_key(key->metric, key->series, 0, 0) >> 64) {
        int64_t next = (int32_t)((uint32_t)(m->heap[0].key >> 32) ^ STO_MERGE__HOUR_SIGN);
        end = next < end ? next : end;
    }
    return end;
}

/* How many of n rows of a series begin before an hour? */
static size_t count_before(const struct sto_key *keys, size_t n, int64_t end)
{
    size_t lo = 0;
    if (keys[n - 1].hour < end)
        return n;
    while (lo < n) {
        size_t mid = lo + (n - lo) / 2;
        if (keys[mid].hour < end)
            lo = mid + 1;
        else
            n = mid;
    }
    return lo;
}

/* How many of n days may be returned. *out_end: the hour after the last one. */
static size_t count_days(const struct sto_merge *m, const struct sto_key *keys, size_t n, int64_t end,
                         int64_t *out_end)
{
    const uint8_t *days = m->spec.days;
    int64_t base = sto_hour(m->spec.from_ms);
    size_t i = 0;
    n = count_before(keys, n, end);
    if (n) { /* mostly all of them, which takes no branch for each */
        uint8_t all = STO_DAY_WHOLE;
        for (size_t k = 0; k < n; k++)
            all &= days[keys[k].hour - base];
        *out_end = keys[n - 1].hour + (int64_t)(days[keys[n - 1].hour - base] & LENGTH_MASK);
        if (all && *out_end <= end)
            return n;
    }
    for (; i < n; i++) {
        uint8_t day = days[keys[i].hour - base];
        int64_t to = keys[i].hour + (int64_t)(day & LENGTH_MASK);
        if (!(day & STO_DAY_WHOLE) || to > end)
            break;
        *out_end = to;
    }
    return i;
}

/* The same of hours; of a file that has days, up to the next day. */
static size_t count_hours(const struct sto_merge *m, const struct sto_merge__src *src,
                          const struct sto_key *keys, size_t n, int64_t end, int64_t *out_end)
{
    const uint8_t *whole = m->spec.whole_hours, *days = src->by_days ? m->spec.days : NULL;
    int64_t base = sto_hour(m->spec.from_ms), day = end;
    if (days) { /* where the next one begins */
        size_t from = (size_t)(keys[0].hour + 1 - base);
        for (day = keys[0].hour + 1; day < end && !days[from]; from++)
            day++;
    }
    size_t i = 0;
    for (; i < n && keys[i].hour < day && whole[keys[i].hour - base]; i++)
        *out_end = keys[i].hour + 1ll;
    return i;
}

/* How many of the rows end before the first delete that concerns one of them? */
static size_t undeleted(struct sto_merge *m, const struct sto_key *key, const struct sto_key *keys, size_t n,
                        int64_t end)
{
    int64_t first_ms = INT64_MAX;
    sto_merge__tombs_in(m, key, (int32_t)(end - key->hour));
    for (size_t i = 0; i < m->n_hour_tombs; i++)
        first_ms = m->hour_tombs[i].from_ms < first_ms ? m->hour_tombs[i].from_ms : first_ms;
    if (!m->n_hour_tombs)
        return n;
    m->n_dels = m->n_hour_tombs = 0;
    /* the row before the first one that begins after it may contain it */
    while (n > 0 && keys[n - 1].hour * TS_HOUR_MS > first_ms)
        n--;
    return n ? n - 1 : 0;
}

/* The arrays of runs. False: they find no memory, and rows are returned one by one. No block is closed for them, since a run is borrowed from one. */
static bool reserve(struct sto_merge *m)
{
    if (m->run_rows)
        return true;
    if (ts_tally_take(&m->share.tally, sizeof *m->run_rows, NULL) < 0)
        return false;
    m->run_rows = ts_xmalloc(sizeof *m->run_rows);
    for (size_t i = 0; i < STO_SST_RUN_ROWS; i++)
        m->run_rows->ones[i] = 1;
    return true;
}

/* A file stands on a day, or on an hour with a summary: 1, 0. *out_cur: the cursor over the rows. */
static int run_of_summaries(struct sto_merge *m, struct sto_merge__src *src, const struct sto_key *key,
                            struct sto_sst_cur **out_cur)
{
    struct sto_sst_cur *cur = src->on_day ? src->days.cur : src->sums.cur;
    struct sto_sst_rows rows;
    int64_t end = 0;
    size_t n = sto_sst_cur_rows(cur, true, &rows);
    if (n)
        n = src->on_day ? count_days(m, rows.keys, n, end_of(m, key), &end)
                        : count_hours(m, src, rows.keys, n, end_of(m, key), &end);
    if (n)
        n = undeleted(m, key, rows.keys, n, end);
    if (n == 0 || !reserve(m))
        return 0;
    sto_sst_cur_sums(cur, n, m->run_rows->sums);
    m->run = (struct sto_run){n, rows.keys, rows.counts, m->run_rows->sums, rows.is_int};
    m->counts.n_summaries += n;
    m->counts.n_days += src->on_day ? n : 0;
    *out_cur = cur;
    return 1;
}

/* The same of a file whose rows have no summaries, since they have few points: rows of one point are sums themselves. */
static int run_of_points(struct sto_merge *m, struct sto_merge__src *src, const struct sto_key *key,
                         struct sto_sst_cur **out_cur, struct ts_error *err)
{
    int64_t end = 0;
    int rc = sto_merge__to_points(m, src, err);
    if (rc <= 0 || !reserve(m))
        return rc < 0 ? rc : 0;
    struct sto_merge__run_rows *r = m->run_rows;
    rc = sto_sst_cur_singles(src->points.cur, end_of(m, key), r->keys, r->sums, err);
    TS_TRY(rc);
    size_t n = rc ? count_hours(m, src, r->keys, (size_t)rc, end_of(m, key), &end) : 0;
    if (n)
        n = undeleted(m, key, r->keys, n, end);
    if (n == 0)
        return 0;
    m->run = (struct sto_run){n, r->keys, r->ones, r->sums, true};
    m->counts.n_rows += n;
    m->counts.n_points += n;
    m->counts.n_bytes += n * (sizeof(uint32_t) + sizeof(int64_t));
    *out_cur = src->points.cur;
    return 1;
}

/* Did the points of a member end before those of all members before it began, or the other way round? Then no time is in two of them. */
static bool is_apart(const struct sto_merge *m, size_t i)
{
    const struct sto_sst_info *a = sto_sst_info(m->group[i].src->sst);
    for (size_t k = 0; k < i; k++) {
        const struct sto_sst_info *b = sto_sst_info(m->group[k].src->sst);
        if (a->min_ms <= b->max_ms && b->min_ms <= a->max_ms)
            return false;
    }
    return true;
}

/* A day of which several files have parts, since they were cut at an hour of it: 1, 0. Unlike sto_merge__day it does without the columns of first, last and largest
 * value, which the whole block would be decoded for. */
static int run_of_parts(struct sto_merge *m, const struct sto_key *key)
{
    int32_t n_hours = (int32_t)(m->spec.days[key->hour - sto_hour(m->spec.from_ms)] & LENGTH_MASK);
    __int128 sum = 0;
    int64_t n = 0;
    bool is_int = false;
    if (!sto_merge__has_whole_day(m, key, n_hours) || !reserve(m))
        return 0;
    for (size_t i = 0; i < m->n_group; i++) {
        struct sto_sst_cur *cur = m->group[i].src->days.cur;
        struct sto_sst_rows rows;
        __int128 part;
        if (!is_apart(m, i) || !sto_sst_cur_rows(cur, true, &rows) || (i && rows.is_int != is_int))
            return 0;
        sto_sst_cur_sums(cur, 1, &part);
        if (__builtin_add_overflow(sum, part, &sum))
            return 0;
        n += rows.counts[0];
        is_int = rows.is_int;
    }
    if (n > UINT32_MAX || undeleted(m, key, key, 1, key->hour + n_hours) == 0)
        return 0;
    m->run_rows->keys[0] = *key;
    m->run_rows->sums[0] = sum;
    m->run_rows->n_of_parts = n;
    m->run = (struct sto_run){1, m->run_rows->keys, &m->run_rows->n_of_parts, m->run_rows->sums, is_int};
    m->counts.n_summaries++;
    m->counts.n_days++;
    return 1;
}

int sto_merge__run(struct sto_merge *m, const struct sto_key *key, struct sto_row *out_row,
                   struct ts_error *err)
{
    struct sto_merge__src *src = m->group[0].src;
    struct sto_sst_cur *cur;
    int rc = 0;
    if (!src->sst || m->from_ms > key->hour * TS_HOUR_MS || (!src->on_day && !m->spec.whole_hours))
        return 0;
    if (m->n_group > 1) {
        if (!src->on_day || !run_of_parts(m, key))
            return 0;
        *out_row = (struct sto_row){.key = *key, .pos = m->pos - 1, .run = &m->run};
        return 1;
    }
    if (src->on_day || (src->by_sums && !src->vain))
        rc = run_of_summaries(m, src, key, &cur);
    if (rc == 0 && !src->on_day)
        rc = run_of_points(m, src, key, &cur, err);
    if (rc <= 0)
        return rc;
    sto_sst_cur_skip(cur, m->run.n - 1);
    *out_row = (struct sto_row){.key = *key, .pos = m->pos - 1, .run = &m->run};
    return 1;
}
