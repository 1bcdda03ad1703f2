/*
 * test_store_runs.c - rows that are returned as runs (struct sto_run): those of sparse series, whose rows have no summaries, beside deletes, late points
 * and other files. Days and hours with summaries: test_store_days.c.
 */
#include "tests/unit/storage/windows_kit.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {CASE(test_store_runs__sparse_rows_come_together),
                                       CASE(test_store_runs__other_sources_are_seen)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
