/*
 * test_store_windows.c - a store in a long life: retention and deletes whatever files look like, windows that can't be
 * merged, what merges and scans cost, by counts.
 */
#include "tests/unit/storage/store_kit.h"

#include "base/time.h"

#define DAY TS_DAY_MS

static struct sto_store *open_at(struct t_faultfs *f, int64_t retention_days, uint64_t big_day_points)
{
    struct sto_opts opts = KIT_OPTS(f, 1);
    opts.own_threads = false;
    opts.pumped = true;
    opts.retention_ms = retention_days * DAY;
    opts.big_day_points = big_day_points;
    return kit_open(&opts);
}

static void put_at(struct sto_store *st, unsigned series, int64_t ts_ms, int64_t v)
{
    assert_int_equal(sto_put(sto_port(st, 0), kit_series(st, series), ts_ms, (struct ts_num){.m = v}, true),
                     0);
}

static void flush_to(struct sto_store *st, enum sto_level level)
{
    struct ts_error err = {0};
    sto_port_turn(sto_port(st, 0));
    if (sto_flush(st, level, &err) < 0)
        fail_msg("flush: %s", err.text);
}

/* Points of a series: how many, and the sum of their values. */
struct seen {
    int64_t n, sum;
};

static void see(void *arg, int64_t ts_ms, struct ts_num v)
{
    struct seen *s = arg;
    (void)ts_ms;
    s->n++;
    s->sum += v.m;
}

static struct seen seen(struct sto_store *st, unsigned series)
{
    struct seen s = {0, 0};
    struct ts_error err = {0};
    if (kit_points(st, kit_series(st, series), see, &s, &err) < 0)
        fail_msg("scan: %s", err.text);
    return s;
}

struct stat {
    const char *name;
    uint64_t value;
};

static void on_stat(void *arg, const char *name, uint64_t value)
{
    struct stat *s = arg;
    if (strcmp(name, s->name) == 0)
        s->value = value;
}

static uint64_t stat_of(struct sto_store *st, const char *name)
{
    struct stat s = {name, UINT64_MAX};
    sto_stats(st, on_stat, &s);
    assert_true(s.value != UINT64_MAX);
    return s.value;
}

static void clocks(int64_t now_ms, int64_t mono_ms)
{
    ts_clock_set_fake(now_ms);
    ts_clock_set_fake_mono(mono_ms * 1000000);
}

static void test_store_windows__what_is_expired_is_in_no_answer(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    clocks(T0, 1000);
    struct sto_store *st = open_at(f, 30, 0);
    for (int64_t d = 0; d < 60; d++) /* sixty days: the old ones are joined */
        put_at(st, 0, T0 - d * DAY, 1);
    put_at(st, 0, T0 - 30 * DAY - 1, 1); /* a millisecond too old */
    flush_to(st, STO_LEVEL_COMPACT);
    assert_true(stat_of(st, "files.count") < 10);
    assert_int_equal(seen(st, 0).n, 31);
    clocks(T0 + 1, 1001);
    assert_int_equal(seen(st, 0).n, 30); /* from that very millisecond on */
    put_at(st, 0, T0 - 40 * DAY, 1);     /* in memory too */
    sto_port_turn(sto_port(st, 0));
    assert_int_equal(seen(st, 0).n, 30);
    /* A delete that ends in the future is in nobody's way. */
    assert_int_equal(sto_delete(sto_port(st, 0), kit_series(st, 1), 0, STO_MAX_TS_MS), 0);
    flush_to(st, STO_LEVEL_FILES);
    clocks(T0 + 31 * DAY, 1000 + 31 * DAY);
    flush_to(st, STO_LEVEL_COMPACT);
    assert_int_equal(seen(st, 0).n, 0);
    assert_int_equal(stat_of(st, "files.points"), 0);
    kit_close(st);
    t_faultfs_free(f);
}

static void test_store_windows__a_clock_that_jumps_removes_nothing(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    clocks(T0, 1000);
    struct sto_store *st = open_at(f, 30, 0);
    put_at(st, 0, T0, 1);
    flush_to(st, STO_LEVEL_FILES);
    clocks(T0 + 4000 * DAY, 2000);
    assert_int_equal(seen(st, 0).n, 0); /* by this clock it is expired */
    flush_to(st, STO_LEVEL_COMPACT);
    assert_int_equal(stat_of(st, "files.points"), 1);
    clocks(T0 + 2000, 3000);
    assert_int_equal(seen(st, 0).n, 1);
    clocks(T0 + 4000 * DAY, 4000); /* the clock stays there */
    flush_to(st, STO_LEVEL_COMPACT);
    clocks(T0 + 4007 * DAY, 4000 + 7 * DAY);
    flush_to(st, STO_LEVEL_COMPACT);
    assert_int_equal(stat_of(st, "files.points"), 0);
    kit_close(st);
    t_faultfs_free(f);
}

/* The newer of two files expires first: what it had overwritten stays away when retention is switched off. */
static void test_store_windows__a_cutoff_never_moves_back(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    clocks(T0, 1000);
    struct sto_store *st = open_at(f, 30, 0);
    put_at(st, 0, T0 - 29 * DAY, 1);
    put_at(st, 0, T0, 10);
    flush_to(st, STO_LEVEL_FILES);
    put_at(st, 0, T0 - 29 * DAY, 2);
    flush_to(st, STO_LEVEL_FILES);
    assert_int_equal(seen(st, 0).sum, 12);
    clocks(T0 + 2 * DAY, 1000 + 2 * DAY);
    assert_int_equal(sto_store_pump_merges(st, NULL), 0);
    assert_int_equal(stat_of(st, "files.points"), 2);
    kit_close(st);
    for (int k = 0; k < 2; k++) {
        st = open_at(f, 0, 0);
        assert_int_equal(seen(st, 0).sum, k ? 17 : 10);
        put_at(st, 0, T0 - 29 * DAY, 7); /* what is put from now on is there */
        put_at(st, 0, T0, 10);
        flush_to(st, k ? STO_LEVEL_COMPACT : STO_LEVEL_FILES);
        assert_int_equal(seen(st, 0).sum, 17);
        kit_close(st);
    }
    t_faultfs_free(f);
}

/* --- windows that can't be merged --- */

/* Four files in each of two days. */
static struct sto_store *two_days(struct t_faultfs *f)
{
    struct sto_store *st = open_at(f, 0, 1);
    for (int64_t i = 0; i < 4; i++) {
        for (int64_t k = 0; k < 30; k++) {
            put_at(st, 0, T0 + i * 60000 + k * 100, 1);
            put_at(st, 0, T0 + DAY + i * 60000 + k * 100, 1);
        }
        flush_to(st, STO_LEVEL_FILES);
    }
    assert_int_equal(stat_of(st, "files.count"), 8);
    return st;
}

static void test_store_windows__a_bad_block_stops_its_window_alone(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct ts_error err = {0};
    clocks(T0 + DAY + 3600000, 1000);
    struct sto_store *st = two_days(f);
    const char *path = NULL;
    for (size_t i = 0; i < t_faultfs_count(f); i++)
        if (strstr(t_faultfs_path(f, i), "/files/") && strstr(t_faultfs_path(f, i), "1.t"))
            path = t_faultfs_path(f, i);
    assert_non_null(path);
    char *bad = ts_xstrdup(path);
    assert_true(t_faultfs_flip(f, bad, 24, 1)); /* within its first block */
    assert_int_equal(sto_store_pump_merges(st, &err), TS_ECORRUPT);
    assert_int_equal(stat_of(st, "files.count"), 5);      /* the other day is one file */
    assert_int_equal(sto_store_pump_merges(st, &err), 0); /* not tried again yet */
    assert_int_equal(stat_of(st, "compaction.windows_left_alone"), 1);
    assert_true(t_faultfs_flip(f, bad, 24, 1));
    assert_int_equal(sto_store_pump_merges(st, &err), 0);
    assert_int_equal(stat_of(st, "files.count"), 5);
    clocks(T0 + DAY + 3600000, 1000 + 11 * 60000);
    assert_int_equal(sto_store_pump_merges(st, &err), 0); /* now it is */
    assert_int_equal(stat_of(st, "files.count"), 2);
    assert_int_equal(seen(st, 0).n, 240);
    ts_free(bad);
    kit_close(st);
    t_faultfs_free(f);
}

static void test_store_windows__merges_do_not_fill_the_disk(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct ts_error err = {0};
    uint64_t room = 0;
    clocks(T0 + DAY + 3600000, 1000);
    struct sto_store *st = two_days(f);
    uint64_t n_appends = t_faultfs_calls(f, T_OP_APPEND);
    t_faultfs_set_capacity(f, 1ull << 40);
    assert_int_equal(t_faultfs_fs(f)->free_bytes(t_faultfs_fs(f), "/db", &room, NULL), 0);
    t_faultfs_set_capacity(f, (1ull << 40) - room + 900); /* less than one day's files take */
    assert_int_equal(sto_store_pump_merges(st, &err), TS_ENOSPC);
    assert_int_equal(t_faultfs_calls(f, T_OP_APPEND), n_appends); /* nothing was written */
    assert_true(stat_of(st, "compaction.windows_left_alone") > 0);
    put_at(st, 0, T0, 5);
    flush_to(st, STO_LEVEL_DISK); /* points are taken */
    t_faultfs_set_capacity(f, 0);
    clocks(T0 + DAY + 3600000, 1000 + 11 * 60000);
    assert_int_equal(sto_store_pump_merges(st, &err), 0);
    assert_int_equal(stat_of(st, "files.count"), 2);
    kit_close(st);
    t_faultfs_free(f);
}

/* --- what it costs --- */

/* Calls of the file system for a full merge of two generations over so many days. */
static uint64_t cost_of(int64_t n_days)
{
    struct t_faultfs *f = t_faultfs_new(1);
    clocks(T0 + 10 * DAY, 1000);
    struct sto_store *st = open_at(f, 0, 1);
    for (int k = 0; k < 2; k++) {
        for (int64_t d = 0; d < n_days; d++)
            put_at(st, 0, T0 - d * DAY, k);
        flush_to(st, STO_LEVEL_FILES);
    }
    uint64_t n = t_faultfs_calls(f, T_OP_ALL);
    flush_to(st, STO_LEVEL_COMPACT);
    n = t_faultfs_calls(f, T_OP_ALL) - n;
    assert_int_equal(seen(st, 0).n, n_days);
    assert_int_equal(seen(st, 0).sum, n_days);
    kit_close(st);
    t_faultfs_free(f);
    return n;
}

static void test_store_windows__merging_many_days_is_linear(void **state)
{
    (void)state;
    uint64_t a = cost_of(200), b = cost_of(800);
    print_message("calls for 200 days: %llu, for 800: %llu\n", (unsigned long long)a, (unsigned long long)b);
    assert_true(b < a * 6);
}

static uint64_t tombs_looked_at(struct sto_store *st, unsigned series)
{
    const struct sto_series *s = kit_series(st, series);
    struct sto_snap *snap = sto_snap_take(st);
    struct sto_scan_spec spec = {
        .metric = s->metric, .series = &s, .n_series = 1, .from_ms = T0, .to_ms = T0 + DAY, .final = true};
    struct sto_merge *scan;
    struct sto_row row;
    assert_int_equal(sto_scan(snap, &spec, &scan, NULL), 0);
    while (sto_merge_next(scan, &row, NULL) == 1)
        ;
    uint64_t n = sto_merge_counts(scan)->n_tombs;
    sto_merge_free(scan);
    sto_snap_release(snap);
    return n;
}

static void test_store_windows__deletes_cost_other_series_nothing(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    clocks(T0, 1000);
    struct sto_store *st = open_at(f, 0, 0);
    for (int64_t h = 0; h < 20; h++) {
        put_at(st, 0, T0 + h * 3600000, 1);
        put_at(st, 1, T0 + h * 3600000, 1);
    }
    flush_to(st, STO_LEVEL_FILES);
    for (int64_t i = 0; i < 30000; i++) {
        assert_int_equal(sto_delete(sto_port(st, 0), kit_series(st, 0), T0 + i * 2, T0 + i * 2), 0);
        if (i % 200 == 0)
            sto_port_turn(sto_port(st, 0));
    }
    sto_port_turn(sto_port(st, 0));
    assert_int_equal(tombs_looked_at(st, 1), 0);
    assert_int_equal(tombs_looked_at(st, 0), 30000); /* once, not for each row */
    flush_to(st, STO_LEVEL_FILES);
    assert_int_equal(tombs_looked_at(st, 1), 0);
    assert_int_equal(tombs_looked_at(st, 0), 30000);
    assert_int_equal(seen(st, 0).n, 19);
    assert_int_equal(seen(st, 1).n, 20);
    flush_to(st, STO_LEVEL_COMPACT); /* all that they touch is rewritten: they go */
    assert_int_equal(tombs_looked_at(st, 0), 0);
    assert_int_equal(stat_of(st, "files.count"), 1);
    assert_int_equal(seen(st, 0).n, 19);
    kit_close(st);
    t_faultfs_free(f);
}

static int clocks_back(void **state)
{
    (void)state;
    clocks(T0, 1000);
    return 0;
}

#define CASE(name) cmocka_unit_test_setup(name, clocks_back)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_store_windows__what_is_expired_is_in_no_answer),
        CASE(test_store_windows__a_clock_that_jumps_removes_nothing),
        CASE(test_store_windows__a_cutoff_never_moves_back),
        CASE(test_store_windows__a_bad_block_stops_its_window_alone),
        CASE(test_store_windows__merges_do_not_fill_the_disk),
        CASE(test_store_windows__merging_many_days_is_linear),
        CASE(test_store_windows__deletes_cost_other_series_nothing),
    };
    ts_log_set_level((enum ts_log_level)(TS_LOG_ERROR + 1)); /* errors are expected here */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
