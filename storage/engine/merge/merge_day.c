/*
 * merge_day.c - days in a merge: rows of files that stand for all rows of a series and day.
 *
 * The file of days knows on which days a series has rows. A file that has one stands on a day where the scan may take the summary of that day,
 * and otherwise on an hour. An item of a day is smaller than all rows of the day, so that when it comes out of the heap it is known whether
 * another source has rows of that day. Then, or if a tombstone concerns the day, the file is moved to the hours of the day.
 *
 * Threads    one
 * Not here   the same for hours (merge.c), moving cursors (merge_src.c)
 */
#include "storage/engine/merge/merge_heap.h"

#include "storage/day.h"

#define LENGTH_MASK (STO_DAY_WHOLE - 1u)
#define PARTS_MAX   8 /* most files whose parts of a day are added up */

/* What spec.days says of an hour of the scan. */
static uint8_t day_at(const struct sto_merge *m, int32_t hour)
{
    return m->spec.days[hour - sto_hour(m->spec.from_ms)];
}

static int32_t least(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/* The first hour after this one at which a day begins; at most hour_hi + 1. */
static int32_t next_day(const struct sto_merge *m, int32_t hour, int32_t hour_hi)
{
    do
        hour++;
    while (hour <= hour_hi && !day_at(m, hour));
    return hour;
}

/* The day summaries contradict the rows, or cannot be read: continue by hours. */
static void lose(struct sto_merge__src *src, const struct ts_error *why)
{
    sto_sst_lose_days(src->sst, why);
    sto_sst_cur_free(src->days.cur);
    src->days = (struct sto_merge__cur){.at_end = true};
    src->by_days = src->on_day = false;
}

static void lose_wrong(struct sto_merge__src *src)
{
    struct ts_error why = {0};
    (void)ts_error_set(&why, TS_ECORRUPT, "the day summaries of file %08llx do not agree with its rows",
                       (unsigned long long)sto_sst_info(src->sst)->file_no);
    lose(src, &why);
}

/* May the summary of this day be the row? */
static bool is_wanted(const struct sto_merge *m, const struct sto_sst_cur *days, uint8_t day, int32_t hour_hi)
{
    int64_t end = sto_sst_cur_key(days)->hour + (int64_t)(day & LENGTH_MASK);
    return (day & STO_DAY_WHOLE) && end - 1 <= hour_hi && m->spec.to_ms >= end * TS_HOUR_MS - 1 &&
           sto_sst_cur_has_summary(days, m->spec.needs_sum);
}

/* A day begins at *key: move to the summary of that day or of the next one that has rows, or to the first hour of it. 1; 0 = there is no such hour before
 * key->hour, from which the search goes on; < 0. Without src->by_days the result is that of all hours. */
static int find_day(struct sto_merge *m, struct sto_merge__src *src, struct sto_key *key, int32_t hour_hi,
                    struct ts_error *err)
{
    struct ts_error why = {0};
    int rc = sto_merge__find_summary(m, src, key, hour_hi, &why);
    uint8_t day = rc == 1 ? day_at(m, sto_sst_cur_key(src->days.cur)->hour) : 0;
    if (rc == TS_ECORRUPT && !sto_sst_has_lost_index(src->sst))
        lose(src, &why);
    else if (rc == 1 && !day)
        lose_wrong(src);
    if (!src->by_days)
        return sto_merge__find(m, src, key, hour_hi, err);
    if (rc < 0 && err)
        *err = why;
    if (rc == 0)
        key->hour = hour_hi + 1;
    if (rc <= 0)
        return rc;
    key->hour = sto_sst_cur_key(src->days.cur)->hour;
    src->on_day = is_wanted(m, src->days.cur, day, hour_hi);
    if (src->on_day)
        return 1;
    int32_t end = key->hour + (int32_t)(day & LENGTH_MASK);
    rc = sto_merge__find(m, src, key, least(end - 1, hour_hi), err);
    key->hour = end;
    return rc;
}

int sto_merge__seek(struct sto_merge *m, struct sto_merge__src *src, const struct sto_key *key,
                    int32_t hour_hi, struct ts_error *err)
{
    struct sto_key at = *key;
    int rc = 0;
    src->on_day = false;
    if (!src->by_days)
        return sto_merge__find(m, src, key, hour_hi, err);
    while (rc == 0 && src->by_days && at.hour <= hour_hi) {
        if (day_at(m, at.hour)) {
            rc = find_day(m, src, &at, hour_hi, err);
        } else {
            int32_t end = next_day(m, at.hour, hour_hi);
            rc = sto_merge__find(m, src, &at, end - 1, err);
            at.hour = end;
        }
    }
    return rc;
}

int sto_merge__step(struct sto_merge *m, struct sto_merge__src *src, int32_t hour_hi, struct ts_error *err)
{
    if (!src->by_days)
        return sto_merge__find_next(m, src, hour_hi, err);
    struct sto_key next = *sto_merge__key(src);
    if (src->on_day) {
        next.hour += (int32_t)(day_at(m, next.hour) & LENGTH_MASK);
    } else if (++next.hour <= hour_hi && !day_at(m, next.hour)) { /* the same day goes on */
        int32_t end = next_day(m, next.hour, hour_hi);
        int rc = sto_merge__find_next(m, src, end - 1, err);
        if (rc != 0)
            return rc;
        next.hour = end;
    }
    return sto_merge__seek(m, src, &next, hour_hi, err);
}

int32_t sto_merge__day_start(const struct sto_merge *m, int32_t hour)
{
    int32_t h = hour;
    while (h > m->hour_lo && h <= m->hour_hi && !day_at(m, h))
        h--;
    return h >= m->hour_lo && h <= m->hour_hi && day_at(m, h) ? h : hour;
}

bool sto_merge__has_whole_day(const struct sto_merge *m, const struct sto_key *key, int32_t n_hours)
{
    unsigned __int128 last =
        sto_merge__heap_key(key->metric, key->series, key->hour + n_hours - 1, 0) | UINT32_MAX;
    bool days = m->n_group <= PARTS_MAX && (m->n_heap == 0 || m->heap[0].key > last);
    for (size_t i = 0; i < m->n_group && days; i++)
        days = m->group[i].src->on_day;
    return days;
}

/* Add up what the members of the group, files that were cut at an hour of the day, have of it. False: their times overlap, or kinds
 * of values are mixed. */
static bool add_up(struct sto_merge *m)
{
    const struct sto_summary *parts[PARTS_MAX];
    size_t n = 0;
    for (size_t i = 0; i < m->n_group; i++, n++) {
        const struct sto_summary *sum = sto_sst_cur_summary(m->group[i].src->days.cur);
        size_t k = n;
        for (; k > 0 && parts[k - 1]->first_off > sum->first_off; k--)
            parts[k] = parts[k - 1];
        parts[k] = sum;
    }
    m->day.n = 0;
    for (size_t k = 0; k < n; k++)
        if ((k && parts[k - 1]->last_off >= parts[k]->first_off) || !sto_day_add(&m->day, parts[k], 0))
            return false;
    return m->day.has_sum || !m->spec.needs_sum;
}

/* Move a file from a day to the first of its hours: 1, < 0. */
static int to_hours(struct sto_merge *m, struct sto_merge__src *src, const struct sto_key *key,
                    int32_t n_hours, struct ts_error *err)
{
    src->on_day = false;
    int rc = sto_merge__find(m, src, key, least(key->hour + n_hours - 1, m->hour_hi), err);
    if (rc != 0)
        return rc;
    lose_wrong(src);
    return sto_merge__find(m, src, key, m->hour_hi, err);
}

bool sto_merge__has_day(const struct sto_merge *m)
{
    bool any = false;
    for (size_t i = 0; i < m->n_group; i++)
        any |= m->group[i].src->on_day;
    return any;
}

int sto_merge__day(struct sto_merge *m, const struct sto_key *key, struct sto_row *out_row,
                   struct ts_error *err)
{
    int32_t n_hours = (int32_t)(day_at(m, key->hour) & LENGTH_MASK);
    if (sto_merge__has_whole_day(m, key, n_hours) && m->from_ms <= key->hour * TS_HOUR_MS && add_up(m)) {
        *out_row =
            (struct sto_row){.key = *key, .pos = m->pos - 1, .sum = &m->day, .n_hours = (uint8_t)n_hours};
        sto_merge__tombs_in(m, key, n_hours);
        if (m->n_dels == 0) {
            m->counts.n_summaries++;
            m->counts.n_days++;
            return 1;
        }
    }
    size_t n = m->n_group;
    m->n_group = 0;
    for (size_t i = 0; i < n; i++) {
        struct sto_merge__member *member = &m->group[i];
        int rc = 1;
        if (member->src->on_day)
            rc = to_hours(m, member->src, key, n_hours, err);
        if (rc < 0)
            return rc;
        if (member->row)
            sto_merge__heap_push(
                m, sto_merge__heap_key(key->metric, key->series, key->hour, (size_t)(member->src - m->srcs)),
                member->row);
        else if (rc == 1)
            sto_merge__heap_push_file(m, member->src);
    }
    return 0;
}
