/*
 * test_store_ship_delete.c - deletes on their way to the remote store: a long range goes in parts, each of which has its own limit of time, and
 * one that is refused is set aside.
 */
#include "tests/unit/storage/ship_kit.h"

#include "base/array.h"

static struct part {
    int64_t from_ms, to_ms;
} * parts;
static size_t n_parts, cap_parts;
static int (*whole_delete)(struct sto_remote *r, const struct sto_remote_series *s, int64_t from_ms,
                           int64_t to_ms, const struct sto_remote_call *call, struct ts_error *err);

static int noted_delete(struct sto_remote *r, const struct sto_remote_series *s, int64_t from_ms,
                        int64_t to_ms, const struct sto_remote_call *call, struct ts_error *err)
{
    TS_ARRAY_GROW(parts, n_parts, cap_parts, 16);
    parts[n_parts++] = (struct part){from_ms, to_ms};
    return whole_delete(r, s, from_ms, to_ms, call, err);
}

static void test_ship_delete__a_long_range_goes_in_parts(void **state)
{
    (void)state;
    struct ship_both b;
    int64_t from_ms = T0 - 3000 * TS_DAY_MS + 1234, to_ms = T0 + 5678;
    ship_begin_shipped(&b, 10);
    ship_put(&b, 0, T0 - 2000 * TS_DAY_MS, 1);
    ship_put(&b, 0, T0 + 6000, 2);
    ship_put(&b, 0, from_ms - 1, 3);
    ship_all(b.st);
    struct sto_remote_ops ops = *b.r->ops;
    const struct sto_remote_ops *before = b.r->ops;
    whole_delete = ops.delete_range;
    ops.delete_range = noted_delete;
    b.r->ops = &ops;
    ship_del(&b, 0, from_ms, to_ms);
    ship_flush(b.st);
    ship_all(b.st);
    ship_expect(b.r, &b.d, "deleted");
    assert_true(n_parts > 5);
    assert_true(parts[0].from_ms == from_ms && parts[n_parts - 1].to_ms == to_ms);
    for (size_t i = 0; i < n_parts; i++) {
        assert_true(i == 0 || parts[i].from_ms == parts[i - 1].to_ms + 1);
        assert_true(parts[i].to_ms - parts[i].from_ms < 400 * TS_DAY_MS);
    }
    b.r->ops = before;
    ts_free(parts);
    ship_end(&b);
}

/* --- refused deletes --- */

#define TEN_MIN_MS 600000

static bool refuses, fails;
static const char *refused_host; /* NULL: deletes of all series are refused */
static uint64_t n_tried;
static struct sto_remote_ops refusing_ops;
static const struct sto_remote_ops *usual_ops;

/* A remote store that refuses deletes, but takes rows. */
static int refusing_delete(struct sto_remote *r, const struct sto_remote_series *s, int64_t from_ms,
                           int64_t to_ms, const struct sto_remote_call *call, struct ts_error *err)
{
    n_tried++;
    if (fails)
        return ts_error_set(err, TS_EBACKEND, "the remote store is away");
    if (refuses && (!refused_host || ts_slice_eq(s->tags[0].v, ts_slice_str(refused_host))))
        return ts_error_set(err, TS_EINVAL, "the delete is refused");
    return usual_ops->delete_range(r, s, from_ms, to_ms, call, err);
}

/* Points that are in the remote store alone, which refuses deletes from now on. */
static void begin_refusing_within(struct ship_both *b, int64_t retention_ms)
{
    ts_clock_set_fake(T0 + 100 * TS_HOUR_MS);
    ship_init(b, 1);
    b->opts.retention_ms = retention_ms;
    ship_reopen(b);
    for (int64_t i = 0; i < 6; i++)
        ship_put(b, 0, T0 + i * TS_HOUR_MS, 10 + i);
    ship_put(b, 1, T0, 1);
    ship_flush(b->st);
    ship_all(b->st);
    assert_int_equal(sto_drop_shipped(b->st, STO_MAX_TS_MS, NULL), 0);
    usual_ops = b->r->ops;
    refusing_ops = *usual_ops;
    refusing_ops.delete_range = refusing_delete;
    b->r->ops = &refusing_ops;
    refuses = true;
    fails = false;
    refused_host = NULL;
    n_tried = 0;
}

static void begin_refusing(struct ship_both *b)
{
    begin_refusing_within(b, 0);
}

/* A delete of some of them that it refuses, and what came later. */
static void begin_refused(struct ship_both *b)
{
    begin_refusing(b);
    ship_del(b, 0, T0, T0 + 2 * TS_HOUR_MS);    /* of three hours, of which one has something here */
    ship_put(b, 0, T0 + TS_HOUR_MS + 60000, 5); /* later than the delete */
    ship_put(b, 1, T0 + TS_HOUR_MS + 60000, 2);
    ship_put(b, 1, T0 + 3 * TS_HOUR_MS, 7);
    ship_del(b, 0, T0 + 4 * TS_HOUR_MS, T0 + 5 * TS_HOUR_MS - 1); /* of an hour that has nothing here */
    ship_put(b, 1, T0 + 9 * TS_HOUR_MS, 3);
    ship_flush(b->st);
    ship_all(b->st);
}

/* The remote store takes the delete, and then has what is here. */
static void end_refused(struct ship_both *b)
{
    ship_all(b->st);
    assert_int_equal(ship_stat(b->st, "ship.held_hours"), 0);
    ship_expect(b->r, &b->d, "deleted after all");
    assert_int_equal(sto_drop_shipped(b->st, STO_MAX_TS_MS, NULL), 0);
    assert_int_equal(ship_stat(b->st, "files.points"), 0);
    kit_expect_all(b->st, &b->d, "from the remote store alone");
    ship_end(b);
}

static void test_ship_delete__a_refused_one_holds_up_nothing_else(void **state)
{
    (void)state;
    struct ship_both b;
    struct sto_refused_row row;
    begin_refused(&b);
    assert_int_equal(ship_stat(b.st, "ship.refused_deletes"), 2);
    assert_int_equal(sto_refused_rows(b.st, &row, 1), 1);
    assert_int_equal(sto_ship_failing(b.st, NULL), 0);
    kit_expect_all(b.st, &b.d, "the delete applies to what the remote store has");
    ship_put(&b, 1, T0 + TS_HOUR_MS + 2000, 4);
    ship_put(&b, 0, T0 + TS_HOUR_MS + 2000, 6);
    ship_flush(b.st);
    ship_all(b.st);
    uint64_t n_points = r_stat(b.r, "shipped_points");
    ship_all(b.st);
    assert_int_equal(r_stat(b.r, "shipped_points"), n_points); /* nor is anything else sent in each pass */
    assert_int_equal(ship_stat(b.st, "ship.refused_deletes"), 2);
    assert_int_equal(ship_stat(b.st, "ship.held_hours"), 1);
    assert_int_equal(sto_drop_shipped(b.st, STO_MAX_TS_MS, NULL), 0);
    kit_expect_all(b.st, &b.d, "it stays here");
    ts_clock_set_fake(T0 + 100 * TS_HOUR_MS + TEN_MIN_MS);
    ship_all(b.st);
    assert_int_equal(ship_stat(b.st, "ship.refused_deletes"), 4);
    refuses = false;
    ts_clock_set_fake(T0 + 100 * TS_HOUR_MS + 2 * TEN_MIN_MS); /* the second pause is longer */
    ship_all(b.st);
    assert_int_equal(n_tried, 4);
    kit_expect_all(b.st, &b.d, "refused again");
    ts_clock_set_fake(T0 + 100 * TS_HOUR_MS + 3 * TEN_MIN_MS);
    end_refused(&b);
}

static void test_ship_delete__a_refused_one_is_sent_after_a_start(void **state)
{
    (void)state;
    struct ship_both b;
    begin_refused(&b);
    refuses = false;
    ship_reopen(&b);
    end_refused(&b);
}

static void test_ship_delete__a_refused_one_is_sent_when_asked_for(void **state)
{
    (void)state;
    struct ship_both b;
    begin_refused(&b);
    refuses = false;
    assert_int_equal(sto_reship(b.st, sto_hour(T0) + 9, sto_hour(T0) + 9, NULL), 0);
    ship_all(b.st);
    assert_int_equal(n_tried, 2); /* of another hour */
    assert_int_equal(sto_reship(b.st, sto_hour(T0) + 1, sto_hour(T0) + 4, NULL), 0);
    ship_all(b.st);
    assert_int_equal(n_tried, 4);
    end_refused(&b);
}

static void test_ship_delete__the_last_hour_of_a_refused_one_counts(void **state)
{
    (void)state;
    struct ship_both b;
    begin_refused(&b);
    assert_int_equal(sto_reship(b.st, sto_hour(T0) + 2, sto_hour(T0) + 3, NULL), 0);
    ship_all(b.st);
    assert_int_equal(n_tried, 3); /* the first one ends in this range */
    ship_del(&b, 0, T0 + 5 * TS_HOUR_MS - 1, T0 + 5 * TS_HOUR_MS + 30000);
    ship_put(&b, 0, T0 + 5 * TS_HOUR_MS + 20000, 8);
    ship_flush(b.st);
    ship_all(b.st);
    ship_put(&b, 0, T0 + 5 * TS_HOUR_MS + 10000, 9); /* newer than it, and in the remote store before it */
    ship_flush(b.st);
    ship_all(b.st);
    refuses = false;
    ts_clock_set_fake(T0 + 103 * TS_HOUR_MS);
    end_refused(&b);
}

/* One delete is not taken for another one of the same series, or of the same range. */
static void test_ship_delete__refused_ones_are_told_apart(void **state)
{
    (void)state;
    struct ship_both b;
    begin_refusing(&b);
    refused_host = "h0";
    ship_del(&b, 0, T0, T0 + TS_HOUR_MS);
    ship_del(&b, 0, T0, T0 + 2 * TS_HOUR_MS);
    ship_del(&b, 1, T0, T0 + 2 * TS_HOUR_MS);
    ship_flush(b.st);
    ship_all(b.st);
    assert_int_equal(n_tried, 3);
    assert_int_equal(ship_stat(b.st, "ship.refused_deletes"), 2);
    refuses = false;
    ts_clock_set_fake(T0 + 100 * TS_HOUR_MS + TEN_MIN_MS);
    end_refused(&b);
}

/* The same delete once more is not sent in the pass that has refused it. */
static void test_ship_delete__a_repeated_one_is_refused_once(void **state)
{
    (void)state;
    struct ship_both b;
    begin_refusing(&b);
    for (int i = 0; i < 2; i++) {
        ship_del(&b, 0, T0, T0 + 2 * TS_HOUR_MS);
        ship_flush(b.st);
    }
    ship_all(b.st);
    assert_int_equal(n_tried, 1);
    ts_clock_set_fake(T0 + 100 * TS_HOUR_MS + TEN_MIN_MS);
    ship_all(b.st);
    assert_int_equal(n_tried, 2);
    refuses = false;
    ts_clock_set_fake(T0 + 100 * TS_HOUR_MS + 3 * TEN_MIN_MS);
    end_refused(&b);
}

/* With more refused deletes than are remembered shipping waits, and it goes on when there are fewer. */
static void test_ship_delete__too_many_refused_ones_stop_shipping(void **state)
{
    (void)state;
    enum { MOST = 4096 };
    struct ship_both b;
    struct ts_error err = {0};
    begin_refusing(&b);
    for (int64_t i = 0; i < MOST; i++)
        ship_del(&b, 0, T0 + i * 10, T0 + i * 10 + 1);
    ship_flush(b.st);
    ship_all(b.st);
    ship_del(&b, 0, T0 + MOST * 10, T0 + MOST * 10 + 1);
    ship_flush(b.st);
    ship_turn(b.st);
    assert_int_equal(sto_ship(b.st, &err), TS_EBACKEND);
    assert_non_null(strstr(err.text, "has refused 4096 deletes; of one more it says: the delete is refused"));
    assert_int_equal(ship_stat(b.st, "ship.refused_deletes"), MOST);
    refuses = false;
    ship_all(b.st);
    assert_int_equal(n_tried, MOST + 2);
    ts_clock_set_fake(T0 + 100 * TS_HOUR_MS + TEN_MIN_MS);
    end_refused(&b);
}

/* A pass that fails before a refused delete is sent again does not forget how often it was refused. */
static void test_ship_delete__a_failure_does_not_shorten_the_pause(void **state)
{
    (void)state;
    struct ship_both b;
    begin_refused(&b);
    ts_clock_set_fake(T0 + 100 * TS_HOUR_MS + TEN_MIN_MS);
    fails = true;
    assert_int_equal(sto_ship(b.st, NULL), TS_EBACKEND);
    fails = false;
    n_tried = 0;
    ship_all(b.st);
    assert_int_equal(n_tried, 2);
    ts_clock_set_fake(T0 + 100 * TS_HOUR_MS + 2 * TEN_MIN_MS);
    ship_all(b.st);
    assert_int_equal(n_tried, 2);
    refuses = false;
    ts_clock_set_fake(T0 + 100 * TS_HOUR_MS + 3 * TEN_MIN_MS);
    end_refused(&b);
}

/* A refused delete of all times, whose ends are beyond the times that can be stored. */
static void test_ship_delete__a_refused_one_without_ends(void **state)
{
    (void)state;
    struct ship_both b;
    begin_refusing(&b);
    ship_del(&b, 0, INT64_MIN, INT64_MAX);
    ship_put(&b, 0, T0 + TS_HOUR_MS, 5);
    ship_flush(b.st);
    ship_all(b.st);
    ship_put(&b, 0, T0 + 50 * TS_HOUR_MS, 6);
    ship_flush(b.st);
    ship_all(b.st);
    kit_expect_all(b.st, &b.d, "it applies to what the remote store has");
    refuses = false;
    ts_clock_set_fake(T0 + 100 * TS_HOUR_MS + TEN_MIN_MS);
    end_refused(&b);
}

/* Deletes that are taken after all make room for others, also while there are too many. */
static void test_ship_delete__those_that_are_taken_make_room(void **state)
{
    (void)state;
    enum { MOST = 4096 };
    struct ship_both b;
    begin_refusing(&b);
    for (int64_t i = 0; i < MOST; i++)
        ship_del(&b, 0, T0 + i * 10, T0 + i * 10 + 1);
    ship_flush(b.st);
    ship_all(b.st);
    refused_host = "h1";
    ship_del(&b, 1, T0, T0 + 1);
    ship_flush(b.st);
    ts_clock_set_fake(T0 + 100 * TS_HOUR_MS + TEN_MIN_MS);
    ship_turn(b.st);
    (void)sto_ship(b.st, NULL);
    ship_all(b.st);
    refuses = false;
    ts_clock_set_fake(T0 + 100 * TS_HOUR_MS + 3 * TEN_MIN_MS);
    end_refused(&b);
}

/* Another delete in hours of a refused one is sent once, and rows of these hours are not sent in each pass. */
static void test_ship_delete__others_in_hours_of_a_refused_one_are_sent_once(void **state)
{
    (void)state;
    struct ship_both b;
    begin_refusing(&b);
    refused_host = "h0";
    for (int64_t i = 0; i < 6; i++)
        for (unsigned k = 0; k < 3; k++)
            ship_put(&b, k, T0 + 2 * i * TS_HOUR_MS, 10 + i);
    ship_flush(b.st);
    ship_all(b.st);
    ship_del(&b, 0, T0, T0 + 12 * TS_HOUR_MS);
    for (int64_t i = 0; i < 6; i++) /* newer than the deletes, and in the hours of the refused one */
        ship_put(&b, 2, T0 + 2 * i * TS_HOUR_MS + 1000, 5);
    ship_del(&b, 1, T0, T0 + 12 * TS_HOUR_MS);
    ship_flush(b.st);
    ship_all(b.st);
    ship_all(b.st);
    uint64_t n_points = r_stat(b.r, "shipped_points"), n = n_tried;
    for (int i = 0; i < 10; i++)
        ship_all(b.st);
    assert_int_equal(n_tried, n);
    assert_int_equal(r_stat(b.r, "shipped_points"), n_points);
    kit_expect_all(b.st, &b.d, "it stays here");
    refuses = false;
    ts_clock_set_fake(T0 + 100 * TS_HOUR_MS + TEN_MIN_MS);
    end_refused(&b);
}

/* A refused delete that expires with its points holds nothing back. */
static void test_ship_delete__a_refused_one_expires(void **state)
{
    (void)state;
    struct ship_both b;
    begin_refusing_within(&b, 30 * TS_DAY_MS);
    ship_del(&b, 0, T0, T0 + TS_HOUR_MS);
    ship_put(&b, 1, T0 + 60000, 5);
    ship_flush(b.st);
    ship_all(b.st);
    assert_int_equal(ship_stat(b.st, "ship.held_hours"), 1);
    ts_clock_set_fake_mono(ts_clock_mono_ns() + 100 * TS_DAY_MS * 1000000);
    ts_clock_set_fake(T0 + 100 * TS_HOUR_MS + 100 * TS_DAY_MS);
    ship_put(&b, 1, T0 + 100 * TS_DAY_MS, 6); /* so that the clock is believed */
    ship_flush(b.st);
    assert_int_equal(sto_store_pump_merges(b.st, NULL), 0);
    ship_all(b.st);
    assert_int_equal(n_tried, 1);
    assert_int_equal(ship_stat(b.st, "ship.held_hours"), 0);
    ship_end(&b);
}

/* A delete that is executed in part before the remote store refuses it, and then goes away. */
static int partly_refusing(struct sto_remote *r, const struct sto_remote_series *s, int64_t from_ms,
                           int64_t to_ms, const struct sto_remote_call *call, struct ts_error *err)
{
    n_tried++;
    assert_int_equal(usual_ops->delete_range(r, s, from_ms, to_ms, call, err), 0);
    sto_memory_remote_set_unreachable(r, true);
    return ts_error_set(err, TS_EINVAL, "the delete is refused");
}

/* What is newer than such a delete is sent after it, also if the pass has failed meanwhile. */
static void test_ship_delete__what_a_refused_one_has_deleted_is_sent_again(void **state)
{
    (void)state;
    struct ship_both b;
    begin_refusing(&b);
    ship_del(&b, 0, T0, T0 + TS_HOUR_MS - 1);
    ship_flush(b.st);
    ship_all(b.st);
    assert_int_equal(n_tried, 1);
    ship_put(&b, 0, T0 + 60000, 5); /* newer than the delete */
    ship_all(b.st);
    refusing_ops.delete_range = partly_refusing;
    ts_clock_set_fake(T0 + 100 * TS_HOUR_MS + TEN_MIN_MS);
    ship_put(&b, 1, T0 + 5 * TS_HOUR_MS, 1);
    ship_turn(b.st);
    assert_true(sto_ship(b.st, NULL) < 0);
    assert_int_equal(n_tried, 2);
    refusing_ops.delete_range = refusing_delete;
    sto_memory_remote_set_unreachable(b.r, false);
    ship_all(b.st);
    assert_int_equal(n_tried, 2);
    kit_expect_all(b.st, &b.d, "here");
    ship_expect(b.r, &b.d, "there");
    refuses = false;
    ts_clock_set_fake(T0 + 100 * TS_HOUR_MS + 3 * TEN_MIN_MS);
    end_refused(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ship_delete__a_long_range_goes_in_parts),
        cmocka_unit_test(test_ship_delete__a_refused_one_holds_up_nothing_else),
        cmocka_unit_test(test_ship_delete__a_refused_one_is_sent_after_a_start),
        cmocka_unit_test(test_ship_delete__a_refused_one_is_sent_when_asked_for),
        cmocka_unit_test(test_ship_delete__the_last_hour_of_a_refused_one_counts),
        cmocka_unit_test(test_ship_delete__refused_ones_are_told_apart),
        cmocka_unit_test(test_ship_delete__a_repeated_one_is_refused_once),
        cmocka_unit_test(test_ship_delete__too_many_refused_ones_stop_shipping),
        cmocka_unit_test(test_ship_delete__a_failure_does_not_shorten_the_pause),
        cmocka_unit_test(test_ship_delete__those_that_are_taken_make_room),
        cmocka_unit_test(test_ship_delete__others_in_hours_of_a_refused_one_are_sent_once),
        cmocka_unit_test(test_ship_delete__what_a_refused_one_has_deleted_is_sent_again),
        cmocka_unit_test(test_ship_delete__a_refused_one_expires),
        cmocka_unit_test(test_ship_delete__a_refused_one_without_ends)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
