/*
 * test_downsample.c - rows into buckets: borders, fill, calendars, summaries; whatever the cells look like.
 */
#include "query/execution/downsample.h"
#include "tests/unit/t_random.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BASE_MS 1499997600000ll

/* A series in memory: points sorted by time, made into rows of an hour. */
struct series {
    int64_t ts[5000];
    int64_t m[5000];
    uint32_t flags[5000];
    size_t n;
};

static uint32_t kind_flags(uint8_t kind, uint8_t exp)
{
    return sto_meta_flags(STO_OP_PUT, kind, exp, true);
}

static void add(struct series *s, int64_t t, int64_t m, uint32_t flags)
{
    s->ts[s->n] = t;
    s->m[s->n] = m;
    s->flags[s->n++] = flags;
}

static double value(const struct series *s, size_t k)
{
    return ts_num_double(sto_cell_num(s->flags[k], s->m[k]));
}

/* Feed all rows; hours flagged in whole go in as summaries. */
static void feed(struct qry_down *d, const struct series *s, const uint8_t *whole, int32_t hour0)
{
    qry_down_begin(d);
    for (size_t i = 0; i < s->n;) {
        int32_t hour = sto_hour(s->ts[i]);
        uint32_t meta[5000];
        size_t e = i;
        bool uniform = true;
        for (; e < s->n && sto_hour(s->ts[e]) == hour; e++) {
            meta[e - i] = s->flags[e] | (uint32_t)(s->ts[e] - hour * TS_HOUR_MS);
            uniform &= s->flags[e] == s->flags[i];
        }
        struct sto_cells c = {.n = (uint32_t)(e - i),
                              .uniform = uniform,
                              .common = s->flags[i],
                              .meta = meta,
                              .m = (int64_t *)(uintptr_t)(s->m + i)};
        struct sto_summary sum;
        struct sto_row row = {.key = {.hour = hour}, .cells = &c};
        if (whole && whole[hour - hour0] && sto_summary_make(&c, &sum) && sum.has_sum)
            row.cells = NULL, row.sum = &sum;
        assert_int_equal(qry_down_row(d, &row, NULL), 0);
        i = e;
    }
    assert_int_equal(qry_down_end(d, NULL), 0);
}

static struct qry_downsample spec_of(const char *text)
{
    struct qry_downsample ds = {.on = true};
    char buf[40];
    snprintf(buf, sizeof buf, "%s", text);
    char *dash = strchr(buf, '-');
    *dash = 0;
    ds.fn = qry_agg_find(ts_slice_str(dash + 1), false);
    assert_non_null(ds.fn);
    if (buf[strlen(buf) - 1] == 'c') {
        ds.calendar = true;
        buf[strlen(buf) - 1] = 0;
    }
    assert_int_equal(ts_duration_parse(ts_slice_str(buf), &ds.n, &ds.unit, &ds.interval_ms, NULL), 0);
    return ds;
}

static uint64_t rnd_state = 88172645463325252ull;
static uint64_t rnd(void)
{
    return t_random(&rnd_state);
}

/* The plain way: look at each bucket, collect its values, ask the fold once. */
static void check_against_plain(const struct series *s, const struct qry_grid *g, const struct qry_agg *fn,
                                const struct qry_down *d)
{
    size_t at = 0;
    for (size_t k = 0; k < g->n; k++) {
        unsigned char st[128] __attribute__((aligned(16))) = {0};
        size_t n = 0;
        for (size_t i = 0; i < s->n; i++) {
            if (s->ts[i] < qry_grid_start(g, k) || s->ts[i] >= qry_grid_start(g, k + 1))
                continue;
            double v = value(s, i);
            if (fn->bucket_acc->reserve)
                assert_int_equal(fn->bucket_acc->reserve(st, 1, NULL, NULL, NULL), 0);
            if (sto_meta_kind(s->flags[i]) == TS_NUM_INT)
                fn->bucket_acc->add_i64(st, &s->m[i], 1, s->ts[i], s->ts[i]);
            else
                fn->bucket_acc->add_f64(st, &v, 1, s->ts[i], s->ts[i]);
            n++;
        }
        if (!n)
            continue;
        struct qry_value want;
        fn->bucket_acc->done(st, fn, &want);
        if (fn->bucket_acc->reset)
            fn->bucket_acc->reset(st);
        assert_true(at < d->n);
        assert_int_equal(d->bucket[at], k);
        double x = qry_value_double(&want), y = d->v[at++];
        bool rounds = strcmp(fn->name, "dev") == 0 || strcmp(fn->name, "mult") == 0;
        if (rounds ? fabs(x - y) > 1e-9 * fabs(x) + 1e-9 : memcmp(&x, &y, 8) != 0)
            fail_msg("%s: bucket %zu is %.17g, not %.17g", fn->name, k, y, x);
    }
    assert_int_equal(at, d->n);
}

/* Random series of all kinds of cells, all functions, many intervals, with and without summaries. */
static void test_downsample__equals_the_plain_way(void **state)
{
    (void)state;
    static const char *const lens[] = {"1ms-", "7s-", "1m-", "7m-",  "1h-",
                                       "90m-", "2h-", "1d-", "1dc-", "1hc-"};
    static const char *const fns[] = {"sum",  "avg", "count",  "min", "max",       "first", "last",
                                      "diff", "dev", "median", "p90", "squareSum", "ep75r3"};
    static struct series s;
    const struct ts_tz *tz;
    struct ts_arena arena;
    assert_int_equal(ts_tz_open(TS_SLICE_LIT("Asia/Kathmandu"), &tz, NULL), 0);
    ts_arena_init(&arena, 0);
    for (int round = 0; round < 60; round++) {
        s.n = 0;
        int64_t t = BASE_MS - 7 * TS_HOUR_MS + (int64_t)(rnd() % 5000000);
        int mode = round % 5;
        for (int k = 0; k < 200 + round; k++) {
            uint8_t kind = mode == 4   ? (uint8_t)(rnd() % 3)
                           : mode == 3 ? TS_NUM_RAW
                           : mode == 2 ? TS_NUM_INT
                                       : TS_NUM_DEC;
            double raw = (double)(int64_t)(rnd() % 100000) / 7 - 5000;
            int64_t m = (int64_t)(rnd() % 2000000) - 1000000;
            if (kind == TS_NUM_RAW)
                memcpy(&m, &raw, 8);
            add(&s, t, m, kind_flags(kind, kind == TS_NUM_DEC ? (mode == 4 ? rnd() % 4 : 2) : 0));
            t += mode == 0 ? 10000 : 1 + (int64_t)(rnd() % (k % 10 ? 60000 : 3000000));
        }
        for (size_t l = 0; l < sizeof lens / sizeof lens[0]; l++) {
            char text[40];
            snprintf(text, sizeof text, "%s%s", lens[l], fns[rnd() % (sizeof fns / sizeof fns[0])]);
            struct qry_downsample ds = spec_of(text);
            int64_t from = ts_floor_div(s.ts[3], TS_HOUR_MS) * TS_HOUR_MS;
            int64_t to = (ts_floor_div(s.ts[s.n - 1], TS_HOUR_MS) + 1) * TS_HOUR_MS;
            struct qry_grid g;
            assert_int_equal(qry_grid_make(&ds, tz, from, to, from, to, &arena, &g, NULL), 0);
            struct qry_down d;
            qry_down_init(&d, &g, ds.fn, NULL);
            feed(&d, &s, NULL, 0);
            if (g.n < 5000)
                check_against_plain(&s, &g, ds.fn, &d);
            if (ds.fn->bucket_acc->add_hour && g.n) {
                /* summaries in place of points: not one bit differs */
                static uint8_t whole[4000];
                size_t n = d.n;
                double *v = malloc(n * 8 + 1);
                memcpy(v, d.v, n * 8);
                qry_grid_whole_hours(&g, sto_hour(s.ts[0]), sizeof whole, whole);
                feed(&d, &s, whole, sto_hour(s.ts[0]));
                assert_int_equal(d.n, n);
                assert_memory_equal(d.v, v, n * 8);
                free(v);
            }
            qry_down_release(&d);
        }
    }
    ts_arena_release(&arena);
}

static void test_downsample__first_bucket_begins_after_the_range(void **state)
{
    (void)state;
    struct ts_arena arena;
    struct qry_grid g;
    ts_arena_init(&arena, 0);
    struct qry_downsample ds = spec_of("7m-sum");
    /* 420 s buckets since 1970: one begins 60 s after B */
    assert_int_equal(qry_grid_make(&ds, NULL, 0, 0, BASE_MS, BASE_MS + TS_HOUR_MS, &arena, &g, NULL), 0);
    assert_int_equal(g.first_ms, BASE_MS + 60000);
    assert_int_equal(g.n, 9);
    assert_int_equal(qry_grid_find(&g, BASE_MS + 60000), 0);
    assert_int_equal(qry_grid_find(&g, BASE_MS + 479999), 0);
    assert_int_equal(qry_grid_find(&g, BASE_MS + 480000), 1);
    /* before 1970 the same */
    ds = spec_of("1d-sum");
    assert_int_equal(qry_grid_make(&ds, NULL, 0, 0, -TS_DAY_MS - 5, 5, &arena, &g, NULL), 0);
    assert_int_equal(g.first_ms, -TS_DAY_MS);
    assert_int_equal(g.n, 2);
    /* nothing to read: no bucket */
    assert_int_equal(qry_grid_make(&ds, NULL, 0, 0, 5, 5, &arena, &g, NULL), 0);
    assert_int_equal(g.n, 0);
    ts_arena_release(&arena);
}

static void test_downsample__days_of_23_and_25_hours(void **state)
{
    (void)state;
    const struct ts_tz *tz;
    struct ts_arena arena;
    struct qry_grid g;
    ts_arena_init(&arena, 0);
    assert_int_equal(ts_tz_open(TS_SLICE_LIT("America/New_York"), &tz, NULL), 0);
    struct qry_downsample ds = spec_of("1dc-sum");
    int64_t start = 1489294800000; /* 2017-03-12 00:00, a day of 23 hours */
    assert_int_equal(qry_grid_make(&ds, tz, start, 0, start, start + 3 * TS_DAY_MS, &arena, &g, NULL), 0);
    assert_int_equal(g.n, 4);
    assert_int_equal(g.edges[1] - g.edges[0], 23 * TS_HOUR_MS);
    assert_int_equal(g.edges[2] - g.edges[1], TS_DAY_MS);
    ts_arena_release(&arena);
}

static void test_downsample__fill_gives_every_bucket(void **state)
{
    (void)state;
    static struct series s;
    struct ts_arena arena;
    struct qry_grid g;
    struct qry_down d;
    ts_arena_init(&arena, 0);
    s.n = 0;
    add(&s, BASE_MS + 60000, 5, kind_flags(TS_NUM_INT, 0));
    add(&s, BASE_MS + 180000, 7, kind_flags(TS_NUM_INT, 0));
    struct qry_downsample ds = spec_of("1m-sum");
    for (int fill = QRY_FILL_NONE; fill <= QRY_FILL_ZERO; fill++) {
        ds.fill = (enum qry_fill)fill;
        assert_int_equal(qry_grid_make(&ds, NULL, 0, 0, BASE_MS, BASE_MS + 300000, &arena, &g, NULL), 0);
        qry_down_init(&d, &g, ds.fn, NULL);
        feed(&d, &s, NULL, 0);
        assert_int_equal(d.n, fill == QRY_FILL_NONE ? 2 : 5);
        for (size_t k = 0; fill != QRY_FILL_NONE && k < 5; k++) {
            assert_int_equal(d.bucket[k], k);
            if (k == 1 || k == 3)
                assert_true(d.v[k] == (k == 1 ? 5 : 7));
            else
                assert_true(fill == QRY_FILL_ZERO ? d.v[k] == 0 : isnan(d.v[k]));
        }
        /* a series without points is not filled */
        qry_down_begin(&d);
        assert_int_equal(qry_down_end(&d, NULL), 0);
        assert_int_equal(d.n, 0);
        qry_down_release(&d);
    }
    ts_arena_release(&arena);
}

static void test_downsample__too_many_buckets_are_refused(void **state)
{
    (void)state;
    struct ts_arena arena;
    struct qry_grid g;
    struct ts_error err;
    ts_arena_init(&arena, 0);
    struct qry_downsample ds = spec_of("1ms-sum");
    ds.fill = QRY_FILL_ZERO;
    assert_int_equal(qry_grid_make(&ds, NULL, 0, 0, 0, TS_DAY_MS, &arena, &g, &err), TS_ELIMIT);
    ds.fill = QRY_FILL_NONE;
    assert_int_equal(qry_grid_make(&ds, NULL, 0, 0, 0, 365 * TS_DAY_MS, &arena, &g, &err), 0);
    assert_false(g.dense);
    assert_null(g.edges);
    ds = spec_of("1dc-sum");
    assert_int_equal(qry_grid_make(&ds, NULL, 0, 0, 0, 80000 * TS_DAY_MS, &arena, &g, &err), TS_ELIMIT);
    ts_arena_release(&arena);
}

static void test_downsample__infinite_buckets_are_kept(void **state)
{
    (void)state;
    struct ts_arena arena;
    struct qry_grid g;
    struct qry_down d;
    double big = 1e200;
    int64_t m[2];
    uint32_t meta[2] = {kind_flags(TS_NUM_RAW, 0), kind_flags(TS_NUM_RAW, 0) + 1};
    memcpy(&m[0], &big, 8);
    m[1] = m[0];
    ts_arena_init(&arena, 0);
    struct qry_downsample ds = spec_of("1h-mult");
    assert_int_equal(qry_grid_make(&ds, NULL, 0, 0, 0, TS_HOUR_MS, &arena, &g, NULL), 0);
    struct sto_cells c = {.n = 2, .uniform = true, .common = kind_flags(TS_NUM_RAW, 0), .meta = meta, .m = m};
    struct sto_row row = {.cells = &c};
    qry_down_init(&d, &g, ds.fn, NULL);
    qry_down_begin(&d);
    assert_int_equal(qry_down_row(&d, &row, NULL), 0);
    assert_int_equal(qry_down_end(&d, NULL), 0);
    assert_int_equal(d.n, 1);
    assert_true(isinf(d.v[0]));
    qry_down_release(&d);
    ts_arena_release(&arena);
}

/* Days counted from the first point of each series: a grid of its own, whose memory is counted and given back. */
static void test_downsample__memory_is_given_back(void **state)
{
    (void)state;
    static struct series s;
    const struct ts_tz *tz;
    struct ts_arena arena;
    struct ts_budget memory;
    struct qry_grid g;
    struct qry_down d;
    ts_arena_init(&arena, 0);
    ts_budget_init(&memory, "queries", "query_total_bytes", NULL, 0);
    assert_int_equal(ts_tz_open(TS_SLICE_LIT("America/New_York"), &tz, NULL), 0);
    s.n = 0;
    for (int64_t week = 0; week < 14; week++)
        add(&s, BASE_MS + week * 7 * TS_DAY_MS, 5, kind_flags(TS_NUM_INT, 0));
    struct qry_downsample ds = spec_of("2wc-sum");
    assert_int_equal(qry_grid_make(&ds, tz, 0, 0, BASE_MS, BASE_MS + 100 * TS_DAY_MS, &arena, &g, NULL), 0);
    assert_true(g.own);
    qry_down_init(&d, &g, ds.fn, &memory);
    feed(&d, &s, NULL, 0);
    assert_true(d.n >= 6);
    assert_non_null(d.edges);
    assert_true(atomic_load(&memory.used_bytes) >= d.cap_edges * sizeof *d.edges);
    qry_down_release(&d);
    assert_int_equal(atomic_load(&memory.used_bytes), 0);
    ts_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_downsample__equals_the_plain_way),
        cmocka_unit_test(test_downsample__first_bucket_begins_after_the_range),
        cmocka_unit_test(test_downsample__days_of_23_and_25_hours),
        cmocka_unit_test(test_downsample__fill_gives_every_bucket),
        cmocka_unit_test(test_downsample__too_many_buckets_are_refused),
        cmocka_unit_test(test_downsample__infinite_buckets_are_kept),
        cmocka_unit_test(test_downsample__memory_is_given_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
