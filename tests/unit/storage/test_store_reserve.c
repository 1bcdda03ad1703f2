/*
 * test_store_reserve.c - a full disk and the reserve: a store opens, answers, refuses puts, flushes with the room
 * that is given up, and goes on when there is room again.
 */
#include "tests/unit/storage/windows_kit.h"

#define RESERVE_BYTES (256u << 10)
#define RESERVE       "/db/RESERVE"

static uint64_t used_bytes(struct t_faultfs *f)
{
    uint64_t all = 0;
    for (size_t i = 0, n; i < t_faultfs_count(f); i++) {
        ts_free(t_faultfs_get(f, t_faultfs_path(f, i), &n));
        all += n;
    }
    return all;
}

static size_t reserve_bytes(struct t_faultfs *f)
{
    size_t n = 0;
    ts_free(t_faultfs_get(f, RESERVE, &n));
    return n;
}

/* A store with points, some of them in files, some in the log, as after kill -9. */
static struct t_faultfs *some_store(struct diary *d, uint64_t reserve)
{
    struct t_faultfs *f = t_faultfs_new(3), *copy;
    struct sto_opts opts = KIT_OPTS(f, 1);
    opts.reserve_bytes = reserve;
    struct sto_store *st = kit_open(&opts);
    for (int64_t i = 0; i < 2000; i++) {
        assert_int_equal(
            kit_op(st, sto_writer(st, 0), d, (unsigned)(i % N_SERIES), STO_OP_PUT, T0 + i * 1000, i), 0);
        if (i == 1000) {
            sto_writer_turn(sto_writer(st, 0));
            assert_int_equal(sto_flush(st, STO_LEVEL_FILES, NULL), 0);
        }
    }
    sto_writer_turn(sto_writer(st, 0));
    assert_int_equal(sto_flush(st, STO_LEVEL_DISK, NULL), 0);
    copy = t_faultfs_clone(f, 4);
    kit_close(st);
    t_faultfs_free(f);
    return copy;
}

/* On a full disk the store opens, knows everything and refuses puts; with room it goes on by itself. */
static void opens_and_resumes(uint64_t reserve)
{
    struct diary d = {0};
    struct t_faultfs *f = some_store(&d, reserve);
    struct sto_opts opts = KIT_OPTS(f, 1);
    struct ts_error err = {0};
    opts.reserve_bytes = reserve;
    assert_int_equal(reserve_bytes(f), reserve);
    t_faultfs_set_capacity(f, used_bytes(f));
    struct sto_store *st = kit_open(&opts);
    assert_int_equal(reserve_bytes(f), 0);
    kit_expect_all(st, &d, "on a full disk");
    assert_int_equal(kit_op(st, sto_writer(st, 0), &d, 1, STO_OP_PUT, T0, 1), TS_ENOSPC);
    assert_int_equal(sto_writer_error(sto_writer(st, 0), &err), TS_ENOSPC);
    assert_non_null(strstr(err.text, "the disk is full"));
    t_faultfs_set_capacity(f, 0);
    assert_int_equal(sto_flush(st, STO_LEVEL_FILES, &err), 0);
    assert_null(sto_store_refusing(st));
    assert_int_equal(reserve_bytes(f), reserve);
    assert_int_equal(kit_op(st, sto_writer(st, 0), &d, 1, STO_OP_PUT, T0, 77), 0);
    sto_writer_turn(sto_writer(st, 0));
    assert_int_equal(sto_flush(st, STO_LEVEL_DISK, &err), 0);
    kit_expect_all(st, &d, "with room again");
    kit_close(st);
    st = kit_open(&opts);
    kit_expect_all(st, &d, "opened again");
    kit_close(st);
    diary_release(&d);
    t_faultfs_free(f);
}

static void test_store_reserve__a_full_disk_opens_with_it(void **state)
{
    (void)state;
    opens_and_resumes(RESERVE_BYTES);
}

static void test_store_reserve__a_full_disk_opens_without_it(void **state)
{
    (void)state;
    opens_and_resumes(0);
}

/* Every sync of a file finds the disk full, appends do not: as with delayed allocation, or on NFS. */
static void no_room_at_syncs(void *arg, enum t_op op, const char *path, bool after)
{
    struct t_faultfs *f = arg;
    if (op == T_OP_SYNC && !after && path)
        t_faultfs_plan(f, (struct t_fault_plan){.ops = T_OP_SYNC, .at = 1, .fault = T_FAULT_EDQUOT});
}

/* Nobody knows what of the logs is on disk: they are read, and nothing is written behind them until a start that can sync them. */
static void test_store_reserve__a_disk_that_is_full_at_syncs_is_read(void **state)
{
    (void)state;
    struct diary d = {0};
    struct t_faultfs *f = some_store(&d, 0);
    struct sto_opts opts = KIT_OPTS(f, 1);
    struct ts_error err = {0};
    t_faultfs_set_hook(f, no_room_at_syncs, f);
    struct sto_store *st = kit_open(&opts);
    kit_expect_all(st, &d, "on a disk that is full at syncs");
    assert_non_null(strstr(sto_store_refusing(st), "the disk is full"));
    assert_non_null(strstr(sto_store_refusing(st), "start tsd again"));
    assert_int_equal(kit_op(st, sto_writer(st, 0), &d, 1, STO_OP_PUT, T0, 1), TS_ENOSPC);
    assert_int_equal(sto_writer_error(sto_writer(st, 0), &err), TS_ENOSPC);
    sto_writer_turn(sto_writer(st, 0));
    (void)sto_flush(st, STO_LEVEL_COMPACT, NULL);
    kit_expect_all(st, &d, "after a flush of nothing");
    kit_close(st);
    t_faultfs_set_hook(f, NULL, NULL);
    t_faultfs_plan(f, (struct t_fault_plan){.at = 0});
    st = kit_open(&opts);
    assert_null(sto_store_refusing(st));
    assert_int_equal(kit_op(st, sto_writer(st, 0), &d, 1, STO_OP_PUT, T0, 77), 0);
    sto_writer_turn(sto_writer(st, 0));
    assert_int_equal(sto_flush(st, STO_LEVEL_COMPACT, &err), 0);
    kit_expect_all(st, &d, "with room again");
    kit_close(st);
    diary_release(&d);
    t_faultfs_free(f);
}

static void expect_refusal(int rc, const struct ts_error *err, const struct sto_store *st, const char *what)
{
    if (rc != TS_ENOSPC || strcmp(err->text, sto_store_refusing(st)) != 0)
        fail_msg("%s: %s: %s", what, ts_err_name(rc), err->text);
}

/* Whatever a client tries to change, it learns what keeps the store from being written, as it does for points. */
static void test_store_reserve__every_change_is_refused_for_the_same_reason(void **state)
{
    (void)state;
    struct diary d = {0};
    struct t_faultfs *f = some_store(&d, 0);
    struct sto_opts opts = KIT_OPTS(f, 1);
    struct sto_tag_text tag = {TS_SLICE_LIT("host"), TS_SLICE_LIT("new")};
    const struct sto_series *series;
    const struct ts_slice key = TS_SLICE_LIT("key"), none = TS_SLICE_LIT(""),
                          text = TS_SLICE_LIT("m host=new");
    uint32_t id;
    int64_t n;
    t_faultfs_set_hook(f, no_room_at_syncs, f);
    struct sto_store *st = kit_open(&opts);
    struct sto_catalog *cat = sto_store_catalog(st);
    for (int i = 0; i < 7; i++) {
        struct ts_error err = {0};
        int rc = i == 0   ? sto_cell_put(st, key, key, &err)
                 : i == 1 ? sto_cell_cas(st, key, none, key, &err)
                 : i == 2 ? sto_cell_incr(st, key, 1, &n, &err)
                 : i == 3 ? sto_uid_make(cat, STO_UID_METRIC, key, &id, &err)
                 : i == 4 ? sto_uid_rename(cat, STO_UID_TAGK, TS_SLICE_LIT("host"), key, &err)
                 : i == 5 ? sto_series_resolve(cat, text, 1, &tag, 1, true, &series, &err)
                          : sto_flush(st, STO_LEVEL_FILES, &err);
        char what[16];
        snprintf(what, sizeof what, "change %d", i);
        expect_refusal(rc, &err, st, what);
    }
    kit_close(st);
    diary_release(&d);
    t_faultfs_free(f);
}

/* A flush on a full disk takes the reserve's room, and gives more back: the log goes. */
static void test_store_reserve__a_flush_may_use_it(void **state)
{
    (void)state;
    struct diary d = {0};
    struct t_faultfs *f = t_faultfs_new(5);
    struct sto_opts opts = KIT_OPTS(f, 1);
    struct ts_error err = {0};
    opts.reserve_bytes = RESERVE_BYTES;
    struct sto_store *st = kit_open(&opts);
    for (int64_t i = 0; i < 3000; i++)
        assert_int_equal(
            kit_op(st, sto_writer(st, 0), &d, (unsigned)(i % N_SERIES), STO_OP_PUT, T0 + i * 1000, i), 0);
    sto_writer_turn(sto_writer(st, 0));
    assert_int_equal(sto_flush(st, STO_LEVEL_DISK, &err), 0);
    t_faultfs_set_capacity(f, used_bytes(f));
    assert_int_equal(sto_flush(st, STO_LEVEL_FILES, &err), 0);
    assert_int_equal(reserve_bytes(f), 0);
    assert_non_null(sto_store_refusing(st));
    kit_expect_all(st, &d, "flushed on a full disk");
    t_faultfs_set_capacity(f, 0);
    assert_int_equal(sto_flush(st, STO_LEVEL_FILES, &err), 0);
    assert_null(sto_store_refusing(st));
    kit_close(st);
    st = kit_open(&opts);
    kit_expect_all(st, &d, "opened again");
    assert_int_equal(reserve_bytes(f), RESERVE_BYTES);
    kit_close(st);
    diary_release(&d);
    t_faultfs_free(f);
}

/* What was deleted waits for the join of its window, but not when the disk is full. */
static void test_store_reserve__deletes_free_a_full_disk(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_opts opts = KIT_OPTS(f, 1);
    struct ts_error err = {0};
    opts.own_threads = false;
    opts.pumped = true;
    opts.reserve_bytes = RESERVE_BYTES;
    clocks(T0 + TS_DAY_MS / 4, 1000);
    struct sto_store *st = kit_open(&opts);
    for (int64_t i = 0; i < 2000; i++)
        put_at(st, 0, T0 + i * 1000, i);
    flush_to(st, STO_LEVEL_FILES);
    assert_int_equal(sto_delete(sto_writer(st, 0), kit_series(st, 0), T0, T0 + 999999), 0);
    flush_to(st, STO_LEVEL_FILES);
    assert_int_equal(sto_store_pump_merges(st, NULL), 0);
    assert_int_equal(stat_of(st, "files.points"), 2000);
    put_at(st, 0, T0 - 1000, 1);
    flush_to(st, STO_LEVEL_DISK);
    t_faultfs_set_capacity(f, used_bytes(f));
    assert_int_equal(sto_flush(st, STO_LEVEL_FILES, &err), 0);
    assert_non_null(sto_store_refusing(st));
    assert_int_equal(sto_store_pump_merges(st, NULL), 0);
    assert_int_equal(stat_of(st, "files.points"), 1001);
    kit_close(st);
    t_faultfs_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_store_reserve__a_full_disk_opens_with_it),
        cmocka_unit_test(test_store_reserve__a_full_disk_opens_without_it),
        cmocka_unit_test(test_store_reserve__a_disk_that_is_full_at_syncs_is_read),
        cmocka_unit_test(test_store_reserve__every_change_is_refused_for_the_same_reason),
        cmocka_unit_test(test_store_reserve__a_flush_may_use_it),
        cmocka_unit_test(test_store_reserve__deletes_free_a_full_disk),
    };
    ts_log_set_level(TS_LOG_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
