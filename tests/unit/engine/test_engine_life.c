/*
 * test_engine_life.c - the engine without names: no descriptors left, what failed flushes leave, age, syncs of logs side
 * by side, who wakes the merger.
 */
#include "tests/unit/engine/engine_kit.h"

#include <pthread.h>

/* No file can be opened: the next segment waits, nothing is lost, and the log is not broken. */
static void test_engine_life__no_descriptor_refuses_and_resumes_without_loss(void **state)
{
    (void)state;
    for (unsigned n_writers = 1; n_writers <= 3; n_writers++) {
        struct t_faultfs *f = t_faultfs_new(1);
        struct sto_engine *e = engine_open(f, n_writers);
        struct answer refused = {0}, taken = {0};
        int code = 0;
        plan(f, T_OP_ALL, T_FAULT_EMFILE, true);
        for (unsigned s = 0; s < N_SERIES; s++)
            assert_true(put(e, 0, s, 1));
        turn_all(e, n_writers);
        assert_non_null(strstr(sto_engine_refusing(e, &code), "no file descriptor is free"));
        assert_int_equal(code, TS_EMFILE);
        assert_false(put(e, 0, 0, 2));
        sto_writer_barrier(sto_engine_writer(e, 0), STO_LEVEL_DISK, 1, on_answer, &refused);
        wait_answer(e, n_writers, &refused);
        assert_int_equal(refused.rc, TS_EMFILE);
        assert_non_null(strstr(refused.text, "Too many open files"));
        assert_int_equal(seen(e), 0);
        no_plan(f);
        sto_writer_barrier(sto_engine_writer(e, 0), STO_LEVEL_DISK, 1, on_answer, &taken);
        wait_answer(e, n_writers, &taken);
        assert_int_equal(taken.rc, 0);
        assert_null(sto_engine_refusing(e, &code));
        assert_int_equal(seen(e), N_SERIES);
        assert_int_equal(close_rc(e, f), 0);
        e = engine_open(f, 1);
        assert_int_equal(seen(e), N_SERIES);
        assert_int_equal(close_rc(e, f), 0);
        t_faultfs_free(f);
    }
}

/* Batches that a burst needed are freed when they return; each writer keeps one for each owner. */
static void test_engine_life__a_burst_leaves_few_batches(void **state)
{
    enum { BURST = 7, WRITERS = 2 };
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_engine *e = engine_open(f, WRITERS);
    for (int64_t k = 0; k < BURST; k++) {
        assert_true(put(e, 0, 1, k)); /* writer 1 owns the series, and does not take its batches yet */
        sto_writer_turn(sto_engine_writer(e, 0));
    }
    assert_int_equal(stat_of(e, "writers.batch_bytes"), BURST * sizeof(struct sto_batch));
    turn_all(e, WRITERS);
    assert_int_equal(seen(e), BURST);
    assert_int_equal(stat_of(e, "writers.batch_bytes"), WRITERS * sizeof(struct sto_batch));
    assert_int_equal(close_rc(e, f), 0);
    t_faultfs_free(f);
}

/* Files of a flush that failed are unlinked, whether or not they can be opened. */
static void test_engine_life__files_of_a_failed_flush_go(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_engine *e = engine_open_as(f, 1, true);
    struct ts_error err = {0};
    assert_true(put(e, 0, 0, 1));
    turn_all(e, 1);
    size_t before = t_faultfs_count(f);
    for (uint64_t at = 1; at <= 2; at++) { /* 1: the file is not made; 2: it is, but not opened again */
        t_faultfs_plan(
            f, (struct t_fault_plan){.ops = T_OP_OPEN, .at = at, .for_good = true, .fault = T_FAULT_EMFILE});
        assert_int_equal(sto_engine_flush(e, &err), TS_EMFILE);
        no_plan(f);
        assert_int_equal(t_faultfs_count(f), before);
        assert_int_equal(seen(e), 1);
    }
    assert_int_equal(sto_engine_flush(e, &err), 0);
    assert_int_equal(seen(e), 1);
    assert_int_equal(close_rc(e, f), 0);
    t_faultfs_free(f);
}

/* A file that nobody wrote and that is named like the last one there can be uses up no numbers. */
static void test_engine_life__stray_names_use_up_no_numbers(void **state)
{
    static const char *const names[] = {"/e/files/ffffffffffffffff.t", "/e/files/fffffffffffffffe.s",
                                        "/e/files/fffffffffffffff0.t"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct t_faultfs *f = t_faultfs_new(1);
        struct ts_error err = {0};
        assert_int_equal(close_rc(engine_open_as(f, 1, true), f), 0);
        t_faultfs_put(f, names[i], "x", 1);
        struct sto_engine *e = engine_open_as(f, 1, true);
        for (int64_t k = 1; k <= 20; k++) {
            assert_true(put(e, 0, 0, k));
            turn_all(e, 1);
            if (sto_engine_flush(e, &err) < 0)
                fail_msg("%s: %s", names[i], err.text);
        }
        assert_int_equal(seen(e), 20);
        assert_int_equal(close_rc(e, f), 0);
        e = engine_open_as(f, 1, true);
        assert_int_equal(seen(e), 20);
        assert_int_equal(close_rc(e, f), 0);
        t_faultfs_free(f);
    }
}

/* Points of a log that was replayed grow old like others: nothing new has to come for them to be flushed. */
static void test_engine_life__replayed_points_are_flushed_by_age(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_engine *e = engine_open(f, 1);
    assert_true(put(e, 0, 0, 1));
    turn_all(e, 1);
    struct t_faultfs *killed = t_faultfs_clone(f, 5);
    assert_int_equal(close_rc(e, f), 0);
    t_faultfs_free(f);
    struct sto_opts opts = engine_opts(killed, 1);
    opts.no_background = false;
    opts.own_threads = true;
    opts.flush_age_ms = 1;
    struct ts_error err = {0};
    if (sto_engine_open(&opts, &t_owner, &e, &err) < 0)
        fail_msg("open: %s", err.text);
    assert_int_equal(stat_of(e, "points.replayed"), 1);
    for (int i = 0; i < 60000 && stat_of(e, "files.count") == 0; i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    assert_int_equal(stat_of(e, "files.count"), 1);
    assert_int_equal(stat_of(e, "memstore.points"), 0);
    assert_int_equal(seen(e), 1);
    assert_int_equal(close_rc(e, killed), 0);
    t_faultfs_free(killed);
}

/* Syncs of logs that are under way: each waits until all that are expected have begun. */
static struct {
    pthread_mutex_t mu;
    pthread_cond_t cond;
    unsigned now, most, expected; /* under mu */
} t_syncs = {.mu = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER};

static void on_sync(void *arg, enum t_op op, const char *path, bool after)
{
    (void)arg;
    if (op != T_OP_SYNC || !strstr(path, "/wal/"))
        return;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 20; /* only where they are not side by side */
    pthread_mutex_lock(&t_syncs.mu);
    t_syncs.now += after ? -1u : 1;
    t_syncs.most = t_syncs.now > t_syncs.most ? t_syncs.now : t_syncs.most;
    pthread_cond_broadcast(&t_syncs.cond);
    while (!after && t_syncs.most < t_syncs.expected)
        if (pthread_cond_timedwait(&t_syncs.cond, &t_syncs.mu, &until) != 0)
            break;
    pthread_mutex_unlock(&t_syncs.mu);
}

/* An answer takes as long as the slowest sync, not as all of them together. */
static void test_engine_life__logs_are_synced_side_by_side(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_engine *e = engine_open(f, N_SERIES);
    struct answer a = {0};
    for (unsigned s = 0; s < N_SERIES; s++)
        assert_true(put(e, 0, s, 1)); /* one of each owner */
    turn_all(e, N_SERIES);
    t_syncs.expected = N_SERIES;
    t_faultfs_set_hook(f, on_sync, NULL);
    sto_writer_barrier(sto_engine_writer(e, 0), STO_LEVEL_DISK, 1, on_answer, &a);
    for (int i = 0; i < 120000 && a.n == 0; i++) {
        turn_all(e, N_SERIES);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    assert_int_equal(a.n, 1);
    assert_int_equal(a.rc, 0);
    assert_int_equal(t_syncs.most, N_SERIES);
    assert_int_equal(stat_of(e, "wal.syncs"), N_SERIES);
    t_faultfs_set_hook(f, NULL, NULL);
    assert_int_equal(close_rc(e, f), 0);
    t_faultfs_free(f);
}

/* An engine with threads of its own, which flush and merge by themselves. */
static struct sto_engine *open_with_threads(struct t_faultfs *f)
{
    struct sto_opts opts = engine_opts(f, 1);
    struct sto_engine *e = NULL;
    struct ts_error err = {0};
    opts.no_background = false;
    opts.own_threads = true;
    if (sto_engine_open(&opts, &t_owner, &e, &err) < 0)
        fail_msg("open: %s", err.text);
    return e;
}

/* Files of a flush that somebody asked for are merged at once, not when the merger looks by itself (each minute). */
static void test_engine_life__a_flush_wakes_the_merger(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_engine *e = open_with_threads(f);
    struct ts_error err = {0};
    for (int64_t k = 1; k <= 24; k++) {
        assert_true(put(e, 0, 0, k));
        sto_writer_turn(sto_engine_writer(e, 0));
        if (sto_engine_flush(e, &err) < 0)
            fail_msg("flush: %s", err.text);
    }
    for (int i = 0; i < 30000 && stat_of(e, "compaction.count") == 0; i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    assert_true(stat_of(e, "compaction.count") > 0);
    assert_int_equal(seen(e), 24);
    assert_int_equal(close_rc(e, f), 0);
    t_faultfs_free(f);
}

/* Unlinked files of points, by this thread and by others. */
static struct {
    pthread_t self;
    atomic_uint here, elsewhere;
} t_unlinks;

static void on_unlink(void *arg, enum t_op op, const char *path, bool after)
{
    (void)arg;
    if (op == T_OP_UNLINK && !after && strstr(path, "/files/"))
        atomic_fetch_add(
            pthread_equal(pthread_self(), t_unlinks.self) ? &t_unlinks.here : &t_unlinks.elsewhere, 1);
}

/* Who lets go of a version last, as a worker does after a query, does not wait for the disk to give files back. */
static void test_engine_life__readers_do_not_unlink_files(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    t_unlinks.self = pthread_self();
    t_faultfs_set_hook(f, on_unlink, NULL);
    struct sto_engine *e = open_with_threads(f);
    struct ts_error err = {0};
    assert_true(put(e, 0, 0, 1));
    sto_writer_turn(sto_engine_writer(e, 0));
    assert_int_equal(sto_engine_flush(e, &err), 0);
    struct sto_version *v = sto_engine_pin(e);
    assert_true(put(e, 0, 0, 2));
    sto_writer_turn(sto_engine_writer(e, 0));
    assert_int_equal(sto_engine_compact(e, &err), 0);
    unsigned before = atomic_load(&t_unlinks.here);
    sto_engine_unpin(e, v);
    assert_int_equal(atomic_load(&t_unlinks.here), before);
    for (int i = 0; i < 30000 && atomic_load(&t_unlinks.elsewhere) == 0; i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    assert_true(atomic_load(&t_unlinks.elsewhere) > 0);
    assert_int_equal(seen(e), 2);
    assert_int_equal(close_rc(e, f), 0);
    t_faultfs_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_engine_life__no_descriptor_refuses_and_resumes_without_loss),
        cmocka_unit_test(test_engine_life__a_burst_leaves_few_batches),
        cmocka_unit_test(test_engine_life__files_of_a_failed_flush_go),
        cmocka_unit_test(test_engine_life__stray_names_use_up_no_numbers),
        cmocka_unit_test(test_engine_life__replayed_points_are_flushed_by_age),
        cmocka_unit_test(test_engine_life__logs_are_synced_side_by_side),
        cmocka_unit_test(test_engine_life__a_flush_wakes_the_merger),
        cmocka_unit_test(test_engine_life__readers_do_not_unlink_files),
    };
    ts_log_set_level((enum ts_log_level)(TS_LOG_ERROR + 1)); /* errors are expected here */
    series_make();
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    for (unsigned i = 0; i < N_SERIES; i++)
        ts_free(t_series[i]);
    return rc;
}
