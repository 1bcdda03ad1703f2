/*
 * test_store_ship_hours.c - several hours are shipped at the same time: none of their marks is set before everything of the hour is
 * acknowledged, and a failure of one leaves the others as they are.
 */
#include "tests/unit/storage/ship_kit.h"

#include "storage/engine/engine_int.h"

#include <pthread.h>

#define N_HOURS 5

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
    wait_for(&s, "shipments", N_HOURS);
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

/* One shipment of several fails: its hour is sent again, and the others are not. */
static void test_ship_hours__only_the_failed_one_is_sent_again(void **state)
{
    (void)state;
    for (unsigned fails = 0; fails < N_HOURS; fails++) {
        struct shipping s;
        setup(&s);
        put_hours(&s, 0, 1);
        ship_flush(s.st);
        sto_memory_remote_cut_after(s.r, fails, 1);
        begin(&s);
        wait_for(&s, "shipments", N_HOURS);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ship_hours__are_sent_together),
        cmocka_unit_test(test_ship_hours__reship_does_not_wait_for_a_pass),
        cmocka_unit_test(test_ship_hours__only_the_failed_one_is_sent_again),
        cmocka_unit_test(test_ship_hours__steps_of_one_hour_wait),
        cmocka_unit_test(test_ship_hours__many_are_one_edit),
    };
    ts_log_set_level((enum ts_log_level)(TS_LOG_ERROR + 1)); /* errors are expected here */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
