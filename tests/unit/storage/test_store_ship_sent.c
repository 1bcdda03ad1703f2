/*
 * test_store_ship_sent.c - what a store knows of the points that it has sent: which rows are fresh, and what need not be sent again.
 */
#include "tests/unit/storage/ship_kit.h"

#include "storage/engine/engine_int.h"
#include "storage/engine/manifest.h"
#include "tests/unit/t_random.h"

/* Rows are fresh if nothing of their hour was ever sent, be it in an earlier life, by a shipment that was cut off, or deleted since.
 * The remote store checks each claim. */
static void test_ship_sent__rows_are_fresh_once(void **state)
{
    (void)state;
    struct ship_both b;
    ship_begin(&b);
    for (int i = 0; i < 4; i++)
        ship_put(&b, 0, T0 + i * TS_HOUR_MS, i);
    ship_flush(b.st);
    sto_memory_remote_cut_next(b.r, 0); /* the newest hour */
    assert_int_equal(sto_ship(b.st, NULL), TS_EBACKEND);
    assert_int_equal(r_stat(b.r, "fresh_rows"), 1);
    ship_reopen(&b);
    ship_all(b.st);
    ship_expect(b.r, &b.d, "after a cut");
    assert_int_equal(r_stat(b.r, "fresh_rows"), 1); /* all of them were about to be sent */
    ship_put(&b, 0, T0 + 5 * TS_HOUR_MS, 5);
    ship_del(&b, 0, T0, T0);
    ship_put(&b, 0, T0 + 1000, 6);
    ship_flush(b.st);
    ship_all(b.st);
    assert_int_equal(r_stat(b.r, "fresh_rows"), 2);
    ship_put(&b, 0, T0, 7);
    ship_put(&b, 1, T0 + 5 * TS_HOUR_MS, 5);
    ship_reopen(&b);
    ship_all(b.st);
    ship_expect(b.r, &b.d, "after a start");
    assert_int_equal(r_stat(b.r, "fresh_rows"), 2);
    ship_end(&b);
}

/* What was sent from memory is not sent again: not by the next pass, nor from files, nor after a start. */
static void test_ship_sent__each_operation_is_sent_once(void **state)
{
    (void)state;
    struct ship_both b;
    ship_begin(&b);
    for (int i = 0; i < 300; i++) {
        ship_put(&b, 0, T0 + i * 20000, i);
        ship_put(&b, 1, T0 + i * 20000 - 7000, i);
        if (i % 7 == 0)
            ship_all(b.st);
        if (i % 50 == 0)
            ship_flush(b.st);
    }
    ship_flush(b.st);
    ship_all(b.st);
    ship_expect(b.r, &b.d, "all");
    assert_int_equal(r_stat(b.r, "shipped_points"), 600);
    assert_int_equal(r_stat(b.r, "fresh_rows"), r_stat(b.r, "shipped_rows"));
    assert_int_equal(sto_drop_shipped(b.st, STO_MAX_TS_MS, NULL), 0);
    assert_int_equal(ship_stat(b.st, "files.count"), 0);
    ship_reopen(&b);
    ship_all(b.st);
    assert_int_equal(r_stat(b.r, "shipped_points"), 600);
    kit_expect_all(b.st, &b.d, "from the remote store");
    ship_end(&b);
}

/* Of a shipment that fails nothing counts as sent, nor as fresh. */
static void test_ship_sent__a_failure_counts_as_nothing(void **state)
{
    (void)state;
    struct ship_both b;
    ship_begin(&b);
    for (unsigned i = 0; i < 3; i++)
        ship_put(&b, i, T0, 1);
    ship_all(b.st);
    for (unsigned i = 0; i < 3; i++)
        ship_put(&b, i, T0 + 1000, 2);
    ship_turn(b.st);
    sto_memory_remote_cut_next(b.r, 1);
    assert_int_equal(sto_ship(b.st, NULL), TS_EBACKEND);
    ship_all(b.st);
    ship_expect(b.r, &b.d, "again");
    assert_int_equal(r_stat(b.r, "fresh_rows"), 3 + 3); /* before they were cut off */
    ship_put(&b, 0, T0 + 2000, 3);
    ship_all(b.st);
    assert_int_equal(r_stat(b.r, "fresh_rows"), 3 + 3 + 1);
    ship_put(&b, 0, T0 + 1500, 3); /* late */
    ship_all(b.st);
    assert_int_equal(r_stat(b.r, "fresh_rows"), 3 + 3 + 1);
    assert_int_equal(r_stat(b.r, "shipped_points"), 3 + 1 + 3 + 1 + 1);
    ship_expect(b.r, &b.d, "late");
    ship_end(&b);
}

/* Deletes and additions in memory, between points that were sent. */
static void test_ship_sent__deletes_and_additions_between_passes(void **state)
{
    (void)state;
    struct ship_both b;
    ship_begin(&b);
    for (int i = 0; i < 12; i++) {
        ship_put(&b, 0, T0 + i * 1000, i);
        ship_put(&b, 1, T0 + i * 1000, i);
        ship_all(b.st);
        if (i % 3 == 1)
            ship_del(&b, 0, T0, T0 + (i - 1) * 1000);
        ship_put(&b, 0, T0, 100 + i);
        if (i % 2)
            ship_all(b.st);
        ship_add(&b, 1, T0 + i * 1000, 5);
        if (i % 4 == 0)
            ship_flush(b.st);
        ship_turn(b.st);
        kit_expect_all(b.st, &b.d, "between");
    }
    ship_flush(b.st);
    ship_all(b.st);
    kit_expect_all(b.st, &b.d, "at last");
    ship_reopen(&b);
    ship_all(b.st);
    kit_expect_all(b.st, &b.d, "after a start");
    ship_end(&b);
}

/* An hour that stays without a mark does not repeat deletes that were acknowledged. */
static void test_ship_sent__deletes_of_held_hours_are_sent_once(void **state)
{
    (void)state;
    struct ship_both b;
    ship_begin(&b);
    ship_put(&b, 0, T0, 1);
    ship_flush(b.st);
    ship_all(b.st);
    ship_add(&b, 0, T0, 5);
    ship_del(&b, 1, T0, T0 + 1000);
    ship_flush(b.st);
    for (int i = 0; i < 3; i++)
        ship_all(b.st);
    assert_int_equal(ship_stat(b.st, "ship.held_hours"), 1);
    assert_int_equal(r_stat(b.r, "deletes"), 1);
    kit_expect_all(b.st, &b.d, "held");
    ship_end(&b);
}

/* What was shipped is shipped again, but for deletes: what they would delete may be newer. */
static void test_ship_sent__hours_are_sent_again(void **state)
{
    (void)state;
    struct ship_both b;
    struct sto_remote *other = sto_memory_remote_new(NULL);
    ship_begin(&b);
    for (int i = 0; i < 5; i++)
        ship_put(&b, 0, T0 + i * TS_HOUR_MS, i);
    ship_del(&b, 1, T0, T0 + 1000);
    ship_flush(b.st);
    ship_all(b.st);
    ship_put(&b, 0, T0 + 1000, 7);
    ship_all(b.st);
    int32_t hour = (int32_t)(T0 / TS_HOUR_MS);
    assert_int_equal(sto_reship(b.st, hour, hour + 1, NULL), 0);
    assert_int_equal(sto_drop_shipped(b.st, STO_MAX_TS_MS, NULL), 0);
    assert_true(ship_stat(b.st, "files.points") >= 2);
    uint64_t points = r_stat(b.r, "shipped_points");
    ship_all(b.st);
    assert_int_equal(r_stat(b.r, "shipped_points"), points + 3);
    assert_int_equal(r_stat(b.r, "deletes"), 1);
    ship_all(b.st);
    assert_int_equal(r_stat(b.r, "shipped_points"), points + 3);
    ship_expect(b.r, &b.d, "again");
    /* A remote store that has lost everything. */
    assert_int_equal(sto_reship(b.st, INT32_MIN, INT32_MAX, NULL), 0);
    b.opts.remote = other;
    ship_reopen(&b);
    ship_all(b.st);
    ship_expect(other, &b.d, "from the beginning");
    kit_expect_all(b.st, &b.d, "from the beginning");
    ship_end(&b);
    other->ops->close(other);
}

/* An hour that is held back has no mark above the delete, which was shipped all the same and is not sent once more. */
static void test_ship_sent__what_is_sent_again_stays_deleted(void **state)
{
    (void)state;
    struct ship_both b;
    ship_begin(&b);
    ship_put(&b, 0, T0, 1);
    ship_put(&b, 0, T0 + 1000, 2);
    ship_flush(b.st);
    ship_all(b.st);
    ship_del(&b, 0, T0, T0);
    ship_add(&b, 0, T0 + 2000, 5);
    ship_flush(b.st);
    ship_all(b.st);
    assert_int_equal(ship_stat(b.st, "ship.held_hours"), 1);
    r_expect_metric(b.r, "m0", "m0 host=h0 @0 1:2 2:5\n");
    assert_int_equal(sto_reship(b.st, INT32_MIN, INT32_MAX, NULL), 0);
    ship_all(b.st);
    r_expect_metric(b.r, "m0", "m0 host=h0 @0 1:2 2:5\n");
    kit_expect_all(b.st, &b.d, "sent again");
    ship_end(&b);
}

/* A manifest that was made anew knows no marks: what is here is sent again, and a delete that was shipped long ago spares the newer points
 * that only the remote store has. */
static void test_ship_sent__lost_marks_delete_nothing(void **state)
{
    (void)state;
    struct ship_both b;
    ship_begin(&b);
    struct sto_manifest *m;
    struct sto_mark all = {INT32_MIN, INT32_MAX, 1};
    const struct sto_mark_list every = {&all, 1}, none = {0};
    ship_put(&b, 0, T0, 1);
    ship_put(&b, 0, T0 + 1000, 1);
    ship_flush(b.st);
    ship_del(&b, 0, T0, T0);
    ship_flush(b.st);
    ship_all(b.st);
    ship_put(&b, 0, T0, 2);
    ship_flush(b.st);
    ship_all(b.st);
    assert_int_equal(sto_drop_shipped(b.st, STO_MAX_TS_MS, NULL), 0);
    uint64_t deletes = r_stat(b.r, "deletes"), points = r_stat(b.r, "shipped_points");
    kit_close(b.st);
    assert_int_equal(sto_manifest_open(t_faultfs_fs(b.f), "/db", false, false, 0, &m, NULL), 0);
    assert_int_equal(sto_manifest_apply(m, &(struct sto_manifest_edit){.marks = &none, .sent = &every}, NULL),
                     0);
    sto_manifest_close(m);
    b.st = kit_open(&b.opts);
    ship_put(&b, 0, T0 + 2000, 3);
    ship_all(b.st);
    assert_int_equal(r_stat(b.r, "deletes"), deletes);
    assert_true(r_stat(b.r, "shipped_points") >= points + 1);
    ship_expect(b.r, &b.d, "marks are lost");
    kit_expect_all(b.st, &b.d, "marks are lost");
    ship_end(&b);
}

/* An hour waits until it is over by five minutes; then each row is sent once, from files and memory; what comes late follows. */
static void test_ship_sent__whole_hours_wait_for_their_end(void **state)
{
    (void)state;
    struct ship_both b;
    ship_init(&b, 1);
    b.opts.ship_whole_hours = true;
    int64_t hour_ms = T0 - T0 % TS_HOUR_MS;
    ts_clock_set_fake(hour_ms + TS_HOUR_MS / 2);
    ship_reopen(&b);
    for (int i = 0; i < 300; i++) {
        ship_put(&b, (unsigned)i % 3, hour_ms + i * 10000, i);
        if (i % 90 == 89)
            ship_flush(b.st);
        if (i % 20 == 0)
            ship_all(b.st);
    }
    ship_put(&b, 0, hour_ms, 7); /* over a point that is in a file */
    ship_put(&b, 3, hour_ms + 1000, 8);
    ts_clock_set_fake(hour_ms + TS_HOUR_MS + 5 * 60000 - 1);
    ship_all(b.st);
    assert_int_equal(r_stat(b.r, "shipped_rows"), 0);
    assert_int_equal(sto_drop_shipped(b.st, STO_MAX_TS_MS, NULL), 0);
    assert_int_equal(ship_stat(b.st, "files.count"), 3);
    ts_clock_set_fake(hour_ms + TS_HOUR_MS + 5 * 60000);
    ship_all(b.st);
    assert_int_equal(r_stat(b.r, "shipped_rows"), 4);
    assert_int_equal(r_stat(b.r, "fresh_rows"), 4);
    assert_int_equal(r_stat(b.r, "shipped_points"), 301);
    ship_expect(b.r, &b.d, "over");
    ship_put(&b, 1, hour_ms + 10000, 9); /* late */
    ship_put(&b, 2, hour_ms + TS_HOUR_MS, 10);
    ship_all(b.st);
    assert_int_equal(r_stat(b.r, "shipped_rows"), 5);
    ship_flush(b.st);
    ship_all(b.st);
    assert_int_equal(r_stat(b.r, "shipped_rows"), 5);
    kit_close(b.st);
    ts_clock_set_fake(hour_ms + 3 * TS_HOUR_MS);
    b.st = kit_open(&b.opts);
    ship_all(b.st);
    assert_int_equal(r_stat(b.r, "shipped_rows"), 6);
    ship_expect(b.r, &b.d, "the next hour");
    kit_expect_all(b.st, &b.d, "the next hour");
    ship_end(&b);
}

/* Additions and deletes in memory do not become a part of whole rows, and what is newer than they are follows them. */
static void test_ship_sent__whole_hours_leave_additions_alone(void **state)
{
    (void)state;
    struct ship_both b;
    ship_init(&b, 1);
    b.opts.ship_whole_hours = true;
    ship_reopen(&b);
    for (unsigned i = 0; i < 3; i++)
        ship_put(&b, i, T0, 10);
    ship_flush(b.st);
    ship_add(&b, 0, T0, 5);
    ship_put(&b, 0, T0 + 1000, 6);
    ship_del(&b, 1, T0, T0);
    ship_put(&b, 2, T0, 11);
    ship_all(b.st);
    kit_expect_all(b.st, &b.d, "in memory");
    ship_flush(b.st);
    ship_all(b.st);
    kit_expect_all(b.st, &b.d, "in files");
    ship_expect(b.r, &b.d, "the sum as well");
    ship_end(&b);
}

/* An hour that is not over cannot be sent again yet; the request waits for its end, also over a start. */
static void test_ship_sent__whole_hours_are_sent_again_when_they_are_over(void **state)
{
    (void)state;
    struct ship_both b;
    int32_t hour = (int32_t)(T0 / TS_HOUR_MS);
    ship_init(&b, 1);
    ts_clock_set_fake(hour * TS_HOUR_MS + 60000);
    ship_reopen(&b); /* ships hours at once */
    ship_put(&b, 0, hour * TS_HOUR_MS, 1);
    ship_put(&b, 0, (hour - 1) * TS_HOUR_MS, 2);
    ship_flush(b.st);
    ship_all(b.st);
    assert_int_equal(r_stat(b.r, "shipped_points"), 2);
    b.opts.ship_whole_hours = true;
    ship_reopen(&b);
    ts_clock_set_fake((hour + 1) * TS_HOUR_MS);
    assert_int_equal(sto_reship(b.st, hour - 1, hour, NULL), 0);
    ship_all(b.st);
    assert_int_equal(r_stat(b.r, "shipped_points"), 3); /* the hour before */
    ship_reopen(&b);
    ship_all(b.st);
    assert_int_equal(r_stat(b.r, "shipped_points"), 3);
    ts_clock_set_fake((hour + 1) * TS_HOUR_MS + 5 * 60000);
    for (int i = 0; i < 2; i++) { /* once */
        ship_all(b.st);
        assert_int_equal(r_stat(b.r, "shipped_points"), 4);
    }
    ship_expect(b.r, &b.d, "again");
    ship_end(&b);
}

/* --- what happens while a pass looks for rows --- */

const struct sto_mem_row *__real_sto_mem_walk(const struct sto_mem *mem, uint64_t *pos);
const struct sto_mem_row *__wrap_sto_mem_walk(const struct sto_mem *mem, uint64_t *pos);
void __real_sto_engine__pump(struct sto_engine *e);
void __wrap_sto_engine__pump(struct sto_engine *e);

bool __real_sto_wal_prepare(struct sto_wal *w, uint64_t gen);
bool __wrap_sto_wal_prepare(struct sto_wal *w, uint64_t gen);

/* A pass that begins while a flush waits for the writers to change to a new generation. */
static struct {
    struct ship_both *b;
    bool waits, ships, puts; /* in this order */
} switching;

const struct sto_mem_row *__wrap_sto_mem_walk(const struct sto_mem *mem, uint64_t *pos)
{
    const struct sto_mem_row *row = __real_sto_mem_walk(mem, pos);
    if (!row && switching.puts) { /* the first memstore was walked */
        switching.puts = false;
        ship_put(switching.b, 0, T0, 2);
        ship_turn(switching.b->st); /* this is still of the old generation; then the writer changes */
        ship_put(switching.b, 0, T0, 3);
        ship_turn(switching.b->st);
    }
    return row;
}

void __wrap_sto_engine__pump(struct sto_engine *e)
{
    if (switching.ships) {
        switching.ships = false;
        switching.puts = true;
        assert_int_equal(sto_ship(switching.b->st, NULL), 0);
        assert_false(switching.puts);
    }
    __real_sto_engine__pump(e);
}

bool __wrap_sto_wal_prepare(struct sto_wal *w, uint64_t gen)
{
    switching.ships |= switching.waits;
    switching.waits = false;
    return __real_sto_wal_prepare(w, gen);
}

/* A value that arrives in the old generation after the pass has walked it, and a newer one in the new generation before it has walked that
 * one: the newer one stays. */
static void test_ship_sent__a_pass_sees_generations_in_order(void **state)
{
    (void)state;
    struct ship_both b;
    ship_begin(&b);
    ship_put(&b, 0, T0, 1);
    ship_all(b.st);
    switching.b = &b;
    switching.waits = true;
    assert_int_equal(sto_flush(b.st, STO_LEVEL_FILES, NULL), 0);
    assert_false(switching.waits || switching.ships);
    ship_all(b.st);
    ship_expect(b.r, &b.d, "after the flush");
    ship_flush(b.st);
    ship_all(b.st);
    ship_expect(b.r, &b.d, "at last");
    ship_end(&b);
}

/* A store may have more hours than a pass remembers; hours that must be merged from files are merged nevertheless. */
static void test_ship_sent__many_hours_keep_their_additions(void **state)
{
    (void)state;
    enum { MANY = 65536 + 8 }; /* more than are remembered */
    struct ship_both b;
    ship_begin(&b);
    for (int i = 0; i < MANY; i++)
        ship_put(&b, 0, T0 - i * TS_HOUR_MS, 1);
    ship_add(&b, 1, T0, 5);
    ship_flush(b.st);
    ship_all(b.st);
    r_expect_metric(b.r, "m1", "m1 host=h1 @0 0:5\n");
    assert_int_equal(ship_stat(b.st, "ship.held_hours"), 1);
    ship_flush(b.st); /* the sum */
    ship_all(b.st);
    assert_int_equal(ship_stat(b.st, "ship.held_hours"), 0);
    ship_end(&b);
}

/* What was refused stays, from files and from memory, however many hours there are, and is not sent again and again. */
static void test_ship_sent__many_hours_keep_what_was_refused(void **state)
{
    (void)state;
    enum { MANY = 65536 + 8 }; /* more than are remembered */
    struct ship_both b;
    ship_begin(&b);
    sto_memory_remote_refuse(b.r, TS_SLICE_LIT("m0"));
    ship_put(&b, 0, T0 + TS_HOUR_MS, 8);
    ship_flush(b.st);
    ship_all(b.st);
    for (int i = 0; i < MANY; i++)
        ship_put(&b, 1, T0 - i * TS_HOUR_MS, 1);
    ship_put(&b, 0, T0, 7);
    ship_all(b.st);
    assert_int_equal(ship_stat(b.st, "ship.refused_rows"), 2);
    for (int i = 0; i < 2; i++) /* most of the hours are forgotten */
        ship_all(b.st);
    assert_int_equal(ship_stat(b.st, "ship.refused_rows"), 2);
    ship_flush(b.st);
    ship_all(b.st);
    assert_int_equal(ship_stat(b.st, "ship.held_hours"), 2);
    sto_memory_remote_refuse(b.r, (struct ts_slice){NULL, 0});
    ship_reopen(&b);
    ship_all(b.st);
    r_expect_metric(b.r, "m0", "m0 host=h0 @0 0:7\nm0 host=h0 @1 0:8\n");
    ship_end(&b);
}

/* Passes, flushes and merges in threads of their own, while values of the same times come, and additions to them. */
static void test_ship_sent__threads_keep_the_last_values(void **state)
{
    (void)state;
    struct ship_both b;
    ship_init(&b, 1);
    b.opts = (struct sto_opts)KIT_OPTS(b.f, 1);
    b.opts.no_background = false;
    b.opts.memstore_bytes = 1 << 16;
    b.opts.remote = b.r;
    b.opts.ship_every_ms = 1;
    ship_reopen(&b);
    uint64_t rnd = 1;
    for (int i = 0; i < 8000; i++) {
        unsigned series = (unsigned)(t_rand(&rnd) % N_SERIES);
        int64_t t = T0 + (int64_t)(t_rand(&rnd) % 60) * 120000;
        if (t_rand(&rnd) % 3 == 0)
            ship_add(&b, series, t, 1);
        else if (t_rand(&rnd) % 200)
            ship_put(&b, series, t, i);
        else
            ship_del(&b, series, t, t + 600000);
        sto_writer_turn(sto_writer(b.st, 0));
        if (i % 1000 == 999)
            assert_int_equal(sto_flush(b.st, i % 2000 == 999 ? STO_LEVEL_FILES : STO_LEVEL_COMPACT, NULL), 0);
    }
    for (int i = 0; i < 2; i++) { /* additions, then their sums */
        assert_int_equal(sto_flush(b.st, STO_LEVEL_FILES, NULL), 0);
        assert_int_equal(sto_ship(b.st, NULL), 0);
    }
    ship_expect(b.r, &b.d, "at last");
    kit_expect_all(b.st, &b.d, "at last");
    ship_end(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ship_sent__rows_are_fresh_once),
        cmocka_unit_test(test_ship_sent__each_operation_is_sent_once),
        cmocka_unit_test(test_ship_sent__a_failure_counts_as_nothing),
        cmocka_unit_test(test_ship_sent__deletes_and_additions_between_passes),
        cmocka_unit_test(test_ship_sent__deletes_of_held_hours_are_sent_once),
        cmocka_unit_test(test_ship_sent__hours_are_sent_again),
        cmocka_unit_test(test_ship_sent__what_is_sent_again_stays_deleted),
        cmocka_unit_test(test_ship_sent__lost_marks_delete_nothing),
        cmocka_unit_test(test_ship_sent__whole_hours_wait_for_their_end),
        cmocka_unit_test(test_ship_sent__whole_hours_leave_additions_alone),
        cmocka_unit_test(test_ship_sent__whole_hours_are_sent_again_when_they_are_over),
        cmocka_unit_test(test_ship_sent__a_pass_sees_generations_in_order),
        cmocka_unit_test(test_ship_sent__many_hours_keep_their_additions),
        cmocka_unit_test(test_ship_sent__many_hours_keep_what_was_refused),
        cmocka_unit_test(test_ship_sent__threads_keep_the_last_values),
    };
    ts_log_set_level((enum ts_log_level)(TS_LOG_ERROR + 1)); /* errors are expected here */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
