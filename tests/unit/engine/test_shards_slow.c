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
    bool full;           /* the disk is full from then on */
    bool inside, gone_on;
    uint32_t told[3]; /* the number of shards, as the users of writers know it */
};

static void on_shards(void *arg, uint32_t n_shards)
{
    *(uint32_t *)arg = n_shards;
}

/* An engine whose writers tell it how many shards there are. */
static struct sto_engine *open_told(struct slow *s, struct t_faultfs *f)
{
    struct sto_engine *e = once_open(f, 3);
    for (unsigned w = 0; w < 3; w++)
        sto_writer_on_shards(sto_engine_writer(e, w), on_shards, &s->told[w]);
    s->e = e;
    s->f = f;
    s->n_writers = 3;
    return e;
}

/* Nobody uses another number than the store. */
static void expect_told(const struct slow *s)
{
    uint32_t n = sto_engine_shards(s->e).n_now;
    for (unsigned w = 0; w < 3; w++)
        assert_int_equal(s->told[w] ? s->told[w] : 4, n);
}

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

/* An operation that is no part of a sequence, and changes no sum. */
static void delete_nothing(struct sto_engine *e, unsigned writer, unsigned series)
{
    struct sto_batch *b = sto_writer_batch(sto_engine_writer(e, writer), t_series[series]);
    if (b)
        b->points[b->n++] = (struct sto_point){.series = t_series[series],
                                               .ts_ms = T0 - 1000,
                                               .m = T0 - 1,
                                               .flags = sto_meta_flags(STO_OP_DEL, TS_NUM_INT, 0, false)};
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
    if (s->full)
        t_faultfs_plan(
            s->f, (struct t_fault_plan){
                      .ops = T_OP_OPEN | T_OP_APPEND, .at = 1, .for_good = true, .fault = T_FAULT_ENOSPC});
    send_more(s);
    for (unsigned i = 0; i < N_SERIES; i++)
        delete_nothing(s->e, i % s->n_writers, i);
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
    struct slow s = {.at = at, .power_at = power_at};
    struct sto_engine *e = open_told(&s, f);
    send_three(e, 3);
    assert_int_equal(sto_engine_set_shards(e, wanted, NULL), 0);
    t_faultfs_set_hook(f, on_call, &s);
    (void)sto_engine_pump_shards(e, NULL);
    t_faultfs_set_hook(f, NULL, NULL);
    expect_told(&s);
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

/* One change, in which writers go on at a call and the disk gets full, then or some calls later. True: the manifest was left with a number that is not in use. */
static bool full_at(uint64_t at, bool at_once, unsigned *n_refused)
{
    struct t_faultfs *f = t_faultfs_new(at);
    struct slow s = {.at = at, .full = at_once};
    struct sto_engine *e = open_told(&s, f);
    send_three(e, 3);
    assert_int_equal(sto_engine_set_shards(e, 16, NULL), 0);
    t_faultfs_set_hook(f, on_call, &s);
    if (!at_once)
        t_faultfs_plan(f, (struct t_fault_plan){.ops = T_OP_OPEN | T_OP_APPEND,
                                                .at = at + at % 5,
                                                .for_good = true,
                                                .fault = T_FAULT_ENOSPC});
    (void)sto_engine_pump_shards(e, NULL);
    t_faultfs_set_hook(f, NULL, NULL);
    expect_told(&s);
    *n_refused += !s.n_accepted;
    bool in_doubt = !sto_writer_accepts_parts(sto_engine_writer(e, 0));
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
    return in_doubt;
}

/* The change of a store whose writers went on while its folder was synced is undone, also if that fails at first. */
static void test_shards_slow__what_cannot_be_undone_at_once_is_undone_later(void **state)
{
    (void)state;
    unsigned n_refused = 0, n_in_doubt_then = 0;
    for (uint64_t at = 1; at < 80; at++)
        for (unsigned at_once = 0; at_once < 2; at_once++)
            n_in_doubt_then += full_at(at, at_once, &n_refused);
    assert_true(n_refused > 0 && n_in_doubt_then > 0);
}

/* --- threads --- */

enum {
    WRITERS = 3,
    ENOUGH = 3,
    TRIES = 50,
    ADDED_TO = WRITERS
}; /* series 0, 1, 2 are put to, by a writer each; all add to 3 */
static struct sto_engine *st;
static atomic_bool ended;
static _Atomic uint64_t n_turns[WRITERS], n_puts[WRITERS], n_parts[WRITERS];
static _Atomic unsigned n_calls, n_stuck;
static atomic_bool is_slow;
/* Which calls are slow. */
static struct slow_calls {
    const char *path; /* those on paths with this text; */
    unsigned ops;     /* 0 = all that write, or a mask of enum t_op; */
    bool whole;       /* path is all of the path */
    bool
        in_doubt; /* no part of a sequence is taken meanwhile; otherwise they wait until each writer has put some */
} slow;
static unsigned n_in_doubt; /* parts that were taken although it is in doubt */

static void *write_on(void *arg)
{
    unsigned w = (unsigned)(uintptr_t)arg;
    struct sto_writer *writer = sto_engine_writer(st, w);
    const struct sto_stream stream = {
        .id = {NOW_S, 7 + w}, .number = sto_writer_stream(writer), .asker = 1 + w};
    while (!atomic_load(&ended)) {
        if (put(st, w, w, (int64_t)atomic_load(&n_puts[w])))
            atomic_fetch_add(&n_puts[w], 1);
        if (add_part(st, w, &stream, atomic_load(&n_parts[w]) + 1, ADDED_TO, 1, 1))
            atomic_fetch_add(&n_parts[w], 1);
        sto_writer_turn(writer);
        atomic_fetch_add(&n_turns[w], 1);
        nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    }
    return NULL;
}

static bool is_slow_call(enum t_op op, const char *path)
{
    return (op & (slow.ops ? slow.ops : T_OP_WRITES)) &&
           (slow.whole ? strcmp(path, slow.path) == 0 : strstr(path, slow.path) != NULL);
}

/* A disk that is done with a call only when all writers have gone on. */
static void on_slow_call(void *arg, enum t_op op, const char *path, bool after)
{
    pthread_t *flusher = arg;
    uint64_t was[WRITERS], had[WRITERS];
    if (after || !atomic_load(&is_slow) || !pthread_equal(pthread_self(), *flusher) ||
        !is_slow_call(op, path))
        return;
    atomic_fetch_add(&n_calls, 1);
    for (unsigned w = 0; w < WRITERS; w++) {
        was[w] = atomic_load(&n_turns[w]);
        had[w] = atomic_load(&n_parts[w]);
    }
    unsigned tries = 0;
    for (unsigned w = 0; w < WRITERS; tries++) {
        if (atomic_load(&n_turns[w]) >= was[w] + ENOUGH &&
            (slow.in_doubt || atomic_load(&n_parts[w]) >= had[w] + ENOUGH))
            w++;
        else if (tries > 60000)
            break;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    if (tries > 60000)
        atomic_fetch_add(&n_stuck, 1);
    for (unsigned w = 0; w < WRITERS && slow.in_doubt; w++)
        n_in_doubt += (unsigned)(atomic_load(&n_parts[w]) - had[w]);
}

static struct sto_engine *open_slow(struct t_faultfs *f, unsigned n_writers)
{
    struct sto_opts opts = engine_opts(f, n_writers);
    struct sto_engine *e = NULL;
    struct ts_error err = {0};
    opts.max_ids = 2 * WRITERS;
    opts.max_client_ids = WRITERS;
    opts.ids_kept_s = 1000000;
    if (sto_engine_open(&opts, &t_owner, &e, &err) < 0)
        fail_msg("open: %s", err.text);
    for (unsigned w = 0; w < n_writers; w++)
        sto_writer_on_refused(sto_engine_writer(e, w), on_refused, NULL);
    return e;
}

static void start_writers(pthread_t *threads)
{
    for (uintptr_t w = 0; w < WRITERS; w++) {
        atomic_store(&n_puts[w], 0);
        atomic_store(&n_parts[w], 0);
        assert_int_equal(
            ts_thread_start(&threads[w], &(struct ts_thread_opts){.fn = write_on, .arg = (void *)w}), 0);
    }
    for (unsigned w = 0; w < WRITERS;)
        if (atomic_load(&n_puts[w]) > 30 && atomic_load(&n_parts[w]) > 30)
            w++;
        else
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

/* Everything that was taken is there once. */
static void expect_all(struct sto_engine *e)
{
    int64_t all = 0, sum = 0, got;
    for (unsigned w = 0; w < WRITERS; w++) {
        int64_t puts = (int64_t)atomic_load(&n_puts[w]);
        all += puts;
        sum += puts * (puts - 1) / 2 + (int64_t)atomic_load(&n_parts[w]);
    }
    assert_int_equal(look(e, &got), all + 5); /* add_part spreads its additions over five times */
    assert_int_equal(got, sum);
    assert_int_equal(t_refused.n, 0);
}

/* Until a call was slow, and there are so many shards (0 = any number). A machine that is busy with other things can make a change take longer than writers wait for it, which then has to be tried again. */
static void pump_until(uint32_t n_shards)
{
    for (unsigned tries = 0; tries < TRIES; tries++) {
        assert_int_equal(sto_engine_pump_shards(st, NULL), 0);
        if (atomic_load(&n_calls) > 0 && (n_shards == 0 || sto_engine_shards(st).n_now == n_shards))
            break;
    }
}

static void slow_change(struct slow_calls calls, bool changes)
{
    slow = calls;
    struct t_faultfs *f = t_faultfs_new(1);
    pthread_t threads[WRITERS], self = pthread_self();
    ts_clock_set_fake((int64_t)NOW_S * 1000);
    st = open_slow(f, WRITERS);
    atomic_store(&ended, false);
    atomic_store(&n_calls, 0);
    t_refused.n = 0;
    t_faultfs_set_hook(f, on_slow_call, &self);
    start_writers(threads);
    assert_int_equal(sto_engine_set_shards(st, 16, NULL), 0);
    atomic_store(&is_slow, true);
    pump_until(changes ? 16 : 0);
    atomic_store(&is_slow, false);
    assert_true(atomic_load(&n_calls) > 0);
    assert_int_equal(atomic_load(&n_stuck), 0);
    assert_int_equal(n_in_doubt, 0);
    assert_int_equal(sto_engine_shards(st).n_now, changes ? 16 : 4);
    assert_true((sto_engine_shards(st).waits == NULL) == changes);
    pump_until(16); /* now it is fast */
    assert_int_equal(sto_engine_shards(st).n_now, 16);
    atomic_store(&ended, true);
    for (unsigned w = 0; w < WRITERS; w++)
        pthread_join(threads[w], NULL);
    assert_int_equal(sto_engine_close(st, NULL), 0);
    st = open_slow(f, 2);
    expect_all(st);
    t_faultfs_set_hook(f, NULL, NULL);
    assert_int_equal(sto_engine_close(st, NULL), 0);
    t_faultfs_free(f);
}

static void test_shards_slow__threads_go_on_while_files_are_written(void **state)
{
    (void)state;
    slow_change((struct slow_calls){.path = "/files"}, false);
}

static void test_shards_slow__threads_go_on_while_logs_are_prepared(void **state)
{
    (void)state;
    slow_change((struct slow_calls){.path = "/wal"}, false);
}

/* With numbered increments, too: nothing is in doubt before the new manifest gets its name. */
static void test_shards_slow__threads_go_on_while_the_manifest_is_written(void **state)
{
    (void)state;
    slow_change((struct slow_calls){.path = "MANIFEST.tmp"}, false);
}

/* Nothing waits for the copy of the manifest, which is written after the change. */
static void test_shards_slow__threads_go_on_while_the_copy_is_written(void **state)
{
    (void)state;
    slow_change((struct slow_calls){.path = "MANIFEST.copy.tmp", .ops = T_OP_OPEN | T_OP_SYNC}, true);
}

/* Only then the manifest may have either number, and numbered increments wait until it has the former one again. */
static void test_shards_slow__the_folder_of_the_manifest_holds_up_increments_alone(void **state)
{
    (void)state;
    slow_change((struct slow_calls){.path = "/e", .ops = T_OP_SYNC_DIR, .whole = true, .in_doubt = true},
                false);
    assert_int_equal(atomic_load(&n_calls), 2);
}

/* What follows the change holds up nobody. */
static void test_shards_slow__the_wish_is_removed_afterwards(void **state)
{
    (void)state;
    slow_change((struct slow_calls){.path = "SHARDS"}, true);
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
        cmocka_unit_test(test_shards_slow__threads_go_on_while_the_copy_is_written),
        cmocka_unit_test(test_shards_slow__the_folder_of_the_manifest_holds_up_increments_alone),
        cmocka_unit_test(test_shards_slow__the_wish_is_removed_afterwards),
    };
    ts_log_set_level((enum ts_log_level)(TS_LOG_ERROR + 1)); /* full disks and torn tails are expected here */
    series_make();
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    for (unsigned i = 0; i < N_SERIES; i++)
        ts_free(t_series[i]);
    return rc;
}
