/*
 * test_engine_space.c - the engine without names, in one thread: full disks, broken logs, what barriers say,
 * what a failed flush leaves, retention.
 *
 * Ports and owners run in the test's thread, as a worker's loop runs them; everything is on the file system
 * in memory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/mem.h"
#include "storage/engine/engine.h"
#include "storage/engine/partition.h"
#include "tests/faults/faultfs.h"

#define T0       1793620800000ll /* an hour */
#define N_SERIES 4u

/* Series as the catalog would make them: one tag each, behind the struct. */
static struct sto_series *t_series[N_SERIES];

static void series_make(void)
{
    static const char *const texts[N_SERIES] = {"m h=0", "m h=1", "m h=2", "m h=3"};
    for (uint32_t i = 0; i < N_SERIES; i++) {
        struct sto_series *s = t_series[i] = ts_xcalloc(1, sizeof *s + sizeof s->tags[0]);
        s->id = i;
        s->metric = 1;
        s->shard = (uint16_t)i;
        s->n_tags = 1;
        s->metric_len = 1;
        s->text_len = 5;
        s->text = texts[i];
        s->tags[0] = (struct sto_tag){.k = 1, .v = i + 1};
    }
}

static int on_ready(void *arg, const struct sto_engine_found *found, struct ts_error *err)
{
    (void)arg;
    (void)found;
    (void)err;
    return 0;
}

static const struct sto_series *on_restore(void *arg, uint32_t id, uint32_t metric,
                                           const struct sto_tag *tags, size_t n_tags, struct ts_slice text,
                                           uint32_t metric_len, struct ts_error *err)
{
    (void)arg;
    if (id >= N_SERIES || metric != 1 || n_tags != 1 || tags[0].v != id + 1 || text.n != 5 ||
        metric_len != 1) {
        ts_error_set(err, TS_ECORRUPT, "not a series of this test");
        return NULL;
    }
    return t_series[id];
}

static struct sto_engine_opts engine_opts(struct t_faultfs *f, unsigned n_ports)
{
    return (struct sto_engine_opts){.fs = t_faultfs_fs(f),
                                    .dir = "/e",
                                    .create = true,
                                    .no_background = true,
                                    .n_ports = n_ports,
                                    .n_shards = 4,
                                    .sync = STO_ENGINE_SYNC_NONE,
                                    .sync_interval_ms = 100,
                                    .memstore_bytes = 1 << 20,
                                    .queue_bytes = 1 << 20,
                                    .ready = on_ready,
                                    .restore = on_restore};
}

/* pumped: without any thread, so that the test's own may flush. */
static struct sto_engine *engine_open_as(struct t_faultfs *f, unsigned n_ports, bool pumped)
{
    struct sto_engine_opts opts = engine_opts(f, n_ports);
    struct sto_engine *e = NULL;
    struct ts_error err = {0};
    opts.pumped = pumped;
    if (sto_engine_open(&opts, &e, &err) < 0)
        fail_msg("open: %s", err.text);
    return e;
}

static struct sto_engine *engine_open(struct t_faultfs *f, unsigned n_ports)
{
    return engine_open_as(f, n_ports, false);
}

static void turn_all(struct sto_engine *e, unsigned n_ports)
{
    for (unsigned round = 0; round < 3; round++)
        for (unsigned i = 0; i < n_ports; i++)
            sto_engine_turn(sto_engine_port(e, i));
}

/* One operation; false if the port takes none. */
static bool operate(struct sto_engine *e, enum sto_op op, unsigned port, unsigned series, int64_t k)
{
    struct sto_batch *b = sto_engine_batch(sto_engine_port(e, port), t_series[series]);
    if (!b)
        return false;
    b->points[b->n++] = (struct sto_point){.series = t_series[series],
                                           .ts_ms = T0 + k * 1000,
                                           .m = k,
                                           .flags = sto_meta_flags(op, TS_NUM_INT, 0, false)};
    return true;
}

static bool put(struct sto_engine *e, unsigned port, unsigned series, int64_t k)
{
    return operate(e, STO_OP_PUT, port, series, k);
}

/* Points a query sees, and the sum of their values. */
static uint64_t look(struct sto_engine *e, int64_t *out_sum)
{
    struct sto_version *v = sto_engine_pin(e);
    struct sto_scan_spec spec = {.from_ms = STO_MIN_TS_MS, .to_ms = STO_MAX_TS_MS, .final = true};
    struct sto_merge *m = NULL;
    struct ts_error err = {0};
    struct sto_row row;
    uint64_t n = 0;
    assert_int_equal(sto_version_scan(v, &spec, &m, &err), 0);
    *out_sum = 0;
    while (sto_merge_next(m, &row, &err) == 1) {
        n += row.cells->n;
        for (uint32_t i = 0; i < row.cells->n; i++)
            *out_sum += row.cells->m[i];
    }
    assert_int_equal(err.code, 0);
    sto_merge_free(m);
    sto_engine_unpin(e, v);
    return n;
}

static uint64_t seen(struct sto_engine *e)
{
    int64_t sum;
    return look(e, &sum);
}

static int64_t sum_of(struct sto_engine *e)
{
    int64_t sum;
    (void)look(e, &sum);
    return sum;
}

/* What a barrier said. */
struct answer {
    int n, rc; /* how often, the last code */
    char text[TS_ERROR_TEXT_BYTES];
};

static void on_answer(void *arg, int rc, const struct ts_error *err)
{
    struct answer *a = arg;
    a->n++;
    a->rc = rc;
    snprintf(a->text, sizeof a->text, "%s", err->text);
}

/* Turn until the sync thread has answered. */
static void wait_answer(struct sto_engine *e, unsigned n_ports, const struct answer *a)
{
    for (int i = 0; i < 5000 && a->n == 0; i++) {
        struct timespec pause = {.tv_nsec = 1000000};
        turn_all(e, n_ports);
        if (a->n == 0)
            nanosleep(&pause, NULL);
    }
    assert_int_equal(a->n, 1);
}

static int close_rc(struct sto_engine *e, struct t_faultfs *f)
{
    struct ts_error err = {0};
    int rc = sto_engine_close(e, &err);
    assert_int_equal(rc, err.code);
    assert_int_equal(t_faultfs_n_open(f), 0);
    return rc;
}

static void plan(struct t_faultfs *f, unsigned ops, enum t_fault fault, bool for_good)
{
    t_faultfs_plan(f, (struct t_fault_plan){.ops = ops, .at = 1, .for_good = for_good, .fault = fault});
}

static void no_plan(struct t_faultfs *f)
{
    t_faultfs_plan(f, (struct t_fault_plan){0});
}

/* A put may be written later, its sender repeats it without harm; an addition must not. */
static void test_engine_space__additions_that_got_an_error_are_never_made(void **state)
{
    (void)state;
    for (unsigned n_ports = 1; n_ports <= 3; n_ports++) {
        struct t_faultfs *f = t_faultfs_new(1);
        struct sto_engine *e = engine_open(f, n_ports);
        struct answer a = {0}, b = {0}, c = {0};
        plan(f, T_OP_OPEN | T_OP_APPEND, T_FAULT_ENOSPC, true);
        for (unsigned s = 0; s < N_SERIES; s++) {
            assert_true(operate(e, STO_OP_PUT, 0, s, 1));
            assert_true(operate(e, STO_OP_ADD, 0, s, 2));
            assert_true(operate(e, STO_OP_ADD, n_ports - 1, s, 5)); /* of another asker where there is one */
        }
        turn_all(e, n_ports);
        sto_engine_barrier(sto_engine_port(e, 0), true, on_answer, &a);
        wait_answer(e, n_ports, &a);
        assert_int_equal(a.rc, TS_ENOSPC);
        no_plan(f);
        sto_engine_barrier(sto_engine_port(e, n_ports - 1), true, on_answer, &b);
        wait_answer(e, n_ports, &b);
        assert_int_equal(b.rc, 0);
        assert_int_equal(seen(e),
                         n_ports == 1 ? N_SERIES : 2 * N_SERIES); /* puts; what the other one added */
        for (unsigned s = 0; s < N_SERIES; s++)
            assert_true(operate(e, STO_OP_ADD, 0, s, 2)); /* repeated, as its sender does */
        sto_engine_barrier(sto_engine_port(e, 0), true, on_answer, &c);
        wait_answer(e, n_ports, &c);
        assert_int_equal(c.rc, 0);
        assert_int_equal(sum_of(e), N_SERIES * (n_ports == 1 ? 3 : 8));
        assert_int_equal(close_rc(e, f), 0);
        e = engine_open(f, n_ports);
        assert_int_equal(sum_of(e), N_SERIES * (n_ports == 1 ? 3 : 8)); /* not in the log either */
        assert_int_equal(close_rc(e, f), 0);
        t_faultfs_free(f);
    }
}

static void test_engine_space__a_full_disk_refuses_and_resumes_without_loss(void **state)
{
    (void)state;
    for (unsigned n_ports = 1; n_ports <= 3; n_ports++) {
        struct t_faultfs *f = t_faultfs_new(1);
        struct sto_engine *e = engine_open(f, n_ports);
        struct answer a = {0}, b = {0}, c = {0};
        int code = 0;
        for (unsigned s = 0; s < N_SERIES; s++)
            assert_true(put(e, 0, s, 1));
        turn_all(e, n_ports);
        assert_int_equal(seen(e), 4);
        plan(f, T_OP_OPEN | T_OP_APPEND, T_FAULT_ENOSPC, true);
        for (unsigned s = 0; s < N_SERIES; s++)
            assert_true(put(e, 0, s, 2)); /* the disk has not said anything yet */
        turn_all(e, n_ports);
        assert_non_null(strstr(sto_engine_refusing(e, &code), "the disk is full"));
        assert_int_equal(code, TS_ENOSPC);
        for (int i = 0; i < 10; i++) { /* not one point of what is refused is taken, turn after turn */
            assert_false(put(e, 0, 0, 3));
            turn_all(e, n_ports);
        }
        sto_engine_barrier(sto_engine_port(e, 0), true, on_answer, &a);
        wait_answer(e, n_ports, &a);
        assert_int_equal(a.rc, TS_ENOSPC);
        assert_non_null(strstr(a.text, "the disk is full"));
        sto_engine_barrier(sto_engine_port(e, 0), false, on_answer, &b);
        wait_answer(e, n_ports, &b);
        assert_int_equal(b.rc, TS_ENOSPC); /* not told once and forgotten */
        assert_int_equal(seen(e), 4);
        no_plan(f);
        sto_engine_barrier(sto_engine_port(e, 0), true, on_answer, &c);
        wait_answer(e, n_ports, &c);
        assert_int_equal(c.rc, 0);
        assert_null(sto_engine_refusing(e, &code));
        assert_int_equal(seen(e), 8);
        assert_true(put(e, 0, 0, 3));
        turn_all(e, n_ports);
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
        sto_engine_turn(sto_engine_port(e, 0));
        assert_int_equal(ts_mem_fail_left(), 0);
        const char *why = sto_engine_refusing(e, &code);
        assert_int_equal(code, TS_ENOMEM);
        assert_non_null(strstr(why, "memory is gone, points are refused until there is some"));
        assert_null(strstr(why, "disk"));
        assert_false(put(e, 0, 0, 3));
        ts_mem_fail_after(1);
        sto_engine_barrier(sto_engine_port(e, 0), false, on_answer, &refused);
        wait_answer(e, 1, &refused);
        assert_int_equal(refused.rc, TS_ENOMEM);
        assert_non_null(strstr(refused.text, "memory is gone"));
        sto_engine_barrier(sto_engine_port(e, 0), false, on_answer, &taken);
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

/* No file can be opened: the next segment waits, nothing is lost, and the log is not broken. */
static void test_engine_space__no_descriptor_refuses_and_resumes_without_loss(void **state)
{
    (void)state;
    for (unsigned n_ports = 1; n_ports <= 3; n_ports++) {
        struct t_faultfs *f = t_faultfs_new(1);
        struct sto_engine *e = engine_open(f, n_ports);
        struct answer refused = {0}, taken = {0};
        int code = 0;
        plan(f, T_OP_ALL, T_FAULT_EMFILE, true);
        for (unsigned s = 0; s < N_SERIES; s++)
            assert_true(put(e, 0, s, 1));
        turn_all(e, n_ports);
        assert_non_null(strstr(sto_engine_refusing(e, &code), "no descriptor is left"));
        assert_int_equal(code, TS_EMFILE);
        assert_false(put(e, 0, 0, 2));
        sto_engine_barrier(sto_engine_port(e, 0), true, on_answer, &refused);
        wait_answer(e, n_ports, &refused);
        assert_int_equal(refused.rc, TS_EMFILE);
        assert_non_null(strstr(refused.text, "Too many open files"));
        assert_int_equal(seen(e), 0);
        no_plan(f);
        sto_engine_barrier(sto_engine_port(e, 0), true, on_answer, &taken);
        wait_answer(e, n_ports, &taken);
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

/* Files of a flush that failed are unlinked, whether or not they can be opened. */
static void test_engine_space__files_of_a_failed_flush_go(void **state)
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
    sto_engine_barrier(sto_engine_port(e, 0), false, on_answer, &before);
    wait_answer(e, 1, &before);
    plan(f, T_OP_APPEND, T_FAULT_EIO, false);
    assert_true(put(e, 0, 0, 2));
    sto_engine_barrier(sto_engine_port(e, 0), false, on_answer, &after);
    sto_engine_barrier(sto_engine_port(e, 0), true, on_answer, &again);
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

static uint64_t t_stat;
static void on_stat(void *arg, const char *name, uint64_t value)
{
    if (strcmp(name, arg) == 0)
        t_stat = value;
}

static uint64_t stat_of(struct sto_engine *e, char *name)
{
    t_stat = UINT64_MAX;
    sto_engine_stats(e, on_stat, name);
    return t_stat;
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

/* Points of a log that was replayed grow old like others: nothing new has to come for them to be flushed. */
static void test_engine_space__replayed_points_are_flushed_by_age(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_engine *e = engine_open(f, 1);
    assert_true(put(e, 0, 0, 1));
    turn_all(e, 1);
    struct t_faultfs *killed = t_faultfs_clone(f, 5);
    assert_int_equal(close_rc(e, f), 0);
    t_faultfs_free(f);
    struct sto_engine_opts opts = engine_opts(killed, 1);
    opts.no_background = false;
    opts.own_threads = true;
    opts.max_age_ms = 1;
    struct ts_error err = {0};
    if (sto_engine_open(&opts, &e, &err) < 0)
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

/* --- syncs side by side --- */

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
static void test_engine_space__logs_are_synced_side_by_side(void **state)
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
    sto_engine_barrier(sto_engine_port(e, 0), true, on_answer, &a);
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

/* Files of a flush that somebody asked for are merged at once, not when the merger looks by itself (each minute). */
static void test_engine_space__a_flush_wakes_the_merger(void **state)
{
    (void)state;
    struct t_faultfs *f = t_faultfs_new(1);
    struct sto_engine_opts opts = engine_opts(f, 1);
    struct sto_engine *e = NULL;
    struct ts_error err = {0};
    opts.no_background = false;
    opts.own_threads = true;
    if (sto_engine_open(&opts, &e, &err) < 0)
        fail_msg("open: %s", err.text);
    for (int64_t k = 1; k <= 24; k++) {
        assert_true(put(e, 0, 0, k));
        sto_engine_turn(sto_engine_port(e, 0));
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

/* --- retention: pure choice --- */

static struct sto_sst_info file_of(uint64_t gen, int64_t from_day, int64_t to_day)
{
    return (struct sto_sst_info){.file_no = gen,
                                 .gen_lo = gen,
                                 .gen_hi = gen,
                                 .n_points = 1,
                                 .min_ms = from_day * TS_DAY_MS,
                                 .max_ms = to_day * TS_DAY_MS,
                                 .tomb_min_ms = INT64_MAX,
                                 .tomb_max_ms = INT64_MIN};
}

static void test_engine_space__retention_lets_nothing_come_back(void **state)
{
    (void)state;
    bool expired[4];
    struct sto_sst_info plain[] = {file_of(1, 0, 1), file_of(2, 3, 4), file_of(3, 8, 12)};
    sto_pick_expired(plain, 3, 10 * TS_DAY_MS, expired);
    assert_true(expired[0] && expired[1] && !expired[2]);
    sto_pick_expired(plain, 3, 4 * TS_DAY_MS, expired); /* the last ms of a file still counts */
    assert_true(expired[0] && !expired[1]);
    /* An old file that reaches further is under the newer one: what the newer one overwrote would show again.
     */
    struct sto_sst_info over[] = {file_of(1, 0, 20), file_of(2, 3, 4)};
    sto_pick_expired(over, 2, 10 * TS_DAY_MS, expired);
    assert_true(!expired[0] && !expired[1]);
    /* The file that reaches further is the newer one: nothing of it was hidden. */
    struct sto_sst_info under[] = {file_of(2, 0, 20), file_of(1, 3, 4)};
    sto_pick_expired(under, 2, 10 * TS_DAY_MS, expired);
    assert_true(!expired[0] && expired[1]);
    /* A delete stays as long as what it deletes; and what stays keeps what hides it. */
    struct sto_sst_info chain[] = {file_of(3, 0, 2), file_of(1, 1, 20), file_of(2, 2, 2)};
    chain[2].n_points = 0;
    chain[2].n_tombs = 1;
    chain[2].tomb_min_ms = chain[2].min_ms;
    chain[2].tomb_max_ms = chain[2].max_ms;
    sto_pick_expired(chain, 3, 10 * TS_DAY_MS, expired);
    assert_true(!expired[0] && !expired[1] && !expired[2]);
    sto_pick_expired(chain, 3, 30 * TS_DAY_MS, expired);
    assert_true(expired[0] && expired[1] && expired[2]);
    sto_pick_expired(NULL, 0, 0, expired);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_engine_space__additions_that_got_an_error_are_never_made),
        cmocka_unit_test(test_engine_space__a_full_disk_refuses_and_resumes_without_loss),
        cmocka_unit_test(test_engine_space__held_points_are_written_by_themselves),
        cmocka_unit_test(test_engine_space__no_memory_is_told_apart),
        cmocka_unit_test(test_engine_space__no_descriptor_refuses_and_resumes_without_loss),
        cmocka_unit_test(test_engine_space__files_of_a_failed_flush_go),
        cmocka_unit_test(test_engine_space__a_broken_log_is_told_to_each_barrier),
        cmocka_unit_test(test_engine_space__closing_on_a_full_disk_says_so),
        cmocka_unit_test(test_engine_space__replayed_generations_are_flushed_once),
        cmocka_unit_test(test_engine_space__replayed_points_are_flushed_by_age),
        cmocka_unit_test(test_engine_space__logs_are_synced_side_by_side),
        cmocka_unit_test(test_engine_space__a_flush_wakes_the_merger),
        cmocka_unit_test(test_engine_space__retention_lets_nothing_come_back),
    };
    ts_log_set_level((enum ts_log_level)(TS_LOG_ERROR + 1)); /* errors are expected here */
    series_make();
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    for (unsigned i = 0; i < N_SERIES; i++)
        ts_free(t_series[i]);
    return rc;
}
