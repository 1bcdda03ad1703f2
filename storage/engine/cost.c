/*
 * cost.c - estimates blocks, rows and bytes of a scan from indexes alone.
 *
 * Threads    see cost.h
 * Not here   the rules by which a scan chooses its sources and summaries (merge_src.c, merge.c), which this
 *            file follows
 */
#include "storage/engine/cost.h"

#include "storage/engine/engine_int.h"
#include "storage/engine/sst_int.h"

#define STRETCHES_MAX 64 /* more gaps between summaries than this count as one */

/* A scan being priced. */
struct cost_scan {
    const struct sto_scan_spec *spec; /* borrowed */
    int32_t hour_lo, hour_hi;         /* of the scan */
    roaring_bitmap_t *chosen;         /* ids of its series */
};

/* Hours lo..hi. */
struct stretch {
    int32_t lo, hi;
};

/* Counts the blocks of a file; looked up in the order of keys, each is counted once. */
struct block_count {
    struct sto_sst *sst;           /* the pair, and */
    struct sto_sst__file *f;       /* the file of it */
    struct sto_index_reader index; /* of f */
    uint32_t next;                 /* first block that is not passed */
    uint64_t n, bytes;             /* counted */
};

static bool cost_meets(const struct sto_scan_spec *spec, int64_t lo_ms, int64_t hi_ms)
{
    return lo_ms <= hi_ms && lo_ms <= spec->to_ms && hi_ms >= spec->from_ms;
}

static int one_or_error(int rc)
{
    return rc < 0 ? rc : 1;
}

/* Count blocks with rows of a series in a range of hours. */
static int count_blocks(struct block_count *c, uint32_t metric, uint32_t series, const struct stretch *s,
                        struct ts_error *err)
{
    const struct sto_key from = {metric, series, s->lo}, to = {metric, series, s->hi};
    struct sto_index_hit hit;
    int rc = c->next == c->index.x->n_blocks ? 0 : sto_index_find(&c->index, &from, &hit, err);
    if (rc == 1 && hit.i < c->next)
        rc = one_or_error(sto_index_at(&c->index, c->next, &hit, err));
    while (rc == 1 && sto_key_cmp(&hit.block.first, &to) <= 0) {
        c->n++;
        c->bytes += hit.block.len;
        c->next = hit.i + 1;
        if (c->next == c->index.x->n_blocks)
            break;
        rc = one_or_error(sto_index_at(&c->index, c->next, &hit, err));
    }
    return rc < 0 ? sto_sst__index_failed(c->sst, c->f, rc, err) : 0;
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
static void guess_rows(const struct sto_sst *sst, const struct stretch *all, uint64_t part_bytes,
                       uint64_t n_whole, struct sto_scan_cost *c)
{
    const struct sto_sst_info *info = &sst->info;
    double hours = (double)all->hi - (double)all->lo + 1;
    double file_bytes = (double)(sst->t.index.blocks_end - STO_SST_HEADER_BYTES);
    double rows = file_bytes > 0 ? (double)info->n_rows * ((double)part_bytes / file_bytes) : 0;
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
    struct block_count points, sums, wanted;
};

static int count_all(const struct cost_scan *scan, struct file_count *n, const uint32_t *ids,
                     const struct sto_scan_cost *c, const struct stretch *all, const struct stretch *gaps,
                     size_t n_gaps, struct ts_error *err)
{
    for (size_t i = 0; i < c->n_series; i++) {
        TS_TRY(count_blocks(&n->points, scan->spec->metric, ids[i], all, err));
        if (!c->by_summaries)
            continue;
        TS_TRY(count_blocks(&n->sums, scan->spec->metric, ids[i], all, err));
        for (size_t g = 0; g < n_gaps; g++)
            TS_TRY(count_blocks(&n->wanted, scan->spec->metric, ids[i], &gaps[g], err));
    }
    return 0;
}

static struct block_count count_of(struct sto_sst *sst, struct sto_sst__file *f)
{
    return (struct block_count){.sst = sst, .f = f, .index.x = &f->index};
}

static int cost_rows_of_file(const struct cost_scan *scan, struct sto_sst *sst, const uint32_t *ids,
                             struct sto_scan_cost *c, struct ts_error *err)
{
    const struct sto_sst_info *info = &sst->info;
    struct stretch all = {scan->hour_lo, scan->hour_hi}, gaps[STRETCHES_MAX];
    int32_t first = sto_hour(info->min_ms), last = sto_hour(info->max_ms);
    size_t n_gaps = 0;
    uint64_t n_whole = 0;
    all.lo = first > all.lo ? first : all.lo;
    all.hi = last < all.hi ? last : all.hi;
    if (scan->spec->whole_hours && scan->spec->final && sto_sst_has_sums(sst))
        n_gaps = points_only(scan, all, gaps, &n_whole);
    c->by_summaries = n_whole > 0;
    struct file_count n = {count_of(sst, &sst->t), count_of(sst, &sst->s), count_of(sst, &sst->t)};
    struct ts_error why = {0};
    int rc = count_all(scan, &n, ids, c, &all, gaps, n_gaps, &why);
    sto_index_reader_release(&n.points.index);
    sto_index_reader_release(&n.sums.index);
    sto_index_reader_release(&n.wanted.index);
    if (rc == TS_ECORRUPT && c->by_summaries && !sto_sst_has_lost_index(sst)) {
        sto_sst_lose_sums(sst, &why);
        return cost_rows_of_file(scan, sst, ids, c, err);
    }
    if (rc < 0 && err)
        *err = why;
    TS_TRY(rc);
    guess_rows(sst, &all, n.points.bytes, n_whole, c);
    const struct block_count *read = c->by_summaries ? &n.wanted : &n.points;
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
    const struct sto_sst_info *info = &sst->info;
    *c = (struct sto_scan_cost){.file_no = info->file_no, .min_ms = info->min_ms, .max_ms = info->max_ms};
    bool rows = info->n_rows > 0 && cost_meets(scan->spec, info->min_ms, info->max_ms);
    bool tombs = cost_meets(scan->spec, info->tomb_min_ms, info->tomb_max_ms);
    c->broken = sto_sst_broken(sst);
    if (c->broken)
        return rows || tombs;
    for (size_t i = 0; tombs && i < sst->n_tombs; i++)
        c->n_tombs += sst->tombs[i].metric == scan->spec->metric &&
                      cost_meets(scan->spec, sst->tombs[i].from_ms, sst->tombs[i].to_ms);
    if (!rows)
        return c->n_tombs > 0;
    roaring_bitmap_t *here = roaring_bitmap_and(sst->series, scan->chosen);
    c->n_series = (size_t)roaring_bitmap_get_cardinality(here);
    uint32_t *ids = ts_xmalloc(c->n_series * sizeof *ids + 1);
    roaring_bitmap_to_uint32_array(here, ids);
    roaring_bitmap_free(here);
    int rc = c->n_series ? cost_rows_of_file(scan, sst, ids, c, err) : 0;
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
