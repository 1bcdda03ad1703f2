/*
 * merge_src.c - sources of a merge: which ones are needed, and finding rows in them.
 *
 * Threads    one; memstores are read beside their writers
 * Invariant  cursors only go forward
 * Not here   merging rows (merge.c), tombstones (merge_tomb.c)
 */
#include "storage/engine/merge/merge_int.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/time.h"

#define BACKOFF_MAX 64 /* most seeks between two tries with "next", where the wanted rows are far apart */
#define FEW_SERIES  64 /* selections up to this are looked up one by one in a file's bitmap */
/* files that keep a block open (about 130 KB) between two series; others read it again */
#define KEEP_FILES 128
/* a row may need so many times the memory of a merge, and so much in any case, bytes */
#define ROW_TIMES   8u
#define ROW_LEAST   ((uint64_t)32 << 20)
#define RADIX_BITS  8
#define RADIX_COUNT (1u << RADIX_BITS)

/* --- choosing sources --- */

static bool meets(const struct sto_merge *m, int64_t lo_ms, int64_t hi_ms)
{
    return lo_ms <= hi_ms && lo_ms <= m->spec.to_ms && hi_ms >= m->spec.from_ms;
}

/* Is one of the selected series in the file? 1, 0, < 0. sel: the selection as a bitmap, made when first
 * needed. */
static int has_series(const struct sto_merge *m, struct sto_merge__src *src, roaring_bitmap_t **sel,
                      struct ts_error *err)
{
    struct sto_sst_series *in_file = sto_sst_series(src->sst);
    const struct sto_scan_spec *spec = &m->spec;
    for (size_t i = 0; i < spec->n_series && i < FEW_SERIES; i++) {
        int rc = sto_sst_series_has(in_file, &src->series, spec->series[i]->id, err);
        if (rc != 0)
            return rc;
    }
    if (spec->n_series <= FEW_SERIES)
        return 0;
    if (!*sel) {
        uint32_t *ids = ts_xmalloc(spec->n_series * sizeof(*ids));
        for (size_t i = 0; i < spec->n_series; i++)
            ids[i] = spec->series[i]->id;
        *sel = roaring_bitmap_of_ptr(spec->n_series, ids);
        ts_free(ids);
    }
    return sto_sst_series_meets(in_file, *sel, err);
}

/* Is there an hour that summaries of this file may answer? */
static bool wants_sums(const struct sto_merge *m, const struct sto_sst *sst)
{
    const struct sto_sst_info *info = sto_sst_info(sst);
    const struct sto_scan_spec *spec = &m->spec;
    if (!spec->series || !spec->whole_hours || !spec->final || !sto_sst_has_sums(sst))
        return false;
    int32_t base = sto_hour(spec->from_ms);
    int64_t lo = ts_floor_div(info->min_ms, TS_HOUR_MS), hi = ts_floor_div(info->max_ms, TS_HOUR_MS);
    lo = lo < m->hour_lo ? m->hour_lo : lo;
    hi = hi > m->hour_hi ? m->hour_hi : hi;
    for (int64_t h = lo; h <= hi; h++)
        if (spec->whole_hours[h - base])
            return true;
    return false;
}

/* Order of sources with the same generations: files by number, then memstores, then rows of the remote store. */
static uint64_t rank(const struct sto_merge__src *src)
{
    if (src->sst)
        return sto_sst_info(src->sst)->file_no;
    return UINT64_MAX - (sto_mem_owner(src->mem) != STO_MEM_REMOTE);
}

static int cmp_src(const void *pa, const void *pb)
{
    const struct sto_merge__src *a = pa, *b = pb;
    /* compare the highest generation, as tombstones do: files that share no time may have overlapping
     * generations */
    if (a->gen_hi != b->gen_hi)
        return a->gen_hi < b->gen_hi ? -1 : 1;
    if (a->gen_lo != b->gen_lo)
        return a->gen_lo < b->gen_lo ? -1 : 1;
    uint64_t x = rank(a), y = rank(b);
    return x < y ? -1 : x > y;
}

static int add_sst(struct sto_merge *m, struct sto_sst *sst, bool rows, roaring_bitmap_t **sel,
                   struct ts_error *err)
{
    const struct sto_sst_info *info = sto_sst_info(sst);
    struct sto_merge__src src = {.sst = sst, .gen_lo = info->gen_lo, .gen_hi = info->gen_hi};
    int has = rows && info->n_rows > 0 && meets(m, info->min_ms, info->max_ms);
    if (has && m->spec.series)
        has = has_series(m, &src, sel, err);
    src.has_rows = has == 1;
    if (has < 0 || (!has && (info->n_tombs == 0 || !meets(m, info->tomb_min_ms, info->tomb_max_ms))))
        return has;
    src.by_sums = src.has_rows && wants_sums(m, sst);
    src.by_days = src.has_rows && m->spec.series && m->spec.days && m->spec.final && sto_sst_has_days(sst);
    src.hour_first = src.has_rows ? sto_hour(info->min_ms) : 0;
    if (src.by_days)
        src.hour_first = sto_merge__day_start(m, src.hour_first);
    m->srcs[m->n_srcs++] = src;
    return 0;
}

/* Fail if a file that can't be read is needed. */
static int broken(const struct sto_merge *m, const struct sto_sst *sst, struct ts_error *err)
{
    const struct sto_sst_info *info = sto_sst_info(sst);
    const char *why = sto_sst_broken(sst);
    if (!why || (!meets(m, info->min_ms, info->max_ms) && !meets(m, info->tomb_min_ms, info->tomb_max_ms)))
        return 0;
    return ts_error_set(err, TS_ECORRUPT, "%s", why);
}

static void add_mem(struct sto_merge *m, struct sto_mem *mem)
{
    struct sto_merge__src src = {.mem = mem, .gen_lo = sto_mem_gen(mem), .gen_hi = sto_mem_gen(mem)};
    int64_t lo_ms, hi_ms;
    size_t n_tombs;
    src.has_rows = sto_mem_time_range(mem, &lo_ms, &hi_ms) && meets(m, lo_ms, hi_ms);
    (void)sto_mem_tombs(mem, &n_tombs);
    if (src.has_rows || n_tombs > 0)
        m->srcs[m->n_srcs++] = src;
}

int sto_merge__srcs_init(struct sto_merge *m, struct sto_sst *const *ssts, size_t n_ssts,
                         struct sto_mem *const *mems, size_t n_mems, struct ts_error *err)
{
    if (n_ssts + n_mems + m->spec.n_deletes >= STO_MERGE__ROW)
        return ts_error_set(err, TS_ELIMIT, "%zu files are too many for one scan", n_ssts);
    roaring_bitmap_t *sel = NULL;
    size_t n = n_ssts + n_mems + m->spec.n_deletes;
    /* including the arrays that sto_merge_new allocates */
    TS_TRY(ts_tally_take(&m->share.tally,
                         n * (sizeof(*m->srcs) + sizeof(*m->group) + sizeof(*m->bufs) + sizeof(*m->pieces) +
                              2 * sizeof(*m->parts) + sizeof(*m->dels)),
                         err));
    m->srcs = ts_xcalloc(n, sizeof(*m->srcs));
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < n_ssts; i++) {
        rc = broken(m, ssts[i], err);
        if (rc == 0)
            rc = add_sst(m, ssts[i], true, &sel, err);
    }
    for (size_t i = 0; rc == 0 && i < m->spec.n_deletes; i++)
        rc = add_sst(m, m->spec.deletes[i], false, &sel, err);
    /* Memstores are written to meanwhile, those of older generations first. They are therefore read newest
     * first: a point is then never seen without the points that its owner put before it. */
    for (size_t i = n_mems; i-- > 0;)
        add_mem(m, mems[i]);
    if (sel)
        roaring_bitmap_free(sel);
    qsort(m->srcs, m->n_srcs, sizeof(*m->srcs), cmp_src);
    return rc;
}

void sto_merge__srcs_release(struct sto_merge *m)
{
    for (size_t i = 0; i < m->n_srcs; i++) {
        struct sto_merge__src *src = &m->srcs[i];
        sto_sst_cur_free(src->points.cur);
        sto_sst_cur_free(src->sums.cur);
        sto_sst_cur_free(src->days.cur);
        ts_free(src->refs);
    }
    ts_free(m->srcs);
}

/* --- files --- */

static struct sto_merge__cur *driver(struct sto_merge__src *src)
{
    return src->by_sums && !src->vain ? &src->sums : &src->points;
}

const struct sto_key *sto_merge__key(const struct sto_merge__src *src)
{
    if (src->on_day)
        return sto_sst_cur_key(src->days.cur);
    return sto_sst_cur_key(src->by_sums && !src->vain ? src->sums.cur : src->points.cur);
}

/* Free the cursor at the end of a file, so that a scan holds memory only for files with rows to come. */
static int note(struct sto_merge__cur *c, int rc)
{
    c->at_end = rc == 0;
    if (c->at_end) {
        sto_sst_cur_free(c->cur);
        c->cur = NULL;
    }
    return rc;
}

/* May the scan hold so much more, whatever its account says? Tombstones are not of the row, and a merge is what removes them. */
static bool may_force(const struct sto_merge *m, uint64_t n_bytes)
{
    return m->spec.must_go_on &&
           (!m->spec.most_bytes ||
            m->share.tally.used_bytes - sto_merge__tomb_bytes(m) + n_bytes <= m->spec.most_bytes);
}

uint64_t sto_merge_most_bytes(const struct ts_budget *memory)
{
    uint64_t most = memory ? ts_budget_most(memory) : UINT64_MAX;
    if (most > UINT64_MAX / ROW_TIMES)
        return 0;
    return most * ROW_TIMES > ROW_LEAST ? most * ROW_TIMES : ROW_LEAST;
}

int sto_merge__too_long(const struct sto_merge *m, const struct sto_key *key, struct ts_error *err)
{
    struct ts_civil at = ts_civil_from_ms(NULL, key->hour * TS_HOUR_MS);
    return ts_error_set(
        err, TS_ELIMIT,
        "series %u has so many points in the hour from %04lld-%02d-%02d %02d:00 UTC that "
        "merging them needs more than %llu bytes: raise %s, of which this is %u times (at least %uM), "
        "or do without the hour",
        key->series, (long long)at.year, at.month, at.day, at.hour, (unsigned long long)m->spec.most_bytes,
        m->spec.memory->key, ROW_TIMES, (unsigned)(ROW_LEAST >> 20));
}

int sto_merge__take(struct sto_merge *m, uint64_t n_bytes, struct ts_error *err)
{
    int rc;
    do
        rc = n_bytes ? ts_tally_take(&m->share.tally, n_bytes, err) : 0;
    while (rc == TS_ELIMIT && sto_merge__make_room(m, NULL) &&
           (!m->share.tally.forced || may_force(m, n_bytes)));
    m->share.tally.forced = false;
    return rc;
}

/* Create a cursor, which counts its own memory; other cursors release blocks if that is refused. */
static int new_cur(struct sto_merge *m, struct sto_merge__src *src, struct sto_merge__cur *c,
                   struct ts_error *err)
{
    TS_TRY(sto_merge__take(m, STO_SST_CUR_BYTES, err));
    ts_tally_give(&m->share.tally, STO_SST_CUR_BYTES);
    enum sto_sst_what what = c == &src->sums   ? STO_SST_SUMMARIES
                             : c == &src->days ? STO_SST_DAYS
                                               : STO_SST_POINTS;
    c->cur = sto_sst_cur_new(src->sst, what, &m->share);
    return 0;
}

int sto_merge__has(struct sto_merge__src *src, uint32_t series, struct ts_error *err)
{
    return sto_sst_series_has(sto_sst_series(src->sst), &src->series, series, err);
}

/* Move to the first row >= key; 1, 0, < 0. Where the wanted rows are adjacent, "next" is cheaper than a seek:
 * it is tried first until it misses, and then less and less often. look_in_bitmap: return 0 without moving if the
 * series is not in the file. */
static int advance(struct sto_merge *m, struct sto_merge__src *src, struct sto_merge__cur *c,
                   const struct sto_key *key, bool look_in_bitmap, struct ts_error *err)
{
    if (c->at_end)
        return 0;
    if (c->cur) {
        if (sto_key_cmp(sto_sst_cur_key(c->cur), key) >= 0)
            return 1;
        if (c->wait == 0) {
            int rc = note(c, sto_sst_cur_next(c->cur, err));
            if (rc <= 0)
                return rc;
            if (sto_key_cmp(sto_sst_cur_key(c->cur), key) >= 0) {
                c->backoff = 0;
                return 1;
            }
            c->backoff = c->backoff == 0            ? 1
                         : c->backoff < BACKOFF_MAX ? (uint8_t)(c->backoff * 2)
                                                    : BACKOFF_MAX;
            c->wait = c->backoff;
        } else {
            c->wait--;
        }
    }
    int has = look_in_bitmap ? sto_merge__has(src, key->series, err) : 1;
    if (has <= 0)
        return has; /* the cursor does not move */
    if (!c->cur)
        TS_TRY(new_cur(m, src, c, err));
    return note(c, sto_sst_cur_seek(c->cur, key, err));
}

static bool is_within(const struct sto_key *at, const struct sto_key *key, int32_t hour_hi)
{
    return at->series == key->series && at->metric == key->metric && at->hour <= hour_hi;
}

/* After an error of the cursor that finds rows: if the file of summaries is damaged, do not use it any more.
 * True: continue with the points. */
static bool can_do_without(struct sto_merge__src *src, int rc, struct ts_error *err)
{
    if (rc != TS_ECORRUPT || !src->by_sums || src->vain || sto_sst_has_lost_index(src->sst))
        return false;
    sto_sst_lose_sums(src->sst, err);
    *err = (struct ts_error){0};
    sto_sst_cur_free(src->sums.cur);
    src->sums.cur = NULL;
    src->by_sums = false;
    return true;
}

int sto_merge__find(struct sto_merge *m, struct sto_merge__src *src, const struct sto_key *key,
                    int32_t hour_hi, struct ts_error *err)
{
    struct ts_error why = {0};
    int rc = advance(m, src, driver(src), key, true, &why);
    if (can_do_without(src, rc, &why))
        rc = advance(m, src, driver(src), key, true, &why);
    if (rc < 0 && err)
        *err = why;
    return rc <= 0 ? rc : is_within(sto_merge__key(src), key, hour_hi);
}

int sto_merge__find_summary(struct sto_merge *m, struct sto_merge__src *src, const struct sto_key *key,
                            int32_t hour_hi, struct ts_error *err)
{
    int rc = advance(m, src, &src->days, key, true, err);
    return rc <= 0 ? rc : is_within(sto_sst_cur_key(src->days.cur), key, hour_hi);
}

void sto_merge__rest(struct sto_merge *m, struct sto_merge__src *src)
{
    if (src->keeps)
        return;
    if (m->n_keeps < KEEP_FILES) {
        src->keeps = true;
        m->n_keeps++;
        return;
    }
    sto_sst_cur_rest(src->points.cur);
    sto_sst_cur_rest(src->sums.cur);
    sto_sst_cur_rest(src->days.cur);
}

bool sto_merge__is_open(const struct sto_merge__src *src)
{
    return sto_sst_cur_is_open(src->points.cur) || sto_sst_cur_is_open(src->sums.cur) ||
           sto_sst_cur_is_open(src->days.cur);
}

/* May the block of this file be closed for another one? Not if it belongs to the caller's file. */
static bool may_rest(const struct sto_merge__src *src, const struct sto_sst_cur *cur)
{
    bool is_its = cur && (src->points.cur == cur || src->sums.cur == cur || src->days.cur == cur);
    return src->sst && !is_its && sto_merge__is_open(src);
}

/* Are the cells of its row in use? */
static bool is_read(const struct sto_merge *m, const struct sto_merge__src *src)
{
    for (size_t i = m->n_gone; i < m->n_read; i++)
        if (m->group[i].src == src)
            return true;
    return false;
}

/* The present row of a file with an open block; the one that is needed last if it has several. */
static const struct sto_key *stands_on(const struct sto_merge__src *src)
{
    const struct sto_sst_cur *const curs[] = {src->points.cur, src->sums.cur, src->days.cur};
    const struct sto_key *last = NULL;
    for (size_t i = 0; i < sizeof curs / sizeof *curs; i++)
        if (sto_sst_cur_is_open(curs[i]) && (!last || sto_key_cmp(last, sto_sst_cur_key(curs[i])) < 0))
            last = sto_sst_cur_key(curs[i]);
    return last;
}

bool sto_merge__make_room(void *arg, const struct sto_sst_cur *cur)
{
    struct sto_merge *m = arg;
    struct sto_merge__src *last = NULL;
    m->counts.n_refused++;
    for (size_t i = 0; i < m->n_srcs; i++)
        if (may_rest(&m->srcs[i], cur) &&
            (!last || sto_key_cmp(stands_on(&m->srcs[i]), stands_on(last)) >= 0))
            last = &m->srcs[i];
    if (!last) {
        m->share.tally.forced = may_force(m, 0);
        return m->share.tally.forced;
    }
    sto_sst_cur_rest(last->sums.cur);
    sto_sst_cur_rest(last->days.cur);
    if (is_read(m, last))
        sto_sst_cur_close_block(last->points.cur);
    else
        sto_sst_cur_rest(last->points.cur);
    m->n_open -= last->open;
    last->open = false;
    return true;
}

int sto_merge__find_next(struct sto_merge *m, struct sto_merge__src *src, int32_t hour_hi,
                         struct ts_error *err)
{
    struct sto_merge__cur *c = driver(src);
    struct ts_error why = {0};
    struct sto_key was = *sto_sst_cur_key(c->cur), next = was;
    if (was.hour == hour_hi)
        return 0; /* the next row may be in a block that is not needed */
    int rc = note(c, sto_sst_cur_next(c->cur, &why));
    if (can_do_without(src, rc, &why)) {
        next.hour++;
        rc = advance(m, src, driver(src), &next, false, &why);
    }
    if (rc < 0 && err)
        *err = why;
    return rc <= 0 ? rc : is_within(sto_merge__key(src), &was, hour_hi);
}

int sto_merge__walk(struct sto_merge *m, struct sto_merge__src *src, int32_t hour_lo, int32_t hour_hi,
                    struct ts_error *err)
{
    struct sto_merge__cur *c = &src->points;
    int rc;
    if (c->at_end)
        return 0;
    if (c->cur) {
        rc = note(c, sto_sst_cur_next(c->cur, err));
    } else {
        struct sto_key first = m->spec.after ? *m->spec.after : (struct sto_key){.hour = INT32_MIN};
        first.hour += m->spec.after != NULL; /* no row has the hour INT32_MAX */
        TS_TRY(new_cur(m, src, c, err));
        sto_sst_cur_set_walk(c->cur);
        rc = note(c, sto_sst_cur_seek(c->cur, &first, err));
    }
    while (rc == 1) {
        struct sto_key key = *sto_sst_cur_key(c->cur);
        if (key.hour >= hour_lo && key.hour <= hour_hi)
            return 1;
        if (key.hour > hour_hi && ++key.series == 0 && ++key.metric == 0)
            return note(c, 0);
        key.hour = hour_lo;
        rc = note(c, sto_sst_cur_seek(c->cur, &key, err));
    }
    return rc;
}

/* Move the cursor over points to the row of a summary. */
static int find_points(struct sto_merge *m, struct sto_merge__src *src, struct ts_error *err)
{
    struct sto_key key = *sto_sst_cur_key(src->sums.cur);
    int rc = advance(m, src, &src->points, &key, false, err);
    if (rc < 0)
        return rc;
    if (rc == 0 || sto_key_cmp(sto_sst_cur_key(src->points.cur), &key) != 0)
        return ts_error_set(
            err, TS_ECORRUPT, "file %llu: metric %u series %u hour %d has a summary but no points",
            (unsigned long long)sto_sst_info(src->sst)->file_no, key.metric, key.series, key.hour);
    return 0;
}

int sto_merge__cells(struct sto_merge *m, struct sto_merge__src *src, const struct sto_cells **out_cells,
                     struct ts_error *err)
{
    if (src->by_sums && !src->vain)
        TS_TRY(find_points(m, src, err));
    return sto_sst_cur_cells(src->points.cur, out_cells, err);
}

int sto_merge__to_points(struct sto_merge *m, struct sto_merge__src *src, struct ts_error *err)
{
    if (!src->by_sums || src->vain)
        return 1;
    if (!sto_sst_cur_is_vain(src->sums.cur))
        return 0;
    TS_TRY(find_points(m, src, err));
    src->vain = true;
    return 1;
}

/* --- memstores: all rows --- */

static int cmp_hour(const void *pa, const void *pb)
{
    const struct sto_merge__ref *a = pa, *b = pb;
    int32_t x = sto_mem_row_hour(a->row), y = sto_mem_row_hour(b->row);
    return x < y ? -1 : x > y;
}

/* The rows of a series are linked newest first, so in reverse order they mostly ascend. */
static void sort_hours(struct sto_merge__ref *refs, size_t n)
{
    for (size_t i = 0; i < n / 2; i++) {
        struct sto_merge__ref t = refs[i];
        refs[i] = refs[n - 1 - i];
        refs[n - 1 - i] = t;
    }
    for (size_t i = 1; i < n; i++) {
        if (cmp_hour(&refs[i - 1], &refs[i]) > 0) {
            qsort(refs, n, sizeof(*refs), cmp_hour);
            return;
        }
    }
}

/* Sort key of refs: metric, then series. */
static uint64_t sort_key(const struct sto_merge__ref *ref)
{
    return (uint64_t)ref->metric << 32 | ref->series;
}

/* Stable radix sort by metric and series; hours of a series are in order already. Bytes that all keys share
 * are skipped. */
static void sort_series(struct sto_merge__src *src)
{
    uint64_t differ = 0;
    bool sorted = true;
    for (size_t i = 1; i < src->n_refs; i++) {
        differ |= sort_key(&src->refs[i]) ^ sort_key(&src->refs[0]);
        sorted = sorted && sort_key(&src->refs[i - 1]) <= sort_key(&src->refs[i]);
    }
    if (sorted)
        return;
    struct sto_merge__ref *tmp = ts_xmalloc(src->n_refs * sizeof(*tmp));
    for (unsigned shift = 0; shift < 64; shift += RADIX_BITS) {
        if ((differ >> shift & (RADIX_COUNT - 1)) == 0)
            continue;
        size_t at[RADIX_COUNT] = {0};
        for (size_t i = 0; i < src->n_refs; i++)
            at[sort_key(&src->refs[i]) >> shift & (RADIX_COUNT - 1)]++;
        for (size_t b = 0, sum = 0; b < RADIX_COUNT; b++) {
            size_t count = at[b];
            at[b] = sum;
            sum += count;
        }
        for (size_t i = 0; i < src->n_refs; i++)
            tmp[at[sort_key(&src->refs[i]) >> shift & (RADIX_COUNT - 1)]++] = src->refs[i];
        struct sto_merge__ref *t = src->refs;
        src->refs = tmp;
        tmp = t;
    }
    ts_free(tmp);
}

void sto_merge__collect(struct sto_merge__src *src, int32_t hour_lo, int32_t hour_hi)
{
    size_t cap = 0;
    uint64_t pos = 0;
    for (const struct sto_mem_row *r; (r = sto_mem_walk(src->mem, &pos));) {
        const struct sto_series *series = sto_mem_row_series(r);
        size_t first = src->n_refs;
        for (; r; r = sto_mem_row_next(r)) {
            if (sto_mem_row_hour(r) < hour_lo || sto_mem_row_hour(r) > hour_hi)
                continue;
            if (src->n_refs == cap) {
                cap = cap ? cap * 2 : 256;
                src->refs = ts_xrealloc(src->refs, cap * sizeof(*src->refs));
            }
            src->refs[src->n_refs++] =
                (struct sto_merge__ref){.row = r, .metric = series->metric, .series = series->id};
        }
        if (src->n_refs - first > 1)
            sort_hours(src->refs + first, src->n_refs - first);
    }
    sort_series(src);
}
