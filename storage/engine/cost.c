/*
 * cost.c - estimates blocks, rows and bytes of a scan from indexes alone.
 *
 * Threads    see cost.h
 * Not here   the rules by which a scan chooses its sources and summaries (merge_src.c, merge.c), which this
 *            file follows
 */
#include "storage/engine/cost.h"

#include "storage/engine/engine_int.h"
#include "storage/engine/files/block_count.h"

#define STRETCHES_MAX 64 /* more ranges without summaries than this are treated as one */

/* A scan whose cost is estimated. */
struct cost_scan {
    const struct sto_scan_spec *spec; /* borrowed */
    int32_t hour_lo, hour_hi;         /* of the scan */
    roaring_bitmap_t *chosen;         /* ids of its series */
};

/* Hours lo..hi. */
struct stretch {
    int32_t lo, hi;
};

static bool cost_meets(const struct sto_scan_spec *spec, int64_t lo_ms, int64_t hi_ms)
{
    return lo_ms <= hi_ms && lo_ms <= spec->to_ms && hi_ms >= spec->from_ms;
}

static bool is_whole(const struct cost_scan *scan, int64_t hour)
{
    int64_t lo = hour * TS_HOUR_MS;
    return scan->spec->whole_hours[hour - sto_hour(scan->spec->from_ms)] && scan->spec->from_ms <= lo &&
           scan->spec->to_ms >= lo + TS_HOUR_MS - 1;
}

/* Find the ranges of lo..hi that no summary may answer; *out_whole: the hours that one may answer. Many
 * ranges are treated as one. */
static size_t points_only(const struct cost_scan *scan, struct stretch all, struct stretch *out,
                          uint64_t *out_whole)
{
    size_t n = 0;
    *out_whole = 0;
    for (int64_t h = all.lo; h <= all.hi; h++) {
        if (is_whole(scan, h)) {
            ++*out_whole;
        } else if (n && out[n - 1].hi + 1ll == h) {
            out[n - 1].hi = (int32_t)h;
        } else if (n == STRETCHES_MAX) {
            n = 1;
            out[0].hi = (int32_t)h;
        } else {
            out[n++] = (struct stretch){(int32_t)h, (int32_t)h};
        }
    }
    return n;
}

/* Estimate rows and points: a file states how many it holds, its blocks show which share is read. */
static void guess_rows(const struct sto_sst_info *info, const struct stretch *all,
                       const struct sto_block_count *points, uint64_t n_whole, struct sto_scan_cost *c)
{
    double hours = (double)all->hi - (double)all->lo + 1;
    double file_bytes = (double)sto_block_count_file_bytes(points);
    double rows = file_bytes > 0 ? (double)info->n_rows * ((double)points->bytes / file_bytes) : 0;
    double most = (double)c->n_series * hours, sums = 0;
    rows = rows < most ? rows : most;
    if (c->by_summaries)
        sums = rows * ((double)n_whole / hours);
    c->n_sums = (uint64_t)(sums + 0.5);
    c->n_rows = (uint64_t)(rows - sums + 0.5);
    c->n_points =
        (uint64_t)((rows - sums) * ((double)info->n_points / (double)(info->n_rows ? info->n_rows : 1)) +
                   0.5);
}

/* Counts the blocks of all series: those with points of the scan, with summaries, and with points that no
 * summary may answer. */
struct file_count {
    struct sto_block_count points, sums, wanted;
};

static int count_hours(struct sto_block_count *c, const struct cost_scan *scan, uint32_t series,
                       const struct stretch *s, struct ts_error *err)
{
    return sto_block_count_add(c, scan->spec->metric, series, s->lo, s->hi, err);
}

static int count_all(const struct cost_scan *scan, struct file_count *n, const uint32_t *ids,
                     const struct sto_scan_cost *c, const struct stretch *all, const struct stretch *gaps,
                     size_t n_gaps, struct ts_error *err)
{
    for (size_t i = 0; i < c->n_series; i++) {
        TS_TRY(count_hours(&n->points, scan, ids[i], all, err));
        if (!c->by_summaries)
            continue;
        TS_TRY(count_hours(&n->sums, scan, ids[i], all, err));
        for (size_t g = 0; g < n_gaps; g++)
            TS_TRY(count_hours(&n->wanted, scan, ids[i], &gaps[g], err));
    }
    return 0;
}

static int cost_rows_of_file(const struct cost_scan *scan, struct sto_sst *sst, const uint32_t *ids,
                             struct sto_scan_cost *c, struct ts_error *err)
{
    const struct sto_sst_info *info = sto_sst_info(sst);
    struct stretch all = {scan->hour_lo, scan->hour_hi}, gaps[STRETCHES_MAX];
    int32_t first = sto_hour(info->min_ms), last = sto_hour(info->max_ms);
    size_t n_gaps = 0;
    uint64_t n_whole = 0;
    all.lo = first > all.lo ? first : all.lo;
    all.hi = last < all.hi ? last : all.hi;
    if (scan->spec->whole_hours && scan->spec->final && sto_sst_has_sums(sst))
        n_gaps = points_only(scan, all, gaps, &n_whole);
    c->by_summaries = n_whole > 0;
    struct file_count n = {sto_block_count_of(sst, STO_SST_POINTS),
                           sto_block_count_of(sst, STO_SST_SUMMARIES),
                           sto_block_count_of(sst, STO_SST_POINTS)};
    struct ts_error why = {0};
    int rc = count_all(scan, &n, ids, c, &all, gaps, n_gaps, &why);
    sto_block_count_release(&n.points);
    sto_block_count_release(&n.sums);
    sto_block_count_release(&n.wanted);
    if (rc == TS_ECORRUPT && c->by_summaries && !sto_sst_has_lost_index(sst)) {
        sto_sst_lose_sums(sst, &why);
        return cost_rows_of_file(scan, sst, ids, c, err);
    }
    if (rc < 0 && err)
        *err = why;
    TS_TRY(rc);
    guess_rows(info, &all, &n.points, n_whole, c);
    const struct sto_block_count *read = c->by_summaries ? &n.wanted : &n.points;
    c->n_blocks = read->n;
    c->n_bytes = read->bytes;
    c->n_sum_blocks = n.sums.n;
    c->n_sum_bytes = n.sums.bytes;
    return 0;
}

/* 1 if a scan uses the file, 0, < 0. */
static int cost_of_file(const struct cost_scan *scan, struct sto_sst *sst, struct sto_scan_cost *c,
                        struct ts_error *err)
{
    const struct sto_sst_info *info = sto_sst_info(sst);
    *c = (struct sto_scan_cost){.file_no = info->file_no, .min_ms = info->min_ms, .max_ms = info->max_ms};
    bool rows = info->n_rows > 0 && cost_meets(scan->spec, info->min_ms, info->max_ms);
    bool tombs = cost_meets(scan->spec, info->tomb_min_ms, info->tomb_max_ms);
    c->broken = sto_sst_broken(sst);
    if (c->broken)
        return rows || tombs;
    size_t n_tombs;
    const struct sto_tomb *t = sto_sst_tombs(sst, &n_tombs);
    for (size_t i = 0; tombs && i < n_tombs; i++)
        c->n_tombs += t[i].metric == scan->spec->metric && cost_meets(scan->spec, t[i].from_ms, t[i].to_ms);
    if (!rows)
        return c->n_tombs > 0;
    roaring_bitmap_t *here = roaring_bitmap_create();
    int rc = sto_sst_series_common(sto_sst_series(sst), scan->chosen, here, err);
    c->n_series = (size_t)roaring_bitmap_get_cardinality(here);
    uint32_t *ids = ts_xmalloc(c->n_series * sizeof *ids + 1);
    roaring_bitmap_to_uint32_array(here, ids);
    roaring_bitmap_free(here);
    if (rc == 0 && c->n_series)
        rc = cost_rows_of_file(scan, sst, ids, c, err);
    ts_free(ids);
    return rc < 0 ? rc : c->n_series > 0 || c->n_tombs > 0;
}

static bool cost_of_mem(const struct cost_scan *scan, const struct sto_mem *mem, struct sto_scan_cost *c)
{
    *c = (struct sto_scan_cost){.memory = true, .min_ms = INT64_MAX, .max_ms = INT64_MIN};
    bool any = sto_mem_time_range(mem, &c->min_ms, &c->max_ms);
    for (size_t i = 0; any && i < scan->spec->n_series; i++) {
        uint64_t before = c->n_rows;
        for (const struct sto_mem_row *r = sto_mem_rows(mem, scan->spec->series[i]); r;
             r = sto_mem_row_next(r)) {
            if (sto_mem_row_hour(r) < scan->hour_lo || sto_mem_row_hour(r) > scan->hour_hi)
                continue;
            c->n_rows++;
            c->n_points += sto_mem_row_n(r);
        }
        c->n_series += c->n_rows > before;
    }
    c->n_bytes = c->n_points * (sizeof(uint32_t) + sizeof(int64_t)); /* of cells, as a scan counts them */
    size_t n;
    const struct sto_tomb *tombs = sto_mem_tombs(mem, &n);
    for (size_t i = 0; i < n; i++)
        c->n_tombs +=
            tombs[i].metric == scan->spec->metric && cost_meets(scan->spec, tombs[i].from_ms, tombs[i].to_ms);
    return c->n_series > 0 || c->n_tombs > 0;
}

int sto_version_cost(const struct sto_version *v, const struct sto_scan_spec *spec, sto_scan_cost_fn each,
                     void *arg, struct ts_error *err)
{
    struct sto_scan_spec within = *spec;
    struct sto_scan_cost c;
    within.from_ms = spec->from_ms < STO_MIN_TS_MS ? STO_MIN_TS_MS : spec->from_ms;
    within.to_ms = spec->to_ms > STO_MAX_TS_MS ? STO_MAX_TS_MS : spec->to_ms;
    if (within.from_ms > within.to_ms || !spec->n_series)
        return 0;
    struct cost_scan scan = {.spec = &within,
                             .hour_lo = sto_hour(within.from_ms),
                             .hour_hi = sto_hour(within.to_ms),
                             .chosen = roaring_bitmap_create()};
    for (size_t i = 0; i < spec->n_series; i++)
        roaring_bitmap_add(scan.chosen, spec->series[i]->id);
    int rc = 0;
    for (size_t i = 0; rc >= 0 && i < v->n_ssts; i++) {
        rc = cost_of_file(&scan, v->ssts[i], &c, err);
        if (rc == 1)
            each(arg, &c);
    }
    for (size_t i = 0; rc >= 0 && i < v->n_mems; i++)
        if (cost_of_mem(&scan, v->mems[i], &c))
            each(arg, &c);
    roaring_bitmap_free(scan.chosen);
    return rc < 0 ? rc : 0;
}
