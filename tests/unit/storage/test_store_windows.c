/*
 * test_store_windows.c - a store in a long life: windows that can't be merged, space that deletes give back,
 * descriptors.
 */
#include "tests/unit/storage/windows_kit.h"

#include <sys/resource.h>
#include <unistd.h>

#include "tests/unit/t_folder.h"
#include "storage/engine/merge/partition.h"
#include "tests/unit/t_random.h"

/* --- windows that can't be merged --- */

#define FILES ((int64_t)STO_TINY_FILES) /* small ones of a day that start a merge */

/* So many files in each of two days. */
static struct sto_store *two_days(struct t_faultfs *f)
{
    struct sto_store *st = open_at(f, 0, 1);
    for (int64_t i = 0; i < FILES; i++) {
        for (int64_t k = 0; k < 30; k++) {
            put_at(st, 0, T0 + i * 60000 + k * 100, 1);
            put_at(st, 0, T0 + DAY + i * 60000 + k * 100, 1);
        }
        flush_to(st, STO_LEVEL_FILES);
    }
    assert_int_equal(stat_of(st, "files.count"), 2 * FILES);
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
    assert_int_equal(stat_of(st, "files.count"), FILES + 1); /* the other day is one file */
    assert_int_equal(sto_store_pump_merges(st, &err), 0);    /* not tried again yet */
    assert_int_equal(stat_of(st, "compaction.windows_left_alone"), 1);
    assert_true(t_faultfs_flip(f, bad, 24, 1));
    assert_int_equal(sto_store_pump_merges(st, &err), 0);
    assert_int_equal(stat_of(st, "files.count"), FILES + 1);
    clocks(T0 + DAY + 3600000, 1000 + 11 * 60000);
    assert_int_equal(sto_store_pump_merges(st, &err), 0); /* now it is */
    assert_int_equal(stat_of(st, "files.count"), 2);
    assert_int_equal(seen(st, 0).n, FILES * 60);
    ts_free(bad);
    kit_close(st);
    t_faultfs_free(f);
}

static void test_store_windows__merges_do_not_fill_the_disk(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct ts_error err = {0};
    clocks(T0 + DAY + 3600000, 1000);
    struct sto_store *st = two_days(f);
    uint64_t n_appends = t_faultfs_calls(f, T_OP_APPEND);
    leave_room(f, 900); /* less than one day's files take */
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

/* A run that was written anew by itself heeds a delete that is newer than small files before and behind it on the same day, which
 * are enough for a merge and can't have one: it lies between them, by time and by generations. */
static void test_store_windows__a_run_between_small_files_stops_them_alone(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    clocks(T0 + 6 * TS_HOUR_MS, 1000);
    struct sto_store *st = open_at(f, 0, 0);
    for (int64_t i = 0; i < 3000; i++)
        put_at(st, 0, T0 + i * 1000, i * 7919 % 10007);
    flush_to(st, STO_LEVEL_FILES);
    for (int64_t i = 0; i < FILES; i++) {
        put_at(st, 0, T0 + (i % 2 ? 3 : -3) * TS_HOUR_MS + i * 60000, 1);
        flush_to(st, STO_LEVEL_FILES);
    }
    assert_int_equal(sto_delete(sto_writer(st, 0), kit_series(st, 0), T0, T0 + 999), 0);
    flush_to(st, STO_LEVEL_COMPACT); /* files that do not overlap stay as they are */
    assert_int_equal(stat_of(st, "files.count"), 1 + FILES);
    assert_int_equal(sto_store_pump_merges(st, NULL), 0);
    assert_int_equal(stat_of(st, "files.count"), 1 + FILES);
    assert_int_equal(seen(st, 0).n, 2999 + FILES);
    for (int64_t i = 0; i < FILES; i++) {
        put_at(st, 0, T0 + (i % 2 ? 3 : -3) * TS_HOUR_MS + i * 60000 + 1, 1);
        flush_to(st, STO_LEVEL_FILES);
    }
    assert_int_equal(sto_store_pump_merges(st, NULL), 0); /* newer ones are in nobody's way */
    assert_int_equal(stat_of(st, "files.count"), 1 + FILES + 1);
    assert_int_equal(seen(st, 0).n, 2999 + 2 * FILES);
    kit_close(st);
    t_faultfs_free(f);
}

/* First and last times there are: flushes, merges, deletes and a new start keep them like others. */
static void test_store_windows__the_ends_of_time(void **state)
{
    (void)state;
    static const int64_t times[] = {
        STO_MIN_TS_MS,       STO_MIN_TS_MS + DAY, STO_MIN_TS_MS + 9 * DAY, -1, 0, T0,
        STO_MAX_TS_MS - DAY, STO_MAX_TS_MS};
    struct t_faultfs *f = t_faultfs_new(1);
    struct diary d = {0};
    clocks(T0 + 100 * DAY, 1000);
    struct sto_store *st = open_at(f, 0, 1); /* each day has a file of its own */
    for (int64_t round = 0; round < FILES; round++) {
        for (size_t i = 0; i < sizeof times / sizeof *times; i++)
            for (unsigned s = 0; s < 2; s++)
                assert_int_equal(kit_op(st, sto_writer(st, 0), &d, s, round % 3 ? STO_OP_PUT : STO_OP_ADD,
                                        times[i], round),
                                 0);
        flush_to(st, STO_LEVEL_FILES);
        if (round % 7 == 6)
            assert_int_equal(sto_store_pump_merges(st, NULL), 0);
    }
    assert_int_equal(kit_op(st, sto_writer(st, 0), &d, 0, STO_OP_DEL, STO_MIN_TS_MS, STO_MIN_TS_MS), 0);
    assert_int_equal(kit_op(st, sto_writer(st, 0), &d, 0, STO_OP_DEL, STO_MAX_TS_MS, STO_MAX_TS_MS), 0);
    assert_int_equal(kit_op(st, sto_writer(st, 0), &d, 1, STO_OP_DEL, STO_MIN_TS_MS, -1), 0);
    flush_to(st, STO_LEVEL_FILES);
    kit_expect_all(st, &d, "in files");
    assert_int_equal(sto_store_pump_merges(st, NULL), 0);
    kit_expect_all(st, &d, "merged");
    flush_to(st, STO_LEVEL_COMPACT);
    kit_expect_all(st, &d, "all merged");
    kit_close(st);
    st = open_at(f, 0, 1);
    kit_expect_all(st, &d, "opened again");
    kit_close(st);
    diary_release(&d);
    t_faultfs_free(f);
}

/* A delete of the first or the last millisecond of a file is not forgotten before the file was written again. */
static void test_store_windows__deletes_at_the_ends_of_a_file_stay(void **state)
{
    (void)state;
    for (int64_t at = 0; at <= 9000; at += 9000) {
        struct t_faultfs *f = t_faultfs_new(1);
        clocks(T0 + TS_HOUR_MS, 1000);
        struct sto_store *st = open_at(f, 0, 0);
        for (int64_t i = 0; i < 10; i++)
            put_at(st, 0, T0 + i * 1000, 1);
        flush_to(st, STO_LEVEL_FILES);
        assert_int_equal(sto_delete(sto_writer(st, 0), kit_series(st, 0), T0 + at, T0 + at), 0);
        flush_to(st, STO_LEVEL_FILES);
        assert_int_equal(sto_store_pump_merges(st, NULL), 0);
        assert_int_equal(seen(st, 0).n, 9);
        kit_close(st);
        st = open_at(f, 0, 0);
        assert_int_equal(sto_store_pump_merges(st, NULL), 0);
        assert_int_equal(seen(st, 0).n, 9);
        kit_close(st);
        t_faultfs_free(f);
    }
}

/* Files of tombstones become one, and none of them is lost on the way: the file that they delete from stays as it is. */
static void test_store_windows__tombstones_gather(void **state)
{
    (void)state;
    enum { N_POINTS = 200, N_ROUNDS = 3 };
    struct t_faultfs *f = t_faultfs_new(1);
    int64_t n = 0;
    clocks(T0 + TS_HOUR_MS, 1000);
    struct sto_store *st = open_at(f, 0, 0);
    for (int64_t i = 0; i < 10; i++) /* with a delete that is older than all points of the other file */
        put_at(st, 1, T0 - DAY + i * 1000, 1);
    flush_to(st, STO_LEVEL_FILES);
    assert_int_equal(sto_delete(sto_writer(st, 0), kit_series(st, 1), T0 - DAY, T0 - DAY), 0);
    flush_to(st, STO_LEVEL_FILES);
    for (int64_t i = 0; i < N_POINTS; i++)
        put_at(st, 0, T0 + i * 1000, 1);
    flush_to(st, STO_LEVEL_FILES);
    for (int64_t round = 0; round < N_ROUNDS; round++) {
        for (unsigned i = 0; i < STO_TIER_FILES; i++, n++) {
            assert_int_equal(sto_delete(sto_writer(st, 0), kit_series(st, 0), T0 + n * 1000, T0 + n * 1000),
                             0);
            flush_to(st, STO_LEVEL_FILES);
        }
        uint64_t written = stat_of(st, "compaction.points"), files = stat_of(st, "files.count");
        assert_int_equal(sto_store_pump_merges(st, NULL), 0);
        assert_int_equal(stat_of(st, "compaction.points"), written);
        assert_true(stat_of(st, "files.count") < files);
        assert_int_equal(seen(st, 0).n, N_POINTS - n);
    }
    kit_close(st);
    st = open_at(f, 0, 0);
    assert_int_equal(seen(st, 0).n, N_POINTS - n);
    flush_to(st, STO_LEVEL_COMPACT); /* now they are carried out, and go */
    assert_int_equal(stat_of(st, "files.count"), 2);
    assert_int_equal(stat_of(st, "files.points"), N_POINTS - n + 9);
    assert_int_equal(seen(st, 0).n, N_POINTS - n);
    assert_int_equal(seen(st, 1).n, 9);
    kit_close(st);
    t_faultfs_free(f);
}

/* A failure is a first one again after merges of its window went well. */
static void test_store_windows__a_pause_begins_anew(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct ts_error err = {0};
    int64_t mono = 1000;
    clocks(T0 + DAY + 3600000, mono);
    struct sto_store *st = two_days(f);
    for (int k = 0; k < 4; k++) {
        leave_room(f, 100);
        assert_int_equal(sto_store_pump_merges(st, &err), TS_ENOSPC);
        t_faultfs_set_capacity(f, 0);
        mono += 11 * 60000;
        clocks(T0 + DAY + 3600000, mono);
        assert_int_equal(sto_store_pump_merges(st, &err), 0);
        assert_int_equal(stat_of(st, "compaction.windows_left_alone"), 0);
        assert_int_equal(stat_of(st, "files.count"), 2);
        for (int64_t i = 0; i < FILES; i++) {
            for (int64_t q = 0; q < 200; q++) {
                put_at(st, 0, T0 + i * 60000 + q * 100, 1);
                put_at(st, 0, T0 + DAY + i * 60000 + q * 100, 1);
            }
            flush_to(st, STO_LEVEL_FILES);
        }
    }
    kit_close(st);
    t_faultfs_free(f);
}

/* --- how fast they are --- */

/* Milliseconds that a merge waited for its limit, by a clock that stands still. */
static uint64_t paused_ms(uint64_t bytes_per_s)
{
    struct t_faultfs *f = t_faultfs_new(1);
    clocks(T0 + 10 * DAY, 1000);
    struct sto_opts opts = KIT_OPTS(f, 1);
    uint64_t x = 88172645463325252ull;
    opts.own_threads = false;
    opts.pumped = true;
    opts.merge_bytes_per_s = bytes_per_s;
    struct sto_store *st = kit_open(&opts);
    for (int64_t k = 0; k < 2; k++) {
        for (int64_t hour = 0; hour < 1000; hour++) {
            for (int64_t i = 0; i < 20; i++)
                put_at(st, 0, T0 - hour * 3600000 + i * 1000 + k, (int64_t)(t_random(&x) >> 2));
            sto_writer_turn(sto_writer(st, 0));
        }
        flush_to(st, STO_LEVEL_FILES);
    }
    flush_to(st, STO_LEVEL_COMPACT);
    uint64_t ms = stat_of(st, "compaction.paused_ms");
    assert_int_equal(seen(st, 0).n, 40000);
    kit_close(st);
    t_faultfs_free(f);
    return ms;
}

static void test_store_windows__merges_keep_to_their_bytes_a_second(void **state)
{
    (void)state;
    assert_int_equal(paused_ms(0), 0);
    uint64_t fast = paused_ms(2000000), slow = paused_ms(1000000);
    print_message("paused for ms=%llu, at half of the limit for ms=%llu\n", (unsigned long long)fast,
                  (unsigned long long)slow);
    assert_true(fast > 20 && slow > fast * 3 / 2);
}

/* --- what they hold --- */

#define MANY_FILES 200

/* The most that a merge of many files of one day held. */
static uint64_t held_bytes(uint64_t limit_bytes, bool *out_limited)
{
    struct t_faultfs *f = t_faultfs_new(1);
    clocks(T0 + DAY / 2, 1000);
    struct sto_opts opts = KIT_OPTS(f, 1);
    opts.own_threads = false;
    opts.pumped = true;
    opts.merge_memory_bytes = limit_bytes;
    struct sto_store *st = kit_open(&opts);
    for (int64_t k = 0; k < MANY_FILES; k++) {
        for (int64_t hour = 0; hour < 10; hour++)
            for (unsigned s = 0; s < 4; s++)
                put_at(st, s, T0 + hour * 3600000 + k * 1000, k);
        flush_to(st, STO_LEVEL_FILES);
    }
    assert_int_equal(stat_of(st, "files.count"), MANY_FILES);
    flush_to(st, STO_LEVEL_COMPACT);
    assert_int_equal(stat_of(st, "files.count"), 1);
    assert_int_equal(seen(st, 0).n, MANY_FILES * 10);
    assert_int_equal(stat_of(st, "merges.bytes"), 0);
    uint64_t most = stat_of(st, "merges.most_bytes");
    *out_limited = stat_of(st, "merges.limited") > 0;
    kit_close(st);
    t_faultfs_free(f);
    return most;
}

static void test_store_windows__merges_of_many_files_keep_to_their_memory(void **state)
{
    (void)state;
    bool limited;
    uint64_t whole = held_bytes(0, &limited);
    assert_false(limited);
    assert_true(whole > MANY_FILES * 10240); /* a block of each file, and a page of its index */
    uint64_t most = held_bytes(whole / 4, &limited);
    print_message("a merge of %d files holds bytes=%llu, at most %llu with a limit of %llu\n", MANY_FILES,
                  (unsigned long long)whole, (unsigned long long)most, (unsigned long long)whole / 4);
    assert_true(limited);
    assert_true(most <= whole / 2); /* what a row needs at least is never refused */
}

/* A reader holds files that are merged meanwhile: what they occupy is counted until it lets them go. */
static void test_store_windows__files_that_readers_hold_are_counted(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    clocks(T0 + DAY / 2, 1000);
    struct sto_opts opts = KIT_OPTS(f, 1);
    opts.own_threads = false;
    opts.pumped = true;
    struct sto_store *st = kit_open(&opts);
    for (int64_t k = 0; k < MANY_FILES; k++) {
        for (int64_t hour = 0; hour < 10; hour++)
            put_at(st, 0, T0 + hour * 3600000 + k * 1000, k);
        flush_to(st, STO_LEVEL_FILES);
    }
    uint64_t bytes = stat_of(st, "files.bytes");
    assert_int_equal(stat_of(st, "files.count"), MANY_FILES);
    struct sto_snap *snap = sto_snap_take(st), *other = sto_snap_take(st);
    assert_int_equal(stat_of(st, "files.held"), 0);
    flush_to(st, STO_LEVEL_COMPACT);
    assert_int_equal(stat_of(st, "files.count"), 1);
    assert_int_equal(stat_of(st, "files.held"), MANY_FILES);
    assert_true(stat_of(st, "files.held_bytes") == bytes);
    sto_snap_release(other);
    assert_int_equal(stat_of(st, "files.held"), MANY_FILES);
    sto_snap_release(snap);
    assert_int_equal(stat_of(st, "files.held"), 0);
    assert_int_equal(stat_of(st, "files.held_bytes"), 0);
    kit_close(st);
    t_faultfs_free(f);
}

/* --- space that deletes give back --- */

/* Points of series 0 that do not pack well, in one file. */
static struct sto_store *noisy_day(struct t_faultfs *f)
{
    struct sto_store *st = open_at(f, 0, 1);
    uint64_t x = 88172645463325252ull;
    for (int64_t k = 0; k < 20000; k++) {
        put_at(st, 0, T0 + k * 1000, (int64_t)(t_random(&x) >> 2));
        if (k % 100 == 0)
            sto_writer_turn(sto_writer(st, 0));
    }
    flush_to(st, STO_LEVEL_COMPACT);
    return st;
}

static void test_store_windows__deletes_make_room_on_a_full_disk(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct ts_error err = {0};
    clocks(T0 + DAY, 1000);
    struct sto_store *st = noisy_day(f);
    uint64_t bytes = stat_of(st, "files.bytes");
    leave_room(f, bytes / 2);
    /* Too little goes: what would be left does not fit, and nothing of it stays. */
    assert_int_equal(sto_delete(sto_writer(st, 0), kit_series(st, 0), T0, T0 + 2000000), 0);
    sto_writer_turn(sto_writer(st, 0));
    assert_int_equal(sto_flush(st, STO_LEVEL_COMPACT, &err), TS_ENOSPC);
    assert_true(stat_of(st, "files.bytes") < bytes + 2000);
    assert_int_equal(seen(st, 0).n, 20000 - 2001);
    assert_int_equal(sto_delete(sto_writer(st, 0), kit_series(st, 0), T0 + 5000000, STO_MAX_TS_MS), 0);
    sto_writer_turn(sto_writer(st, 0));
    flush_to(st, STO_LEVEL_COMPACT);
    assert_true(stat_of(st, "files.bytes") < bytes / 4);
    assert_int_equal(seen(st, 0).n, 2999);
    kit_close(st);
    t_faultfs_free(f);
}

/* Deleted rows leave files that no other merge would write 30 days after the delete, without a full compaction: all that happens is that
 * points of another series arrive each day. */
static void test_store_windows__deleted_rows_of_settled_windows_go(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    clocks(T0, 1000);
    struct sto_store *st = open_at(f, 0, 50);
    for (int64_t d = 0; d < 100; d++)
        for (int64_t k = 0; k < 60; k++) {
            put_at(st, 0, T0 - d * DAY + k * 1000, 1);
            put_at(st, 2, T0 - d * DAY + k * 1000, 1);
        }
    flush_to(st, STO_LEVEL_FILES);
    assert_int_equal(sto_store_pump_merges(st, NULL), 0);
    assert_int_equal(stat_of(st, "files.points"), 12000);
    assert_int_equal(sto_delete(sto_writer(st, 0), kit_series(st, 0), 0, STO_MAX_TS_MS), 0);
    flush_to(st, STO_LEVEL_FILES);
    assert_int_equal(sto_store_pump_merges(st, NULL), 0);
    /* It was half of each file. Those of the last days will be joined soon and wait. */
    assert_true(stat_of(st, "files.points") <= 6000 + 8 * 60);
    /* A hundredth of the points is not worth it yet. */
    assert_int_equal(sto_delete(sto_writer(st, 0), kit_series(st, 2), T0 - 99 * DAY, T0 - 99 * DAY + 59000),
                     0);
    flush_to(st, STO_LEVEL_FILES);
    for (int64_t d = 1; d < 40; d++) {
        clocks(T0 + d * DAY, 1000 + d * DAY);
        for (int64_t k = 0; k < 60; k++)
            put_at(st, 1, T0 + d * DAY + k * 1000, 1);
        flush_to(st, STO_LEVEL_FILES);
        assert_int_equal(sto_store_pump_merges(st, NULL), 0);
        assert_true(d < 31 || stat_of(st, "files.points") <= 6000 + (uint64_t)d * 60);
    }
    assert_int_equal(seen(st, 2).n, 5940);
    assert_int_equal(stat_of(st, "files.points"), 5940 + 39 * 60);
    assert_int_equal(tombs_looked_at(st, 0) + tombs_looked_at(st, 2),
                     0); /* the tombstones were dropped too */
    kit_close(st);
    t_faultfs_free(f);
}

/* After a restart the store knows which deletes were applied, so that it does not write a file again for them. */
static void test_store_windows__a_delete_is_carried_out_once(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    clocks(T0 + 10 * DAY, 1000);
    struct sto_store *st = open_at(f, 0, 1);
    for (int64_t k = 0; k < 1000; k++)
        put_at(st, 0, T0 + k * 1000, 1);
    flush_to(st, STO_LEVEL_FILES);
    for (int64_t k = 0; k < 10; k++) /* a newer file over it, so that its generations can't be claimed */
        put_at(st, 0, T0 + k * 100000, 2);
    flush_to(st, STO_LEVEL_FILES);
    assert_int_equal(sto_delete(sto_writer(st, 0), kit_series(st, 0), T0 + 300000, T0 + 799999), 0);
    flush_to(st, STO_LEVEL_FILES);
    assert_int_equal(sto_store_pump_merges(st, NULL), 0);
    assert_int_equal(seen(st, 0).n, 500);
    kit_close(st);
    for (int i = 0; i < 3; i++) {
        st = open_at(f, 0, 1);
        uint64_t n = stat_of(st, "compaction.count");
        assert_int_equal(sto_store_pump_merges(st, NULL), 0);
        assert_int_equal(stat_of(st, "compaction.count"), n);
        assert_int_equal(seen(st, 0).n, 500);
        assert_int_equal(tombs_looked_at(st, 0), 0);
        kit_close(st);
    }
    t_faultfs_free(f);
}

/* --- descriptors --- */

/* On real files: a process whose descriptors are used up writes one file for all days, and merges wait. */
static void test_store_windows__flushes_leave_spare_descriptors(void **state)
{
    (void)state;
    char folder[T_FOLDER_BYTES];
    struct rlimit before, lim;
    int taken[512], n_taken = 0;
    struct ts_error err = {0};
    t_folder_make(folder);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    lim = before;
    lim.rlim_cur = 512;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &lim), 0);
    struct sto_opts opts = {.fs = ts_fs_real(),
                            .dir = folder,
                            .create = true,
                            .no_background = true,
                            .pumped = true,
                            .n_writers = 1,
                            .big_day_points = 1};
    clocks(T0 + DAY, 1000);
    assert_int_equal(ts_fs_keep_spare(), TS_FS_SPARE);
    struct sto_store *st = kit_open(&opts);
    while (n_taken < 512 && (taken[n_taken] = dup(0)) >= 0)
        n_taken++;
    for (int i = 0; i < 3; i++) {
        for (int64_t d = 0; d < 30; d++)
            put_at(st, 0, T0 - d * DAY + i, 1);
        flush_to(st, STO_LEVEL_FILES);
    }
    assert_int_equal(stat_of(st, "files.count"), 3);
    assert_true(ts_fs_keep_spare() + 12 >= TS_FS_SPARE); /* three files, the log, and nothing else */
    (void)sto_store_pump_merges(st, &err);               /* may be left alone */
    assert_true(ts_fs_keep_spare() + 12 >= TS_FS_SPARE);
    while (n_taken > 0)
        close(taken[--n_taken]);
    assert_int_equal(seen(st, 0).n, 90);
    for (int64_t d = 0; d < 30; d++)
        put_at(st, 0, T0 - d * DAY + 3, 1);
    flush_to(st, STO_LEVEL_FILES);
    assert_true(stat_of(st, "files.count") > 20);
    kit_close(st);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(t_folder_remove(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_store_windows__a_bad_block_stops_its_window_alone),
        CASE(test_store_windows__merges_do_not_fill_the_disk),
        CASE(test_store_windows__a_run_between_small_files_stops_them_alone),
        CASE(test_store_windows__the_ends_of_time),
        CASE(test_store_windows__deletes_at_the_ends_of_a_file_stay),
        CASE(test_store_windows__tombstones_gather),
        CASE(test_store_windows__a_pause_begins_anew),
        CASE(test_store_windows__merges_keep_to_their_bytes_a_second),
        CASE(test_store_windows__merges_of_many_files_keep_to_their_memory),
        CASE(test_store_windows__files_that_readers_hold_are_counted),
        CASE(test_store_windows__deletes_make_room_on_a_full_disk),
        CASE(test_store_windows__deleted_rows_of_settled_windows_go),
        CASE(test_store_windows__a_delete_is_carried_out_once),
        CASE(test_store_windows__flushes_leave_spare_descriptors),
    };
    ts_log_set_level((enum ts_log_level)(TS_LOG_ERROR + 1)); /* errors are expected here */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
