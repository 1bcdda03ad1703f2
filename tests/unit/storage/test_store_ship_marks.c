/*
 * test_store_ship_marks.c - what a ship mark claims is true: nothing is lost,
 * doubled or put in another order when marks are set beside additions and
 * deletes in memory, refused rows, interrupted passes, and merges without the
 * remote store.
 */
#include "tests/unit/storage/ship_kit.h"

#include "storage/engine/merge/partition.h"

/* A store, the remote store behind it, and what was put. */
struct both {
    struct t_faultfs *f;
    struct sto_remote *r;
    struct sto_store *st;
    struct diary d;
};

static void reopen(struct both *b, bool with_remote)
{
    struct sto_opts opts = SHIP_OPTS(b->f, with_remote ? b->r : NULL);
    opts.big_day_points = 1;
    if (b->st)
        kit_close(b->st);
    b->st = kit_open(&opts);
}

static void setup(struct both *b)
{
    *b = (struct both){.f = t_faultfs_new(1), .r = sto_memory_remote_new(NULL)};
    ts_clock_set_fake(T0 + 8 * TS_HOUR_MS);
    reopen(b, true);
}

static void teardown(struct both *b)
{
    kit_close(b->st);
    b->r->ops->close(b->r);
    t_faultfs_free(b->f);
    diary_release(&b->d);
    ts_clock_set_fake(0);
}

static void op(struct both *b, unsigned series, enum sto_op op, int64_t ts_ms, int64_t m)
{
    assert_int_equal(kit_op(b->st, sto_writer(b->st, 0), &b->d, series, op, ts_ms, m), 0);
}

/* The point that was put is in a file, the addition in memory: what was shipped
 * is their sum. */
static void test_ship_marks__an_addition_counts_once(void **state)
{
    (void)state;
    struct both b;
    setup(&b);
    op(&b, 0, STO_OP_PUT, T0, 10);
    ship_flush(b.st);
    op(&b, 0, STO_OP_ADD, T0, 5);
    ship_all(b.st);
    kit_expect_all(b.st, &b.d, "the addition is in memory");
    ship_flush(b.st);
    ship_all(b.st);
    kit_expect_all(b.st, &b.d, "the addition is in a file");
    reopen(&b, true);
    ship_all(b.st);
    kit_expect_all(b.st, &b.d, "after another start");
    teardown(&b);
}

/* A delete that only memory knows is lost in a power cut; the points that it
 * hid were not shipped. */
static void test_ship_marks__a_delete_that_is_lost_hides_nothing(void **state)
{
    (void)state;
    struct both b;
    setup(&b);
    op(&b, 0, STO_OP_PUT, T0, 1);
    op(&b, 0, STO_OP_PUT, T0 + 1000, 2);
    ship_flush(b.st);
    size_t n = b.d.n;
    op(&b, 0, STO_OP_DEL, T0, T0);
    sto_writer_turn(sto_writer(b.st, 0)); /* in the log, which is not synced */
    assert_int_equal(sto_ship(b.st, NULL), 0);
    kit_expect_all(b.st, &b.d, "the delete is in memory");
    t_faultfs_power_cut(b.f);
    (void)sto_close(b.st, NULL);
    b.st = NULL;
    t_faultfs_reboot(b.f, T_KEEP_NONE);
    b.d.n = n;
    reopen(&b, true);
    kit_expect_all(b.st, &b.d, "after the power cut");
    assert_int_equal(sto_drop_shipped(b.st, STO_MAX_TS_MS, NULL), 0);
    kit_expect_all(b.st, &b.d, "shipped files are gone");
    teardown(&b);
}

/* What the remote store does not take stays here. */
static void test_ship_marks__refused_rows_stay(void **state)
{
    (void)state;
    struct both b;
    setup(&b);
    op(&b, 0, STO_OP_PUT, T0, 1);
    op(&b, 1, STO_OP_PUT, T0, 2);
    op(&b, 1, STO_OP_PUT, T0 + TS_HOUR_MS, 3);
    ship_flush(b.st);
    sto_memory_remote_refuse(b.r, TS_SLICE_LIT("m0"));
    ship_all(b.st);
    assert_int_equal(ship_stat(b.st, "ship.refused_rows"), 1);
    assert_int_equal(sto_drop_shipped(b.st, STO_MAX_TS_MS, NULL), 0);
    kit_expect_all(b.st, &b.d, "refused");
    ship_all(b.st);
    assert_int_equal(ship_stat(b.st, "ship.refused_rows"), 1); /* not again and again */
    sto_memory_remote_refuse(b.r, (struct ts_slice){NULL, 0});
    reopen(&b, true);
    ship_all(b.st);
    ship_expect(b.r, &b.d, "taken after all");
    assert_int_equal(sto_drop_shipped(b.st, STO_MAX_TS_MS, NULL), 0);
    assert_int_equal(ship_stat(b.st, "files.count"), 0);
    kit_expect_all(b.st, &b.d, "dropped");
    teardown(&b);
}

/* A pass has marked the newest hours when the remote store fails. Merges of
 * what was shipped before must not outrun what is still to be shipped, whose
 * generations lie between theirs and that of a shipped delete. */
static void test_ship_marks__merges_keep_the_order_after_half_a_pass(void **state)
{
    (void)state;
    struct both b;
    struct ts_error err = {0};
    setup(&b);
    op(&b, 0, STO_OP_PUT, T0, 1);
    ship_flush(b.st);
    op(&b, 0, STO_OP_PUT, T0 + 1000, 1);
    op(&b, 0, STO_OP_PUT, T0, 2);
    ship_flush(b.st);
    ship_all(b.st);
    op(&b, 0, STO_OP_PUT, T0, 3);
    ship_flush(b.st);
    op(&b, 1, STO_OP_DEL, T0 + 2 * TS_DAY_MS, T0 + 2 * TS_DAY_MS + 1000);
    op(&b, 2, STO_OP_PUT, T0 + 2 * TS_DAY_MS, 4);
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
    teardown(&b);
}

/* What another writer has put there since is newer than what was shipped, whatever is merged here. */
static void test_ship_marks__merges_leave_other_writers_alone(void **state)
{
    (void)state;
    struct both b;
    struct ship_names names;
    struct r_result done = R_RESULT;
    uint32_t meta = sto_meta_flags(STO_OP_PUT, TS_NUM_INT, 0, false);
    int64_t m = 9;
    struct sto_cells cells = {.meta = &meta, .m = &m, .n = 1};
    setup(&b);
    op(&b, 0, STO_OP_PUT, T0, 1);
    op(&b, 0, STO_OP_PUT, T0 + 10000, 1);
    ship_flush(b.st);
    ship_all(b.st);
    ship_names(&names, 0);
    struct sto_remote_row row = {.series = names.s, .hour = (int32_t)(T0 / TS_HOUR_MS), .cells = &cells};
    struct sto_shipment shipment = {.rows = &row, .n = 1};
    b.r->ops->ship(b.r, &shipment, &(struct sto_remote_call){0}, r_done, &done);
    assert_int_equal(done.rc, 0);
    diary_add(&b.d, 0, T0, 9, meta);
    for (int i = 1; i < 4; i++) {
        op(&b, 0, STO_OP_PUT, T0 + i * 1000, i);
        ship_flush(b.st);
    }
    assert_int_equal(sto_flush(b.st, STO_LEVEL_COMPACT, NULL), 0);
    kit_expect_all(b.st, &b.d, "merged");
    ship_all(b.st);
    kit_expect_all(b.st, &b.d, "shipped");
    ship_expect(b.r, &b.d, "shipped");
    teardown(&b);
}

/* Hours that are never marked, and files between them of which everything was
 * shipped, do not end merging. */
static void test_ship_marks__merges_go_on_beside_refused_rows(void **state)
{
    (void)state;
    struct both b;
    setup(&b);
    sto_memory_remote_refuse(b.r, TS_SLICE_LIT("m0"));
    for (int i = 0; i < (int)STO_TINY_FILES; i++) {
        op(&b, 0, STO_OP_PUT, T0 + i * 1000, i);
        op(&b, 1, STO_OP_PUT, T0 + 2 * TS_HOUR_MS + i * 1000, i);
        ship_flush(b.st);
        ship_all(b.st);
        op(&b, 1, STO_OP_PUT, T0 + TS_HOUR_MS + i * 1000, i);
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
    teardown(&b);
}

/* A delete of points that only the remote store has, while the store runs
 * without it. */
static void test_ship_marks__a_delete_waits_for_the_remote_store(void **state)
{
    (void)state;
    struct both b;
    setup(&b);
    op(&b, 0, STO_OP_PUT, T0, 1);
    op(&b, 0, STO_OP_PUT, T0 + 1000, 2);
    ship_flush(b.st);
    ship_all(b.st);
    assert_int_equal(sto_drop_shipped(b.st, STO_MAX_TS_MS, NULL), 0);
    assert_int_equal(ship_stat(b.st, "files.count"), 0);
    reopen(&b, false);
    for (int i = 0; i < 3; i++) {
        op(&b, 0, STO_OP_DEL, T0, T0 + i);
        op(&b, 1, STO_OP_PUT, T0 + i, 3);
        op(&b, 1, STO_OP_DEL, T0 + i, T0 + i);
        ship_flush(b.st);
    }
    assert_int_equal(sto_flush(b.st, STO_LEVEL_COMPACT, NULL), 0);
    assert_int_equal(ship_stat(b.st, "files.count"), 1); /* they are kept together */
    reopen(&b, true);
    op(&b, 2, STO_OP_DEL, T0, T0);
    ship_flush(b.st);
    assert_int_equal(sto_flush(b.st, STO_LEVEL_COMPACT, NULL), 0);
    kit_expect_all(b.st, &b.d, "with the remote store again");
    ship_all(b.st);
    ship_expect(b.r, &b.d, "shipped");
    kit_expect_all(b.st, &b.d, "shipped");
    assert_int_equal(sto_flush(b.st, STO_LEVEL_COMPACT, NULL), 0);
    assert_int_equal(ship_stat(b.st, "files.count"), 0);
    kit_expect_all(b.st, &b.d, "without tombstones");
    teardown(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ship_marks__an_addition_counts_once),
        cmocka_unit_test(test_ship_marks__a_delete_that_is_lost_hides_nothing),
        cmocka_unit_test(test_ship_marks__refused_rows_stay),
        cmocka_unit_test(test_ship_marks__merges_keep_the_order_after_half_a_pass),
        cmocka_unit_test(test_ship_marks__merges_leave_other_writers_alone),
        cmocka_unit_test(test_ship_marks__merges_go_on_beside_refused_rows),
        cmocka_unit_test(test_ship_marks__a_delete_waits_for_the_remote_store),
    };
    ts_log_set_level((enum ts_log_level)(TS_LOG_ERROR + 1)); /* errors are expected here */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
