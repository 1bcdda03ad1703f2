/*
 * total_read.c - finds the hours in which a kept total is exact, and reads them.
 *
 * Threads    total_read.h
 */
#include "storage/engine/total_read.h"

#include "base/mem.h"
#include "storage/engine/engine_int.h"
#include "storage/engine/files/total.h"
#include "storage/total_run.h"

#include <stdlib.h>
#include <string.h>

/* Series of the files that have rows in an hour. */
struct span {
    uint32_t lo, hi; /* lo > hi: no file yet */
};

/* A file whose total is read. */
struct part {
    struct sto_sst *sst; /* borrowed from the version */
    const struct sto_total_file *total;
};

struct sto_total_scan {
    struct sto_total_spec spec;
    uint8_t *hours;     /* [n_hours] 1: answered; counted */
    struct part *parts; /* by their first series; counted */
    size_t n_parts, cap_parts;
    /* of the files that are read: deletes that are newer may concern one, and cutoffs above this one, whatever deletes were applied to it */
    uint64_t least_gen, least_file_gen;
    struct sto_sst_share share; /* memory of the cursor */
    size_t part, group;         /* position */
    int64_t as;                 /* what the group is */
    struct sto_sst_cur *cur;    /* of the part; NULL: not yet */
    bool on_row;
    __int128 *sums; /* [STO_SST_RUN_ROWS] of a run; NULL: not yet; counted */
};

/* --- hours that are not answered --- */

/* Hours from..to, both included, are not answered. */
static void close_hours(struct sto_total_scan *s, int64_t from, int64_t to)
{
    int64_t lo = from - s->spec.hour_lo, hi = to - s->spec.hour_lo;
    lo = lo < 0 ? 0 : lo;
    hi = hi >= (int64_t)s->spec.n_hours ? (int64_t)s->spec.n_hours - 1 : hi;
    if (lo <= hi)
        memset(s->hours + lo, 0, (size_t)(hi - lo) + 1);
}

static int64_t hour_of(int64_t ms)
{
    return ts_floor_div(ms, TS_HOUR_MS);
}

static void close_before(struct sto_total_scan *s, int64_t ms)
{
    if (ms > STO_MIN_TS_MS)
        close_hours(s, INT32_MIN, hour_of(ms - 1));
}

static int64_t last_hour(const struct sto_total_scan *s)
{
    return s->spec.hour_lo + (int64_t)s->spec.n_hours - 1;
}

/* --- memory --- */

/* Close the hours in which a memstore has rows of the selected series. */
static void look_at_rows(struct sto_total_scan *s, const struct sto_mem *mem)
{
    int64_t lo, hi;
    if (!sto_mem_time_range(mem, &lo, &hi) || hour_of(hi) < s->spec.hour_lo || hour_of(lo) > last_hour(s))
        return;
    for (size_t i = 0; i < s->spec.n_series; i++)
        for (const struct sto_mem_row *r = sto_mem_rows(mem, s->spec.series[i]); r; r = sto_mem_row_next(r))
            close_hours(s, sto_mem_row_hour(r), sto_mem_row_hour(r));
}

/* --- files --- */

static int add_part(struct sto_total_scan *s, struct sto_sst *sst, const struct sto_total_file *t,
                    struct ts_error *err)
{
    const struct sto_sst_wear *w = sto_sst_wear(sst);
    uint64_t gen = sto_sst_info(sst)->gen_hi;
    s->least_file_gen = gen < s->least_file_gen ? gen : s->least_file_gen;
    TS_TRY(ts_budget_grow(s->spec.memory, &s->parts, &s->cap_parts, s->n_parts + 1, sizeof *s->parts, err));
    s->parts[s->n_parts++] = (struct part){sst, t};
    gen = w->carried_gen > gen ? w->carried_gen : gen;
    s->least_gen = gen < s->least_gen ? gen : s->least_gen;
    return 0;
}

/* Look at a file: add it to the parts, or close its hours. selected: the series. */
static int look_at_file(struct sto_total_scan *s, struct sto_sst *sst, const roaring_bitmap_t *selected,
                        struct ts_error *err)
{
    const struct sto_sst_info *f = sto_sst_info(sst);
    const struct sto_total_file *t = sto_sst_total(sst, &s->spec.total);
    if (sto_sst_broken(sst) && f->n_tombs) /* its deletes are not known */
        close_hours(s, hour_of(f->tomb_min_ms), hour_of(f->tomb_max_ms));
    if (!f->n_points || hour_of(f->max_ms) < s->spec.hour_lo || hour_of(f->min_ms) > last_hour(s))
        return 0;
    if (t && t->none)
        return 0;
    if (t && !t->left_out)
        return add_part(s, sst, t, err);
    int meets = sto_sst_broken(sst) ? 1 : sto_sst_series_meets(sto_sst_series(sst), selected, err);
    TS_TRY(meets);
    if (!meets)
        return 0;
    for (size_t i = 0; t && i < t->n_runs; i++)
        close_hours(s, t->runs[i].from, t->runs[i].to - 1ll);
    if (!t)
        close_hours(s, hour_of(f->min_ms), hour_of(f->max_ms));
    return 0;
}

static int cmp_parts(const void *pa, const void *pb)
{
    const struct part *a = pa, *b = pb;
    return a->total->series_lo < b->total->series_lo ? -1 : a->total->series_lo > b->total->series_lo;
}

/* Add the hours of a run to those of earlier files, whose series do not overlap where the hour is answered. */
static void add_run(struct sto_total_scan *s, struct span *spans, const struct part *p,
                    const struct sto_total_run *run)
{
    int64_t lo = run->from > s->spec.hour_lo ? run->from : s->spec.hour_lo;
    int64_t hi = run->to - 1ll < last_hour(s) ? run->to - 1ll : last_hour(s);
    for (int64_t h = lo; h <= hi; h++) {
        struct span *at = &spans[h - s->spec.hour_lo];
        if (at->lo <= at->hi && p->total->series_lo <= at->hi)
            close_hours(s, h, h); /* parts are in the order of their first series */
        at->lo = at->lo < p->total->series_lo ? at->lo : p->total->series_lo;
        at->hi = at->hi > p->total->series_hi ? at->hi : p->total->series_hi;
    }
}

/* Close the hours of which two parts may have rows of one series, and those without a summary. */
static int compare_parts(struct sto_total_scan *s, struct ts_error *err)
{
    struct span *spans = ts_budget_alloc(s->spec.memory, s->spec.n_hours * sizeof *spans, err);
    if (!spans)
        return TS_ELIMIT;
    for (size_t h = 0; h < s->spec.n_hours; h++)
        spans[h] = (struct span){UINT32_MAX, 0};
    if (s->n_parts)
        qsort(s->parts, s->n_parts, sizeof *s->parts, cmp_parts);
    for (size_t i = 0; i < s->n_parts; i++) {
        const struct sto_total_file *t = s->parts[i].total;
        for (size_t k = 0; k < t->n_runs; k++)
            add_run(s, spans, &s->parts[i], &t->runs[k]);
        for (size_t k = 0; k < t->n_holes; k++)
            close_hours(s, t->holes[k].from, t->holes[k].to - 1ll);
    }
    ts_budget_free(s->spec.memory, spans, s->spec.n_hours * sizeof *spans);
    return 0;
}

/* --- deletes --- */

static int64_t clipped(const struct sto_total_scan *s, int64_t ms)
{
    int64_t lo = (int64_t)s->spec.hour_lo * TS_HOUR_MS, hi = (last_hour(s) + 1) * TS_HOUR_MS - 1;
    return ms < lo ? lo : ms > hi ? hi : ms;
}

/* Count a tombstone of the metric in the differences of how many concern each hour. */
static void add_tomb(const struct sto_total_scan *s, const struct sto_tomb *t, int32_t *diff)
{
    int64_t end = (last_hour(s) + 1) * TS_HOUR_MS;
    if (t->metric != s->spec.total.metric || t->gen <= s->least_gen || t->from_ms >= end ||
        t->to_ms < (int64_t)s->spec.hour_lo * TS_HOUR_MS)
        return;
    diff[hour_of(clipped(s, t->from_ms)) - s->spec.hour_lo]++;
    diff[hour_of(clipped(s, t->to_ms)) - s->spec.hour_lo + 1]--;
}

/* The first tombstone of a file that belongs to the metric, or to a later one. */
static size_t first_tomb(const struct sto_tomb *tombs, size_t n, uint32_t metric)
{
    size_t lo = 0, hi = n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (tombs[mid].metric < metric)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* Close the hours that deletes concern which are newer than one of the parts. */
static int look_at_deletes(struct sto_total_scan *s, const struct sto_version *v, struct ts_error *err)
{
    size_t n, bytes = (s->spec.n_hours + 1) * sizeof(int32_t);
    int32_t *diff = ts_budget_calloc(s->spec.memory, s->spec.n_hours + 1, sizeof *diff, err), sum = 0;
    if (!diff)
        return TS_ELIMIT;
    for (size_t i = 0; i < v->n_ssts; i++) {
        const struct sto_tomb *tombs = sto_sst_tombs(v->ssts[i], &n);
        for (size_t k = first_tomb(tombs, n, s->spec.total.metric);
             k < n && tombs[k].metric == s->spec.total.metric; k++)
            add_tomb(s, &tombs[k], diff);
    }
    for (size_t i = 0; i < v->n_mems; i++) {
        const struct sto_tomb *tombs = sto_mem_tombs(v->mems[i], &n);
        for (size_t k = 0; k < n; k++)
            add_tomb(s, &tombs[k], diff);
    }
    for (size_t h = 0; h < s->spec.n_hours; h++) {
        sum += diff[h];
        if (sum)
            s->hours[h] = 0;
    }
    ts_budget_free(s->spec.memory, diff, bytes);
    return 0;
}

/* Close the hours of which retention has removed points for good that a part still has. */
static void look_at_cutoffs(struct sto_total_scan *s, const struct sto_version *v,
                            const struct sto_floors *floors, const roaring_bitmap_t *selected)
{
    if (v->cutoff_gen > s->least_file_gen)
        close_before(s, v->cutoff_ms);
    for (size_t i = 0; floors && i < floors->n; i++)
        if (floors->at[i].gen > s->least_file_gen && roaring_bitmap_intersect(floors->at[i].series, selected))
            close_before(s, floors->at[i].cutoff_ms);
}

/* --- beginning and end --- */

static roaring_bitmap_t *selection(const struct sto_total_spec *spec)
{
    roaring_bitmap_t *set = roaring_bitmap_create();
    for (size_t i = 0; i < spec->n_series; i++)
        roaring_bitmap_add(set, spec->series[i]->id);
    return set;
}

static int look(struct sto_total_scan *s, const struct sto_version *v, const struct sto_floors *floors,
                int64_t from_ms, struct ts_error *err)
{
    roaring_bitmap_t *selected = selection(&s->spec);
    int rc = 0;
    close_before(s, from_ms);
    for (size_t i = 0; i < v->n_mems; i++)
        look_at_rows(s, v->mems[i]);
    for (size_t i = 0; rc == 0 && i < v->n_ssts; i++)
        rc = look_at_file(s, v->ssts[i], selected, err);
    if (rc == 0)
        look_at_cutoffs(s, v, floors, selected);
    roaring_bitmap_free(selected);
    if (rc == 0)
        rc = compare_parts(s, err);
    return rc == 0 ? look_at_deletes(s, v, err) : rc;
}

int sto_version_total_scan(const struct sto_version *v, const struct sto_floors *floors, int64_t from_ms,
                           const struct sto_total_spec *spec, struct sto_total_scan **out,
                           struct ts_error *err)
{
    struct sto_total_scan *s = ts_xcalloc(1, sizeof *s);
    *out = NULL;
    s->spec = *spec;
    s->least_gen = s->least_file_gen = UINT64_MAX;
    s->share.tally.budget = spec->memory;
    s->hours = ts_budget_alloc(spec->memory, spec->n_hours, err);
    for (size_t h = 0; s->hours && h < spec->n_hours; h++)
        s->hours[h] = spec->wanted[h] != 0;
    int rc = s->hours ? look(s, v, floors, from_ms, err) : TS_ELIMIT;
    if (rc < 0)
        sto_total_scan_free(s);
    else
        *out = s;
    return rc;
}

void sto_total_scan_free(struct sto_total_scan *s)
{
    if (!s)
        return;
    sto_sst_cur_free(s->cur);
    ts_budget_free(s->spec.memory, s->hours, s->hours ? s->spec.n_hours : 0);
    ts_budget_free(s->spec.memory, s->parts, s->cap_parts * sizeof *s->parts);
    ts_budget_free(s->spec.memory, s->sums, s->sums ? STO_SST_RUN_ROWS * sizeof *s->sums : 0);
    ts_tally_release(&s->share.tally);
    ts_free(s);
}

uint8_t *sto_total_scan_hours(struct sto_total_scan *s)
{
    return s->hours;
}

/* --- rows --- */

/* Go to the first row of the present group, or of the next one that is selected: 1; 0: the part has no more; < 0. */
static int begin_group(struct sto_total_scan *s, struct ts_error *err)
{
    const struct part *p = &s->parts[s->part];
    for (; s->group < p->total->n_groups; s->group++) {
        const struct sto_total_group *g = &p->total->groups[s->group];
        s->as = s->spec.group(s->spec.arg, g->tags, g->n_tags);
        if (s->as < 0)
            continue;
        const struct sto_key key = {p->total->ids.metric, (uint32_t)s->group, s->spec.hour_lo};
        return sto_sst_cur_seek(s->cur, &key, err);
    }
    return 0;
}

/* Move to the next row of the part: 1; 0: it has no more; < 0. */
static int move(struct sto_total_scan *s, struct ts_error *err)
{
    int rc = s->on_row ? sto_sst_cur_next(s->cur, err) : begin_group(s, err);
    for (;;) {
        s->on_row = rc == 1;
        if (rc <= 0)
            return rc;
        const struct sto_key *key = sto_sst_cur_key(s->cur);
        if (key->series == s->group && key->hour <= last_hour(s))
            return 1;
        s->group++;
        rc = begin_group(s, err);
    }
}

/* A file cannot be read. */
static int fail(struct sto_total_scan *s, int rc, struct ts_error *err)
{
    if (rc == TS_ECORRUPT && err)
        sto_sst_lose_total(s->parts[s->part].sst, &s->spec.total, err);
    return rc;
}

/* Move to the next row of an hour that is answered: 1; 0: there are no more; < 0. */
static int next_row(struct sto_total_scan *s, struct ts_error *err)
{
    for (; s->part < s->n_parts; s->part++) {
        const struct part *p = &s->parts[s->part];
        if (!s->cur)
            s->cur = sto_sst_total_cur(p->sst, p->total, &s->share);
        int rc;
        while ((rc = move(s, err)) == 1)
            if (s->hours[sto_sst_cur_key(s->cur)->hour - s->spec.hour_lo])
                return 1;
        if (rc < 0)
            return fail(s, rc, err);
        sto_sst_cur_free(s->cur);
        s->cur = NULL;
        s->group = 0;
    }
    return 0;
}

static int fail_without_sum(struct sto_total_scan *s, struct ts_error *err)
{
    return fail(s, ts_error_set(err, TS_ECORRUPT, "a kept total has an hour without a summary"), err);
}

int sto_total_scan_next(struct sto_total_scan *s, int64_t *out_group, int32_t *out_hour,
                        const struct sto_summary **out_sum, struct ts_error *err)
{
    int rc = next_row(s, err);
    if (rc <= 0)
        return rc;
    *out_sum = sto_sst_cur_summary(s->cur);
    if (!*out_sum)
        return fail_without_sum(s, err);
    *out_group = s->as;
    *out_hour = sto_sst_cur_key(s->cur)->hour;
    return 1;
}

/* How many of the rows that follow each other are of hours that are answered? The first one is. */
static size_t count_answered(const struct sto_total_scan *s, const struct sto_key *keys, size_t n)
{
    int64_t last = last_hour(s);
    size_t i = 1;
    while (i < n && keys[i].hour <= last && s->hours[keys[i].hour - s->spec.hour_lo])
        i++;
    return i;
}

int sto_total_scan_run(struct sto_total_scan *s, int64_t *out_group, struct sto_run *out_run,
                       struct ts_error *err)
{
    struct sto_sst_rows rows;
    if (!s->sums)
        s->sums = ts_budget_alloc(s->spec.memory, STO_SST_RUN_ROWS * sizeof *s->sums, err);
    if (!s->sums)
        return TS_ELIMIT;
    int rc = next_row(s, err);
    if (rc <= 0)
        return rc;
    size_t n = sto_sst_cur_rows(s->cur, true, &rows);
    if (n == 0)
        return fail_without_sum(s, err);
    n = count_answered(s, rows.keys, n);
    sto_sst_cur_sums(s->cur, n, s->sums);
    sto_sst_cur_skip(s->cur, n - 1);
    *out_group = s->as;
    *out_run = (struct sto_run){n, rows.keys, rows.counts, s->sums, rows.is_int};
    return 1;
}
