/*
 * sort.c - points of a run: buckets, series, rows.
 *
 * Threads    see sort.h; pieces of a pass write to disjoint parts
 * Invariant  each pass keeps the order of points of the same series
 * Not here   the times of a series (times.c)
 */
#include "storage/engine/bulk/sort.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/mem.h"
#include "base/time.h"
#include "storage/engine/bulk/times.h"
#include "storage/versions.h"

#define BUCKETS     2048u /* about so many, so that the open ends of all of them fit the caches */
#define SPARSE      8u    /* a bucket with fewer points than 1/8 of its series is sorted by comparing */
#define PIECES_MAX  64u   /* most parts of the input that are distributed at the same time */
#define DAYS_DIRECT 65536 /* days that a table can have */
#define NOT_STORED  UINT32_MAX

/* A file's worth of buckets: those of one window that follow each other. */
struct unit {
    uint32_t first, end; /* buckets */
    size_t n;            /* points */
};

/* State of a sort. */
struct sorting {
    struct sto_bulk_sort *s;
    struct sto_bulk_chunk *chunks;
    size_t n_chunks;
    struct sto_cut *cuts; /* owned */
    size_t n_cuts;
    int32_t day_lo;    /* first day of day_cut */
    uint32_t n_days;   /* length of day_cut; 0: cuts are searched */
    uint32_t *day_cut; /* owned: cut of each day */
    uint32_t per_cut;  /* buckets of a cut */
    uint32_t width;    /* ranks of a bucket */
    uint32_t n_buckets;
    uint32_t *bucket;  /* owned: by number of the series, its bucket of a cut; NOT_STORED: it was refused */
    bool *rough;       /* owned: by cut, its files will be merged */
    unsigned n_pieces; /* parts of the input */
    size_t piece_first[PIECES_MAX + 1]; /* chunks of each part */
    size_t *at[PIECES_MAX];             /* owned: by bucket, how many points; then where the next one goes */
    size_t *begin;                      /* owned: by bucket, n_buckets + 1 */
    uint64_t refused[PIECES_MAX];       /* points of refused series */
    struct sto_bulk_point *sorted;      /* in the room: by bucket */
    struct unit *units;                 /* owned */
    size_t n_units, cap_units;
    struct sto_sst_info *infos; /* owned: by unit */
    _Atomic int rc;             /* first error */
    struct ts_error err;        /* of the unit that set rc */
    atomic_flag has_err;
};

/* --- plan --- */

static void count_days(struct sorting *g)
{
    for (size_t c = 0; c < g->n_chunks; c++)
        for (size_t i = 0, n; i < g->chunks[c].n; i += n) {
            const struct sto_bulk_point *p = g->chunks[c].points + i;
            for (n = 1; i + n < g->chunks[c].n && p[n].hour == p->hour; n++)
                ;
            sto_day_counts_add(&g->s->days, p->hour, n);
        }
}

static uint32_t cut_search(const struct sorting *g, int32_t hour)
{
    uint32_t lo = 0, hi = (uint32_t)g->n_cuts;
    while (hi - lo > 1) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (g->cuts[mid].hour_lo <= hour)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

static void plan(struct sorting *g)
{
    const struct sto_day_counts *days = &g->s->days;
    g->n_cuts = sto_day_counts_cut(&g->s->days, g->s->big_day_points, &g->cuts);
    int64_t span = days->n ? (int64_t)days->days[days->n - 1].day - days->days[0].day + 1 : 0;
    if (span > 0 && span <= DAYS_DIRECT) {
        g->day_lo = days->days[0].day;
        g->n_days = (uint32_t)span;
        g->day_cut = ts_xcalloc((size_t)span, sizeof *g->day_cut);
        for (uint32_t i = 0; i < g->n_days; i++)
            g->day_cut[i] = cut_search(g, (g->day_lo + (int32_t)i) * 24);
    }
    uint32_t n_series = g->s->n_series ? g->s->n_series : 1;
    uint32_t per = g->n_cuts ? (uint32_t)(BUCKETS / g->n_cuts) : 1;
    per = per < 1 ? 1 : per > n_series ? n_series : per;
    g->width = (n_series + per - 1) / per;
    g->per_cut = (n_series + g->width - 1) / g->width;
    g->n_buckets = g->per_cut * (uint32_t)g->n_cuts;
    g->bucket = ts_xcalloc((size_t)n_series, sizeof *g->bucket);
    for (uint32_t i = 0; i < g->s->n_series; i++)
        g->bucket[i] = g->s->ids[i].metric ? g->s->rank[i] / g->width : NOT_STORED;
}

static uint32_t cut_of(const struct sorting *g, int32_t hour)
{
    return g->n_days ? g->day_cut[(int32_t)ts_floor_div(hour, 24) - g->day_lo] : cut_search(g, hour);
}

/* Files with days that earlier runs have will be merged for certain; those with the last points of the input so far most likely, unless
 * this is the last run. */
static void find_rough(struct sorting *g)
{
    const struct sto_day_counts *days = &g->s->days, *earlier = g->s->earlier;
    g->rough = ts_xcalloc(g->n_cuts + 1, sizeof *g->rough);
    for (size_t i = 0, k = 0; earlier && i < days->n; i++) {
        while (k < earlier->n && earlier->days[k].day < days->days[i].day)
            k++;
        if (k < earlier->n && earlier->days[k].day == days->days[i].day)
            g->rough[cut_of(g, days->days[i].day * 24)] = true;
    }
    size_t c = g->n_chunks;
    while (c > 0 && g->chunks[c - 1].n == 0)
        c--;
    for (size_t i = 0; !g->s->last && c > 0 && i < g->chunks[c - 1].n; i++)
        g->rough[cut_of(g, g->chunks[c - 1].points[i].hour)] = true;
}

/* Parts of the input with about as many points each. */
static void divide(struct sorting *g, size_t n_points)
{
    unsigned want = g->s->pool ? ts_pool_threads(g->s->pool) + 1 : 1;
    want = want > PIECES_MAX ? PIECES_MAX : want;
    size_t n = 0;
    g->n_pieces = 0;
    for (size_t c = 0; c < g->n_chunks; c++) {
        if (g->n_pieces == 0 || (n >= n_points / want * g->n_pieces && g->n_pieces < want))
            g->piece_first[g->n_pieces++] = c;
        n += g->chunks[c].n;
    }
    g->piece_first[g->n_pieces] = g->n_chunks;
}

/* --- first pass: buckets --- */

/* NOT_STORED: the series was refused. */
static inline uint32_t bucket_of(const struct sorting *g, const struct sto_bulk_point *p)
{
    uint32_t bucket = g->bucket[p->series];
    return bucket == NOT_STORED ? NOT_STORED : cut_of(g, p->hour) * g->per_cut + bucket;
}

static void count_piece(void *arg, size_t piece)
{
    struct sorting *g = arg;
    size_t *count = g->at[piece];
    for (size_t c = g->piece_first[piece]; c < g->piece_first[piece + 1]; c++)
        for (size_t i = 0; i < g->chunks[c].n; i++) {
            uint32_t b = bucket_of(g, &g->chunks[c].points[i]);
            if (b != NOT_STORED)
                count[b]++;
            else
                g->refused[piece]++;
        }
}

static void scatter_piece(void *arg, size_t piece)
{
    struct sorting *g = arg;
    size_t *at = g->at[piece];
    for (size_t c = g->piece_first[piece]; c < g->piece_first[piece + 1]; c++) {
        for (size_t i = 0; i < g->chunks[c].n; i++) {
            const struct sto_bulk_point *p = &g->chunks[c].points[i];
            uint32_t b = bucket_of(g, p);
            if (b != NOT_STORED)
                g->sorted[at[b]++] = *p;
        }
    }
}

/* Counts become places. Returns the number of points. */
static size_t place(struct sorting *g)
{
    size_t n = 0;
    for (uint32_t b = 0; b < g->n_buckets; b++) {
        g->begin[b] = n;
        for (unsigned i = 0; i < g->n_pieces; i++) {
            size_t count = g->at[i][b];
            g->at[i][b] = n;
            n += count;
        }
    }
    g->begin[g->n_buckets] = n;
    return n;
}

/* Files: those of a window with many points are divided by key, so that all threads have work. */
static void make_units(struct sorting *g, size_t n_points)
{
    size_t most = n_points / (g->n_pieces ? g->n_pieces : 1) + 1;
    for (uint32_t c = 0; c < g->n_cuts; c++) {
        uint32_t end = (c + 1) * g->per_cut, b = c * g->per_cut;
        while (b < end) {
            struct unit u = {.first = b};
            do {
                u.n += g->begin[b + 1] - g->begin[b];
                b++;
            } while (b < end && u.n < most);
            u.end = b;
            if (!u.n)
                continue;
            TS_ARRAY_GROW(g->units, g->n_units, g->cap_units, 64);
            g->units[g->n_units++] = u;
        }
    }
}

/* --- second pass: series and rows --- */

/* What a thread needs for one unit. */
struct task {
    struct sorting *g;
    struct sto_sst_writer *w;
    struct sto_bulk_point *tmp; /* owned */
    size_t cap_tmp;
    size_t *at;                  /* owned: by rank of the bucket, width + 1 */
    struct sto_bulk_times times; /* owned */
    struct sto_cells cells;      /* of a row; owned */
};

/* Write the rows of one series; its points are sorted. */
static int write_series(struct task *t, const struct sto_bulk_point *p, size_t n, struct ts_error *err)
{
    const struct sto_bulk_id *id = n ? &t->g->s->ids[p->series] : NULL;
    for (size_t i = 0, end; i < n; i = end) {
        uint32_t common = p[i].meta & STO_META_FLAGS_MASK;
        bool uniform = true;
        for (end = i; end < n && p[end].hour == p[i].hour; end++) {
            if (end - i == t->cells.cap) {
                t->cells.n = (uint32_t)(end - i); /* so many are kept */
                sto_cells_reserve(&t->cells, t->cells.cap ? t->cells.cap * 2 : 4096);
            }
            t->cells.meta[end - i] = p[end].meta;
            t->cells.m[end - i] = p[end].m;
            uniform &= (p[end].meta & STO_META_FLAGS_MASK) == common;
        }
        t->cells.n = (uint32_t)(end - i);
        t->cells.uniform = uniform;
        t->cells.common = common;
        struct sto_key key = {.metric = id->metric, .series = id->series, .hour = p[i].hour};
        if (sto_cells_are_kept(&t->cells))
            sto_versions_trim(&t->cells);
        if (t->cells.n)
            TS_TRY(sto_sst_write_row(t->w, &key, &t->cells, err));
    }
    return 0;
}

/* By rank; of one rank in the order of the input. */
static int compare(const void *pa, const void *pb, void *arg)
{
    const uint32_t *rank = arg;
    const struct sto_bulk_point *a = pa, *b = pb;
    uint32_t x = rank[a->series], y = rank[b->series];
    return x != y ? (x < y ? -1 : 1) : (a->unused > b->unused) - (a->unused < b->unused);
}

/* Few points of many series. */
static void order_sparse(struct task *t, struct sto_bulk_point *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        p[i].unused = (uint32_t)i;
    qsort_r(p, n, sizeof *p, compare, (void *)(uintptr_t)t->g->s->rank);
    memcpy(t->tmp, p, n * sizeof *p);
}

/* Distribute the points of a bucket to their series, into tmp. */
static void order_dense(struct task *t, const struct sto_bulk_point *p, size_t n, uint32_t rank_lo)
{
    const uint32_t *rank = t->g->s->rank;
    uint32_t width = t->g->width;
    memset(t->at, 0, (width + 1) * sizeof *t->at);
    for (size_t i = 0; i < n; i++)
        t->at[rank[p[i].series] - rank_lo + 1]++;
    for (uint32_t r = 1; r < width; r++)
        t->at[r] += t->at[r - 1];
    for (size_t i = 0; i < n; i++)
        t->tmp[t->at[rank[p[i].series] - rank_lo]++] = p[i];
}

static int write_bucket(struct task *t, uint32_t b, struct ts_error *err)
{
    const struct sorting *g = t->g;
    struct sto_bulk_point *p = g->sorted + g->begin[b];
    size_t n = g->begin[b + 1] - g->begin[b];
    if (!n)
        return 0;
    if (n > t->cap_tmp) {
        ts_free(t->tmp);
        t->cap_tmp = n + n / 4;
        t->tmp = ts_try_malloc(t->cap_tmp * sizeof *t->tmp);
        if (!t->tmp) {
            t->cap_tmp = 0;
            return ts_error_set(err, TS_ENOMEM, "no memory to sort %zu points", n);
        }
    }
    if (n < g->width / SPARSE && n < UINT32_MAX)
        order_sparse(t, p, n);
    else
        order_dense(t, p, n, b % g->per_cut * g->width);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && t->tmp[end].series == t->tmp[i].series; end++)
            ;
        size_t kept;
        const struct sto_bulk_point *series =
            sto_bulk_sort_times(&t->times, t->tmp + i, end - i, p + i, &kept);
        TS_TRY(write_series(t, series, kept, err));
    }
    return 0;
}

static int write_unit(struct sorting *g, const struct unit *u, struct sto_sst_info *out, struct ts_error *err)
{
    struct task t = {.g = g};
    int rc = sto_sst_writer_new(g->s->fs, g->s->dir, atomic_fetch_add(g->s->next_no, 1), &t.w, err);
    if (rc < 0)
        return rc;
    t.at = ts_xcalloc((size_t)g->width + 2, sizeof *t.at);
    sto_sst_writer_note(t.w, ts_clock_ms(), 0);
    if (g->rough[u->first / g->per_cut])
        rc = sto_sst_writer_set_rough(t.w, err);
    for (uint32_t b = u->first; rc == 0 && b < u->end; b++) {
        rc = write_bucket(&t, b, err);
        if (rc == 0 && g->s->cancel && atomic_load_explicit(g->s->cancel, memory_order_relaxed))
            rc = ts_error_set(err, TS_ECANCELLED, "the import was interrupted");
    }
    ts_free(t.at);
    ts_free(t.tmp);
    ts_free(t.times.keys);
    sto_cells_release(&t.cells);
    if (rc < 0) {
        sto_sst_writer_abort(t.w);
        return rc;
    }
    return sto_sst_writer_finish(t.w, g->s->gen, g->s->gen, out, err);
}

static void unit_piece(void *arg, size_t piece)
{
    struct sorting *g = arg;
    struct ts_error err = {0};
    if (atomic_load_explicit(&g->rc, memory_order_relaxed) < 0)
        return;
    int rc = write_unit(g, &g->units[piece], &g->infos[piece], &err);
    if (rc < 0 && !atomic_flag_test_and_set(&g->has_err)) {
        g->err = err;
        atomic_store(&g->rc, rc);
    }
}

/* --- all of it --- */

static int make_room(struct sto_bulk_room *room, size_t n, struct ts_error *err)
{
    if (room->points && n <= room->cap)
        return 0;
    n += n / 32; /* runs have about as many points; what is not used takes no memory */
    ts_free(room->points);
    room->points = ts_try_pages((n + 1) * sizeof *room->points);
    room->cap = room->points ? n : 0;
    return room->points ? 0 : ts_error_set(err, TS_ENOMEM, "no memory to sort %zu points", n);
}

static int distribute(struct sorting *g, struct ts_error *err)
{
    size_t n = 0;
    for (size_t c = 0; c < g->n_chunks; c++)
        n += g->chunks[c].n;
    count_days(g);
    plan(g);
    find_rough(g);
    divide(g, n);
    g->begin = ts_xcalloc((size_t)g->n_buckets + 1, sizeof *g->begin);
    for (unsigned i = 0; i < g->n_pieces; i++)
        g->at[i] = ts_xcalloc((size_t)g->n_buckets + 1, sizeof *g->at[i]);
    ts_pool_each(g->s->pool, g->n_pieces, count_piece, g);
    n = place(g);
    TS_TRY(make_room(g->s->room, n, err));
    g->sorted = g->s->room->points;
    ts_pool_each(g->s->pool, g->n_pieces, scatter_piece, g);
    for (unsigned i = 0; i < g->n_pieces; i++)
        g->s->n_refused += g->refused[i];
    make_units(g, n);
    return 0;
}

/* The days of points that were refused do not count. */
static void recount_days(struct sorting *g)
{
    g->s->days.n = g->s->days.last = 0;
    for (size_t i = 0, n, all = g->begin[g->n_buckets]; i < all; i += n) {
        for (n = 1; i + n < all && g->sorted[i + n].hour == g->sorted[i].hour; n++)
            ;
        sto_day_counts_add(&g->s->days, g->sorted[i].hour, n);
    }
}

int sto_bulk_sort(struct sto_bulk_sort *s, struct sto_bulk_chunk *chunks, size_t n_chunks,
                  struct ts_error *err)
{
    struct sorting g = {.s = s, .chunks = chunks, .n_chunks = n_chunks, .has_err = ATOMIC_FLAG_INIT};
    int rc = distribute(&g, err);
    if (rc == 0 && s->n_refused)
        recount_days(&g);
    if (rc == 0) {
        g.infos = ts_xcalloc(g.n_units + 1, sizeof *g.infos);
        ts_pool_each(s->pool, g.n_units, unit_piece, &g);
        rc = atomic_load(&g.rc);
        if (rc < 0 && err)
            *err = g.err;
        for (size_t i = 0; rc < 0 && i < g.n_units; i++)
            if (g.infos[i].file_no)
                sto_sst_remove(s->fs, s->dir, &g.infos[i]);
    }
    if (rc == 0) {
        s->infos = g.infos;
        s->n_infos = g.n_units;
    } else {
        ts_free(g.infos);
    }
    for (unsigned i = 0; i < g.n_pieces; i++)
        ts_free(g.at[i]);
    ts_free(g.cuts);
    ts_free(g.day_cut);
    ts_free(g.bucket);
    ts_free(g.rough);
    ts_free(g.begin);
    ts_free(g.units);
    return rc;
}
