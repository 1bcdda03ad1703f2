/*
 * partition.c - cutting time into files and picking merges.
 *
 * Picking, in this order: files of one day in size tiers (the newest ones, each no larger than half again
 * what was gathered so far: few rewrites a point); files across days when there are several; old small days
 * into months, months into years.
 */
#include "storage/engine/partition.h"

#include "base/mem.h"

#include <stdlib.h>

#define JOIN_AGE_MS    (3 * TS_DAY_MS) /* a day may still get late points: leave it alone that long */
#define TIER_SLACK_NUM 3               /* next older file <= 3/2 of the sum of the newer ones */
#define TIER_SLACK_DEN 2
#define WIDE_MAX_BYTES (1ull << 30) /* a merge across days is not started above this, but for `full` */

size_t sto_partition_plan(const struct sto_day_count *days, size_t n_days, uint64_t big_day_points,
                          struct sto_cut *out)
{
    size_t n = 0;
    bool open = false; /* the last cut gathers small days */
    for (size_t i = 0; i < n_days; i++) {
        bool big = days[i].n >= big_day_points;
        int32_t lo = days[i].day * 24;
        if (n == 0 || big || !open) {
            if (n)
                out[n - 1].hour_hi = lo;
            out[n].hour_lo = n ? lo : INT32_MIN;
            out[n].hour_hi = INT32_MAX;
            n++;
        }
        open = !big;
    }
    return n;
}

void sto_day_counts_add(struct sto_day_counts *c, int32_t hour, uint64_t points)
{
    int32_t day = (int32_t)ts_floor_div(hour, 24);
    if (c->n == 0 || c->days[c->last].day != day) {
        for (c->last = 0; c->last < c->n && c->days[c->last].day != day; c->last++)
            ;
        if (c->last == c->n) {
            if (c->n == c->cap)
                c->days = ts_xrealloc(c->days, (c->cap = c->cap ? c->cap * 2 : 16) * sizeof *c->days);
            c->days[c->n++] = (struct sto_day_count){.day = day};
        }
    }
    c->days[c->last].n += points;
}

static int cmp_day(const void *a, const void *b)
{
    const struct sto_day_count *x = a, *y = b;
    return x->day < y->day ? -1 : x->day > y->day;
}

size_t sto_day_counts_cut(struct sto_day_counts *c, uint64_t big_day_points, struct sto_cut **out_cuts)
{
    *out_cuts = ts_xcalloc(c->n + 1, sizeof **out_cuts);
    if (c->n == 0)
        return 0;
    qsort(c->days, c->n, sizeof *c->days, cmp_day);
    return sto_partition_plan(c->days, c->n, big_day_points, *out_cuts);
}

void sto_file_span(const struct sto_sst_info *f, int64_t *out_lo_ms, int64_t *out_hi_ms)
{
    int64_t lo = f->n_points ? f->min_ms : INT64_MAX, hi = f->n_points ? f->max_ms : INT64_MIN;
    if (f->n_tombs) {
        lo = f->tomb_min_ms < lo ? f->tomb_min_ms : lo;
        hi = f->tomb_max_ms > hi ? f->tomb_max_ms : hi;
    }
    *out_lo_ms = lo;
    *out_hi_ms = hi;
}

/* --- sets of chosen files --- */

struct choice {
    const struct sto_sst_info *files;
    size_t n;
    bool *in; /* by index */
    size_t n_in;
    uint64_t gen_lo, gen_hi, bytes;
    int64_t lo, hi; /* hull in time */
};

static void choice_add(struct choice *c, size_t i)
{
    const struct sto_sst_info *f = &c->files[i];
    int64_t lo, hi;
    if (c->in[i])
        return;
    sto_file_span(f, &lo, &hi);
    c->in[i] = true;
    if (c->n_in++ == 0) {
        c->gen_lo = f->gen_lo;
        c->gen_hi = f->gen_hi;
        c->lo = lo;
        c->hi = hi;
        c->bytes = 0;
    }
    c->gen_lo = f->gen_lo < c->gen_lo ? f->gen_lo : c->gen_lo;
    c->gen_hi = f->gen_hi > c->gen_hi ? f->gen_hi : c->gen_hi;
    c->lo = lo < c->lo ? lo : c->lo;
    c->hi = hi > c->hi ? hi : c->hi;
    c->bytes += f->t_bytes + f->s_bytes;
}

static void choice_clear(struct choice *c)
{
    for (size_t i = 0; i < c->n; i++)
        c->in[i] = false;
    c->n_in = 0;
    c->bytes = 0;
}

static bool overlaps_hull(const struct choice *c, size_t i)
{
    int64_t lo, hi;
    sto_file_span(&c->files[i], &lo, &hi);
    return lo <= c->hi && hi >= c->lo;
}

/* In the way: overlaps in time and its generations lie neither wholly below nor wholly above. */
static bool in_the_way(const struct choice *c, size_t i)
{
    const struct sto_sst_info *f = &c->files[i];
    return !c->in[i] && overlaps_hull(c, i) && f->gen_hi >= c->gen_lo && f->gen_lo <= c->gen_hi;
}

static bool choice_valid(const struct choice *c)
{
    for (size_t i = 0; i < c->n; i++)
        if (in_the_way(c, i))
            return false;
    return c->n_in > 0;
}

static void choice_close(struct choice *c)
{
    for (bool grew = true; grew;) {
        grew = false;
        for (size_t i = 0; i < c->n; i++)
            if (in_the_way(c, i)) {
                choice_add(c, i);
                grew = true;
            }
    }
}

/* Nothing below overlaps: what tombstones and adds speak of is all inside. */
static bool choice_final(const struct choice *c)
{
    for (size_t i = 0; i < c->n; i++)
        if (!c->in[i] && overlaps_hull(c, i) && c->files[i].gen_lo < c->gen_lo)
            return false;
    return true;
}

bool sto_pick_valid(const struct sto_sst_info *files, size_t n, const size_t *chosen, size_t n_chosen)
{
    struct choice c = {.files = files, .n = n, .in = ts_xcalloc(n + 1, sizeof(bool))};
    for (size_t i = 0; i < n_chosen; i++)
        choice_add(&c, chosen[i]);
    bool ok = choice_valid(&c);
    ts_free(c.in);
    return ok;
}

void sto_pick_expired(const struct sto_sst_info *files, size_t n, int64_t before_ms, bool *expired)
{
    for (size_t i = 0; i < n; i++) {
        int64_t lo, hi;
        sto_file_span(&files[i], &lo, &hi);
        expired[i] = hi < before_ms;
    }
    for (bool changed = true; changed;) { /* one that stays may keep another */
        changed = false;
        for (size_t i = 0; i < n; i++)
            for (size_t k = 0; k < n && expired[i]; k++) {
                int64_t lo, hi, a, b;
                sto_file_span(&files[i], &lo, &hi);
                sto_file_span(&files[k], &a, &b);
                if (!expired[k] && a <= hi && b >= lo && files[k].gen_lo < files[i].gen_hi) {
                    expired[i] = false;
                    changed = true;
                }
            }
    }
}

static void take(struct choice *c, enum sto_pick_why why, bool one, struct sto_pick *out)
{
    out->why = why;
    out->one = one;
    out->final = choice_final(c);
    out->files = ts_xcalloc(c->n_in + 1, sizeof(size_t));
    out->n = 0;
    for (size_t i = 0; i < c->n; i++)
        if (c->in[i])
            out->files[out->n++] = i;
}

/* --- the rules --- */

/* Day a file lies wholly in; false for files across days and files with tombstones. */
static bool one_day(const struct sto_sst_info *f, int64_t *out_day)
{
    if (f->n_tombs || !f->n_points)
        return false;
    *out_day = ts_floor_div(f->min_ms, TS_DAY_MS);
    return *out_day == ts_floor_div(f->max_ms, TS_DAY_MS);
}

struct by_day {
    int64_t day;
    uint64_t gen;
    size_t i;
};

static int cmp_by_day(const void *a, const void *b)
{
    const struct by_day *x = a, *y = b;
    if (x->day != y->day)
        return x->day < y->day ? -1 : 1;
    return x->gen < y->gen ? -1 : x->gen > y->gen;
}

/* Newest files of one day (list[0..n) ascending by generation) that form a tier. */
static bool tier_of(struct choice *c, const struct by_day *list, size_t n)
{
    choice_clear(c);
    uint64_t sum = 0;
    for (size_t k = n; k-- > 0;) {
        const struct sto_sst_info *f = &c->files[list[k].i];
        uint64_t size = f->t_bytes + f->s_bytes;
        if (sum && size > sum * TIER_SLACK_NUM / TIER_SLACK_DEN)
            break;
        choice_add(c, list[k].i);
        if (!choice_valid(c)) {
            choice_clear(c);
            for (size_t j = k + 1; j < n; j++)
                choice_add(c, list[j].i);
            break;
        }
        sum += size;
    }
    return c->n_in >= STO_TIER_FILES && choice_valid(c);
}

static bool pick_day(struct choice *c, struct sto_pick *out)
{
    struct by_day *list = ts_xcalloc(c->n + 1, sizeof *list);
    size_t n = 0;
    for (size_t i = 0; i < c->n; i++)
        if (one_day(&c->files[i], &list[n].day)) {
            list[n].gen = c->files[i].gen_lo;
            list[n++].i = i;
        }
    qsort(list, n, sizeof *list, cmp_by_day);
    bool found = false;
    for (size_t a = 0, b; a < n && !found; a = b) {
        for (b = a; b < n && list[b].day == list[a].day; b++)
            ;
        if (b - a >= STO_TIER_FILES && tier_of(c, list + a, b - a)) {
            take(c, STO_PICK_DAY, false, out);
            found = true;
        }
    }
    ts_free(list);
    return found;
}

static bool pick_wide(struct choice *c, struct sto_pick *out)
{
    int64_t day;
    size_t n_overlapping = 0;
    choice_clear(c);
    for (size_t i = 0; i < c->n; i++)
        if (!one_day(&c->files[i], &day))
            choice_add(c, i);
    for (size_t i = 0; i < c->n; i++) { /* only files that some other wide file overlaps are worth it */
        int64_t lo, hi, a, b;
        sto_file_span(&c->files[i], &lo, &hi);
        for (size_t k = 0; c->in[i] && k < c->n; k++) {
            sto_file_span(&c->files[k], &a, &b);
            if (k != i && c->in[k] && a <= hi && b >= lo) {
                n_overlapping++;
                break;
            }
        }
    }
    if (n_overlapping < STO_WIDE_FILES)
        return false;
    choice_close(c);
    if (c->bytes > WIDE_MAX_BYTES)
        return false;
    take(c, STO_PICK_WIDE, false, out);
    return true;
}

/* Month (as year * 12 + month) or year that holds a file wholly. */
static bool period_of(const struct sto_sst_info *f, bool year, int64_t *out)
{
    if (!f->n_points || f->n_tombs)
        return false;
    struct ts_civil a = ts_civil_from_ms(NULL, f->min_ms), b = ts_civil_from_ms(NULL, f->max_ms);
    int64_t x = year ? a.year : (int64_t)a.year * 12 + a.month,
            y = year ? b.year : (int64_t)b.year * 12 + b.month;
    *out = x;
    return x == y;
}

static bool pick_join(struct choice *c, int64_t now_ms, bool year, bool full, struct sto_pick *out)
{
    for (size_t i = 0; i < c->n; i++) {
        int64_t period, other;
        if (!period_of(&c->files[i], year, &period))
            continue;
        choice_clear(c);
        for (size_t k = i; k < c->n; k++) {
            const struct sto_sst_info *f = &c->files[k];
            if (!period_of(f, year, &other) || other != period || f->max_ms > now_ms - JOIN_AGE_MS)
                continue;
            if (c->bytes + f->t_bytes + f->s_bytes > STO_JOIN_BYTES)
                continue;
            choice_add(c, k);
        }
        if (c->n_in >= (full ? 2 : STO_TIER_FILES) && choice_valid(c)) {
            take(c, STO_PICK_JOIN, true, out);
            return true;
        }
    }
    return false;
}

/* Everything that overlaps, in one merge for each connected stretch of time. */
static bool pick_full(struct choice *c, struct sto_pick *out)
{
    for (size_t i = 0; i < c->n; i++) {
        choice_clear(c);
        choice_add(c, i);
        for (bool grew = true; grew;) {
            grew = false;
            for (size_t k = 0; k < c->n; k++)
                if (!c->in[k] && overlaps_hull(c, k)) {
                    choice_add(c, k);
                    grew = true;
                }
        }
        if (c->n_in > 1 || c->files[i].n_tombs) {
            take(c, STO_PICK_FULL, false, out);
            return true;
        }
    }
    return false;
}

void sto_pick_next(const struct sto_sst_info *files, size_t n, int64_t now_ms, bool full,
                   struct sto_pick *out)
{
    struct choice c = {.files = files, .n = n, .in = ts_xcalloc(n + 1, sizeof(bool))};
    *out = (struct sto_pick){.why = STO_PICK_NONE};
    if (full)
        (void)(pick_full(&c, out) || pick_join(&c, now_ms, false, true, out) ||
               pick_join(&c, now_ms, true, true, out));
    else
        (void)(pick_day(&c, out) || pick_wide(&c, out) || pick_join(&c, now_ms, false, false, out) ||
               pick_join(&c, now_ms, true, false, out));
    ts_free(c.in);
}
