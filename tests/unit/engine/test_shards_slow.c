/*
 * test_shards_slow.c - the number of shards is changed on a disk that is slow: writers go on by themselves, at any call of the file system, and
 * what they put then is neither lost nor added twice, whatever comes afterwards.
 */
#include "tests/unit/engine/once_kit.h"

#include "base/thread.h"
#include "storage/engine/stop.h"
#include "tests/unit/t_random.h"

#include <pthread.h>
#include <stdatomic.h>

#define SEQS 5u /* the client sends: three before the change, two while it is under way */

/* --- a store without threads --- */

/* What happens at a call of the file system. */
struct slow {
    struct sto_engine *e;
    struct t_faultfs *f;
    unsigned n_writers;
    uint64_t at, n;      /* the call at which writers go on, and calls so far */
    uint64_t power_at;   /* calls after that, the power goes; 0 = it does not */
    unsigned n_accepted; /* parts that were taken after writers went on */
    bool inside, gone_on;
};

/* What a sequence adds to a shard, as one part: its number to each series, twice. */
static bool send_part(struct slow *s, const struct sto_stream *stream, uint64_t seq, uint32_t shard)
{
    uint32_t mask = sto_engine_shards(s->e).n_now - 1, n = 0;
    unsigned of_shard[N_SERIES];
    for (unsigned i = 0; i < N_SERIES; i++)
        if ((i & mask) == shard)
            of_shard[n++] = i;
    if (n == 0)
        return true;
    struct sto_batch *b =
        sto_writer_batch_part(sto_engine_writer(s->e, 0), t_series[of_shard[0]], stream, 2 * n);
    if (!b)
        return false;
    assert_true(sto_batch_part(b, stream, seq, 2 * n));
    for (unsigned i = 0; i < 2 * n; i++)
        b->points[b->n++] = (struct sto_point){.series = t_series[of_shard[i / 2]],
                                               .ts_ms = T0,
                                               .m = (int64_t)seq,
                                               .flags = sto_meta_flags(STO_OP_ADD, TS_NUM_INT, 0, false)};
    s->n_accepted += n;
    return true;
}

/* All sequences, until one is not accepted. */
static void send_more(struct slow *s)
{
    struct sto_stream stream = stream_new(s->e, 7, 1);
    for (uint64_t seq = 1; seq <= SEQS; seq++) {
        for (uint32_t shard = 0; shard < N_SERIES; shard++)
            if (!send_part(s, &stream, seq, shard))
                return;
        turn_all(s->e, s->n_writers);
    }
}

static void on_call(void *arg, enum t_op op, const char *path, bool after)
{
    struct slow *s = arg;
    (void)op;
    if (s->inside || after || strstr(path, "/wal") || ++s->n != s->at) /* a log: the caller may be an owner */
        return;
    s->inside = true;
    sto_stop__expire(s->e);
    s->gone_on = true;
    send_more(s);
    turn_all(s->e, s->n_writers);
    if (s->power_at)
        t_faultfs_plan(s->f,
                       (struct t_fault_plan){.ops = T_OP_WRITES, .at = s->power_at, .fault = T_FAULT_POWER});
    s->inside = false;
}

/* What the client repeats without having had an answer makes the sums exact. */
static void expect_exact(struct sto_engine *e, unsigned n_writers)
{
    struct slow s = {.e = e, .n_writers = n_writers};
    send_more(&s);
    turn_all(e, n_writers);
    assert_int_equal(s.n_accepted, SEQS * N_SERIES);
    assert_int_equal(t_refused.n, 0);
    assert_int_equal(sum_of(e), N_SERIES * 2 * SEQS * (SEQS + 1) / 2);
}

enum after { GOES_ON, KILLED, POWER_CUT, CLOSED, N_AFTER };

/* One change, in which writers go on at a call. False: there was no such call. */
static bool change_at(uint64_t at, enum after after, uint32_t wanted, uint64_t power_at, unsigned *n_accepted)
{
    struct t_faultfs *f = t_faultfs_new(at * N_AFTER + after);
    struct sto_engine *e = once_open(f, 3);
    struct slow s = {.e = e, .f = f, .n_writers = 3, .at = at, .power_at = power_at};
    send_three(e, 3);
    assert_int_equal(sto_engine_set_shards(e, wanted, NULL), 0);
    t_faultfs_set_hook(f, on_call, &s);
    (void)sto_engine_pump_shards(e, NULL);
    t_faultfs_set_hook(f, NULL, NULL);
    uint32_t before = sto_engine_shards(e).n_now;
    *n_accepted += s.n_accepted;
    unsigned n_writers = after == GOES_ON && !power_at ? 3 : 2;
    if (after == CLOSED && !power_at) {
        assert_int_equal(close_rc(e, f), 0);
        e = once_open(f, 2);
        assert_int_equal(sto_engine_shards(e).n_now, wanted);
    } else if (after != GOES_ON || power_at) {
        e = crash(e, f, after == POWER_CUT || power_at, 2);
    }
    uint32_t n = sto_engine_shards(e).n_now;
    assert_true(n == 4 || n == wanted);
    if (!power_at && after != CLOSED)
        assert_int_equal(n, before); /* what is in use is what the manifest has */
    expect_exact(e, n_writers);
    assert_int_equal(sto_engine_set_shards(e, wanted, NULL), 0);
    (void)sto_engine_pump_shards(e, NULL);
    assert_int_equal(sto_engine_shards(e).n_now, wanted);
    expect_exact(e, n_writers);
    e = crash(e, f, true, 3);
    assert_int_equal(sto_engine_shards(e).n_now, wanted);
    expect_exact(e, 3);
    assert_int_equal(close_rc(e, f), 0);
    t_faultfs_free(f);
    return s.gone_on;
}

static void test_shards_slow__writers_go_on_at_any_call(void **state)
{
    (void)state;
    static const uint32_t numbers[] = {16, 2};
    unsigned n_accepted = 0;
    for (unsigned i = 0; i < 2; i++)
        for (enum after after = GOES_ON; after < N_AFTER; after++) {
            uint64_t at = 1;
            while (change_at(at, after, numbers[i], 0, &n_accepted))
                at++;
            assert_true(at > 30);
        }
    assert_true(n_accepted > 1000);
}

static void test_shards_slow__and_a_power_cut_follows(void **state)
{
    (void)state;
    unsigned n_accepted = 0;
    uint64_t at = 1;
    while (change_at(at, POWER_CUT, at % 2 ? 16 : 2, 1 + at % 3, &n_accepted) &&
           change_at(at, POWER_CUT, at % 2 ? 2 : 16, 4 + at % 7, &n_accepted))
        at++;
    assert_true(at > 30 && n_accepted > 200);
}

/* The change of a store whose writers went on while the manifest was written is undone, also if that fails at first. */
static void test_shards_slow__what_cannot_be_undone_at_once_is_undone_later(void **state)
{
    (void)state;
    unsigned n_refused = 0;
    for (uint64_t at = 1; at < 80; at++) {
        struct t_faultfs *f = t_faultfs_new(at);
        struct sto_engine *e = once_open(f, 3);
        struct slow s = {.e = e, .f = f, .n_writers = 3, .at = at};
        send_three(e, 3);
        assert_int_equal(sto_engine_set_shards(e, 16, NULL), 0);
        t_faultfs_set_hook(f, on_call, &s);
        t_faultfs_plan(f, (struct t_fault_plan){.ops = T_OP_OPEN | T_OP_APPEND,
                                                .at = at + at % 5,
                                                .for_good = true,
                                                .fault = T_FAULT_ENOSPC});
        (void)sto_engine_pump_shards(e, NULL);
        t_faultfs_set_hook(f, NULL, NULL);
        n_refused += !s.n_accepted;
        no_plan(f);
        if (at % 2)
            assert_int_equal(sto_engine_flush(e, NULL), 0);
        if (at % 3 == 0)
            e = crash(e, f, at % 2, 3);
        assert_int_equal(sto_engine_flush(e, NULL), 0);
        expect_exact(e, 3);
        e = crash(e, f, true, 2);
        expect_exact(e, 2);
        assert_int_equal(close_rc(e, f), 0);
        t_faultfs_free(f);
    }
    assert_true(n_refused > 0);
}

/* --- threads --- */

enum { WRITERS = 3, ENOUGH = 3 };
static struct sto_engine *st;
static atomic_bool ended;
static _Atomic uint64_t n_turns[WRITERS];
static _Atomic unsigned n_calls, n_stuck;
static _Atomic int64_t n_put;
static atomic_bool is_slow;
static const char *slow_path; /* calls on paths with this text wait until all writers have gone on */

static void *write_on(void *arg)
{
    unsigned w = (unsigned)(uintptr_t)arg;
    struct sto_writer *writer = sto_engine_writer(st, w);
    int64_t k = 0;
    while (!atomic_load(&ended)) {
        if (put(st, w, w, k)) {
            k++;
            atomic_fetch_add(&n_put, 1);
        }
        sto_writer_turn(writer);
        atomic_fetch_add(&n_turns[w], 1);
        nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    }
    return NULL;
}

/* A disk that is done with a call only when all writers have gone on. */
static void on_slow_call(void *arg, enum t_op op, const char *path, bool after)
{
    pthread_t *flusher = arg;
    uint64_t was[WRITERS];
    if (after || !atomic_load(&is_slow) || !pthread_equal(pthread_self(), *flusher) || !(op & T_OP_WRITES) ||
        !strstr(path, slow_path))
        return;
    atomic_fetch_add(&n_calls, 1);
    for (unsigned w = 0; w < WRITERS; w++)
        was[w] = atomic_load(&n_turns[w]);
    unsigned tries = 0;
    for (unsigned w = 0; w < WRITERS; tries++) {
        if (atomic_load(&n_turns[w]) >= was[w] + ENOUGH)
            w++;
        else if (tries > 60000)
            break;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    if (tries > 60000)
        atomic_fetch_add(&n_stuck, 1);
}

static void slow_change(const char *path, bool changes)
{
    struct t_faultfs *f = t_faultfs_new(1);
    pthread_t threads[WRITERS], self = pthread_self();
    st = engine_open_as(f, WRITERS, false);
    atomic_store(&ended, false);
    atomic_store(&n_calls, 0);
    atomic_store(&n_put, 0);
    slow_path = path;
    t_faultfs_set_hook(f, on_slow_call, &self);
    for (uintptr_t w = 0; w < WRITERS; w++)
        assert_int_equal(
            ts_thread_start(&threads[w], &(struct ts_thread_opts){.fn = write_on, .arg = (void *)w}), 0);
    while (atomic_load(&n_put) < 100)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    assert_int_equal(sto_engine_set_shards(st, 16, NULL), 0);
    atomic_store(&is_slow, true);
    assert_int_equal(sto_engine_pump_shards(st, NULL), 0);
    atomic_store(&is_slow, false);
    assert_true(atomic_load(&n_calls) > 0);
    assert_int_equal(atomic_load(&n_stuck), 0);
    assert_int_equal(sto_engine_shards(st).n_now, changes ? 16 : 4);
    assert_true((sto_engine_shards(st).waits == NULL) == changes);
    assert_int_equal(sto_engine_pump_shards(st, NULL), 0); /* now it is fast */
    assert_int_equal(sto_engine_shards(st).n_now, 16);
    atomic_store(&ended, true);
    for (unsigned w = 0; w < WRITERS; w++)
        pthread_join(threads[w], NULL);
    uint64_t all = (uint64_t)atomic_load(&n_put);
    assert_int_equal(sto_engine_close(st, NULL), 0);
    st = engine_open_as(f, 2, false);
    assert_int_equal(seen(st), all);
    t_faultfs_set_hook(f, NULL, NULL);
    assert_int_equal(sto_engine_close(st, NULL), 0);
    t_faultfs_free(f);
}

static void test_shards_slow__threads_go_on_while_files_are_written(void **state)
{
    (void)state;
    slow_change("/files", false);
}

static void test_shards_slow__threads_go_on_while_logs_are_prepared(void **state)
{
    (void)state;
    slow_change("/wal", false);
}

static void test_shards_slow__threads_go_on_while_the_manifest_is_written(void **state)
{
    (void)state;
    slow_change("MANIFEST.tmp", false);
}

/* What follows the change holds up nobody. */
static void test_shards_slow__the_wish_is_removed_afterwards(void **state)
{
    (void)state;
    slow_change("SHARDS", true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shards_slow__writers_go_on_at_any_call),
        cmocka_unit_test(test_shards_slow__and_a_power_cut_follows),
        cmocka_unit_test(test_shards_slow__what_cannot_be_undone_at_once_is_undone_later),
        cmocka_unit_test(test_shards_slow__threads_go_on_while_files_are_written),
        cmocka_unit_test(test_shards_slow__threads_go_on_while_logs_are_prepared),
        cmocka_unit_test(test_shards_slow__threads_go_on_while_the_manifest_is_written),
        cmocka_unit_test(test_shards_slow__the_wish_is_removed_afterwards),
    };
    ts_log_set_level((enum ts_log_level)(TS_LOG_ERROR + 1)); /* full disks and torn tails are expected here */
    series_make();
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    for (unsigned i = 0; i < N_SERIES; i++)
        ts_free(t_series[i]);
    return rc;
}
