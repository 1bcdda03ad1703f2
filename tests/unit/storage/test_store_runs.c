/*
 * test_store_runs.c - rows that are returned as runs (struct sto_run): those of sparse series, whose rows have no summaries, beside deletes, late points
 * and other files. Days and hours with summaries: test_store_days.c.
 */
#include "tests/unit/storage/windows_kit.h"

#include "base/budget.h"
#include "tests/model/days.h"

#define HOURS  9000 /* of each of three series: so many rows that the writer leaves their summaries out */
#define FIRST  (T0 - HOURS * TS_HOUR_MS)
#define SERIES 3

/* What a series should have in each hour: sums and numbers of points. */
static int64_t want_sum[SERIES][HOURS];
static int64_t want_n[SERIES][HOURS];

static void put_one(struct sto_store *st, unsigned k, int64_t hour, int64_t off_ms, int64_t v)
{
    put_at(st, 2 * k, FIRST + hour * TS_HOUR_MS + off_ms, v);
    want_sum[k][hour] += v;
    want_n[k][hour]++;
    sto_writer_turn(sto_writer(st, 0));
}

static void fill(struct sto_store *st)
{
    memset(want_sum, 0, sizeof want_sum);
    memset(want_n, 0, sizeof want_n);
    for (unsigned k = 0; k < SERIES; k++)
        for (int64_t h = 0; h < HOURS; h++)
            if (h % 97 != k) /* hours without points */
                put_one(st, k, h, h * 1000 % TS_HOUR_MS, h * 7919 % 1000003 - 500000 * (h % 3));
    for (int64_t i = 0; i < HOURS * 20; i++) { /* a dense metric, so that files have summaries */
        put_at(st, 1, FIRST + i * 180000, i);
        if (i % 1000 == 0)
            sto_writer_turn(sto_writer(st, 0));
    }
    flush_to(st, STO_LEVEL_COMPACT);
}

/* Scan all series by sums from..to (hours); returns how many rows came in runs. */
static size_t scan(struct sto_store *st, int64_t from, int64_t to)
{
    static int64_t sum[SERIES][HOURS], n[SERIES][HOURS];
    static uint8_t whole[HOURS];
    const struct sto_series *series[SERIES];
    struct ts_error err = {0};
    struct sto_merge *m;
    struct sto_row row;
    size_t n_runs = 0;
    int rc;
    memset(sum, 0, sizeof sum);
    memset(n, 0, sizeof n);
    memset(whole, 1, sizeof whole);
    for (unsigned k = 0; k < SERIES; k++)
        series[k] = kit_series(st, 2 * k);
    struct sto_scan_spec spec = {.metric = series[0]->metric,
                                 .series = series,
                                 .n_series = SERIES,
                                 .from_ms = FIRST + from * TS_HOUR_MS,
                                 .to_ms = FIRST + to * TS_HOUR_MS - 1,
                                 .whole_hours = whole,
                                 .needs_sum = true,
                                 .sums_only = true,
                                 .final = true};
    struct sto_snap *snap = sto_snap_take(st);
    assert_int_equal(sto_scan(snap, &spec, &m, &err), 0);
    while ((rc = sto_merge_next(m, &row, &err)) == 1) {
        n_runs += row.run ? row.run->n : 0;
        for (size_t i = 0; row.run && i < row.run->n; i++) {
            assert_true(row.run->is_int);
            sum[row.pos][row.run->keys[i].hour - sto_hour(FIRST)] += (int64_t)row.run->sums[i];
            n[row.pos][row.run->keys[i].hour - sto_hour(FIRST)] += row.run->counts[i];
        }
        for (size_t i = 0; row.cells && i < row.cells->n; i++) {
            sum[row.pos][row.key.hour - sto_hour(FIRST)] += row.cells->m[i];
            n[row.pos][row.key.hour - sto_hour(FIRST)]++;
        }
        assert_null(row.sum);
    }
    if (rc < 0)
        fail_msg("%s", err.text);
    for (unsigned k = 0; k < SERIES; k++)
        for (int64_t h = 0; h < HOURS; h++) {
            assert_int_equal(n[k][h], h >= from && h < to ? want_n[k][h] : 0);
            assert_int_equal(sum[k][h], h >= from && h < to ? want_sum[k][h] : 0);
        }
    sto_merge_free(m);
    sto_snap_release(snap);
    return n_runs;
}

static void delete_hours(struct sto_store *st, unsigned k, int64_t from, int64_t to)
{
    assert_int_equal(sto_delete(sto_writer(st, 0), kit_series(st, 2 * k), FIRST + from * TS_HOUR_MS,
                                FIRST + to * TS_HOUR_MS - 1),
                     0);
    sto_writer_turn(sto_writer(st, 0));
    for (int64_t h = from; h < to; h++)
        want_sum[k][h] = want_n[k][h] = 0;
}

static struct sto_store *begin(struct t_faultfs **f)
{
    *f = t_faultfs_new(1);
    clocks(T0, 1000);
    struct sto_store *st = open_at(*f, 0, 0);
    for (unsigned i = 0; i < N_SERIES; i++)
        (void)kit_series(st, i);
    fill(st);
    return st;
}

/* All but the last row of each block of 512 come in runs. */
static void test_store_runs__sparse_rows_come_together(void **state)
{
    (void)state;
    struct t_faultfs *f;
    struct sto_store *st = begin(&f);
    assert_true(scan(st, 0, HOURS) > SERIES * HOURS * 9 / 10);
    (void)scan(st, 1, HOURS - 1);
    (void)scan(st, 4000, 4001);
    kit_close(st);
    t_faultfs_free(f);
}

/* Late points, a point more in an hour, deletes: in memory, in another file, merged. */
static void test_store_runs__other_sources_are_seen(void **state)
{
    (void)state;
    struct t_faultfs *f;
    struct sto_store *st = begin(&f);
    put_one(st, 0, 97, 5, 41);                                              /* an hour that had none */
    put_one(st, 0, 1000, 3599999, 42);                                      /* and one that had a point */
    put_at(st, 0, FIRST + 3000 * TS_HOUR_MS + 3000 * 1000 % TS_HOUR_MS, 7); /* in place of another one */
    want_sum[0][3000] = 7;
    put_one(st, 2, 0, 1, 43);
    put_one(st, 2, HOURS - 1, 3599998, 44);
    delete_hours(st, 1, 500, 503);
    delete_hours(st, 1, 8000, HOURS);
    delete_hours(st, 2, 2000, 2001);
    for (int k = 0; k < 3; k++) {
        assert_true(scan(st, 0, HOURS) > SERIES * HOURS * 7 / 10);
        (void)scan(st, 501, 2000);
        flush_to(st, k ? STO_LEVEL_COMPACT : STO_LEVEL_FILES);
    }
    kit_close(st);
    t_faultfs_free(f);
}

/* --- memory --- */

#define BEGUN (T0 - 12 * TS_HOUR_MS - 20 * DAY) /* midnight, UTC */

/* A day with points in one hour alone, then days of them; every value is 1. */
static struct sto_store *begin_days(struct t_faultfs **f)
{
    *f = t_faultfs_new(1);
    clocks(T0, 1000);
    struct sto_opts opts = KIT_OPTS(*f, 1);
    opts.own_threads = false;
    opts.pumped = true;
    opts.day_rows = 1;
    struct sto_store *st = kit_open(&opts);
    for (int64_t h = 12; h < 10 * 24; h = h == 12 ? 24 : h + 1)
        for (int64_t k = 0; k < 60; k++)
            put_at(st, 0, BEGUN + h * TS_HOUR_MS + k * 60000, 1);
    flush_to(st, STO_LEVEL_COMPACT);
    return st;
}

/* Points from the middle of the first hour on, as a scan has them that may take so much memory; -1: that does not suffice. */
static int64_t count_within(struct sto_store *st, uint64_t limit_bytes, uint64_t *out_days)
{
    int64_t from = BEGUN + 12 * TS_HOUR_MS + TS_HOUR_MS / 2, to = BEGUN + 10 * DAY - 1, n = 0;
    uint8_t whole[10 * 24], *days = t_days_of(from, to);
    const struct sto_series *s = kit_series(st, 0);
    struct ts_error err = {0};
    struct ts_budget memory;
    struct sto_merge *m = NULL;
    struct sto_row row;
    memset(whole, 1, sizeof whole);
    whole[0] = 0;
    ts_budget_init(&memory, "scan", NULL, NULL, limit_bytes);
    struct sto_scan_spec spec = {.metric = s->metric,
                                 .series = &s,
                                 .n_series = 1,
                                 .from_ms = from,
                                 .to_ms = to,
                                 .whole_hours = whole,
                                 .days = days,
                                 .needs_sum = true,
                                 .sums_only = true,
                                 .final = true,
                                 .memory = &memory};
    struct sto_snap *snap = sto_snap_take(st);
    int rc = sto_scan(snap, &spec, &m, &err);
    while (rc >= 0 && (rc = sto_merge_next(m, &row, &err)) == 1) {
        for (size_t i = 0; row.run && i < row.run->n; i++)
            n += (int64_t)row.run->sums[i];
        n += row.cells ? row.cells->n : 0;
        n += row.sum ? (int64_t)row.sum->sum : 0;
    }
    assert_true(rc == 0 || rc == TS_ELIMIT);
    *out_days = rc == 0 ? sto_merge_counts(m)->n_days : 0;
    sto_merge_free(m);
    sto_snap_release(snap);
    ts_free(days);
    assert_int_equal(atomic_load(&memory.used_bytes), 0);
    return rc < 0 ? -1 : n;
}

/* Whatever of its memory a scan is refused, it fails or has all points. */
static void test_store_runs__memory_is_short_anywhere(void **state)
{
    (void)state;
    struct t_faultfs *f;
    struct sto_store *st = begin_days(&f);
    uint64_t days = 0, n_short = 0, n_enough = 0;
    for (uint64_t limit = 32 << 10; limit < 1 << 20; limit += 1 << 10) {
        int64_t n = count_within(st, limit, &days);
        assert_true(n == -1 || n == 30 + 9 * 24 * 60);
        n_short += n == -1;
        n_enough += days == 9;
    }
    assert_true(n_short > 0 && n_enough > 0);
    kit_close(st);
    t_faultfs_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {CASE(test_store_runs__sparse_rows_come_together),
                                       CASE(test_store_runs__other_sources_are_seen),
                                       CASE(test_store_runs__memory_is_short_anywhere)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
