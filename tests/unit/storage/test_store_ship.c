/*
 * test_store_ship.c - a store ships its points to a remote store: all of them, once they are marked not again, and
 * whatever happens in between.
 */
#include "tests/unit/storage/ship_kit.h"

#include "storage/engine/merge/partition.h"
#include "storage/engine/unfinished.h"
#include "tests/unit/t_random.h"

#define CHECKPOINT 3000u /* bytes between two checkpoints of a merge */

static void test_store_ship__memory_is_shipped_without_a_flush(void **state)
{
    (void)state;
    struct ship_both b;
    ship_begin(&b);
    for (int i = 0; i < 50; i++)
        ship_put(&b, (unsigned)i % N_SERIES, T0 + i * 400000, i);
    ship_all(b.st);
    ship_expect(b.r, &b.d, "in memory");
    assert_int_equal(ship_stat(b.st, "files.count"), 0);
    uint64_t rows = r_stat(b.r, "shipped_rows");
    ship_all(b.st);
    assert_int_equal(r_stat(b.r, "shipped_rows"), rows); /* nothing has changed */
    ship_put(&b, 0, T0, 100);
    ship_all(b.st);
    ship_expect(b.r, &b.d, "one more");
    assert_true(r_stat(b.r, "shipped_rows") <= rows + N_SERIES); /* one hour */
    ship_end(&b);
}

static void test_store_ship__marks_outlive_the_process(void **state)
{
    (void)state;
    struct ship_both b;
    ship_begin(&b);
    for (int i = 0; i < 50; i++)
        ship_put(&b, (unsigned)i % N_SERIES, T0 + i * 400000, i);
    ship_flush(b.st);
    ship_all(b.st);
    uint64_t rows = r_stat(b.r, "shipped_rows");
    assert_true(rows > 0);
    ship_reopen(&b);
    ship_all(b.st);
    assert_int_equal(r_stat(b.r, "shipped_rows"), rows);
    ship_put(&b, 1, T0, 7);
    ship_del(&b, 2, T0, T0 + 2 * TS_HOUR_MS);
    ship_put(&b, 2, T0 + 1000, 8);
    ship_flush(b.st);
    ship_all(b.st);
    ship_expect(b.r, &b.d, "after another start");
    assert_int_equal(r_stat(b.r, "deletes"), 1);
    ship_reopen(&b);
    ship_all(b.st);
    assert_int_equal(r_stat(b.r, "deletes"), 1);
    ship_expect(b.r, &b.d, "after a third");
    ship_end(&b);
}

/* A delete of all time spares what was put and shipped after it. */
static void test_store_ship__a_delete_spares_newer_hours(void **state)
{
    (void)state;
    struct ship_both b;
    ship_begin(&b);
    struct ts_error err = {0};
    ship_put(&b, 0, T0, 1);
    ship_put(&b, 0, T0 + TS_HOUR_MS, 2);
    ship_put(&b, 0, T0 + 2 * TS_HOUR_MS, 3);
    ship_flush(b.st);
    ship_all(b.st);
    ship_del(&b, 0, STO_MIN_TS_MS, STO_MAX_TS_MS);
    ship_put(&b, 0, T0 + TS_HOUR_MS, 4);
    ship_put(&b, 0, T0 + 2 * TS_HOUR_MS, 5);
    ship_flush(b.st);
    /* The delete and the newest hour arrive, then the store is away. */
    ship_turn(b.st);
    sto_memory_remote_unreachable_after(b.r, 2);
    assert_int_equal(sto_ship(b.st, &err), TS_EBACKEND);
    sto_memory_remote_set_unreachable(b.r, false);
    ship_reopen(&b);
    ship_put(&b, 0, T0 + 2 * TS_HOUR_MS + 1000, 6);
    ship_all(b.st); /* from memory, into the hour that is marked */
    ship_flush(b.st);
    ship_all(b.st);
    ship_expect(b.r, &b.d, "after the rest");
    kit_expect_all(b.st, &b.d, "local");
    ship_end(&b);
}

/* What an addition adds to may be somewhere else: the sum is put, and its hour is not marked before that is in a file. */
static void test_store_ship__additions_become_absolute(void **state)
{
    (void)state;
    struct ship_both b;
    ship_begin(&b);
    ship_put(&b, 0, T0, 1);
    ship_put(&b, 0, T0 + 1000, 10);
    ship_flush(b.st);
    ship_all(b.st);
    ship_add(&b, 0, T0, 5);
    ship_put(&b, 0, T0 + 2000, 7);
    ship_flush(b.st);
    ship_all(b.st);
    r_expect_metric(b.r, "m0", "m0 host=h0 @0 0:6 1:10 2:7\n");
    assert_int_equal(ship_stat(b.st, "ship.absolute_points"), 1);
    assert_int_equal(ship_stat(b.st, "ship.held_hours"), 1);
    uint64_t rows = r_stat(b.r, "shipped_rows");
    ship_all(b.st);
    assert_int_equal(r_stat(b.r, "shipped_rows"), rows);
    assert_int_equal(sto_flush(b.st, STO_LEVEL_COMPACT, NULL), 0);
    kit_expect_all(b.st, &b.d, "local");
    ship_flush(b.st);
    ship_all(b.st);
    ship_expect(b.r, &b.d, "with the sum in a file");
    assert_int_equal(ship_stat(b.st, "ship.held_hours"), 0);
    assert_int_equal(ship_stat(b.st, "ship.absolute_points"), 1);
    ship_end(&b);
}

static void test_store_ship__shipped_files_may_go(void **state)
{
    (void)state;
    struct ship_both b;
    ship_begin(&b);
    ship_put(&b, 0, T0, 1);
    ship_flush(b.st);
    assert_int_equal(sto_drop_shipped(b.st, STO_MAX_TS_MS, NULL), 0);
    assert_int_equal(ship_stat(b.st, "files.count"), 1); /* not shipped */
    ship_all(b.st);
    ship_put(&b, 0, T0 + 1000, 2);
    ship_flush(b.st);
    assert_int_equal(sto_drop_shipped(b.st, T0, NULL), 0);
    assert_int_equal(ship_stat(b.st, "files.count"), 2); /* not before */
    assert_int_equal(sto_drop_shipped(b.st, STO_MAX_TS_MS, NULL), 0);
    assert_int_equal(ship_stat(b.st, "files.count"), 1);
    assert_int_equal(ship_stat(b.st, "files.points"), 1);
    ship_all(b.st);
    assert_int_equal(sto_drop_shipped(b.st, STO_MAX_TS_MS, NULL), 0);
    assert_int_equal(ship_stat(b.st, "files.count"), 0);
    ship_reopen(&b); /* their series are still known */
    ship_all(b.st);
    ship_expect(b.r, &b.d, "dropped");
    kit_expect_all(b.st, &b.d, "read from the remote store");
    ship_end(&b);
}

/* What was shipped stays while an older file that has to stay has a point of the same time, be it the first or the last. */
static void test_store_ship__a_file_stays_above_an_older_one(void **state)
{
    (void)state;
    for (int last = 0; last < 2; last++) {
        struct ship_both b;
        ship_begin(&b);
        int64_t held_ms = T0 + (last ? 2 : 0) * TS_HOUR_MS, both_ms = T0 + TS_HOUR_MS;
        ship_put(&b, 0, held_ms, 1);
        ship_flush(b.st);
        ship_all(b.st);
        assert_int_equal(sto_drop_shipped(b.st, STO_MAX_TS_MS, NULL), 0);
        assert_int_equal(ship_stat(b.st, "files.count"), 0);
        ship_add(&b, 0, held_ms, 5); /* is not shipped */
        ship_put(&b, 0, both_ms, 7);
        ship_flush(b.st);
        ship_put(&b, 0, both_ms, 8);
        ship_put(&b, 0, both_ms + (last ? -1 : 1) * 1000, 9);
        ship_flush(b.st);
        ship_all(b.st);
        assert_int_equal(sto_drop_shipped(b.st, STO_MAX_TS_MS, NULL), 0);
        assert_int_equal(ship_stat(b.st, "files.count"), 2);
        kit_expect_all(b.st, &b.d, "one is not shipped");
        ship_end(&b);
    }
}

/* While a scan runs its account counts what was fetched, and nothing afterwards. */
static void test_store_ship__a_scan_gives_its_memory_back(void **state)
{
    (void)state;
    struct ship_both b;
    ship_begin(&b);
    struct ts_budget account;
    struct sto_merge *scan = NULL;
    struct sto_row row;
    for (int i = 0; i < 100; i++)
        ship_put(&b, 0, T0 + i * 100000, i);
    ship_flush(b.st);
    ship_all(b.st);
    assert_int_equal(sto_drop_shipped(b.st, STO_MAX_TS_MS, NULL), 0);
    const struct sto_series *s = kit_series(b.st, 0);
    ts_budget_init(&account, "the test", "no_key", NULL, 1 << 24);
    struct sto_scan_spec spec = {.metric = s->metric,
                                 .series = &s,
                                 .n_series = 1,
                                 .from_ms = STO_MIN_TS_MS,
                                 .to_ms = STO_MAX_TS_MS,
                                 .final = true,
                                 .memory = &account};
    struct sto_snap *snap = sto_snap_take(b.st);
    assert_int_equal(sto_scan(snap, &spec, &scan, NULL), 0);
    assert_int_equal(sto_merge_next(scan, &row, NULL), 1);
    assert_true(atomic_load(&account.used_bytes) > 100 * sizeof(int64_t));
    sto_merge_free(scan);
    assert_int_equal(atomic_load(&account.used_bytes), 0);
    sto_snap_release(snap);
    ship_end(&b);
}

#define MANY_SERIES (8192 + 100) /* more than are fetched by one call */

static int note(void *arg, const struct sto_series *series, int64_t start_ms, struct ts_slice record,
                struct ts_error *err)
{
    (void)arg, (void)series, (void)start_ms, (void)record, (void)err;
    fail_msg("there are no annotations");
    return 0;
}

/* Series come in their order, each once. */
static int notes_read(void *arg, size_t first, size_t n, struct ts_error *err)
{
    size_t *n_read = arg;
    (void)err;
    assert_int_equal(first, *n_read);
    *n_read += n;
    return 0;
}

static void test_store_ship__annotations_of_many_series_are_read(void **state)
{
    (void)state;
    struct ship_both b;
    ship_begin(&b);
    const struct sto_series **series = ts_xcalloc(MANY_SERIES, sizeof(struct sto_series *));
    size_t n_read = 0;
    struct sto_merge *scan = NULL;
    for (unsigned i = 0; i < MANY_SERIES; i++)
        series[i] = kit_series(b.st, 2 * i); /* of one metric */
    struct sto_scan_spec spec = {.metric = series[0]->metric,
                                 .series = series,
                                 .n_series = MANY_SERIES,
                                 .from_ms = T0,
                                 .to_ms = T0 + TS_HOUR_MS,
                                 .final = true,
                                 .note = note,
                                 .notes_read = notes_read,
                                 .note_arg = &n_read};
    struct sto_snap *snap = sto_snap_take(b.st);
    assert_int_equal(sto_scan(snap, &spec, &scan, NULL), 0);
    assert_int_equal(n_read, MANY_SERIES);
    sto_merge_free(scan);
    sto_snap_release(snap);
    ts_free(series);
    ship_end(&b);
}

/* The power fails at each call of the file system while a store ships; the results of shipments, and the marks, are
 * lost or not. */
static void test_store_ship__a_crash_neither_loses_nor_doubles(void **state)
{
    (void)state;
    bool fired = true;
    for (uint64_t at = 1; fired; at++) {
        assert_true(at < 1000);
        struct ship_both b;
        ship_init(&b, at);
        ship_reopen(&b);
        for (int i = 0; i < 30; i++)
            ship_put(&b, (unsigned)i % 3, T0 + i * 700000, i);
        ship_flush(b.st);
        ship_all(b.st);
        for (int i = 0; i < 10; i++)
            ship_put(&b, (unsigned)i % 3, T0 + i * 1400000, 100 + i);
        ship_del(&b, 1, T0, T0 + 3 * TS_HOUR_MS);
        ship_put(&b, 1, T0 + TS_HOUR_MS, 1000);
        ship_flush(b.st);
        t_faultfs_plan(b.f, (struct t_fault_plan){.ops = T_OP_WRITES, .at = at, .fault = T_FAULT_POWER});
        (void)sto_ship(b.st, NULL);
        fired = t_faultfs_fired(b.f);
        if (!fired)
            t_faultfs_power_cut(b.f);
        (void)sto_close(b.st, NULL);
        t_faultfs_reboot(b.f, T_KEEP_RANDOM);
        b.st = kit_open(&b.opts);
        kit_expect_all(b.st, &b.d, "local, after the crash");
        ship_put(&b, 0, T0, 2000);
        ship_del(&b, 2, T0, T0 + TS_HOUR_MS);
        ship_flush(b.st);
        ship_all(b.st);
        ship_expect(b.r, &b.d, "after the crash");
        ship_end(&b);
    }
}

/* --- merges beside it --- */

/* A file of some hours, which is too small to stay alone. */
static void put_file(struct ship_both *b, int64_t i)
{
    uint64_t rnd = (uint64_t)i + 1;
    for (unsigned s = 0; s < N_SERIES; s++)
        for (int64_t k = 0; k < 40; k++)
            ship_put(b, s, T0 + i * 10000 + k * 600000, (int64_t)(t_rand(&rnd) >> 1));
    ship_flush(b->st);
}

static void open_to_merge(struct ship_both *b, bool with_remote)
{
    b->opts.fs = t_faultfs_fs(b->f);
    b->opts.remote = with_remote ? b->r : NULL;
    b->opts.checkpoint_bytes = CHECKPOINT;
    b->opts.big_day_points = 1;
    ship_reopen(b);
}

/* Interrupt the merge that is due at a write of the file system. True: it has made a checkpoint before. */
static bool interrupt(struct ship_both *b, uint64_t at, bool *out_fired)
{
    struct sto_unfinished u;
    open_to_merge(b, false);
    t_faultfs_plan(b->f, (struct t_fault_plan){.ops = T_OP_WRITES, .at = at, .fault = T_FAULT_POWER});
    (void)sto_store_pump_merges(b->st, NULL);
    *out_fired = t_faultfs_fired(b->f);
    t_faultfs_power_cut(b->f);
    ship_kill(b);
    bool has = sto_unfinished_read(t_faultfs_fs(b->f), "/db", &u, NULL) == 1;
    sto_unfinished_release(&u);
    return has;
}

/* A store that was opened without its remote store for a while has begun to merge what was shipped with what was not. */
static void test_store_ship__a_merge_across_a_mark_starts_again(void **state)
{
    (void)state;
    struct ship_both b;
    bool fired = true, has = false;
    ship_init(&b, 1);
    ts_clock_set_fake(T0 + 8 * TS_HOUR_MS);
    open_to_merge(&b, true);
    for (int64_t i = 0; i < (int64_t)STO_TINY_FILES / 2; i++)
        put_file(&b, i);
    ship_all(b.st);
    open_to_merge(&b, false);
    for (int64_t i = STO_TINY_FILES / 2; i < (int64_t)STO_TINY_FILES; i++)
        put_file(&b, i);
    kit_close(b.st);
    b.st = NULL;
    struct t_faultfs *base = b.f, *f = NULL;
    for (uint64_t at = 10; fired && !has; at++) {
        t_faultfs_free(f);
        b.f = f = t_faultfs_clone(base, at);
        has = interrupt(&b, at, &fired);
    }
    assert_true(has);
    struct t_faultfs *other = b.f = t_faultfs_clone(f, 1);
    open_to_merge(&b, false); /* without the remote store it would continue */
    assert_int_equal(sto_store_pump_merges(b.st, NULL), 0);
    assert_int_equal(ship_stat(b.st, "compaction.resumed"), 1);
    b.f = f;
    open_to_merge(&b, true);
    assert_true(ship_stat(b.st, "compaction.unfinished_bytes") > 0);
    assert_int_equal(sto_store_pump_merges(b.st, NULL), 0);
    assert_int_equal(ship_stat(b.st, "compaction.resumed"), 0);
    assert_int_equal(ship_stat(b.st, "compaction.unfinished_bytes"), 0);
    kit_expect_all(b.st, &b.d, "local");
    ship_all(b.st);
    ship_expect(b.r, &b.d, "after the rest");
    ship_end(&b);
    t_faultfs_free(other);
    t_faultfs_free(base);
}

/* What happens while a merge writes its files. */
struct beside {
    struct sto_store *st;
    unsigned n;                 /* calls */
    int rc;                     /* of the first */
    uint64_t n_before, n_after; /* files, before and after it */
};

static void drop_beside(void *arg, enum t_op op, const char *path, bool after)
{
    struct beside *b = arg;
    if (after || op != T_OP_SYNC || !path || !strstr(path, "/files/") || b->n++)
        return;
    b->n_before = ship_stat(b->st, "files.count");
    b->rc = sto_drop_shipped(b->st, STO_MAX_TS_MS, NULL);
    b->n_after = ship_stat(b->st, "files.count");
}

/* The inputs of the merge stay until it ends; it may take hours. */
static void test_store_ship__shipped_files_go_beside_a_merge(void **state)
{
    (void)state;
    struct ship_both b;
    ship_init(&b, 1);
    ts_clock_set_fake(T0 + 8 * TS_HOUR_MS);
    open_to_merge(&b, true);
    ship_put(&b, 0, T0 - 3 * TS_DAY_MS, 1);
    ship_flush(b.st);
    for (int64_t i = 0; i < (int64_t)STO_TINY_FILES; i++)
        put_file(&b, i);
    ship_all(b.st);
    struct beside beside = {.st = b.st};
    t_faultfs_set_hook(b.f, drop_beside, &beside);
    assert_int_equal(sto_store_pump_merges(b.st, NULL), 0);
    t_faultfs_set_hook(b.f, NULL, NULL);
    assert_true(beside.n > 0);
    assert_int_equal(beside.rc, 0);
    assert_int_equal(beside.n_before, STO_TINY_FILES + 1);
    assert_int_equal(beside.n_after, STO_TINY_FILES);
    assert_true(ship_stat(b.st, "files.count") < STO_TINY_FILES);
    assert_int_equal(ship_stat(b.st, "files.points"), b.d.n - 1);
    assert_int_equal(sto_drop_shipped(b.st, STO_MAX_TS_MS, NULL), 0);
    assert_int_equal(ship_stat(b.st, "files.count"), 0);
    ship_all(b.st);
    ship_expect(b.r, &b.d, "dropped");
    ship_end(&b);
}

/* --- any order of everything --- */

static void fail_somehow(struct sto_remote *r, uint64_t *rnd)
{
    if (t_rand(rnd) % 2)
        sto_memory_remote_unreachable_after(r, t_rand(rnd) % 8);
    else
        sto_memory_remote_cut_next(r, t_rand(rnd) % 3);
}

static void some_ops(struct ship_both *b, uint64_t *rnd)
{
    for (uint64_t n = t_rand(rnd) % 20; n; n--) {
        unsigned series = (unsigned)(t_rand(rnd) % N_SERIES);
        int64_t t = T0 + (int64_t)(t_rand(rnd) % 60) * 900000;
        if (t_rand(rnd) % 8)
            ship_put(b, series, t, (int64_t)(t_rand(rnd) % 1000));
        else
            ship_del(b, series, t, t + (int64_t)(t_rand(rnd) % 8) * 1800000);
    }
    ship_turn(b->st);
}

static void life(uint64_t seed)
{
    uint64_t rnd = seed;
    struct ship_both b;
    ship_init(&b, seed);
    ship_reopen(&b);
    char when[64];
    for (int step = 0; step < 120; step++) {
        snprintf(when, sizeof when, "seed %llu step %d", (unsigned long long)seed, step);
        some_ops(&b, &rnd);
        switch (t_rand(&rnd) % 11) {
        case 0:
        case 1:
            ship_flush(b.st);
            break;
        case 2:
            fail_somehow(b.r, &rnd);
            (void)sto_ship(b.st, NULL);
            sto_memory_remote_set_unreachable(b.r, false);
            sto_memory_remote_cut_next(b.r, SIZE_MAX);
            break;
        case 3:
            ship_all(b.st);
            break;
        case 4:
            assert_int_equal(sto_flush(b.st, STO_LEVEL_COMPACT, NULL), 0);
            break;
        case 5:
            assert_int_equal(sto_store_pump_merges(b.st, NULL), 0);
            break;
        case 6:
            ship_reopen(&b);
            break;
        case 7:
            ship_kill(&b);
            ship_reopen(&b);
            break;
        case 8:
            assert_int_equal(sto_drop_shipped(b.st, T0 + (int64_t)(t_rand(&rnd) % 80) * 900000, NULL), 0);
            break;
        case 9:
            assert_int_equal(sto_drop_shipped(b.st, STO_MAX_TS_MS, NULL), 0);
            break;
        default:
            ship_flush(b.st);
            ship_all(b.st);
            ship_expect(b.r, &b.d, when);
        }
        kit_expect_all(b.st, &b.d, when);
    }
    ship_end(&b);
}

static void test_store_ship__any_order_of_everything(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++)
        life(seed);
}

/* The shipping thread does all this by itself. */
static void test_store_ship__the_thread_ships(void **state)
{
    (void)state;
    struct ship_both b;
    ship_init(&b, 1);
    b.opts = (struct sto_opts)KIT_OPTS(b.f, 1);
    b.opts.no_background = false;
    b.opts.remote = b.r;
    b.opts.ship_every_ms = 1;
    ship_reopen(&b);
    for (int i = 0; i < 500; i++)
        ship_put(&b, (unsigned)i % N_SERIES, T0 + i * 100000, i);
    sto_writer_turn(sto_writer(b.st, 0));
    assert_int_equal(sto_flush(b.st, STO_LEVEL_FILES, NULL), 0);
    while (r_stat(b.r, "points") < 500) /* it ends when the thread has done it; ctest ends it otherwise */
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    kit_close(b.st);
    b.st = NULL;
    ship_expect(b.r, &b.d, "by the thread");
    ship_end(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_store_ship__memory_is_shipped_without_a_flush),
        cmocka_unit_test(test_store_ship__marks_outlive_the_process),
        cmocka_unit_test(test_store_ship__a_delete_spares_newer_hours),
        cmocka_unit_test(test_store_ship__additions_become_absolute),
        cmocka_unit_test(test_store_ship__shipped_files_may_go),
        cmocka_unit_test(test_store_ship__a_file_stays_above_an_older_one),
        cmocka_unit_test(test_store_ship__a_scan_gives_its_memory_back),
        cmocka_unit_test(test_store_ship__annotations_of_many_series_are_read),
        cmocka_unit_test(test_store_ship__a_merge_across_a_mark_starts_again),
        cmocka_unit_test(test_store_ship__shipped_files_go_beside_a_merge),
        cmocka_unit_test(test_store_ship__a_crash_neither_loses_nor_doubles),
        cmocka_unit_test(test_store_ship__any_order_of_everything),
        cmocka_unit_test(test_store_ship__the_thread_ships),
    };
    ts_log_set_level((enum ts_log_level)(TS_LOG_ERROR + 1)); /* errors are expected here */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
