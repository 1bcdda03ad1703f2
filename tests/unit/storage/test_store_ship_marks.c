/*
 * test_store_ship_marks.c - what a ship mark claims is true: nothing is lost,
 * doubled or put in another order when marks are set beside additions and
 * deletes in memory, refused rows, interrupted passes, and merges without the
 * remote store.
 */
#include "tests/unit/storage/ship_kit.h"

#include "storage/engine/merge/partition.h"

static void setup(struct ship_both *b)
{
    ship_init(b, 1);
    b->opts.big_day_points = 1;
    ts_clock_set_fake(T0 + 8 * TS_HOUR_MS);
    ship_reopen(b);
}

/* The point that was put is in a file, the addition in memory: what was shipped
 * is their sum. */
static void test_ship_marks__an_addition_counts_once(void **state)
{
    (void)state;
    struct ship_both b;
    setup(&b);
    ship_put(&b, 0, T0, 10);
    ship_flush(b.st);
    ship_add(&b, 0, T0, 5);
    ship_all(b.st);
    kit_expect_all(b.st, &b.d, "the addition is in memory");
    ship_flush(b.st);
    ship_all(b.st);
    kit_expect_all(b.st, &b.d, "the addition is in a file");
    ship_reopen(&b);
    ship_all(b.st);
    kit_expect_all(b.st, &b.d, "after another start");
    ship_end(&b);
}

/* A delete that only memory knows is lost in a power cut; the points that it
 * hid were not shipped. */
static void test_ship_marks__a_delete_that_is_lost_hides_nothing(void **state)
{
    (void)state;
    struct ship_both b;
    setup(&b);
    ship_put(&b, 0, T0, 1);
    ship_put(&b, 0, T0 + 1000, 2);
    ship_flush(b.st);
    size_t n = b.d.n;
    ship_del(&b, 0, T0, T0);
    sto_writer_turn(sto_writer(b.st, 0)); /* in the log, which is not synced */
    assert_int_equal(sto_ship(b.st, NULL), 0);
    kit_expect_all(b.st, &b.d, "the delete is in memory");
    t_faultfs_power_cut(b.f);
    (void)sto_close(b.st, NULL);
    b.st = NULL;
    t_faultfs_reboot(b.f, T_KEEP_NONE);
    b.d.n = n;
    ship_reopen(&b);
    kit_expect_all(b.st, &b.d, "after the power cut");
    assert_int_equal(sto_drop_shipped(b.st, STO_MAX_TS_MS, NULL), 0);
    kit_expect_all(b.st, &b.d, "shipped files are gone");
    ship_end(&b);
}

/* What the remote store does not take stays here. */
static void test_ship_marks__refused_rows_stay(void **state)
{
    (void)state;
    struct ship_both b;
    setup(&b);
    ship_put(&b, 0, T0, 1);
    ship_put(&b, 1, T0, 2);
    ship_put(&b, 1, T0 + TS_HOUR_MS, 3);
    ship_flush(b.st);
    sto_memory_remote_refuse(b.r, TS_SLICE_LIT("m0"));
    ship_all(b.st);
    assert_int_equal(ship_stat(b.st, "ship.refused_rows"), 1);
    assert_int_equal(sto_drop_shipped(b.st, STO_MAX_TS_MS, NULL), 0);
    kit_expect_all(b.st, &b.d, "refused");
    ship_all(b.st);
    assert_int_equal(ship_stat(b.st, "ship.refused_rows"), 1); /* not again and again */
    sto_memory_remote_refuse(b.r, (struct ts_slice){NULL, 0});
    ship_reopen(&b);
    ship_all(b.st);
    ship_expect(b.r, &b.d, "taken after all");
    assert_int_equal(sto_drop_shipped(b.st, STO_MAX_TS_MS, NULL), 0);
    assert_int_equal(ship_stat(b.st, "files.count"), 0);
    kit_expect_all(b.st, &b.d, "dropped");
    ship_end(&b);
}

/* What refused a row may pass: it is sent again when it is asked for, and by itself after some time. */
static void test_ship_marks__refused_rows_are_sent_again(void **state)
{
    (void)state;
    for (int reships = 0; reships < 2; reships++) {
        struct ship_both b;
        setup(&b);
        int64_t now_ms = T0 + 100 * TS_HOUR_MS;
        ts_clock_set_fake(now_ms);
        ship_put(&b, 0, T0, 1);
        ship_put(&b, 1, T0, 2);
        ship_put(&b, 0, T0 + TS_HOUR_MS, 3);
        ship_flush(b.st);
        sto_memory_remote_refuse(b.r, TS_SLICE_LIT("m0"));
        ship_all(b.st);
        assert_int_equal(ship_stat(b.st, "ship.held_hours"), 2);
        for (int i = 0; i < 3; i++) { /* after 10, 20 and 40 minutes, and not before */
            uint64_t n = ship_stat(b.st, "ship.refused_rows");
            ts_clock_set_fake(now_ms += (600000ll << i) - 1);
            ship_all(b.st);
            assert_int_equal(ship_stat(b.st, "ship.refused_rows"), n);
            ts_clock_set_fake(++now_ms);
            ship_all(b.st);
            assert_int_equal(ship_stat(b.st, "ship.refused_rows"), n + 2);
        }
        uint64_t shipped = r_stat(b.r, "shipped_points");
        sto_memory_remote_refuse(b.r, (struct ts_slice){NULL, 0});
        ship_all(b.st);
        assert_int_equal(ship_stat(b.st, "ship.held_hours"), 2);
        if (reships)
            assert_int_equal(sto_reship(b.st, sto_hour(T0), sto_hour(T0 + TS_HOUR_MS), NULL), 0);
        else
            ts_clock_set_fake(now_ms + (600000ll << 3));
        ship_all(b.st);
        assert_int_equal(ship_stat(b.st, "ship.held_hours"), 0);
        if (!reships) /* rows of the hour that were taken before are not sent again: another writer may have corrected them */
            assert_int_equal(r_stat(b.r, "shipped_points"), shipped + 2);
        ship_expect(b.r, &b.d, "taken after all");
        assert_int_equal(sto_drop_shipped(b.st, STO_MAX_TS_MS, NULL), 0);
        assert_int_equal(ship_stat(b.st, "files.count"), 0);
        ship_end(&b);
    }
}

/* They are also sent again when the clock was set back, since it is not known for how long they have waited. */
static void test_ship_marks__refused_rows_and_a_clock_that_is_set_back(void **state)
{
    (void)state;
    struct ship_both b;
    setup(&b);
    ts_clock_set_fake(T0 + 100 * TS_HOUR_MS);
    ship_put(&b, 0, T0, 1);
    ship_flush(b.st);
    sto_memory_remote_refuse(b.r, TS_SLICE_LIT("m0"));
    ship_all(b.st);
    sto_memory_remote_refuse(b.r, (struct ts_slice){NULL, 0});
    ship_all(b.st);
    assert_int_equal(ship_stat(b.st, "ship.held_hours"), 1);
    ts_clock_set_fake(T0 + 90 * TS_HOUR_MS);
    ship_all(b.st);
    assert_int_equal(ship_stat(b.st, "ship.held_hours"), 0);
    ship_expect(b.r, &b.d, "taken after all");
    ship_end(&b);
}

/* A pass has marked the newest hours when the remote store fails. Merges of
 * what was shipped before must not outrun what is still to be shipped, whose
 * generations lie between theirs and that of a shipped delete. */
static void test_ship_marks__merges_keep_the_order_after_half_a_pass(void **state)
{
    (void)state;
    struct ship_both b;
    struct ts_error err = {0};
    setup(&b);
    ship_put(&b, 0, T0, 1);
    ship_flush(b.st);
    ship_put(&b, 0, T0 + 1000, 1);
    ship_put(&b, 0, T0, 2);
    ship_flush(b.st);
    ship_all(b.st);
    ship_put(&b, 0, T0, 3);
    ship_flush(b.st);
    ship_del(&b, 1, T0 + 2 * TS_DAY_MS, T0 + 2 * TS_DAY_MS + 1000);
    ship_put(&b, 2, T0 + 2 * TS_DAY_MS, 4);
    ship_flush(b.st);
    sto_memory_remote_unreachable_after(b.r, 2); /* the delete, and the newest hour */
    assert_int_equal(sto_ship(b.st, &err), TS_EBACKEND);
    sto_memory_remote_set_unreachable(b.r, false);
    kit_expect_all(b.st, &b.d, "half a pass");
    assert_int_equal(sto_flush(b.st, STO_LEVEL_COMPACT, NULL), 0);
    kit_expect_all(b.st, &b.d, "merged");
    ship_all(b.st);
    ship_expect(b.r, &b.d, "shipped");
    kit_expect_all(b.st, &b.d, "shipped");
    assert_int_equal(sto_flush(b.st, STO_LEVEL_COMPACT, NULL), 0);
    kit_expect_all(b.st, &b.d, "merged after all");
    ship_end(&b);
}

/* What another writer has put there since is newer than what was shipped, whatever is merged here. */
static void test_ship_marks__merges_leave_other_writers_alone(void **state)
{
    (void)state;
    struct ship_both b;
    struct ship_names names;
    struct r_result done = R_RESULT;
    uint32_t meta = sto_meta_flags(STO_OP_PUT, TS_NUM_INT, 0, false);
    int64_t m = 9;
    struct sto_cells cells = {.meta = &meta, .m = &m, .n = 1};
    setup(&b);
    ship_put(&b, 0, T0, 1);
    ship_put(&b, 0, T0 + 10000, 1);
    ship_flush(b.st);
    ship_all(b.st);
    ship_names(&names, 0);
    struct sto_remote_row row = {.series = names.s, .hour = (int32_t)(T0 / TS_HOUR_MS), .cells = &cells};
    struct sto_shipment shipment = {.rows = &row, .n = 1};
    b.r->ops->ship(b.r, &shipment, &(struct sto_remote_call){0}, r_done, &done);
    assert_int_equal(done.rc, 0);
    diary_add(&b.d, 0, T0, 9, meta);
    for (int i = 1; i < 4; i++) {
        ship_put(&b, 0, T0 + i * 1000, i);
        ship_flush(b.st);
    }
    assert_int_equal(sto_flush(b.st, STO_LEVEL_COMPACT, NULL), 0);
    kit_expect_all(b.st, &b.d, "merged");
    ship_all(b.st);
    kit_expect_all(b.st, &b.d, "shipped");
    ship_expect(b.r, &b.d, "shipped");
    ship_end(&b);
}

/* Hours that are never marked, and files between them of which everything was
 * shipped, do not end merging. */
static void test_ship_marks__merges_go_on_beside_refused_rows(void **state)
{
    (void)state;
    struct ship_both b;
    setup(&b);
    sto_memory_remote_refuse(b.r, TS_SLICE_LIT("m0"));
    for (int i = 0; i < (int)STO_TINY_FILES; i++) {
        ship_put(&b, 0, T0 + i * 1000, i);
        ship_put(&b, 1, T0 + 2 * TS_HOUR_MS + i * 1000, i);
        ship_flush(b.st);
        ship_all(b.st);
        ship_put(&b, 1, T0 + TS_HOUR_MS + i * 1000, i);
        ship_flush(b.st);
        ship_all(b.st);
    }
    assert_int_equal(ship_stat(b.st, "ship.held_hours"), 1);
    assert_int_equal(sto_store_pump_merges(b.st, NULL), 0);
    assert_true(ship_stat(b.st, "files.count") < STO_TINY_FILES);
    kit_expect_all(b.st, &b.d, "merged");
    sto_memory_remote_refuse(b.r, (struct ts_slice){NULL, 0});
    ship_all(b.st);
    kit_expect_all(b.st, &b.d, "shipped");
    ship_expect(b.r, &b.d, "shipped");
    ship_end(&b);
}

/* A delete of points that only the remote store has, while the store runs
 * without it. */
static void test_ship_marks__a_delete_waits_for_the_remote_store(void **state)
{
    (void)state;
    struct ship_both b;
    setup(&b);
    ship_put(&b, 0, T0, 1);
    ship_put(&b, 0, T0 + 1000, 2);
    ship_flush(b.st);
    ship_all(b.st);
    assert_int_equal(sto_drop_shipped(b.st, STO_MAX_TS_MS, NULL), 0);
    assert_int_equal(ship_stat(b.st, "files.count"), 0);
    b.opts.remote = NULL;
    ship_reopen(&b);
    for (int i = 0; i < 3; i++) {
        ship_del(&b, 0, T0, T0 + i);
        ship_put(&b, 1, T0 + i, 3);
        ship_del(&b, 1, T0 + i, T0 + i);
        ship_flush(b.st);
    }
    assert_int_equal(sto_flush(b.st, STO_LEVEL_COMPACT, NULL), 0);
    assert_int_equal(ship_stat(b.st, "files.count"), 1); /* they are kept together */
    b.opts.remote = b.r;
    ship_reopen(&b);
    ship_del(&b, 2, T0, T0);
    ship_flush(b.st);
    assert_int_equal(sto_flush(b.st, STO_LEVEL_COMPACT, NULL), 0);
    kit_expect_all(b.st, &b.d, "with the remote store again");
    ship_all(b.st);
    ship_expect(b.r, &b.d, "shipped");
    kit_expect_all(b.st, &b.d, "shipped");
    assert_int_equal(sto_flush(b.st, STO_LEVEL_COMPACT, NULL), 0);
    assert_int_equal(ship_stat(b.st, "files.count"), 0);
    kit_expect_all(b.st, &b.d, "without tombstones");
    ship_end(&b);
}

/* Time passes: both clocks move on. */
static void pass_hours(int64_t hours)
{
    ts_clock_set_fake(ts_clock_ms() + hours * TS_HOUR_MS);
    ts_clock_set_fake_mono(ts_clock_mono_ns() + hours * TS_HOUR_MS * 1000000);
}

/* Files that remain when what was shipped 48 hours ago goes; some time passes first. */
static uint64_t files_after(struct ship_both *b, int64_t hours)
{
    pass_hours(hours);
    assert_int_equal(sto_drop_shipped(b->st, ts_clock_ms() - 48 * TS_HOUR_MS, NULL), 0);
    return ship_stat(b->st, "files.count");
}

/* Points that were filled in for an old time, and shipped late, stay for as long after that as others do; a restart, and a clock that
 * was ahead, do not change that, nor do merges. */
static void test_ship_marks__what_was_just_shipped_stays(void **state)
{
    (void)state;
    struct ship_both b;
    setup(&b);
    ship_put(&b, 0, T0 - 30 * TS_DAY_MS, 1);
    ship_flush(b.st);
    assert_int_equal(files_after(&b, 0), 1);
    assert_int_equal(files_after(&b, 100), 1); /* not shipped all this time */
    ship_all(b.st);
    assert_int_equal(files_after(&b, 0), 1);
    assert_int_equal(files_after(&b, 24), 1);
    ship_reopen(&b);
    ship_put(&b, 0, T0 - 30 * TS_DAY_MS, 2);
    ship_flush(b.st);
    ship_all(b.st);
    assert_int_equal(files_after(&b, 0), 2);
    assert_int_equal(files_after(&b, 23), 2);
    assert_int_equal(files_after(&b, 1), 1); /* the first one */
    assert_int_equal(sto_flush(b.st, STO_LEVEL_COMPACT, NULL), 0);
    assert_int_equal(files_after(&b, 23), 1);
    ts_clock_set_fake(ts_clock_ms() - 22 * TS_HOUR_MS);
    assert_int_equal(files_after(&b, 0), 1);
    ship_reopen(&b);
    ship_expect(b.r, &b.d, "shipped");
    assert_int_equal(files_after(&b, 23), 0);
    ship_end(&b);
}

/* The clock is set forward, while the store is open or closed: what was shipped stays for as long as it jumped, and when it is set back
 * nothing has happened. */
static void test_ship_marks__a_clock_that_jumps_removes_nothing(void **state)
{
    (void)state;
    for (int closed = 0; closed < 2; closed++) {
        struct ship_both b;
        setup(&b);
        ship_op(&b, 0, STO_OP_PUT, T0 - 30 * TS_DAY_MS, 1);
        ship_flush(b.st);
        ship_all(b.st);
        assert_int_equal(files_after(&b, 0), 1);
        ts_clock_set_fake(ts_clock_ms() + 100 * TS_HOUR_MS);
        if (closed)
            ship_reopen(&b);
        assert_int_equal(files_after(&b, 0), 1);
        assert_int_equal(files_after(&b, 1), 1);
        ts_clock_set_fake(ts_clock_ms() - 100 * TS_HOUR_MS);
        assert_int_equal(files_after(&b, 46), 1);
        ts_clock_set_fake(ts_clock_ms() + 100 * TS_HOUR_MS);
        assert_int_equal(files_after(&b, 0), 1); /* notices it */
        assert_int_equal(files_after(&b, 99), 1);
        assert_int_equal(files_after(&b, 2), 0); /* it has stayed there for as long as it jumped */
        ship_end(&b);
    }
}

/* What is shipped again stays as long as if it had never been shipped before. */
static void test_ship_marks__what_is_shipped_again_stays(void **state)
{
    (void)state;
    struct ship_both b;
    setup(&b);
    ship_put(&b, 0, T0 - 30 * TS_DAY_MS, 1);
    ship_flush(b.st);
    ship_all(b.st);
    assert_int_equal(files_after(&b, 0), 1);
    pass_hours(60);
    assert_int_equal(sto_reship(b.st, INT32_MIN, INT32_MAX, NULL), 0);
    assert_int_equal(files_after(&b, 0), 1);
    assert_int_equal(files_after(&b, 60), 1); /* not sent yet */
    ship_all(b.st);
    assert_int_equal(files_after(&b, 0), 1);
    assert_int_equal(files_after(&b, 47), 1);
    assert_int_equal(files_after(&b, 1), 0);
    ship_end(&b);
}

/* A file goes if all of its points are before the limit; a point at the limit stays. */
static void test_ship_marks__only_files_before_the_limit_go(void **state)
{
    (void)state;
    struct ship_both b;
    setup(&b);
    int64_t last_ms = ts_clock_ms() + TS_HOUR_MS;
    ship_put(&b, 0, T0, 1);
    ship_put(&b, 0, last_ms, 2);
    ship_flush(b.st);
    ship_all(b.st);
    assert_int_equal(sto_drop_shipped(b.st, last_ms, NULL), 0);
    assert_int_equal(ship_stat(b.st, "files.count"), 1);
    assert_int_equal(sto_drop_shipped(b.st, last_ms + 1, NULL), 0);
    assert_int_equal(ship_stat(b.st, "files.count"), 0);
    ship_end(&b);
}

/* However often files are to be removed, few copies of the marks are kept, and files stay an eighth longer at most. */
static void test_ship_marks__few_earlier_marks_are_kept(void **state)
{
    (void)state;
    struct ship_both b;
    setup(&b);
    for (int i = 0; i < 240; i++) { /* a file each hour */
        ship_put(&b, 0, T0 - 30 * TS_DAY_MS + i, i);
        ship_flush(b.st);
        ship_all(b.st);
        uint64_t n = files_after(&b, 1);
        assert_in_range(n, i < 48 ? (uint64_t)i + 1 : 48, i < 48 ? (uint64_t)i + 1 : 54);
    }
    ship_end(&b);
}

/* The backlog counts what is in memory and in files, whether it was sent from there or not, and is as old as the oldest of it. */
static void test_ship_marks__the_backlog_is_counted(void **state)
{
    (void)state;
    struct ship_both b;
    setup(&b);
    assert_int_equal(ship_stat(b.st, "ship.backlog_points"), 0);
    assert_int_equal(ship_stat(b.st, "ship.backlog_s"), 0);
    for (int i = 0; i < 10; i++)
        ship_put(&b, 0, T0 + i * 1000, i);
    ship_turn(b.st);
    ts_clock_set_fake(ts_clock_ms() + 7000);
    assert_int_equal(ship_stat(b.st, "ship.backlog_points"), 10);
    assert_true(ship_stat(b.st, "ship.backlog_bytes") > 0);
    assert_int_equal(ship_stat(b.st, "ship.backlog_s"), 7);
    ship_all(b.st);
    assert_int_equal(ship_stat(b.st, "ship.backlog_points"), 0);
    assert_int_equal(ship_stat(b.st, "ship.backlog_bytes"), 0);
    ship_flush(b.st);
    assert_int_equal(ship_stat(b.st, "ship.backlog_points"), 0); /* sent from memory */
    sto_memory_remote_set_unreachable(b.r, true);
    for (int i = 0; i < 5; i++)
        ship_put(&b, 1, T0 + 2 * TS_HOUR_MS + i * 1000, i);
    ship_flush(b.st);
    ship_put(&b, 1, T0 + TS_HOUR_MS, 1);
    ship_turn(b.st);
    ts_clock_set_fake(ts_clock_ms() + 20000);
    assert_int_equal(sto_ship(b.st, NULL), TS_EBACKEND);
    assert_int_equal(ship_stat(b.st, "ship.backlog_points"), 6);
    assert_int_equal(ship_stat(b.st, "ship.backlog_s"), 20);
    ship_reopen(&b);
    ts_clock_set_fake(ts_clock_ms() + 20000);
    assert_int_equal(ship_stat(b.st, "ship.backlog_points"), 16); /* all that the marks do not cover */
    assert_int_equal(ship_stat(b.st, "ship.backlog_s"), 40);      /* of the files */
    assert_int_equal(ship_stat(b.st, "ship.failing_s"), 0);       /* nothing was tried since the start */
    assert_int_equal(sto_ship(b.st, NULL), TS_EBACKEND);
    ts_clock_set_fake(ts_clock_ms() + 5000);
    assert_int_equal(sto_ship(b.st, NULL), TS_EBACKEND);
    assert_int_equal(ship_stat(b.st, "ship.failing_s"), 5);
    struct ts_error why = {0};
    assert_int_equal(sto_ship_failing(b.st, &why), 5);
    assert_int_equal(why.code, TS_EBACKEND);
    sto_memory_remote_set_unreachable(b.r, false);
    ship_all(b.st);
    why.code = 0;
    assert_int_equal(sto_ship_failing(b.st, &why), 0);
    assert_int_equal(why.code, 0);
    assert_int_equal(ship_stat(b.st, "ship.backlog_points"), 0);
    assert_int_equal(ship_stat(b.st, "ship.backlog_s"), 0);
    ship_end(&b);
}

/* Points that expire before the remote store takes them are counted; those that it has are not. */
static void test_ship_marks__expired_points_are_counted(void **state)
{
    (void)state;
    struct ship_both b;
    setup(&b);
    ship_put(&b, 1, T0, 1); /* so the clock is believed */
    ship_flush(b.st);
    b.opts.retention_ms = 3 * TS_DAY_MS;
    ship_reopen(&b);
    ship_put(&b, 0, T0 - 10 * TS_DAY_MS, 1);
    ship_flush(b.st);
    ship_all(b.st); /* expired: there is nothing to send, and all is marked */
    assert_int_equal(sto_store_pump_merges(b.st, NULL), 0);
    assert_int_equal(ship_stat(b.st, "files.count"), 1);
    assert_int_equal(ship_stat(b.st, "ship.expired_points"), 0);
    sto_memory_remote_set_unreachable(b.r, true);
    ship_put(&b, 0, T0 - 10 * TS_DAY_MS, 2);
    ship_put(&b, 0, T0 - 10 * TS_DAY_MS + 1000, 2);
    ship_put(&b, 0, T0, 3);
    ship_flush(b.st);
    assert_int_equal(sto_store_pump_merges(b.st, NULL), 0);
    assert_int_equal(ship_stat(b.st, "files.points"), 2);
    assert_int_equal(ship_stat(b.st, "ship.expired_points"), 2);
    ship_end(&b);
}

/* The hours of a file that cannot be read are left alone and counted; all others are shipped, before and after a start. */
static void test_ship_marks__hours_of_a_broken_file_wait(void **state)
{
    (void)state;
    struct ship_both b;
    struct ts_error err = {0};
    setup(&b);
    ship_put(&b, 0, T0, 1);
    ship_put(&b, 0, T0 + TS_HOUR_MS, 2);
    ship_flush(b.st);
    sto_close(b.st, NULL);
    b.st = NULL;
    assert_true(t_faultfs_flip(b.f, "/db/files/00000001.t", 30, 0x10)); /* in its only block of points */
    for (int start = 0; start < 2; start++) {
        ship_reopen(&b);
        ship_put(&b, 1, T0 - (2 + start) * TS_HOUR_MS, 3);
        ship_put(&b, 1, T0 + 1000, 4);
        ship_put(&b, 1, T0 + (4 + start) * TS_HOUR_MS, 5);
        ship_flush(b.st);
        for (int i = 0; i < 2; i++) {
            assert_int_equal(sto_ship(b.st, &err), TS_ECORRUPT);
            assert_int_equal(ship_stat(b.st, "ship.unreadable_hours"), 2);
            assert_int_equal(r_stat(b.r, "shipped_points"), 2 + 2 * start);
        }
        assert_int_equal(ship_stat(b.st, "ship.errors"), 2);
    }
    assert_int_equal(sto_drop_shipped(b.st, STO_MAX_TS_MS, NULL), 0);
    assert_in_range(ship_stat(b.st, "files.count"), 3, 5); /* those of the broken hours */
    ship_end(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ship_marks__an_addition_counts_once),
        cmocka_unit_test(test_ship_marks__a_delete_that_is_lost_hides_nothing),
        cmocka_unit_test(test_ship_marks__refused_rows_stay),
        cmocka_unit_test(test_ship_marks__refused_rows_are_sent_again),
        cmocka_unit_test(test_ship_marks__refused_rows_and_a_clock_that_is_set_back),
        cmocka_unit_test(test_ship_marks__only_files_before_the_limit_go),
        cmocka_unit_test(test_ship_marks__merges_keep_the_order_after_half_a_pass),
        cmocka_unit_test(test_ship_marks__merges_leave_other_writers_alone),
        cmocka_unit_test(test_ship_marks__merges_go_on_beside_refused_rows),
        cmocka_unit_test(test_ship_marks__a_delete_waits_for_the_remote_store),
        cmocka_unit_test(test_ship_marks__what_was_just_shipped_stays),
        cmocka_unit_test(test_ship_marks__what_is_shipped_again_stays),
        cmocka_unit_test(test_ship_marks__a_clock_that_jumps_removes_nothing),
        cmocka_unit_test(test_ship_marks__the_backlog_is_counted),
        cmocka_unit_test(test_ship_marks__expired_points_are_counted),
        cmocka_unit_test(test_ship_marks__hours_of_a_broken_file_wait),
        cmocka_unit_test(test_ship_marks__few_earlier_marks_are_kept),
    };
    ts_log_set_level((enum ts_log_level)(TS_LOG_ERROR + 1)); /* errors are expected here */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
