/*
 * test_store_descriptors.c - a store of many more files than it may have open: queries, merges, files that only
 * readers hold, and a process without descriptors.
 */
#include "tests/unit/storage/windows_kit.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#define MANY   2000 /* files, one a day, each with summaries */
#define LIMIT  64   /* descriptors of sorted files */
#define POINTS 20   /* of a file */
#define OTHERS 40   /* descriptors of other files at most: logs, manifest, catalog, files being written */

/* The most descriptors that were open at a time. */
struct most {
    struct t_faultfs *f;
    size_t n;
};

static void look_at_opens(void *arg, enum t_op op, const char *path, bool after)
{
    struct most *m = arg;
    (void)path;
    (void)after;
    size_t n = op == T_OP_PREAD ? t_faultfs_n_open(m->f) : 0;
    m->n = n > m->n ? n : m->n;
}

static struct sto_store *open_few(struct t_faultfs *f, int64_t retention_days)
{
    struct sto_opts opts = KIT_OPTS(f, 1);
    opts.own_threads = false;
    opts.pumped = true;
    opts.wal_sync = STO_SYNC_NONE;
    opts.big_day_points = 1;
    opts.retention_ms = retention_days * DAY;
    opts.open_files = LIMIT;
    return kit_open(&opts);
}

/* A file for each of n days that end with T0. */
static void fill(struct sto_store *st, unsigned n)
{
    for (unsigned d = 0; d < n; d++) {
        for (unsigned k = 0; k < POINTS; k++)
            put_at(st, 0, T0 - (int64_t)d * DAY + k * 1000, d + k);
        flush_to(st, STO_LEVEL_FILES);
    }
    assert_int_equal(stat_of(st, "files.count"), n);
}

static uint64_t sum_of(unsigned n)
{
    return (uint64_t)n * (n - 1) / 2 * POINTS + (uint64_t)n * (POINTS * (POINTS - 1) / 2);
}

static void expect_all(struct sto_store *st, unsigned n)
{
    struct seen s = seen(st, 0);
    assert_int_equal(s.n, (int64_t)n * POINTS);
    assert_true(s.sum == sum_of(n));
}

static void test_store_descriptors__many_files_need_few(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct most most = {.f = f};
    struct sto_store *st = open_few(f, 0);
    t_faultfs_set_hook(f, look_at_opens, &most);
    fill(st, MANY);
    kit_close(st);
    st = open_few(f, 0); /* files of points and of summaries are opened one after the other */
    expect_all(st, MANY);
    assert_int_equal(stat_of(st, "files.count"), MANY);
    assert_int_equal(stat_of(st, "files.descriptors"), LIMIT);
    assert_int_equal(stat_of(st, "files.descriptors_limit"), LIMIT);
    uint64_t reopened = stat_of(st, "files.reopened");
    assert_true(reopened >= MANY - LIMIT);

    struct sto_snap *snap = sto_snap_take(st);
    flush_to(st, STO_LEVEL_COMPACT);
    uint64_t merged = MANY + 1 - stat_of(st, "files.count");
    assert_true(merged > MANY / 2);
    assert_true(stat_of(st, "files.reopened") > reopened);
    expect_all(st, MANY);
    /* The snapshot reads files that were merged, most of which have no descriptor: their names are there. */
    assert_true(stat_of(st, "files.held") >= merged - 1);
    struct seen s = {0, 0};
    assert_int_equal(kit_points_of(snap, kit_series(st, 0), see, &s, NULL), 0);
    assert_int_equal(s.n, (int64_t)MANY * POINTS);
    assert_true(s.sum == sum_of(MANY));
    size_t paths = t_faultfs_count(f);
    sto_snap_release(snap);
    assert_int_equal(stat_of(st, "files.held"), 0);
    assert_true(t_faultfs_count(f) + merged - 1 <= paths);
    assert_true(stat_of(st, "files.descriptors") <= LIMIT);
    assert_true(most.n > LIMIT && most.n <= LIMIT + OTHERS);
    t_faultfs_set_hook(f, NULL, NULL);
    kit_close(st);
    assert_int_equal(t_faultfs_n_open(f), 0);
    t_faultfs_free(f);
}

/* The same for files that retention removed. */
static void test_store_descriptors__expired_files_stay_for_their_readers(void **state)
{
    enum { N = 3 * LIMIT, KEPT = N + 10 };
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    clocks(T0 + DAY, 1000);
    struct sto_store *st = open_few(f, KEPT);
    fill(st, N);
    struct sto_snap *snap = sto_snap_take(st);
    clocks(T0 + 2 * KEPT * DAY, 1000 + 2 * KEPT * DAY);
    flush_to(st, STO_LEVEL_COMPACT);
    assert_int_equal(stat_of(st, "files.points"), 0);
    assert_int_equal(seen(st, 0).n, 0);
    assert_true(stat_of(st, "files.held") >= N);
    struct seen s = {0, 0};
    assert_int_equal(kit_points_of(snap, kit_series(st, 0), see, &s, NULL), 0);
    assert_int_equal(s.n, (int64_t)N * POINTS);
    assert_true(s.sum == sum_of(N));
    sto_snap_release(snap);
    assert_int_equal(stat_of(st, "files.held"), 0);
    kit_close(st);
    t_faultfs_free(f);
}

/* No descriptor is left: a query or a merge says so, no file counts as damaged, and later all is as before. */
static void test_store_descriptors__without_any_a_query_fails_and_the_next_one_works(void **state)
{
    enum { N = 3 * LIMIT };
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    clocks(T0, 1000);
    struct sto_store *st = open_few(f, 0);
    struct ts_error err = {0};
    struct seen s = {0, 0};
    fill(st, N);
    t_faultfs_plan(f, (struct t_fault_plan){.ops = T_OP_OPEN, .at = 1, .fault = T_FAULT_EMFILE});
    expect_all(st, N); /* others were closed instead */
    assert_true(t_faultfs_fired(f));
    assert_int_equal(stat_of(st, "files.open_refused"), 0);
    t_faultfs_plan(
        f, (struct t_fault_plan){.ops = T_OP_OPEN, .at = 1, .for_good = true, .fault = T_FAULT_EMFILE});
    assert_int_equal(kit_points(st, kit_series(st, 0), see, &s, &err), TS_EMFILE);
    assert_non_null(strstr(err.text, "Too many open files"));
    assert_int_equal(stat_of(st, "files.open_refused"), 1);
    assert_int_equal(sto_flush(st, STO_LEVEL_COMPACT, &err), TS_EMFILE);
    t_faultfs_plan(f, (struct t_fault_plan){0});
    expect_all(st, N);
    clocks(T0 + 61000, 1000 + 61000); /* windows whose merge failed are tried again after a minute */
    assert_int_equal(sto_store_pump_merges(st, &err), 0);
    expect_all(st, N);
    assert_true(stat_of(st, "files.count") < N);
    kit_close(st);
    st = open_few(f, 0);
    expect_all(st, N);
    kit_close(st);
    t_faultfs_free(f);
}

/* Descriptors that are open only to be read again do not make a flush write fewer files, nor a merge wait. */
static void test_store_descriptors__files_being_written_come_first(void **state)
{
    enum { N = 40, CACHED = 30, ALL = 200, NEW = 7 };
    (void)state;
    char dir[] = "/tmp/test_descriptors.XXXXXX", cmd[64];
    struct rlimit before;
    int taken[ALL], n_taken = 0;
    assert_non_null(mkdtemp(dir));
    clocks(T0 + DAY, 1000);
    struct sto_opts opts = {.dir = dir,
                            .create = true,
                            .no_background = true,
                            .pumped = true,
                            .n_writers = 1,
                            .big_day_points = 1,
                            .open_files = CACHED};
    struct sto_store *st = kit_open(&opts);
    fill(st, N);
    for (unsigned d = 0; d < NEW; d++)
        put_at(st, 1, T0 - (int64_t)d * DAY, d);
    flush_to(st, STO_LEVEL_DISK); /* closes segments of the log */
    expect_all(st, N);
    assert_int_equal(stat_of(st, "files.descriptors"), CACHED);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    struct rlimit lim = {.rlim_cur = ALL, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &lim), 0);
    assert_int_equal(ts_fs_keep_spare(), TS_FS_SPARE);
    while (n_taken < ALL && (taken[n_taken] = dup(0)) >= 0)
        n_taken++;
    assert_false(ts_fs_has_descriptors(1));
    flush_to(st, STO_LEVEL_FILES);
    assert_int_equal(stat_of(st, "files.count"), N + NEW);
    expect_all(st, N);
    while (n_taken > 0)
        close(taken[--n_taken]);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    kit_close(st);
    snprintf(cmd, sizeof cmd, "rm -rf '%s'", dir);
    assert_int_equal(system(cmd), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_store_descriptors__many_files_need_few),
        CASE(test_store_descriptors__expired_files_stay_for_their_readers),
        CASE(test_store_descriptors__without_any_a_query_fails_and_the_next_one_works),
        CASE(test_store_descriptors__files_being_written_come_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
