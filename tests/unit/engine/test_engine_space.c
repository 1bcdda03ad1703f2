/*
 * test_engine_space.c - the engine without names, in one thread: full disks, broken logs, what barriers say,
 * what a failed flush leaves.
 *
 * Writers and owners run in the test's thread, as a worker's loop runs them; everything is on the file system
 * in memory.
 */
#include "tests/unit/engine/engine_kit.h"

/* A put may be written later, its sender repeats it without harm; an addition must not. */
static void test_engine_space__additions_that_got_an_error_are_never_made(void **state)
{
    (void)state;
    for (unsigned n_writers = 1; n_writers <= 3; n_writers++) {
        struct t_faultfs *f = t_faultfs_new(1);
        struct sto_engine *e = engine_open(f, n_writers);
        struct answer a = {0}, b = {0}, c = {0};
        plan(f, T_OP_OPEN | T_OP_APPEND, T_FAULT_ENOSPC, true);
        for (unsigned s = 0; s < N_SERIES; s++) {
            assert_true(operate(e, STO_OP_PUT, 0, s, 1));
            assert_true(operate(e, STO_OP_ADD, 0, s, 2));
            assert_true(
                operate(e, STO_OP_ADD, n_writers - 1, s, 5)); /* of another asker where there is one */
        }
        turn_all(e, n_writers);
        sto_writer_barrier(sto_engine_writer(e, 0), STO_LEVEL_DISK, 1, on_answer, &a);
        wait_answer(e, n_writers, &a);
        assert_int_equal(a.rc, TS_ENOSPC);
        no_plan(f);
        sto_writer_barrier(sto_engine_writer(e, n_writers - 1), STO_LEVEL_DISK, 1, on_answer, &b);
        wait_answer(e, n_writers, &b);
        assert_int_equal(b.rc, 0);
        assert_int_equal(seen(e),
                         n_writers == 1 ? N_SERIES : 2 * N_SERIES); /* puts; what the other one added */
        for (unsigned s = 0; s < N_SERIES; s++)
            assert_true(operate(e, STO_OP_ADD, 0, s, 2)); /* repeated, as its sender does */
        sto_writer_barrier(sto_engine_writer(e, 0), STO_LEVEL_DISK, 1, on_answer, &c);
        wait_answer(e, n_writers, &c);
        assert_int_equal(c.rc, 0);
        assert_int_equal(sum_of(e), N_SERIES * (n_writers == 1 ? 3 : 8));
        assert_int_equal(close_rc(e, f), 0);
        e = engine_open(f, n_writers);
        assert_int_equal(sum_of(e), N_SERIES * (n_writers == 1 ? 3 : 8)); /* not in the log either */
        assert_int_equal(close_rc(e, f), 0);
        t_faultfs_free(f);
    }
}

static bool add_of(struct sto_engine *e, unsigned series, int64_t v, uint32_t asker)
{
    if (!operate(e, STO_OP_ADD, 0, series, v))
        return false;
    struct sto_batch *b = sto_writer_batch(sto_engine_writer(e, 0), t_series[series]);
    b->points[b->n - 1].asker = asker;
    return true;
}

/* Connections of one worker share its writer: the answer to one of them drops what that one added, and nothing else. */
static void test_engine_space__askers_of_one_writer_lose_only_their_own(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_engine *e = engine_open(f, 1);
    struct answer a = {0}, b = {0}, c = {0}, d = {0};
    struct sto_writer *w = sto_engine_writer(e, 0);
    plan(f, T_OP_OPEN | T_OP_APPEND, T_FAULT_ENOSPC, true);
    for (unsigned s = 0; s < N_SERIES; s++)
        assert_true(add_of(e, s, 2, 7) && add_of(e, s, 5, 8) && add_of(e, s, 10, 0));
    turn_all(e, 1);
    sto_writer_barrier(w, STO_LEVEL_LOG, 0, on_answer, &a); /* a client of puts asks too */
    wait_answer(e, 1, &a);
    sto_writer_barrier(w, STO_LEVEL_LOG, 7, on_answer, &b);
    wait_answer(e, 1, &b);
    assert_int_equal(a.rc, TS_ENOSPC);
    assert_int_equal(b.rc, TS_ENOSPC);
    no_plan(f);
    sto_writer_barrier(w, STO_LEVEL_DISK, 8, on_answer, &c);
    wait_answer(e, 1, &c);
    assert_int_equal(c.rc, 0);
    assert_int_equal(sum_of(e), N_SERIES * 15);
    for (unsigned s = 0; s < N_SERIES; s++)
        assert_true(add_of(e, s, 2, 7)); /* repeated, as its sender does */
    sto_writer_barrier(w, STO_LEVEL_DISK, 7, on_answer, &d);
    wait_answer(e, 1, &d);
    assert_int_equal(d.rc, 0);
    assert_int_equal(sum_of(e), N_SERIES * 17);
    assert_int_equal(close_rc(e, f), 0);
    e = engine_open(f, 1);
    assert_int_equal(sum_of(e), N_SERIES * 17);
    assert_int_equal(close_rc(e, f), 0);
    t_faultfs_free(f);
}

static void test_engine_space__a_full_disk_refuses_and_resumes_without_loss(void **state)
{
    (void)state;
    for (unsigned n_writers = 1; n_writers <= 3; n_writers++) {
        struct t_faultfs *f = t_faultfs_new(1);
        struct sto_engine *e = engine_open(f, n_writers);
        struct answer a = {0}, b = {0}, c = {0};
        int code = 0;
        for (unsigned s = 0; s < N_SERIES; s++)
            assert_true(put(e, 0, s, 1));
        turn_all(e, n_writers);
        assert_int_equal(seen(e), 4);
        plan(f, T_OP_OPEN | T_OP_APPEND, T_FAULT_ENOSPC, true);
        for (unsigned s = 0; s < N_SERIES; s++)
            assert_true(put(e, 0, s, 2)); /* the disk has not said anything yet */
        turn_all(e, n_writers);
        assert_non_null(strstr(sto_engine_refusing(e, &code), "the disk is full"));
        assert_int_equal(code, TS_ENOSPC);
        for (int i = 0; i < 10; i++) { /* not one point of what is refused is taken, turn after turn */
            assert_false(put(e, 0, 0, 3));
            turn_all(e, n_writers);
        }
        sto_writer_barrier(sto_engine_writer(e, 0), STO_LEVEL_DISK, 1, on_answer, &a);
        wait_answer(e, n_writers, &a);
        assert_int_equal(a.rc, TS_ENOSPC);
        assert_non_null(strstr(a.text, "the disk is full"));
        sto_writer_barrier(sto_engine_writer(e, 0), STO_LEVEL_LOG, 1, on_answer, &b);
        wait_answer(e, n_writers, &b);
        assert_int_equal(b.rc, TS_ENOSPC); /* not told once and forgotten */
        assert_int_equal(seen(e), 4);
        no_plan(f);
        sto_writer_barrier(sto_engine_writer(e, 0), STO_LEVEL_DISK, 1, on_answer, &c);
        wait_answer(e, n_writers, &c);
        assert_int_equal(c.rc, 0);
        assert_null(sto_engine_refusing(e, &code));
        assert_int_equal(seen(e), 8);
        assert_true(put(e, 0, 0, 3));
        turn_all(e, n_writers);
        assert_int_equal(seen(e), 9);
        assert_int_equal(close_rc(e, f), 0);
        e = engine_open(f, 2);
        assert_int_equal(seen(e), 9);
        assert_int_equal(close_rc(e, f), 0);
        t_faultfs_free(f);
    }
}

/* No barrier, no new point: the owner tries by itself. */
static void test_engine_space__held_points_are_written_by_themselves(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_engine *e = engine_open(f, 1);
    int code = 0;
    plan(f, T_OP_OPEN | T_OP_APPEND, T_FAULT_ENOSPC, false);
    assert_true(put(e, 0, 0, 1));
    turn_all(e, 1);
    assert_non_null(sto_engine_refusing(e, &code));
    for (int i = 0; i < 5000 && sto_engine_refusing(e, NULL); i++) {
        struct timespec pause = {.tv_nsec = 1000000};
        nanosleep(&pause, NULL);
        turn_all(e, 1);
    }
    assert_null(sto_engine_refusing(e, &code));
    assert_int_equal(seen(e), 1);
    assert_int_equal(close_rc(e, f), 0);
    t_faultfs_free(f);
}

/* Memory that is not to be had is not called a full disk; what waits for it is written by the next try. */
static void test_engine_space__no_memory_is_told_apart(void **state)
{
    (void)state;
    for (uint64_t nth = 1; nth <= 3; nth++) {
        struct t_faultfs *f = t_faultfs_new(1);
        struct sto_engine *e = engine_open(f, 1);
        struct answer refused = {0}, taken = {0};
        int code = 0;
        assert_true(put(e, 0, 0, 1));
        assert_true(operate(e, STO_OP_ADD, 0, 1, 2));
        ts_mem_fail_after(nth);
        sto_writer_turn(sto_engine_writer(e, 0));
        assert_int_equal(ts_mem_fail_left(), 0);
        const char *why = sto_engine_refusing(e, &code);
        assert_int_equal(code, TS_ENOMEM);
        assert_non_null(strstr(why, "memory is exhausted, points are refused until some is free"));
        assert_null(strstr(why, "disk"));
        assert_false(put(e, 0, 0, 3));
        ts_mem_fail_after(1);
        sto_writer_barrier(sto_engine_writer(e, 0), STO_LEVEL_LOG, 1, on_answer, &refused);
        wait_answer(e, 1, &refused);
        assert_int_equal(refused.rc, TS_ENOMEM);
        assert_non_null(strstr(refused.text, "memory is exhausted"));
        sto_writer_barrier(sto_engine_writer(e, 0), STO_LEVEL_LOG, 1, on_answer, &taken);
        wait_answer(e, 1, &taken);
        assert_int_equal(taken.rc, 0);
        assert_null(sto_engine_refusing(e, &code));
        assert_int_equal(sum_of(e), 1); /* the addition got an error: it is not made */
        assert_true(put(e, 0, 0, 3));
        assert_int_equal(close_rc(e, f), 0);
        e = engine_open(f, 1);
        assert_int_equal(sum_of(e), 4);
        assert_int_equal(close_rc(e, f), 0);
        t_faultfs_free(f);
    }
}

/* A barrier from before the loss is right to say yes, and every later one must say no, whoever was told
 * already. */
static void test_engine_space__a_broken_log_is_told_to_each_barrier(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_engine *e = engine_open(f, 1);
    struct answer before = {0}, after = {0}, again = {0};
    int code = 0;
    assert_true(put(e, 0, 0, 1));
    sto_writer_barrier(sto_engine_writer(e, 0), STO_LEVEL_LOG, 1, on_answer, &before);
    wait_answer(e, 1, &before);
    plan(f, T_OP_APPEND, T_FAULT_EIO, false);
    assert_true(put(e, 0, 0, 2));
    sto_writer_barrier(sto_engine_writer(e, 0), STO_LEVEL_LOG, 1, on_answer, &after);
    sto_writer_barrier(sto_engine_writer(e, 0), STO_LEVEL_DISK, 1, on_answer, &again);
    wait_answer(e, 1, &after);
    wait_answer(e, 1, &again);
    assert_int_equal(before.rc, 0);
    assert_int_equal(after.rc, TS_EIO);
    assert_int_equal(again.rc, TS_EIO);
    assert_true(after.text[0] && again.text[0]);
    assert_non_null(sto_engine_refusing(e, &code));
    assert_int_equal(code, TS_EIO);
    assert_false(put(e, 0, 0, 3)); /* for good */
    assert_int_equal(seen(e), 1);  /* a query never shows what is not in the log */
    assert_int_equal(close_rc(e, f), TS_EIO);
    e = engine_open(f, 1);
    assert_int_equal(seen(e), 1);
    assert_null(sto_engine_refusing(e, &code));
    assert_int_equal(close_rc(e, f), 0);
    t_faultfs_free(f);
}

/* A disk that stays full until the end: closing says so; what was confirmed is there, what was held is not.
 */
static void test_engine_space__closing_on_a_full_disk_says_so(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_engine *e = engine_open(f, 2);
    assert_true(put(e, 0, 0, 1) && put(e, 0, 1, 1));
    turn_all(e, 2);
    plan(f, T_OP_OPEN | T_OP_APPEND, T_FAULT_ENOSPC, true);
    assert_true(put(e, 0, 0, 2) && put(e, 0, 1, 2));
    turn_all(e, 2);
    assert_int_equal(close_rc(e, f), TS_ENOSPC);
    no_plan(f);
    e = engine_open(f, 1);
    assert_int_equal(seen(e), 2);
    assert_int_equal(close_rc(e, f), 0);
    t_faultfs_free(f);
}

static void test_engine_space__replayed_generations_are_flushed_once(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    for (int64_t k = 1; k <= 4; k++) { /* killed again and again: nothing is ever flushed */
        struct sto_engine *e = engine_open(f, 1 + (unsigned)k % 2);
        assert_int_equal(stat_of(e, "points.replayed"), k - 1);
        assert_true(put(e, 0, 0, k));
        turn_all(e, 1 + (unsigned)k % 2);
        turn_all(e, 1 + (unsigned)k % 2);
        assert_int_equal(seen(e), k);
        struct t_faultfs *dead = t_faultfs_clone(f, 5);
        assert_int_equal(close_rc(e, f), 0);
        t_faultfs_free(f);
        f = dead;
    }
    struct sto_engine *e = engine_open(f, 1);
    assert_int_equal(stat_of(e, "points.replayed"), 4);
    assert_int_equal(stat_of(e, "files.count"), 0);
    assert_int_equal(close_rc(e, f), 0);
    e = engine_open(f, 1);
    assert_int_equal(stat_of(e, "points.replayed"), 0);
    assert_int_equal(stat_of(e, "files.count"), 1);
    assert_int_equal(seen(e), 4);
    assert_int_equal(close_rc(e, f), 0);
    t_faultfs_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_engine_space__additions_that_got_an_error_are_never_made),
        cmocka_unit_test(test_engine_space__askers_of_one_writer_lose_only_their_own),
        cmocka_unit_test(test_engine_space__a_full_disk_refuses_and_resumes_without_loss),
        cmocka_unit_test(test_engine_space__held_points_are_written_by_themselves),
        cmocka_unit_test(test_engine_space__no_memory_is_told_apart),
        cmocka_unit_test(test_engine_space__a_broken_log_is_told_to_each_barrier),
        cmocka_unit_test(test_engine_space__closing_on_a_full_disk_says_so),
        cmocka_unit_test(test_engine_space__replayed_generations_are_flushed_once),
    };
    ts_log_set_level((enum ts_log_level)(TS_LOG_ERROR + 1)); /* errors are expected here */
    series_make();
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    for (unsigned i = 0; i < N_SERIES; i++)
        ts_free(t_series[i]);
    return rc;
}
