/*
 * test_store_ship_absolute.c - additions whose older value only the remote store has reach it as sums, and count once, whatever happens between.
 */
#include "tests/unit/storage/ship_kit.h"

static void test_ship_absolute__from_memory_at_once(void **state)
{
    (void)state;
    struct ship_both b;
    ship_begin_shipped(&b, 10);
    ship_add(&b, 0, T0, 5);
    ship_all(b.st);
    r_expect_metric(b.r, "m0", "m0 host=h0 @0 0:15\n");
    ship_add(&b, 0, T0, 7); /* upon the put that is in memory */
    ship_all(b.st);
    r_expect_metric(b.r, "m0", "m0 host=h0 @0 0:22\n");
    assert_int_equal(ship_stat(b.st, "ship.absolute_points"), 1);
    ship_flush(b.st);
    ship_all(b.st);
    assert_int_equal(ship_stat(b.st, "ship.held_hours"), 0);
    ship_add(&b, 0, T0, 1); /* in another generation */
    ship_all(b.st);
    r_expect_metric(b.r, "m0", "m0 host=h0 @0 0:23\n");
    ship_end_settled(&b);
}

static void test_ship_absolute__without_an_older_value(void **state)
{
    (void)state;
    struct ship_both b;
    ship_begin(&b);
    ship_add(&b, 0, T0, 5);
    ship_all(b.st);
    r_expect_metric(b.r, "m0", "m0 host=h0 @0 0:5\n");
    ship_add(&b, 2, T0, 5);
    ship_flush(b.st);
    ship_add(&b, 2, T0, 1);
    ship_add(&b, 2, T0 + 1000, 2);
    ship_all(b.st);
    r_expect_metric(b.r, "m0", "m0 host=h0 @0 0:5\nm0 host=h2 @0 0:6 1:2\n");
    ship_end_settled(&b);
}

/* The mark of the hour waits until the sum is in a file; what is said to be left does not. */
static void test_ship_absolute__nothing_is_left_once_sums_are_sent(void **state)
{
    (void)state;
    struct ship_both b;
    ship_begin_shipped(&b, 10);
    ship_add(&b, 0, T0, 5);
    ship_flush(b.st);
    assert_int_equal(ship_stat(b.st, "ship.backlog_points"), 1);
    ship_all(b.st);
    r_expect_metric(b.r, "m0", "m0 host=h0 @0 0:15\n");
    assert_int_equal(ship_stat(b.st, "ship.held_hours"), 1);
    assert_int_equal(ship_stat(b.st, "ship.backlog_points"), 0);
    ship_put(&b, 2, T0, 6); /* of the same hour, in the file of the sum */
    ship_turn(b.st);
    assert_int_equal(ship_stat(b.st, "ship.backlog_points"), 1);
    sto_memory_remote_set_unreachable(b.r, true);
    ship_flush(b.st);
    (void)sto_ship(b.st, NULL);
    assert_true(ship_stat(b.st, "ship.backlog_points") > 0);
    sto_memory_remote_set_unreachable(b.r, false);
    ship_all(b.st);
    assert_int_equal(ship_stat(b.st, "ship.held_hours"), 0);
    assert_int_equal(ship_stat(b.st, "ship.backlog_points"), 0);
    ship_add(&b, 0, T0, 5); /* the remote store cannot say what it adds to */
    assert_int_equal(sto_drop_shipped(b.st, STO_MAX_TS_MS, NULL), 0);
    ship_flush(b.st);
    sto_memory_remote_set_unreachable(b.r, true);
    (void)sto_ship(b.st, NULL);
    assert_true(ship_stat(b.st, "ship.backlog_points") > 0);
    sto_memory_remote_set_unreachable(b.r, false);
    ship_end_settled(&b);
}

/* What another program has written meanwhile is what is added to. */
static void test_ship_absolute__upon_what_another_writer_has_put(void **state)
{
    (void)state;
    struct ship_both b;
    ship_begin_shipped(&b, 10);
    assert_int_equal(r_ship(b.r, "m0 host=h0", sto_hour(T0), r_cells((int[]){0, 100}, 1)), 0);
    ship_add(&b, 0, T0, 5);
    ship_all(b.st);
    r_expect_metric(b.r, "m0", "m0 host=h0 @0 0:105\n");
    ship_end(&b);
}

static void test_ship_absolute__deletes_between(void **state)
{
    (void)state;
    struct ship_both b;
    ship_begin_shipped(&b, 10);
    ship_del(&b, 0, T0, T0);
    ship_add(&b, 0, T0, 5); /* memory has a delete: not before it is in a file */
    ship_all(b.st);
    kit_expect_all(b.st, &b.d, "in memory");
    ship_flush(b.st);
    ship_all(b.st);
    r_expect_metric(b.r, "m0", "m0 host=h0 @0 0:5\n");
    ship_add(&b, 0, T0, 1);
    ship_all(b.st);
    ship_del(&b, 0, T0, T0);
    ship_all(b.st);
    kit_expect_all(b.st, &b.d, "deleted");
    ship_end_settled(&b);
}

/* The remote store fails while a pass reads what is below the additions, or before: the next pass reads it again. */
static void test_ship_absolute__failures_are_repeated(void **state)
{
    (void)state;
    for (uint64_t n_calls = 0; n_calls < 6; n_calls++) {
        struct ship_both b;
        ship_begin_shipped(&b, 10);
        ship_add(&b, 0, T0, 5);
        ship_put(&b, 0, T0 + 1000, 6);
        ship_flush(b.st);
        sto_memory_remote_unreachable_after(b.r, n_calls);
        (void)sto_ship(b.st, NULL);
        sto_memory_remote_unreachable_after(b.r, UINT64_MAX);
        sto_memory_remote_set_unreachable(b.r, false);
        ship_all(b.st);
        r_expect_metric(b.r, "m0", "m0 host=h0 @0 0:15 1:6\n");
        ship_end_settled(&b);
    }
}

static int (*whole_fetch)(struct sto_remote *r, const struct sto_fetch *f, const struct sto_remote_call *call,
                          sto_fetch_row_fn each, void *arg, struct ts_error *err);
static bool too_large;       /* what the remote store has of series 0 */
static unsigned n_too_large; /* fetches that met it */

static int limited_fetch(struct sto_remote *r, const struct sto_fetch *f, const struct sto_remote_call *call,
                         sto_fetch_row_fn each, void *arg, struct ts_error *err)
{
    for (size_t i = 0; too_large && i < f->n_series; i++)
        if (ts_slice_is(f->series[i].tags[0].v, "h0")) {
            n_too_large++;
            return ts_error_set(err, TS_ELIMIT, "the row is too large");
        }
    return whole_fetch(r, f, call, each, arg, err);
}

/* A row that is more than may be read at once: nothing else waits for it, it is listed, and it follows when it has become smaller. */
static void test_ship_absolute__a_row_that_is_too_large(void **state)
{
    (void)state;
    struct ship_both b;
    struct sto_refused_row refused[4];
    ts_clock_set_fake_mono(1000000000000);
    ship_begin_shipped(&b, 10);
    struct sto_remote_ops ops = *b.r->ops;
    const struct sto_remote_ops *before = b.r->ops;
    whole_fetch = ops.fetch;
    ops.fetch = limited_fetch;
    b.r->ops = &ops;
    too_large = true;
    ship_add(&b, 0, T0, 5);
    ship_add(&b, 2, T0, 7);
    ship_all(b.st);
    r_expect_metric(b.r, "m0", "m0 host=h0 @0 0:10\nm0 host=h2 @0 0:7\n");
    assert_int_equal(sto_refused_rows(b.st, refused, 4), 1);
    assert_int_equal(refused[0].hour, sto_hour(T0));
    assert_string_equal(refused[0].why, "the row is too large");
    assert_int_equal(ship_stat(b.st, "ship.refused_rows"), 1);
    assert_int_equal(ship_stat(b.st, "ship.waiting_additions"), 1);
    unsigned n = n_too_large;
    ship_add(&b, 0, T0, 1);
    ship_put(&b, 2, T0 + 1000, 1);
    ship_all(b.st);
    assert_int_equal(n_too_large, n); /* it is not read again in each pass */
    r_expect_metric(b.r, "m0", "m0 host=h0 @0 0:10\nm0 host=h2 @0 0:7 1:1\n");
    ts_clock_set_fake_mono(1061000000000);
    ship_all(b.st);
    assert_int_equal(n_too_large, n + 1);
    ts_clock_set_fake_mono(1122000000000); /* twice as long this time */
    ship_all(b.st);
    assert_int_equal(n_too_large, n + 1);
    too_large = false;
    ts_clock_set_fake_mono(1190000000000);
    ship_all(b.st);
    r_expect_metric(b.r, "m0", "m0 host=h0 @0 0:16\nm0 host=h2 @0 0:7 1:1\n");
    b.r->ops = before;
    ship_end_settled(&b);
}

/* The process ends after the sum was logged, or after it was sent. */
static void test_ship_absolute__kills_do_not_count_twice(void **state)
{
    (void)state;
    struct ship_both b;
    ship_begin_shipped(&b, 10);
    for (int i = 0; i < 6; i++) {
        ship_add(&b, 0, T0, 5);
        if (i % 2)
            ship_flush(b.st);
        sto_memory_remote_unreachable_after(b.r, (uint64_t)i);
        ship_turn(b.st);
        (void)sto_ship(b.st, NULL);
        ship_kill(&b);
        sto_memory_remote_unreachable_after(b.r, UINT64_MAX);
        sto_memory_remote_set_unreachable(b.r, false);
        ship_reopen(&b);
        kit_expect_all(b.st, &b.d, "after a kill");
    }
    ship_end_settled(&b);
}

/* The remote store has a sum only after the log that has the put was synced. */
static void test_ship_absolute__power_cuts_do_not_count_twice(void **state)
{
    (void)state;
    for (int in_file = 0; in_file < 2; in_file++) {
        struct ship_both b;
        ship_init(&b, 1);
        b.opts.wal_sync = STO_SYNC_INTERVAL;
        ship_reopen(&b);
        ship_put(&b, 0, T0, 10);
        ship_flush(b.st);
        ship_all(b.st);
        ship_add(&b, 0, T0, 5);
        ship_turn(b.st);
        if (in_file)
            ship_flush(b.st);
        else
            sto_store_pump(b.st);
        ship_all(b.st);
        r_expect_metric(b.r, "m0", "m0 host=h0 @0 0:15\n");
        t_faultfs_power_cut(b.f);
        (void)sto_close(b.st, NULL);
        b.st = NULL;
        t_faultfs_reboot(b.f, T_KEEP_NONE);
        ship_reopen(&b);
        ship_all(b.st);
        r_expect_metric(b.r, "m0", "m0 host=h0 @0 0:15\n");
        ship_end_settled(&b);
    }
}

/* More additions than a pass remembers: the rest follows after each flush. */
static void test_ship_absolute__many(void **state)
{
    (void)state;
    enum { MANY = 2500, AT_ONCE = 1000, HOURS = 3 };
    struct ship_both b;
    ship_init(&b, 1);
    b.opts.ship_additions = AT_ONCE;
    ship_reopen(&b);
    for (int h = 0; h < HOURS; h++)
        for (int i = 0; i < MANY; i++)
            ship_add(&b, (unsigned)h % N_SERIES, T0 + h * TS_HOUR_MS + i * 100, 1 + i % 7);
    uint64_t before = 0, now = 0;
    for (int i = 0; i < HOURS * (MANY / AT_ONCE + 1); i++, before = now) {
        ship_flush(b.st);
        ship_all(b.st);
        now = ship_stat(b.st, "ship.absolute_points");
        assert_true(now > before || now == HOURS * MANY);
        assert_true(now - before <= HOURS * AT_ONCE);
        kit_expect_all(b.st, &b.d, "between");
    }
    assert_int_equal(now, HOURS * MANY);
    ship_end_settled(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ship_absolute__from_memory_at_once),
        cmocka_unit_test(test_ship_absolute__without_an_older_value),
        cmocka_unit_test(test_ship_absolute__nothing_is_left_once_sums_are_sent),
        cmocka_unit_test(test_ship_absolute__upon_what_another_writer_has_put),
        cmocka_unit_test(test_ship_absolute__deletes_between),
        cmocka_unit_test(test_ship_absolute__a_row_that_is_too_large),
        cmocka_unit_test(test_ship_absolute__failures_are_repeated),
        cmocka_unit_test(test_ship_absolute__kills_do_not_count_twice),
        cmocka_unit_test(test_ship_absolute__power_cuts_do_not_count_twice),
        cmocka_unit_test(test_ship_absolute__many),
    };
    ts_log_set_level((enum ts_log_level)(TS_LOG_ERROR + 1)); /* errors are expected here */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
