/*
 * test_partition.c - the grid of windows, cutting days into files, and picking merges that keep the order of writes. Stores
 * are simulated over many flushes with files that consist only of a number of bytes for each day, and what merges write is counted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"
#include "tests/unit/engine/pick_kit.h"

static void test_partition__big_days_have_their_own_file(void **state)
{
    (void)state;
    const struct sto_day_count days[] = {{-3, 5}, {-1, 10}, {4, 200}, {5, 300}, {9, 1}, {10, 1}};
    struct sto_cut cut[6];
    assert_int_equal(sto_partition_plan(days, 6, 100, cut), 4);
    assert_int_equal(cut[0].hour_lo, INT32_MIN);
    assert_int_equal(cut[0].hour_hi, 4 * 24);
    assert_int_equal(cut[1].hour_hi, 5 * 24);
    assert_int_equal(cut[2].hour_lo, 5 * 24);
    assert_int_equal(cut[2].hour_hi, 9 * 24);
    assert_int_equal(cut[3].hour_hi, INT32_MAX);
    assert_int_equal(sto_partition_plan(days, 0, 100, cut), 0);
}

static void test_partition__cuts_cover_all_time_without_overlap(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct sto_day_count days[20];
        struct sto_cut cut[20];
        size_t n = 1 + ts_hash_u64(seed) % 20;
        int32_t day = -50;
        for (size_t i = 0; i < n; i++) {
            day += 1 + (int32_t)(ts_hash_u64(seed * 100 + i) % 9);
            days[i] = (struct sto_day_count){day, ts_hash_u64(seed * 77 + i) % 200};
        }
        size_t k = sto_partition_plan(days, n, 100, cut);
        assert_true(k >= 1 && k <= n);
        assert_int_equal(cut[0].hour_lo, INT32_MIN);
        assert_int_equal(cut[k - 1].hour_hi, INT32_MAX);
        for (size_t i = 1; i < k; i++)
            assert_int_equal(cut[i].hour_lo, cut[i - 1].hour_hi);
    }
}

/* --- a store whose files are bytes a day --- */

struct t_part {
    int64_t day;
    uint64_t bytes;
};
struct t_store {
    struct sto_sst_info f[20000];
    struct t_part *part[20000]; /* of each file, ascending; owned */
    size_t n_parts[20000];
    size_t n;
    uint64_t gen, file_no;
    uint64_t flushed, written; /* bytes by flushes; by merges */
    int64_t behind_ms;         /* points come so long after their time */
    uint64_t n_picks, n_looked;
    size_t n_most; /* files at one time */
};

static void add_store_file(struct t_store *s, struct t_part *part, size_t n, uint64_t gen_lo, uint64_t gen_hi)
{
    uint64_t bytes = 0;
    assert_true(s->n < 20000);
    for (size_t i = 0; i < n; i++)
        bytes += part[i].bytes;
    s->f[s->n] = t_file(gen_lo, gen_hi, DAY(part[0].day), DAY(part[n - 1].day + 1) - 1, bytes);
    s->f[s->n].file_no = ++s->file_no;
    s->part[s->n] = part;
    s->n_parts[s->n++] = n;
    s->n_most = s->n > s->n_most ? s->n : s->n_most;
}

/* A flush of these days; bytes / 10 is the number of points. */
static void flush(struct t_store *s, const struct t_part *part, size_t n, bool tombs)
{
    struct sto_day_counts days = {0};
    struct sto_cut *cuts;
    uint64_t gen = ++s->gen;
    for (size_t i = 0; i < n; i++)
        sto_day_counts_add(&days, (int32_t)part[i].day * 24, part[i].bytes / 10 + 1);
    size_t n_cuts = sto_day_counts_cut(&days, STO_BIG_DAY_POINTS, &cuts);
    for (size_t c = 0; c < n_cuts; c++) {
        struct t_part *mine = ts_xcalloc(n, sizeof *mine);
        size_t k = 0;
        for (size_t i = 0; i < n; i++)
            if (part[i].day * 24 >= cuts[c].hour_lo && part[i].day * 24 < cuts[c].hour_hi)
                mine[k++] = part[i];
        assert_true(k > 0);
        add_store_file(s, mine, k, gen, gen);
    }
    for (size_t i = 0; i < n; i++)
        s->flushed += part[i].bytes;
    if (tombs) {
        s->f[s->n] = t_file(gen, gen, INT64_MAX, INT64_MIN, 200);
        s->f[s->n].n_points = 0;
        s->f[s->n].n_tombs = 1;
        s->f[s->n].tomb_min_ms = 0;
        s->f[s->n].tomb_max_ms = INT64_MAX;
        s->n_parts[s->n] = 0;
        s->part[s->n++] = NULL;
    }
    ts_free(days.days);
    ts_free(cuts);
}

static int cmp_part(const void *a, const void *b)
{
    const struct t_part *x = a, *y = b;
    return x->day < y->day ? -1 : x->day > y->day;
}

/* What the pick takes becomes what it says. */
static void carry_out(struct t_store *s, const struct sto_pick *p)
{
    struct t_part *all = NULL;
    size_t n = 0, kept = 0;
    assert_true(p->why == STO_PICK_TOMBS || sto_pick_valid(s->f, s->n, p->files, p->n));
    for (size_t i = 0; i < p->n; i++) {
        size_t f = p->files[i];
        all = ts_xrealloc(all, (n + s->n_parts[f] + 1) * sizeof *all);
        for (size_t k = 0; k < s->n_parts[f]; k++)
            all[n++] = s->part[f][k];
        ts_free(s->part[f]);
        s->part[f] = NULL;
        s->f[f].file_no = 0;
    }
    for (size_t i = 0; i < s->n; i++)
        if (s->f[i].file_no) {
            s->f[kept] = s->f[i];
            s->part[kept] = s->part[i];
            s->n_parts[kept++] = s->n_parts[i];
        }
    s->n = kept;
    if (n)
        qsort(all, n, sizeof *all, cmp_part);
    for (size_t c = 0; c < p->n_cuts; c++) {
        struct t_part *mine = ts_xcalloc(n + 1, sizeof *mine);
        size_t k = 0;
        for (size_t i = 0; i < n; i++) {
            if (all[i].day * 24 < p->cuts[c].hour_lo || all[i].day * 24 >= p->cuts[c].hour_hi)
                continue;
            if (k && mine[k - 1].day == all[i].day)
                mine[k - 1].bytes += all[i].bytes;
            else
                mine[k++] = all[i];
            s->written += all[i].bytes;
        }
        if (k)
            add_store_file(s, mine, k, p->gen_lo, p->gen_hi);
        else
            ts_free(mine);
    }
    ts_free(all);
}

/* All merges that are worth doing. Returns their number. */
static size_t settle(struct t_store *s, int64_t now_ms, bool full)
{
    for (size_t n = 0;; n++) {
        struct sto_pick p;
        assert_true(n < 20000);
        sto_pick_next(s->f, s->n, &(struct sto_pick_opts){.now_ms = now_ms, .full = full}, &p);
        s->n_picks++;
        s->n_looked += p.n_looked;
        if (p.why != STO_PICK_NONE)
            carry_out(s, &p);
        ts_free(p.files);
        if (p.why == STO_PICK_NONE)
            return n;
    }
}

static struct t_store *store_new(void)
{
    return ts_xcalloc(1, sizeof(struct t_store));
}

static void store_free(struct t_store *s)
{
    for (size_t i = 0; i < s->n; i++)
        ts_free(s->part[i]);
    ts_free(s);
}

/* Days from..to, n_flushes a day of bytes each, merged as they come; late: every late-th flush also has a point of each
 * of the ten months before. */
static void live(struct t_store *s, int64_t from, int64_t to, unsigned n_flushes, uint64_t bytes,
                 unsigned late, bool tombs)
{
    for (int64_t day = from; day < to; day++)
        for (unsigned i = 0; i < n_flushes; i++) {
            struct t_part part[11];
            size_t n = 0;
            for (int64_t m = 10; late && i % late == 0 && m > 0; m--)
                part[n++] = (struct t_part){day - m * 30, 20};
            part[n++] = (struct t_part){day, bytes};
            flush(s, part, n, tombs);
            settle(s, DAY(day) + (int64_t)i * (TS_DAY_MS / n_flushes) + s->behind_ms, false);
        }
}

static void test_partition__a_file_between_generations_blocks(void **state)
{
    (void)state;
    /* generations 1, 2, 4 of one day and a wide file of generation 3 over it */
    struct sto_sst_info f[] = {t_file(1, 1, DAY(10), DAY(10) + 9, 10), t_file(2, 2, DAY(10), DAY(10) + 9, 10),
                               t_file(3, 3, DAY(9), DAY(12), 10), t_file(4, 4, DAY(10), DAY(10) + 9, 10)};
    const size_t a[] = {0, 1}, b[] = {0, 1, 3}, c[] = {0, 1, 2, 3};
    assert_true(sto_pick_valid(f, 4, a, 2));
    assert_false(sto_pick_valid(f, 4, b, 3));
    assert_true(sto_pick_valid(f, 4, c, 4));
}

static void test_partition__the_grid_is_nested(void **state)
{
    (void)state;
    for (int64_t day = -200; day < 200; day++) {
        struct sto_window w = sto_window_of(DAY(day), DAY(day + 1) - 1);
        assert_int_equal(w.level, STO_WINDOW_DAY);
        assert_int_equal(w.index, day);
        for (uint8_t level = 0; level < STO_WINDOW_ALL; level++) {
            int64_t lo, end;
            sto_window_span((struct sto_window){level, (int32_t)(day >> (3 * level))}, &lo, &end);
            assert_true(lo <= DAY(day) && DAY(day + 1) <= end);
            assert_int_equal(sto_window_of(lo, end - 1).level, level);
            assert_true(sto_window_of(lo, end).level > level);
        }
    }
    assert_int_equal(sto_window_of(STO_MIN_TS_MS, STO_MAX_TS_MS).level, STO_WINDOW_ALL);
}

/* So often a life of steady days is written, flushes included, until time has passed and nothing is left to merge. All points
 * come behind_h hours after their time. */
static double times_written(unsigned n_flushes, uint64_t bytes, unsigned late, int64_t days, int64_t behind_h)
{
    struct t_store *s = store_new();
    s->behind_ms = behind_h * TS_HOUR_MS;
    live(s, 20000, 20000 + days, n_flushes, bytes, late, false);
    settle(s, DAY(20000 + days + 100) + s->behind_ms, false);
    double times = (double)(s->flushed + s->written) / (double)s->flushed;
    double looked = (double)s->n_looked / (double)s->n_picks;
    print_message(
        "days=%lld flushes a day=%u bytes=%llu late=%u behind=%lld: written %.2f times, files=%zu at "
        "most %zu, looks a pick=%.0f\n",
        (long long)days, n_flushes, (unsigned long long)bytes, late, (long long)behind_h, times, s->n,
        s->n_most, looked);
    assert_true(looked < 10 * (double)s->n_most);
    assert_true(s->n_most < (size_t)days * 8);
    store_free(s);
    return times;
}

static void test_partition__a_life_is_written_five_times_at_most(void **state)
{
    (void)state;
    static const struct {
        unsigned n_flushes;
        uint64_t bytes; /* a flush */
        unsigned late;
        int64_t days, behind_h;
    } lives[] = {{4, 2000, 0, 600, 0},      {24, 1000, 0, 600, 0},     {24, 100000, 0, 365, 0},
                 {24, 3u << 20, 0, 365, 0}, {100, 50000, 0, 365, 0},   {100, 5u << 20, 0, 200, 0},
                 {200, 500, 0, 600, 0},     {200, 5000, 0, 365, 0},    {200, 5u << 20, 0, 100, 0},
                 {4, 2000, 1, 300, 0},      {24, 100000, 1, 365, 0},   {100, 50000, 0, 130, 36},
                 {24, 100000, 0, 130, 36},  {24, 1u << 20, 0, 130, 36}};
    for (size_t i = 0; i < sizeof lives / sizeof *lives; i++)
        assert_true(times_written(lives[i].n_flushes, lives[i].bytes, lives[i].late, lives[i].days,
                                  lives[i].behind_h) <= 5);
}

/* The windows of points a year behind are old while they are filled: each few flushes are joined, but not with all that came before. */
static void test_partition__points_late_by_a_year_do_not_rewrite_their_days(void **state)
{
    (void)state;
    assert_true(times_written(10, 30000, 0, 200, 365 * 24) <= 10);
    assert_true(times_written(100, 30000, 0, 70, 365 * 24) <= 13);
}

/* A day that is too large for a wider window is one file when it is over; what is late then does not rewrite it. */
static void test_partition__a_large_day_becomes_one_file(void **state)
{
    (void)state;
    struct t_store *s = store_new();
    for (int64_t day = 19984; day < 19990; day++)
        flush(s, (struct t_part[]){{day, 70u << 20}}, 1, false);
    for (int i = 0; i < 7; i++)
        flush(s, (struct t_part[]){{19990, 10u << 20}}, 1, false);
    settle(s, DAY(19991), false);
    assert_int_equal(s->n, 6 + 7);
    settle(s, DAY(19995), false);
    assert_int_equal(s->n, 6 + 1);
    uint64_t written = s->written;
    for (int i = 0; i < 40; i++) {
        flush(s, (struct t_part[]){{19990, 1000}}, 1, false);
        settle(s, DAY(19995), false);
    }
    assert_true(s->written - written < 40 * 1000 * 6);
    assert_true(s->n < 6 + 12);
    store_free(s);
}

static void test_partition__a_share_of_a_flush_has_its_own_file(void **state)
{
    (void)state;
    const struct sto_day_count days[] = {{10, 3}, {40, 2}, {100, 900}, {101, 2}};
    const struct sto_day_count few[] = {{10, 3}, {40, 2}, {100, 90}, {101, 2}};
    struct sto_cut cut[4];
    assert_int_equal(sto_partition_plan(days, 4, STO_BIG_DAY_POINTS, cut), 3);
    assert_int_equal(cut[1].hour_lo, 100 * 24);
    assert_int_equal(cut[1].hour_hi, 101 * 24);
    assert_int_equal(sto_partition_plan(few, 4, STO_BIG_DAY_POINTS, cut), 1); /* not worth a file */
}

static void test_partition__late_points_do_not_rewrite_the_store(void **state)
{
    (void)state;
    struct t_store *s = store_new();
    live(s, 20000, 20300, 4, 10u << 20, 0, false); /* 40 MB a day: 12 GB */
    uint64_t written = s->written, flushed = s->flushed;
    live(s, 20300, 20330, 24, 2u << 20, 1, false); /* each flush has ten points of the months before */
    double amp = (double)(s->written - written) / (double)(s->flushed - flushed);
    print_message("with late points: merged %.2f times, files=%zu\n", amp, s->n);
    assert_true(amp <= 4);
    store_free(s);
}

/* Late points of the last 90 days, a few in each flush: files that span some weeks are in the way of joins, and neither make
 * these write all that lies beside them, nor stop them for good. */
static void test_partition__points_late_by_weeks_stop_no_join(void **state)
{
    (void)state;
    static const struct {
        uint64_t bytes; /* a flush */
        unsigned n_flushes, n_late;
    } lives[] = {{14400, 4, 6}, {50000, 24, 2}, {100000, 24, 2}};
    for (size_t k = 0; k < sizeof lives / sizeof *lives; k++) {
        struct t_store *s = store_new();
        uint64_t rnd = 1;
        for (int64_t at = 0, end = 365 * lives[k].n_flushes; at < end; at++) {
            int64_t day = 20000 + at / lives[k].n_flushes;
            struct t_part part[8];
            size_t n = 0;
            for (unsigned i = 0; i < lives[k].n_late; i++) {
                rnd = ts_hash_u64(rnd);
                part[n++] = (struct t_part){day - 1 - (int64_t)(rnd % 90), 20};
            }
            part[n++] = (struct t_part){day, lives[k].bytes};
            qsort(part, n, sizeof *part, cmp_part);
            flush(s, part, n, false);
            settle(s, DAY(20000) + at * (TS_DAY_MS / lives[k].n_flushes), false);
        }
        double times = (double)(s->flushed + s->written) / (double)s->flushed;
        print_message("late by weeks: written %.2f times, files=%zu at most %zu\n", times, s->n, s->n_most);
        assert_true(times <= 5);
        assert_true(s->n_most < 250);
        store_free(s);
    }
}

static void test_partition__deletes_are_in_nobodys_way(void **state)
{
    (void)state;
    struct t_store *s = store_new(), *plain = store_new();
    live(s, 20000, 20100, 12, 1u << 20, 0, true); /* each flush deletes from 1970 to the end of time */
    live(plain, 20000, 20100, 12, 1u << 20, 0, false);
    size_t n_tombs = 0, n_rows = 0;
    for (size_t i = 0; i < s->n; i++)
        *(s->f[i].n_points ? &n_rows : &n_tombs) += 1;
    print_message("with a delete a flush: written=%llu files=%zu, without: written=%llu files=%zu\n",
                  (unsigned long long)s->written, n_rows, (unsigned long long)plain->written, plain->n);
    assert_int_equal(s->written, plain->written);
    assert_int_equal(n_rows, plain->n);
    /* all of them must stay, for the oldest points; 1,200 files are few. (Sizes are not modelled: each merge of files
     * of tombstones leaves none here.) */
    assert_true(n_tombs < STO_TIER_FILES + 1);
    store_free(s);
    store_free(plain);
}

static void test_partition__wide_files_elsewhere_stop_nothing(void **state)
{
    (void)state;
    struct t_store *s = store_new();
    for (int64_t k = 0; k < 40; k++) { /* 12 GB in files of 30 days that overlap nothing */
        const struct t_part far[] = {{10000 + k * 64, 150u << 20}, {10030 + k * 64, 150u << 20}};
        struct t_part *own = ts_xcalloc(2, sizeof *own);
        own[0] = far[0];
        own[1] = far[1];
        s->gen++;
        add_store_file(s, own, 2, s->gen, s->gen);
    }
    for (int i = 0; i < 200; i++) { /* series by series: each flush spreads thinly over three years */
        struct t_part part[36];
        for (int64_t m = 0; m < 36; m++)
            part[m] = (struct t_part){18000 + m * 30, 2000};
        flush(s, part, 36, false);
        settle(s, NOW, false);
    }
    print_message("backfill: merged %.2f times, files=%zu\n", (double)s->written / (double)s->flushed, s->n);
    assert_true(s->n < 40 + 60);
    assert_true(s->written < 8 * s->flushed + (40ull << 30)); /* the far ones may move once */
    store_free(s);
}

static void test_partition__picking_costs_the_same_a_file(void **state)
{
    (void)state;
    double cost[2];
    for (int k = 0; k < 2; k++) {
        struct t_store *s = store_new();
        size_t n = k ? 16000 : 4000;
        for (size_t i = 0; i < n; i++) { /* a large file and two small ones a day: nothing to do */
            struct t_part *part = ts_xcalloc(1, sizeof *part);
            part[0] = (struct t_part){(int64_t)(i / 3), i % 3 ? 40000000 : 400000000};
            s->gen++;
            add_store_file(s, part, 1, s->gen, s->gen);
        }
        assert_int_equal(settle(s, NOW, false), 0);
        cost[k] = (double)s->n_looked / (double)n;
        print_message("files=%zu looked at each %.1f times\n", n, cost[k]);
        store_free(s);
    }
    assert_true(cost[1] < cost[0] * 1.2 && cost[1] < 50);
}

static void test_partition__a_window_left_alone_stops_no_other(void **state)
{
    (void)state;
    struct t_store *s = store_new();
    const struct sto_window skip = {STO_WINDOW_DAY, 19998};
    struct sto_pick p;
    for (unsigned i = 0; i < STO_TINY_FILES; i++)
        for (int64_t day = 19998; day < 20000; day++)
            flush(s, (struct t_part[]){{day, 1000}}, 1, false);
    for (int i = 0; i < 4; i++) {
        sto_pick_next(s->f, s->n, &(struct sto_pick_opts){.now_ms = NOW, .skip = &skip, .n_skip = 1}, &p);
        for (size_t k = 0; k < p.n; k++)
            assert_int_equal(s->f[p.files[k]].min_ms, DAY(19999));
        if (p.why != STO_PICK_NONE)
            carry_out(s, &p);
        ts_free(p.files);
    }
    assert_int_equal(s->n, STO_TINY_FILES + 1);
    assert_int_equal(settle(s, NOW, false), 1); /* later it is tried again */
    assert_int_equal(s->n, 2);
    store_free(s);
}

/* Pieces of one run that were cut by key may span less time than the others: they are in nobody's way. */
static void test_partition__pieces_cut_by_key_are_one_run(void **state)
{
    (void)state;
    struct sto_sst_info f[] = {t_file(1, 54, DAY(16769), DAY(18735), 5801),
                               t_file(1, 54, DAY(17723), DAY(17727), 288),
                               t_file(1, 54, DAY(17725), DAY(17725) + 1, 100)};
    struct sto_pick p;
    for (int full = 0; full < 2; full++) {
        sto_pick_next(f, 3, &(struct sto_pick_opts){.now_ms = NOW, .full = full}, &p);
        assert_int_equal(p.why, STO_PICK_NONE);
        ts_free(p.files);
    }
    struct sto_sst_info more[] = {f[0], f[1], f[2], t_file(55, 55, DAY(17727), DAY(17728), 100)};
    sto_pick_next(more, 4, &(struct sto_pick_opts){.now_ms = NOW, .full = true}, &p);
    assert_int_equal(p.n, 4);
    ts_free(p.files);
}

/* Pieces of one merge that were cut by key and share no time are runs of their own. Merging them would write the same files
 * again, and so on without end; files of two merges are needed. */
static void test_partition__pieces_of_one_merge_are_not_merged(void **state)
{
    (void)state;
    const struct {
        int64_t day, now_ms;
        uint64_t bytes;
    } cases[] = {
        {19000, NOW, 20u << 20},           /* a day that is over */
        {20000, NOW + TS_DAY_MS / 2, 1000} /* today: enough tiny files for a merge */
    };
    for (size_t i = 0; i < 2; i++) {
        struct sto_sst_info f[STO_TINY_FILES + 1];
        const struct sto_pick_opts opts = {.now_ms = cases[i].now_ms};
        struct sto_pick p;
        for (int64_t k = 0; k < STO_TINY_FILES; k++) {
            f[k] = t_file(1, 9, DAY(cases[i].day) + k * 1000, DAY(cases[i].day) + k * 1000 + 999,
                          cases[i].bytes);
            f[k].file_no = (uint64_t)k + 1;
        }
        sto_pick_next(f, STO_TINY_FILES, &opts, &p);
        assert_int_equal(p.why, STO_PICK_NONE);
        ts_free(p.files);
        f[STO_TINY_FILES] =
            t_file(10, 10, DAY(cases[i].day) + 500000, DAY(cases[i].day) + 500001, cases[i].bytes);
        sto_pick_next(f, STO_TINY_FILES + 1, &opts, &p);
        assert_int_equal(p.n, STO_TINY_FILES + 1);
        ts_free(p.files);
    }
}

static void test_partition__old_small_windows_are_joined(void **state)
{
    (void)state;
    struct t_store *s = store_new();
    for (int64_t day = 19712; day < 19776; day++) /* 64 days, long ago */
        flush(s, (struct t_part[]){{day, 1000}}, 1, false);
    settle(s, DAY(19712 + 4), false);
    assert_int_equal(s->n, 64); /* not yet old */
    settle(s, NOW, false);
    assert_int_equal(s->n, 1);
    assert_int_equal(sto_window_of(s->f[0].min_ms, s->f[0].max_ms).level, STO_WINDOW_64);
    uint64_t written = s->written; /* one late point a flush does not rewrite it */
    for (int i = 0; i < 12; i++) {
        flush(s, (struct t_part[]){{19730 + i, 100}}, 1, false);
        settle(s, NOW, false);
    }
    assert_true(s->written - written < 12 * 100 * 6);
    store_free(s);
}

/* Whatever is picked keeps the order of writes; picking ends by itself, with `full` nothing overlaps then. */
static void test_partition__random_stores_settle(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct t_store *s = store_new();
        size_t n = 2 + ts_hash_u64(seed) % 60;
        int64_t range = (int64_t)1 << (ts_hash_u64(seed * 7) % 11);
        for (size_t i = 0; i < n; i++) {
            uint64_t r = ts_hash_u64(seed * 1000 + i);
            struct t_part part[40];
            size_t k = 0;
            int64_t day = 19000 + (int64_t)(r % (uint64_t)range);
            for (size_t parts = 1 + (r >> 12) % 4 * ((r >> 14) % 10); k < parts; k++) {
                part[k] = (struct t_part){day, 1 + (ts_hash_u64(r + k) >> 20) % (1u << (r >> 58) % 28)};
                day += 1 + (int64_t)(ts_hash_u64(r - k) % (uint64_t)range);
            }
            flush(s, part, k, (r >> 60) == 0);
            if (r >> 20 & 1)
                settle(s, DAY(19000 + (int64_t)i * 40), (r >> 21 & 7) == 0);
        }
        settle(s, NOW, false);
        settle(s, NOW, true);
        settle(s, NOW, false);
        for (size_t a = 0; a < s->n; a++) {
            assert_true(s->f[a].n_points > 0); /* tombstones are done */
            for (size_t b = a + 1; b < s->n; b++)
                if (s->f[a].max_ms >= s->f[b].min_ms && s->f[b].max_ms >= s->f[a].min_ms)
                    fail_msg("seed %llu: days %lld..%lld, generations %llu..%llu, %llu bytes over "
                             "%lld..%lld, %llu..%llu, %llu",
                             (unsigned long long)seed, (long long)(s->f[a].min_ms / TS_DAY_MS),
                             (long long)(s->f[a].max_ms / TS_DAY_MS), (unsigned long long)s->f[a].gen_lo,
                             (unsigned long long)s->f[a].gen_hi, (unsigned long long)s->f[a].t_bytes,
                             (long long)(s->f[b].min_ms / TS_DAY_MS), (long long)(s->f[b].max_ms / TS_DAY_MS),
                             (unsigned long long)s->f[b].gen_lo, (unsigned long long)s->f[b].gen_hi,
                             (unsigned long long)s->f[b].t_bytes);
        }
        store_free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_partition__the_grid_is_nested),
        cmocka_unit_test(test_partition__big_days_have_their_own_file),
        cmocka_unit_test(test_partition__cuts_cover_all_time_without_overlap),
        cmocka_unit_test(test_partition__a_file_between_generations_blocks),
        cmocka_unit_test(test_partition__pieces_cut_by_key_are_one_run),
        cmocka_unit_test(test_partition__pieces_of_one_merge_are_not_merged),
        cmocka_unit_test(test_partition__old_small_windows_are_joined),
        cmocka_unit_test(test_partition__a_life_is_written_five_times_at_most),
        cmocka_unit_test(test_partition__points_late_by_a_year_do_not_rewrite_their_days),
        cmocka_unit_test(test_partition__a_large_day_becomes_one_file),
        cmocka_unit_test(test_partition__a_share_of_a_flush_has_its_own_file),
        cmocka_unit_test(test_partition__late_points_do_not_rewrite_the_store),
        cmocka_unit_test(test_partition__points_late_by_weeks_stop_no_join),
        cmocka_unit_test(test_partition__deletes_are_in_nobodys_way),
        cmocka_unit_test(test_partition__wide_files_elsewhere_stop_nothing),
        cmocka_unit_test(test_partition__picking_costs_the_same_a_file),
        cmocka_unit_test(test_partition__a_window_left_alone_stops_no_other),
        cmocka_unit_test(test_partition__random_stores_settle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
