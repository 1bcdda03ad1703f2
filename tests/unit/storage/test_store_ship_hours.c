/*
 * test_store_ship_hours.c - several hours are shipped at the same time: none of their marks is set before everything of the hour is
 * acknowledged, and a failure of one leaves the others as they are.
 */
#include "tests/unit/storage/ship_kit.h"

#include "storage/engine/engine_int.h"

#include <pthread.h>

#define N_HOURS  5
#define N_GROUPS 3 /* of these hours, when only files have them: they are read together by 1, 2, 2 */

/* A store whose remote store keeps its answers back, and a thread that ships. */
struct shipping {
    struct t_faultfs *f;
    struct sto_remote *r;
    struct sto_opts opts;
    struct sto_store *st;
    struct diary d;
    pthread_t thread;
    struct ts_error err;
    int rc;
};

static void *ship(void *arg)
{
    struct shipping *s = arg;
    s->rc = sto_ship(s->st, &s->err);
    return NULL;
}

/* Wait until a counter of the remote store has a value; ctest ends what does not. */
static void wait_for(struct shipping *s, const char *name, uint64_t value)
{
    while (r_stat(s->r, name) < value)
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static void put_hours(struct shipping *s, int64_t at_ms, int64_t v)
{
    for (int64_t i = 0; i < N_HOURS; i++)
        for (unsigned k = 0; k < 3; k++)
            assert_int_equal(
                kit_op(s->st, sto_writer(s->st, 0), &s->d, k, STO_OP_PUT, T0 + i * TS_HOUR_MS + at_ms, v + i),
                0);
}

static void setup(struct shipping *s)
{
    *s = (struct shipping){.f = t_faultfs_new(1), .r = sto_memory_remote_new(NULL)};
    s->opts = (struct sto_opts)SHIP_OPTS(s->f, s->r);
    s->st = kit_open(&s->opts);
}

static void reopen(struct shipping *s)
{
    kit_close(s->st);
    s->st = kit_open(&s->opts);
}

static void teardown(struct shipping *s)
{
    kit_close(s->st);
    s->r->ops->close(s->r);
    t_faultfs_free(s->f);
    diary_release(&s->d);
}

/* Begin to ship while answers are kept back. */
static void begin(struct shipping *s)
{
    sto_memory_remote_hold(s->r);
    assert_int_equal(pthread_create(&s->thread, NULL, ship, s), 0);
}

static void end(struct shipping *s)
{
    sto_memory_remote_release(s->r);
    assert_int_equal(pthread_join(s->thread, NULL), 0);
}

/* All hours are sent before the first one is answered, and nothing counts as shipped before. */
static void test_ship_hours__are_sent_together(void **state)
{
    (void)state;
    struct shipping s;
    setup(&s);
    put_hours(&s, 0, 1);
    ship_flush(s.st);
    begin(&s);
    wait_for(&s, "shipments", N_GROUPS);
    assert_int_equal(ship_stat(s.st, "ship.backlog_points"), 3 * N_HOURS);
    assert_int_equal(sto_drop_shipped(s.st, STO_MAX_TS_MS, NULL), 0);
    assert_int_equal(ship_stat(s.st, "files.count"), 1);
    end(&s);
    assert_int_equal(s.rc, 0);
    assert_int_equal(ship_stat(s.st, "ship.backlog_points"), 0);
    ship_expect(s.r, &s.d, "all hours");
    reopen(&s);
    ship_all(s.st);
    assert_int_equal(r_stat(s.r, "shipped_points"), 3 * N_HOURS);
    teardown(&s);
}

/* Hours that are to be sent again are noted while a pass runs, which forgets none of them when it ends. */
static void test_ship_hours__reship_does_not_wait_for_a_pass(void **state)
{
    (void)state;
    struct shipping s;
    setup(&s);
    put_hours(&s, 0, 1);
    ship_flush(s.st);
    ship_all(s.st);
    uint64_t shipments = r_stat(s.r, "shipments"), points = r_stat(s.r, "shipped_points");
    int32_t first = (int32_t)(T0 / TS_HOUR_MS);
    assert_int_equal(sto_reship(s.st, first, first, NULL), 0);
    begin(&s);
    wait_for(&s, "shipments", shipments + 1);
    assert_int_equal(sto_reship(s.st, INT32_MIN, INT32_MAX, NULL),
                     0); /* the results of the pass are still held back */
    end(&s);
    assert_int_equal(s.rc, 0);
    ship_all(s.st);
    assert_true(r_stat(s.r, "shipped_points") >= points + 3 * N_HOURS);
    points = r_stat(s.r, "shipped_points");
    ship_all(s.st);
    assert_int_equal(r_stat(s.r, "shipped_points"), points);
    ship_expect(s.r, &s.d, "again");
    teardown(&s);
}

/* One shipment of several fails: its hours are sent again, and the others are not. */
static void test_ship_hours__only_the_failed_one_is_sent_again(void **state)
{
    (void)state;
    for (unsigned fails = 0; fails < N_GROUPS; fails++) {
        struct shipping s;
        setup(&s);
        put_hours(&s, 0, 1);
        ship_flush(s.st);
        sto_memory_remote_cut_after(s.r, fails, 1);
        begin(&s);
        wait_for(&s, "shipments", N_GROUPS);
        end(&s);
        assert_int_equal(s.rc, TS_EBACKEND);
        reopen(&s);
        ship_all(s.st);
        ship_expect(s.r, &s.d, "after a failure");
        assert_int_equal(r_stat(s.r, "shipped_rows"), 3 * N_HOURS + 1); /* one of its rows was stored */
        assert_int_equal(ship_stat(s.st, "ship.backlog_points"), 0);
        teardown(&s);
    }
}

/* Of one hour what is newer is not sent before what is older was answered, even if other hours are. */
static void test_ship_hours__steps_of_one_hour_wait(void **state)
{
    (void)state;
    struct shipping s;
    setup(&s);
    put_hours(&s, 0, 1);
    ship_flush(s.st);
    reopen(&s); /* files alone, */
    put_hours(&s, 0, 100);
    ship_turn(s.st); /* and memory */
    begin(&s);
    wait_for(&s, "shipments", N_HOURS);
    for (int i = 0; i < 20; i++) {
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        assert_int_equal(r_stat(s.r, "shipments"), N_HOURS);
    }
    end(&s);
    assert_int_equal(s.rc, 0);
    assert_int_equal(r_stat(s.r, "shipments"), 2 * N_HOURS);
    ship_expect(s.r, &s.d, "both steps");
    teardown(&s);
}

/* Marks of many hours are one edit of the manifest. */
static void test_ship_hours__many_are_one_edit(void **state)
{
    (void)state;
    struct shipping s;
    setup(&s);
    for (int64_t i = 0; i < 50; i++)
        assert_int_equal(kit_op(s.st, sto_writer(s.st, 0), &s.d, 0, STO_OP_PUT, T0 + 2 * i * TS_HOUR_MS, i),
                         0);
    ship_flush(s.st);
    uint64_t before = t_faultfs_calls(s.f, T_OP_SYNC);
    ship_all(s.st);
    assert_in_range(t_faultfs_calls(s.f, T_OP_SYNC) - before, 1, 5);
    ship_expect(s.r, &s.d, "many hours");
    teardown(&s);
}

/* Hours that only files have are read together: with few points the number of shipments is far below that of hours. */
static void test_ship_hours__are_read_together(void **state)
{
    (void)state;
    struct shipping s;
    setup(&s);
    for (int64_t i = 0; i < 200; i++)
        assert_int_equal(
            kit_op(s.st, sto_writer(s.st, 0), &s.d, (unsigned)(i % 3), STO_OP_PUT, T0 + i * TS_HOUR_MS, i),
            0);
    ship_flush(s.st);
    ship_all(s.st);
    assert_in_range(r_stat(s.r, "shipments"), 5, 12); /* 1, 2, 4, 8, 16, 32, 32 and so on */
    ship_expect(s.r, &s.d, "once");
    uint64_t before = r_stat(s.r, "shipments");
    assert_int_equal(sto_reship(s.st, INT32_MIN, INT32_MAX, NULL), 0);
    ship_all(s.st);
    assert_in_range(r_stat(s.r, "shipments") - before, 5, 12);
    assert_int_equal(r_stat(s.r, "shipped_points"), 400);
    ship_expect(s.r, &s.d, "again");
    teardown(&s);
}

/* A row that is refused holds up its own hour, and none that is read together with it. */
static void test_ship_hours__a_refused_row_holds_its_hour(void **state)
{
    (void)state;
    struct shipping s;
    setup(&s);
    for (int64_t i = 0; i < 40; i++)
        assert_int_equal(
            kit_op(s.st, sto_writer(s.st, 0), &s.d, i == 30 ? 0 : 1, STO_OP_PUT, T0 + i * TS_HOUR_MS, i), 0);
    ship_flush(s.st);
    sto_memory_remote_refuse(s.r, TS_SLICE_LIT("m0"));
    ship_all(s.st);
    assert_in_range(r_stat(s.r, "shipments"), 1, 10);
    assert_int_equal(ship_stat(s.st, "ship.held_hours"), 1);
    sto_memory_remote_refuse(s.r, (struct ts_slice){NULL, 0});
    uint64_t before = r_stat(s.r, "shipped_points");
    reopen(&s);
    ship_all(s.st);
    assert_int_equal(r_stat(s.r, "shipped_points"), before + 1); /* the others have their marks */
    ship_expect(s.r, &s.d, "taken after all");
    teardown(&s);
}

/* While nothing is answered, a limited number of shipments is sent, however many rows there are. */
static void test_ship_hours__few_shipments_are_in_flight(void **state)
{
    (void)state;
    enum { MANY = 600 }; /* one row each; of their memory all together would have many times the limit */
    struct shipping s;
    setup(&s);
    s.opts.ship_batch_rows = 1;
    reopen(&s);
    for (unsigned i = 0; i < MANY; i++)
        assert_int_equal(
            sto_put(sto_writer(s.st, 0), kit_series(s.st, i), T0, (struct ts_num){.m = 1}, false), 0);
    ship_flush(s.st);
    begin(&s);
    wait_for(&s, "shipments", 1);
    for (int i = 0; i < 100; i++) {
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        assert_true(r_stat(s.r, "shipments") < MANY);
    }
    end(&s);
    assert_int_equal(s.rc, 0);
    assert_int_equal(r_stat(s.r, "points"), MANY);
    teardown(&s);
}

/* Hours of which memory has rows are not read together with others: these rows follow in the same pass. */
static void test_ship_hours__memory_follows_in_the_pass(void **state)
{
    (void)state;
    struct shipping s;
    setup(&s);
    for (int64_t i = 0; i < 12; i++)
        assert_int_equal(kit_op(s.st, sto_writer(s.st, 0), &s.d, 1, STO_OP_PUT, T0 + i * TS_HOUR_MS, i), 0);
    ship_flush(s.st);
    reopen(&s);
    for (int64_t i = 0; i < 8; i++)
        assert_int_equal(
            kit_op(s.st, sto_writer(s.st, 0), &s.d, 1, STO_OP_PUT, T0 + i * TS_HOUR_MS + 1000, 100 + i), 0);
    ship_turn(s.st);
    ship_all(s.st);
    ship_expect(s.r, &s.d, "files and memory");
    teardown(&s);
}

/* Hours with different marks are not read together: what one of them has shipped is not sent again for the sake of another. */
static void test_ship_hours__of_one_mark_alone(void **state)
{
    (void)state;
    struct shipping s;
    setup(&s);
    for (int64_t i = 0; i < 12; i++)
        assert_int_equal(kit_op(s.st, sto_writer(s.st, 0), &s.d, 1, STO_OP_PUT, T0 + i * TS_HOUR_MS, i), 0);
    assert_int_equal(kit_op(s.st, sto_writer(s.st, 0), &s.d, 0, STO_OP_PUT, T0 + 6 * TS_HOUR_MS, 6), 0);
    ship_flush(s.st);
    sto_memory_remote_refuse(s.r, TS_SLICE_LIT("m0"));
    ship_all(s.st);
    assert_int_equal(ship_stat(s.st, "ship.held_hours"), 1);
    for (int64_t i = 0; i < 12; i++)
        assert_int_equal(
            kit_op(s.st, sto_writer(s.st, 0), &s.d, 1, STO_OP_PUT, T0 + i * TS_HOUR_MS + 1000, i), 0);
    ship_flush(s.st);
    reopen(&s);
    uint64_t before = r_stat(s.r, "shipped_points");
    ship_all(s.st);
    assert_int_equal(r_stat(s.r, "shipped_points"), before + 12 + 1); /* one more of the hour that was held */
    teardown(&s);
}

/* An hour whose refused row is taken after all stays as long as it has additions to points that are not known. */
static void test_ship_hours__additions_outlast_refusals(void **state)
{
    (void)state;
    struct shipping s;
    setup(&s);
    ts_clock_set_fake(T0 + 100 * TS_HOUR_MS);
    assert_int_equal(kit_op(s.st, sto_writer(s.st, 0), &s.d, 1, STO_OP_PUT, T0, 5), 0);
    ship_flush(s.st);
    ship_all(s.st);
    assert_int_equal(kit_op(s.st, sto_writer(s.st, 0), &s.d, 1, STO_OP_ADD, T0, 1), 0);
    assert_int_equal(kit_op(s.st, sto_writer(s.st, 0), &s.d, 0, STO_OP_PUT, T0, 7), 0);
    ship_flush(s.st);
    sto_memory_remote_refuse(s.r, TS_SLICE_LIT("m0"));
    ship_all(s.st);
    assert_int_equal(ship_stat(s.st, "ship.held_hours"), 1);
    sto_memory_remote_refuse(s.r, (struct ts_slice){NULL, 0});
    ts_clock_set_fake(T0 + 100 * TS_HOUR_MS + 600000);
    ship_all(s.st);
    assert_int_equal(ship_stat(s.st, "ship.held_hours"), 1);
    assert_int_equal(sto_drop_shipped(s.st, STO_MAX_TS_MS, NULL), 0);
    kit_expect_all(s.st, &s.d, "the addition is still here");
    teardown(&s);
}

/* More than one pass sends is sent again once, in several passes, with what is newer after it; a request meanwhile begins anew. */
static void test_ship_hours__again_in_several_passes(void **state)
{
    (void)state;
    struct shipping s;
    setup(&s);
    s.opts.ship_pass_points = 7;
    reopen(&s);
    put_hours(&s, 0, 1);
    ship_flush(s.st);
    ship_all(s.st);
    assert_int_equal(r_stat(s.r, "shipped_points"), 3 * N_HOURS);
    for (uint64_t k = 1; k < 3; k++) {
        uint64_t passes = ship_stat(s.st, "ship.passes");
        assert_int_equal(sto_reship(s.st, INT32_MIN, INT32_MAX, NULL), 0);
        ship_all(s.st);
        assert_int_equal(r_stat(s.r, "shipped_points"), (1 + k) * 3 * N_HOURS);
        assert_true(ship_stat(s.st, "ship.passes") - passes > 1);
        ship_all(s.st); /* nothing is left */
        assert_int_equal(r_stat(s.r, "shipped_points"), (1 + k) * 3 * N_HOURS);
    }
    put_hours(&s, 0, 500); /* newer values of the same times, in memory and in files */
    assert_int_equal(sto_reship(s.st, INT32_MIN, INT32_MAX, NULL), 0);
    ship_all(s.st);
    ship_expect(s.r, &s.d, "newer values from memory");
    put_hours(&s, 0, 1000);
    ship_flush(s.st);
    assert_int_equal(sto_reship(s.st, INT32_MIN, INT32_MAX, NULL), 0);
    ship_all(s.st);
    ship_expect(s.r, &s.d, "newer values from files");
    teardown(&s);
}

/* What is to be sent again and is refused is sent again after the next start. */
static void test_ship_hours__what_is_refused_again_stays_asked(void **state)
{
    (void)state;
    struct shipping s;
    setup(&s);
    for (int64_t i = 0; i < 4; i++)
        assert_int_equal(
            kit_op(s.st, sto_writer(s.st, 0), &s.d, i == 2 ? 0 : 1, STO_OP_PUT, T0 + i * TS_HOUR_MS, i), 0);
    ship_flush(s.st);
    ship_all(s.st);
    sto_memory_remote_refuse(s.r, TS_SLICE_LIT("m0"));
    assert_int_equal(sto_reship(s.st, INT32_MIN, INT32_MAX, NULL), 0);
    ship_all(s.st);
    sto_memory_remote_refuse(s.r, (struct ts_slice){NULL, 0});
    uint64_t before = r_stat(s.r, "shipped_points");
    reopen(&s);
    ship_all(s.st);
    assert_int_equal(r_stat(s.r, "shipped_points"), before + 1);
    teardown(&s);
}

/* --- files that cannot be read --- */

#define N_FILES  12
#define N_POINTS 300 /* of an hour, whose values fill more than the first 100 bytes of its file */

/* Each hour has a file of its own; none is in memory. */
static void put_files(struct shipping *s)
{
    for (int64_t i = 0; i < N_FILES; i++) {
        for (int64_t k = 0; k < N_POINTS; k++)
            assert_int_equal(kit_op(s->st, sto_writer(s->st, 0), &s->d, 1, STO_OP_PUT,
                                    T0 + i * TS_HOUR_MS + k * 1000, i + k * 7919 % 10007),
                             0);
        ship_flush(s->st);
    }
    reopen(s);
}

/* Damage the first block of a sorted file, or repair it. */
static void flip_file(struct shipping *s, unsigned nth)
{
    for (size_t i = 0; i < t_faultfs_count(s->f); i++) {
        const char *path = t_faultfs_path(s->f, i), *end = strrchr(path, '.');
        if (!strstr(path, "/files/") || !end || strcmp(end, ".t") != 0 || nth--)
            continue;
        assert_true(t_faultfs_flip(s->f, path, 100, 4));
        return;
    }
    fail_msg("there are not so many files");
}

/* A pass fails, but for one hour only. */
static void ship_but_one(struct shipping *s)
{
    struct ts_error err = {0};
    ship_turn(s->st);
    assert_int_equal(sto_ship(s->st, &err), TS_ECORRUPT);
}

/* An hour that cannot be read holds up none of those that are read together with it. */
static void test_ship_hours__an_unreadable_one_holds_up_no_others(void **state)
{
    (void)state;
    for (unsigned bad = 0; bad < N_FILES; bad++) {
        struct shipping s;
        setup(&s);
        put_files(&s);
        flip_file(&s, bad);
        reopen(&s);
        ship_but_one(&s);
        assert_int_equal(r_stat(s.r, "points"), (N_FILES - 1) * N_POINTS);
        flip_file(&s, bad);
        reopen(&s);
        ship_all(s.st);
        ship_expect(s.r, &s.d, "read after all");
        teardown(&s);
    }
}

/* The same for hours that are to be sent again, of which the remote store has lost everything. */
static void test_ship_hours__an_unreadable_one_holds_up_no_others_again(void **state)
{
    (void)state;
    for (unsigned bad = 0; bad < N_FILES; bad++) {
        struct shipping s;
        setup(&s);
        put_files(&s);
        ship_all(s.st);
        assert_int_equal(sto_reship(s.st, INT32_MIN, INT32_MAX, NULL), 0);
        flip_file(&s, bad);
        reopen(&s);
        uint64_t before = r_stat(s.r, "shipped_points");
        ship_but_one(&s);
        assert_int_equal(r_stat(s.r, "shipped_points"), before + (N_FILES - 1) * N_POINTS);
        flip_file(&s, bad);
        reopen(&s);
        ship_all(s.st);
        assert_true(r_stat(s.r, "shipped_points") >= before + N_FILES * N_POINTS);
        before = r_stat(s.r, "shipped_points");
        ship_all(s.st);
        assert_int_equal(r_stat(s.r, "shipped_points"), before); /* nothing is left to be sent again */
        teardown(&s);
    }
}

/* Nor does it hold up additions to others, whose older value only the remote store has. */
static void test_ship_hours__an_unreadable_one_holds_up_no_additions(void **state)
{
    (void)state;
    struct shipping s;
    setup(&s);
    assert_int_equal(kit_op(s.st, sto_writer(s.st, 0), &s.d, 0, STO_OP_PUT, T0 - TS_DAY_MS, 5), 0);
    ship_flush(s.st);
    ship_all(s.st);
    assert_int_equal(sto_drop_shipped(s.st, STO_MAX_TS_MS, NULL), 0);
    put_files(&s);
    flip_file(&s, 0);
    reopen(&s);
    assert_int_equal(kit_op(s.st, sto_writer(s.st, 0), &s.d, 0, STO_OP_ADD, T0 - TS_DAY_MS, 2), 0);
    ship_but_one(&s);
    assert_int_equal(ship_stat(s.st, "ship.absolute_points"), 1);
    ship_but_one(&s); /* the sum */
    r_expect_metric(s.r, "m0", "m0 host=h0 @-24 0:7\n");
    teardown(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ship_hours__an_unreadable_one_holds_up_no_others),
        cmocka_unit_test(test_ship_hours__an_unreadable_one_holds_up_no_others_again),
        cmocka_unit_test(test_ship_hours__an_unreadable_one_holds_up_no_additions),
        cmocka_unit_test(test_ship_hours__are_sent_together),
        cmocka_unit_test(test_ship_hours__reship_does_not_wait_for_a_pass),
        cmocka_unit_test(test_ship_hours__again_in_several_passes),
        cmocka_unit_test(test_ship_hours__only_the_failed_one_is_sent_again),
        cmocka_unit_test(test_ship_hours__steps_of_one_hour_wait),
        cmocka_unit_test(test_ship_hours__many_are_one_edit),
        cmocka_unit_test(test_ship_hours__are_read_together),
        cmocka_unit_test(test_ship_hours__a_refused_row_holds_its_hour),
        cmocka_unit_test(test_ship_hours__few_shipments_are_in_flight),
        cmocka_unit_test(test_ship_hours__memory_follows_in_the_pass),
        cmocka_unit_test(test_ship_hours__what_is_refused_again_stays_asked),
        cmocka_unit_test(test_ship_hours__of_one_mark_alone),
        cmocka_unit_test(test_ship_hours__additions_outlast_refusals),
    };
    ts_log_set_level((enum ts_log_level)(TS_LOG_ERROR + 1)); /* errors are expected here */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
